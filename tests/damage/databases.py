"""Sound databases with a log, as a killed process leaves them, and what to damage in them."""

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

from damage import Target
from shell import Shell

# Of a block, most is unused; zeros are not worth damaging.
PIECE_BYTES = 64
HEADERS_BYTES = 8192
LOG_HEADER_BYTES = 44

# Every row follows from its number, so that no statement hides a wrong one.
SETUP = """
CREATE TABLE sold (id BIGINT, name VARCHAR, many VARCHAR, price DECIMAL(12,2), half DOUBLE, day DATE, seen TIMESTAMP, ok BOOLEAN);
INSERT INTO sold SELECT i, 'name ' || (i % 50), 'text number ' || i, CAST(i AS DECIMAL(12,2)) / 4, i * 0.5, \
DATE '2020-01-01' + CAST(i % 900 AS INTEGER), CASE WHEN i % 7 = 0 THEN NULL ELSE TIMESTAMP '2021-01-01' END, i % 3 = 0 \
FROM range({rows}) r(i);
CREATE TABLE nested (id INTEGER PRIMARY KEY, list INTEGER[], pair STRUCT(a INTEGER, b VARCHAR), small DECIMAL(4,1) DEFAULT 1.5);
INSERT INTO nested SELECT i, CASE WHEN i % 11 > 0 THEN range(i, i + i % 5) END, {{'a': i, 'b': 'b' || i}}, 2.5 FROM range({rows} / 10) r(i);
CREATE VIEW names AS SELECT name, count(*) AS rows, sum(price) AS prices FROM sold GROUP BY name;
CREATE SEQUENCE numbers START 10;
UPDATE sold SET name = 'changed' WHERE id % 1000 = 1;
DELETE FROM sold WHERE id % 500 = 2;
CHECKPOINT;
DELETE FROM sold WHERE id % 500 = 3;
CHECKPOINT;
"""

# What a transaction after the checkpoint does; each is one record of the log, or more.
COMMITS = [
    "INSERT INTO sold SELECT i, 'new ' || (i % 5), 'text number ' || i, 1.25, 0.5, NULL, NULL, NULL FROM range({n}, {n} + 30) r(i)",
    "UPDATE sold SET price = price + 1 WHERE id % 2000 = {n} % 2000",
    "DELETE FROM sold WHERE id % 3000 = {n} % 3000",
    "BEGIN; INSERT INTO nested (id, list) VALUES ({n}, [1, NULL]); UPDATE nested SET pair = NULL WHERE id = {n} % 100; COMMIT",
    "CREATE TABLE made{n} AS SELECT i AS id, 'made ' || i AS name FROM range(50) r(i)",
    "CREATE VIEW view{n} AS SELECT count(*) AS rows FROM sold WHERE id > {n}",
    "SELECT nextval('numbers')",
    "INSERT INTO sold (id, name) VALUES ({n}, 'one row')",
]

QUERIES = [
    "SELECT * FROM sold ORDER BY id, name, many",
    "SELECT * FROM nested ORDER BY id",
    "SELECT id, list[2], len(list) FROM nested WHERE id % 37 = 5 ORDER BY id",
    "SELECT sum(len(list)), sum(list_sum(list)), count(list) FROM nested",
    "SELECT * FROM names ORDER BY name",
    "SELECT count(*), sum(price), min(many), max(day), count(DISTINCT name), sum(half) FROM sold",
    "SELECT id, price FROM sold WHERE name = 'name 7' AND id < 500 ORDER BY id",
    "SELECT table_name, table_type FROM information_schema.tables ORDER BY table_name",
]


@dataclass
class Database:
    """A database as it was when its process was killed, all commits acknowledged."""

    file: bytes
    log: bytes
    queries: list[str]
    # What the shell prints for each of them.
    rows: dict[str, bytes]
    in_file: Target
    in_log: Target


def make(seed: int, shell: Shell) -> Database:
    """Each fourth one was never checkpointed: its log is all there is."""
    rng = random.Random(seed)
    path = shell.folder / f"sound{seed}.godwit"
    setup = SETUP.format(rows=rng.choice([2_000, 20_000]))
    if seed % 4 == 0:
        setup = setup.replace("CHECKPOINT;", "")
    commits = [rng.choice(COMMITS).format(n=100_000 + 100 * number) for number in range(rng.choice([1, 5, 40]))]
    file, log = killed(shell, path, f"{setup}{';'.join(commits)};")
    made = [word for commit in commits for word in commit.split() if word.startswith(("made1", "view1"))]
    queries = QUERIES + [f"SELECT * FROM {name} ORDER BY 1" for name in made]
    place(shell.folder, path.stem, file, log)
    rows = {}
    for sql in queries:
        run = shell.ask(path, [sql])
        if run.status != 0:
            raise RuntimeError(f"{sql}: {run.errors}")
        rows[sql] = run.output
    return Database(file, log, queries, rows, target_of_file(file), target_of_log(log))


def place(folder: Path, stem: str, file: bytes, log: bytes) -> Path:
    """Writes a database and its log."""
    path = folder / f"{stem}.godwit"
    path.write_bytes(file)
    path.with_name(f"{path.name}.wal").write_bytes(log)
    return path


def killed(shell: Shell, path: Path, script: str) -> tuple[bytes, bytes]:
    """The file and the log of a process that was killed after it had acknowledged everything."""
    log = path.with_name(f"{path.name}.wal")
    for old in (path, log):
        old.unlink(missing_ok=True)
    words = shell.command([str(path), "--format", "csv"])
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdin.write(f"{script}\nSELECT 'all ' || 'done' AS mark;\n")
        process.stdin.flush()
        while (line := process.stdout.readline()) and "all done" not in line:
            pass
        if not line:
            raise RuntimeError("the database can't be made")
        process.kill()
    return path.read_bytes(), log.read_bytes()


def target_of_file(content: bytes) -> Target:
    used = [range(at, at + PIECE_BYTES) for at in range(HEADERS_BYTES, len(content), PIECE_BYTES) if any(content[at : at + PIECE_BYTES])]
    headers = [range(128), range(4096, 4096 + 128)]
    return Target(content, [headers, used or headers, [range(len(content))]])


def target_of_log(content: bytes) -> Target:
    """Records, the last of them, and the room behind them."""
    end = len(content.rstrip(b"\0"))
    return Target(content, [[range(LOG_HEADER_BYTES)], [range(end)], [range(end)], [range(max(end - 200, 0), end)], [range(len(content))]])
