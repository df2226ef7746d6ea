#!/usr/bin/env python3
"""Prints "self total function", sorted, of an exported profile: sums.py FORMAT FILE [COLUMN].

Each reader gives (stack, weight) pairs, root first; the sums are taken the slow way, stack by stack. The file of
format "pprof" is what `protoc --decode` printed.
"""
import collections
import csv
import json
import re
import sys


def text_messages(lines):
    """What protoc prints, as a dict of lists."""
    message = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            return message
        if line.endswith(" {"):
            message[line[:-2]].append(text_messages(lines))
            continue
        key, value = line.split(": ", 1)
        if value.startswith('"'):
            raw = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), value[1:-1].encode())
            value = re.sub(rb'\\(["\'\\])', rb"\1", raw).decode()
        elif value not in ("true", "false"):
            value = int(value)
        message[key].append(value)
    return message


def read_pprof(path, column):
    profile = text_messages(iter(open(path)))
    strings = profile["string_table"]
    one = lambda message, key: message[key][0] if message[key] else 0
    types = [strings[one(t, "type")] for t in profile["sample_type"]]
    value = types.index(column) if column else len(types) - 1
    names = {one(f, "id"): strings[one(f, "name")] for f in profile["function"]}
    files = {one(m, "id"): strings[one(m, "filename")] for m in profile["mapping"]}
    frames = {}
    for location in profile["location"]:
        frame = [names[one(line, "function_id")] for line in reversed(location["line"])]
        base = files[one(location, "mapping_id")].rsplit("/", 1)[-1] if not frame else ""
        base = re.sub(r"^\[jit:\d+\]$", "[jit]", base)
        frames[one(location, "id")] = frame or [base if base.startswith("[") else "[%s]" % base]
    for sample in profile["sample"]:
        yield [f for i in reversed(sample["location_id"]) for f in frames[i]], sample["value"][value]


def read_otlp(path, column):
    data = text_messages(iter(open(path)))
    one = lambda message, key: message[key][0] if message[key] else 0
    tables = data["dictionary"][0]
    strings = tables["string_table"]
    for table in ("mapping", "location", "function", "link", "attribute", "stack"):
        assert not tables[table + "_table"][0]  # index 0 is none
    names = [strings[one(f, "name_strindex")] for f in tables["function_table"]]
    frames = [[names[one(line, "function_index")] for line in reversed(f["lines"])] for f in tables["location_table"]]
    for resource in data["resource_profiles"]:
        profiles = resource["scope_profiles"][0]["profiles"]
        types = [strings[one(p["sample_type"][0], "type_strindex")] for p in profiles]
        for sample in profiles[types.index(column) if column else 0]["samples"]:
            stack = tables["stack_table"][one(sample, "stack_index")]["location_indices"]
            assert 0 not in stack and len(sample["values"]) == 1
            yield [f for i in reversed(stack) for f in frames[i]], sample["values"][0]


def read_speedscope(path, column):
    data = json.load(open(path))
    frames = [f["name"] for f in data["shared"]["frames"]]
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert data["activeProfileIndex"] < len(data["profiles"])
    for profile in data["profiles"]:
        assert profile["type"] == "sampled" and len(profile["samples"]) == len(profile["weights"])
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        if column and profile["sprof"]["column"] != column:
            continue
        for stack, weight in zip(profile["samples"], profile["weights"]):
            yield [frames[i] for i in stack], weight


def read_collapsed(path, column):
    for line in open(path):
        stack, weight = line.rsplit(" ", 1)
        yield [re.sub(r"_\[[kjgi]\]$", "", f) for f in stack.split(";")], int(weight)


def read_firefox(path, column):
    data = json.load(open(path))
    assert data["meta"]["preprocessedProfileVersion"] == 48
    for thread in data["threads"]:
        stacks, frames, functions = thread["stackTable"], thread["frameTable"], thread["funcTable"]
        for table in stacks, frames, functions, thread["resourceTable"], thread["samples"]:
            assert all(len(v) == table["length"] for v in table.values() if isinstance(v, list))
        assert all(r < thread["resourceTable"]["length"] for r in functions["resource"])
        assert all(c < len(data["meta"]["categories"]) for c in frames["category"])
        paths = []
        for prefix, frame in zip(stacks["prefix"], stacks["frame"]):
            name = thread["stringArray"][functions["name"][frames["func"][frame]]]
            paths.append((paths[prefix] if prefix is not None else []) + [name])
        unit = 10**6 if thread["samples"]["weightType"] == "tracing-ms" else 1
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            yield paths[stack] if stack is not None else [], round(weight * unit)


