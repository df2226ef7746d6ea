# shares_of.py pstats|scalene|folded|truth FILE: prints the share that each part of
# tests/targets/python_shares.py has in a profile, as lines "part share". Folded stacks come from
# sprof, py-spy and austin: any frame of that file may name the part.
import json
import pstats
import re
import sys

PARTS = {"loop": "loop", "calls": "calls", "released": "released", "callbacks": "callbacks"}
HELPERS = {"fib": "calls", "order": "callbacks"}
TARGET = "python_shares.py"


def of_pstats(path):
    for (file, _, name), (_, _, _, total, _) in pstats.Stats(path).stats.items():
        if file.endswith(TARGET) and name in PARTS:
            yield name, total


def of_scalene(path):
    with open(path, encoding="utf-8") as profile:
        files = json.load(profile)["files"]
    for file, found in files.items():
        if file.endswith(TARGET):
            for function in found["functions"]:
                name = function["line"]
                yield (PARTS | HELPERS).get(name), sum(
                    function[key] for key in ("n_cpu_percent_python", "n_cpu_percent_c", "n_sys_percent"))


def of_folded(path):
    frame = re.compile(rf"[^;]*{TARGET}[^;]*")
    with open(path, encoding="utf-8") as stacks:
        for line in stacks:
            stack, _, weight = line.rstrip().rpartition(" ")
            for word in (word for text in frame.findall(stack) for word in re.findall(r"\w+", text)):
                if word in PARTS:
                    yield word, int(weight)
                    break


def of_truth(path):
    with open(path, encoding="ascii") as lines:
        for words in map(str.split, lines):
            if words and words[0] in PARTS:  # py-spy mixes messages in
                yield words[0], int(words[1])


sums = dict.fromkeys(PARTS, 0)
for part, value in globals()["of_" + sys.argv[1]](sys.argv[2]):
    if part:
        sums[part] += value
for part, value in sums.items():
    print(part, value / (sum(sums.values()) or 1))
