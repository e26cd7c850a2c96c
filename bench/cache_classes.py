"""How the operators of TPC-H use the last-level cache: what each says, why, and which classes their pipelines get; and what
moving threads between classes costs.

Classes are those of EXPLAIN ANALYZE over tables of the database's own. They depend on the caches of the machine, not on
whether it can partition them. Costs are measured over an imitated resctrl, where partitioning gains nothing.
"""

import json
import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CLASSES = ["polluting", "comparable", "sensitive"]


@dataclass
class Use:
    """What operators of a kind say."""

    pipelines: Counter[str] = field(default_factory=Counter)
    bytes: list[int] = field(default_factory=list)


def print_classes(shell: Path, tables: dict[str, Path], queries: dict[str, str]) -> None:
    """A table in Markdown: operator, what it says, why, and the classes of the pipelines that it is in."""
    plans = explained(shell, tables, list(queries.values()))
    uses: dict[tuple[str, str, str], Use] = defaultdict(Use)
    total: Counter[str] = Counter()
    for plan in plans:
        for pipeline in plan["cache_classes"]:
            total[pipeline["class"]] += 1
            for operator in pipeline["operators"]:
                use = uses[operator["name"].split()[0], operator["usage"], operator["why"]]
                use.pipelines[pipeline["class"]] += 1
                use.bytes.append(int(operator["bytes"]))
    print(f"| operator | says | why | {' | '.join(CLASSES)} |\n|---|---|---|{'---:|' * len(CLASSES)}")
    for (operator, usage, why), use in sorted(uses.items()):
        size = f", {size_text(min(use.bytes))} to {size_text(max(use.bytes))}" if max(use.bytes) else ""
        print(f"| {operator} | {usage}{size} | {why} | {counts(use.pipelines)} |")
    print(f"| all pipelines | | | {counts(total)} |")


def explained(shell: Path, tables: dict[str, Path], queries: list[str]) -> list[dict[str, Any]]:
    """What EXPLAIN ANALYZE tells of each query."""
    script = [".changes off"]
    script += [f"CREATE TABLE {name} AS FROM '{file}';" for name, file in tables.items()]
    script += [f"EXPLAIN (ANALYZE, FORMAT json) {query.strip().rstrip(';')};" for query in queries]
    program = [shell, "--format", "jsonlines"]
    done = subprocess.run(program, input="\n".join(script), capture_output=True, text=True, check=True)
    return [json.loads(json.loads(line)["plan"]) for line in done.stdout.splitlines()]


def print_switching(example: Path, folder: Path, queries: dict[str, str], turns: int) -> None:
    """Times with partitioning on by those with it off, of all queries."""
    lines = (re.sub(r"\s+", " ", re.sub(r"--.*", "", query)).strip().rstrip(";") for query in queries.values())
    program = [example, folder, str(turns), "2"]
    done = subprocess.run(program, input="\n".join(lines), capture_output=True, text=True, check=True)
    print(f"Time with partitioning on by time with it off, medians of {turns} turns: {done.stdout.splitlines()[-1]}")


def counts(pipelines: Counter[str]) -> str:
    return " | ".join(str(pipelines[name] or "") for name in CLASSES)


def size_text(size: float) -> str:
    for unit in ["B", "KiB", "MiB"]:
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
