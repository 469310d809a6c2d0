"""Runs a command as if the machine had no room: no_room.py files|threads ERRNO FIRST COUNT RESULT COMMAND...

Of the calls of `assay` that make a file, or a thread or process, COUNT fail with ERRNO, beginning with the one numbered FIRST;
seccomp(2) asks this process about each. How many there were is written to RESULT."""

import array
import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import sys

# openat, openat2, pipe2, socket, memfd_create, eventfd2, epoll_create1, inotify_init1, pidfd_open, perf_event_open, bpf; clone3,
# clone, fork, vfork.
SECCOMP = {"x86_64": 317, "aarch64": 277}
CALLS = {
    ("x86_64", "files"): (257, 437, 293, 41, 319, 290, 291, 294, 434, 298, 321),
    ("aarch64", "files"): (56, 437, 59, 198, 279, 19, 20, 26, 434, 241, 280),
    ("x86_64", "threads"): (435, 56, 57, 58),
    ("aarch64", "threads"): (435, 220),
}
SET_FILTER, NEW_LISTENER = 1, 8
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, NOTIFY = 0x7FFF0000, 0x7FC00000
RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1


def filtered(seccomp, calls):
    """The descriptor that is asked about these calls of this process and of all that it starts."""
    steps = [(LOAD, 0, 0, 0)]
    steps += [(EQUAL, len(calls) - at, 0, call) for at, call in enumerate(calls)]
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, NOTIFY)]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    text = ctypes.create_string_buffer(code)
    program = struct.pack("=HxxxxxxQ", len(steps), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    # PR_SET_NO_NEW_PRIVS, for other users than root.
    libc.prctl(38, 1, 0, 0, 0)
    listener = libc.syscall(seccomp, SET_FILTER, NEW_LISTENER, ctypes.create_string_buffer(program))
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    return listener


def name(thread):
    try:
        with open(f"/proc/{thread}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def answer(listener, errno, wanted, seen):
    """Answers one question; returns how many calls were seen."""
    request = bytearray(80)
    try:
        fcntl.ioctl(listener, RECEIVE, request)
    except OSError:
        return seen
    number, thread = struct.unpack_from("=QI", request)
    error, flags = 0, CONTINUE
    if name(thread) == "assay":
        if seen in wanted:
            error, flags = -errno, 0
        seen += 1
    try:
        fcntl.ioctl(listener, SEND, bytearray(struct.pack("=QqiI", number, 0, error, flags)))
    except OSError:
        pass
    return seen


def main(what, errno, first, count, result, *command):
    ours, childs = socket.socketpair()
    child = os.fork()
    if child == 0:
        machine = platform.machine()
        listener = filtered(SECCOMP[machine], CALLS[machine, what])
        childs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))])
        os.close(listener)
        os.execvp(command[0], command)
    childs.close()
    message = ours.recvmsg(1, socket.CMSG_SPACE(4))[1]
    if not message:
        sys.exit(99)
    listener = struct.unpack("i", message[0][2][:4])[0]
    wanted, seen, status = range(int(first), int(first) + int(count)), 0, None
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    while status is None:
        if any(event & select.POLLIN for _, event in poll.poll(50)):
            seen = answer(listener, int(errno), wanted, seen)
        ended, code = os.waitpid(child, os.WNOHANG)
        status = code if ended else None
    with open(result, "w", encoding="utf-8") as file:
        file.write(str(seen))
    signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    sys.exit(128 + signal if signal else os.WEXITSTATUS(status))


main(*sys.argv[1:])
