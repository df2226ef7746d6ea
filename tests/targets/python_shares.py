# Four parts whose CPU time is measured inside: a loop, calls, a C function that releases the GIL, and calls from C back
# into Python. Prints "part ns" lines. Argument: milliseconds of CPU time.
import hashlib
import sys
import time


def loop():
    total = 0
    for i in range(3000):
        total += i * i
    return total


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def calls():
    return fib(12)


def released():
    return hashlib.sha256(DATA).hexdigest()


def order(n):
    return -(n * 7 % 64)


def callbacks():
    return sorted(range(400), key=order)


DATA = b"x" * 300000
TIMES = {part.__name__: 0 for part in (loop, calls, released, callbacks)}


def main(budget_ns):
    while sum(TIMES.values()) < budget_ns:
        for part in (loop, calls, released, callbacks):
            start = time.thread_time_ns()
            part()
            TIMES[part.__name__] += time.thread_time_ns() - start


main(int(sys.argv[1]) * 1000000)
for name, ns in TIMES.items():
    print(name, ns)
