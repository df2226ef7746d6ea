#!/usr/bin/env python3
"""Does to a recorder what a hostile process could do. Each line of output says what came of it.

guest.py shrink         comes to the recorder that started us, and takes away the shared memory
guest.py knock SECONDS  connects to every socket of recorders again and again, and says nothing
guest.py gpu            offers itself to every recorder as a source of GPU data
guest.py region         offers GPU data to the recorder that started us in memory that can shrink
"""
import array
import fcntl
import os
import socket
import struct
import sys
import time

F_GET_SEALS = 1034


def sockets(prefix):
    with open("/proc/net/unix") as file:
        names = {line.split()[-1] for line in file if line.split()[-1].startswith("@" + prefix)}
    return ["\0" + name[1:] for name in names]


def connect(name, blocking=True):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(blocking)
    s.connect(name)
    return s


def shrink():
    name = os.environ["SPROF_AGENT"].split(":")[0]
    _, control, _, _ = connect("\0sprof-" + name).recvmsg(64, 256, socket.MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    fds.frombytes(control[0][2])
    time.sleep(0.3)
    for fd in fds:
        try:
            os.ftruncate(fd, 0)
            print("taken away")
        except OSError as e:
            print("refused:", e.strerror)
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass


def knock(seconds):
    end, kept, count = time.monotonic() + seconds, [], 0
    while time.monotonic() < end:
        names = sockets("sprof-")
        for name in names:
            try:
                kept.append(connect(name, blocking=False))
                count += 1
            except OSError:
                pass
        if not names or len(kept) > 500:
            del kept[:250]
        time.sleep(0 if names else 0.01)
    print("connections:", count)


def hello(name, seals):
    """The first message of libsprof-gpu.so (gpu/agent/base/region.h), with memory of ours."""
    fd = os.memfd_create("region", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, 1 << 20)
    if seals:
        fcntl.fcntl(fd, 1033, 2)  # F_ADD_SEALS, F_SEAL_SHRINK
    s = connect(name)
    s.settimeout(3)
    message = struct.pack("<QIIQiI", 0x0055504746525053, 8, os.getpid(), 1 << 20, fd, 0)
    try:
        s.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
        print("answer:", s.recv(64))
    except TimeoutError:
        print("no answer")
    except OSError as e:
        print("refused:", e.strerror)


def main():
    if sys.argv[1] == "shrink":
        shrink()
    elif sys.argv[1] == "knock":
        knock(float(sys.argv[2]))
    elif sys.argv[1] == "region":
        hello("\0" + os.environ["SPROF_GPU_SOCKET"][1:], False)
    else:
        for name in sockets("sprof-gpu-"):
            hello(name, True)


main()
