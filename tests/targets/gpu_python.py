# Launches kernels of 1000 ns from Python functions that look the same on the C stack: forward 3
# times in each round, backward once, by_sort once from a callback, and then 50 functions that are
# made, run once and deleted. Argument: rounds.
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
function = ctypes.c_void_p()
times = int(sys.argv[1]) if len(sys.argv) > 1 else 100


def launch():
    cuda.cuLaunchKernel(function, 10, 1, 1, 1, 1, 1, 0, None, None, None)


def forward():
    launch()


def backward():
    launch()


def by_sort():
    sorted([1], key=lambda _: launch())


def train():
    for _ in range(times):
        forward()
        backward()
        forward()
        by_sort()
        forward()
    for i in range(50):
        made = {"launch": launch}
        exec(compile(f"def made_{i:03}():\n    launch()\n", f"/made/{i:03}.py", "exec"), made)
        made[f"made_{i:03}"]()
        del made


def main():
    cuda.cuInit(0)
    cuda.cuModuleGetFunction(ctypes.byref(function), None, b"gemm_kernel")
    train()


main()
