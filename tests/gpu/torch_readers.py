#!/usr/bin/env python3
"""Reads exported traces with programs that read those of torch.profiler, and compares with sprof report --gpu --json.

    torch_readers.py hta FOLDER REPORT
    torch_readers.py tensorboard FOLDER REPORT
"""
import json
import os
import sys

ERROR_NS = 1  # for each event: times are doubles of us


def close(got_us, want_ns, nr, what):
    assert abs(got_us * 1000 - want_ns) <= ERROR_NS * nr, f"{what}: {got_us} us, not {want_ns} ns"


def hta(folder, report):
    from hta.trace_analysis import TraceAnalysis

    rows = {r["name"]: r for r in report["rows"]}
    nr = sum(r["calls"] for r in rows.values())
    device, = report["devices"]
    analysis = TraceAnalysis(trace_dir=folder)
    times = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    close(times["kernel_time(us)"] - times["idle_time(us)"], device["busy_ns"], nr, "busy time")
    _, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
    seen = {k["name"]: k for _, k in kernels.iterrows()}
    want = {n for n in rows if not n.startswith("[")}
    assert want <= set(seen), f"{set(seen)}, not {want}"
    for name in want:
        close(seen[name]["sum (us)"], rows[name]["total_ns"], nr, name)
    idle, _ = analysis.get_idle_time_breakdown(visualize=False)
    close(idle["idle_time"].sum(), times["idle_time(us)"] * 1000, 100 * nr, "idle time of the only stream")
    print(f"{len(want)} kernels, {device['busy_ns']} ns")


def tensorboard(folder, report):
    from torch_tb_profiler import consts
    from torch_tb_profiler.profiler.data import RunProfileData
    from torch_tb_profiler.profiler.run_generator import RunGenerator

    name, = os.listdir(folder)
    assert consts.WORKER_PATTERN.match(name), name
    profile = RunProfileData.parse("rank0", None, os.path.join(folder, name), folder)
    table = RunGenerator("rank0", None, profile).generate_run_profile().kernel_table["data"]
    columns = [c["name"] for c in table["columns"]]
    rows = {r[0]: dict(zip(columns, r)) for r in table["rows"]}
    kernels = [r for r in report["rows"] if not r["name"].startswith("[")]
    assert set(rows) == {k["name"] for k in kernels}, rows
    for k in kernels:
        row = rows[k["name"]]
        assert row["Calls"] == k["calls"], row
        assert abs(row["Total Duration (us)"] * 1000 - k["total_ns"]) <= 1000, row
    print(f"{len(kernels)} kernels")


def main():
    with open(sys.argv[3]) as f:
        report = json.load(f)
    {"hta": hta, "tensorboard": tensorboard}[sys.argv[1]](sys.argv[2], report)


main()
