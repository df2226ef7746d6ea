# Calls Python functions known numbers of times, and prints the truth: NAME CALLS.
import functools


def plain(x):
    return x


def bottom(n):
    return n if n < 2 else bottom(n - 1) + bottom(n - 2)


class Model:
    def step(self, x):
        return x + 1

    @property
    def size(self):
        return 3


def with_cell(n):
    def inner():
        return n

    return inner


@functools.lru_cache(maxsize=None)
def cached(x):
    return x


def main():
    model = Model()
    for i in range(5000):
        plain(i)
        model.step(i)
        model.size
        cached(i % 10)
    bottom(15)
    inner = with_cell(1)
    for i in range(300):
        inner()


main()
print("main 1\nplain 5000\nstep 5000\nsize 5000\ncached 10\nbottom 1973\nwith_cell 1\ninner 300")
