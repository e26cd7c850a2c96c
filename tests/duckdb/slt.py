"""Reads `.slt` files, the corpus of SQL tests, as far as ours use the format.

A record is a run of lines without an empty line between them:

    # why (any number of comments)
    skipif duckdb
    query IRT rowsort
    SELECT ...
    ----
    expected rows, values separated by blanks

or `statement ok`, `statement error PATTERN` and the SQL text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Record:
    """A statement or query of a file, with its lines as they stand there."""

    lines: list[str]
    # Where `lines` begin in the file, from 1.
    line: int
    skipped_by: set[str]
    only_by: set[str]
    # "statement" or "query".
    kind: str
    # What follows: "ok", "error ...", or types and sort mode.
    words: list[str]
    sql: str
    # Rows as the file has them; None if the file doesn't say yet.
    expected: list[str] | None

    @property
    def fails(self) -> bool:
        return self.words[:1] == ["error"]

    @property
    def sorted(self) -> bool:
        return "rowsort" in self.words

    def runs_in(self, engine: str) -> bool:
        return engine not in self.skipped_by and (not self.only_by or engine in self.only_by)


def blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines that aren't empty, with the number of the first."""
    lines: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            yield number - len(lines), lines
            lines = []


def record(line: int, lines: list[str]) -> Record | None:
    """The record of a block, or None if it only holds comments."""
    skipped_by, only_by = set(), set()
    for index, text in enumerate(lines):
        words = text.split()
        if words[0] == "skipif":
            skipped_by.add(words[1])
        elif words[0] == "onlyif":
            only_by.add(words[1])
        elif words[0] in ("statement", "query"):
            body = lines[index + 1 :]
            split = body.index("----") if "----" in body else len(body)
            expected = body[split + 1 :] if split < len(body) else None
            sql = "\n".join(body[:split])
            return Record(lines, line, skipped_by, only_by, words[0], words[1:], sql, expected)
        elif not text.startswith("#"):
            raise ValueError(f"line {line + index}: '{text}' is no record")
    return None


def records(file: Path) -> Iterator[Record | list[str]]:
    """The records of a file; comments between them as lines."""
    for line, lines in blocks(file.read_text()):
        yield record(line, lines) or lines
