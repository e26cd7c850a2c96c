"""Godwit with tables in its own format: one file beside the Parquet files, made on first use, which isn't timed."""

import os
import subprocess
from pathlib import Path

from engines.godwit import Godwit


class GodwitNative(Godwit):
    def attach(self, tables: dict[str, Path]) -> None:
        self.database = [native_file(self.program, tables), "--read-only"]
        super().attach({})


def native_file(program: Path, tables: dict[str, Path]) -> Path:
    """A database with these tables; made anew for a newer program, whose format may be another."""
    folder = next(iter(tables.values())).parent
    file = folder / f"{'-'.join(sorted(tables))[:100]}.godwit"
    if not file.exists() or file.stat().st_mtime < program.stat().st_mtime:
        # Under another name until it is complete.
        unfinished = file.with_suffix(f".{os.getpid()}")
        loads = [f"CREATE TABLE {name} AS SELECT * FROM '{parquet}'" for name, parquet in tables.items()]
        command = [program, unfinished, *(word for load in loads for word in ("-c", load))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        Path(f"{unfinished}.wal").rename(f"{file}.wal")
        unfinished.rename(file)
    return file
