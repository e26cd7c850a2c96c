"""Small sound CSV and JSON files, compressed or not."""

import csv
import gzip
import io
import json
import random
from collections.abc import Iterator

ROWS = 400
SECTION_BYTES = 24


def contents() -> Iterator[tuple[str, bytes]]:
    """Names, whose ends say what they are, and contents."""
    rng = random.Random(1)
    rows = [
        {
            "id": number,
            "name": rng.choice(["plain", 'with "quotes"', "a, comma", "two\nlines", "ünï çode", ""]),
            "price": rng.choice([None, number / 4, -1.5e10]),
            "day": f"2024-02-{number % 29 + 1:02}",
            "ok": number % 3 == 0,
        }
        for number in range(ROWS)
    ]
    nested = [{**row, "list": [1, None, number], "pair": {"a": number, "b": [row["name"]]}} for number, row in enumerate(rows)]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in nested).encode()
    files = {
        "comma.csv": csv_of(rows, ","),
        "tab.tsv": csv_of(rows, "\t"),
        "semicolon.csv": csv_of(rows, ";"),
        "lines.jsonl": lines,
        "array.json": json.dumps(nested).encode(),
    }
    for name, content in files.items():
        yield name, content
        yield f"{name}.gz", gzip.compress(content, mtime=0)
    half = len(lines) // 2
    yield "members.jsonl.gz", gzip.compress(lines[:half], mtime=0) + gzip.compress(lines[half:], mtime=0)


def csv_of(rows: list[dict[str, object]], delimiter: str) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def regions(content: bytes) -> list[list[range]]:
    """Headers and ends matter more than the rows between."""
    return [[range(min(SECTION_BYTES, len(content)))], [range(len(content) - SECTION_BYTES, len(content))], [range(len(content))]]
