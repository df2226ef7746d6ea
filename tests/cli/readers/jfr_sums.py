#!/usr/bin/env python3
"""Prints collapsed stacks of what `jfr print` reads in a file: jfr_sums.py FILE EVENT [FIELD].

A stack weighs the sum of FIELD, or the number of its events. Spelled as `sprof fold` spells names.
"""
import collections
import json
import subprocess
import sys

path, event = sys.argv[1:3]
field = sys.argv[3] if len(sys.argv) > 3 else None
printed = subprocess.run(["jfr", "print", "--json", "--stack-depth", "5000", "--events", event, path],
                         capture_output=True, check=True).stdout
sums = collections.Counter()
for e in json.loads(printed)["recording"]["events"]:
    values = e["values"]
    thread = values.get("sampledThread") or values.get("eventThread")
    stack = [thread["javaName"] or thread["osName"]] if thread else []
    trace = values["stackTrace"]
    if trace and trace["truncated"]:
        stack.append("[incomplete: too deep]")
    for frame in reversed(trace["frames"] if trace else []):
        method = frame["method"]
        name = method["type"]["name"].replace("/", ".") + "." + method["name"]
        stack.append(name if frame["type"] == "Native" else name + "_[j]")
    sums[";".join(stack)] += values[field] if field else 1
for line in sorted("%s %d" % item for item in sums.items()):
    print(line)
