# SPDX-FileCopyrightText: the Lathe authors
# SPDX-License-Identifier: Apache-2.0
"""The processes below one process, read from /proc. Nothing outside that tree is ever signalled."""
import os
import signal
import time


def status(pid):
    """(parent, name, start time) or None. The name is the main thread's."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            text = file.read()
    except OSError:
        return None
    rest = text[text.rindex(")") + 2:].split()
    if rest[0] in ("Z", "X"):
        return None
    return int(rest[1]), text[text.index("(") + 1:text.rindex(")")], int(rest[19])


def below(root):
    """{pid: (parent, name, start time)} of every living descendant."""
    known = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and (row := status(int(name))):
            known[int(name)] = row
    found = {}
    grown = True
    while grown:
        grown = False
        for pid, row in known.items():
            if pid not in found and (row[0] == root or row[0] in found):
                found[pid] = row
                grown = True
    return found


def wait_for(root, wanted, seconds, what):
    """The first descendant that wanted(pid, row) holds for."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for pid, row in below(root).items():
            if wanted(pid, row):
                return pid, row
        time.sleep(0.01)
    raise TimeoutError(f"no {what} below {root} within {seconds} s")


def kill(root, pid):
    """SIGKILL, when the process is still one of root's."""
    if pid not in below(root):
        raise LookupError(f"{pid} is not below {root}")
    os.kill(pid, signal.SIGKILL)


def alive(pid, start):
    row = status(pid)
    return row is not None and row[2] == start


def outermost(root, pid, name):
    """The ancestor of pid that is nearest to root and bears the name."""
    tree = below(root)
    found = None
    while pid in tree:
        if tree[pid][1] == name:
            found = pid
        pid = tree[pid][0]
    return found
