"""What a suite consists of."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Suite:
    """Tables as Parquet files, and queries by name, in the order in which they run."""

    name: str
    tables: dict[str, Path]
    queries: dict[str, str]
