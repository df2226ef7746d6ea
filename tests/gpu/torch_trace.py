#!/usr/bin/env python3
"""Checks a trace in the schema of torch.profiler, and compares it with sprof report --gpu --json.

    torch_trace.py TRACE REPORT    exit 1 with what is wrong
"""
import collections
import decimal
import json
import os
import sys

GPU = {"kernel", "gpu_memcpy", "gpu_memset"}
CALLS = {"cuda_runtime", "cuda_driver"}
# us. In the realistic model the times of work are converted from another clock, and a little wrong.
CLOCK_ERROR = 1000 if os.environ.get("FAKE_REALISTIC") else 0
NAMES = {"[copy host to device]": "Memcpy HtoD", "[copy device to host]": "Memcpy DtoH",
         "[copy peer to peer]": "Memcpy PtoP", "[fill]": "Memset (Device)"}


def check_work(e, known):
    args = e["args"]
    assert e["pid"] == args["device"] and e["tid"] == args["stream"], e
    assert {"correlation", "context"} <= set(args), e
    if e["cat"] == "kernel":
        assert {"grid", "block", "registers per thread", "shared memory"} <= set(args), e
        if args["device"] in known:
            assert {"blocks per SM", "warps per SM"} <= set(args) and 0 <= args["est. achieved occupancy %"] <= 100, e
    else:
        assert args["bytes"] > 0 and args["memory bandwidth (GB/s)"] > 0, e


def check_flows(events):
    calls, work = {}, collections.defaultdict(list)
    for e in events:
        if e["ph"] == "X" and e["cat"] in CALLS:
            assert e["args"]["correlation"] not in calls, e
            calls[e["args"]["correlation"]] = e
        elif e["ph"] == "X" and e["cat"] in GPU:
            work[e["args"]["correlation"]].append(e)
    starts = [e for e in events if e["ph"] == "s"]
    ends = [e for e in events if e["ph"] == "f"]
    assert {e["id"] for e in starts} == {e["id"] for e in ends} == set(work), "arrows"
    assert len(starts) == len(set(work)) and len(ends) == sum(map(len, work.values())), "arrows"
    for e in starts:
        call = calls[e["id"]]
        assert (e["cat"], e["pid"], e["tid"], e["ts"]) == ("ac2g", call["pid"], call["tid"], call["ts"]), (e, call)
        assert all(w["ts"] >= call["ts"] - CLOCK_ERROR for w in work[e["id"]]), (call, work[e["id"]])
    for e in ends:
        assert any((e["pid"], e["tid"], e["ts"]) == (w["pid"], w["tid"], w["ts"]) for w in work[e["id"]]), e


def sums_of(events):
    sums = collections.defaultdict(lambda: [0, 0])
    for e in events:
        if e["ph"] == "X" and e["cat"] in GPU:
            sums[e["args"]["device"], e["name"]][0] += 1
            sums[e["args"]["device"], e["name"]][1] += int(e["dur"] * 1000)
    return sums


def main():
    with open(sys.argv[1]) as f:
        trace = json.load(f, parse_float=decimal.Decimal)
    with open(sys.argv[2]) as f:
        report = json.load(f)
    events = trace["traceEvents"]
    assert trace["baseTimeNanoseconds"] % (7889238 * 10**9) == 0
    for e in events:
        if e["ph"] == "X" and e["cat"] in GPU:
            check_work(e, {d["id"] for d in trace["deviceProperties"] if d["numSms"]})
        if "ts" in e:
            assert 0 <= e["ts"] < 2**53 / 1000, e
    check_flows(events)
    got, want = sums_of(events), collections.defaultdict(lambda: [0, 0])
    for row in report["rows"]:
        key = row["device"], NAMES.get(row["name"], row["name"])
        want[key][0] += row["calls"]
        want[key][1] += row["total_ns"]
    assert got == want, f"{dict(got)}\nnot {dict(want)}"


main()
