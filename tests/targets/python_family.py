# A parent whose forked workers, spawned workers and exec'ed programs all use CPU time in functions
# of their own and print how much. Arguments: interpreters to exec one after another; the last one
# replaces this process.
import multiprocessing
import os
import subprocess
import sys
import time


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for i in range(2000):
            i * i


def tell(name, start):
    os.write(1, f"{name} {time.thread_time_ns() - start}\n".encode())


def in_forked(seconds):
    start = time.thread_time_ns()
    burn(seconds)
    tell("in_forked", start)


def in_spawned(seconds):
    start = time.thread_time_ns()
    burn(seconds)
    tell("in_spawned", start)


def in_exec():
    start = time.thread_time_ns()
    burn(0.3)
    tell("in_exec", start)


def main():
    if sys.argv[1:] == ["exec"]:
        in_exec()
        return
    for method, work in ("fork", in_forked), ("spawn", in_spawned):
        with multiprocessing.get_context(method).Pool(2) as pool:
            pool.map(work, [0.4] * 2)
    for python in sys.argv[1:]:
        subprocess.run([python, __file__, "exec"], check=True)
    os.execv(sys.argv[-1], [sys.argv[-1], __file__, "exec"])


if __name__ == "__main__":
    main()
