#!/usr/bin/env python3
"""A receiver of profiles over gRPC that answers as it is told: fake_grpc.py DIR [CERT KEY].

It speaks just enough of HTTP/2 (RFC 9113) to take calls of any method and to break its rules. With
a certificate it speaks TLS. DIR/port, DIR/mode, DIR/N.json and DIR/N.body are as those of fake.py; the body is the
message, without its five bytes. Modes: ok, a status of gRPC such as 14, and those in MODES.
"""
import base64
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()
count = 0
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


# HPACK (RFC 7541) without its tables: each header as a literal that is not indexed.
def number(value, bits):
    if value < (1 << bits) - 1:
        return bytes([value])
    out, value = [(1 << bits) - 1], value - ((1 << bits) - 1)
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + [value])


def hpack(pairs):
    return b"".join(b"\0" + number(len(k), 7) + k + number(len(v), 7) + v for k, v in pairs)


def headers(stream, pairs, end=False):
    return frame(HEADERS, END_HEADERS | (END_STREAM if end else 0), stream, hpack(pairs))


OPEN = [(b":status", b"200"), (b"content-type", b"application/grpc")]


def message(body, flag=0):
    return bytes([flag]) + struct.pack(">I", len(body)) + body


def answer(connection, stream, status, text=b"", body=b"", more=()):
    trailers = [(b"grpc-status", status)] + ([(b"grpc-message", text)] if text else []) + list(more)
    connection.sendall(headers(stream, OPEN) + frame(DATA, 0, stream, message(body)) + headers(stream, trailers, True))


def refuse(connection, stream, status, text=b"", more=()):
    trailers = [(b"grpc-status", status)] + ([(b"grpc-message", text)] if text else []) + list(more)
    connection.sendall(headers(stream, OPEN + trailers, True))


# ExportProfilesServiceResponse: 3 profiles rejected, "too\x1b[31m old"
PARTIAL = b"\x0a\x10\x08\x03\x12\x0ctoo\x1b[31m old"


def retry_info(seconds):
    info = b"\x0a\x02\x08" + bytes([seconds])
    kind = b"type.googleapis.com/google.rpc.RetryInfo"
    any_ = b"\x0a" + bytes([len(kind)]) + kind + b"\x12" + bytes([len(info)]) + info
    return base64.b64encode(b"\x08\x08\x1a" + bytes([len(any_)]) + any_).rstrip(b"=")


def endless_data(connection, stream):
    connection.sendall(headers(stream, OPEN))
    for _ in range(100000):
        connection.sendall(frame(DATA, 0, stream, b"\0" * 16384))


def endless_headers(connection, stream):
    connection.sendall(frame(HEADERS, 0, stream, hpack(OPEN)))
    for i in range(100000):
        connection.sendall(frame(CONTINUATION, 0, stream, hpack([(b"x-%d" % i, b"y" * 4000)])))


def endless_trailers(connection, stream):
    connection.sendall(headers(stream, OPEN))
    pairs = [(b"x-%d" % i, b"y" * 1000) for i in range(15)]
    for _ in range(100000):
        connection.sendall(headers(stream, pairs))


def pings(connection, stream):
    for i in range(2000000):
        connection.sendall(frame(PING, 0, 0, struct.pack(">Q", i)))


