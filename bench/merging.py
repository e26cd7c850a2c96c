"""Queries while deltas become row groups in the background, against the same without: the bar is 80 % of their speed.

    cargo build --release -p godwit --example merging
    python bench/merging.py

Both run the same query again and again while rows are inserted at the same rate; only how often checkpoints are made differs.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = Path(__file__).parent.parent / "target/release/examples/merging"
WANTED = 0.8
# From how many bytes of log on a checkpoint is made: never, and several times a second.
RARELY, OFTEN = "10GB", "512KB"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=PROGRAM, help="the example `merging`")
    parser.add_argument("--folder", type=Path, help="where the files go [the system's folder for temporary files]")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4, help="of each run")
    arguments = parser.parse_args()
    rates: dict[str, list[float]] = {RARELY: [], OFTEN: []}
    merges = 0
    for _ in range(arguments.runs):
        for threshold in rates:
            with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                words = [arguments.program, Path(folder) / "x.godwit", threshold, arguments.seconds]
                run = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)
            queries, seconds, rows, checkpoints = run.stdout.split()
            rates[threshold].append(int(queries) / float(seconds))
            if threshold == OFTEN:
                merges += int(checkpoints)
            print(f"{threshold:>6}: {rates[threshold][-1]:6.1f} queries/s, {rows} rows inserted, {checkpoints} checkpoints")
    share = statistics.median(rates[OFTEN]) / statistics.median(rates[RARELY])
    print(f"{share:.2f} of the speed while merging ({WANTED} wanted), {merges} merges")
    return 0 if share >= WANTED and merges > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
