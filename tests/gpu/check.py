#!/usr/bin/env python3
"""Checks sprof on a machine with a GPU, in one call, and writes down what it measured.

    check.py [-o FOLDER] [--limit SECONDS] [--rounds N] [--fake] [--only NAME[,NAME]] [--list]

Where there is no GPU, or with --fake, the programs run over the fake one that the tests use; every figure is then one
of the fake, and is said to be. FOLDER (gpu-check) gets results.md, results.json, recordings and the flame graph. It exits with
0 if no check failed; one that was skipped, with its reason, is none that failed. Needs Python alone; what it finds of torch,
nvcc and Nsight Compute it uses.
"""
import argparse
import json
import os
import re
import shutil
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

# What only a GPU can show, and the check that shows it; None: no check here does.
CLAIMS = [
    ("libcuda loads the library in cuInit, and the first launch is seen", "launches"),
    ("cost of a launch while sleeping, and while collecting", "launches"),
    ("kernel times and counts are right", "sums"),
    ("copies and driver allocations are right and complete", "memory"),
    ("kernels of graphs are found, and counted exactly", "graphs"),
    ("25 million graph kernels do not exhaust CUPTI's buffers (--only exhaustion)", "exhaustion"),
    ("eight threads launch while collection begins and ends, ten times", "attach"),
    ("the library comes into a program that uses CUDA without it (libcuda, libcupti and their threads as they are)", "load"),
    ("detaching from an idle program ends in time", "idle"),
    ("nothing is left of the cost after detaching", "residue"),
    ("launches of the runtime's <<<>>> are seen", "nvcc"),
    ("torch: slow-down beside no profiler and torch.profiler", "torch_gpt"),
    ("torch: kernel sums agree with torch.profiler's within 1 %", "torch_gpt"),
    ("torch: CUDA graphs", "torch_graphs"),
    ("torch: several streams", "torch_streams"),
    ("torch: convolutions, cuDNN", "torch_resnet"),
    ("torch.profiler and sprof in one process", "kineto"),
    ("durations agree with Nsight Compute's", "ncu"),
    ("NCCL kernels, more than one GPU", None),
    ("MPS, MIG, confidential computing", None),
    ("names of kernels whose module was unloaded", None),
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
        self.args, self.fake, self.end = args, args.fake or not has_gpu(), time.time() + args.limit
        self.env = dict(os.environ)
        if self.fake:
            self.env.update(LD_LIBRARY_PATH=FAKES, SPROF_CUPTI=os.path.join(FAKES, "cuda12/libcupti.so.12"))
        os.makedirs(args.output, exist_ok=True)

    def path(self, name):
        return os.path.join(self.args.output, name)

    def run(self, command, timeout=120, env=None):
        """stdout of a command that must succeed."""
        left = self.end - time.time()
        if left < 5:
            raise Skip("no time left")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=min(timeout, left), env=env or self.env)
        except subprocess.TimeoutExpired:
            raise Wrong(f"did not end in time: {' '.join(command)}")
        if done.returncode == 77:
            raise Skip(done.stderr.strip().splitlines()[-1])
        expect(not done.returncode, f"{' '.join(command[:4])} ... ended with {done.returncode}: {done.stderr.strip()[-300:]}")
        self.stderr = done.stderr
        return done.stdout

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
        """What holds of every recording: the flame graph sums up to the table, idle and busy to the wall."""
        lost = sum(self.counter(report, "activities " + how) for how in ("discarded", "without a time", "dropped by CUPTI"))
        for device in report["devices"]:
            expect(device["busy_ns"] + device["idle_ns"] == device["wall_ns"], f"busy + idle is not the wall: {device}")
        expect(not lost, f"{lost} activities were lost")

    # ---- the checks: each returns what it measured, in words

    def host(self):
        about = {"kernel": os.uname().release, "cpus": os.cpu_count(), "sprof": self.run([SPROF, "--version"]).strip()}
        if shutil.which("nvidia-smi") and not self.fake:
            about["gpu"] = self.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).strip()
        done = subprocess.run([SPROF, "doctor"], capture_output=True, text=True, env=self.env)
        about["sources"] = " ".join(re.findall(r"^(\w+) +OK", done.stdout, re.M)) or "none"
        return ", ".join(f"{k}: {v}" for k, v in about.items())

    def launches(self):
        """ns of host time for each of 100 000 empty launches: without sprof, with the library asleep, collecting."""
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

    def memory(self):
        self.record("memory.data", [LOAD, "copy:20:4194304", "alloc:32:1048576"])
        copies, gpu = self.report("memcpy", "memory.data"), self.report("gpu", "memory.data")
        to = [r for r in copies["rows"] if "host to device" in r["name"] or "device to host" in r["name"]]
        expect(sum(r["bytes"] for r in to) == 40 * 4194304, f"bytes of copies: {[r['bytes'] for r in to]}")
        peak = max(d["peak_bytes"] for d in gpu["devices"])
        expect(peak >= 32 << 20, f"peak of allocations: {peak}")
        return f"40 copies, 168 MB; peak of driver allocations {peak / 1e6:.1f} MB"

    def graphs(self, n=500, nodes=50):
        out = self.record("graphs.data", [LOAD, f"graph:{n}:{nodes}"], timeout=400)
        report = self.report("gpu", "graphs.data")
        calls, inside = self.row(report, "^empty")["calls"], self.counter(report, "activities in graphs")
        self.sound(report)
        expect(calls == n * nodes, f"{calls} kernels of {n * nodes}")
        expect(inside == n * nodes, f"{inside} are known to be of a graph")
        return f"{calls} kernels in {n} launches, {re.search(r'ns_per_launch=(.*)', out)[1]} ns each launch"

    def exhaustion(self):
        return self.graphs(n=520000, nodes=50)

    def attach(self):
        """Into a program of eight threads, and out again, time after time."""
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

    def residue(self):
        """What a launch takes before a recorder comes, and after it has gone."""
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
        """A program that runs, with the library asleep in it."""
        return subprocess.Popen([LOAD, *work], stdout=subprocess.PIPE, text=True,
                                env={**self.env, "CUDA_INJECTION64_PATH": AGENT})

    def join(self, program, name):
        """Half a second of it; how many seconds that took beside."""
        begin = time.monotonic()
        self.run([SPROF, "record", "-q", "--gpu", "on", "-p", str(program.pid), "-d", "500ms", "-o", self.path(name)])
        return time.monotonic() - begin - 0.5

    def load(self):
        """Into programs that were started without the library; how long a thread of them stood still."""
        stops, yama = [], "/proc/sys/kernel/yama/ptrace_scope"
        if os.geteuid() and os.path.exists(yama) and int(open(yama).read()):
            raise Skip("ptrace(2) is not allowed: run it as root, or with kernel.yama.ptrace_scope=0")
        for _ in range(3 if self.fake else 10):
            program = subprocess.Popen([LOAD, "threads:4:60000"], stdout=subprocess.PIPE, text=True, env=self.env)
            try:
                time.sleep(2)
                self.run([SPROF, "record", "-v", "--gpu", "on", "-p", str(program.pid), "-d", "500ms", "-o", self.path("load.data")])
                stops.append(float(re.search(r"stood still for ([\d.]+) ms", self.stderr)[1]))
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
        expect("do_spin" in open(svg).read(), "the picture does not show who launched")
        return os.path.basename(svg)

    def nvcc(self):
        if self.fake or not shutil.which("nvcc"):
            raise Skip("the fake has no runtime" if self.fake else "no nvcc here")
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
            raise Skip("there is no GPU for torch")
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode:
            raise Skip("no torch for this python")

    def torch_work(self, work):
        """Steps alone, under sprof and under torch.profiler, in turns; and the kernels that both saw."""
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
        """torch.profiler inside a program that sprof records: the program has to go on, and who has CUPTI is said."""
        self.need_torch()
        run = self.torch("gpt", profiler="torch", name="kineto.data", steps=10)
        seen = self.row(self.report("gpu", "kineto.data"), ".")["calls"]
        theirs = sum(v[0] for v in (run["kernels"] or {}).values())
        expect(seen or theirs, "neither saw a kernel")
        return f"sprof saw {seen} activities, torch.profiler {theirs}; {self.stderr.strip()[-200:] or 'nothing was said'}"

    def ncu(self):
        if self.fake or not shutil.which("ncu"):
            raise Skip("there is no GPU for it" if self.fake else "no Nsight Compute here")
        out = self.run(["ncu", "--csv", "--metrics", "gpu__time_duration.sum", LOAD, "spin:5:1000000"], timeout=180)
        units = {"nsecond": 1, "ns": 1, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6}
        found = [float(v.replace(",", "")) * units[u] for u, v in re.findall(r'"gpu__time_duration.sum","(\w+)","([\d.,]+)"', out)]
        expect(len(found) == 5, f"ncu's output holds {len(found)} durations of 5")
        spin = self.row(self.report("gpu", "sums.data"), "^spin")
        near("average kernel, ns", spin["total_ns"] / spin["calls"], statistics.mean(found), 0.05)
        return f"average {spin['total_ns'] / spin['calls']:.0f} ns, Nsight Compute {statistics.mean(found):.0f} ns"


