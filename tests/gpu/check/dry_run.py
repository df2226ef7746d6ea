"""What a call would do, and what of it can be tried without a GPU: that the archive is whole, that its programs start, and
that a libcuda loads sprof's library before it finds that there is no device."""
import os
import re
import shutil
import subprocess
import sys

from judges import Wrong
from runner import AGENT, FAKES, LOAD, ROOT, SPROF, Skip

NO_CUPTI = "not found (hint: SPROF_CUPTI=/path/to/libcupti.so, or a folder cupti with it beside check-gpu)"


def missing(r, why_no_gpu=""):
    """Yields what is missing for the checks."""
    if r.fake or why_no_gpu:
        yield f"a GPU ({why_no_gpu or 'the fake one is used'})"
    for program, what in (("nvcc", "nvcc"), ("ncu", "Nsight Compute (ncu)")):
        if not shutil.which(program):
            yield what
    if not r.has_torch():
        yield f"torch for {sys.executable}"


def programs(r):
    """The archive is whole, and sprof starts"""
    needed = [SPROF, AGENT, LOAD, os.path.join(ROOT, "tests/gpu/torch_load.py"), os.path.join(ROOT, "tests/gpu/cuda_user.cu")]
    lacking = [path for path in needed if not os.path.exists(path)]
    if lacking:
        raise Wrong(f"not there: {', '.join(lacking)}")
    return r.run([SPROF, "--version"]).strip()


def sampling(r):
    """CPU samples can be taken"""
    done = subprocess.run([SPROF, "doctor"], capture_output=True, text=True, env=r.env)
    sources = re.findall(r"^(\w+) +OK", done.stdout, re.M)
    if not {"ebpf", "perf", "timer"} & set(sources):
        raise Wrong("sprof doctor finds no source of samples: " + done.stdout.strip()[-300:])
    return " ".join(sources)


def rehearsal(r):
    """A recording over the fake GPU: the programs, the library, the recorder and the reports"""
    env = {**r.env, "LD_LIBRARY_PATH": FAKES, "SPROF_CUPTI": os.path.join(FAKES, "cuda12/libcupti.so.12")}
    r.run([SPROF, "record", "-q", "--gpu", "on", "-o", r.path("dry.data"), "--", LOAD, "spin:20:100000"], env=env)
    out = r.run([SPROF, "report", "--gpu", r.path("dry.data")])
    if not re.search(r" 20 .* spin$", out, re.M):
        raise Wrong("the kernels of the fake GPU are not in the recording: " + out[-300:])
    return "20 kernels of 20"


def driver(r):
    """The driver loads the library in cuInit"""
    command = [SPROF, "record", "-q", "--gpu", "on", "-o", r.path("driver.data"), "--", LOAD, "idle:1"]
    done = subprocess.run(command, capture_output=True, text=True, env=r.env, timeout=60)
    said = [line for line in done.stderr.splitlines() if line.startswith("sprof: gpu: ")]
    if done.returncode == 77:
        raise Skip((done.stderr.strip().splitlines() or ["?"])[0])
    if done.returncode and not said:
        raise Wrong(f"the library says nothing, and the program ends with {done.returncode}: {done.stderr.strip()[-300:]}")
    return said[0].removeprefix("sprof: gpu: ") if said else "it works"


def main(r, why_no_gpu, parts, asked_for):
    """Prints the plan. 0: all that can be tried works; 1: something does not; 77: it works, but a GPU was to be checked."""
    failed = 0
    print("a dry run: nothing is checked on a GPU" + ("" if asked_for else ", because there is none here"))
    for step in (programs, sampling, rehearsal, driver):
        try:
            status, text = "ok", step(r)
        except Skip as why:
            status, text = "missing", str(why)
        except (Wrong, OSError, subprocess.SubprocessError) as why:
            status, text = "FAILED", str(why)
        failed += status == "FAILED"
        print(f"{status:8} {step.__doc__}: {text}", flush=True)
    print(f"missing  {', '.join(missing(r, why_no_gpu)) or 'nothing'}")
    print(f"CUPTI    {r.env.get('SPROF_CUPTI') or NO_CUPTI}")
    for part, checks in parts.items():
        print(f"part {part} would do, until {r.end - r.begin:.0f} seconds are over:")
        for check, needs in checks:
            why = needs(r, check.__name__)
            print(f"  {check.__name__:14} {check.__doc__.splitlines()[0]}" + (f" (skipped: {why})" if why else ""))
    print(f"and would write results.md, results.json and gpu-check.tar.gz into {r.folder}")
    return 1 if failed else 0 if asked_for else 77
