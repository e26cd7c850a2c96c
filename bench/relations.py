"""Relations to join: keys of chosen skew, and strings to carry along.

A relation has the key columns `key1`, `key2`, ... and `width` sets of three strings, numbered from 1:

    tag1       one uppercase letter
    employee1  15 characters: EMPN and 11 digits
    comment1   four words of Lorem ipsum, 27 characters on average

Keys are whole numbers from 1 to `keys`, drawn from a power law: the density at x is proportional to x^-alpha. With
alpha = 0 all keys are equally likely; the larger alpha, the more rows have a small key. Drawn by the inverse of the
distribution: with u uniform in (0, 1], the key is

    ceil(keys * u^(1 / (1 - alpha)))    for alpha < 1
    ceil(keys^(4u - 3))                 for alpha = 1: key 1 for three quarters of the rows, the others log-uniform

so that at alpha = 1 three quarters of the rows have the same key. A relation is a pure function of its parameters and
its seed.
"""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# Rows of a row group. Small enough that threads share the work on every relation here.
GROUP_ROWS = 2**17
WORDS = (
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed eiusmod tempor incididunt ut labore et dolore magna "
    "aliqua enim minim veniam quis nostrud exercitation ullamco laboris nisi aliquip commodo consequat duis "
    "aute irure in reprehenderit voluptate velit esse cillum fugiat nulla pariatur excepteur sint occaecat cupidatat "
    "non proident sunt culpa qui officia deserunt mollit anim est laborum"
).split()
EMPLOYEE_PREFIX = np.frombuffer(b"EMPN", np.uint8)
EMPLOYEE_DIGITS = 11


@dataclass(frozen=True)
class Relation:
    """A relation's parameters. `name` makes relations differ that have the same parameters."""

    name: str
    rows: int
    keys: int
    alpha: float = 0.0
    width: int = 1
    key_columns: int = 1

    @property
    def file_name(self) -> str:
        text = f"{self.name}-{self.rows}rows-{self.keys}keys-alpha{self.alpha:g}-width{self.width}"
        return text + (f"-{self.key_columns}columns" if self.key_columns > 1 else "") + ".parquet"


def make(relation: Relation, folder: Path) -> Path:
    """The relation's file; made if it isn't there."""
    file = folder / relation.file_name
    if not file.exists():
        print(f"making {file}", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        # Under another name until it is complete.
        unfinished = file.with_suffix(f".{os.getpid()}")
        with pq.ParquetWriter(unfinished, schema(relation)) as writer:
            for group in groups(relation):
                writer.write_table(group)
        unfinished.rename(file)
    return file


def schema(relation: Relation) -> pa.Schema:
    keys = [(name, pa.int64()) for name in key_names(relation)]
    return pa.schema(keys + [(name, pa.string()) for name in set_names(relation.width)])


def key_names(relation: Relation) -> list[str]:
    return [f"key{number}" for number in range(1, relation.key_columns + 1)]


def set_names(width: int) -> list[str]:
    """The string columns of `width` sets."""
    return [f"{column}{number}" for number in range(1, width + 1) for column in ("tag", "employee", "comment")]


def groups(relation: Relation) -> Iterator[pa.Table]:
    rng = np.random.default_rng(zlib.crc32(relation.file_name.encode()))
    for start in range(0, relation.rows, GROUP_ROWS):
        rows = min(GROUP_ROWS, relation.rows - start)
        columns = [pa.array(keys(rng, rows, relation.keys, relation.alpha)) for _ in key_names(relation)]
        for _ in range(relation.width):
            columns += [tags(rng, rows), employees(rng, rows), comments(rng, rows)]
        yield pa.table(columns, schema=schema(relation))


def keys(rng: np.random.Generator, rows: int, count: int, alpha: float) -> np.ndarray:
    uniform = 1 - rng.random(rows)
    drawn = float(count) ** (4 * uniform - 3) if alpha == 1 else count * uniform ** (1 / (1 - alpha))
    return np.clip(np.ceil(drawn), 1, count).astype(np.int64)


def tags(rng: np.random.Generator, rows: int) -> pa.Array:
    return fixed_strings(rng.integers(ord("A"), ord("Z") + 1, (rows, 1), np.uint8))


def employees(rng: np.random.Generator, rows: int) -> pa.Array:
    digits = rng.integers(ord("0"), ord("9") + 1, (rows, EMPLOYEE_DIGITS), np.uint8)
    return fixed_strings(np.hstack([np.broadcast_to(EMPLOYEE_PREFIX, (rows, len(EMPLOYEE_PREFIX))), digits]))


def comments(rng: np.random.Generator, rows: int) -> pa.Array:
    words = pa.array(WORDS)
    drawn = [words.take(pa.array(rng.integers(0, len(WORDS), rows))) for _ in range(4)]
    return pc.binary_join_element_wise(*drawn, " ")


def fixed_strings(characters: np.ndarray) -> pa.Array:
    """A row of characters per string."""
    rows, length = characters.shape
    offsets = np.arange(0, (rows + 1) * length, length, dtype=np.int32)
    data = np.ascontiguousarray(characters)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(data))
