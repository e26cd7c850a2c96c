"""Every function with empty, extreme and wrong arguments, in Godwit, DuckDB and PostgreSQL.

    python compare_functions.py GODWIT [--calls N] [--seed 1] [--postgres DSN] [--only PATTERN]

Calls are made from the signatures that `godwit_functions()` lists: arguments of their types, NULL, and arguments of other
types. DuckDB is asked where it has a function of the name, else PostgreSQL, if there is one (`--postgres
"host=/tmp port=5432 user=postgres"`). Besides, Godwit is compared with itself: the same arguments as columns, repeated, in
no rows, and with one of them constant, must give what they give as constants.

What differs on purpose stands in `functions/known.py`, each with the reason that docs/sql.md gives.
"""

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from functions import aggregates, columns
from functions.calls import Call, Form, call_of, fill, forms_of_functions
from functions.engines import Answer, DuckDBEngine, GodwitEngine, PostgresEngine, same
from functions.known import KNOWN, OTHER_NAMES, check_reasons
from godwit_shell import Godwit

# Differences of one form that are shown.
SHOWN_MAX = 6
# With fewer calls of each form than this, aliases and columns are tried for a share of them only.
QUICK_CALLS = 8
QUICK_SHARE = 0.25

# Lambdas aren't values that calls could be made of, nor are names of fields, settings and sequences.
SCALAR = """SELECT name, signature, description, example FROM godwit_functions() WHERE kind = 'scalar'
    AND signature NOT LIKE '%-> …%' AND category NOT IN ('Special forms', 'Sequences')"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("godwit", type=Path, help="the shell's program")
    parser.add_argument("--calls", type=int, default=40, help="of each form, about [40]")
    parser.add_argument("--seed", type=int, default=1, help="which combinations of arguments [1]")
    parser.add_argument("--postgres", help="a connection string of PostgreSQL, for psql")
    parser.add_argument("--only", default="", help="a pattern of functions' names")
    parser.add_argument("--known", action="store_true", help="show known differences as well")
    arguments = parser.parse_args()
    check_reasons(Path(__file__).parents[2] / "docs/sql.md")

    _, listed = Godwit(arguments.godwit).query(SCALAR)
    forms = forms_of_functions([dict(zip(("name", "signature", "description", "example"), row, strict=True)) for row in listed])
    forms = [form for form in forms if re.search(arguments.only, form.name)]
    rng = random.Random(arguments.seed)
    if arguments.calls < QUICK_CALLS:
        forms = [form for form in forms if not form.is_alias or rng.random() < QUICK_SHARE]
    few = max(2, arguments.calls // 8)
    for form in forms:
        fill(form, rng, few if form.is_alias else arguments.calls, min(1 if form.is_alias else 4, few))

    table = Table(GodwitEngine(arguments.godwit), arguments.postgres, arguments.known)
    table.compare(forms)
    is_quick = arguments.calls < QUICK_CALLS
    table.compare_columns(rng.sample(forms, round(len(forms) * QUICK_SHARE)) if is_quick else forms, rng)
    if not arguments.only or re.search(arguments.only, "aggregates"):
        table.compare_aggregates(aggregates.queries(rng, arguments.calls))
    return table.summary()


class Table:
    """Compares calls, and counts what comes of it."""

    def __init__(self, godwit: GodwitEngine, postgres: str | None, show_known: bool) -> None:
        self.godwit = godwit
        self.duckdb = DuckDBEngine()
        self.postgres = PostgresEngine(postgres) if postgres else None
        self.show_known = show_known
        self.outcomes: Counter[str] = Counter()
        self.functions: set[str] = set()
        self.alone: set[str] = set()
        self.as_postgres: set[str] = set()
        self.used: Counter[str] = Counter()
        # What Godwit gives for calls with constants.
        self.constants: dict[Call, Answer] = {}

    def compare(self, forms: list[Form]) -> None:
        """Calls with constants, in all engines."""
        calls = list(dict.fromkeys(call for form in forms for call in form.calls))
        self.constants = dict(zip(calls, self.godwit.answers([call.sql for call in calls]), strict=True))
        oracles = {call: self.asked(call) for call in calls}
        expected: dict[Call, Answer] = {}
        for engine in (self.duckdb, self.postgres):
            asked = {call: sql for call, (oracle, sql) in oracles.items() if oracle is engine and engine is not None}
            expected |= zip(asked, engine.answers(list(asked.values())), strict=True) if asked else ()
        # Where the two differ, PostgreSQL's answer counts.
        doubtful = [call for call, answer in expected.items() if oracles[call][0] is self.duckdb and not same(self.constants[call], answer)]
        doubtful = [call for call in doubtful if self.postgres and call.name in self.postgres.functions]
        others = dict(zip(doubtful, self.postgres.answers([call.sql for call in doubtful]), strict=True)) if doubtful else {}
        for form in forms:
            differences = []
            for call in form.calls:
                self.functions.add(call.name)
                if call not in expected:
                    self.alone.add(call.name)
                    self.outcomes["without a counterpart"] += 1
                    continue
                outcome = self.judged(call, self.constants[call], expected[call], others.get(call))
                self.outcomes[outcome] += 1
                if outcome == "as PostgreSQL":
                    self.as_postgres.add(call.name)
                if outcome == "new" or self.show_known and outcome == "known":
                    also = f"; PostgreSQL: {others[call]}" if call in others else ""
                    differences.append(f"  {outcome} {call.sql}\n    Godwit: {self.constants[call]}; expected: {expected[call]}{also}")
            show(str(form), differences)

    def asked(self, call: Call) -> tuple[DuckDBEngine | PostgresEngine | None, str]:
        """Who is asked, and the call in its words."""
        if (other := OTHER_NAMES.get(call.name)) is not None:
            return self.duckdb, call_of(other, call.arguments)
        for engine in (self.duckdb, self.postgres):
            if engine and (call.name in engine.functions or not call.name[0].isalpha()):
                return engine, call.sql
        return None, ""

    def judged(self, call: Call, actual: Answer, expected: Answer, other: Answer | None) -> str:
        if same(actual, expected):
            return "equal"
        for known in KNOWN:
            if known.fits(call, actual, expected):
                self.used[known.reason] += 1
                return "known"
        if other is not None and same(actual, other):
            return "as PostgreSQL"
        return "new"

    def compare_columns(self, forms: list[Form], rng: random.Random) -> None:
        """Arguments in columns, against the same ones as constants."""
        for form, complaints, compared in columns.compare(self.godwit, forms, self.constants, rng):
            self.outcomes["in columns"] += compared
            self.outcomes["new"] += len(complaints)
            show(str(form), complaints)

    def compare_aggregates(self, queries: list[aggregates.Query]) -> None:
        actual = self.godwit.rows(aggregates.SETUP, [query.sql for query in queries])
        by_name = defaultdict(list)
        for query, rows, expected in zip(queries, actual, aggregates.expected(queries), strict=True):
            self.functions.add(query.name)
            complaint = aggregates.difference(query, rows, expected)
            outcome = "equal"
            if complaint:
                known = next((known for known in KNOWN if known.fits_aggregate(query.name, query.sql, aggregates.told(rows), aggregates.told(expected))), None)
                outcome = "known" if known else "new"
                if known:
                    self.used[known.reason] += 1
                else:
                    by_name[query.name].append(f"  {query.sql}\n    {complaint}")
            self.outcomes[outcome] += 1
        for name, differences in by_name.items():
            show(name, differences)

    def summary(self) -> int:
        for reason, count in sorted(self.used.items()):
            print(f"{count:6} {reason}")
        for known in KNOWN:
            if known.reason not in self.used:
                print(f"  none {known.reason}")
        if self.as_postgres:
            print(f"as in PostgreSQL, not as in DuckDB: {', '.join(sorted(self.as_postgres))}")
        if self.alone:
            print(f"compared with itself only{'' if self.postgres else ' (without PostgreSQL)'}: {', '.join(sorted(self.alone))}")
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        print(f"{len(self.functions)} functions, {self.outcomes.total()} calls: {counts}")
        return 1 if self.outcomes["new"] else 0


def show(title: str, differences: list[str]) -> None:
    if differences:
        print(f"{title}: {len(differences)}")
        print("\n".join(differences[:SHOWN_MAX]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
