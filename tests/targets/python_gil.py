# Threads whose use of the GIL is known. python_gil.py SECONDS: for SECONDS of CPU time each, in
# turn, one computes in Python, then one is in zlib and hashlib, which release the GIL. With
# "fight", several threads compute in Python at the same time, of which only one at a time can.
# Prints nothing.
import hashlib
import sys
import threading
import time
import zlib

seconds = float(sys.argv[1])
block = bytes(range(256)) * 16384


def compute():
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(i * i for i in range(20000))


def compress():
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        zlib.compress(block, 6)
        hashlib.sha256(block).digest()


def run(*functions):
    threads = [threading.Thread(target=f) for f in functions]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


if sys.argv[2:] == ["fight"]:
    run(compute, compute, compute)
else:
    run(compute)
    run(compress)