MODES = {
    "ok": lambda c, s: answer(c, s, b"0"),
    "partial": lambda c, s: answer(c, s, b"0", body=PARTIAL),
    "compressed": lambda c, s: c.sendall(headers(s, OPEN) + frame(DATA, 0, s, message(PARTIAL, 1)) +
                                         headers(s, [(b"grpc-status", b"0")], True)),
    "colours": lambda c, s: refuse(c, s, b"3", b"%1B[2Jgone%07 %E2%80%AEz%0Asecond line" + b"z" * 5000),
    "busy": lambda c, s: refuse(c, s, b"8", b"later", [(b"grpc-status-details-bin", retry_info(2))]),
    "slow": lambda c, s: time.sleep(60),
    "hang-up": lambda c, s: None,
    "garbage": lambda c, s: c.sendall(b"\0\xff" * 1000),
    "no-status": lambda c, s: c.sendall(headers(s, OPEN) + frame(DATA, END_STREAM, s, message(b""))),
    "bad-status": lambda c, s: answer(c, s, b"99999999999999999999"),
    "no-trailers": lambda c, s: c.sendall(headers(s, OPEN) + frame(DATA, 0, s, message(b""))),
    "half-message": lambda c, s: c.sendall(headers(s, OPEN) + frame(DATA, 0, s, b"\0\xff\xff\xff\xffabc") +
                                           headers(s, [(b"grpc-status", b"0")], True)),
    "reset": lambda c, s: c.sendall(frame(RST, 0, s, struct.pack(">I", 7))),
    "go-away": lambda c, s: c.sendall(frame(GOAWAY, 0, 0, struct.pack(">II", 0, 11) + b"enough")),
    "http-502": lambda c, s: c.sendall(headers(s, [(b":status", b"502")], True)),
    "redirect": lambda c, s: c.sendall(headers(s, [(b":status", b"307"), (b"location", b"http://127.0.0.1:1/")], True)),
    "endless-data": endless_data,
    "endless-headers": endless_headers,
    "endless-trailers": endless_trailers,
    "pings": pings,
}


# After these the connection is closed.
CLOSING = {"slow", "hang-up", "garbage", "no-trailers", "go-away", "endless-data", "endless-headers",
           "endless-trailers", "pings"}


def mode_of(number_):
    modes = [m for m in open(folder + "/mode").read().split("\n") if m]
    return modes[min(number_, len(modes)) - 1]


def read(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def keep(body, mode):
    global count
    with lock:
        count += 1
        n = count
    with open(f"{folder}/{n}.body", "wb") as f:
        f.write(body[5:])
    with open(f"{folder}/{n}.new", "w") as f:
        encoding = "gzip" if body[:1] == b"\1" and body[1:5] == struct.pack(">I", len(body) - 5) else "?"
        json.dump({"path": "grpc", "mode": mode, "headers": {"Content-Encoding": encoding}, "time": time.time()}, f)
    os.rename(f"{folder}/{n}.new", f"{folder}/{n}.json")


def serve(connection):
    if read(connection, 24) != b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":
        connection.sendall(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n")
        return
    connection.sendall(frame(SETTINGS, 0, 0))
    bodies = {}
    while True:
        head = read(connection, 9)
        size, kind, flags, stream = int.from_bytes(head[:3], "big"), head[3], head[4], int.from_bytes(head[5:], "big")
        payload = read(connection, size)
        if kind == SETTINGS and not flags & ACK:
            connection.sendall(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            connection.sendall(frame(PING, ACK, 0, payload))
        elif kind == DATA:
            bodies[stream] = bodies.get(stream, b"") + payload
            if size:
                grant = struct.pack(">I", size)
                connection.sendall(frame(WINDOW, 0, 0, grant) + frame(WINDOW, 0, stream, grant))
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            mode = mode_of(count + 1)
            keep(bodies.pop(stream, b""), mode)
            if mode in MODES:
                MODES[mode](connection, stream)
            else:
                refuse(connection, stream, mode.encode(), b"refused with " + mode.encode())
            if mode in CLOSING:
                return


def handle(connection, context):
    connection.settimeout(60)
    try:
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        serve(connection)
    except (OSError, EOFError):
        pass
    finally:
        try:
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except OSError:
            pass
        connection.close()


def main():
    context = None
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[2], sys.argv[3])
        context.set_alpn_protocols(["h2"])
    server = socket.create_server(("127.0.0.1", 0), backlog=16)
    with open(folder + "/port.new", "w") as f:
        f.write(str(server.getsockname()[1]))
    os.rename(folder + "/port.new", folder + "/port")
    while True:
        threading.Thread(target=handle, args=(server.accept()[0], context), daemon=True).start()


main()
