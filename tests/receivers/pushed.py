#!/usr/bin/env python3
"""Reads what the fake receiver has kept: pushed.py sums DIR prints "self total function" of all that it took, pushed.py
labels DIR prints the labels of each series, sorted, a line each, pushed.py self DIR prints "self function", and
pushed.py report FILE the same of what sprof report --json -n 0 printed; functions of one name are added up.
"""
import base64
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

here = os.path.dirname(os.path.abspath(__file__))
readers = os.path.join(here, "..", "cli", "readers")
sys.path.insert(0, readers)
import sums  # noqa: E402


def decode(message, proto, data, folder=readers):
    return subprocess.run(["protoc", "--decode", message, "-I", folder, proto], input=data, stdout=subprocess.PIPE,
                          check=True).stdout.decode()


def stacks_of(read, text):
    with tempfile.NamedTemporaryFile("w") as f:
        f.write(text)
        f.flush()
        yield from read(f.name, None)


def pprof_stacks(data):
    return stacks_of(sums.read_pprof, decode("perftools.profiles.Profile", "profile.proto", gzip.decompress(data)))


# What protoc shows of bytes is no exact copy, so the two levels around a profile are read here.
def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        assert tag & 7 == 2, tag
        size = varint()
        yield tag >> 3, data[at:at + size]
        at += size


def pyroscope(request, body):
    assert request["headers"]["Content-Type"] == "application/proto"
    decode("push.PushRequest", "push.proto", body, here)
    for number, series in fields(body):
        assert number == 1
        parts = list(fields(series))
        labels = [dict(fields(value)) for n, value in parts if n == 1]
        raw = [dict(fields(value))[1] for n, value in parts if n == 2]
        yield {l[1].decode(): l[2].decode() for l in labels}, [s for r in raw for s in pprof_stacks(r)]


def parca(request, body):
    for series in json.loads(body)["series"]:
        labels = {l["name"]: l["value"] for l in series["labels"]["labels"]}
        yield labels, [s for raw in series["samples"] for s in pprof_stacks(base64.b64decode(raw["rawProfile"]))]


def ingest(request, body):
    from urllib.parse import parse_qs
    query = parse_qs(request["path"].split("?", 1)[1])
    assert query["format"] == ["pprof"]
    name, rest = query["name"][0].rstrip("}").split("{", 1)
    yield dict([("service_name", name)] + [l.split("=") for l in rest.split(",") if l]), pprof_stacks(body)


def otlp(request, body):
    assert request["headers"]["Content-Encoding"] == "gzip"
    text = decode("otlp.ProfilesData", "otlp.proto", gzip.decompress(body))
    data = sums.text_messages(iter(text.splitlines()))
    stacks = list(stacks_of(sums.read_otlp, text))
    for resource in data["resource_profiles"]:
        attributes = resource["resource"][0]["attributes"] if resource["resource"] else []
        yield {a["key"][0]: a["value"][0]["string_value"][0] for a in attributes}, stacks
        stacks = []


PATHS = {"/v1development/profiles": otlp, "/push.v1.PusherService/Push": pyroscope, "/ingest": ingest,
         "/api/profiles/writeraw": parca, "grpc": otlp}


def series(folder):
    number = 0
    while os.path.exists(f"{folder}/{number + 1}.json"):
        number += 1
        request = json.load(open(f"{folder}/{number}.json"))
        if request["mode"] in ("ok", "partial"):
            yield from PATHS[request["path"].split("?")[0]](request, open(f"{folder}/{number}.body", "rb").read())


def print_self(pairs):
    own = collections.Counter()
    for function, weight in pairs:
        own[function] += weight
    for function, weight in sorted(own.items()):
        if weight:
            print(weight, function)


def pushed_stacks():
    return (s for _, stacks in series(sys.argv[2]) for s in stacks)


def main():
    if sys.argv[1] == "sums":
        sums.print_sums(sums.add_up(pushed_stacks()))
    elif sys.argv[1] == "self":
        print_self((stack[-1], weight) for stack, weight in pushed_stacks() if stack)
    elif sys.argv[1] == "report":
        rows = json.load(open(sys.argv[2]))["rows"]
        print_self((r["function"], r.get("self_ns", r.get("self"))) for r in rows)
    else:
        for line in sorted(" ".join(f"{k}={v}" for k, v in sorted(l.items())) for l, _ in series(sys.argv[2])):
            print(line)


if __name__ == "__main__":
    main()
