# Only hot_a calls leaf_a and only hot_b calls leaf_b, at the same depths, in several threads: a
# reader that does not run on the thread itself may see leaf_a below hot_b. Argument: seconds of CPU
# time.
import sys
import threading
import time


def leaf_a(n):
    return n + 1


def leaf_b(n):
    return n - 1


def hot_a():
    for i in range(60):
        leaf_a(i)


def hot_b():
    for i in range(60):
        leaf_b(i)


def generator():
    for i in range(20):
        hot_a()
        yield i
        hot_b()


class Raises:
    def raise_a(self):
        hot_a()
        raise ValueError

    def caught(self):
        try:
            self.raise_a()
        except ValueError:
            hot_b()


def deep(n):
    return hot_b() if not n else deep(n - 1)


def work(end):
    while time.process_time() < end:
        hot_a()
        hot_b()
        for _ in generator():
            pass
        Raises().caught()
        deep(30)
        sorted(range(10), key=leaf_a_key)


def leaf_a_key(n):
    hot_a()
    return -n


def main():
    end = time.process_time() + float(sys.argv[1])
    threads = [threading.Thread(target=work, args=(end,)) for _ in range(3)]
    for t in threads:
        t.start()
    work(end)
    for t in threads:
        t.join()


main()
