"""top_keys.py ROWS COLUMNS SECONDS COMMAND...: runs a program in a terminal of that size and types keys that move its
selection up and down. Prints the median and the longest time from a key to the first byte of the new screen, in ms, and
the CPU that the program and its children took meanwhile, in percent of one."""

import fcntl
import os
import pty
import random
import select
import struct
import sys
import termios
import time


def read_for(fd, seconds):
    """What comes within that time; returns early once nothing has come for 50 ms after something came."""
    got, end = b"", time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], min(left, 0.05) if got else left)[0]:
            return got
        try:
            got += os.read(fd, 65536)
        except OSError:  # the program has ended
            return got


def cpu_s(pid):
    """CPU time of a process, of children that have ended, and of those that live."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            children = f.read().split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(cpu_s, children))


def main():
    rows, columns, seconds = map(int, sys.argv[1:4])
    pid, fd = pty.fork()
    if not pid:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(sys.argv[4], sys.argv[4:])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    end = time.monotonic() + 30
    seen = b""
    while b"samples, " not in seen and time.monotonic() < end:
        seen += read_for(fd, 1)
    end = time.monotonic() + 8  # unwind rows and names of what runs
    while time.monotonic() < end:
        read_for(fd, 0.5)
    start, cpu, times, key = time.monotonic(), cpu_s(pid), [], b"j"
    while time.monotonic() < start + seconds:
        end = time.monotonic() + random.uniform(0.2, 1.2)
        while time.monotonic() < end:
            read_for(fd, end - time.monotonic())
        sent = time.monotonic()
        os.write(fd, key)
        if select.select([fd], [], [], 5)[0]:
            times.append((time.monotonic() - sent) * 1000)
        read_for(fd, 0.1)
        key = b"k" if key == b"j" else b"j"
    percent = (cpu_s(pid) - cpu) * 100 / (time.monotonic() - start)
    os.write(fd, b"\x03")
    read_for(fd, 2)
    os.close(fd)
    os.waitpid(pid, 0)
    times.sort()
    print(f"{times[len(times) // 2]:.2f} {times[-1]:.2f} {percent:.3f} {len(times)}")


if __name__ == "__main__":
    main()
