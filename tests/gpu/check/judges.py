"""What must hold for recordings of programs whose work is known. A judge looks at what sprof reported (runner.Recording)
and raises Wrong with a sentence; it measures nothing, and knows of no GPU. tests/gpu/judges.bats shows each of them a
recording that is wrong.
"""
import re

# How far CUPTI's times, which it interpolates, may be wrong.
CLOCK_ERROR_NS = 50000
LOSSES = ("activities discarded", "activities without a time", "activities dropped by CUPTI", "activities not readable",
          "activities without a launch", "activities whose call was not recorded", "activities summed without a stack",
          "activities too late for their place", "activities in the future", "launches without a record")
RING_FULL = "records that found a ring full"
MARKERS = re.compile(r";\[(?!kernel\b|captured in a graph by\])[a-z][a-z ]+\](;| \d+$)")


class Wrong(Exception):
    pass


def expect(truth, text):
    if not truth:
        raise Wrong(text)


def near(what, got, wanted, share):
    expect(wanted and abs(got - wanted) <= share * wanted, f"{what}: {got:.0f}, and not {wanted:.0f} within {share:.0%}")


def time_is_conserved(report, folded):
    """Each device is busy or idle at every moment, and the flame graph has the time of the table."""
    for device in report["devices"]:
        expect(device["busy_ns"] + device["idle_ns"] == device["wall_ns"], f"busy + idle is not the wall: {device}")
    table, flame = sum(r["total_ns"] for r in report["rows"]), sum(ns for _, ns in folded)
    expect(table == flame, f"the flame graph has {flame} ns, the table {table}")


def nothing_is_lost(report, losses=LOSSES):
    lost = {c["name"]: c["value"] for c in report["counters"] if c["name"] in losses and c["value"]}
    if any(c["name"] == RING_FULL and c["value"] for c in report["counters"]):
        lost.pop("activities whose call was not recorded", None) # from the timeline only; the sums have them
    expect(not lost, "lost: " + ", ".join(f"{value} {name}" for name, value in lost.items()))


def is_in(stack, function):
    """Also where it is inlined."""
    return f";{function};" in stack or f";{function}_[i];" in stack


def launched_by(folded, function, earlier_ns=0):
    """Every stack of GPU work leads from the start of a thread through the function that launched it, but for work of
    that time in all, which was launched before the recording began."""
    expect(folded, "no stack has GPU work")
    unseen = [(stack, ns) for stack, ns in folded if ";[launch not seen];" in stack]
    if sum(ns for _, ns in unseen) == earlier_ns:
        folded = [row for row in folded if row not in unseen]
    expect(folded, "all work was launched before the recording began")
    for stack, ns in folded:
        expect(is_in(stack, function), f"{ns} ns are not under {function}: {stack}")
        broken = MARKERS.search(stack + " 0")
        expect(not broken, f"{ns} ns have an incomplete stack: {stack}")


def samples_are_in(stalls, folded, kernel):
    """Every sample inside kernels is in those of that name, and the flame graph has the samples of the table."""
    rows = stalls["rows"]
    expect(rows, "no samples inside kernels")
    others = {row["kernel"] for row in rows if not re.search(kernel, row["kernel"])}
    expect(not others, f"samples are in {', '.join(sorted(others))}")
    table, flame = sum(row["samples"] for row in rows), sum(n for _, n in folded)
    expect(table == flame == stalls["samples"], f"{stalls['samples']} samples, the table has {table}, the flame graph {flame}")
    expect(all(row["idle_samples"] <= row["samples"] for row in rows), "more samples without any instruction than samples")
    reasons = {row["stall"] for row in rows}
    expect(len(reasons) > 1, f"all samples have one reason, {reasons}")
    return table, reasons


def calls_are(report, pattern, wanted):
    """The rows whose names match have exactly that many calls; returns their time."""
    rows = [r for r in report["rows"] if re.search(pattern, r["name"])]
    calls = sum(r["calls"] for r in rows)
    expect(calls == wanted, f"{calls} of {wanted} calls of {pattern}")
    return sum(r["total_ns"] for r in rows)


def launched_earlier(trace):
    """Time of the work that was launched before the first call of the recording, in ns. Ids count up."""
    first = min(trace.calls(), default=0)
    return sum(e["end"] - e["start"] for e in trace.work() if e["args"]["correlation"] < first)


def each_has_a_call(trace):
    """No GPU work without a call of the program, and none that began before it. Returns the shortest lag in ns. Ids count up:
    what has one below that of the first call was launched before the recording began."""
    calls, lags = trace.calls(), []
    for event in trace.work():
        if event["args"]["correlation"] < min(calls, default=0):
            continue
        call = calls.get(event["args"]["correlation"])
        expect(call, f"'{event['name']}' at {event['ts']} us has no call")
        lags.append(event["start"] - call["start"])
    expect(lags, "the timeline has no GPU work")
    expect(min(lags) >= -CLOCK_ERROR_NS, f"GPU work began {-min(lags)} ns before its call")
    return min(lags)


