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


class GodwitError(Exception):
    """What the shell wrote to standard error."""


@dataclass
class Godwit:
    """The shell, a database and command line options."""

    program: Path
    database: Path | str = ":memory:"
    options: list[str] = field(default_factory=list)

    def query(self, sql: str) -> tuple[list[str], list[Row]]:
        """Names of the columns, and rows. Numbers with a fraction are `Decimal`s. Without rows there are no names."""
        command = [self.program, self.database, *self.options, "--format", "jsonlines", "-c", sql]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            raise GodwitError(f"no result after {TIMEOUT_SECONDS} s") from None
        if run.returncode != 0:
            raise GodwitError(run.stderr.strip() or f"exit status {run.returncode}")
        objects = [json.loads(line, parse_float=Decimal) for line in run.stdout.splitlines()]
        names = list(objects[0]) if objects else []
        return names, [tuple(row.values()) for row in objects]
