"""Checks that queries stay within the memory limit, as the operating system counts.

    python bench/memory.py tpch --scale 10 --memory-limit 2GB
    python bench/memory.py heavy --cgroup /sys/fs/cgroup/memory/small

Runs each query of a suite in a process of its own. The peak is the largest resident size that the system remembers
for the process; samples at 50 Hz show the typical size, and how much of the peak is a short spike. Fails if a query
fails or needs more than the limit and 32 MiB. In a control group, which must exist and have a limit, processes find
their memory limit themselves, and the kernel kills those that exceed the group's.
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

from options import SMALLEST_MEMORY_LIMIT, add_common, parse_size
from resident import SAMPLES_PER_SECOND, peak_resident_bytes, resident_bytes
from suites import SUITES, Options

# What a process may have beyond the limit: code, stacks, and what the allocator holds back.
SLACK_BYTES = 32 * 2**20
MIB = 2**20
# What is kept of an answer: this program's size is part of what the system remembers for the next process.
ANSWER_BYTES_MAX = 2**20


@dataclass
class Run:
    """A process that has ended."""

    seconds: float
    peak_bytes: int
    sampled_bytes: list[int]
    output: str
    error: str | None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES, nargs="?", default="tpch")
    add_common(parser)
    parser.add_argument("--memory-limit", type=parse_size, help="[the suite's, or 2GB]")
    parser.add_argument("--cgroup", type=Path, help="folder of a control group for the processes, instead of a limit")
    parser.add_argument("--queries", type=lambda text: text.split(","), help="some of the queries, such as Q1,Q18, or 51 of heavy")
    arguments = parser.parse_args()

    suite = SUITES[arguments.suite](Options(arguments.scale, arguments.data, arguments.godwit, arguments.smoke))
    suite = suite.only(arguments.queries)
    if arguments.cgroup:
        # The shell finds its limit itself; the slack is a part of the group's.
        limit = allowed = limit_of(arguments.cgroup)
        limit_words = []
    else:
        default = parse_size(SMALLEST_MEMORY_LIMIT) if arguments.smoke else suite.memory_limit_bytes or parse_size("2GB")
        limit = arguments.memory_limit or default
        allowed = limit + SLACK_BYTES
        limit_words = ["--memory-limit", f"{limit}B"]
    views = [f"CREATE VIEW {name} AS SELECT * FROM '{file}'" for name, file in suite.tables.items()]
    command = [arguments.godwit, "--threads", str(arguments.threads), "--format", "csv", *limit_words]
    command += [word for view in views for word in ("-c", view)]
    print(f"{suite.name}: limit {limit / MIB:.0f} MiB, peaks up to {allowed / MIB:.0f} MiB\n")
    print(f"{'query':<18} seconds  peak MiB  median MiB")
    bad = []
    for name, sql in suite.queries.items():
        run = watch([*command, "-c", sql], arguments.timeout, cgroup=arguments.cgroup)
        complaint = run.error or ("over the limit" if run.peak_bytes > allowed else "")
        median = statistics.median(run.sampled_bytes or [0]) / MIB
        print(f"{name:<18}{run.seconds:>8.2f}{run.peak_bytes / MIB:>10.0f}{median:>12.0f}  {complaint}", flush=True)
        if complaint:
            bad.append(name)
    print(f"\n{len(bad)} queries failed or were over the limit: {', '.join(bad)}" if bad else "\nall within the limit")
    return 1 if bad else 0


def limit_of(cgroup: Path) -> int:
    """The limit of a control group, of either version."""
    files = [cgroup / name for name in ("memory.max", "memory.limit_in_bytes")]
    text = next((file.read_text().strip() for file in files if file.exists()), "max")
    if text == "max":
        raise SystemExit(f"{cgroup} has no memory limit")
    return int(text)


def watch(command: list[str | Path], timeout_seconds: float, standard_input: str = "", cgroup: Path | None = None) -> Run:
    """Runs a command to its end, in a control group if one is given, and looks at its resident size meanwhile."""
    enter = (lambda: (cgroup / "cgroup.procs").write_text(str(os.getpid()))) if cgroup else None
    sampled, peak_bytes = [], 0
    own_bytes = peak_resident_bytes(os.getpid())
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
        stdin.write(standard_input.encode())
        stdin.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(command, stdin=stdin, stdout=output, stderr=errors, preexec_fn=enter)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            sampled.append(resident_bytes(process.pid))
            peak_bytes = max(peak_bytes, peak_resident_bytes(process.pid))
            if time.perf_counter() - started > timeout_seconds:
                process.kill()
            time.sleep(1 / SAMPLES_PER_SECOND)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        output.seek(0)
        text, answer = errors.read().decode().strip(), output.read(ANSWER_BYTES_MAX).decode(errors="replace")
    error = (text or f"exit status {process.returncode}") if process.returncode else None
    # In kilobytes. It remembers the size at the fork, too, which was this program's: below that, only samples tell.
    if usage.ru_maxrss * 1024 > own_bytes:
        peak_bytes = usage.ru_maxrss * 1024
    return Run(seconds, peak_bytes, sampled, answer, error)


if __name__ == "__main__":
    sys.exit(main())
