#!/usr/bin/env python3
"""Reads trace events as a viewer does, with exact times, and prints what they show of a GPU.

    trace_events.py activities FILE WANT   exit 1 with a diff if they differ from recorder.py's lines in WANT
    trace_events.py memory FILE            a line per point in time: ns, bytes
    trace_events.py occupancy FILE         checks each point in time against the kernels that run then; prints the most
    trace_events.py arrows FILE            checks that each leads from inside a call to the start of its work; prints how many
"""
import collections
import decimal
import difflib
import json
import math
import os
import re
import sys

COPIES = {"1": "[copy host to device]", "2": "[copy device to host]", "10": "[copy peer to peer]"}

# ns. In the realistic model the times of work are converted from another clock, and a little wrong.
CLOCK_ERROR = 1000000 if os.environ.get("FAKE_REALISTIC") else 0


def read(path):
    with open(path) as f:
        trace = json.load(f, parse_float=decimal.Decimal)
    start = trace["otherData"]["start_ns"]
    events = trace["traceEvents"]
    for e in events:
        for key in ("ts", "dur"):
            if key in e:
                ns = e[key] * 1000
                assert ns == int(ns)
                e[key] = int(ns) + (start if key == "ts" else 0)
    return events


def names(events, what):
    return {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == what}


def activities(events):
    tracks, processes = names(events, "thread_name"), names(events, "process_name")
    for e in events:
        if e["ph"] != "X" or e["cat"] not in ("kernel", "memcpy", "memset", "synchronization"):
            continue
        waited = e["cat"] == "synchronization"
        stream = e["args"]["stream"]
        track = tracks[e["pid"], e["tid"]]
        # a wait for a whole context is not one for a stream
        want = r"context \d+" if stream == 2**32 - 1 else f"stream {stream}"
        assert re.fullmatch(want + (": waited for" if waited else "") + r"( \(\d+\))?", track), (track, e)
        device = re.match(r"GPU (\d+)(?:: Fake H200)? \(process \d+\)$", processes[e["pid"], 0]).group(1)
        device = "-" if waited else device
        yield (f"{0 if waited else e['dur']} {e['name']} corr={e['args']['correlation']} device={device} "
               f"stream={stream} bytes={e['args'].get('bytes', 0)}")


def wanted(path):
    with open(path) as f:
        for line in f:
            first = line.split()[0]
            fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
            name = first
            if "kind" in fields:
                name = COPIES[fields["kind"]]
            elif "value" in fields:
                name = "[fill]"
            elif "=" in first:
                name = "[synchronize context]" if fields["stream"] == "4294967295" else "[synchronize stream]"
            device = fields["device"] if not name.startswith("[synchronize") else "-"
            yield (f"{fields.get('ns', 0)} {name} corr={fields['corr']} device={device} "
                   f"stream={fields['stream']} bytes={fields.get('bytes', 0)}")


def arrows(events):
    tracks = names(events, "thread_name")
    slices = collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            slices[e["pid"], e["tid"]].append(e)
    heads = {e["id"]: e for e in events if e["ph"] == "f"}
    tails = [e for e in events if e["ph"] == "s"]
    assert len(heads) == len(tails) and {e["id"] for e in tails} == set(heads)
    calls, threads = set(), set()
    for tail in tails:
        head = heads[tail["id"]]
        track = tail["pid"], tail["tid"]
        assert "(CUDA calls)" in tracks[track], tracks[track]
        call, = [s for s in slices[track] if s["ts"] == tail["ts"]]
        work, = [s for s in slices[head["pid"], head["tid"]] if s["ts"] == head["ts"] and head["bp"] == "e"]
        assert call["args"]["correlation"] == work["args"]["correlation"]
        assert call["name"].startswith("cu") and call["ts"] <= work["ts"] + CLOCK_ERROR, (call, work)
        threads.add(track)
        calls.add((track, call["ts"]))
    return f"{len(tails)} arrows from {len(calls)} calls of {len(threads)} threads"


# The fake GPU has 132 multiprocessors of 64 warps of 32 threads. No grid here has as many blocks as fit.
def share_of(kernel):
    grid, block = (math.prod(kernel["args"][key]) for key in ("grid", "block"))
    return math.floor(decimal.Decimal(grid * -(-block // 32) * 1000000) / (132 * 64))


def occupancy(events):
    kernels = [e for e in events if e["ph"] == "X" and e["cat"] == "kernel"]
    points = [e for e in events if e["ph"] == "C" and e["name"] == "occupancy"]
    last = {}
    for point in points:
        now = sum(share_of(k) for k in kernels if k["pid"] == point["pid"] and k["ts"] <= point["ts"] < k["ts"] + k["dur"])
        assert point["args"]["percent"] * 10000 == now, (point, now)
        before = last.get(point["pid"], {"ts": 0, "args": {"percent": 0}})
        assert before["ts"] < point["ts"] and before["args"] != point["args"], (before, point)
        last[point["pid"]] = point
    assert all(point["args"]["percent"] == 0 for point in last.values())
    times = {(e["pid"], e["ts"]) for e in points}
    ends = {(k["pid"], k["ts"] + k["dur"]) for k in kernels}
    for pid, ts in {(k["pid"], k["ts"]) for k in kernels if k["pid"] in last} - times:
        assert (pid, ts) in ends, ts  # one ended as another began
    return f"{max(point['args']['percent'] for point in points)} % at most"


def main():
    events = read(sys.argv[2])
    if sys.argv[1] == "activities":
        got, want = sorted(activities(events)), sorted(wanted(sys.argv[3]))
        sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(want, got, lineterm=""))
        sys.exit(got != want)
    elif sys.argv[1] == "memory":
        for e in events:
            if e["ph"] == "C" and e["name"] == "device memory":
                print(e["ts"], e["args"]["bytes"])
    elif sys.argv[1] == "occupancy":
        print(occupancy(events))
    else:
        print(arrows(events))


main()
