#!/usr/bin/env python3
"""A sprof that is wrong in one way, for the tests of the judges: runs $REAL_SPROF, and bends what it prints or writes. $WRONG
names the way.
"""
import json
import os
import re
import subprocess
import sys

REAL, WRONG, ARGS = os.environ["REAL_SPROF"], os.environ["WRONG"], sys.argv[1:]


def counter(report, name, value):
    report["counters"].append({"pid": 1, "name": name, "value": value})


def first_kernel(trace):
    return next(e for e in trace["traceEvents"] if e.get("cat") == "kernel")


def last_kernel(trace):
    return [e for e in trace["traceEvents"] if e.get("cat") == "kernel"][-1]


def lose_call(report):
    report["rows"][0]["calls"] -= 1


def lose_sample(report):
    if report["report"] == "stalls":
        report["rows"][0]["samples"] -= 1


def foreign_samples(report):
    if report["report"] == "stalls":
        report["rows"][0]["kernel"] = "other"


def gain_call(report):
    report["rows"][0]["calls"] += 1


def one_ns_of_idle(report):
    report["devices"][0]["idle_ns"] += 1


def years_of_wall(report):
    report["devices"][0]["wall_ns"] += 1795365659000000000
    report["devices"][0]["idle_ns"] += 1795365659000000000


def never_busy(report):
    for device in report["devices"]:
        device["idle_ns"], device["busy_ns"] = device["wall_ns"], 0


def slow_kernels(report):
    report["rows"][0]["total_ns"] = int(report["rows"][0]["total_ns"] * 1.05)


def half_the_peak(report):
    for device in report["devices"]:
        device["peak_bytes"] //= 2


def one_process(report):
    for row in report["rows"]:
        row["pid"] = report["rows"][0]["pid"]


def half_the_bytes(report):
    for row in report["rows"]:
        row["bytes"] //= 2


def nothing(report):
    report["rows"] = []


def outside_is_unknown(report):
    report["counters"] = [c for c in report["counters"] if "outside" not in c["name"]]


def graphs_are_unknown(report):
    report["counters"] = [c for c in report["counters"] if "in graphs" not in c["name"]]


def orphan(trace):
    first_kernel(trace)["args"]["correlation"] = 4000000000


def early(trace):
    first_kernel(trace)["ts"] -= 1000000


def late(trace):
    last_kernel(trace)["dur"] += 1000000


def overlapping(trace):
    first_kernel(trace)["dur"] += 500


def years_later(trace):
    last_kernel(trace)["ts"] += 1795365659000000


def nothing_is_freed(trace):
    points = [e for e in trace["traceEvents"] if e["ph"] == "C" and e["name"] == "device memory"]
    most = max(points, key=lambda e: e["args"]["bytes"])["args"]["bytes"]
    points[-1]["args"]["bytes"] = most


def other_function(lines):
    stack, ns = lines[0].rsplit(" ", 1)
    return [re.sub(r";(do_[a-z]+|work|launch_empty)\b", ";main", stack) + " " + ns] + lines[1:]


def incomplete(lines):
    stack, ns = lines[0].rsplit(" ", 1)
    return [re.sub(r"^[^;]*;", "gpu_load;[no unwind rule];", stack) + " " + ns] + lines[1:]


def one_ns_less(lines):
    stack, ns = lines[0].rsplit(" ", 1)
    return [f"{stack} {int(ns) - 1}"] + lines[1:]


def one_ns_less_of_pause(lines):
    at = next((i for i, line in enumerate(lines) if "do_pause" in line and "idle" in line), None)
    return lines if at is None else lines[:at] + one_ns_less(lines[at:])


def pause_elsewhere(lines):
    return [line.replace("do_pause", "main") if "idle" in line else line for line in lines]


def no_function(lines):
    return [re.sub(r"do_spin", "main", line) for line in lines]


REPORTS = {f.__name__: f for f in (lose_call, gain_call, one_ns_of_idle, years_of_wall, never_busy, slow_kernels, half_the_peak,
                                   one_process, half_the_bytes, nothing, outside_is_unknown, graphs_are_unknown,
                                   lose_sample, foreign_samples)}
LOST = {"discarded": "activities discarded", "without_times": "activities without a time", "without_launch": "activities without a launch",
        "without_record": "launches without a record"}
TRACES = {f.__name__: f for f in (orphan, early, late, overlapping, years_later, nothing_is_freed)}
FOLDS = {f.__name__: f for f in (other_function, incomplete, one_ns_less, one_ns_less_of_pause, pause_elsewhere)}
FILES = {"no_function": no_function}


def bend_report(text):
    report = json.loads(text)
    if WRONG in LOST:
        counter(report, LOST[WRONG], 1)
    elif WRONG != "half_the_bytes" or "--memcpy" in ARGS:
        REPORTS[WRONG](report)
    return json.dumps(report)


def bend_file(bend):
    path = ARGS[ARGS.index("-o") + 1]
    with open(path) as file:
        text = bend(file.read())
    with open(path, "w") as file:
        file.write(text)


def bend_trace(text):
    trace = json.loads(text)
    TRACES[WRONG](trace)
    return json.dumps(trace)


STAND_IN = {"other_clock", "late_step", "late_kernel", "lost_kernel"} # torch_stand_in.py is wrong in these ways, not sprof
assert WRONG in STAND_IN | {*REPORTS, *LOST, *TRACES, *FOLDS, *FILES}, f"there is no wrong way {WRONG}"
verb = ARGS[0] if ARGS else ""
if verb == "record": # the process that is waited for, and its exit status, are sprof's
    os.execv(REAL, [REAL, *ARGS])
done = subprocess.run([REAL, *ARGS], stdout=subprocess.PIPE, text=True)
out = done.stdout
if not done.returncode:
    if verb == "report" and WRONG in {**REPORTS, **LOST} and "--json" in ARGS and "--api" not in ARGS:
        out = bend_report(out)
    elif verb == "fold" and WRONG in FOLDS:
        out = "\n".join(FOLDS[WRONG](out.splitlines())) + "\n"
    elif verb == "export" and WRONG in TRACES:
        bend_file(bend_trace)
    elif verb == "flame" and WRONG in FILES:
        bend_file(lambda text: "\n".join(FILES[WRONG](text.splitlines())))
sys.stdout.write(out)
sys.exit(done.returncode)
