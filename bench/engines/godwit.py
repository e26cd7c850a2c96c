"""Godwit through its shell: one process, statements on standard input.

The shell prints a line to standard error after each statement (`.timer on`) once the rows are out. The driver's clock
runs from writing the statement until that line, like the clock around the calls of the other engines; the shell's own
figure, which is rounded to a millisecond, is only checked against it.
"""

import json
import re
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

from engines.base import Engine, Limits, Row


class Godwit(Engine):
    def __init__(self, limits: Limits, settings: tuple[str, ...] = ()) -> None:
        self.settings = settings
        self.program = limits.godwit
        # What the shell opens, if it isn't a database in memory.
        self.database: list[Path | str] = []
        self.options = ["--threads", str(limits.threads), "--temp-directory", str(limits.scratch)]
        if limits.memory_limit_bytes:
            self.options += ["--memory-limit", f"{limits.memory_limit_bytes}B"]
        self.output_path = limits.scratch / "godwit-output.jsonlines"

    def version(self) -> str:
        return subprocess.run([self.program, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    def attach(self, tables: dict[str, Path]) -> None:
        self.output = self.output_path.open("w+")
        self.shell = subprocess.Popen(
            [self.program, *self.database, *self.options, "--format", "jsonlines"],
            stdin=subprocess.PIPE,
            stdout=self.output,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._send(".progress off")
        self._send(".timer on")
        # Else what writes did is on standard error, too, where everything but the timer counts as an error.
        self._send(".changes off")
        for setting in self.settings:
            self._send(f"SET {setting};")
            self._await_timer()
        for name, file in tables.items():
            self._send(f"CREATE VIEW {name} AS SELECT * FROM '{file}';")
            self._await_timer()

    def run(self, sql: str) -> Any:
        self.output.seek(0)
        self.output.truncate()
        self._send(sql.rstrip().rstrip(";") + ";")
        return self._await_timer()

    def rows(self, result: Any) -> list[Row]:
        self.output.seek(0)
        return [tuple(json.loads(line, parse_float=Decimal).values()) for line in self.output]

    def close(self) -> None:
        self.shell.stdin.close()
        self.shell.wait()

    def _send(self, line: str) -> None:
        self.shell.stdin.write(line + "\n")
        self.shell.stdin.flush()

    def _await_timer(self) -> float:
        """Seconds that the shell says the statement took; an error if it said something else as well."""
        complaints = []
        for line in self.shell.stderr:
            time = re.match(r"Run Time: real (\S+)", line)
            if time and not complaints:
                return float(time[1])
            if not time:
                complaints.append(line)
        # The shell ends at the first error.
        raise RuntimeError("".join(complaints).strip() or f"the shell ended with {self.shell.wait()}")
