"""Checks that queries stay within the memory limit, as the operating system counts.

    python bench/memory.py --scale 10 --memory-limit 2GB

Runs each TPC-H query in a process of its own. The peak is the resident size that the system reports when the process
has ended; samples at 50 Hz show the typical size, and how much of the peak is a short spike. Fails if a query fails or
needs more than the limit and 32 MiB.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from options import SHELL, parse_size
from suites.tpch import suite

SAMPLES_PER_SECOND = 50
# What a process may have beyond the limit: code, stacks, and what the allocator holds back.
SLACK_BYTES = 32 * 2**20
MIB = 2**20


@dataclass
class Run:
    """A process that has ended."""

    seconds: float
    peak_bytes: int
    sampled_bytes: list[int]
    error: str | None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=10, help="scale factor: gigabytes of raw data [10]")
    parser.add_argument("--data", type=Path, help="folder of the Parquet files [the folder of `godwit demo`]")
    parser.add_argument("--memory-limit", type=parse_size, default=parse_size("2GB"), help="[2GB]")
    parser.add_argument("--threads", type=int, default=2, help="[2]")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of the queries, such as Q1,Q18")
    parser.add_argument("--godwit", type=Path, default=SHELL, help="the shell to measure")
    arguments = parser.parse_args()

    tpch = suite(arguments.scale, arguments.data, arguments.godwit)
    folder = next(iter(tpch.tables.values())).parent
    allowed = arguments.memory_limit + SLACK_BYTES
    print(f"limit {arguments.memory_limit / MIB:.0f} MiB, with slack {allowed / MIB:.0f} MiB\n")
    print("query   seconds  peak MiB  median MiB")
    bad = []
    for name, sql in tpch.queries.items():
        if arguments.queries and name not in arguments.queries:
            continue
        command = [arguments.godwit, folder, "--threads", str(arguments.threads), "--format", "csv"]
        run = watch([*command, "--memory-limit", f"{arguments.memory_limit}B", "-c", sql])
        complaint = run.error or ("over the limit" if run.peak_bytes > allowed else "")
        median = statistics.median(run.sampled_bytes or [0]) / MIB
        print(f"{name:<6}{run.seconds:>9.2f}{run.peak_bytes / MIB:>10.0f}{median:>12.0f}  {complaint}", flush=True)
        if complaint:
            bad.append(name)
    print(f"\n{len(bad)} queries failed or were over the limit: {', '.join(bad)}" if bad else "\nall within the limit")
    return 1 if bad else 0


def watch(command: list[str | Path]) -> Run:
    """Runs a command to its end, and looks at its resident size meanwhile."""
    sampled = []
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            sampled.append(resident_bytes(process.pid))
            time.sleep(1 / SAMPLES_PER_SECOND)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode().strip()
    error = (text or f"exit status {process.returncode}") if process.returncode else None
    # Linux counts kilobytes. It remembers the size at the fork, too, which is this small program's.
    return Run(seconds, usage.ru_maxrss * 1024, sampled, error)


def resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1:2]
    return int(pages[0]) * os.sysconf("SC_PAGE_SIZE") if pages else 0


if __name__ == "__main__":
    sys.exit(main())
