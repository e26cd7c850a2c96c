"""Godwit with tables in its own format: one file beside the Parquet files, made on first use, which isn't timed."""

import subprocess
from pathlib import Path

from engines.base import loads, unfinished
from engines.godwit import Godwit


class GodwitNative(Godwit):
    def attach(self, tables: dict[str, Path]) -> None:
        self.database = [native_file(self.program, tables), "--read-only"]
        super().attach({})


def native_file(program: Path, tables: dict[str, Path]) -> Path:
    """A database with these tables; rebuilt for a newer program, whose format may be another."""
    folder = next(iter(tables.values())).parent
    file = folder / f"{'-'.join(sorted(tables))[:100]}.godwit"
    if not file.exists() or file.stat().st_mtime < program.stat().st_mtime:
        with unfinished(file) as path:
            command = [program, path, *(word for load in loads(tables) for word in ("-c", load))]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            Path(f"{path}.wal").rename(f"{file}.wal")
    return file
