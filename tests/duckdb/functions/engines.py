"""What Godwit, DuckDB and PostgreSQL give for calls, and when two of their answers are the same."""

import math
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import duckdb
from godwit_shell import Godwit, GodwitError
from verify_corpus import SETTINGS

WORKERS = 2
# Queries that one process of Godwit gets at most; it ends with the first that fails.
BATCH = 100
DUCKDB_SECONDS_MAX = 5
# Digits of floating-point numbers in which engines with other libraries agree.
TOLERANCE = 1e-12
ZERO_TOLERANCE = 1e-15


@dataclass(frozen=True)
class Answer:
    """The text of a value and its type, or why there is none."""

    text: str | None = None
    type: str = ""
    error: str | None = None

    def __str__(self) -> str:
        if self.error is not None:
            return f"error: {self.error.splitlines()[0][:160]}"
        return f"{'NULL' if self.text is None else self.text} ({self.type})"


class GodwitEngine:
    """The shell, over a database in memory."""

    def __init__(self, program: Path) -> None:
        self.godwit = Godwit(program, ":memory:", ["--threads", "1"])

    def answers(self, calls: list[str]) -> list[Answer]:
        """What calls give with constants."""
        queries = [f"SELECT CAST({call} AS VARCHAR) AS v, typeof({call}) AS t" for call in calls]
        batches = [queries[at : at + BATCH] for at in range(0, len(queries), BATCH)]
        with ThreadPoolExecutor(WORKERS) as pool:
            rows = [row for batch in pool.map(lambda batch: self.rows([], batch), batches) for row in batch]
        return [Answer(error=re.sub(r"^\S+: error: ", "", str(row))) if isinstance(row, GodwitError) else Answer(*row[0]) for row in rows]

    def rows(self, setup: list[str], queries: list[str]) -> list[list[tuple] | GodwitError]:
        """Rows of queries after `setup`, in as few processes as errors allow."""
        rows: list[list[tuple] | GodwitError] = []
        with tempfile.NamedTemporaryFile(suffix=".sql", prefix="godwit-functions-") as script:
            while len(rows) < len(queries):
                rows += self.godwit.answers(setup, queries[len(rows) :], Path(script.name))
        return rows


class DuckDBEngine:
    """DuckDB in this process, with PostgreSQL's ways where it has them."""

    name = "DuckDB"

    def __init__(self) -> None:
        self.connect()
        listed = self.connection.execute("SELECT DISTINCT function_name FROM duckdb_functions()").fetchall()
        self.functions = {name for (name,) in listed}

    def connect(self) -> None:
        self.connection = duckdb.connect()
        for setting in [*SETTINGS, "SET memory_limit = '1GB'", "SET threads = 1"]:
            self.connection.execute(setting)

    def answers(self, calls: Iterable[str]) -> list[Answer]:
        return [self.answer(call) for call in calls]

    def answer(self, call: str) -> Answer:
        timer = threading.Timer(DUCKDB_SECONDS_MAX, self.connection.interrupt)
        timer.start()
        try:
            ((text, type_name),) = self.connection.execute(f"SELECT CAST({call} AS VARCHAR), typeof({call})").fetchall()
            return Answer(text, type_name)
        except Exception as error:  # Not only `duckdb.Error`: an internal error may become any.
            if "INTERNAL" in str(error) or "FATAL" in str(error):
                self.connect()
            return Answer(error=str(error))
        finally:
            timer.cancel()


