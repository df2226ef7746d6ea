# Brief steps of training with PyTorch on one CPU thread. Prints "ready", then reads numbers of
# steps from standard input, runs that many and prints their "CPU-ns wall-ns".
import sys
import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
x, y = torch.randn(8, 16), torch.randn(8, 1)


def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()


train(2000)
print("ready", flush=True)
for line in sys.stdin:
    began = time.process_time_ns(), time.perf_counter_ns()
    train(int(line))
    print(time.process_time_ns() - began[0], time.perf_counter_ns() - began[1], flush=True)
