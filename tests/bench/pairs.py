# Pairs of malloc and free in a library that Python has loaded, for profilers that run Python programs alone:
#
#   pairs.py LIBRARY NR          prints how many ns of CPU time each pair took
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
library.pairs_ns.argtypes = [ctypes.c_uint64, ctypes.c_size_t]
library.pairs_ns.restype = ctypes.c_double
print("%.3f" % library.pairs_ns(int(sys.argv[2]), 64), flush=True)
