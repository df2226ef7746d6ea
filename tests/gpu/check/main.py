#!/usr/bin/env python3
"""Checks sprof on a machine with a GPU, in one call, and writes down what it measured.

    check.py [-o FOLDER] [--limit SECONDS] [--rounds N] [--fake] [--only NAME[,NAME]] [--list]

Without a GPU, or with --fake, the programs run over the fake GPU of the tests, and the results say that the figures are
the fake's. FOLDER (gpu-check) gets results.md, results.json, recordings and the flame graph. Exits with 0 if no check
failed; a check that is skipped, with its reason, has not failed. Needs only Python; uses torch, nvcc and Nsight Compute
if they are installed.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import site
import statistics
import subprocess
import sys
import time
import xml.dom.minidom

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SPROF = os.environ.get("SPROF") or os.path.join(ROOT, "bin/sprof")
BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build")
LOAD = os.path.join(BUILD, "tests/targets/gpu_load")
AGENT = os.path.realpath(os.path.join(BUILD, "libsprof-gpu.so"))
FAKES = os.path.join(BUILD, "tests/gpu")

# What only a GPU can show, and the check that shows it; None: not checked here.
CLAIMS = [
    ("libcuda loads the library in cuInit, and the first launch is seen", "launches"),
    ("cost of a launch while sleeping, and while collecting", "launches"),
    ("kernel times and counts are right", "sums"),
    ("GPU times and calls are on one clock: kernels begin after their calls and end before the wait for them", "timeline"),
    ("kernels of one stream do not overlap in CUPTI's records", "timeline"),
    ("copies and driver allocations are right and complete", "memory"),
    ("kernels of graphs are found, and counted exactly; what recording each of them costs", "graphs"),
    ("attaching to a program that has made its graphs before", "attach_graphs"),
    ("25 million graph kernels do not exhaust CUPTI's buffers (--only exhaustion)", "exhaustion"),
    ("eight threads launch while collection begins and ends, ten times", "attach"),
    ("the library is loaded into a running program that uses CUDA (real libcuda, libcupti and their threads)", "load"),
    ("detaching from an idle program ends in time", "idle"),
    ("detaching leaves no cost behind", "residue"),
    ("launches of the runtime's <<<>>> are seen", "nvcc"),
    ("torch: slow-down beside no profiler and torch.profiler", "torch_gpt"),
    ("torch: kernel sums agree with torch.profiler's within 1 %", "torch_gpt"),
    ("torch: CUDA graphs", "torch_graphs"),
    ("torch: several streams", "torch_streams"),
    ("torch: convolutions, cuDNN", "torch_resnet"),
    ("torch.profiler starts in a program that sprof records: it gets CUPTI and its kernels", "kineto"),
    ("sprof attaches to a program in which torch.profiler has CUPTI: it waits", "kineto_first"),
    ("NVTX ranges of torch.cuda.nvtx", "torch_nvtx"),
    ("durations agree with Nsight Compute's", "ncu"),
    ("NCCL kernels, more than one GPU", None),
    ("MPS, MIG, confidential computing", None),
    ("names of kernels whose module was unloaded", None),
    ("allocations from pools (cuMemAllocAsync) of a real driver", None),
    ("--gpu-processes with the ranks of a real job", None),
    ("gVisor, whose kernel has neither eBPF nor perf events", None),
]


class Skip(Exception):
    pass


class Wrong(Exception):
    pass


def expect(truth, text):
    if not truth:
        raise Wrong(text)


def near(what, got, wanted, share):
    expect(wanted and abs(got - wanted) <= share * wanted, f"{what}: {got:.0f}, and not {wanted:.0f} within {share:.0%}")


class Checks:
    def __init__(self, args):
        self.args, self.end, self.env = args, time.time() + args.limit, dict(os.environ)
        self.why_fake = "--fake was given" if args.fake else missing_gpu()
        self.fake, self.cupti = bool(self.why_fake), None
        if self.fake:
            self.env.update(LD_LIBRARY_PATH=FAKES, SPROF_CUPTI=os.path.join(FAKES, "cuda12/libcupti.so.12"))
        elif "SPROF_CUPTI" not in self.env:
            self.cupti = find_cupti()
            if self.cupti: # a program with a CUPTI of its own uses that one
                self.env["SPROF_CUPTI"] = self.cupti
        os.makedirs(args.output, exist_ok=True)

    def path(self, name):
        return os.path.join(self.args.output, name)

    def run(self, command, timeout=120, env=None):
        """Returns the stdout of a command that must succeed."""
        left = self.end - time.time()
        if left < 5:
            raise Skip("no time left")
        done = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env or self.env,
                                start_new_session=True)
        try:
            out, self.stderr = done.communicate(timeout=min(timeout, left))
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL) # else its children keep the GPU busy
            done.communicate()
            raise Wrong(f"did not end in time: {' '.join(command)}")
        if done.returncode == 77:
            raise Skip(self.stderr.strip().splitlines()[-1])
        expect(not done.returncode, f"{' '.join(command[:4])} ... ended with {done.returncode}: {self.stderr.strip()[-300:]}")
        return out

    def record(self, name, command, options=(), timeout=120):
        return self.run([SPROF, "record", "-q", "--gpu", "on", "-o", self.path(name), *options, "--", *command], timeout)

    def report(self, table, name):
        return json.loads(self.run([SPROF, "report", f"--{table}", "--json", self.path(name)]))

    def counter(self, report, name):
        return sum(c["value"] for c in report["counters"] if c["name"] == name)

    def row(self, report, pattern):
        rows = [r for r in report["rows"] if re.search(pattern, r["name"])]
        expect(rows, f"no row like {pattern}")
        return {k: sum(r[k] for r in rows) for k in ("calls", "total_ns")}

    def sound(self, report):
        """Checks what holds for every recording: busy + idle is the wall time, and no activity was lost."""
        lost = sum(self.counter(report, "activities " + how) for how in ("discarded", "without a time", "dropped by CUPTI"))
        for device in report["devices"]:
            expect(device["busy_ns"] + device["idle_ns"] == device["wall_ns"], f"busy + idle is not the wall: {device}")
        expect(not lost, f"{lost} activities were lost")

    # ---- the checks: each returns a sentence with what it measured

    def host(self):
        about = {"kernel": os.uname().release, "cpus": os.cpu_count(), "sprof": self.run([SPROF, "--version"]).strip()}
        if shutil.which("nvidia-smi") and not self.fake:
            about["gpu"] = self.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).strip()
        done = subprocess.run([SPROF, "doctor"], capture_output=True, text=True, env=self.env)
        about["sources"] = " ".join(re.findall(r"^(\w+) +OK", done.stdout, re.M)) or "none"
        about["CUPTI"] = self.env.get("SPROF_CUPTI") or "not found (hint: SPROF_CUPTI=/path/to/libcupti.so)"
        about["not here"] = ", ".join(self.missing()) or "nothing"
        return ", ".join(f"{k}: {v}" for k, v in about.items())

    def missing(self):
        """Yields what is missing for the checks. Also without a GPU, so that everything is named at once."""
        if self.fake:
            yield f"a GPU ({self.why_fake})"
        for program, what in (("nvcc", "nvcc"), ("ncu", "Nsight Compute (ncu)")):
            if not shutil.which(program):
                yield what
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
            yield f"torch for {sys.executable}"

    def launches(self):
        """Host time of an empty launch, in ns: without sprof, with the library asleep, and while collecting."""
        n, found = 10000 if self.fake else 100000, {"alone": [], "asleep": [], "collecting": []}
        for _ in range(self.args.rounds):
            for how in found:
                command = [LOAD, f"empty:{n}"]
                if how == "asleep":
                    out = self.run(command, env={**self.env, "CUDA_INJECTION64_PATH": AGENT})
                else:
                    out = self.record("launches.data", command) if how == "collecting" else self.run(command)
                found[how].append(int(re.search(r"median_ns=(\d+)", out)[1]))
        report = self.report("gpu", "launches.data")
        self.sound(report)
        calls = self.row(report, "^empty")["calls"]
        expect(calls == n, f"{calls} launches were seen of {n}")
        ns = {how: statistics.median(v) for how, v in found.items()}
        return (f"{ns['alone']:.0f} ns alone, {ns['asleep'] - ns['alone']:+.0f} asleep, "
                f"{ns['collecting'] - ns['alone']:+.0f} collecting; all {n} seen")

    def sums(self):
        out = self.record("sums.data", [LOAD, "spin:200:1000000"])
        events, report = int(re.search(r"events_ns=(\d+)", out)[1]), self.report("gpu", "sums.data")
        spin = self.row(report, "^spin")
        self.sound(report)
        expect(spin["calls"] == 200, f"{spin['calls']} kernels of 200")
        near("kernel time beside that of events", spin["total_ns"], events, 0.01)
        folded = self.run([SPROF, "fold", "--column", "gpu", self.path("sums.data")])
        total = sum(int(float(line.rsplit(" ", 1)[1])) for line in folded.splitlines())
        expect(total == sum(r["total_ns"] for r in report["rows"]), "the flame graph is not the sum of the kernels")
        return f"200 kernels, {spin['total_ns'] / 1e6:.3f} ms; events around them {events / 1e6:.3f} ms"

    def timeline(self):
        """CPU and GPU times, and the order within a stream, of 200 kernels of 1 ms."""
        self.record("timeline.data", [LOAD, "spin:200:1000000"])
        self.run([SPROF, "export", "-f", "chrome", "-o", self.path("timeline.json"), self.path("timeline.data")])
        with open(self.path("timeline.json")) as file:
            events = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X"]
        calls = {e["args"]["correlation"]: e for e in events if e["cat"] == "cuda"}
        kernels = sorted((e for e in events if e["cat"] == "kernel"), key=lambda e: e["ts"])
        expect(len(kernels) == 200, f"{len(kernels)} kernels of 200")
        lags = [k["ts"] - calls[k["args"]["correlation"]]["ts"] for k in kernels]
        waits = [e["ts"] + e["dur"] for e in calls.values() if e["name"].startswith("cuCtxSynchronize")]
        overlap = max(a["ts"] + a["dur"] - b["ts"] for a, b in zip(kernels, kernels[1:]))
        ahead = max(waits) - kernels[-1]["ts"] - kernels[-1]["dur"]
        said = (f"kernels begin {min(lags):.1f} us after their calls at least, the last ends {ahead:.1f} us before the wait "
                f"for it does; neighbours of one stream overlap by {max(overlap, 0):.3f} us at most")
        expect(min(lags) >= 0 and ahead >= (-50 if self.fake else 0), "the clocks do not agree: " + said)
        expect(overlap < 1, said)
        return said

    def memory(self):
        self.record("memory.data", [LOAD, "copy:20:4194304", "alloc:32:1048576"])
        copies, gpu = self.report("memcpy", "memory.data"), self.report("gpu", "memory.data")
        to = [r for r in copies["rows"] if "host to device" in r["name"] or "device to host" in r["name"]]
        expect(sum(r["bytes"] for r in to) == 40 * 4194304, f"bytes of copies: {[r['bytes'] for r in to]}")
        peak = max(d["peak_bytes"] for d in gpu["devices"])
        expect(peak >= 32 << 20, f"peak of allocations: {peak}")
        return f"40 copies, 168 MB; peak of driver allocations {peak / 1e6:.1f} MB"

    def graphs(self, n=500, nodes=50):
        alone = int(re.search(r"ns_per_launch=(\d+)", self.run([LOAD, f"graph:{n}:{nodes}"], timeout=400))[1])
        out = self.record("graphs.data", [LOAD, f"graph:{n}:{nodes}"], timeout=400)
        report = self.report("gpu", "graphs.data")
        calls, inside = self.row(report, "^empty")["calls"], self.counter(report, "activities in graphs")
        self.sound(report)
        expect(calls == n * nodes, f"{calls} kernels of {n * nodes}")
        expect(inside == n * nodes, f"{inside} are known to be of a graph")
        each = int(re.search(r"ns_per_launch=(\d+)", out)[1])
        return (f"{calls} kernels in {n} launches; a launch of {nodes} takes {alone} ns alone, {each} collecting: "
                f"{(each - alone) / nodes:+.0f} for each kernel")

    def exhaustion(self):
        return self.graphs(n=520000, nodes=50)

    def attach(self):
        """Attaches to a program of eight threads and detaches, several times."""
        times, took = 3 if self.fake else 10, []
        program = self.asleep("threads:8:60000")
        try:
            for i in range(times):
                took.append(self.join(program, "attach.data"))
                expect(self.report("gpu", "attach.data")["rows"], f"nothing was collected, attached for the {i + 1}. time")
            expect(program.poll() is None, f"the program ended with {program.returncode}")
        finally:
            program.kill()
        return (f"{times} times into 8 threads; {statistics.median(took) * 1e3:.0f} ms beside the 500 asked for, worst "
                f"{max(took) * 1e3:.0f}")

    def attach_graphs(self):
        """Attaches to a program that made its graphs before: what CUPTI knows of their kernels; the program must go on."""
        program = self.asleep("graph:2000000:20")
        try:
            time.sleep(2)
            took = self.join(program, "attach_graphs.data")
            report = self.report("gpu", "attach_graphs.data")
            expect(program.poll() is None, f"the program ended with {program.returncode}")
        finally:
            program.kill()
        calls = sum(r["calls"] for r in report["rows"])
        expect(calls, "nothing was collected")
        return (f"{calls} activities, {self.counter(report, 'activities in graphs')} known to be of a graph, "
                f"{self.counter(report, 'activities without a time')} without a time; {took * 1e3:.0f} ms beside the 500 asked for")

    def residue(self):
        """The time of a launch before a recorder comes and after it has gone."""
        program = self.asleep("run:60000")
        try:
            time.sleep(1)
            begin = time.monotonic()
            self.join(program, "residue.data")
            end = time.monotonic()
            time.sleep(2)
            program.kill()
            out = program.communicate(timeout=30)[0]
        finally:
            program.kill()
        points = [(int(a) / 1e9, int(b)) for a, b in re.findall(r"at_ns=(\d+) ns_per_launch=(\d+)\n", out)]
        before, after = ([ns for at, ns in points if a < at < b] for a, b in ((0, begin), (end + 0.3, end + 10)))
        expect(before and after, "the program's own times are missing")
        return f"a launch takes {statistics.median(before):.0f} ns before and {statistics.median(after):.0f} after"

    def asleep(self, *work):
        """Starts a program in which the library sleeps."""
        with open(self.path("asleep.log"), "w") as log:
            return subprocess.Popen([LOAD, *work], stdout=subprocess.PIPE, stderr=log, text=True,
                                    env={**self.env, "CUDA_INJECTION64_PATH": AGENT})

    def join(self, program, name):
        """Records the program for half a second; returns how many seconds more that took."""
        begin = time.monotonic()
        self.run([SPROF, "record", "-q", "--gpu", "on", "-p", str(program.pid), "-d", "500ms", "-o", self.path(name)])
        return time.monotonic() - begin - 0.5

    def load(self):
        """Loads the library into running programs; measures how long their stopped thread stood still."""
        stops, yama = [], "/proc/sys/kernel/yama/ptrace_scope"
        if os.geteuid() and os.path.exists(yama) and int(open(yama).read()):
            raise Skip("ptrace(2) is not allowed: run it as root, or with kernel.yama.ptrace_scope=0")
        for _ in range(3 if self.fake else 10):
            program = subprocess.Popen([LOAD, "threads:4:60000"], stdout=subprocess.PIPE, text=True, env=self.env)
            try:
                time.sleep(2)
                self.run([SPROF, "record", "-v", "--gpu", "on", "-p", str(program.pid), "-d", "500ms", "-o", self.path("load.data")])
                stops.append(float(re.search(r"was stopped for ([\d.]+) ms", self.stderr)[1]))
                expect(self.report("gpu", "load.data")["rows"], "nothing was collected")
                expect(program.poll() is None, f"the program ended with {program.returncode}")
            finally:
                program.kill()
        return f"into {len(stops)} programs of 4 threads, which stood still for {statistics.median(stops)} ms, at most {max(stops)}"

    def idle(self):
        program = self.asleep("empty:1000", "idle:60000")
        try:
            program.stdout.readline()
            took = self.join(program, "idle.data")
            expect(program.poll() is None, f"the program ended with {program.returncode}")
        finally:
            program.kill()
        return f"{took * 1e3:.0f} ms beside the 500 asked for, with what starting and writing take"

    def flame(self):
        self.record("flame.data", [LOAD, "spin:100:100000", "graph:20:20", "copy:5:1000000"])
        svg = self.path("flame.svg")
        self.run([SPROF, "flame", "--column", "gpu", "-o", svg, self.path("flame.data")])
        xml.dom.minidom.parse(svg)
        expect("do_spin" in open(svg).read(), "the flame graph lacks the function that launched")
        return os.path.basename(svg)

    def nvcc(self):
        if self.fake or not shutil.which("nvcc"):
            raise Skip("needs a GPU, and nvcc: the fake has no runtime" if self.fake else "no nvcc here")
        program = self.path("cuda_user")
        self.run(["nvcc", "-O2", "-o", program, os.path.join(HERE, "cuda_user.cu")], timeout=180)
        out = self.record("nvcc.data", [program, "200"])
        events, report = int(re.search(r"events_ns=(\d+)", out)[1]), self.report("gpu", "nvcc.data")
        total = 0
        for name in ("multiply", "add"):
            row = self.row(report, name)
            expect(row["calls"] == 200, f"{row['calls']} of 200 launches of {name}")
            total += row["total_ns"]
        expect(total <= events * 1.01, f"kernels {total} ns, events around them {events}")
        return f"400 launches, kernels {total / 1e6:.2f} ms of {events / 1e6:.2f} ms between events"

    def torch(self, work, profiler="none", name=None, steps=30):
        command = [sys.executable, os.path.join(HERE, "torch_load.py"), "--steps", str(steps), "--profiler", profiler, work]
        out = self.record(name, command, timeout=180) if name else self.run(command, timeout=180)
        return json.loads(out.strip().splitlines()[-1])

    def need_torch(self):
        if self.fake:
            raise Skip("needs a GPU, and torch")
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
            raise Skip("no torch for this python")

    def torch_work(self, work):
        """Times of a step alone, under sprof and under torch.profiler, in turns; compares the kernels of both."""
        self.need_torch()
        ms, kernels, sprof = {"alone": [], "sprof": [], "torch": []}, [], []
        for _ in range(self.args.rounds):
            ms["alone"].append(self.step_ms(self.torch(work)))
            ms["sprof"].append(self.step_ms(self.torch(work, name=f"torch_{work}.data")))
            report = self.report("gpu", f"torch_{work}.data")
            self.sound(report)
            sprof.append(self.totals(report["rows"]))
            run = self.torch(work, profiler="torch")
            ms["torch"].append(self.step_ms(run))
            kernels.append(self.totals([{"name": k, "calls": v[0], "total_ns": v[1]} for k, v in run["kernels"].items()]))
        step = {k: statistics.median(v) for k, v in ms.items()}
        ours, theirs = ({k: statistics.median(r[k] for r in runs) for k in ("calls", "total_ns")} for runs in (sprof, kernels))
        said = (f"step {step['alone']:.2f} ms alone, x{step['sprof'] / step['alone']:.3f} under sprof, "
                f"x{step['torch'] / step['alone']:.3f} under torch.profiler; {ours['calls']:.0f} kernels of "
                f"{ours['total_ns'] / 1e6:.2f} ms, torch.profiler {theirs['calls']:.0f} of {theirs['total_ns'] / 1e6:.2f} ms")
        expect(ours["calls"] == theirs["calls"], "not the same kernels: " + said)
        near("kernel time; " + said, ours["total_ns"], theirs["total_ns"], 0.01)
        return said

    @staticmethod
    def step_ms(run):
        return statistics.median(run["ms"][5:])

    @staticmethod
    def totals(rows):
        kernels = [r for r in rows if not re.match(r"\[|Memcpy|Memset", r["name"])]
        return {k: sum(r[k] for r in kernels) for k in ("calls", "total_ns")}

    def torch_gpt(self):
        said = self.torch_work("gpt")
        self.run([SPROF, "flame", "--column", "gpu", "-o", self.path("torch_gpt.svg"), self.path("torch_gpt.data")])
        return said

    def torch_resnet(self):
        return self.torch_work("resnet")

    def torch_graphs(self):
        return self.torch_work("graphs")

    def torch_streams(self):
        return self.torch_work("streams")

    def kineto(self):
        """torch.profiler inside a program that sprof records: it gets CUPTI, and sprof reports that."""
        self.need_torch()
        run = self.torch("gpt", profiler="torch", name="kineto.data", steps=10)
        report = self.report("gpu", "kineto.data")
        seen, theirs = sum(r["calls"] for r in report["rows"]), sum(v[0] for v in (run["kernels"] or {}).values())
        said = f"sprof saw {seen} activities, torch.profiler {theirs}; {self.stderr.strip()[-300:] or 'nothing was said'}"
        expect(theirs, "torch.profiler saw no kernel: " + said)
        return said

    def kineto_first(self):
        """sprof attaches while torch.profiler records, and takes nothing from it."""
        self.need_torch()
        command = [sys.executable, os.path.join(HERE, "torch_load.py"), "--seconds", "20", "--profiler", "torch", "gpt"]
        with open(self.path("kineto_first.log"), "w") as log:
            program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True,
                                       env={**self.env, "CUDA_INJECTION64_PATH": AGENT})
        try:
            time.sleep(15)
            self.join(program, "kineto_first.data")
            said = self.stderr.strip()[-200:]
            out = program.communicate(timeout=120)[0]
        finally:
            program.kill()
        expect(not program.returncode, f"the program ended with {program.returncode}")
        theirs = sum(v[0] for v in (json.loads(out.strip().splitlines()[-1])["kernels"] or {}).values())
        expect(theirs, f"torch.profiler saw no kernel; {said}")
        return f"torch.profiler saw {theirs} kernels; {said or 'nothing was said'}"

    def torch_nvtx(self):
        """Ranges of torch.cuda.nvtx around kernels: their number, and the launches in them."""
        self.need_torch()
        code = ("import torch\nx = torch.ones(256, 256, device='cuda')\nfor _ in range(50):\n"
                "    with torch.cuda.nvtx.range('step'):\n        y = x @ x\ntorch.cuda.synchronize()\n")
        self.record("torch_nvtx.data", [sys.executable, "-c", code], timeout=180)
        rows = [r for r in self.report("ranges", "torch_nvtx.data")["rows"] if r["range"] == "step"]
        expect(rows and rows[0]["repeats"] == 50, f"ranges called step: {rows}")
        launched = rows[0].get("launches", 0)
        expect(launched >= 50, f"{launched} launches in 50 ranges")
        return f"50 ranges with {launched} launches, {rows[0]['total_ns'] / 1e6:.2f} ms"

    def ncu(self):
        if self.fake or not shutil.which("ncu"):
            raise Skip("needs a GPU, and Nsight Compute" if self.fake else "no Nsight Compute here")
        out = self.run(["ncu", "--csv", "--metrics", "gpu__time_duration.sum", LOAD, "spin:5:1000000"], timeout=180)
        units = {"nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6}
        found = [float(v.replace(",", "")) * units[u] for u, v in re.findall(r'"gpu__time_duration.sum","(\w+)","([\d.,]+)"', out)]
        expect(len(found) == 5, f"ncu's output holds {len(found)} durations of 5")
        spin = self.row(self.report("gpu", "sums.data"), "^spin")
        near("average kernel, ns", spin["total_ns"] / spin["calls"], statistics.mean(found), 0.05)
        return f"average {spin['total_ns'] / spin['calls']:.0f} ns, Nsight Compute {statistics.mean(found):.0f} ns"


# The most important first: time may run out before the checks of torch.
NAMES = ["host", "launches", "sums", "timeline", "memory", "graphs", "attach", "attach_graphs", "load", "residue", "idle", "flame", "nvcc",
         "ncu", "kineto", "torch_nvtx", "torch_gpt", "torch_graphs", "kineto_first", "torch_streams", "torch_resnet"]
ALONE = ["exhaustion"] # takes minutes: only with --only


def missing_gpu():
    """Why no GPU can be used; "" if one can. In a process of its own, as cuInit has side effects."""
    ask = """
