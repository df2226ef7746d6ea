"""Runs programs, with sprof and without, and reads its recordings: as JSON, as collapsed stacks and as trace events."""
import json
import os
import signal
import subprocess
import sys
import time

from judges import expect

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
SPROF = os.environ.get("SPROF") or os.path.join(ROOT, "bin/sprof")
BUILD = os.environ.get("BUILD") or os.path.join(ROOT, "build")
LOAD = os.path.join(BUILD, "tests/targets/gpu_load")
AGENT = os.path.realpath(os.path.join(BUILD, "libsprof-gpu.so"))
FAKES = os.path.join(BUILD, "tests/gpu")


class Skip(Exception):
    pass


class Trace:
    """Trace events; `start` and `end` in ns, to which the file's times are exact."""

    def __init__(self, path):
        with open(path) as file:
            self.events = [e for e in json.load(file)["traceEvents"] if e["ph"] in "XC"]
        for e in self.events:
            e["start"] = round(e["ts"] * 1000)
            e["end"] = e["start"] + round(e.get("dur", 0) * 1000)

    def calls(self):
        """The calls by correlation id; of a recording of one process."""
        return {e["args"]["correlation"]: e for e in self.events if e.get("cat") == "cuda"}

    def work(self):
        """What the GPU ran, in order."""
        return sorted((e for e in self.events if e.get("cat") in ("kernel", "memcpy", "memset", "graph")),
                      key=lambda e: (e["start"], e["end"]))

    def memory(self):
        """Bytes allocated, point by point."""
        points = sorted((e for e in self.events if e["ph"] == "C" and "memory" in e["name"]), key=lambda e: e["start"])
        return [int(next(iter(e["args"].values()))) for e in points]


class Recording:
    def __init__(self, runner, name):
        self.runner, self.name = runner, name

    def report(self, table="gpu"):
        return json.loads(self.runner.run([SPROF, "report", f"--{table}", "--json", self.runner.path(self.name)]))

    def folded(self, column="gpu"):
        out = self.runner.run([SPROF, "fold", "--column", column, self.runner.path(self.name)])
        lines = (line.rsplit(" ", 1) for line in out.splitlines())
        return [(stack, int(float(ns))) for stack, ns in lines]

    def trace(self):
        path = self.runner.path(self.name.replace(".data", ".json"))
        self.runner.run([SPROF, "export", "-f", "chrome", "-o", path, self.runner.path(self.name)])
        return Trace(path)


class Runner:
    """`fake`: over the fake GPU. All that runs must end `limit` seconds from now."""

    def __init__(self, folder, limit, fake, cupti, rounds):
        self.folder, self.fake, self.rounds = folder, fake, rounds
        self.begin = time.time()
        self.end = self.begin + limit
        self.env = dict(os.environ)
        if fake:
            self.env.update(LD_LIBRARY_PATH=FAKES, SPROF_CUPTI=os.path.join(FAKES, "cuda12/libcupti.so.12"))
        elif cupti: # a program with a CUPTI of its own uses that one
            self.env["SPROF_CUPTI"] = cupti
        os.makedirs(folder, exist_ok=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, timeout=120, env=None):
        """Returns the stdout of a command that must succeed; one that ends with 77 says why it cannot."""
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
            expect(False, f"did not end in time: {' '.join(command)}")
        if done.returncode == 77:
            raise Skip((self.stderr.strip().splitlines() or ["it says no more"])[-1])
        expect(not done.returncode, f"{' '.join(command[:4])} ... ended with {done.returncode}: {self.stderr.strip()[-300:]}")
        return out

    def record(self, name, command, options=(), timeout=120):
        """Returns the program's output, and the recording."""
        out = self.run([SPROF, "record", "-q", "--gpu", "on", "-o", self.path(name), *options, "--", *command], timeout)
        return out, Recording(self, name)

    def start(self, *command, asleep=True):
        """Starts a program, in which the library sleeps unless it is to be loaded later."""
        with open(self.path("programs.log"), "a") as log:
            env = {**self.env, "CUDA_INJECTION64_PATH": AGENT} if asleep else self.env
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=env)

    def join(self, program, name, options=()):
        """Records the program for half a second; returns how many seconds more that took, and the recording."""
        begin = time.monotonic()
        self.run([SPROF, "record", "--gpu", "on", *options, "-p", str(program.pid), "-d", "500ms", "-o", self.path(name)])
        return time.monotonic() - begin - 0.5, Recording(self, name)

    def has_torch(self):
        return not subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode
