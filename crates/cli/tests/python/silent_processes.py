"""A user without rights, whose processes wait for a FUSE server of his own that never answers, each within a lock that readers of its
/proc/PID take. Started in namespaces of its own: silent_processes.py FILE, which it mounts over. Prints the numbers of the processes,
and lets them go when its input ends, or after a minute."""

import ctypes
import os
import select
import signal
import struct
import sys
import threading
import time

INIT, OPEN, GETATTR, READ, FLUSH, POLL = 26, 14, 3, 15, 25, 40
REGULAR, PAGE, READABLE, PRIVATE, ANONYMOUS = 0o100644, 4096, 1, 2, 32
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]


def readiness(path):
    """The lock of an epoll instance, which fdinfo takes."""
    file = os.open(path, os.O_RDWR)
    select.epoll().register(file, select.EPOLLIN)


def program(path):
    """The lock of exec(2), which `syscall`, `maps` and `environ` take: within it files are closed."""
    os.open(path, os.O_RDONLY)
    os.execv("/bin/true", ["true"])


def memory(path):
    """The lock of the address space, which `cmdline` takes: a page is waited for with it, a writer after that, and then all readers."""
    file = os.open(path, os.O_RDONLY)
    os.fstat(file)
    page = libc.mmap(None, PAGE, READABLE, PRIVATE, file, 0)
    threading.Thread(target=libc.memcpy, args=(bytes(8), ctypes.c_void_p(page), 1)).start()
    time.sleep(1)
    libc.mmap(None, PAGE, READABLE, PRIVATE | ANONYMOUS, -1, 0)


def start(work, device, path):
    number = os.fork()
    if number == 0:
        os.close(device)
        work(path)
        os._exit(1)
    return number


def answer(opcode, reads):
    """The answer to a request; None if there is none. The first read fails, after which the kernel keeps the lock for the second."""
    if opcode == INIT:
        return 0, struct.pack("6I", 7, 12, 0, 0, 0, PAGE)
    if opcode == OPEN:
        return 0, bytes(16)
    if opcode == GETATTR:
        times = [0] * 3 + [0] * 3
        return 0, struct.pack("=QII3Q3Q3I7I", 3600, 0, 0, 1, PAGE, 8, *times, REGULAR, 1, 0, 0, 0, PAGE, 0)
    if opcode == READ and reads == 1:
        return -5, b""
    return None


def main(path):
    signal.alarm(60)
    print("begun", flush=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=100000,user_id=0,group_id=0".encode()
    if libc.mount(b"assay-silent", path.encode(), b"fuse", 6, options) != 0:
        print(f"refused: {os.strerror(ctypes.get_errno())}", flush=True)
        return
    victims = [start(work, device, path) for work in (readiness, program, memory)]
    reads, waits = 0, set()
    while len(waits) < 3:
        request = os.read(device, 1 << 18)
        _, opcode, unique = struct.unpack("=IIQ", request[:16])
        reads += opcode == READ
        found = answer(opcode, reads)
        if found is None:
            waits.add(opcode)
            continue
        error, body = found
        os.write(device, struct.pack("=IiQ", 16 + len(body), error, unique) + body)
    assert waits == {READ, FLUSH, POLL}, waits
    # The writer comes a second after the first read.
    time.sleep(1.5)
    print(*victims, flush=True)
    sys.stdin.read()


main(sys.argv[1])
os._exit(0)