def ends_before_wait(trace, slack_ns):
    """The last work has ended when the wait for it returns. Returns how much earlier, in ns."""
    waits = [c["end"] for c in trace.calls().values() if c["name"].startswith("cuCtxSynchronize")]
    expect(waits, "the timeline has no wait")
    ahead = max(waits) - max(e["end"] for e in trace.work())
    expect(ahead >= -slack_ns, f"the last work ended {-ahead} ns after the wait for it")
    return ahead


def one_after_the_other(trace, slack_ns):
    """Kernels of each stream do not overlap. Returns by how much they seem to, in ns."""
    streams, worst = {}, 0
    for event in trace.work():
        streams.setdefault((event["pid"], event["args"]["stream"]), []).append(event)
    for events in streams.values():
        worst = max([worst] + [a["end"] - b["start"] for a, b in zip(events, events[1:])])
    expect(worst < slack_ns, f"kernels of one stream overlap by {worst} ns")
    return worst


def idle_is_under(trace, idle, function, slept_ns, whole_ns, slack_ns):
    """The device's idle time between kernels is under the function that slept, to the nanosecond, and as long as it slept.
    whole_ns is from its begin to the end of its last wait; slack_ns: how far the end of a wait may be from that of a kernel."""
    gaps, end, ran = [], None, 0
    for event in trace.work():
        if end is not None:
            gaps.append(max(event["start"] - end, 0))
            ran += event["end"] - event["start"]
        end = max(end or 0, event["end"])
    under = sum(ns for stack, ns in idle if is_in(stack, function))
    expect(under == sum(gaps), f"{under} ns of idle time are under {function}, its kernels waited for {sum(gaps)}")
    longest = whole_ns - ran + slack_ns
    expect(slept_ns - CLOCK_ERROR_NS <= under <= longest,
           f"the GPU was idle for {under} ns; the program slept {slept_ns} of {whole_ns} ns, and its kernels took {ran}")
    return under


def timeline_is_sane(report, trace, seconds):
    """A recording of a running program has no time that is not its own."""
    for device in report["devices"]:
        wall = device["wall_ns"] / 1e9
        expect(0 < wall < seconds + 1, f"device {device['device']} was observed for {wall:.3f} s in a recording of {seconds} s")
        expect(device["busy_ns"] > 0, f"device {device['device']} was never busy")
    events = trace.work()
    expect(events, "the timeline has no GPU work")
    span = (max(e["end"] for e in events) - min(e["start"] for e in events)) / 1e9
    expect(span < seconds + 1, f"the GPU work spans {span:.3f} s of a recording of {seconds} s")


def processes_are_told_apart(report, kernel, wanted):
    """`wanted`: the calls of the kernel, a number for each process, in any order."""
    calls = {}
    for row in report["rows"]:
        if row["name"] == kernel:
            calls[row["pid"]] = calls.get(row["pid"], 0) + row["calls"]
    expect(sorted(calls.values()) == sorted(wanted), f"calls of {kernel} by process: {calls}, and not {wanted}")


def memory_is(report, trace, allocated, most):
    """The peak is what the program had allocated, and in the end it is given back."""
    peak = max(d["peak_bytes"] for d in report["devices"])
    points = trace.memory()
    expect(allocated <= peak <= most, f"the peak of device memory is {peak} bytes, and not {allocated} to {most}")
    expect(points and points[-1] <= peak - allocated, f"{points[-1:]} bytes are left of a peak of {peak}")
    return peak


def kernels_are_in_steps(steps):
    """Another profiler's kernels (torch_steps.py) lie in the steps that launched them, the same number in each, by its own
    clock: nobody has given CUPTI another one, or taken records of it. Returns that number."""
    inside, (lost, first, last) = steps["inside"], steps["outside"]
    expect(len(inside) > 5, f"the profiler knows of {len(inside)} steps")
    expect(not lost, f"{lost} kernels of torch.profiler, {first} to {last} ns, are in no step; those are {inside[0][0]} to {inside[-1][1]} ns")
    after = max(ended - end for _, end, nr, _, ended in inside if nr)
    expect(after <= CLOCK_ERROR_NS, f"a kernel of torch.profiler ended {after} ns after the wait for it")
    nr = [step[2] for step in inside[3:]] # the first is the setup, and what runs only once is in the next
    expect(min(nr) == max(nr) > 0, f"torch.profiler has {min(nr)} to {max(nr)} kernels of a step")
    return nr[0]


def same_kernels(ours, theirs, share):
    """sprof's rows beside another profiler's {name: [calls, ns]}: the same calls of as many kernels, and the same time."""
    rows = {}
    for row in ours:
        if not re.match(r"\[|Memcpy|Memset", row["name"]):
            calls, ns = rows.get(row["name"], (0, 0))
            rows[row["name"]] = (calls + row["calls"], ns + row["total_ns"])
    others = {name: tuple(v) for name, v in theirs.items() if not re.match(r"\[|Memcpy|Memset", name)}
    calls, wanted = (sorted(v[0] for v in t.values()) for t in (rows, others))
    said = f"{sum(calls)} kernels of {len(calls)} names, the other profiler {sum(wanted)} of {len(wanted)}"
    # names may be demangled in different ways, so their calls are compared without them
    expect(calls == wanted, f"not the same kernels: {said}")
    near(f"kernel time ({said})", sum(v[1] for v in rows.values()), sum(v[1] for v in others.values()), share)
    return said
