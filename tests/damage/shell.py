"""Runs the shell `godwit` on a file that may be damaged, and judges what it does."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MEMORY_LIMIT_MIB = 128
# What the process may have beyond its limit: code, stacks, and what is freed late.
OVERSHOOT_MIB_MAX = 32
SECONDS_MAX = 10

# A message for a user, not a trace for a developer.
FORBIDDEN = re.compile(r"panick|internal error|RUST_BACKTRACE|unwrap|overflowed|assertion|memory allocation of")
KINDS = ("error: ", "corrupt data: ", "not supported: ", "resource error: ", "I/O error: ")


@dataclass
class Run:
    """What a process did."""

    status: int
    timed_out: bool
    seconds: float
    peak_bytes: int
    output: bytes
    errors: str

    @property
    def message(self) -> str | None:
        """The error, in one line; `None` if there is none."""
        return self.errors.splitlines()[0] if self.errors.strip() else None

    def complaint(self) -> str | None:
        """What is wrong with this way of ending, whatever the file is."""
        if self.timed_out:
            return f"hangs: nothing after {SECONDS_MAX} s"
        if self.status < 0 or self.status > 1:
            return f"crashes: status {self.status}, {self.errors.strip()[:300]}"
        if self.peak_bytes > (MEMORY_LIMIT_MIB + OVERSHOOT_MIB_MAX) << 20:
            return f"takes {self.peak_bytes >> 20} MiB, of {MEMORY_LIMIT_MIB}"
        if FORBIDDEN.search(self.errors):
            return f"shows its insides: {self.errors.strip()[:300]}"
        if self.status == 0:
            return f"succeeds with an error: {self.message}" if self.message else None
        return None


class Shell:
    """The program, and a process that starts it."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        runner = [sys.executable, "-I", str(Path(__file__).with_name("runner.py"))]
        self.runner = subprocess.Popen(runner, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def command(self, words: list[str]) -> list[str]:
        return [str(self.program), *words, "--memory-limit", f"{MEMORY_LIMIT_MIB}MiB", "--threads", "2"]

    def run(self, words: list[str]) -> Run:
        output, errors = self.folder / "output", self.folder / "errors"
        request = [SECONDS_MAX, str(output), str(errors), *self.command(words)]
        print(json.dumps(request), file=self.runner.stdin, flush=True)
        status, timed_out, seconds, peak_bytes = json.loads(self.runner.stdout.readline())
        return Run(status, timed_out, seconds, peak_bytes, output.read_bytes(), errors.read_text(errors="replace"))

    def ask(self, database: Path | str, statements: list[str], is_read_only: bool = False) -> Run:
        """One process that runs statements up to the first that fails."""
        options = ["--read-only"] * is_read_only
        # What changed is said on standard error, where nothing but errors is expected.
        commands = [f"--command={command}" for command in [".changes off", *statements]]
        return self.run([str(database), *options, "--format", "jsonlines", *commands])

    def close(self) -> None:
        self.runner.stdin.close()
        self.runner.wait()
