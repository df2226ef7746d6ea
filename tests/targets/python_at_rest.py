# Two threads go deep in many ways (calls from C, generators, coroutines, lambdas, code without a
# file, a name that is not ASCII) and stay there, in a C function that uses the CPU. On SIGUSR1 the
# interpreter's own faulthandler writes their stacks to the given file.
import asyncio
import faulthandler
import functools
import hashlib
import re
import signal
import sys
import threading
import time


def burn_holding():
    return sum(
        range(1 << 62)
    )


def burn_released():
    data = bytearray(1 << 20)
    digest = hashlib.sha256()
    while True: digest.update(data)


def through_sort(then):
    def key(item):
        return then() if item == 3 else item

    return sorted(
        range(5),
        key=key)


def through_reduce(then):
    return functools.reduce(lambda a, b: then(),
                            [1, 2])


def through_regex(then):
    return re.sub(
        "b", lambda m: then(), "abc")


def steps(then):
    yield 1
    yield then()


def through_generator(then):
    for _ in steps(then):
        pass


class Ordered:
    def __init__(self, then):
        self.then = then

    def __lt__(self, other):
        return self.then()

    def __eq__(self, other):
        return [self < other for _ in range(1)]


def through_compare(then):
    return Ordered(then) == 1


async def inner(then):
    await asyncio.sleep(0)
    then()


async def outer(then):
    await inner(
        then)


def through_coroutine(then):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(outer(then))


def through_exec(then):
    exec(compile("\n\n\ndef made():\n    then()\nmade()", "<made at run time>", "exec"), {"then": then})


def naïve(then):
    try:
        raise KeyError
    except KeyError:
        with threading.Lock():
            then()


def deep(n, then):
    return then() if n == 0 else deep(n - 1, then)


ROADS = [through_sort, through_generator, through_regex, through_compare, through_coroutine, through_exec, naïve,
         through_reduce, functools.partial(deep, 9)]


def go(burn):
    then = burn
    for road in ROADS:
        then = functools.partial(road, then)
    then()


def main():
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        faulthandler.register(signal.SIGUSR1, out, all_threads=True)
        threading.Thread(target=go, args=(burn_released,), daemon=True).start()
        time.sleep(0.1)
        go(burn_released if sys.argv[2:] == ["released"] else burn_holding)


main()