class PostgresEngine:
    """PostgreSQL, by its client `psql`."""

    name = "PostgreSQL"
    MARK = "godwit-mark"

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.functions = set(self.run(["SELECT DISTINCT proname FROM pg_proc"])[0].splitlines())

    def run(self, queries: list[str]) -> list[str]:
        """What `psql` prints for each query; it goes on after errors."""
        script = "\n".join(f"{query};\n\\echo {self.MARK}" for query in queries)
        command = ["psql", "-X", "-q", "-A", "-t", "-F", "\x1f", "-P", "null=\x1e", "-v", "VERBOSITY=terse", self.dsn]
        run = subprocess.run(command, input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
        parts = run.stdout.split(self.MARK + "\n")
        if len(parts) != len(queries) + 1:
            raise RuntimeError(f"psql: {run.stdout[:300]}")
        return [part.removesuffix("\n") for part in parts[:-1]]

    def answers(self, calls: list[str]) -> list[Answer]:
        calls = [in_postgres(call) for call in calls]
        printed = self.run([f"SELECT CAST({call} AS text), pg_typeof({call})" for call in calls])
        return [self.answer(text) for text in printed]

    def answer(self, printed: str) -> Answer:
        if "\x1f" not in printed:
            return Answer(error=printed.removeprefix("ERROR:  "))
        text, _, type_name = printed.rpartition("\x1f")
        return Answer(None if text == "\x1e" else text, type_name)


POSTGRES_TYPES = {
    "DOUBLE": "double precision",
    "TINYINT": "smallint",
    "UTINYINT": "smallint",
    "USMALLINT": "integer",
    "UINTEGER": "bigint",
    "UBIGINT": "numeric",
    "HUGEINT": "numeric",
    "BIT": "varbit",
    "JSON": "json",
    "VARCHAR": "text",
}


def in_postgres(sql: str) -> str:
    """A call as PostgreSQL writes it: names of types, lists and BLOBs."""
    parts = re.split(r"('(?:[^']|'')*')", sql)
    for at in range(0, len(parts), 2):
        part = re.sub(r"\b([A-Z]+)(?=\)|\[\])", lambda match: POSTGRES_TYPES.get(match[1], match[1]), parts[at])
        part = re.sub(r"\[(?!\])", "ARRAY[", part)
        part = re.sub(r"(?<![\w)])\[\]", "ARRAY[]", part)
        parts[at] = part
    return re.sub(r"unhex\('(\w*)'\)", r"'\\x\1'::bytea", "".join(parts))


def same(left: Answer, right: Answer) -> bool:
    if left.error is not None or right.error is not None:
        return left.error is not None and right.error is not None
    return left.text == right.text or normal(left) == normal(right) or close(left, right)


def is_number(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|inf|nan|infinity)", text, re.IGNORECASE) is not None


def close(left: Answer, right: Answer) -> bool:
    if not (is_number(left.text) and is_number(right.text)):
        return False
    left_number, right_number = float(left.text), float(right.text)
    if math.isnan(left_number) or math.isnan(right_number):
        return math.isnan(left_number) and math.isnan(right_number)
    exact = all(re.fullmatch(r"[+-]?\d+", answer.text) for answer in (left, right))
    if exact:
        return int(left.text) == int(right.text)
    # A REAL has seven digits.
    tolerance = 1e-6 if "FLOAT" in left.type + right.type or "REAL" in left.type + right.type else TOLERANCE
    return math.isclose(left_number, right_number, rel_tol=tolerance, abs_tol=ZERO_TOLERANCE)


def normal(answer: Answer) -> str | None:
    """One text for what engines write in several ways."""
    text, type_name = answer.text, answer.type.upper()
    if text is None:
        return None
    if type_name == "BLOB" and not text.startswith("\\x00hex") and not re.fullmatch(r"\\x([0-9a-f]{2})*", text):
        text = "\\x" + re.sub(r"\\x([0-9A-F]{2})|(.)", lambda match: (match[1] or f"{ord(match[2]):02x}").lower(), text, flags=re.DOTALL)
    if type_name == "BLOB" or type_name == "BYTEA":
        return re.sub(r"\\x", "", text).lower()
    if type_name == "BOOLEAN":
        return {"t": "true", "f": "false"}.get(text, text)
    # Times in lists stand in quotes in DuckDB, as they have colons.
    text = re.sub(r"'(-?[\d-]*[ +]?[\d:.+-]+( \(?BC\)?)?)'", r"\1", text)
    if type_name == "INTERVAL" or type_name.endswith("INTERVAL[]"):
        return re.sub(r"\b(year|mon|day)(th)?s?\b", r"\1", text)
    if type_name.endswith("[]") and text.startswith("{"):
        if type_name.startswith("BOOLEAN"):
            text = re.sub(r"\b([tf])\b", lambda match: {"t": "true", "f": "false"}[match[1]], text)
        text = text.replace("{", "[").replace("}", "]").replace('"', "'").replace(",", ", ").replace("',  '", "','")
    # Fields without names: `(1, x)` in DuckDB, `{'v1': 1, 'v2': x}` in Godwit.
    if "'v1': " in text:
        text = re.sub(r"'v\d+': ", "", text).replace("{", "(").replace("}", ")")
    text = text.replace(",)", ")")
    if type_name.startswith("TUPLE"):
        text = text.replace("{", "(").replace("}", ")")
    if "[" in type_name or "(" in type_name or type_name == "JSON":
        if type_name.startswith("JSON"):
            text = re.sub(r"\s+", "", text)
        text = re.sub(r"(?<![\w'])-?(\d+(\.\d+)?([eE][+-]?\d+)?|nan|inf)(?![\w'])", in_digits, text, flags=re.IGNORECASE)
    return text


def in_digits(match: re.Match[str]) -> str:
    number = float(match[0])
    return "nan" if math.isnan(number) else f"{number + 0.0:.11g}"
