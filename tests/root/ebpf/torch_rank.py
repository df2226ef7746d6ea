"""One rank of a job of PyTorch over gloo: torch_rank.py STEPS FILE. Environment as of gloo_rank.cc."""
import os
import sys
import time

import torch
import torch.distributed as dist


def compute():
    end = time.thread_time() + 300e-6
    while time.thread_time() < end:
        pass


def load_batch(ms):
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        pass


def take_real_time():
    """No other program is to make a rank late."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(1))


def main():
    steps, rank, ranks = int(sys.argv[1]), int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    late_rank, late_step, late_ms = (os.environ.get("LATE") or "-1:-1:0").split(":")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=ranks)
    values = torch.zeros(256)
    dist.barrier()
    take_real_time()
    time.sleep(4)  # the recorder finds the functions of gloo in files that were mapped just now
    for step in range(steps):
        compute()
        if rank == int(late_rank) and step == int(late_step):
            load_batch(float(late_ms))
        values[0] = 1
        dist.all_reduce(values)
    print("sum", int(values[0].item()))


main()
