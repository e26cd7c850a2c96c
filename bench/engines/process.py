"""An engine in a process of its own.

Engines don't share an allocator, threads or a crash: each runs in a spawned Python process that answers one request at
a time, and the clock is in that process, next to the engine's call. After a crash or a timeout the process is replaced.

The driver looks at the resident size of the process and its children meanwhile. One that grows beyond the guard is
killed, before the system has to choose whom to kill.
"""

import contextlib
import multiprocessing
import os
import shutil
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from disk import disk_bytes
from engines.base import Limits, Row, Unsupported
from resident import SAMPLES_PER_SECOND, machine_bytes, resident_bytes, tree

STOP_SECONDS = 5
# Making an engine's own files from Parquet may be part of the start.
START_SECONDS_MAX = 1800
# Part of the machine's memory that an engine may take, whatever its limit is.
GUARD_SHARE = 0.8


@dataclass
class Outcome:
    """What a run of a query gave: a time and rows, or why not."""

    seconds: float | None = None
    rows: list[Row] | None = None
    error: str | None = None
    unsupported: bool = False
    # The most that the engine was seen to have in use while the query ran.
    peak_bytes: int = 0
    # What the engine had the disk read meanwhile.
    disk_bytes: int = 0


@dataclass
class Started:
    """The engine is ready."""

    version: str
    # Resident size of the process before the engine was loaded.
    overhead_bytes: int


class EngineProcess:
    def __init__(self, name: str, limits: Limits, tables: dict[str, Path], timeout_seconds: float) -> None:
        self.name = name
        self.limits = limits
        self.tables = tables
        self.timeout_seconds = timeout_seconds
        self.guard_bytes = int(machine_bytes() * GUARD_SHARE)
        self._start()

    def run(self, sql: str, with_rows: bool) -> Outcome:
        """Runs a query; returns its rows as well if asked to, which isn't part of the time."""
        peak_bytes = 0
        try:
            if not self.process.is_alive():
                self._start()
            disk_before = self._disk_bytes()
            self.connection.send((sql, with_rows))
            deadline = time.monotonic() + self.timeout_seconds
            while not self.connection.poll(1 / SAMPLES_PER_SECOND):
                size = self._resident_bytes()
                peak_bytes = max(peak_bytes, size)
                if size > self.guard_bytes:
                    outcome = Outcome(error=f"killed at {size / 2**30:.1f} GiB of memory")
                    break
                if time.monotonic() > deadline:
                    outcome = Outcome(error=f"no result after {self.timeout_seconds:g} s")
                    break
            else:
                outcome = self.connection.recv()
                outcome.disk_bytes = self._disk_bytes() - disk_before
        except (EOFError, ConnectionResetError, BrokenPipeError):
            outcome = Outcome(error="the process died")
        except EngineError as error:
            return Outcome(error=str(error))
        outcome.peak_bytes = max(peak_bytes, self._resident_bytes())
        if outcome.error and not outcome.unsupported:
            # An engine may not be usable after an error; start over with the next query.
            self._kill()
        return outcome

    def stop(self) -> None:
        self.connection.close()
        self.process.join(STOP_SECONDS)
        self._kill()

    def _resident_bytes(self) -> int:
        """What the engine has in use."""
        return max(0, sum(map(resident_bytes, tree(self.process.pid))) - self.overhead_bytes)

    def _disk_bytes(self) -> int:
        return sum(map(disk_bytes, tree(self.process.pid)))

    def _kill(self) -> None:
        """Ends the process and its children, if they are still there."""
        for pid in tree(self.process.pid) if self.process.is_alive() else []:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.join()
        self.connection.close()
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
            in_time = self.connection.poll(START_SECONDS_MAX)
            answer = self.connection.recv() if in_time else Outcome(error=f"no answer after {START_SECONDS_MAX} s")
        except (EOFError, ConnectionResetError):
            answer = Outcome(error="the process died")
        if isinstance(answer, Outcome):
            self._kill()
            raise EngineError(f"{self.name} doesn't start: {answer.error}")
        self.version = answer.version
        self.overhead_bytes = answer.overhead_bytes


class EngineError(Exception):
    """The engine can't be used as asked."""


def _serve(name: str, limits: Limits, tables: dict[str, Path], driver: Connection) -> None:
    from engines import ENGINES

    overhead_bytes = resident_bytes(os.getpid())
    try:
        engine = ENGINES[name](limits)
        engine.attach(tables)
        driver.send(Started(engine.version(), overhead_bytes))
    except Exception as error:  # noqa: BLE001 - see below
        driver.send(Outcome(error=f"{type(error).__name__}: {error}"))
        return
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
