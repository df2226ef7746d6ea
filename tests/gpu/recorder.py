#!/usr/bin/env python3
"""Records a program's GPU work and prints everything that libsprof-gpu.so shared. A second reader of
gpu/agent/base/region.h, which shares no code with sprof's.

    recorder.py [options] -- PROGRAM [ARG...]
      --want=N            gpu_config.want (default: the value in the region)
      --stack-min=NS      gpu_config.stack_min_ns
      --classes=N         gpu_config.stack_classes
      --flush=MS          gpu_config.flush_ms
      --no-drain          leave the rings full
      --stop-after=MS     detach while the program runs, and print how long that took
      --hang-up-after=MS  close the socket instead, as a recorder that dies
      --attach=MS         start the program without a socket, attach after that time
      --cycles=N          attach and stop N times, each time after --calls=N kernels; then make END_FILE
      --rows-first=MS     send (empty) unwind rows, and start only after that time
      --pc-period=N       gpu_config.pc_period
      --records           print every record, in order of time

Lines: state, counter, failure, api, fold, range, device, record, and stack names of the program's own functions.
"""
import os
import mmap
import select
import socket
import struct
import subprocess
import sys
import time

VERSION = 8 # GPU_REGION_VERSION
COUNTERS = """kernels memcpys memsets syncs overheads graphs memory pool other untimed cupti_dropped ring_dropped
no_buffer discarded bad_record launches stack_walked stack_cached stack_short stack_full string_full no_launch
fold_full range_full range_unbalanced range_deep threads lanes_shared buffers callback_ns nvtx_calls nvtx_adopted
graph_nodes outside running not_begun nodes_left_out windows window_ns covered_ns uncovered_ns cost_ns launching_ns
flops_full flops_read_only pc_samples pc_dropped pc_foreign pc_no_room pc_full pc_contexts pc_cubins_left_out""".split()
STATES = "dormant no_cuda active waiting failed detached exited".split()
FOLDS = "? kernel memcpy memset graph sync alloc free overhead".split()
RECORDS = "? pad api kernel memcpy memset sync overhead graph memory pool range mark name drops untimed".split()
AREAS = "strings stacks ranges folds apis devices lanes".split()
PC_ROWS = 10688 # gpu_region.pc_rows
PC_LINES = "awaited known none no_code".split()


child = None


class Region:
    def __init__(self, fd):
        self.size = os.fstat(fd).st_size
        self.map = mmap.mmap(fd, self.size)
        assert self.u64(0) == 0x0055504746525053 and self.u32(8) == VERSION and self.u64(16) == self.size
        self.areas = {}
        for i, name in enumerate(AREAS):
            self.areas[name] = struct.unpack_from("<QQQI", self.map, 144 + 32 * i)
        self.records = []
        self.dropped = 0

    def u32(self, at):
        return struct.unpack_from("<I", self.map, at)[0]

    def u64(self, at):
        return struct.unpack_from("<Q", self.map, at)[0]

    def entries(self, name):
        offset, _, _, size = self.areas[name]
        used = self.u64(144 + 32 * AREAS.index(name) + 16)
        return ((i, offset + i * size) for i in range(used))

    def string(self, id):
        at = self.areas["strings"][0] + 8 * id
        return self.map[at + 8 : at + 8 + self.u32(at)].decode()

    def stack(self, id):
        at = self.areas["stacks"][0] + 8 * id
        nr, end = struct.unpack_from("<HB", self.map, at + 4)
        return struct.unpack_from("<%dQ" % nr, self.map, at + 8), end

    def range(self, id):
        names = []
        while id:
            at = self.areas["ranges"][0] + 64 * id
            parent, name, domain = struct.unpack_from("<III", self.map, at)
            names.insert(0, (self.string(domain) + ":" if domain else "") + self.string(name))
            id = parent
        return "/".join(names)

    def drain(self):
        for _, lane in self.entries("lanes"):
            data, size = struct.unpack_from("<QQ", self.map, lane)
            head, tail = self.u64(lane + 64), self.u64(lane + 128)
            assert head - tail <= size
            while tail < head:
                at = data + tail % size
                type, length, tid = struct.unpack_from("<HHI", self.map, at)
                if not type:
                    break
                assert length >= 8 and length % 8 == 0 and tail % size + length <= size
                if type != 1:
                    self.records.append((type, tid, self.map[at : at + length]))
                self.map[at : at + length] = bytes(length)
                tail += length
                struct.pack_into("<Q", self.map, lane + 128, tail)


