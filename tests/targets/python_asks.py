# Memory in a Python process, by who asked for it: site_objects, site_large and site_library by Python code; and a thread
# of the library (libasks.c, named by the argument) that no Python called. Each block stays.
import ctypes
import sys
from itertools import islice, repeat

library = ctypes.CDLL(sys.argv[1])
library.keep.argtypes = [ctypes.c_long, ctypes.c_long]


class Slot:
    __slots__ = ("value",)


slots = [Slot() for _ in range(130000)]


def site_objects(rounds, size):
    for slot in islice(slots, rounds):
        slot.value = bytes(size)


# Beyond what Python's own pools give out.
def site_large(rounds, size):
    for slot in islice(slots, 100000, 100000 + rounds):
        slot.value = bytes(size)


# A buffer that a C library takes from malloc, as those of numpy and torch.
def site_library(rounds, size):
    for _ in repeat(None, rounds):
        library.keep(1000, size)


print("ready", flush=True)
sys.stdin.readline()
library.start()
site_objects(100000, 200)
site_large(10000, 3000)
site_library(20, 1500)
library.join()
for name, size in (
    ("site_objects", 100000 * sys.getsizeof(bytes(200))),
    ("site_large", 10000 * sys.getsizeof(bytes(3000))),
    ("site_library", 20 * 1000 * 1500),
):
    print(name, size, size)
print("end", flush=True)
sys.stdin.readline()
