"""Runs a command in a network namespace that has only loopback: isolated.py COMMAND ARGUMENT...

The servers of the suite listen on all interfaces. Here nobody else can reach them, and they can reach nobody
else. It needs a Linux that permits user namespaces, but no privileges and no other tools.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

# From <linux/sched.h>, <linux/sockios.h> and <linux/if.h>; Python has `os.unshare` only from 3.12 on.
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def enter_network() -> None:
    """Moves this process into a new network namespace. It stays the same user."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny")
    (own / "uid_map").write_text(f"{user} {user} 1")
    (own / "gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", IFF_UP))


if __name__ == "__main__":
    try:
        enter_network()
    except OSError as error:
        sys.exit(f"this machine does not permit user namespaces, which the conformance suite needs: {error}")
    os.execvp(sys.argv[1], sys.argv[1:])
