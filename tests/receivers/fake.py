#!/usr/bin/env python3
"""A receiver of profiles that answers as it is told: fake.py DIR.

It listens on a port of its own, which DIR/port names. Of request number N it keeps DIR/N.json (path, headers, status)
and DIR/N.body. DIR/mode says how it answers, and is read for each request: a line each, the last one for all further
requests. Modes: ok, a status such as 429 or 503, "429 after 2", and what broken or hostile receivers do, see MODES.
"""
import http.server
import json
import os
import sys
import threading
import time

folder = sys.argv[1]
lock = threading.Lock()
count = 0

# ExportProfilesServiceResponse: 3 profiles rejected, "too\x1b[31m old"
PARTIAL = b"\x0a\x10\x08\x03\x12\x0ctoo\x1b[31m old"
# google.rpc.Status: code 3, "bad profile"
STATUS = b"\x08\x03\x12\x0bbad profile"


def answer(handler, status, body=b"", headers=()):
    handler.send_response(status)
    for name, value in headers:
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def endless_body(handler):
    handler.wfile.write(b"HTTP/1.1 500 No\r\n\r\n")
    for _ in range(100000):
        handler.wfile.write(b"x" * 65536)


def endless_headers(handler):
    handler.wfile.write(b"HTTP/1.1 500 No\r\n")
    for i in range(10000000):
        handler.wfile.write(b"X-%d: %s\r\n" % (i, b"y" * 4000))


MODES = {
    "ok": lambda h: answer(h, 200),
    "slow": lambda h: time.sleep(60),
    "drip": lambda h: [h.wfile.write(b"H") or h.wfile.flush() or time.sleep(1) for _ in range(60)],
    "hang-up": lambda h: None,
    "garbage": lambda h: h.wfile.write(b"\x00\xff" * 1000),
    "endless-body": endless_body,
    "endless-headers": endless_headers,
    "to-file": lambda h: answer(h, 302, headers=[("Location", "file:///etc/passwd")]),
    "to-host": lambda h: answer(h, 307, headers=[("Location", open(folder + "/elsewhere").read().strip())]),
    "partial": lambda h: answer(h, 200, PARTIAL),
    "numbered": lambda h: answer(h, 503, b"busy, request %d" % count),
    "status": lambda h: answer(h, 400, STATUS),
    "colours": lambda h: answer(h, 400, b"\n  \x1b[2Jgone\x07 \xe2\x80\xae" + b"z" * 5000 + b"\nsecond line\n"),
}


def mode_of(number):
    modes = open(folder + "/mode").read().split("\n")
    modes = [m for m in modes if m]
    return modes[min(number, len(modes)) - 1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        global count
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with lock:
            count += 1
            number = count
        mode = mode_of(number)
        with open(f"{folder}/{number}.body", "wb") as f:
            f.write(body)
        with open(f"{folder}/{number}.new", "w") as f:
            json.dump({"path": self.path, "mode": mode, "headers": dict(self.headers), "time": time.time()}, f)
        os.rename(f"{folder}/{number}.new", f"{folder}/{number}.json")
        self.close_connection = mode not in ("ok", "partial")
        try:
            if mode in MODES:
                MODES[mode](self)
            elif " after " in mode:
                status, seconds = mode.split(" after ")
                answer(self, int(status), b"later", [("Retry-After", seconds)])
            else:
                answer(self, int(mode), b"refused with " + mode.encode())
        except OSError:
            pass

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
with open(folder + "/port.new", "w") as f:
    f.write(str(server.server_port))
os.rename(folder + "/port.new", folder + "/port")
server.serve_forever()
