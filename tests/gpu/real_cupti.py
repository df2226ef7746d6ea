#!/usr/bin/env python3
"""Checks the assumptions of gpu/agent/cupti/cupti_abi.h against a real libcupti. Needs no GPU.

    real_cupti.py LIBCUPTI

Prints its version, or exits with 77 and a reason if this libcupti does not answer without a driver.
"""
import ctypes
import sys

# kind: (smallest record that is read, largest known)
KINDS = {1: (64, 112), 2: (64, 104), 3: (144, 248), 8: (144, 256), 10: (144, 248), 17: (40, 56), 22: (72, 112),
         38: (40, 56), 49: (96, 144), 50: (64, 96), 51: (40, 64)}
NAMES = {17: "cuCtxSynchronize", 126: "cuStreamSynchronize", 243: "cuMemAlloc_v2", 245: "cuMemFree_v2",
         307: "cuLaunchKernel", 308: "cuProfilerStart", 309: "cuProfilerStop", 442: "cuLaunchKernel_ptsz",
         477: "cuLaunchCooperativeKernel", 480: "cuLaunchCooperativeKernelMultiDevice", 514: "cuGraphLaunch",
         515: "cuGraphLaunch_ptsz", 652: "cuLaunchKernelEx", 653: "cuLaunchKernelEx_ptsz"}


def stride(library, kind):
    """The distance between two records of that kind."""
    buffer = (ctypes.c_uint8 * 4096)()
    start = ctypes.addressof(buffer)
    for at in range(0, 2048, 8):
        ctypes.c_uint32.from_address(start + at).value = kind
    record = ctypes.c_void_p()
    for expected in (0, None):
        error = library.cuptiActivityGetNextRecord(ctypes.c_void_p(start), ctypes.c_size_t(2048), ctypes.byref(record))
        assert not error, "kind %d: error %d" % (kind, error)
    return record.value - start


library = ctypes.CDLL(sys.argv[1])
for function in """cuptiSubscribe cuptiUnsubscribe cuptiEnableCallback cuptiActivityEnable cuptiActivityDisable
        cuptiActivityRegisterCallbacks cuptiActivityFlushAll cuptiActivityGetNumDroppedRecords cuptiGetTimestamp
        cuptiActivityRegisterTimestampCallback cuptiActivitySetAttribute cuptiGetResultString cuptiFinalize
        cuptiActivityEnableAndDump cuptiActivityGetNextRecord cuptiGetVersion cuptiGetCallbackName
        cuptiPCSamplingEnable cuptiPCSamplingDisable cuptiPCSamplingGetData cuptiPCSamplingGetNumStallReasons
        cuptiPCSamplingGetStallReasons cuptiPCSamplingSetConfigurationAttribute cuptiGetSassToSourceCorrelation
        cuptiGetCubinCrc""".split():
    getattr(library, function)
version = ctypes.c_uint32()
error = library.cuptiGetVersion(ctypes.byref(version))
if error:
    print("libcupti exports what is needed, but does not answer without a driver: error %d" % error)
    sys.exit(77)
for kind, (smallest, largest) in KINDS.items():
    got = stride(library, kind)
    assert smallest <= got <= largest and got % 8 == 0, "kind %d: %d bytes" % (kind, got)
name = ctypes.c_char_p()
for cbid, expected in NAMES.items():
    assert not library.cuptiGetCallbackName(1, cbid, ctypes.byref(name))
    assert name.value.decode() == expected, (cbid, name.value)
# The list of names has no holes: the agent stops at the first id without a name.
count = next(i for i in range(1, 2000) if library.cuptiGetCallbackName(1, i, ctypes.byref(name)))
assert count > 653 and all(library.cuptiGetCallbackName(1, i, ctypes.byref(name)) for i in range(count, count + 50))
# PC sampling: CUPTI takes the sizes of parameters that gpu/agent/cupti/pc_abi.h has, and refuses a context that is none.
code = (ctypes.c_uint64 * 8)(*range(8))
crc = (ctypes.c_uint64 * 4)(32, 64, ctypes.addressof(code), 0)
assert not library.cuptiGetCubinCrc(ctypes.byref(crc)) and crc[3], "no checksum of code"
other = (ctypes.c_uint64 * 4)(32, 56, ctypes.addressof(code), 0)
assert not library.cuptiGetCubinCrc(ctypes.byref(other)) and other[3] != crc[3], "the checksum does not depend on the code"
line = (ctypes.c_uint64 * 8)(64, ctypes.addressof(code), ctypes.addressof(ctypes.create_string_buffer(b"kernel")), 64)
assert library.cuptiGetSassToSourceCorrelation(ctypes.byref(line)), "a line of code that is none"
assert library.cuptiPCSamplingEnable(ctypes.byref((ctypes.c_uint64 * 3)(24, 0, 0))), "PC sampling without a context"
print("libcupti", version.value, count - 1, "driver calls", "kernel", stride(library, 10))
