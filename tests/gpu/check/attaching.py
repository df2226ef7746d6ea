"""The checks in which sprof comes into a program that uses the GPU already, and leaves it again."""
import os
import re
import statistics
import time

import judges
from judges import expect
from runner import LOAD


def alive(program):
    expect(program.poll() is None, f"the program ended with {program.returncode}")


def collected(recording):
    report = recording.report()
    judges.time_is_conserved(report, recording.folded())
    expect(sum(row["calls"] for row in report["rows"]), "nothing was collected")
    return report


def attach(r):
    """Attaching to a program of eight threads and detaching, several times"""
    times, took = 3 if r.fake else 10, []
    program = r.start(LOAD, "threads:8:60000")
    try:
        for _ in range(times):
            seconds, recording = r.join(program, "attach.data")
            took.append(seconds)
            collected(recording)
        alive(program)
    finally:
        program.kill()
    return (f"{times} times into 8 threads; {statistics.median(took) * 1e3:.0f} ms beside the 500 asked for, worst "
            f"{max(took) * 1e3:.0f}")


def second_attach(r):
    """The timeline of the second of two recordings of a program"""
    program = r.start(LOAD, "threads:1:60000")
    try:
        for _ in range(2):
            time.sleep(1)
            _, recording = r.join(program, "second_attach.data")
        alive(program)
    finally:
        program.kill()
    report, trace = collected(recording), recording.trace()
    judges.timeline_is_sane(report, trace, 0.5)
    judges.launched_by(recording.folded(), "work", judges.launched_earlier(trace))
    lag = judges.each_has_a_call(trace)
    device = report["devices"][0]
    return (f"busy {device['busy_ns'] / 1e6:.1f} ms of {device['wall_ns'] / 1e6:.1f} ms; kernels begin {lag / 1e3:.1f} us after their "
            "calls at least")


def attach_graphs(r):
    """Attaching to a program that has made its graphs before"""
    program = r.start(LOAD, "graph:2000000:20")
    try:
        time.sleep(2)
        took, recording = r.join(program, "attach_graphs.data")
        report = collected(recording)
        alive(program)
    finally:
        program.kill()
    count = {c["name"]: c["value"] for c in report["counters"]}
    return (f"{sum(row['calls'] for row in report['rows'])} activities, {count.get('activities in graphs', 0)} known to be of a graph, "
            f"{count.get('activities without a time', 0)} without a time; {took * 1e3:.0f} ms beside the 500 asked for")


def load(r):
    """Loading the library into a running program"""
    stops = []
    for _ in range(3 if r.fake else 10):
        program = r.start(LOAD, "threads:4:60000", asleep=False)
        try:
            time.sleep(2)
            _, recording = r.join(program, "load.data", ["-v"])
            stops.append(float(re.search(r"was stopped for ([\d.]+) ms", r.stderr)[1]))
            collected(recording)
            alive(program)
        finally:
            program.kill()
    return f"into {len(stops)} programs of 4 threads, which stood still for {statistics.median(stops)} ms, at most {max(stops)}"


def residue(r):
    """The time of a launch before a recorder comes and after it has gone"""
    program = r.start(LOAD, "run:60000")
    try:
        time.sleep(1)
        begin = time.monotonic()
        r.join(program, "residue.data")
        end = time.monotonic()
        time.sleep(2)
        program.kill()
        out = program.communicate(timeout=30)[0]
    finally:
        program.kill()
    points = [(int(a) / 1e9, int(b)) for a, b in re.findall(r"at_ns=(\d+) ns_per_launch=(\d+)\n", out)]
    before, after = ([ns for at, ns in points if a < at < b] for a, b in ((0, begin), (end + 0.3, end + 10)))
    expect(before and after, "the program's own times are missing")
    return f"a launch takes {statistics.median(before):.0f} ns before and {statistics.median(after):.0f} after"


def idle(r):
    """Detaching from a program that makes no call"""
    program = r.start(LOAD, "empty:1000", "idle:60000")
    try:
        program.stdout.readline()
        took, _ = r.join(program, "idle.data")
        alive(program)
    finally:
        program.kill()
    return f"{took * 1e3:.0f} ms beside the 500 asked for, with what starting and writing take"


def needs(r, name):
    yama = "/proc/sys/kernel/yama/ptrace_scope"
    if name == "load" and os.geteuid() and os.path.exists(yama):
        with open(yama) as file:
            if int(file.read()):
                return "ptrace(2) is not allowed: run it as root, or with kernel.yama.ptrace_scope=0"
    return ""


CHECKS = [attach, second_attach, attach_graphs, load, residue, idle]
