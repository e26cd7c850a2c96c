"""Damaged Parquet, CSV and JSON files, databases and logs: a right answer or a clear error, within the memory limit, in time.

    python damaged_files.py GODWIT [--files 150] [--seed 1] [--kind parquet|text|database|log] [--keep FOLDER]

Sound files are made first, of all kinds that a writer may choose, and have to be read right, or refused with an error that
says what isn't supported. Then each file is a copy with seeded damage (`damage.py`), for one process of the shell, with a
memory limit and a time limit, that is asked for all rows, aggregates and a filter in a random order. Failures are crashes,
panics, hangs, a peak beyond the limit, and messages that are none.

Pages of a Parquet file need no checksum, and text has none, so damaged values are values. Databases and gzip have checksums:
what is printed has to be what the sound file prints, up to an error. A log loses no acknowledged commit without an error.

A failure prints its seed: `--seed S --files 1 --kind KIND --keep FOLDER` runs it again and leaves its file.
"""

import argparse
import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

import pyarrow as pa
import pyarrow.parquet as pq

import databases
import parquet_files
import text_files
from damage import Target, damaged
from databases import Database
from shell import Run, Shell

KINDS = ["parquet", "text", "database", "log"]
# Each with other contents and another history.
DATABASES = 8


@dataclass
class Extreme:
    """The largest of some numbers, and what it is of."""

    value: float = 0
    what: str = ""

    def add(self, value: float, what: str) -> None:
        if value > self.value:
            self.value, self.what = value, what


@dataclass
class Outcomes:
    """What came of files of a kind."""

    counts: Counter[str] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    slowest: Extreme = field(default_factory=Extreme)
    largest: Extreme = field(default_factory=Extreme)

    def add(self, what: str, run: Run, complaint: str | None) -> None:
        self.slowest.add(run.seconds, what)
        self.largest.add(run.peak_bytes, what)
        self.counts["failed" if complaint else "right" if run.status == 0 else "errors"] += 1
        if complaint:
            self.failures.append(f"{what}: {complaint}")
            print(self.failures[-1], flush=True)
        if run.message:
            # One kind of message, whatever the file and its numbers.
            self.messages[re.sub(r"\S*/|\d+| \(line.*", "", run.message)] += 1

    def show(self) -> None:
        for message, count in self.messages.most_common():
            print(f"{count:6} {message}")
        print(f"slowest: {self.slowest.what}\nlargest: {self.largest.what}")

    def __str__(self) -> str:
        counts = ", ".join(f"{self.counts[name]} {name}" for name in ("right", "errors", "failed"))
        return f"{counts}, {self.slowest.value:.1f} s, {int(self.largest.value) >> 20} MiB"


@dataclass
class SoundFile:
    """A file that queries name."""

    name: str
    target: Target
    # With `{path}` for the file.
    queries: list[str]
    # What the shell prints for each of them, if a checksum tells other bytes from these.
    rows: dict[str, bytes] | None = None


class Tester:
    """Damages and runs files, one at a time."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.shell = Shell(program, folder)

    def test(self, kind: str, seed: int, sound: list[SoundFile] | list[Database]) -> tuple[str, Run, str | None]:
        """What was done, what came of it, and what is wrong with that."""
        rng = random.Random(seed)
        whole, other = rng.choice(sound), rng.choice(sound)
        match whole:
            case SoundFile():
                remark, run, complaint = self.file(rng, whole, other)
            case Database():
                remark, run, complaint = self.database(rng, kind, whole, other)
        return f"{kind} seed {seed}: {remark}", run, complaint

    def file(self, rng: random.Random, whole: SoundFile, other: SoundFile) -> tuple[str, Run, str | None]:
        content, remark = damaged(rng, whole.target, other.target.content)
        path = self.shell.folder / f"damaged-{whole.name}"
        path.write_bytes(content)
        queries = rng.sample(whole.queries, len(whole.queries))
        run = self.shell.ask(":memory:", [sql.format(path=path) for sql in queries])
        complaint = run.complaint() or unclear(run, path)
        if complaint is None and whole.rows is not None:
            complaint = other_rows(run, [whole.rows[sql] for sql in queries])
        if complaint is None:
            path.unlink()
        return f"{whole.name}, {remark}", run, complaint

    def database(self, rng: random.Random, kind: str, whole: Database, other: Database) -> tuple[str, Run, str | None]:
        file, log = whole.file, whole.log
        if kind == "log":
            log, remark = damaged(rng, whole.in_log, other.log)
        else:
            file, remark = damaged(rng, whole.in_file, other.file)
        path = databases.place(self.shell.folder, "damaged", file, log)
        queries = rng.sample(whole.queries, len(whole.queries))
        is_read_only = rng.random() < 0.5
        run = self.shell.ask(path, queries, is_read_only)
        complaint = run.complaint() or unclear(run, path) or other_rows(run, [whole.rows[sql] for sql in queries])
        # That run may have changed the file.
        databases.place(self.shell.folder, "damaged", file, log)
        if complaint is None and (complaint := self.shell.run(["check", str(path)]).complaint()):
            complaint = f"check {complaint}"
        return f"{remark}{', read-only' * is_read_only}", run, complaint


def unclear(run: Run, path: Path) -> str | None:
    """What a message about a damaged file doesn't say."""
    if run.status == 0:
        return None
    if run.message is None:
        return f"fails without a word: status {run.status}"
    # A damaged schema may have other names and types, and is no damage to see.
    is_about_query = path.suffix != ".godwit" and run.message.startswith("error: ") and "(line " in run.message
    is_clear = path.name in run.message or "out of memory" in run.message or is_about_query
    return None if is_clear else f"doesn't name the file: {run.message}"


