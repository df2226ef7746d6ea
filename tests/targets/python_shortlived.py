# Functions that live 3 ms of CPU time each: every one is compiled from a text of its own, runs, and is gone, and the next takes its
# memory. All are at the same line of a file of the same length, with names of the same length; every other one differs
# from the one before in its file alone. Argument: seconds.
import sys
import time

TEXT = """
def {name}(end, clock):
    while clock() < end:
        pass
"""


def main():
    end, i = time.monotonic() + float(sys.argv[1]), 0
    while time.monotonic() < end:
        name, file = f"short_{i // 2:06}", f"/made/{i:06}.py"
        made = {}
        exec(compile(TEXT.format(name=name), file, "exec"), made)
        made[name](time.thread_time() + 0.003, time.thread_time)
        print(name, file.rsplit("/", 1)[1], time.monotonic_ns(), flush=False)
        del made
        i += 1


main()