def receive(connection):
    data, control, _, _ = connection.recvmsg(64, socket.CMSG_SPACE(4))
    assert len(data) == 32 and struct.unpack_from("<QI", data) == (0x0055504746525053, VERSION)
    return Region(struct.unpack("<i", control[0][2])[0])


class Names:
    """The functions of the program, which is linked at a fixed address."""

    def __init__(self, program):
        self.functions = []
        for line in subprocess.run(["nm", "-n", program], capture_output=True, text=True).stdout.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tT":
                self.functions.append((int(words[0], 16), words[2]))

    def name(self, pc):
        found = None
        for start, name in self.functions:
            if start > pc - 1:
                break
            found = name
        return found if self.functions and self.functions[0][0] <= pc < self.functions[-1][0] + 4096 else None

    def stack(self, region, id):
        if not id:
            return "-"
        pcs, end = region.stack(id)
        names = ["[captured]" if pc == 1 else self.name(pc) for pc in reversed(pcs)]
        return ("" if end == 0 else "[end %d];" % end) + ";".join(n for n in names if n)


def print_all(region, names, with_records):
    print("state", STATES[region.u32(44)])
    print("cupti", region.u32(128), os.path.basename(region.string(region.u32(132))))
    for i, name in enumerate(COUNTERS):
        value = region.u64(368 + 8 * i)
        if value:
            print("counter", name, value)
    for i in range(min(region.u32(136), 32)):
        at = 880 + 256 * i
        code, error = struct.unpack_from("<II", region.map, at)
        text = region.map[at + 24 : at + 256].split(b"\0")[0].decode()
        print("failure", code, error, region.u64(at + 16), text)
    apis = {}
    for i, at in region.entries("apis"):
        count, total, longest, name, kind = struct.unpack_from("<QQQII", region.map, at)
        if count:
            entry = apis.setdefault(region.string(name), [0, 0, 0, kind])
            entry[0] += count
            entry[1] += total
            entry[2] = max(entry[2], longest)
    for name in sorted(apis):
        print("api", name, apis[name][0], "class=%d" % apis[name][3], "max<=total" if apis[name][2] <= apis[name][1] else "BAD")
    for i, at in region.entries("folds"):
        kind, subkind, device, stack, name, where, count, total, low, high, size, regs = struct.unpack_from(
            "<BBHIIIQQQQQI", region.map, at)
        if kind:
            print("fold", FOLDS[kind], region.string(name) or subkind, "device=%d" % device, "count=%d" % count,
                  "ns=%d" % total, "min=%d" % low, "max=%d" % high, "bytes=%d" % size, "regs=%d" % regs,
                  "range=%s" % region.range(where), names.stack(region, stack))
    for i, at in region.entries("ranges"):
        count, total = struct.unpack_from("<QQ", region.map, at + 24)
        if i and count:
            print("range", region.range(i), "count=%d" % count, "ns=%d" % total)
    for i, at in region.entries("devices"):
        if region.u32(at):
            print("device", i, region.string(region.u32(at + 4)), "sms=%d" % region.u32(at + 48),
                  "allocated=%d" % region.u64(at + 80), "peak=%d" % region.u64(at + 88))
    rows, _, used, size = struct.unpack_from("<QQQI", region.map, PC_ROWS)
    for at in range(rows, rows + used * size, size):
        is_used, name, cubin, pc, stall, stack, where, state, file, line, samples, idle = struct.unpack_from(
            "<IIQQIIIIIIQQ", region.map, at)
        if is_used:
            print("pc", region.string(name), "pc=%d" % pc, region.string(stall).rpartition("stalled_")[2],
                  "samples=%d" % samples, "idle=%d" % idle, PC_LINES[state],
                  "%s:%d" % (region.string(file), line), names.stack(region, stack))
    lost = sum(region.u64(at + 24) for _, at in region.entries("lanes"))
    print("ring_dropped", lost)
    if with_records:
        print_records(region, names)