def other_rows(run: Run, rows: list[bytes]) -> str | None:
    """Whether something else was printed than the rows, up to an error."""
    expected = b"".join(rows)
    if expected.startswith(run.output) and (run.status or expected == run.output):
        return None
    return f"other rows, {f'before: {run.message}' if run.message else 'and no error'}"


def parquet_queries(kind: parquet_files.Kind) -> list[str]:
    flat = [name for name, ty in kind.columns.items() if not pa.types.is_nested(ty)]
    extremes = "".join(f", count({name}), min({name}), max({name})" for name in flat)
    return file_queries(extremes, next(iter(kind.columns)))


def file_queries(extremes: str, column: str) -> list[str]:
    return [
        "SELECT * FROM '{path}'",
        f"SELECT count(*), sum(id){extremes} FROM '{{path}}'",
        "SELECT count(*) FROM '{path}'",
        f"SELECT {column} FROM '{{path}}' WHERE id >= 100 AND id < 350 ORDER BY id, {column}",
        f"SELECT {column}, count(*) FROM '{{path}}' GROUP BY {column} ORDER BY count(*) DESC, {column} LIMIT 5",
    ]


def sound_parquet(shell: Shell, outcomes: Outcomes) -> Iterator[SoundFile]:
    """Sound files of all kinds, that Godwit reads as pyarrow wrote them."""
    for kind in parquet_files.kinds():
        path, copy = shell.folder / f"{kind.name}.parquet", shell.folder / "copy.parquet"
        table = parquet_files.write(kind, path)
        run = shell.ask(":memory:", [f"COPY (SELECT * FROM '{path}' ORDER BY id) TO '{copy}'"])
        outcomes.add(f"sound {kind.name}", run, run.complaint() or misread(run, table, copy))
        yield SoundFile(path.name, parquet_files.target(path.read_bytes()), parquet_queries(kind))


def sound_text(shell: Shell) -> Iterator[SoundFile]:
    """Sound files of text; compressed ones have checksums."""
    queries = file_queries(", min(name), max(price)", "name")
    for name, content in text_files.contents():
        path = shell.folder / name
        path.write_bytes(content)
        runs = {sql: shell.ask(":memory:", [sql.format(path=path)]) for sql in queries}
        for run in runs.values():
            if run.status:
                raise RuntimeError(f"{name}: {run.errors}")
        rows = {sql: run.output for sql, run in runs.items()} if name.endswith(".gz") else None
        yield SoundFile(name, Target(content, text_files.regions(content)), queries, rows)


def misread(run: Run, table: pa.Table, copy: Path) -> str | None:
    if run.status:
        return None if run.errors.startswith("not supported: ") else f"can't be read: {run.message}"
    read = pq.read_table(copy)
    wrong = [name for name in table.column_names if not read[name].cast(table[name].type).equals(table[name])]
    return f"other values of {', '.join(wrong)}" if wrong else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path, help="the shell's program")
    parser.add_argument("--files", type=int, default=150, help="damaged files of each kind [150]")
    parser.add_argument("--seed", type=int, default=1, help="of the first file; each file adds one [1]")
    parser.add_argument("--kind", choices=KINDS, action="append", help="one kind only; may be repeated")
    parser.add_argument("--keep", type=Path, help="folder for the sound files and the last damaged ones")
    parser.add_argument("--messages", action="store_true", help="show which errors there were, how often, and the slowest and largest run")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="godwit-damage-") as temporary:
        outcomes = run_all(arguments, arguments.keep or Path(temporary))
    print(", ".join(f"{kind}: {outcome}" for kind, outcome in outcomes.items()))
    return 1 if any(outcome.failures for outcome in outcomes.values()) else 0


def run_all(arguments: argparse.Namespace, folder: Path) -> dict[str, Outcomes]:
    kinds = arguments.kind or KINDS
    shell = Shell(arguments.godwit, folder)
    outcomes = {}
    sound = {}
    if "parquet" in kinds:
        outcomes["sound Parquet"] = Outcomes()
        sound["parquet"] = list(sound_parquet(shell, outcomes["sound Parquet"]))
    if "text" in kinds:
        sound["text"] = list(sound_text(shell))
    if "database" in kinds or "log" in kinds:
        sound["database"] = sound["log"] = [databases.make(seed, shell) for seed in range(DATABASES)]
    shell.close()
    for kind in kinds:
        outcomes[kind] = run_kind(arguments, kind, sound[kind], folder)
    return outcomes


def run_kind(arguments: argparse.Namespace, kind: str, sound: list[SoundFile] | list[Database], folder: Path) -> Outcomes:
    outcomes = Outcomes()
    workers = os.cpu_count() or 1
    testers = [Tester(arguments.godwit, folder / f"worker{worker}") for worker in range(workers)]
    idle: SimpleQueue[Tester] = SimpleQueue()
    for tester in testers:
        idle.put(tester)

    def test(seed: int) -> tuple[str, Run, str | None]:
        tester = idle.get()
        try:
            return tester.test(kind, seed, sound)
        finally:
            idle.put(tester)

    with ThreadPoolExecutor(workers) as pool:
        for outcome in pool.map(test, range(arguments.seed, arguments.seed + arguments.files)):
            outcomes.add(*outcome)
    for tester in testers:
        tester.shell.close()
    if arguments.messages:
        outcomes.show()
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
