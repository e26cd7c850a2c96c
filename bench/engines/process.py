"""An engine in a process of its own.

Engines don't share an allocator, threads or a crash: each runs in a spawned Python process that answers one request at
a time, and the clock is in that process, next to the engine's call. After a crash or a timeout the process is replaced.
"""

import multiprocessing
import shutil
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from engines.base import Limits, Row, Unsupported

STOP_SECONDS = 5


@dataclass
class Outcome:
    """What a run of a query gave: a time and rows, or why not."""

    seconds: float | None = None
    rows: list[Row] | None = None
    error: str | None = None
    unsupported: bool = False


class EngineProcess:
    def __init__(self, name: str, limits: Limits, tables: dict[str, Path], timeout_seconds: float) -> None:
        self.name = name
        self.limits = limits
        self.tables = tables
        self.timeout_seconds = timeout_seconds
        self._start()

    def run(self, sql: str, with_rows: bool) -> Outcome:
        """Runs a query; returns its rows as well if asked to, which isn't part of the time."""
        self.connection.send((sql, with_rows))
        try:
            if self.connection.poll(self.timeout_seconds):
                outcome = self.connection.recv()
                if outcome.error is None or outcome.unsupported:
                    return outcome
            else:
                outcome = Outcome(error=f"no result after {self.timeout_seconds} s")
        except (EOFError, ConnectionResetError):
            outcome = Outcome(error="the process died")
        # An engine may not be usable after an error; begin anew.
        self.stop()
        self._start()
        return outcome

    def stop(self) -> None:
        self.connection.close()
        self.process.join(STOP_SECONDS)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        shutil.rmtree(self.limits.scratch, ignore_errors=True)

    def _start(self) -> None:
        self.limits.scratch.mkdir(parents=True, exist_ok=True)
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        arguments = (self.name, self.limits, self.tables, theirs)
        self.process = context.Process(target=_serve, args=arguments, daemon=False)
        self.process.start()
        theirs.close()
        try:
            self.version = self.connection.recv()
        except EOFError:
            raise RuntimeError(f"{self.name} didn't start") from None


def _serve(name: str, limits: Limits, tables: dict[str, Path], driver: Connection) -> None:
    from engines import ENGINES

    engine = ENGINES[name](limits)
    engine.attach(tables)
    driver.send(engine.version())
    while True:
        try:
            sql, with_rows = driver.recv()
        except EOFError:
            engine.close()
            return
        started = time.perf_counter()
        try:
            result = engine.run(sql)
            seconds = time.perf_counter() - started
            driver.send(Outcome(seconds=seconds, rows=engine.rows(result) if with_rows else None))
        except Unsupported as error:
            driver.send(Outcome(error=str(error), unsupported=True))
        except Exception as error:  # noqa: BLE001 - whatever an engine throws belongs into the report
            driver.send(Outcome(error=f"{type(error).__name__}: {error}"))
