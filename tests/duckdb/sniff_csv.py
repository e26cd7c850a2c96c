"""Random CSV files that are read without options, by Godwit and by DuckDB: names, types and rows of both.

    python sniff_csv.py GODWIT [--files 400] [--seed 1] [--keep FOLDER] [--show 20]

Each file has a delimiter, quotes, escapes, a header or none, line breaks, a last line with or without one, a byte order
mark, a preamble, comments, ragged records, empty lines, and columns of one kind each: numbers in several forms, dates and
timestamps in the usual orders, times, booleans, texts with delimiters, quotes and line breaks in them, nothing at all.

A file agrees if both engines have the same names, types and rows, or neither reads it. It is *read only by* one if the
other fails. Prints the share of agreement, and what differs of the first few files. Where Godwit's types differ by
intention (`KNOWN`), a file counts as agreeing.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

import duckdb

from godwit_shell import Godwit, GodwitError

# What DuckDB and Godwit call a type, where Godwit has no such type.
KNOWN = {"BIGNUM": "DOUBLE"}

Outcome = tuple[list[tuple[str, str]], list[str]] | str

WORDS = ["alpha", "beta", "Gamma", "delta east", "É", "naïve", "x", "Straße 5", "N/A", "it is", "50%", "$3", "a-b", "a@b.c", "-", "?"]


def moment(r: random.Random) -> datetime:
    return datetime(1990, 1, 1) + timedelta(seconds=r.randrange(1_200_000_000))


def dates(form: str) -> Callable[[random.Random], str]:
    return lambda r: moment(r).strftime(form)


def one_of(*values: str) -> Callable[[random.Random], str]:
    return lambda r: r.choice(values)


# What columns hold.
KINDS: dict[str, Callable[[random.Random], str]] = {
    "id": lambda r: str(r.randrange(1, 100_000)),
    "signed": lambda r: str(r.randrange(-500, 500)),
    "zip": lambda r: f"{r.randrange(100_000):05}",
    "huge": lambda r: str(r.randrange(10**19, 10**30)),
    "bignum": lambda r: str(r.randrange(10**40, 10**45)),
    "price": lambda r: f"{r.uniform(-1000, 1000):.2f}",
    "science": lambda r: f"{r.uniform(0, 1):.3e}",
    "comma": lambda r: f"{r.randrange(100)},{r.randrange(100)}",
    "money": lambda r: f"${r.randrange(1000)}.00",
    "percent": lambda r: f"{r.randrange(100)}%",
    "plus": lambda r: f"+{r.randrange(100)}",
    "iso": dates("%Y-%m-%d"),
    "german": dates("%d.%m.%Y"),
    "american": dates("%m/%d/%Y"),
    "british": dates("%d/%m/%Y"),
    "slashes": dates("%Y/%m/%d"),
    "dashes": dates("%d-%m-%Y"),
    "short": dates("%d-%m-%y"),
    "compact": dates("%Y%m%d"),
    "stamp": dates("%Y-%m-%d %H:%M:%S"),
    "stamp_t": dates("%Y-%m-%dT%H:%M:%S"),
    "stamp_fraction": lambda r: moment(r).strftime("%Y-%m-%d %H:%M:%S.") + str(r.randrange(1000)),
    "stamp_minute": dates("%Y-%m-%d %H:%M"),
    "stamp_german": dates("%d.%m.%Y %H:%M:%S"),
    "stamp_american": dates("%m/%d/%Y %I:%M:%S %p"),
    "zoned": lambda r: moment(r).strftime("%Y-%m-%d %H:%M:%S") + r.choice(["+00", "+02", "-05:30"]),
    "zulu": dates("%Y-%m-%dT%H:%M:%SZ"),
    "time": dates("%H:%M:%S"),
    "minute": dates("%H:%M"),
    "boolean": one_of("true", "false"),
    "Boolean": one_of("True", "False"),
    "letter": one_of("t", "f"),
    "yes": one_of("yes", "no"),
    "flag": one_of("0", "1"),
    "word": lambda r: r.choice(WORDS),
    "text": lambda r: " ".join(r.choices(WORDS, k=r.randrange(1, 6))),
    "special": lambda r: r.choice(["a,b", "x;y", "p|q", 'say "hi"', "two\nlines", "tab\there", "it's", "plain", "#tag", "back\\slash"]),
    "long": lambda r: "long " * r.randrange(1, 400),
    "null": lambda r: "",
    "year": lambda r: str(r.randrange(1990, 2030)),
    "url": lambda r: f"https://example.com/?q={r.randrange(100)}#x",
    "ip": lambda r: ".".join(str(r.randrange(256)) for _ in range(4)),
    "json": lambda r: f'{{"a": {r.randrange(9)}, "b": "x"}}',
    "padded": lambda r: f" {r.randrange(100)} ",
    "hex": lambda r: f"0x{r.randrange(65536):x}",
}

DATES = {"iso", "german", "american", "british", "slashes", "dashes", "short"}
STAMPS = {"stamp", "stamp_t", "stamp_fraction", "stamp_minute", "stamp_german", "stamp_american"}


@dataclass
class CsvFile:
    """How a random file is written."""

    rng: random.Random

    def __post_init__(self) -> None:
        r = self.rng
        self.delimiter = r.choice([",", ",", ",", ";", "|", "\t"])
        self.quote, self.escape = r.choice([('"', '"')] * 5 + [("'", "'"), ('"', "\\")])
        self.quotes_all = r.random() < 0.15
        self.newline = r.choice(["\n", "\n", "\n", "\r\n", "\r\n", "\r"])
        self.has_header = r.random() < 0.7
        self.ends = r.random() < 0.8
        columns = r.choice([1, 1, 2, 3, 3, 4, 5, 8, 60])
        # People write all dates of a file alike, and DuckDB reads no others.
        left_out = (DATES - {r.choice(sorted(DATES))}) | (STAMPS - {r.choice(sorted(STAMPS))})
        self.kinds = r.choices([kind for kind in KINDS if kind not in left_out], k=columns)
        self.nulls = r.choice([0, 0, 0.1, 0.5])
        # One or two records without a header may as well have one: engines guess differently.
        self.rows = r.choice([0, 1, 2, 5, 20, 100, 3000 if columns < 10 else 50] if self.has_header else [5, 20, 100])
        # At most one oddity of these.
        self.oddity = r.choice([None] * 12 + ["bom", "preamble", "comments", "ragged", "long", "blank", "blank before", "trailing", "spaces", "utf-16"])

    def field(self, text: str) -> str:
        special = [self.delimiter, self.quote, "\n", "\r", self.escape]
        if not self.quotes_all and not any(mark in text for mark in special):
            return text
        for mark in {self.escape, self.quote}:
            if mark != self.quote or self.escape == self.quote:
                text = text.replace(mark, self.escape + mark)
        if self.escape != self.quote:
            text = text.replace(self.quote, self.escape + self.quote)
        return f"{self.quote}{text}{self.quote}"

    def record(self, texts: list[str]) -> str:
        return self.delimiter.join(map(self.field, texts))

    def bytes(self) -> bytes:
        r = self.rng
        lines = []
        if self.has_header:
            spaces = " " if self.oddity == "spaces" else ""
            lines.append(self.record([spaces + (kind if r.random() < 0.9 else f"{kind} {at}") for at, kind in enumerate(self.kinds)]))
        for _ in range(self.rows):
            lines.append(self.record(["" if r.random() < self.nulls else KINDS[kind](r) for kind in self.kinds]))
        text = self.newline.join(self.with_oddity(lines)) + (self.newline if self.ends and lines else "")
        return text.encode("utf-16") if self.oddity == "utf-16" else text.encode("utf-8-sig" if self.oddity == "bom" else "utf-8")

    def with_oddity(self, lines: list[str]) -> list[str]:
        r, somewhere = self.rng, lambda: self.rng.randrange(len(lines) + 1)
        match self.oddity:
            case "preamble":
                return r.choices(["Report of sales", "Generated by a tool", "", "Version 3"], k=r.randrange(1, 4)) + lines
            case "comments":
                for _ in range(r.randrange(1, 4)):
                    lines.insert(somewhere(), "# a comment")
            case "ragged" if len(lines) > 1 and len(self.kinds) > 1:
                lines[-1] = lines[-1].rsplit(self.delimiter, 1)[0]
            case "long" if len(lines) > 1:
                lines[-1] += self.delimiter + "more"
            case "blank":
                for _ in range(r.randrange(1, 4)):
                    lines.insert(somewhere(), "")
            case "blank before":
                return [""] * r.randrange(1, 3) + lines
            case "trailing":
                return [line + self.delimiter for line in lines]
        return lines


def by_duckdb(connection: duckdb.DuckDBPyConnection, path: Path) -> Outcome:
    options = ", encoding='utf-16'" if path.name.startswith("utf16") else ""
    try:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE t AS SELECT * FROM read_csv('{path}'{options})")
        described = connection.execute("DESCRIBE t").fetchall()
        columns = [(name, KNOWN.get(kind, kind)) for name, kind, *_ in described]
        shown = [shown_column(name, kind) for name, kind in columns]
        rows = connection.execute(f"SELECT {', '.join(shown)} FROM t").fetchall()
    except duckdb.Error as error:
        return str(error).split("\n")[0]
    return columns, sorted(map(repr, rows))


def by_godwit(godwit: Godwit, path: Path) -> Outcome:
    source = f"read_csv('{path}')"
    try:
        columns = [(name, kind) for name, kind, *_ in godwit.query(f"DESCRIBE FROM {source}")[1]]
        shown = [f"{shown_column(name, kind)} AS c{at}" for at, (name, kind) in enumerate(columns)]
        rows = godwit.query(f"SELECT {', '.join(shown)} FROM {source}")[1]
    except GodwitError as error:
        return str(error).split("\n")[0]
    return columns, sorted(map(repr, rows))


def shown_column(name: str, kind: str) -> str:
    """A column as text that both engines write alike."""
    quoted = '"' + name.replace('"', '""') + '"'
    match kind:
        case "DOUBLE":
            # In these limits both engines write a DECIMAL alike.
            return f"CASE WHEN abs({quoted}) < 1e20 THEN CAST(CAST({quoted} AS DECIMAL(38,6)) AS VARCHAR) ELSE 'large' END"
        case "TIMESTAMP WITH TIME ZONE":
            return f"CAST(epoch({quoted}) AS VARCHAR)"
    return f"CAST({quoted} AS VARCHAR)"


def verdict(expected: Outcome, actual: Outcome) -> str:
    match expected, actual:
        case str(), str():
            return "agrees"
        case str(), _:
            return "read only by Godwit"
        case _, str():
            return "read only by DuckDB"
    if [name for name, _ in expected[0]] != [name for name, _ in actual[0]]:
        return "names differ"
    if expected[0] != actual[0]:
        return "types differ"
    return "agrees" if expected[1] == actual[1] else "rows differ"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path, help="the shell's program")
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1, help="of the first file; each file adds one [1]")
    parser.add_argument("--keep", type=Path, help="folder for the files that differ")
    parser.add_argument("--show", type=int, default=20, help="how many of these are shown [20]")
    parser.add_argument("--agreement", type=float, default=0.95, help="least share of files that agree [0.95]")
    arguments = parser.parse_args()

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="godwit-csv-") as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for seed in range(arguments.seed, arguments.seed + arguments.files):
            file = CsvFile(random.Random(seed))
            path = folder / f"{'utf16' if file.oddity == 'utf-16' else 'file'}-{seed}.csv"
            path.write_bytes(file.bytes())
            expected, actual = by_duckdb(connection, path), by_godwit(Godwit(arguments.godwit), path)
            outcome = verdict(expected, actual)
            outcomes[outcome] += 1
            if outcome != "agrees" and outcomes.total() - outcomes["agrees"] <= arguments.show:
                print(f"seed {seed} ({file.oddity}, {file.kinds[:6]}, {file.delimiter!r} {file.quote}{file.escape}): {outcome}")
                print(f"  DuckDB: {shortened(expected, actual)}\n  Godwit: {shortened(actual, expected)}", flush=True)
            if outcome == "agrees":
                path.unlink()
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items())))
    share = outcomes["agrees"] / outcomes.total()
    print(f"{share:.1%} of {outcomes.total()} files agree")
    return 0 if share >= arguments.agreement else 1


def shortened(outcome: Outcome, other: Outcome) -> str:
    """An error, or columns that the other engine has otherwise, and rows that it hasn't."""
    if isinstance(outcome, str):
        return outcome[:200]
    columns, rows = other if not isinstance(other, str) else ([], [])
    differing = [column for at, column in enumerate(outcome[0]) if columns[at : at + 1] != [column]]
    return f"{differing[:6]}, {len(outcome[1])} rows, {str([row for row in outcome[1] if row not in rows][:1])[:200]}"


if __name__ == "__main__":
    sys.exit(main())
