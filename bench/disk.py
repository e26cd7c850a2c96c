"""What processes read from the disk, and how fast the disk is."""

import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PIECE_BYTES = 4 << 20
RUNS = 3
# What the throughput is measured on; more takes longer and tells no more.
MEASURED_BYTES = 2 << 30


def disk_bytes(pid: int) -> int:
    """What a process has had the disk read for it so far, reads ahead included; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("read_bytes:"))


def drop_page_cache(files: list[Path]) -> None:
    """Has the system forget what it has of these files. It needs no rights, since nothing in them is unwritten."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def reading_seconds(file: Path, ranges: Iterable[tuple[int, int]], threads: int) -> float:
    """Seconds for reading parts of a file that isn't in the page cache, in large pieces: the best of some runs."""
    ranges = list(ranges)

    def read(part: tuple[int, int]) -> int:
        with file.open("rb", buffering=0) as opened:
            opened.seek(part[0])
            return len(opened.read(part[1]))

    seconds = []
    for _ in range(RUNS):
        drop_page_cache([file])
        start = time.perf_counter()
        with ThreadPoolExecutor(4 * threads) as pool:
            list(pool.map(read, ranges))
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def throughput(files: Iterable[Path], threads: int) -> float:
    """Bytes per second at which the largest of these files is read if it isn't in the page cache."""
    file = max(files, key=lambda file: file.stat().st_size)
    size = min(file.stat().st_size, MEASURED_BYTES)
    pieces = [(start, min(PIECE_BYTES, size - start)) for start in range(0, size, PIECE_BYTES)]
    return size / reading_seconds(file, pieces, threads)
