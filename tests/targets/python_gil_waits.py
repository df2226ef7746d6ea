# Threads that have the GIL or wait for it, and wait for nothing else:
#
#	python_gil_waits.py SECONDS THREADS HOLD_US [LIVE_MS]
#
# A quarter of THREADS run few(), the others many(): they keep the GIL for HOLD_US, let it go, and want
# it again, for SECONDS. With LIVE_MS each thread does so for that long only, and starts its successor.
# Prints how long the threads of each function waited by the kernel's own counts
# (/proc/thread-self/schedstat), `FUNCTION NS`.
import _thread
import ctypes
import os
import sys
import time

seconds, nr, hold_ns = float(sys.argv[1]), int(sys.argv[2]), int(float(sys.argv[3]) * 1000)
live_ns = int(float(sys.argv[4]) * 1e6) if len(sys.argv) > 4 else 0
# No thread takes the GIL from another: it would wait for it outside of the times that are measured.
sys.setswitchinterval(60)
pread = ctypes.PyDLL(None).pread  # does not let the GIL go
now = time.monotonic_ns
end = now() + int(seconds * 1e9)
waited = {"few": 0, "many": 0}
left = nr
last = _thread.allocate_lock()
zero = os.open("/dev/zero", os.O_RDONLY)


# The CPU time in schedstat is that of the last tick.
def ready_ns(fd):
    text = ctypes.create_string_buffer(64)
    pread(fd, text, 63, 0)
    return time.thread_time_ns() + int(text.value.split()[1])


def take_turns(until):
    while now() < until:
        turn = now() + hold_ns
        while now() < turn:
            pass
        os.pread(zero, 1, 0)  # lets the GIL go


def few(until):
    take_turns(until)


def many(until):
    take_turns(until)


def live(number):
    global left
    fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    function = many if number % 4 else few
    ready, start = ready_ns(fd), now()
    function(min(end, start + live_ns) if live_ns else end)
    start = now() - start
    waited[function.__name__] += max(0, start - (ready_ns(fd) - ready))
    os.close(fd)
    if now() < end:
        _thread.start_new_thread(live, (number,))
        return
    left -= 1
    if not left:
        last.release()


last.acquire()
_thread.stack_size(256 * 1024)
for i in range(nr):
    _thread.start_new_thread(live, (i,))
last.acquire()
for name, ns in waited.items():
    print(name, ns)
