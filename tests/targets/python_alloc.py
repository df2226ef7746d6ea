# Allocates known amounts of memory at seven places, as alloc_sites.c does. The bytes of an object are
# what sys.getsizeof() says; the loops themselves allocate nothing. The argument is libasks.c. With a
# second one, the table of raw blocks has a context, so nobody can tell that they come from malloc(3).
import ctypes
import sys
import threading
from itertools import islice, repeat

sums = {}
library = ctypes.PyDLL(sys.argv[1])
if len(sys.argv) > 2:
    raw = (ctypes.c_void_p * 5)()
    ctypes.pythonapi.PyMem_GetAllocator(0, ctypes.byref(raw))
    raw[0] = 1
    ctypes.pythonapi.PyMem_SetAllocator(0, ctypes.byref(raw))


class Slot:
    __slots__ = ("value",)


slots = [Slot() for _ in range(130000)]


def site_small(rounds):
    for _ in repeat(None, rounds):
        bytes(100)


def site_leak(rounds):
    for slot in islice(slots, rounds):
        slot.value = bytes(200)


# Beyond the 512 bytes that come from Python's own pools: from malloc.
def site_large(rounds):
    for _ in repeat(None, rounds):
        bytes(3000)


# Every other block is freed again.
def site_half(rounds):
    for slot in islice(slots, 40000, 40000 + rounds):
        slot.value = bytes(300)
        bytes(300)


def site_thread(rounds):
    for _ in repeat(None, rounds):
        bytes(60)


# Three functions in one place of the stack: a run of Python frames.
def site_nested(rounds):
    def inner():
        return bytes(400)

    def middle():
        return inner()

    for _ in repeat(None, rounds):
        middle()


# Blocks that move from one pool to another; a call of the library makes 4000.
def site_grown(rounds):
    for _ in repeat(None, rounds):
        library.grow(4000)


def run(function, rounds, size, share):
    total = rounds * sys.getsizeof(bytes(size))
    sums[function.__name__] = (total * (2 if function is site_half else 1), int(total * share))
    function(rounds)


print("ready", flush=True)
sys.stdin.readline()
thread = threading.Thread(target=run, args=(site_thread, 300000, 60, 0))
thread.start()
run(site_small, 400000, 100, 0)
run(site_leak, 40000, 200, 1)
run(site_large, 30000, 3000, 0)
run(site_half, 90000, 300, 1)
run(site_nested, 90000, 400, 0)
sums["site_grown"] = (20 * 4000 * (520 + 340) // 2, 20 * 4000 * (400 + 300) // 4)
site_grown(20)
thread.join()
for name, (allocated, live) in sums.items():
    print(name, allocated, live)
print("end", flush=True)
sys.stdin.readline()
