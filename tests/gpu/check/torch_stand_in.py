#!/usr/bin/env python3
"""Takes the place of torch_load.py over the fake GPU: launches kernels of three names and prints what that one prints. With
--profiler torch the kernels are those that it has launched itself, by the fake's own durations.

    torch_stand_in.py [--profiler none|torch] [--steps N] [--seconds S] gpt|resnet|graphs|streams
"""
import argparse
import ctypes
import json
import time

KERNELS = (("gemm", 40, 4), ("softmax", 10, 2), ("adam", 20, 1)) # name, blocks of 100 ns, launches of a step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiler", choices=("none", "torch"), default="none")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("work", choices=("gpt", "resnet", "graphs", "streams"))
    args = parser.parse_args()
    cuda, ms, kernels, end = ctypes.CDLL("libcuda.so.1"), [], {}, time.time() + args.seconds
    cuda.cuInit(0)
    functions = {}
    for name, _, _ in KERNELS:
        functions[name] = ctypes.c_void_p()
        cuda.cuModuleGetFunction(ctypes.byref(functions[name]), None, name.encode())
    while len(ms) < args.steps or time.time() < end:
        begin = time.perf_counter()
        for name, blocks, nr in KERNELS:
            for _ in range(nr):
                cuda.cuLaunchKernel(functions[name], blocks, 1, 1, 1, 1, 1, 0, None, None, None)
            calls, ns = kernels.get(name, (0, 0))
            kernels[name] = (calls + nr, ns + nr * blocks * 100)
        cuda.cuCtxSynchronize()
        ms.append((time.perf_counter() - begin) * 1e3)
    print(json.dumps({"work": args.work, "ms": ms, "kernels": kernels if args.profiler == "torch" else None}))


main()
