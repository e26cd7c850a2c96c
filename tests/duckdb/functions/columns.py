"""Godwit against itself: arguments in columns must give what they give as constants.

```text
constants    f('a', 1)                                   what all others are compared with
rows         f(c0, c1)  each row once                    flat vectors
repeated     f(c0, c1)  each row five times, in turns    text columns have dictionaries
selected     f(c0, c1)  under a filter
mixed        f(c0, 1)   one argument stays constant
none         f(c0, c1)  over no rows
failing      f(c0, c1)  of arguments that fail as constants
```
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from godwit_shell import GodwitError

from .calls import Call, Form, call_of
from .engines import WORKERS, Answer, GodwitEngine

FAILING_MAX = 2
MIXED_MAX = 2
# Arguments that have to be constants, as the type of the result depends on them, or how it is found.
REFUSALS = (
    "must be a constant",
    "a field of the kind",
    "strptime takes",
    "a path with * leads to several values",
    "has to be a constant", "must be constant", "has to be constant", "a path has to be a text", "have to be constants")


def compare(godwit: GodwitEngine, forms: list[Form], constants: dict[Call, Answer], rng: random.Random) -> Iterator[tuple[Form, list[str], int]]:
    """Forms, what is wrong with them, and how many values were compared."""
    worth = [form for form in forms if form.words and not form.is_alias and not is_special(form)]
    seeds = [rng.random() for _ in worth]
    with ThreadPoolExecutor(WORKERS) as pool:
        yield from pool.map(lambda form, seed: compared(godwit, form, constants, random.Random(seed)), worth, seeds)


def is_special(form: Form) -> bool:
    """Does the form take constants only, or is NULL without a type something else to it?"""
    takes_formats = form.name in ("to_date", "to_time", "to_timestamp", "to_unixtime", "date") and len(form.words) > 2
    takes_flag = form.name.endswith("zip") and "BOOLEAN" in form.words
    # A NULL field without a type is of any; in a column it is an INTEGER.
    finds_fields = form.name in ("struct_position", "struct_indexof")
    return takes_formats or takes_flag or finds_fields or form.name == "decode" or any(":=" in word for word in form.words)


def compared(godwit: GodwitEngine, form: Form, constants: dict[Call, Answer], rng: random.Random) -> tuple[Form, list[str], int]:
    calls = of_one_type([call for call in form.calls if not call.wrong])
    good = [call for call in calls if constants[call].error is None]
    failing = [call for call in calls if constants[call].error is not None]
    complaints: list[str] = []
    count = 0
    # A column of NULLs only would have a type of its own.
    if not good or any(all(call.arguments[place] == "NULL" for call in good) for place in range(len(form.words))):
        return form, complaints, count
    width = len(good[0].arguments)
    names = [f"c{at}" for at in range(width)]
    whole = call_of(form.name, names)
    table = f"CREATE TABLE t AS SELECT * FROM (VALUES {values(good)}) AS v(id, {', '.join(names)})"
    setup = [table, "CREATE TABLE t5 AS SELECT t.* FROM range(5) AS r(i), t"]
    ids = {str(row): constants[call] for row, call in enumerate(good)}
    queries = [
        (f"SELECT id, CAST({whole} AS VARCHAR) FROM t", ids),
        (f"SELECT id, CAST({whole} AS VARCHAR) FROM t5", ids),
        (f"SELECT id, CAST({whole} AS VARCHAR) FROM t5 WHERE id % 3 = 1", {id: a for id, a in ids.items() if int(id) % 3 == 1}),
        (f"SELECT id, CAST({whole} AS VARCHAR) FROM (SELECT * FROM t LIMIT 0)", {}),
    ]
    for place in range(width if width > 1 else 0):
        constant = list(dict.fromkeys(call.arguments[place] for call in good))
        for argument in rng.sample(constant, min(MIXED_MAX, len(constant))):
            rows = {row: constants[call] for row, call in enumerate(good) if call.arguments[place] == argument}
            mixed = call_of(form.name, [*names[:place], argument, *names[place + 1 :]])
            condition = f"id IN ({', '.join(map(str, rows))})"
            queries.append((f"SELECT id, CAST({mixed} AS VARCHAR) FROM t5 WHERE {condition}", {str(row): a for row, a in rows.items()}))
    for (sql, expected), rows in zip(queries, godwit.rows(setup, [sql for sql, _ in queries]), strict=True):
        if isinstance(rows, GodwitError):
            if not (any(refusal in str(rows) for refusal in REFUSALS) or "NULL" in sql and "no function" in str(rows)):
                complaints.append(f"  {sql}\n    fails although constants don't: {str(rows).splitlines()[0][:200]}\n    {table[:300]}")
            continue
        count += len(rows)
        found = {(str(id), text) for id, text in rows}
        wanted = {(id, answer.text) for id, answer in expected.items()}
        if found != wanted:
            differing = sorted(found - wanted)[:3]
            lacking = sorted((id, text) for id, text in wanted - found)[:3] if all(text for _, text in wanted) else list(wanted - found)[:3]
            arguments = [good[int(id)].sql for id, _ in [*differing, *lacking][:2]]
            complaints.append(f"  {sql[:200]}\n    in columns: {differing}; as constants: {lacking}; {arguments}")
    # Constants are looked at before rows: beside NULL they fail where columns don't.
    failing = [call for call in failing if "NULL" not in call.arguments]
    sample = rng.sample(failing, min(FAILING_MAX, len(failing)))
    if sample:
        bad = f"CREATE TABLE b AS SELECT * FROM (VALUES {values(sample)}, {values(good[:1], len(sample))}) AS v(id, {', '.join(names)})"
        queries = [f"SELECT CAST({whole} AS VARCHAR) FROM b WHERE id = {row}" for row in range(len(sample))]
        try:
            outcomes = godwit.rows([bad], queries)
        except GodwitError:
            # Values of several types, which no column has.
            outcomes = []
        for call, rows in zip(sample, outcomes, strict=False):
            count += 1
            if not isinstance(rows, GodwitError):
                complaints.append(f"  {call.sql}\n    fails as constants ({constants[call]}), gives {rows} in a column")
    return form, complaints, count


def of_one_type(calls: list[Call]) -> list[Call]:
    """The most calls whose arguments fit in columns together."""
    by_shape: dict[tuple[str, ...], list[Call]] = defaultdict(list)
    for call in calls:
        by_shape[tuple(shape(argument) for argument in call.arguments)].append(call)
    typed = [shapes for shapes in by_shape if "NULL" not in shapes]
    if not typed:
        return []
    most = max(typed, key=lambda shapes: len(by_shape[shapes]))
    fits = lambda shapes: all(other in (wanted, "NULL") for wanted, other in zip(most, shapes, strict=True))
    return [call for shapes, calls in by_shape.items() if fits(shapes) for call in calls]


def shape(argument: str) -> str:
    """The type of an argument, or what stands for it."""
    if match := re.fullmatch(r"CAST\(.* AS ([^()]+(\(.*\))?)\)", argument):
        return match[1]
    match argument[0]:
        case "'" | "[" | "{":
            return argument[0]
        case first if first.isdigit() or first == "-":
            return "."  if "." in argument else "0"
    return "TRUE" if argument == "FALSE" else argument if argument in ("TRUE", "NULL") else "other"


def values(calls: list[Call], first: int = 0) -> str:
    return ", ".join(f"({row}, {', '.join(call.arguments)})" for row, call in enumerate(calls, first))
