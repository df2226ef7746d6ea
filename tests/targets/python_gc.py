# Makes cyclic garbage: one line triggers many small collections, another asks for some. Prints,
# from the collector's own callbacks, "gc NS" and "other NS" of CPU time. python_gc.py SECONDS
import gc
import sys
import time

taken = began = 0


def on_gc(phase, info):
    global taken, began
    if phase == "start":
        began = time.thread_time_ns()
    else:
        taken += time.thread_time_ns() - began


def make_garbage():
    kept = []
    for i in range(3000):
        ring = [i]
        kept.append([ring])
        ring.append(ring)
        kept[-1].append(kept)


def ask_for_it():
    gc.collect()


def compute():
    return sum(i * i for i in range(30000))


kept_alive = [[i] for i in range(200000)]
gc.callbacks.append(on_gc)
start = time.thread_time_ns()
end = start + int(float(sys.argv[1]) * 1e9)
while time.thread_time_ns() < end:
    make_garbage()
    for _ in range(12):
        compute()
    ask_for_it()
whole = time.thread_time_ns() - start
gc.callbacks.clear()
print("gc", taken)
print("other", whole - taken)