def read_chrome(path, column):
    """Spans of a track are properly nested; self is what no inner span covers."""
    tracks = collections.defaultdict(list)
    for event in json.load(open(path))["traceEvents"]:
        assert event["ph"] in ("M", "X")
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            tracks[event["pid"], event["tid"]].append((start, -round(event["dur"] * 1000), event["name"]))
    for spans in tracks.values():
        # An outer span is written after those within, so of equal ones the last is the outermost.
        order = sorted(range(len(spans)), key=lambda i: (spans[i][0], spans[i][1], -i))
        path, own = [], []
        for i in order + [None]:
            start = spans[i][0] if i is not None else float("inf")
            while path and path[-1][0] <= start:
                if own[-1]:
                    yield [name for _, name in path], own[-1]
                path.pop()
                own.pop()
            if i is None:
                break
            start, minus_length, name = spans[i]
            assert not path or start - minus_length <= path[-1][0]
            if own:
                own[-1] += minus_length
            path.append((start - minus_length, name))
            own.append(-minus_length)


def read_json(path, column):
    data = json.load(open(path))
    assert data["format"] == "sprof profile" and data["version"] == 2
    samples = data["samples"]
    assert len({len(v) for v in samples.values()}) == 1
    for stack, weight, c in zip(samples["stack"], samples["weight"], samples["column"]):
        assert c in [known["name"] for known in data["columns"]]
        if column in (None, c):
            yield [data["functions"][f]["name"] for f, line, inlined in data["stacks"][stack]], weight


def read_cells(path, column, **dialect):
    rows = list(csv.DictReader(open(path, newline=""), **dialect))
    names = {}
    for row in rows:
        names[row["id"]] = names.get(row["parent"], []) + [re.sub(r"^'([=+@\"-])", r"\1", row["function"])]
    for row in rows:
        yield names[row["id"]][1:], int(row["self"])


def read_csv(path, column):
    return read_cells(path, column)


def read_tsv(path, column):
    return read_cells(path, column, delimiter="\t", quoting=csv.QUOTE_NONE)


def read_report(path, column):
    """sprof report --json has the sums already."""
    report = json.load(open(path))
    suffix = "_ns" if "ns" in report and column != "samples" else ""
    return {r["function"]: (r["self" + suffix], r["total" + suffix]) for r in report["rows"]}


def read_annotate(path, report):
    """What callgrind_annotate printed, self in PATH.no and inclusive in PATH.yes; names are looked up in a report."""
    known = sorted(read_report(report, None), key=len)
    sums = collections.defaultdict(lambda: [0, 0])
    for i, suffix in enumerate((".no", ".yes")):
        lines = open(path + suffix).read().split("file:function\n", 1)[1].splitlines()
        for value, name in re.findall(r"^ *([\d,.]+)  [^:\n]*:(.*)$", "\n".join(lines), re.M):
            fits = [n for n in known if name == n or name.startswith(n + " [")]
            if fits:  # else it is a root
                sums[fits[-1]][i] += int(value.replace(",", "").replace(".", "0"))
    return sums


def main():
    form, path, column = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None
    if form in ("report", "annotate"):
        sums = globals()["read_" + form](path, column)
    else:
        sums = add_up(globals()["read_" + form](path, column))
    print_sums(sums)


def add_up(stacks):
    own, total = collections.Counter(), collections.Counter()
    for stack, weight in stacks:
        if stack:
            own[stack[-1]] += weight
        for function in set(stack):
            total[function] += weight
    return {f: (own[f], total[f]) for f in total}


def print_sums(sums):
    for function, (s, t) in sorted(sums.items()):
        if t:
            print(s, t, function)


if __name__ == "__main__":
    main()
