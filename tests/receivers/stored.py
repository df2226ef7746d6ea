#!/usr/bin/env python3
"""Prints what a receiver has stored, a line for each stack: "weight function:line;function:line...", root first, inlined
functions included. stored.py json FILE (of sprof export -f json), stored.py pprof FILE (what Parca answers), stored.py
collector FILE (of the Collector's fileexporter). With a last argument "self": "weight function", of the innermost one.
"""
import collections
import gzip
import json
import os
import subprocess
import sys

readers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "readers")
sys.path.insert(0, readers)
import sums  # noqa: E402


def read_json(path):
    data = json.load(open(path))
    names = [f["name"] for f in data["functions"]]
    columns = data["samples"]["column"]
    for stack, weight, column in zip(data["samples"]["stack"], data["samples"]["weight"], columns):
        if column == columns[0]:
            yield [(names[f], line) for f, line, _ in data["stacks"][stack]], weight


def read_pprof(path):
    text = subprocess.run(["protoc", "--decode", "perftools.profiles.Profile", "-I", readers, "profile.proto"],
                          input=gzip.open(path).read(), stdout=subprocess.PIPE, check=True).stdout.decode()
    profile = sums.text_messages(iter(text.splitlines()))
    one = lambda message, key: message[key][0] if message[key] else 0
    names = {one(f, "id"): profile["string_table"][one(f, "name")] for f in profile["function"]}
    frames = {one(l, "id"): [(names[one(x, "function_id")], one(x, "line")) for x in reversed(l["line"])]
              for l in profile["location"]}
    for sample in profile["sample"]:
        yield [f for i in reversed(sample["location_id"]) for f in frames[i]], sample["value"][-1]


def read_collector(path):
    for line in open(path):
        data = json.loads(line)
        tables = data["dictionary"]
        strings = tables["stringTable"]
        names = [strings[f.get("nameStrindex", 0)] for f in tables["functionTable"]]
        frames = [[(names[l["functionIndex"]], int(l.get("line", 0))) for l in reversed(f.get("lines", []))]
                  for f in tables["locationTable"]]
        for resource in data["resourceProfiles"]:
            profile = resource["scopeProfiles"][0]["profiles"][0]
            for sample in profile["samples"]:
                stack = tables["stackTable"][sample["stackIndex"]].get("locationIndices", [])
                yield [f for i in reversed(stack) for f in frames[i]], sum(map(int, sample["values"]))


found = collections.Counter()
for stack, weight in globals()["read_" + sys.argv[1]](sys.argv[2]):
    found[stack[-1][0] if "self" in sys.argv[3:] else ";".join("%s:%d" % f for f in stack)] += weight
for stack, weight in sorted(found.items()):
    print(weight, stack)
