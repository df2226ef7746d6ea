#!/usr/bin/env python3
"""Writes a small JFR file to standard output, whole or damaged in one way: make_jfr.py [DAMAGE].

It has one chunk with one sample of a.B.outer > a.B.inner and one allocation of 4096 bytes.
"""
import struct
import sys

damage = sys.argv[1] if len(sys.argv) > 1 else ""


def number(n):
    n &= (1 << 64) - 1
    out = b""
    for _ in range(8):
        if n < 0x80:
            return out + bytes([n])
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def text(s, form=3):
    if form == 4:
        units = s.encode("utf-16-le")
        return b"\4" + number(len(units) // 2) + b"".join(number(u) for u in struct.unpack("<%dH" % (len(units) // 2), units))
    data = s.encode("latin1" if form == 5 else "utf-8")
    return bytes([form]) + number(len(data)) + data


def event(kind, body):
    body = number(kind) + body
    size = len(body) + 4  # four bytes whatever the size, as a JVM writes it
    return bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80, size >> 21]) + body


CLASSES = {  # id: name, fields (name, class, in pool, array)
    1: ("int", []), 2: ("long", []), 3: ("boolean", []), 4: ("java.lang.String", []),
    10: ("jdk.types.StackTrace", [("truncated", 3, False, False), ("frames", 11, False, True)]),
    11: ("jdk.types.StackFrame", [("method", 12, True, False), ("lineNumber", 1, False, False), ("type", 15, True, False)]),
    12: ("jdk.types.Method", [("type", 13, True, False), ("name", 14, True, False)]),
    13: ("java.lang.Class", [("name", 14, True, False)]),
    14: ("jdk.types.Symbol", [("string", 4, False, False)]),
    15: ("jdk.types.FrameType", [("description", 4, False, False)]),
    16: ("java.lang.Thread", [("osName", 4, False, False), ("osThreadId", 2, False, False), ("javaName", 4, False, False)]),
    20: ("jdk.ExecutionSample", [("startTime", 2, False, False), ("sampledThread", 16, True, False), ("stackTrace", 10, True, False)]),
    21: ("jdk.ObjectAllocationSample", [("startTime", 2, False, False), ("eventThread", 16, True, False), ("stackTrace", 10, True, False), ("weight", 2, False, False)]),
    22: ("Empty", []),
}
if damage == "nested":  # an object of no bytes that contains itself, many times over
    CLASSES[22] = ("Empty", [("x", 22, False, False)] * 20)
    CLASSES[20][1].append(("more", 22, False, False))
if damage == "endless":  # an array of objects of no bytes
    CLASSES[20][1].append(("more", 22, False, True))
if damage in ("wide", "flat"):  # objects of no bytes with fields of no bytes, 20 to the power of 12, or of 4
    last = 42 if damage == "wide" else 34
    for i in range(30, last):
        CLASSES[i] = ("W", [("x", i + 1, False, False)] * 20)
    CLASSES[last] = ("W", [])
    CLASSES[20][1].append(("more", 30, False, False))

strings, ids = [], {}


def string(s):
    if s not in ids:
        ids[s] = len(strings)
        strings.append(s)
    return number(ids[s])


def element(name, attributes, children):
    out = string(name) + number(len(attributes))
    for key, value in attributes.items():
        out += string(key) + string(value)
    return out + number(len(children)) + b"".join(children)


def field(name, kind, in_pool, is_array):
    attributes = {"name": name, "class": str(kind)}
    if in_pool:
        attributes["constantPool"] = "true"
    if is_array:
        attributes["dimension"] = "1"
    return element("field", attributes, [])


def metadata():
    classes = [element("class", {"name": name, "id": str(i)}, [field(*f) for f in fields])
               for i, (name, fields) in CLASSES.items()]
    tree = element("root", {}, [element("metadata", {}, classes)])
    body = number(0) * 3 + number(len(strings)) + b"".join(text(s, 4) for s in strings) + tree
    return event(0, body)


def pool(kind, constants):
    return number(kind) + number(len(constants)) + b"".join(number(k) + v for k, v in constants.items())


symbols = {1: text("a/B"), 2: text("outer"), 3: text("inn\u00e9r", 5)}
frames = number(8) + number(7) + number(1) + number(9) + number(12) + number(1)
traces = {1: b"\0" + number(2) + frames}
if damage == "frames":
    traces = {1: b"\0" + number(1 << 60) + frames}
methods = {9: number(6) + number(2), 8: number(6) + number(3)}
if damage == "names":  # 60000 methods of a class whose name is a megabyte
    symbols[1] = text("B" * 1000000)
    methods = {i: number(6) + number(2) for i in range(1, 60001)}
    traces = {1: b"\0" + number(len(methods)) + b"".join(number(i) + number(7) + number(1) for i in methods)}
threads = {5: text("os") + number(77) + text("w\u00f6rk \U0001F600", 4)}
pools = [pool(14, symbols), pool(13, {6: number(1)}), pool(12, methods),
         pool(15, {1: text("JIT compiled")}), pool(16, threads), pool(10, traces)]
if damage == "circle":  # a class whose name is itself
    pools[0] = pool(14, {1: b"\2" + number(1), 2: text("outer"), 3: text("inner")}) + pool(4, {1: b"\2" + number(1)})
constants = event(1, number(1) + number(0) + number(-68) + b"\0" + number(len(pools) + (damage == "circle")) + b"".join(pools))
more = number(1 << 60) if damage == "endless" else b""
sample = event(20, number(2000) + number(5) + number(1) + more)
allocation = event(21, number(3000) + number(5) + number(1) + number(4096))
if damage == "size":
    sample = b"\x80\x80\x80\0" + sample[4:]
if damage == "huge":
    allocation = event(21, number(3000) + number(5) + number(1) + number(1 << 63))
events = constants + sample + allocation
described = metadata()
size = 68 + len(events) + len(described)
head = struct.pack(">4sHHqqqqqqqI", b"FLR\0", 3 if damage == "version" else 2, 1,
                   1 << 40 if damage == "long" else size, 68, 68 + len(events) if damage != "metadata" else 60,
                   10**18, 10**9, 1000, 0 if damage == "ticks" else 10**9, 1)
sys.stdout.buffer.write(head + events + described)
