# Allocates known amounts of memory at seven places, as alloc_sites.c does. The bytes of an object are
# what sys.getsizeof() says. The arguments are libasks.c and by what the numbers of blocks are divided;
# with a third one, the table of raw blocks has a context, so it cannot be seen that they come from
# malloc(3).
#
# CPython keeps blocks for later use: the frame of each code object that has run (up to 3.10), and some
# tuples, such as those of the arguments of bytes(100). They are live, and must not look like blocks of a
# place that keeps none. So such a place multiplies an object, which takes no tuple, its loop takes an
# iterator that is there already, and the functions that it calls have run before.
import ctypes
import sys
import threading
from itertools import islice, repeat

sums = {}
library = ctypes.PyDLL(sys.argv[1])
divisor = int(sys.argv[2])
if len(sys.argv) > 3:
    raw = (ctypes.c_void_p * 5)()
    ctypes.pythonapi.PyMem_GetAllocator(0, ctypes.byref(raw))
    raw[0] = 1
    ctypes.pythonapi.PyMem_SetAllocator(0, ctypes.byref(raw))


class Slot:
    __slots__ = ("value",)


slots = [Slot() for _ in range(130000)]
byte = b"x"


def site_small(turns):
    for _ in turns:
        byte * 100


def site_leak(turns):
    for slot in turns:
        slot.value = bytes(200)


# Beyond the 512 bytes that come from Python's own pools: from malloc.
def site_large(turns):
    for _ in turns:
        byte * 3000


# Every other block is freed again.
def site_half(turns):
    for slot in turns:
        slot.value = bytes(300)
        bytes(300)


def site_thread(turns):
    for _ in turns:
        byte * 60


def inner():
    return byte * 400


def middle():
    return inner()


# Three functions in one place of the stack: a run of Python frames.
def site_nested(turns):
    for _ in turns:
        middle()


# Blocks that move from one pool to another; a call of the library makes 400.
def site_grown(turns):
    for _ in turns:
        library.grow(400)


def run(function, rounds, size, share, items=repeat(None)):
    rounds //= divisor
    total = rounds * sys.getsizeof(bytes(size))
    sums[function.__name__] = (total * (2 if function is site_half else 1), int(total * share))
    function(islice(items, rounds))


# From the 1024th call on CPython 3.8 to 3.10 keep what the code has looked up.
site_nested(repeat(None, 2000))
print("ready", flush=True)
sys.stdin.readline()
thread = threading.Thread(target=run, args=(site_thread, 300000, 60, 0))
thread.start()
run(site_small, 400000, 100, 0)
run(site_leak, 40000, 200, 1, iter(slots))
run(site_large, 30000, 3000, 0)
run(site_half, 90000, 300, 1, islice(slots, 40000, None))
run(site_nested, 90000, 400, 0)
grown = 200 // divisor
sums["site_grown"] = (grown * 400 * (520 + 340) // 2, grown * 400 * (400 + 300) // 4)
site_grown(repeat(None, grown))
thread.join()
for name, (allocated, live) in sums.items():
    print(name, allocated, live)
print("end", flush=True)
sys.stdin.readline()