import ctypes, sys
try:
    cuda = ctypes.CDLL("libcuda.so.1")
except OSError as why:
    sys.exit(str(why))
number = ctypes.c_int()
error = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(number))
text = ctypes.c_char_p()
if error:
    cuda.cuGetErrorString(error, ctypes.byref(text))
    sys.exit("cuInit fails with %d, %s" % (error, (text.value or b"?").decode()))
sys.exit(None if number.value else "the driver has no device")
"""
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    why = done.stderr.strip().splitlines()[-1] if done.returncode else ""
    if why and os.path.exists("/dev/nvidiactl"):
        why += "; but there is a /dev/nvidiactl: is it this driver's libcuda, and may this user open it?"
    return why


def find_cupti():
    """A CUPTI for programs that have none mapped, as the programs of these checks: the toolkit's, or one of NVIDIA's
    wheels. It must not be of a later CUDA than the driver."""
    version, places = ctypes.c_int(), []
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    for folder in site.getsitepackages() + [site.getusersitepackages()]:
        places += glob.glob(os.path.join(folder, "nvidia/c*/lib/libcupti.so.1[0-9]*"))
    places = [p for p in places if int(re.search(r"so\.(\d+)", p)[1]) <= version.value // 1000]
    places.sort(key=lambda p: -int(re.search(r"so\.(\d+)", p)[1]))
    for place in ["/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so", *places]:
        try:
            ctypes.CDLL(place)
            return place
        except OSError:
            pass
    return None


def write(checks, results):
    shown = {name for name, status, _ in results if status == "ok"} if not checks.fake else set()
    with open(checks.path("results.json"), "w") as file:
        json.dump({"fake": checks.fake, "checks": [dict(zip(("name", "status", "text"), r)) for r in results]}, file, indent=1)
    with open(checks.path("results.md"), "w") as file:
        print("# sprof on " + ("a fake GPU: every figure is the fake's" if checks.fake else "a GPU"), file=file)
        print("\n| check | | what was seen |\n|---|---|---|", file=file)
        for name, status, text in results:
            print(f"| {name} | {status} | {text.replace('|', '/')} |", file=file)
        print("\nNot verified on a GPU by this run:\n", file=file)
        for claim, check in CLAIMS:
            if check not in shown:
                print(f"- {claim}" + ("" if check else " (no check here does)"), file=file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="gpu-check")
    parser.add_argument("--limit", type=float, default=560, help="seconds for all of it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fake", action="store_true")
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    wanted = args.only.split(",")
    if args.list:
        print(*NAMES, *ALONE, sep="\n")
        return 0
    if not set(wanted) <= set(NAMES + ALONE):
        parser.error(f"there is no check {', '.join(set(wanted) - set(NAMES + ALONE))}")
    checks, results = Checks(args), []
    if checks.fake:
        print(f"no GPU here ({checks.why_fake}): the checks run over a fake GPU, and their figures are the fake's")
    for name in wanted:
        try:
            result = ("ok", getattr(checks, name)())
        except Skip as why:
            result = ("skipped", str(why))
        except Exception as why: # whatever it is, the other checks still run
            result = ("FAILED", f"{why}" if isinstance(why, Wrong) else f"{type(why).__name__}: {why}")
        results.append((name, *result))
        print(f"{result[0]:8} {name}: {result[1]}", flush=True)
    write(checks, results)
    count = {s: sum(r[1] == s for r in results) for s in ("ok", "FAILED", "skipped")}
    print(f"{count['ok']} ok, {count['FAILED']} failed, {count['skipped']} skipped; {checks.path('results.md')}")
    return 1 if count["FAILED"] or not count["ok"] else 0


sys.exit(main())
