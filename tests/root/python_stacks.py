"""Checks the Python frames of a profile. Prints its findings; exits 1 if something is wrong."""
import ast
import gzip
import re
import sys

PYTHON = re.compile(r"^(.*) \((.+):(\d+)\)$")


def stacks(path):
    """(count, names of the Python frames from the root, all frames) of each line of collapsed stacks."""
    with open(path, encoding="utf-8") as folded:
        for line in folded:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            frames = stack.split(";")[1:]
            names = [m.group(1) for m in map(PYTHON.match, frames) if m]
            yield int(count), names, frames


def shares(truth_path, folded_path, callers="<module> main"):
    """Each part of the truth ("part ns") has its share of the samples, within 3.5 sigma, below its callers only."""
    truth, callers = {}, callers.split()
    with open(truth_path, encoding="utf-8") as lines:
        for part, ns in (line.split() for line in lines):
            truth[part] = truth.get(part, 0) + int(ns)
    whole, samples, wrong = sum(truth.values()), dict.fromkeys(truth, 0), 0
    for count, names, _ in stacks(folded_path):
        parts = [n for n in names if n in truth]
        if not parts:
            continue
        samples[parts[0]] += count
        if len(parts) != 1 or names[:len(callers)] != callers or callers and names[len(callers)] != parts[0]:
            print("impossible:", names)
            wrong += count
    taken, bad = sum(samples.values()), wrong > 0
    for part, ns in truth.items():
        p, share = ns / whole, samples[part] / max(taken, 1)
        sigma = (p * (1 - p) / max(taken, 1)) ** 0.5
        off = abs(share - p) > 3.5 * sigma
        bad |= off
        print(f"{'FAILED' if off else 'ok':6} {part:10} true {p:6.2%} measured {share:6.2%} of {taken}")
    return bad


def covered(folded_path):
    """At least 99.9 % of the samples have Python frames."""
    total = bare = 0
    for count, names, frames in stacks(folded_path):
        total += count
        if not names:
            bare += count
            print("no Python frame:", ";".join(frames))
    print(f"{total - bare} of {total} samples have Python frames")
    return not total or bare > max(1, total / 1000)


# Who calls whom in tests/targets/python_impossible.py.
CALLERS = {
    "leaf_a": {"hot_a"}, "leaf_b": {"hot_b"}, "hot_a": {"work", "generator", "raise_a", "leaf_a_key"},
    "hot_b": {"work", "generator", "caught", "deep"}, "generator": {"work"}, "leaf_a_key": {"work"},
    "raise_a": {"caught"}, "caught": {"work"}, "deep": {"deep", "work"}, "work": {"main", "run"}, "main": {"<module>"},
}


def possible(folded_path, least):
    """No function has a caller that never calls it; there are at least so many samples."""
    total = bad = 0
    for count, names, _ in stacks(folded_path):
        names = [n.rsplit(".", 1)[-1] for n in names]
        total += count if names else 0
        if any(b in CALLERS and a not in CALLERS[b] for a, b in zip([None] + names, names)):
            print("impossible:", names)
            bad += count
    print(f"{bad} of {total} samples are impossible")
    return bad or total < int(least)


def named(truth_path, folded_path):
    """Exactly the functions that were made have samples, under their name and file."""
    with open(truth_path, encoding="utf-8") as lines:
        made = [tuple(line.split()[:2]) for line in lines]
    seen, wrong, count = set(), 0, 0
    for count, _, frames in stacks(folded_path):
        for m in filter(None, map(PYTHON.match, frames)):
            if not m.group(1).startswith("short_"):
                continue
            seen.add(m.group(1, 2))
            if m.group(1, 2) not in made or m.group(3) != "2":
                print("wrong:", m.group(0))
                wrong += count
    missed = len(made) - len(seen)
    print(f"{len(made)} functions lived, {missed} were not seen, {wrong} samples have a wrong name")
    return wrong or not made or missed > max(2, len(made) / 50)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a protobuf message: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        size, at = varint(data, at)
        if key & 7 == 2:
            yield key >> 3, data[at:at + size]
            at += size
        else:
            yield key >> 3, size


def numbers(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def pprof_stacks(path):
    """(count, [(file, line, name)] of the Python frames, innermost first, and whether the stack is complete) of
    each sample (pprof's profile.proto)."""
    with gzip.open(path) as f:
        profile = list(fields(f.read()))
    strings = [value.decode() for number, value in profile if number == 6]
    functions = {m[1]: m for m in (dict(fields(value)) for number, value in profile if number == 5)}
    locations = {}
    for number, value in profile:
        if number == 4:
            message = list(fields(value))
            lines = [dict(fields(v)) for n, v in message if n == 4]
            locations[dict(message)[1]] = [(functions[line[1]], line.get(2, 0)) for line in lines]
    for number, value in profile:
        if number != 2:
            continue
        sample = dict(fields(value))
        frames, complete = [], True
        for location in numbers(sample[1]):
            for function, line in locations[location]:
                complete &= not strings[function[2]].startswith("[incomplete: ")
                m = PYTHON.match(strings[function[2]])
                if m:
                    frames.append((strings[function.get(4, 0)], line, m.group(1).rsplit(".", 1)[-1]))
        yield next(numbers(sample[2])), frames, complete


def at_rest(truth_path, pprof_path, threads):
    """faulthandler wrote each stack too, frame by frame: file, line, function; of so many threads. One stack in a
    hundred may be incomplete, as a busy machine leaves them, if it says so and what it has is right."""
    truth = []
    with open(truth_path, encoding="utf-8") as lines:
        for line in lines:
            m = re.match(r'  File "(.*)", line (\d+) in (.*)', line)
            if "Thread" in line or "thread" in line and not m:
                truth.append([])
            elif m:
                truth[-1].append((m.group(1), int(m.group(2)), ast.literal_eval(f'"{m.group(3)}"')))
    found, bad, cut = [0] * len(truth), 0, 0
    for count, frames, complete in pprof_stacks(pprof_path):
        if frames in truth:
            found[truth.index(frames)] += count
            continue
        if not complete and any(frames == t[:len(frames)] for t in truth):
            cut += count
            continue
        bad += count
        nearest = max(truth, key=lambda t: sum(a == b for a, b in zip(t, frames)))
        print("differs:", next((p for p in zip(frames, nearest) if p[0] != p[1]), (len(frames), len(nearest))))
    print(f"{[len(t) for t in truth]} frames: {found} samples agree, {cut} are incomplete, {bad} do not")
    return bad or cut > max(1, sum(found) / 100) or sum(n >= 10 for n in found) < int(threads)


if __name__ == "__main__":
    judges = {f.__name__: f for f in (shares, covered, possible, named, at_rest)}
    sys.exit(1 if judges[sys.argv[1]](*sys.argv[2:]) else 0)
