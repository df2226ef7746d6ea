# asyncio tasks that are suspended in different ways. It first prints the truth about those whose
# awaits Python can report, a line per task ("NAME STATE AWAITED_BY FUNCTION:LINE,...", innermost
# first), then "ready"; then the tasks wait until the program is killed. python_asyncio.py [MORE
# TASKS]
import asyncio
import contextlib
import sys
import time
import types


async def in_sleep(depth):
    if depth:
        await in_sleep(depth - 1)
    else:
        await asyncio.sleep(1000)


async def numbers():
    yield 1
    await asyncio.sleep(1000)


async def in_async_generator():
    async for _ in numbers():
        pass


@contextlib.asynccontextmanager
async def context():
    await asyncio.Event().wait()
    yield


async def in_context():
    async with context():
        pass


@types.coroutine
def old_style():
    yield from asyncio.Queue().get()


async def in_old_style():
    await old_style()


async def in_gather(hidden):
    await asyncio.gather(asyncio.create_task(in_sleep(3), name="first"), hidden)


async def not_begun():
    pass


def frames_of(coroutine):
    frames = []
    while coroutine is not None:
        kind = "gi" if hasattr(coroutine, "gi_frame") else "cr"
        frame = getattr(coroutine, kind + "_frame", None)
        if frame is None:
            break
        frames.insert(0, f"{frame.f_code.co_name}:{frame.f_lineno}")
        coroutine = getattr(coroutine, "gi_yieldfrom" if kind == "gi" else "cr_await")
    return frames


def awaiters(future):
    for f in future._asyncio_awaited_by or ():
        yield from [f.get_name()] if isinstance(f, asyncio.Task) else awaiters(f)


async def main(nr_more):
    # An asynchronous generator does not tell what it awaits.
    hidden = [
        asyncio.create_task(in_async_generator(), name="generates"),
        asyncio.create_task(in_context(), name="enters"),
    ]
    tasks = [
        asyncio.create_task(in_sleep(20), name="sleeps"),
        asyncio.create_task(in_old_style(), name="\u00fcber"),
        asyncio.create_task(in_gather(hidden[1]), name="gathers"),
        asyncio.create_task(in_sleep(0)),
    ]
    tasks += [asyncio.create_task(in_sleep(2), name=f"more{i}") for i in range(nr_more)]
    await asyncio.sleep(0.3 + nr_more / 20000)
    late = asyncio.create_task(not_begun(), name="late")
    for t in asyncio.all_tasks():
        if t in hidden or t in (late, asyncio.current_task()) or t.get_name().startswith("more"):
            continue
        by = ",".join(sorted(awaiters(t)))
        print(t.get_name(), "suspended", by or "-", ",".join(frames_of(t.get_coro())))
    print("ready", flush=True)
    time.sleep(1000)
    await asyncio.wait([*tasks, *hidden, late])


sys.stdout.reconfigure(encoding="utf-8")
asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
