# Runs a function whose line table holds a page that is handed to userfaultfd(2): the interpreter
# does not read it, and a read of it from outside never returns. Prints "ready" once that is so.
# Exits with status 77 if it may not do that. Arguments: seconds of CPU time; "waits": no CPU time, it sleeps so long.
import ctypes
import sys
import time

NR_USERFAULTFD, UFFDIO_API, UFFDIO_REGISTER, MADV_DONTNEED, PAGE = 323, 0xC018AA3F, 0xC020AA00, 4, 4096

libc = ctypes.CDLL(None, use_errno=True)


def busy(end):
    x = 0
    while time.process_time() < end:
        for i in range(1000):
            x += i


def rests(end):
    time.sleep(end - time.process_time())


def hand_over(address):
    fd = libc.syscall(NR_USERFAULTFD, 0)
    api = (ctypes.c_uint64 * 3)(0xAA, 0, 0)
    at = (ctypes.c_uint64 * 4)(address, PAGE, 1, 0)
    if (fd < 0 or libc.ioctl(fd, ctypes.c_ulong(UFFDIO_API), api) or
            libc.ioctl(fd, ctypes.c_ulong(UFFDIO_REGISTER), at) or
            libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(PAGE), MADV_DONTNEED)):
        print("userfaultfd is refused here")
        sys.exit(77)


function = rests if sys.argv[2:] == ["waits"] else busy
table = function.__code__.co_linetable + bytes(30000)
function.__code__ = function.__code__.replace(co_linetable=table)
hand_over((id(table) + 8 * PAGE // 2) // PAGE * PAGE)
print("ready", flush=True)
function(time.process_time() + float(sys.argv[1]))
