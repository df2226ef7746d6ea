"""The checks of PyTorch: training steps alone, under sprof and under torch.profiler. Over the fake GPU a stand-in launches
kernels of its own and says what it has launched, so that everything but torch itself is tried there."""
import json
import os
import statistics
import subprocess
import sys
import time

import judges
from judges import expect
from runner import HERE, ROOT, SPROF


def program(r):
    return [sys.executable, os.path.join(HERE, "torch_stand_in.py") if r.fake else os.path.join(ROOT, "tests/gpu/torch_load.py")]


def torch(r, work, profiler="none", name=None, steps=30):
    command = [*program(r), "--steps", str(steps), "--profiler", profiler, work]
    out, recording = r.record(name, command, timeout=180) if name else (r.run(command, timeout=180), None)
    return json.loads(out.strip().splitlines()[-1]), recording


def step_ms(run):
    return statistics.median(run["ms"][5:])


def work(r, name, rounds):
    """Times of a step in turns; compares the kernels of the last round."""
    ms = {"alone": [], "sprof": [], "torch": []}
    for _ in range(rounds):
        ms["alone"].append(step_ms(torch(r, name)[0]))
        run, recording = torch(r, name, name=f"torch_{name}.data")
        ms["sprof"].append(step_ms(run))
        theirs, _ = torch(r, name, profiler="torch")
        ms["torch"].append(step_ms(theirs))
    report = recording.report()
    judges.time_is_conserved(report, recording.folded())
    judges.nothing_is_lost(report)
    step = {k: statistics.median(v) for k, v in ms.items()}
    said = (f"step {step['alone']:.2f} ms alone, x{step['sprof'] / step['alone']:.3f} under sprof, "
            f"x{step['torch'] / step['alone']:.3f} under torch.profiler; ")
    return said + judges.same_kernels(report["rows"], theirs["kernels"], 0.01)


def torch_gpt(r):
    """A training step of GPT-2 small"""
    said = work(r, "gpt", r.rounds)
    r.run([SPROF, "flame", "--column", "gpu", "-o", r.path("torch_gpt.svg"), r.path("torch_gpt.data")])
    return said


def torch_resnet(r):
    """A training step of ResNet-18"""
    return work(r, "resnet", 1)


def torch_graphs(r):
    """The step of GPT-2 small as a CUDA graph"""
    return work(r, "graphs", 1)


def torch_streams(r):
    """Products on four streams, and a copy on a fifth"""
    return work(r, "streams", 1)


def kineto(r):
    """torch.profiler inside a program that sprof records: it gets CUPTI with its clock, and sprof reports that"""
    run, recording = torch(r, "gpt", profiler="torch", name="kineto.data", steps=10)
    said_by_sprof = r.stderr.strip()[-300:] or "nothing was said"
    seen, theirs = sum(row["calls"] for row in recording.report()["rows"]), sum(v[0] for v in (run["kernels"] or {}).values())
    said = f"sprof saw {seen} activities, torch.profiler {theirs}; {said_by_sprof}"
    expect(theirs, "torch.profiler saw no kernel: " + said)
    return f"{judges.kernels_are_in_steps(run['steps'])} kernels in each of its steps; " + said


def kineto_first(r):
    """sprof attaches while torch.profiler records, and takes nothing from it"""
    seconds, until_join = (3, 1) if r.fake else (20, 15)
    child = r.start(*program(r), "--seconds", str(seconds), "--profiler", "torch", "gpt")
    try:
        time.sleep(until_join)
        r.join(child, "kineto_first.data")
        said = r.stderr.strip()[-200:]
        out = child.communicate(timeout=120)[0]
    except subprocess.TimeoutExpired:
        expect(False, "the program did not end in time")
    finally:
        child.kill()
    expect(not child.returncode, f"the program ended with {child.returncode}")
    run = json.loads(out.strip().splitlines()[-1])
    theirs = sum(v[0] for v in (run["kernels"] or {}).values())
    expect(theirs, f"torch.profiler saw no kernel; {said}")
    in_step = judges.kernels_are_in_steps(run["steps"])
    return f"torch.profiler saw {theirs} kernels, {in_step} in each of its steps; {said or 'nothing was said'}"


def torch_nvtx(r):
    """Ranges of torch.cuda.nvtx around kernels"""
    code = ("import torch\nx = torch.ones(256, 256, device='cuda')\nfor _ in range(50):\n"
            "    with torch.cuda.nvtx.range('step'):\n        y = x @ x\ntorch.cuda.synchronize()\n")
    _, recording = r.record("torch_nvtx.data", [sys.executable, "-c", code], timeout=180)
    rows = [row for row in recording.report("ranges")["rows"] if row["range"] == "step"]
    expect(rows and rows[0]["repeats"] == 50, f"ranges called step: {rows}")
    launched = rows[0].get("launches", 0)
    expect(launched >= 50, f"{launched} launches in 50 ranges")
    return f"50 ranges with {launched} launches, {rows[0]['total_ns'] / 1e6:.2f} ms"


def needs(r, name):
    if r.fake:
        return "needs a GPU, and torch" if name == "torch_nvtx" else ""
    return "" if r.has_torch() else "no torch for this python"


# The most important first: time may run out before the last of them.
CHECKS = [torch_gpt, torch_graphs, kineto, torch_nvtx, kineto_first, torch_streams, torch_resnet]
