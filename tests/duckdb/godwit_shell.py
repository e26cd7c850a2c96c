"""Runs queries through the shell `godwit` and reads the rows back without losing a digit."""

import json
import subprocess
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]

# A query of these tests takes seconds; one that takes this long hangs.
TIMEOUT_SECONDS = 120

# What statements changed is said on standard error, where these tests look for errors.
QUIET = ".changes off"

MARK = "godwit_mark"


class GodwitError(Exception):
    """What the shell wrote to standard error."""


@dataclass
class Godwit:
    """The shell, a database and command line options."""

    program: Path
    database: Path | str = ":memory:"
    options: list[str] = field(default_factory=list)
    # Statements without rows that run before each query.
    setup: list[str] = field(default_factory=list)

    def query(self, sql: str) -> tuple[list[str], list[Row]]:
        """Names of the columns, and rows. Numbers with a fraction are `Decimal`s. Without rows there are no names."""
        return rows_of(self.lines(sql))

    def lines(self, sql: str) -> list[str]:
        """Rows as the shell writes them: a JSON object on each line."""
        return self.output(sql, "jsonlines").splitlines()

    def output(self, sql: str, output_format: str) -> str:
        command = [self.program, self.database, *self.options, "--format", output_format]
        # In one word, as a statement that begins with a comment looks like an option.
        command += [f"--command={statement}" for statement in [QUIET, *self.setup, sql]]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise GodwitError(f"no result after {TIMEOUT_SECONDS} s") from None
        if run.returncode != 0:
            raise GodwitError(run.stderr.strip() or f"exit status {run.returncode}")
        return run.stdout

    def answers(self, setup: list[str], queries: list[str], script: Path) -> list["list[Row] | GodwitError"]:
        """Rows of queries that one process runs after `setup`, up to the first that fails, whose error is the last."""
        # What stands between two queries' rows; no query has a column of this name.
        marked = [f"{sql};\nSELECT 1 AS {MARK}" for sql in queries]
        script.write_text(f"{QUIET}\n" + ";\n".join([*setup, f"SELECT 1 AS {MARK}", *marked]) + ";\n")
        command = [self.program, self.database, *self.options, "--format", "jsonlines", "--file", script]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
            output, error = run.stdout, run.returncode and GodwitError(run.stderr.strip() or f"exit status {run.returncode}")
        except subprocess.TimeoutExpired as expired:
            output, error = (expired.stdout or b"").decode(), GodwitError(f"no result after {TIMEOUT_SECONDS} s")
        parts = [[]]
        for line in output.splitlines():
            if line == f'{{"{MARK}":1}}':
                parts.append([])
            else:
                parts[-1].append(line)
        if len(parts) == 1:
            raise GodwitError(f"the tables can't be made: {error}")
        rows = [rows_of(lines)[1] for lines in parts[1:-1]]
        return [*rows, error] if error else rows


def rows_of(lines: list[str]) -> tuple[list[str], list[Row]]:
    """Names of the columns, and rows, of lines of JSON."""
    objects = [json.loads(line, parse_float=Decimal) for line in lines]
    names = list(objects[0]) if objects else []
    return names, [tuple(row.values()) for row in objects]
