# Each of two Python functions calls a C function of its own, a few microseconds at a time, in turn,
# from one loop: in_crc zlib's crc32() and in_sort the interpreter's list.sort(). A reader that is
# late by a few microseconds sees the one's C function below the other. Arguments: seconds of CPU
# time, threads.
import sys
import threading
import time
import zlib

text = b"0123456789abcdef" * 256
numbers = [i * 7919 % 997 for i in range(60)]


def in_crc():
    return zlib.crc32(text)


def in_sort():
    return list(numbers).sort()


def run(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        for _ in range(100):
            in_crc()
            in_sort()


threads = [threading.Thread(target=run, args=(float(sys.argv[1]),)) for _ in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
