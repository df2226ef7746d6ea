#!/usr/bin/env python3
"""Checks sprof on a machine with a GPU and writes down what it measured. It takes at most two calls of nine minutes:

    check-gpu --part 1 -o FOLDER     programs of its own
    check-gpu --part 2 -o FOLDER     PyTorch, where it is installed

FOLDER (default: $OUT, else gpu-check) gets results.md, which holds the results of all calls with this folder, results.json,
and gpu-check.tar.gz with these, the recordings and the flame graphs. If a call cannot see the folder of an earlier one,
--with FOLDER or FILE takes the results from a copy of it.

Without a GPU, or with --dry-run, it says what it would do and tries what can be tried without a GPU. With --fake the programs
run over the fake GPU of the tests, and the results say that the figures are the fake's.

Exits with 0 if no check failed (a check that is skipped, with its reason, has not failed), 1 if one did, 2 after wrong usage,
and 77 if nothing was checked because there is no GPU. Needs only Python; uses torch, nvcc and Nsight Compute if they are
installed, and a libcupti: that of $SPROF_CUPTI, of a folder cupti beside this program, of CUDA's toolkit or of NVIDIA's wheels.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import shutil
import site
import subprocess
import sys
import tarfile

import attaching
import dry_run
import judges
import loads
import torch_checks
from runner import ROOT, SPROF, Runner, Skip

LIMIT_S = 520
MAX_ARCHIVED_BYTES = 8 << 20 # of one file

# What only a GPU can show, and the check that shows it; None: not checked here.
CLAIMS = [
    ("libcuda loads the library in cuInit, and the first launch is seen", "launches"),
    ("cost of a launch while sleeping, and while collecting, apart from CPU samples", "launches"),
    ("kernel times and counts are right", "sums"),
    ("GPU times and calls are on one clock: kernels begin after their calls and end before the wait for them", "timeline"),
    ("kernels of one stream do not overlap in CUPTI's records", "timeline"),
    ("a known sleep is idle time under its function", "pauses"),
    ("copies and driver allocations are right and complete", "memory"),
    ("allocations from pools (cuMemAllocAsync) of a real driver", "pools"),
    ("kernels of graphs, replayed 22 000 times, are found and counted exactly; what recording each of them costs", "graphs"),
    ("25 million graph kernels do not exhaust CUPTI's buffers (--only exhaustion)", "exhaustion"),
    ("a capture range holds its launches and no others", "capture"),
    ("two processes are told apart", "processes"),
    ("32 threads that launch lose nothing", "threads"),
    ("eight threads launch while collection begins and ends, ten times", "attach"),
    ("the second recording of a program has a timeline of its own", "second_attach"),
    ("attaching to a program that has made its graphs before", "attach_graphs"),
    ("the library is loaded into a running program that uses CUDA (real libcuda, libcupti and their threads)", "load"),
    ("detaching from an idle program ends in time", "idle"),
    ("detaching leaves no cost behind", "residue"),
    ("launches of the runtime's <<<>>> are seen", "nvcc"),
    ("samples inside kernels: that CUPTI samples at all beside its records, and what that costs", "stalls"),
    ("torch: slow-down of a step beside no profiler and torch.profiler", "torch_gpt"),
    ("torch: the same kernels as torch.profiler's, and their times within 1 %", "torch_gpt"),
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
    ("--gpu-processes with the ranks of a real job", None),
    ("gVisor, whose kernel has neither eBPF nor perf events", None),
]


def host(r):
    """The machine, and what it lacks"""
    about = {"kernel": os.uname().release, "cpus": os.cpu_count(), "sprof": r.run([SPROF, "--version"]).strip()}
    if shutil.which("nvidia-smi") and not r.fake:
        about["gpu"] = r.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).strip()
    done = subprocess.run([SPROF, "doctor"], capture_output=True, text=True, env=r.env)
    about["sources"] = " ".join(re.findall(r"^(\w+) +OK", done.stdout, re.M)) or "none"
    about["CUPTI"] = r.env.get("SPROF_CUPTI") or dry_run.NO_CUPTI
    about["not here"] = ", ".join(dry_run.missing(r)) or "nothing"
    return ", ".join(f"{k}: {v}" for k, v in about.items())


PARTS = {1: [(check, getattr(module, "needs")) for module in (loads, attaching) for check in module.CHECKS],
         2: [(check, torch_checks.needs) for check in torch_checks.CHECKS]}
PARTS[1].insert(0, (host, lambda r, name: ""))
ALONE = [(loads.exhaustion, loads.needs)] # takes minutes: only with --only


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
    """A CUPTI for programs that have none mapped, as the programs of these checks: the one beside this program, the toolkit's,
    or one of NVIDIA's wheels. It must not be of a later CUDA than the driver. None: there is none."""
    version, places = ctypes.c_int(), []
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except OSError:
        return None
    for folder in site.getsitepackages() + [site.getusersitepackages()]:
        places += glob.glob(os.path.join(folder, "nvidia/c*/lib/libcupti.so.1[0-9]*"))
    places += glob.glob(os.path.join(ROOT, "cupti/libcupti.so.1[0-9]*"))
    places = [p for p in places if int(re.search(r"so\.(\d+)", p)[1]) <= version.value // 1000]
    places.sort(key=lambda p: (not p.startswith(ROOT), -int(re.search(r"so\.(\d+)", p)[1])))
    toolkit = ["/usr/local/cuda/extras/CUPTI/lib64/libcupti.so", "/usr/local/cuda/lib64/libcupti.so"]
    own = [p for p in places if p.startswith(ROOT)]
    for place in own + toolkit + places[len(own):]:
        try:
            ctypes.CDLL(place)
            return place
        except OSError:
            pass
    return None


def run(r, check, needs):
    """Returns (status, text); whatever goes wrong, the other checks still run."""
    try:
        why = needs(r, check.__name__)
        if why:
            raise Skip(why)
        return "ok", check(r)
    except Skip as why:
        return "skipped", str(why)
    except judges.Wrong as why:
        return "FAILED", str(why)
    except Exception as why:
        return "FAILED", f"{type(why).__name__}: {why}"


def earlier(places, fake):
    """Results of other calls: {name: [status, text]}."""
    found = {}
    for place in places:
        path = os.path.join(place, "results.json") if os.path.isdir(place) else place
        if os.path.exists(path):
            with open(path) as file:
                held = json.load(file)
            if held["fake"] == fake:
                found.update({c["name"]: (c["status"], c["text"]) for c in held["checks"]})
    return found


def write(r, results):
    order = [check.__name__ for check, _ in PARTS[1] + PARTS[2] + ALONE]
    rows = sorted(results.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    shown = {name for name, (status, _) in rows if status == "ok"} if not r.fake else set()
    with open(r.path("results.json"), "w") as file:
        json.dump({"fake": r.fake, "checks": [dict(name=n, status=s, text=t) for n, (s, t) in rows]}, file, indent=1)
    with open(r.path("results.md"), "w") as file:
        print("# sprof on " + ("a fake GPU: every figure is the fake's" if r.fake else "a GPU"), file=file)
        print("\n| check | | what was seen |\n|---|---|---|", file=file)
        for name, (status, text) in rows:
            print(f"| {name} | {status} | {' '.join(text.split()).replace('|', '/')} |", file=file)
        print("\nNot verified on a GPU by these calls:\n", file=file)
        for claim, check in CLAIMS:
            if check not in shown:
                print(f"- {claim}" + ("" if check else " (no check here does)"), file=file)


def archive(r):
    """One file with all that a call has left, except what is very large."""
    path, left_out = r.path("gpu-check.tar.gz"), []
    with tarfile.open(path, "w:gz") as tar:
        for name in sorted(os.listdir(r.folder)):
            file = r.path(name)
            if not os.path.isfile(file) or file == path:
                continue
            if os.path.getsize(file) > MAX_ARCHIVED_BYTES:
                left_out.append(name)
            else:
                tar.add(file, arcname=f"gpu-check/{name}")
    return path + (f" (without {', '.join(left_out)}: too large)" if left_out else "")


def arguments():
    parser = argparse.ArgumentParser(prog="check-gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default=os.environ.get("OUT") or "gpu-check")
    parser.add_argument("--part", type=int, choices=sorted(PARTS), help="default: one after the other")
    parser.add_argument("--with", dest="others", action="append", default=[], help="results of another call")
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds for each part")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fake", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--only", help="these checks, with commas between them")
    parser.add_argument("--list", action="store_true")
    return parser, parser.parse_args()


def chosen(parser, args):
    """The checks of each part, as asked for."""
    parts = {p: checks for p, checks in PARTS.items() if args.part in (None, p)}
    if not args.only:
        return parts
    every = {check.__name__: (check, needs) for checks in (*PARTS.values(), ALONE) for check, needs in checks}
    unknown = [name for name in args.only.split(",") if name not in every]
    if unknown:
        parser.error(f"there is no check {', '.join(unknown)}")
    return {1: [every[name] for name in args.only.split(",")]}


def main():
    parser, args = arguments()
    if args.list:
        print(*(check.__name__ for check, _ in PARTS[1] + PARTS[2] + ALONE), sep="\n")
        return 0
    why = "" if args.fake else missing_gpu()
    cupti = None if args.fake else os.environ.get("SPROF_CUPTI") or find_cupti()
    parts = chosen(parser, args)
    if why or args.dry_run:
        r = Runner(args.output, args.limit, False, cupti, args.rounds)
        return dry_run.main(r, why, parts, args.dry_run)
    results, failed, ok = earlier([*args.others, args.output], args.fake), 0, 0
    if args.fake:
        print("no GPU is used (--fake was given): the checks run over a fake GPU, and their figures are the fake's")
    for checks in parts.values():
        r = Runner(args.output, args.limit, args.fake, cupti, args.rounds)
        for check, needs in checks:
            status, text = results[check.__name__] = run(r, check, needs)
            failed, ok = failed + (status == "FAILED"), ok + (status == "ok")
            print(f"{status:8} {check.__name__}: {text}", flush=True)
            write(r, results)
    nr = sum(len(checks) for checks in parts.values())
    print(f"{ok} ok, {failed} failed, {nr - ok - failed} skipped; {r.path('results.md')}, {archive(r)}")
    return 1 if failed or not ok else 0


if __name__ == "__main__":
    sys.exit(main())
