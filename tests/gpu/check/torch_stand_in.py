#!/usr/bin/env python3
"""Takes the place of torch_load.py over the fake GPU: launches kernels of three names and prints what that one prints. With
--profiler torch the kernels are those that it has launched itself, by the fake's own durations, and they fill its
steps. $WRONG, for the tests of the judges, makes these wrong in one way.

    torch_stand_in.py [--profiler none|torch] [--steps N] [--seconds S] gpt|resnet|graphs|streams
"""
import argparse
import ctypes
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from torch_steps import steps_of

KERNELS = (("gemm", 40, 4), ("softmax", 10, 2), ("adam", 20, 1)) # name, blocks of 100 ns, launches of a step
OF_STEP = sum(nr for _, _, nr in KERNELS)


def seen(steps, wrong):
    """The kernels of each step as a profiler would tell of them."""
    kernels = []
    for i, (begin, end) in enumerate(steps):
        begin, end = steps[6] if wrong == "late_step" and i == 5 else (begin, end)
        kernels += [[begin + (end - begin) * k // OF_STEP, begin + (end - begin) * (k + 1) // OF_STEP] for k in range(OF_STEP)]
        if wrong == "other_clock" and i >= len(steps) // 2: # another tool has registered one
            kernels[-OF_STEP:] = [[b + 1795365659000000000, e + 1795365659000000000] for b, e in kernels[-OF_STEP:]]
        elif wrong == "late_kernel" and i == 5:
            kernels[-1][1] = end + 1000000
        elif wrong == "lost_kernel" and i == 5:
            kernels.pop()
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiler", choices=("none", "torch"), default="none")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("work", choices=("gpt", "resnet", "graphs", "streams"))
    args = parser.parse_args()
    cuda, ms, kernels, end = ctypes.CDLL("libcuda.so.1"), [], {}, time.time() + args.seconds
    steps = [[0, 1]] # the first stands for the setup
    cuda.cuInit(0)
    functions = {}
    for name, _, _ in KERNELS:
        functions[name] = ctypes.c_void_p()
        cuda.cuModuleGetFunction(ctypes.byref(functions[name]), None, name.encode())
    while len(ms) < args.steps or time.time() < end:
        begin, begin_ns = time.perf_counter(), time.time_ns()
        for name, blocks, nr in KERNELS:
            for _ in range(nr):
                cuda.cuLaunchKernel(functions[name], blocks, 1, 1, 1, 1, 1, 0, None, None, None)
            calls, ns = kernels.get(name, (0, 0))
            kernels[name] = (calls + nr, ns + nr * blocks * 100)
        cuda.cuCtxSynchronize()
        ms.append((time.perf_counter() - begin) * 1e3)
        steps.append([begin_ns, time.time_ns()])
    said = {"work": args.work, "ms": ms, "kernels": None, "steps": None}
    if args.profiler == "torch":
        said.update(kernels=kernels, steps=steps_of(steps, seen(steps, os.environ.get("WRONG"))))
    print(json.dumps(said))


main()
