# A thread that produces, one that consumes under a lock, and one that sleeps while it holds that lock.
import queue, threading, time
lock, work = threading.Lock(), queue.Queue(4)
def producer():
    for i in range(200):
        time.sleep(0.005); work.put(i)
def consumer():
    for i in range(200):
        work.get()
        with lock: pass
def holder():
    for i in range(120):
        with lock: time.sleep(0.01)
        time.sleep(0.002)
threads = [threading.Thread(target=f) for f in (producer, consumer, holder)]
for t in threads: t.start()
for t in threads: t.join()
