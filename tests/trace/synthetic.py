"""A trace of memory that no engine made: what a query over skewed TPC-H would do, for tests of the analyses and of the page.

    python tests/trace/synthetic.py trace.parquet [--samples 200000] [--seed 19]

The query filters lines by their date, decodes prices, probes a join table, sorts what is left and gives it out:

    scan      l_shipdate in order, by two threads that take segments in turn; l_extendedprice's codes where the filter passes
    decode    l_extendedprice's dictionary at random, a third of it at twenty values
    probe     l_orderkey's codes in order, and the slots of a join table at random, five of them hot
    sort      a run from both ends towards the middle, in ever shorter parts, as quicksort does
    result    the result in order

A few samples belong to no object.
"""

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import pyarrow
import pyarrow.parquet

SEGMENT_ROWS = 122_880
SEGMENTS = 16
ROWS = SEGMENTS * SEGMENT_ROWS
PRICES = 60_000
HOT_PRICES = 20
SLOTS = 1 << 18
HOT_SLOTS = 5
SORTED_ROWS = 400_000
ONE_IN = 1_000
NANOS_PER_SAMPLE = 9_000
# Rows that pass the filter, by segment: of two years of seven.
PASSED = range(4, 9)


@dataclass
class Trace:
    """Objects, and samples by thread in the order of time."""

    random: numpy.random.Generator
    objects: list[dict] = field(default_factory=list)
    columns: list[dict] = field(default_factory=list)
    time: int = 0
    address: int = 0x7F00_0000_0000

    def object(self, path: str, kind: str, size: int, **details: object) -> int:
        number = len(self.objects)
        nothing = {"entry_bytes": None, "table": None, "column": None, "query": None, "first_row": None, "rows": None}
        ranges = [{"address": self.address, "bytes": size, "offset": 0, "from": 0, "until": None}]
        self.objects.append(
            {"id": number, "path": path, "kind": kind, "bytes": size, **nothing, "entries": [], **details, "ranges": ranges}
        )
        self.address += (size + 4095) // 4096 * 4096 + 4096
        return number

    def samples(self, number: int | None, thread: int, offsets: numpy.ndarray, entries: numpy.ndarray | None, begin: int, end: int) -> None:
        """Samples of one object by one thread, spread over a time."""
        count = len(offsets)
        times = numpy.sort(self.random.integers(begin, max(end, begin + 1), count))
        base = self.objects[number]["ranges"][0]["address"] if number is not None else 0x5500_0000_0000
        self.columns.append(
            {
                "time": pyarrow.array(times, pyarrow.int64()),
                "thread": pyarrow.array(numpy.full(count, thread), pyarrow.int32()),
                "address": pyarrow.array(base + offsets, pyarrow.uint64()),
                "object": pyarrow.array([number] * count, pyarrow.int32()),
                "offset": pyarrow.array(offsets if number is not None else [None] * count, pyarrow.int64()),
                "entry": pyarrow.array(entries if entries is not None else [None] * count, pyarrow.int64()),
            }
        )

    def write(self, path: Path, statements: list[str]) -> None:
        columns = {name: pyarrow.concat_arrays([part[name] for part in self.columns]) for name in self.columns[0]}
        table = pyarrow.table(columns).sort_by([("thread", "ascending"), ("time", "ascending")])
        header = {
            "version": 1,
            "source": "software",
            "one_in": ONE_IN,
            "duration_nanos": self.time,
            "samples": table.num_rows,
            "lost": 0,
            "statements": statements,
            "objects": self.objects,
        }
        table = table.replace_schema_metadata({"godwit.trace": json.dumps(header)})
        pyarrow.parquet.write_table(table, path, row_group_size=1 << 17)


def segments(trace: Trace, column: str, row_bytes: int, entry_bytes: int | None) -> list[int]:
    made = []
    for number in range(SEGMENTS):
        made.append(
            trace.object(
                f"tpch.main.lineitem.{column}.segment {number}",
                "segment",
                SEGMENT_ROWS * row_bytes,
                entry_bytes=entry_bytes,
                table="tpch.main.lineitem",
                column=column,
                first_row=number * SEGMENT_ROWS,
                rows=SEGMENT_ROWS,
            )
        )
    return made


def scan(trace: Trace, columns: list[tuple[list[int], int, range]], samples: int) -> None:
    """Columns in order, all of them at once, some segments only of some."""
    each = samples // sum(len(of) for _, _, of in columns)
    nanos = samples * NANOS_PER_SAMPLE // 2 // SEGMENTS
    for segment in range(SEGMENTS):
        thread = segment % 2
        begin = trace.time + segment // 2 * 2 * nanos
        for numbers, row_bytes, of in columns:
            if segment in of:
                rows = numpy.sort(trace.random.integers(0, SEGMENT_ROWS, each))
                trace.samples(numbers[segment], thread, rows * row_bytes, segment * SEGMENT_ROWS + rows, begin, begin + 2 * nanos)
    trace.time += SEGMENTS * nanos


