#!/usr/bin/env python3
"""Trains a small network on the GPU and prints one line of JSON: ms per step, measured with the GPU idle before and
after each, and with --profiler torch the kernels that torch.profiler saw from the first call on, and in which step.

    torch_load.py [--profiler none|torch] [--steps N] [--seconds S] gpt|resnet|graphs|streams
"""
import argparse
import contextlib
import json
import sys
import time

import torch
from torch import nn

from torch_steps import steps_of

STEP = "sprof's step" # the range around each step, and around what comes before them


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """As many layers and as wide as GPT-2 small; one sequence at a time, so that launches are the bottleneck."""

    def __init__(self, layers=12, width=768, words=50257, length=256):
        super().__init__()
        self.words, self.length = words, length
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.Sequential(*[Block(width, 12) for _ in range(layers)])
        self.head = nn.Linear(width, words, bias=False)

    def loss(self, batch):
        logits = self.head(self.blocks(self.embed(batch[0])))
        return nn.functional.cross_entropy(logits.flatten(0, 1), batch[1].flatten())

    def batch(self, device):
        shape = (1, self.length)
        return (torch.randint(self.words, shape, device=device), torch.randint(self.words, shape, device=device))


class Residual(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width))
        self.short = nn.Sequential() if before == width else nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, x):
        return torch.relu(self.body(x) + self.short(x))


class Resnet(nn.Module):
    """ResNet-18, without torchvision."""

    def __init__(self):
        super().__init__()
        layers, before = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
        for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
            layers += [Residual(before, width, stride), Residual(width, width, 1)]
            before = width
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))

    def loss(self, batch):
        return nn.functional.cross_entropy(self.body(batch[0]), batch[1])

    def batch(self, device):
        return (torch.randn(64, 3, 224, 224, device=device), torch.randint(1000, (64,), device=device))


def eager(model, optimizer, batch):
    def step():
        optimizer.zero_grad(set_to_none=True)
        model.loss(batch).backward()
        optimizer.step()
    return step


def captured(model, optimizer, batch):
    """The whole step as one CUDA graph, as torch's documentation of torch.cuda.graph has it."""
    step, side = eager(model, optimizer, batch), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        model.loss(batch).backward()
        optimizer.step()
    return graph.replay


def streams(device):
    """Four streams that multiply in parallel, and a copy to the host on a fifth."""
    lanes = [torch.cuda.Stream() for _ in range(4)]
    copies = torch.cuda.Stream()
    a = [torch.randn(1024, 1024, device=device) for _ in lanes]
    host = torch.empty(1024, 1024, pin_memory=True)

    def step():
        for lane, x in zip(lanes, a):
            with torch.cuda.stream(lane):
                for _ in range(8):
                    x @ x
        with torch.cuda.stream(copies):
            host.copy_(a[0], non_blocking=True)
    return step


def make_step(work, device):
    if work == "streams":
        return streams(device)
    model = (Resnet if work == "resnet" else Gpt)().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=work == "graphs")
    return (captured if work == "graphs" else eager)(model, optimizer, model.batch(device))


def train(args, step_range):
    """step_range: makes the context in which a step, or the setup, runs to its end."""
    torch.manual_seed(1)
    ms, end = [], time.time() + args.seconds
    with step_range():
        step = make_step(args.work, "cuda")
        torch.cuda.synchronize()
    while len(ms) < args.steps or time.time() < end:
        with step_range():
            begin = time.perf_counter()
            step()
            torch.cuda.synchronize()
            ms.append((time.perf_counter() - begin) * 1e3)
    return ms


def is_on_gpu(event):
    """Not so the ranges that torch copies to the GPU timeline; older versions lack the attribute."""
    asked = getattr(event, "is_user_annotation", None)
    return "cuda" in str(event.device_type()).lower() and not (asked and asked()) and event.name() != STEP


def start_ns(event):
    asked = getattr(event, "start_ns", None)
    return asked() if asked else event.start_us() * 1000


def duration_ns(event):
    asked = getattr(event, "duration_ns", None)
    return asked() if asked else event.duration_us() * 1000


def kernels_of(profile):
    """name -> [calls, ns]; torch lists copies and fills as kernels called Memcpy... and Memset..."""
    found = {}
    for event in profile.profiler.kineto_results.events():
        if is_on_gpu(event):
            entry = found.setdefault(event.name(), [0, 0])
            entry[0] += 1
            entry[1] += duration_ns(event)
    return found


def in_steps(profile):
    """The same kernels by step: torch_steps.py. The steps are on torch.profiler's clock, too."""
    spans = {True: [], False: []}
    for event in profile.profiler.kineto_results.events():
        span = (start_ns(event), start_ns(event) + duration_ns(event))
        if is_on_gpu(event):
            if not event.name().startswith(("Memcpy", "Memset")):
                spans[True].append(span)
        elif event.name() == STEP and "cpu" in str(event.device_type()).lower():
            spans[False].append(span)
    return steps_of(spans[False], spans[True])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profiler", choices=("none", "torch"), default="none")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("work", choices=("gpt", "resnet", "graphs", "streams"))
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch sees no CUDA device", file=sys.stderr)
        return 77
    kernels = steps = None
    if args.profiler == "torch":
        from torch.profiler import ProfilerActivity, profile, record_function
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
            ms = train(args, lambda: record_function(STEP))
        kernels, steps = kernels_of(p), in_steps(p)
    else:
        ms = train(args, contextlib.nullcontext)
    print(json.dumps({"work": args.work, "ms": ms, "kernels": kernels, "steps": steps}))
    return 0


sys.exit(main())