NAMES = ["host", "launches", "sums", "memory", "graphs", "attach", "load", "residue", "idle", "flame", "nvcc", "torch_gpt", "torch_resnet",
         "torch_graphs", "torch_streams", "kineto", "ncu"]
ALONE = ["exhaustion"] # minutes: when asked for


def has_gpu():
    ask = ("import ctypes; c = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); "
           "exit(c.cuInit(0) or c.cuDeviceGetCount(ctypes.byref(n)) or not n.value)")
    return not subprocess.run([sys.executable, "-c", ask], capture_output=True).returncode


def write(checks, results):
    shown = {name for name, status, _ in results if status == "ok"} if not checks.fake else set()
    with open(checks.path("results.json"), "w") as file:
        json.dump({"fake": checks.fake, "checks": [dict(zip(("name", "status", "text"), r)) for r in results]}, file, indent=1)
    with open(checks.path("results.md"), "w") as file:
        print("# sprof on " + ("a GPU that is not there: every figure is the fake's" if checks.fake else "a GPU"), file=file)
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
        print("no GPU here: what follows runs over the fake one, and its figures are not a GPU's")
    for name in wanted:
        try:
            result = ("ok", getattr(checks, name)())
        except Skip as why:
            result = ("skipped", str(why))
        except Exception as why: # whatever it is, the other checks have their turn
            result = ("FAILED", f"{why}" if isinstance(why, Wrong) else f"{type(why).__name__}: {why}")
        results.append((name, *result))
        print(f"{result[0]:8} {name}: {result[1]}", flush=True)
    write(checks, results)
    count = {s: sum(r[1] == s for r in results) for s in ("ok", "FAILED", "skipped")}
    print(f"{count['ok']} ok, {count['FAILED']} failed, {count['skipped']} skipped; {checks.path('results.md')}")
    return 1 if count["FAILED"] or not count["ok"] else 0


sys.exit(main())
