"""Resident sizes of processes, as Linux tells them."""

import os
import re
from pathlib import Path

SAMPLES_PER_SECOND = 50
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(pid: int) -> int:
    """Of one process; 0 if it has ended."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1:2]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(pages[0]) * PAGE_BYTES if pages else 0


def peak_resident_bytes(pid: int) -> int:
    """The largest size of one process since it runs its program; 0 if it has ended."""
    try:
        match = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(match[1]) * 1024 if match else 0


def tree(pid: int) -> list[int]:
    """A process and its descendants, as far as main threads started them."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        children = []
    return [pid, *(descendant for child in children for descendant in tree(int(child)))]


def machine_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES
