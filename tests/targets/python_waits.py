# Threads that wait in different ways. The program first prints where each of them waits, a line per
# frame ("THREAD FUNCTION LINE", innermost first), then "ready"; then they wait until it is killed.
import queue
import select
import sys
import threading
import time

go = threading.Event()


def report(depth=3):
    if depth:
        return report(depth - 1)
    # The main thread will wait on the line that writes the truth, so its line is known beforehand.
    lines = []
    for ident, frame in sys._current_frames().items():
        tid = native[ident]
        while frame:
            lines.append(f"{tid} {frame.f_code.co_name} {frame.f_lineno}")
            frame = frame.f_back
    print("\n".join(line for line in lines if not line.startswith(f"{threading.get_native_id()} ")))
    print("ready", flush=True)
    time.sleep(1000)


def in_queue():
    queue.Queue().get()


def in_sleep(depth=20):
    if depth:
        in_sleep(depth - 1)
    else:
        time.sleep(1000)


def in_epoll():
    (lambda: select.epoll().poll(1000))()


def in_generator():
    def numbers():
        yield 1
        go.wait()

    for _ in numbers():
        pass


def in_callback():
    sorted([1, 2], key=lambda value: go.wait())


threads = [
    threading.Thread(target=f, daemon=True)
    for f in (in_queue, in_sleep, in_epoll, in_generator, in_callback)
]
for t in threads:
    t.start()
time.sleep(0.5)
native = {t.ident: t.native_id for t in threading.enumerate()}
report()
