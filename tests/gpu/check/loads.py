"""The checks of programs that are recorded from their start and do what tests/targets/gpu_load.c is told. Each returns a
sentence with what it measured."""
import os
import re
import shutil
import statistics
import xml.dom.minidom

import judges
from judges import expect, near
from runner import AGENT, LOAD, ROOT, SPROF, Skip

PAUSES = (20, 20) # number, ms
PC_REFUSED = 22 # GPU_FAIL_PC_SAMPLING
CROWD = (32, 2000) # threads, launches of each


def number(out, name):
    return int(re.search(rf"\b{name}=(\d+)", out)[1])


def sound(recording, function, trace=True):
    """What holds for every recording of a program with one way to the GPU. Returns the report and the trace."""
    report, folded = recording.report(), recording.folded()
    judges.time_is_conserved(report, folded)
    judges.nothing_is_lost(report)
    judges.launched_by(folded, function)
    if not trace:
        return report, None
    trace = recording.trace()
    judges.each_has_a_call(trace)
    return report, trace


def launches(r):
    """Host time of an empty launch: alone, with CPU samples alone, and with GPU work collected beside none or all of them"""
    n, options = (10000 if r.fake else 100000), {
        "CPU samples alone": ["--gpu", "off"], "collecting at 1 Hz": ["-F", "1"], "collecting": []}
    found = {how: [] for how in ("alone", "asleep", *options)}
    for _ in range(r.rounds):
        for how, ns in found.items():
            command = [LOAD, f"empty:{n}"]
            if how in options:
                out, recording = r.record("launches.data", command, options[how])
            else:
                out = r.run(command, env={**r.env, "CUDA_INJECTION64_PATH": AGENT} if how == "asleep" else None)
            ns.append(number(out, "median_ns"))
    report, _ = sound(recording, "do_empty", trace=False)
    judges.calls_are(report, "^empty", n)
    ns = {how: statistics.median(v) for how, v in found.items()}
    return f"{ns['alone']:.0f} ns alone; " + ", ".join(f"{ns[h] - ns['alone']:+.0f} {h}" for h in list(found)[1:]) + f"; all {n} seen"


def sums(r):
    """Kernel times beside the program's own events, and counts"""
    out, recording = r.record("sums.data", [LOAD, "spin:200:1000000"])
    events = number(out, "events_ns")
    report, _ = sound(recording, "do_spin")
    total = judges.calls_are(report, "^spin", 200)
    near("kernel time beside that of events", total, events, 0.01)
    return f"200 kernels, {total / 1e6:.3f} ms; events around them {events / 1e6:.3f} ms"


def timeline(r):
    """CPU and GPU times on one clock, and the order within a stream"""
    _, recording = r.record("timeline.data", [LOAD, "spin:200:1000000"])
    _, trace = sound(recording, "do_spin")
    lag, ahead = judges.each_has_a_call(trace), judges.ends_before_wait(trace, judges.CLOCK_ERROR_NS)
    overlap = judges.one_after_the_other(trace, 1000)
    return (f"kernels begin {lag / 1e3:.1f} us after their calls at least, the last ends {ahead / 1e3:.1f} us before the wait for it "
            f"does; neighbours of one stream overlap by {overlap} ns at most")


def pauses(r):
    """Idle time of the GPU while the program sleeps"""
    out, recording = r.record("pauses.data", [LOAD, "pause:%d:%d" % PAUSES])
    report, trace = recording.report(), recording.trace()
    judges.time_is_conserved(report, recording.folded())
    judges.nothing_is_lost(report)
    slept, whole = number(out, "slept_ns"), number(out, "whole_ns")
    # the fake's waits end up to 1 ms late, a busy machine's later still
    idle = judges.idle_is_under(trace, recording.folded("gpu-idle"), "do_pause", slept, whole, 50000000 if r.fake else 1000000)
    return f"slept for {slept / 1e6:.3f} ms between {PAUSES[0]} kernels; the GPU was idle under that function for {idle / 1e6:.3f} ms"


def memory(r):
    """Copies and driver allocations"""
    _, recording = r.record("memory.data", [LOAD, "copy:20:4194304", "alloc:32:1048576"])
    copies, report = recording.report("memcpy"), recording.report()
    judges.nothing_is_lost(report)
    to = [row for row in copies["rows"] if "host to device" in row["name"] or "device to host" in row["name"]]
    expect(sum(row["bytes"] for row in to) == 40 * 4194304, f"bytes of copies: {[row['bytes'] for row in to]}")
    # modules and contexts take some, which the program cannot know
    peak = judges.memory_is(report, recording.trace(), 32 << 20, 4 << 30)
    return f"40 copies, 168 MB; peak of driver allocations {peak / 1e6:.1f} MB"


def pools(r):
    """Allocations from a memory pool"""
    _, recording = r.record("pools.data", [LOAD, "empty:100", "pool:64:4194304"])
    report = recording.report()
    judges.nothing_is_lost(report)
    api = {row["name"]: row["calls"] for row in recording.report("api")["rows"]}
    made = [sum(n for name, n in api.items() if name.startswith(call)) for call in ("cuMemAllocAsync", "cuMemFreeAsync")]
    expect(made == [64, 64], f"calls that allocate and free: {made}")
    peak = judges.memory_is(report, recording.trace(), 64 * 4194304, 4 << 30)
    return f"64 allocations of 4 MiB, 64 frees; peak {peak / 1e6:.1f} MB"


