# Functions that live for 3 ms of CPU time each: every one is compiled from a text of its own, runs
# and is freed, and the next one takes its memory. All are on the same line of files with names of
# the same length, and have names of the same length; every second one differs from the one before
# in its file alone. Arguments: seconds; "once" or "often": how each is called.
import sys
import time

TEXT = """
def {name}(end, clock, turns):
    while turns and clock() < end:
        turns -= 1


def call(end, clock, turns):
    for _ in range(10**9):  # a loop that 3.11 specializes: a call gives the function its number
        {name}(end, clock, turns)
        if clock() >= end:
            break
"""


def main():
    end, i = time.monotonic() + float(sys.argv[1]), 0
    turns = {"once": sys.maxsize, "often": 2}[sys.argv[2]]
    while time.monotonic() < end:
        name, file = f"short_{i // 2:06}", f"/made/{i:06}.py"
        made = {}
        exec(compile(TEXT.format(name=name), file, "exec"), made)
        made["call"](time.thread_time() + 0.003, time.thread_time, turns)
        print(name, file.rsplit("/", 1)[1], time.monotonic_ns(), flush=False)
        made.clear()  # the globals of the functions
        i += 1


main()
