# As many Python frames as the argument says below a loop that never ends.
import sys


def deep(n):
    if n:
        return deep(n - 1)
    while True:
        for i in range(1000):
            i * i


deep(int(sys.argv[1]))