def skewed(trace: Trace, entries: int, hot: int, share: float, samples: int) -> numpy.ndarray:
    """Entries at random, a share of them at a few."""
    of_hot = trace.random.choice(entries, hot, replace=False)
    weights = numpy.arange(hot, 0, -1) / numpy.arange(hot, 0, -1).sum()
    few = trace.random.choice(of_hot, int(samples * share), p=weights)
    every = trace.random.integers(0, entries, samples - len(few))
    return trace.random.permutation(numpy.concatenate([few, every]))


def quicksort(trace: Trace, number: int, samples: int) -> None:
    """Both ends of ever shorter parts towards their middle."""
    levels = 8
    per_level = samples // levels
    nanos = per_level * NANOS_PER_SAMPLE
    for level in range(levels):
        parts = 1 << level
        width = SORTED_ROWS // parts
        for part in range(parts):
            count = per_level // parts
            step = numpy.sort(trace.random.random(count)) * width / 2
            is_low = trace.random.random(count) < 0.5
            rows = (part * width + numpy.where(is_low, step, width - 1 - step)).astype(numpy.int64)
            begin = trace.time + nanos * part // parts
            trace.samples(number, part % 2, rows * 32, rows, begin, begin + nanos // parts)
        trace.time += nanos


def make(path: Path, samples: int, seed: int) -> None:
    trace = Trace(numpy.random.default_rng(seed))
    shipdate = segments(trace, "l_shipdate", 2, 2)
    price = segments(trace, "l_extendedprice", 4, 4)
    orderkey = segments(trace, "l_orderkey", 4, None)
    dictionary = trace.object(
        "tpch.main.lineitem.l_extendedprice.dictionary", "dictionary", PRICES * 8, entry_bytes=8,
        table="tpch.main.lineitem", column="l_extendedprice",
    )  # fmt: skip
    trace.object("tpch.main.orders.o_orderdate.segment 0", "segment", SEGMENT_ROWS * 2, entry_bytes=2,
                 table="tpch.main.orders", column="o_orderdate", first_row=0, rows=SEGMENT_ROWS)  # fmt: skip
    table = trace.object("query 7.hash join 2.join table", "join table", SLOTS * 16, entry_bytes=16, query=7)
    run = trace.object("query 7.sort 1.sort run", "sort run", SORTED_ROWS * 32, entry_bytes=32, query=7)
    result = trace.object("query 7.result", "result", SORTED_ROWS * 24, entry_bytes=24, query=7)

    scan(trace, [(shipdate, 2, range(SEGMENTS)), (price, 4, PASSED)], samples * 3 // 10)
    codes = skewed(trace, PRICES, HOT_PRICES, 1 / 3, samples // 5)
    trace.samples(dictionary, 0, codes * 8, codes, trace.time // 3, trace.time)
    hottest, _ = numpy.unique(codes, return_counts=True)
    hottest = numpy.bincount(codes, minlength=PRICES).argsort()[::-1][:100]
    trace.objects[dictionary]["entries"] = [{"entry": int(code), "value": f"{900 + code * 1.73:.2f}"} for code in hottest]
    begin = trace.time
    scan(trace, [(orderkey, 4, PASSED)], samples // 10)
    slots = skewed(trace, SLOTS, HOT_SLOTS, 1 / 4, samples // 5)
    trace.samples(table, 0, slots[::2] * 16, slots[::2], begin, trace.time)
    trace.samples(table, 1, slots[1::2] * 16, slots[1::2], begin, trace.time)
    quicksort(trace, run, samples * 15 // 100)
    rows = numpy.linspace(0, SORTED_ROWS - 1, samples // 25).astype(numpy.int64)
    trace.samples(result, 0, rows * 24, rows, trace.time, trace.time + len(rows) * NANOS_PER_SAMPLE)
    trace.time += len(rows) * NANOS_PER_SAMPLE
    trace.samples(None, 1, trace.random.integers(0, 1 << 20, samples // 100), None, 0, trace.time)
    trace.write(path, ["SELECT l_orderkey, l_extendedprice FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE l_shipdate BETWEEN DATE '1993-01-01' AND DATE '1994-12-31' ORDER BY l_extendedprice"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--samples", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=19)
    arguments = parser.parse_args()
    make(arguments.output, arguments.samples, arguments.seed)


if __name__ == "__main__":
    main()
