# Four parts that measure their own CPU time: a loop, calls, a C function that releases the GIL, and
# calls from C back into Python. Prints lines of "part ns". Arguments: milliseconds of CPU time, or
# 500x for 500 turns of each part; a file for the total of all parts, "CPU-ns wall-ns".
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
    return fib(15)


def released():
    return hashlib.sha256(DATA).hexdigest()


def order(n):
    return -(n * 7 % 64)


def callbacks():
    return sorted(range(400), key=order)


DATA = b"x" * 300000
TIMES = {part.__name__: 0 for part in (loop, calls, released, callbacks)}


def main(amount):
    turns, budget_ns = (int(amount[:-1]), 0) if amount[-1] == "x" else (0, int(amount) * 1000000)
    while turns > 0 or sum(TIMES.values()) < budget_ns:
        turns -= 1
        for part in (loop, calls, released, callbacks):
            start = time.thread_time_ns()
            part()
            TIMES[part.__name__] += time.thread_time_ns() - start


began = time.process_time_ns(), time.perf_counter_ns()
main(sys.argv[1])
if len(sys.argv) > 2:
    with open(sys.argv[2], "w", encoding="ascii") as took:
        print(time.process_time_ns() - began[0], time.perf_counter_ns() - began[1], file=took)
for name, ns in TIMES.items():
    print(name, ns)