def print_records(region, names):
    lines = []
    for type, tid, r in region.records:
        kind = RECORDS[type]
        start, end = struct.unpack_from("<QQ", r, 8) if len(r) >= 24 else (0, 0)
        if kind == "api":
            corr, stack, where, name, cbid, domain, klass, result = struct.unpack_from("<IIIIHBBi", r, 24)
            text = "%s corr=%d class=%d result=%d range=%s %s" % (
                region.string(name), corr, klass, result, region.range(where), names.stack(region, stack))
        elif kind in ("kernel", "memcpy", "memset", "sync", "graph", "memory", "pool"):
            corr, stack, where, device, context, stream, graph, _, node = struct.unpack_from("<8IQ", r, 24)
            text = "corr=%d device=%d stream=%d graph=%d node=%x ns=%d range=%s %s" % (
                corr, device, stream, graph, node, end - start, region.range(where), names.stack(region, stack))
            if kind == "kernel":
                _, _, name, regs = struct.unpack_from("<QQII", r, 64)
                text = "%s regs=%d grid=%d,%d,%d block=%d,%d,%d %s" % (
                    (region.string(name), regs) + struct.unpack_from("<6I", r, 88) + (text,))
            elif kind == "memcpy":
                size, copy, source, destination = struct.unpack_from("<QBBB", r, 64)
                text = "kind=%d bytes=%d %s" % (copy, size, text)
            elif kind == "memset":
                text = "bytes=%d value=%d %s" % (struct.unpack_from("<QI", r, 64) + (text,))
            elif kind == "memory":
                address, size, pool, op = struct.unpack_from("<QQQI", r, 64)
                text = "op=%d address=%x bytes=%d %s" % (op, address, size, text)
        elif kind == "range":
            where, name, domain, category, color, rk, flags, pt, _, payload = struct.unpack_from("<5I4BQ", r, 24)
            text = "%s domain=%s kind=%d flags=%d category=%d color=%x payload=%d:%x path=%s ns=%d" % (
                region.string(name), region.string(domain), rk, flags, category, color, pt, payload,
                region.range(where), end - start)
        elif kind == "mark":
            where, name, domain, category, color, pt, payload = struct.unpack_from("<6IQ", r, 16)
            end, text = start, "%s domain=%s category=%d payload=%d:%x range=%s" % (
                region.string(name), region.string(domain), category, pt, payload, region.range(where))
        elif kind == "name":
            id, nk, name, domain = struct.unpack_from("<QIII", r, 8)
            start = end = 0
            text = "kind=%d id=%d domain=%s %s" % (nk, id, region.string(domain), region.string(name))
        elif kind == "drops":
            end, text = start, "nr=%d" % struct.unpack_from("<Q", r, 16)
        else:
            text = ""
        lines.append((start, "record %s %d %d %s" % (kind, start, end, text)))
    for _, line in sorted(lines, key=lambda l: l[0]):
        print(line)


def connect(child):
    """Connects to a program whose library sleeps; waits until it listens."""
    begin = time.monotonic()
    while child.poll() is None and time.monotonic() - begin < 10:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect("\0sprof-gpu-%d" % child.pid)
            return connection
        except ConnectionRefusedError:
            time.sleep(0.005)
    sys.exit("recorder.py: the agent does not listen")


def configure(region, options):
    if "want" in options:
        struct.pack_into("<I", region.map, 64, int(options["want"], 0))
    struct.pack_into("<I", region.map, 68, int(options.get("classes", "0"), 0))
    struct.pack_into("<Q", region.map, 72, int(options.get("stack-min", "0")))
    struct.pack_into("<I", region.map, 80, int(options.get("flush", "20")))
    struct.pack_into("<I", region.map, 100, int(options.get("pc-period", "0")))


