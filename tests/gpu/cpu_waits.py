#!/usr/bin/env python3
"""Runs a command that does something to a process, and prints last how long the two may have waited for a CPU.

    cpu_waits.py PID COMMAND...

The last line of stderr is "waited NUMBER": the ms that the command's first thread was ready to run and did not, and those
of the thread of PID that waited longest. Exits with the command's status.
"""
import glob
import os
import sys


def run_delay_ns(path):
    try:
        with open(path) as file:
            return int(file.read().split()[1])
    except (OSError, IndexError): # the thread has ended, or this kernel does not count
        return 0


def threads(pid):
    return {path: run_delay_ns(path) for path in glob.glob(f"/proc/{pid}/task/[0-9]*/schedstat")}


before = threads(sys.argv[1])
child = os.fork()
if not child:
    os.execvp(sys.argv[2], sys.argv[2:])
os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT) # what it waited can be read until it is reaped
own = run_delay_ns(f"/proc/{child}/schedstat")
longest = max([after - before.get(path, 0) for path, after in threads(sys.argv[1]).items()], default=0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("waited %.2f" % ((own + longest) / 1e6), file=sys.stderr)
sys.exit(status if status >= 0 else 128 - status)