def graphs(r, n=22000, nodes=50):
    """Kernels of CUDA graphs"""
    alone = number(r.run([LOAD, f"graph:{n}:{nodes}"], timeout=400), "ns_per_launch")
    out, recording = r.record("graphs.data", [LOAD, f"graph:{n}:{nodes}"], timeout=400)
    report, _ = sound(recording, "do_graph", trace=False)
    judges.calls_are(report, "^empty", n * nodes)
    inside = sum(c["value"] for c in report["counters"] if c["name"] == "activities in graphs")
    expect(inside == n * nodes, f"{inside} of {n * nodes} kernels are known to be of a graph")
    each = number(out, "ns_per_launch")
    return (f"{n * nodes} kernels in {n} launches; a launch of {nodes} takes {alone} ns alone, {each} collecting: "
            f"{(each - alone) / nodes:+.0f} for each kernel")


def exhaustion(r):
    """25 million kernels of graphs"""
    return graphs(r, n=520000)


def capture(r):
    """A capture range of cudaProfilerApi"""
    _, recording = r.record("capture.data", [LOAD, "range:5000:1000"], ["--capture-range", "cudaProfilerApi"])
    report, _ = sound(recording, "do_range")
    judges.calls_are(report, ".", 1000)
    outside = sum(c["value"] for c in report["counters"] if c["name"] == "activities outside the capture range")
    expect(outside >= 10000, f"{outside} activities are known to be outside the range, and not 10000")
    return f"1000 launches in the range and no others; {outside} activities outside"


def processes(r):
    """Two processes that use the GPU at once"""
    counts = [300, 700]
    _, recording = r.record("processes.data", ["sh", "-c", '"$0" spin:%d:50000 & "$0" spin:%d:50000; wait' % tuple(counts), LOAD])
    report, _ = sound(recording, "do_spin", trace=False)
    judges.processes_are_told_apart(report, "spin", counts)
    return f"{counts[0]} and {counts[1]} kernels, each under its own process"


def threads(r):
    """More threads than CUPTI has buffers for by default"""
    nr, each = CROWD
    _, recording = r.record("threads.data", [LOAD, f"crowd:{nr}:{each}"])
    report, _ = sound(recording, "work", trace=False)
    judges.calls_are(report, "^empty", nr * each)
    return f"all {nr * each} launches of {nr} threads"


def flame(r):
    """A flame graph of GPU work"""
    r.record("flame.data", [LOAD, "spin:100:100000", "graph:20:20", "copy:5:1000000"])
    svg = r.path("flame.svg")
    r.run([SPROF, "flame", "--column", "gpu", "-o", svg, r.path("flame.data")])
    xml.dom.minidom.parse(svg)
    with open(svg) as file:
        expect("do_spin" in file.read(), "the flame graph lacks the function that launched")
    return os.path.basename(svg)


def stalls(r):
    """Samples inside kernels, where the driver allows them"""
    command = [LOAD, "spin:200:1000000"]
    out, recording = r.record("stalls.data", command, ["--pc-sampling"])
    for note in recording.report()["notes"]:
        if note["code"] == PC_REFUSED:
            raise Skip(note["text"])
    table = recording.report("stalls")
    nr, reasons = judges.samples_are_in(table, recording.folded("gpu-samples"), "^spin$")
    alone = number(r.run(command), "events_ns")
    return (f"{nr} samples, {len(reasons)} reasons, {table['dropped']} dropped, {table['foreign']} of others, buffer full "
            f"{table['buffer_full']} times; the kernels took {number(out, 'events_ns') / 1e6:.3f} ms, and {alone / 1e6:.3f} ms alone")


def nvcc(r):
    """Launches of the runtime's <<<>>>"""
    program = r.path("cuda_user")
    r.run(["nvcc", "-O2", "-o", program, os.path.join(ROOT, "tests/gpu/cuda_user.cu")], timeout=180)
    out, recording = r.record("nvcc.data", [program, "200"])
    report, events = recording.report(), number(out, "events_ns")
    total = sum(judges.calls_are(report, name, 200) for name in ("multiply", "add"))
    expect(total <= events * 1.01, f"kernels {total} ns, events around them {events}")
    return f"400 launches, kernels {total / 1e6:.2f} ms of {events / 1e6:.2f} ms between events"


def ncu(r):
    """Kernel times beside Nsight Compute's"""
    out = r.run(["ncu", "--csv", "--metrics", "gpu__time_duration.sum", LOAD, "spin:5:1000000"], timeout=180)
    units = {"nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6}
    found = [float(v.replace(",", "")) * units[u] for u, v in re.findall(r'"gpu__time_duration.sum","(\w+)","([\d.,]+)"', out)]
    expect(len(found) == 5, f"ncu's output holds {len(found)} durations of 5")
    _, recording = r.record("ncu.data", [LOAD, "spin:5:1000000"])
    average, theirs = judges.calls_are(recording.report(), "^spin", 5) / 5, statistics.mean(found)
    near("average kernel, ns", average, theirs, 0.05)
    return f"average {average:.0f} ns, Nsight Compute {theirs:.0f} ns"


def needs(r, name):
    """Why a check cannot run here; "" if it can."""
    if name in ("nvcc", "ncu"):
        if r.fake:
            return "needs a GPU, and " + {"nvcc": "nvcc", "ncu": "Nsight Compute"}[name]
        return "" if shutil.which(name) else f"no {name} here"
    return ""


CHECKS = [launches, sums, timeline, pauses, memory, pools, graphs, capture, processes, threads, flame, stalls, nvcc, ncu]
