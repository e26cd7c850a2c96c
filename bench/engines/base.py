"""What the driver asks of an engine."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]


class Unsupported(Exception):
    """The engine can't run this query; it is left out of this engine's figures."""


@dataclass(frozen=True)
class Limits:
    """What every engine may use."""

    threads: int
    memory_limit_bytes: int | None
    # The shell to measure, and a folder for intermediates.
    godwit: Path
    scratch: Path


@contextmanager
def unfinished(file: Path) -> Iterator[Path]:
    """Another name for a file until all of it has been written."""
    path = file.with_suffix(f".{os.getpid()}")
    yield path
    path.rename(file)


def loads(tables: dict[str, Path]) -> list[str]:
    """Statements that copy Parquet files into tables of these names."""
    return [f"CREATE TABLE {name} AS SELECT * FROM '{parquet}'" for name, parquet in tables.items()]


class Engine(ABC):
    """An open engine. The driver times `run`, from SQL text to the last row in the client's hands."""

    @abstractmethod
    def __init__(self, limits: Limits) -> None: ...

    @abstractmethod
    def version(self) -> str: ...

    @abstractmethod
    def attach(self, tables: dict[str, Path]) -> None:
        """Makes Parquet files known as tables, without loading them."""

    @abstractmethod
    def run(self, sql: str) -> Any:
        """Runs a query and fetches all rows, in whatever form is the engine's fastest."""

    @abstractmethod
    def rows(self, result: Any) -> list[Row]:
        """What `run` returned, as Python values. Not timed."""

    def close(self) -> None:
        """Ends what outlives this object: processes, above all."""