def cycles(region, connection, child, options):
    """Attaches and stops again and again. Each time waits for some calls; then the stop must be obeyed."""
    stops = []
    for cycle in range(int(options["cycles"])):
        if cycle:
            connection = connect(child)
            region = receive(connection)
        configure(region, options)
        enough, begin = region.u64(368) + int(options["calls"]), time.monotonic()
        struct.pack_into("<I", region.map, 40, 1)
        connection.send(b"!")
        while region.u64(368) < enough:
            region.drain()
            if child.poll() is not None or time.monotonic() - begin > 30:
                sys.exit("recorder.py: cycle %d: too few calls, state %s" % (cycle, STATES[region.u32(44)]))
            time.sleep(0.002)
        struct.pack_into("<I", region.map, 40, 2)
        connection.send(b"!")
        stops.append(wait_state(region, ["detached"], 100, region.drain))
        select.select([connection], [], [], 10) # it hangs up
    print("cycles %d longest_stop_ms %d" % (len(stops), 1000 * max(stops)))
    open(os.environ["END_FILE"], "w").close()
    return region


def wait_state(region, states, limit_s, meanwhile=lambda: None):
    begin = time.monotonic()
    while STATES[region.u32(44)] not in states:
        meanwhile()
        if time.monotonic() - begin > limit_s:
            sys.exit("recorder.py: the agent stays %s" % STATES[region.u32(44)])
        time.sleep(0.001)
    return time.monotonic() - begin


def once(region, connection, child, options):
    if "rows-first" in options:
        rows = [os.memfd_create("rows") for _ in range(2)]
        for fd in rows:
            os.ftruncate(fd, 4096)
        socket.send_fds(connection, [b"r"], rows)
        time.sleep(int(options["rows-first"]) / 1000)
    struct.pack_into("<I", region.map, 40, 1)
    connection.send(b"!")
    begin = time.monotonic()
    open_end = "stop-after" in options or "hang-up-after" in options
    limit = int(options.get("stop-after", options.get("hang-up-after", "100000"))) / 1000
    while child.poll() is None and time.monotonic() - begin < limit:
        if "no-drain" not in options:
            region.drain()
        time.sleep(0.002)
    if child.poll() is None and open_end:
        if "stop-after" in options:
            struct.pack_into("<I", region.map, 40, 2)
            connection.send(b"!")
        else:
            connection.close()
        took = wait_state(region, ["detached"], 5)
        print("stopped_ms %d" % (took * 1000))
        count = region.u64(368)
        child.wait()
        print("after_stop", region.u64(368) - count)


def run():
    global child
    split = sys.argv.index("--")
    options = dict(o[2:].partition("=")[::2] for o in sys.argv[1:split])
    command = sys.argv[split + 1 :]
    library = os.environ["SPROF_GPU_LIBRARY"]
    environment = dict(os.environ, CUDA_INJECTION64_PATH=library, NVTX_INJECTION64_PATH=library)
    name = "\0sprof-test-%d" % os.getpid()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(name)
    listener.listen(8)
    if "attach" in options or "cycles" in options:
        child = subprocess.Popen(command, env=environment)
        time.sleep(int(options.get("attach", "0")) / 1000)
        connection = connect(child)
    else:
        environment["SPROF_GPU_SOCKET"] = "@" + name[1:]
        child = subprocess.Popen(command, env=environment)
        ready = select.select([listener], [], [], 10)[0]
        if not ready:
            sys.exit("recorder.py: no agent came")
        connection, _ = listener.accept()
    region = receive(connection)
    configure(region, options)
    if "cycles" in options:
        region = cycles(region, connection, child, options)
    else:
        once(region, connection, child, options)
    if "no-drain" not in options:
        region.drain()
    print("status", child.wait())
    print_all(region, Names(command[0]), "records" in options)


def main():
    global child
    try:
        run()
    finally:
        if child and child.poll() is None: # we failed, and the program may never end by itself
            child.kill()


main()
