"""python_many_codes.py NR SECONDS: runs NR functions with line tables of 30 kB, each for 2 ms, and then steady() for
SECONDS of CPU time. All of them call step(), of which CPython numbers the function. For CPython from 3.11 on."""
import sys
import time


def step():
    n = 0
    for i in range(300):
        n += i * i
    return n


def template():
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        step()


def steady(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        step()


def main(nr, seconds):
    # Entries of one code unit each, a line further and back, for code that is not there: Objects/locations.md
    padding = b"\xe8\x02\xe8\x03" * 7500
    for i in range(nr):
        code = template.__code__.replace(co_qualname="f%d" % i, co_firstlineno=i + 1,
                                         co_linetable=template.__code__.co_linetable + padding)
        type(template)(code, globals())()
    steady(seconds)


main(int(sys.argv[1]), float(sys.argv[2]))
