"""Repeats the experiments of Stefan Noll's thesis "Resource-Efficient Data Processing", chapter 4, on a modelled cache.

    cargo build --release -p godwit-cache --example partitioning_model
    python bench/insight.py
    cargo build --release -p godwit-cli && cargo build --release -p godwit --example cache_switching
    python bench/insight.py --parts classes,switching

The last two are about Godwit itself, over TPC-H: cache_classes.py.

The example simulates the thesis's last-level cache (55 MiB in 20 ways, 22 cores) and operators at their full sizes;
crates/godwit-cache/src/model/mod.rs says how, and what is left out.

    cache_sizes   figures 4.3 to 4.7: throughput of operators alone, over the size of the cache
    side_by_side  figures 4.10 to 4.14: an aggregation beside a scan or a join, partitioned and not

The thesis's figures are drawn beside the model's as far as its text tells their numbers (the marks). Writes a table to the
terminal, and the plots and the example's tables to bench/results.
"""

import argparse
import csv
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from cache_classes import print_classes, print_switching
from options import DATA, SHELL, list_of
from suites import tpch
from suites.base import Options, Suite

ROOT = Path(__file__).resolve().parent.parent
MIB_PER_WAY = 55 / 20
FIGURES_ALONE = {
    "4.3": "4.3  column scan",
    "4.4": "4.4  grouping, dictionary 4 MiB",
    "4.5": "4.5  grouping, dictionary 40 MiB",
    "4.6": "4.6  grouping, dictionary 400 MiB",
    "4.7": "4.7  foreign-key join",
}
FIGURES_BESIDE = {
    "4.10": "4.10  scan, dictionary 4 MiB",
    "4.11": "4.11  scan, dictionary 40 MiB",
    "4.12": "4.12  scan, dictionary 400 MiB",
    "4.13": "4.13  join of 10⁶ keys, dictionary 40 MiB",
    "4.14": "4.14  join of 10⁸ keys, dictionary 40 MiB",
}
SCHEMES = {"whole": "#c44e52", "10 %": "#4c72b0", "60 %": "#64a58c"}
# Groups that the thesis has; the model goes one power further.
GROUPS_OF_THESIS = [10**2, 10**3, 10**4, 10**5, 10**6]


@dataclass(frozen=True)
class Told:
    """What the thesis's text tells: throughput from `low` to `high` for some groups or keys, at a cache size."""

    low: float
    high: float
    of: tuple[int, ...]
    mib: float = 5.5


# Section 4.3. What is said of "up to" is the lowest of its curves.
TOLD_ALONE = {
    "4.3": [Told(0.97, 1.0, (0,))],
    "4.4": [
        Told(0.50, 0.54, (10**2, 10**3, 10**4)),
        Told(0.33, 0.33, (10**5,)),
        Told(0.54, 0.54, (10**6,)),
        Told(0.72, 0.72, (10**6,), mib=25),
    ],
    "4.5": [Told(0.38, 0.45, (10**2, 10**3, 10**4, 10**5)), Told(0.66, 0.66, (10**6,))],
    "4.6": [Told(0.60, 0.69, (10**2, 10**3, 10**4, 10**6)), Told(0.46, 0.46, (10**5,))],
    "4.7": [Told(0.86, 0.95, (10**6, 10**7, 10**9)), Told(0.67, 0.67, (10**8,))],
}

# Section 4.5: what partitioning adds to the throughput of the aggregation and of its companion, at most.
TOLD_GAINS = {
    ("4.10", "10 %"): ("+20 % (10⁵ groups)", "+3 %"),
    ("4.11", "10 %"): ("up to +21 %, less from 10⁶", "up to +6 %"),
    ("4.12", "10 %"): ("+3 to +9 %", "-"),
    ("4.13", "10 %"): ("up to +38 %, none at 10⁶", "up to +7 %"),
    ("4.14", "10 %"): ("up to +19 %", "-15 to -31 %"),
    ("4.14", "60 %"): ("up to +9 %", "±2 %"),
}
# The aggregation's and its companion's throughput without partitioning, by groups.
TOLD_BESIDE = {
    "4.10": (
        [Told(0.80, 0.80, (10**4,)), Told(0.66, 0.66, (10**5,))],
        [Told(0.89, 0.89, (10**5,)), Told(0.69, 0.69, (10**6,))],
    ),
    "4.11": ([Told(0.55, 0.60, (10**2, 10**3, 10**4, 10**5))], [Told(0.84, 0.84, (10**5,))]),
    "4.12": ([Told(0.60, 0.66, tuple(GROUPS_OF_THESIS))], [Told(0.68, 0.81, tuple(GROUPS_OF_THESIS))]),
    "4.13": ([Told(0.41, 0.41, (10**5,)), Told(0.51, 0.51, (10**6,))], [Told(0.63, 0.63, (10**5,))]),
    "4.14": ([Told(0.49, 0.49, (10**5,))], [Told(0.70, 0.70, (10**5,))]),
}

Row = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, default=ROOT / "target/release/examples/partitioning_model")
    parser.add_argument("--data", type=Path, help="tables of an earlier run of the example, instead of a new one")
    parser.add_argument("--policy", choices=["rrip", "lru", "plru"], default="rrip", help="replacement of the cache")
    parser.add_argument("--output", type=Path, default=ROOT / "bench/results")
    parser.add_argument("--parts", type=list_of(PARTS, "part"), default=["model"], help=f"of {', '.join(PARTS)} [model]")
    parser.add_argument("--scale", type=float, help="of TPC-H [1]")
    parser.add_argument("--tables", type=Path, default=DATA, help=f"folder where TPC-H is kept between runs [{DATA}]")
    parser.add_argument("--godwit", type=Path, default=SHELL, help="the shell")
    parser.add_argument("--example", type=Path, default=ROOT / "target/release/examples/cache_switching")
    parser.add_argument("--turns", type=int, default=40, help="of switching")
    arguments = parser.parse_args()
    for part in arguments.parts:
        PARTS[part](arguments)


def model(arguments: argparse.Namespace) -> None:
    """The thesis's experiments."""
    data = arguments.data or arguments.output / f"insight-{arguments.policy}"
    if not arguments.data:
        policy = [] if arguments.policy == "rrip" else [arguments.policy]
        subprocess.run([arguments.model, data, *policy], check=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    alone, beside = read(data / "cache_sizes.csv"), read(data / "side_by_side.csv")
    print_alone(alone)
    print_beside(beside)
    plot_alone(alone, arguments.output / "cache_sizes.png")
    plot_beside(beside, arguments.output / "side_by_side.png")


def tpch_of(arguments: argparse.Namespace) -> Suite:
    return tpch.suite(Options(scale=arguments.scale, data=arguments.tables, godwit=arguments.godwit))


def classes(arguments: argparse.Namespace) -> None:
    """What operators say, and the classes of pipelines."""
    suite = tpch_of(arguments)
    print_classes(arguments.godwit, suite.tables, suite.queries)


def switching(arguments: argparse.Namespace) -> None:
    """What moving threads costs."""
    suite = tpch_of(arguments)
    print_switching(arguments.example, suite.tables["lineitem"].parent, suite.queries, arguments.turns)


PARTS = {"model": model, "classes": classes, "switching": switching}


def read(file: Path) -> list[Row]:
    with file.open() as lines:
        return list(csv.DictReader(lines))


def parameter(row: Row) -> int:
    """What distinguishes the curves of a figure: groups, or keys of a join alone."""
    return int(row["keys"] if row["figure"] == "4.7" else row["groups"])


def curves(alone: list[Row], figure: str) -> dict[int, dict[float, float]]:
    """Throughput by parameter and cache size in MiB."""
    found: dict[int, dict[float, float]] = defaultdict(dict)
    for row in alone:
        if row["figure"] == figure:
            found[parameter(row)][int(row["ways"]) * MIB_PER_WAY] = float(row["throughput"])
    return found


def print_alone(alone: list[Row]) -> None:
    print("Throughput alone in 5.5 MiB of 55, relative to the whole cache")
    for figure, title in FIGURES_ALONE.items():
        print(f"  {title}")
        for value, curve in curves(alone, figure).items():
            told = [t for t in TOLD_ALONE[figure] if value in t.of and t.mib == 5.5]
            thesis = " to ".join(f"{bound:.2f}" for bound in sorted({told[0].low, told[0].high})) if told else "-"
            print(f"    {power(value):<6} model {curve[2 * MIB_PER_WAY]:.2f}   thesis {thesis}")


def print_beside(beside: list[Row]) -> None:
    print("Gains by partitioning: throughput of the aggregation / its companion, by groups")
    for figure, title in FIGURES_BESIDE.items():
        by_scheme = side_by_side(beside, figure)
        for scheme, lines in by_scheme.items():
            if scheme == "whole":
                continue
            gains = [
                f"{power(groups)} {percent(lines[groups], by_scheme['whole'][groups])}" for groups in GROUPS_OF_THESIS
            ]
            told = " / ".join(TOLD_GAINS.get((figure, scheme), ("-", "-")))
            print(f"  {title}, companion in {scheme}\n    model  {'   '.join(gains)}\n    thesis {told}")


def side_by_side(beside: list[Row], figure: str) -> dict[str, dict[int, tuple[float, float]]]:
    """Throughput of the aggregation and its companion, by scheme and groups."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in beside:
        if row["figure"] == figure:
            found[row["scheme"]][int(row["groups"])].append(float(row["throughput"]))
    return {scheme: {groups: (pair[0], pair[1]) for groups, pair in lines.items()} for scheme, lines in found.items()}


def percent(after: tuple[float, float], before: tuple[float, float]) -> str:
    return "/".join(f"{100 * (new / old - 1):+.0f} %" for new, old in zip(after, before, strict=True))


def power(value: int) -> str:
    superscripts = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
    return "10" + str(len(str(value)) - 1).translate(superscripts) if value else "scan"


def plot_alone(alone: list[Row], file: Path) -> None:
    figure, panels = plt.subplots(1, 5, figsize=(19, 4), sharey=True, layout="constrained")
    figure.suptitle("Throughput alone by cache size: model (lines), thesis's text (marks)")
    for axes, (name, title) in zip(panels, FIGURES_ALONE.items(), strict=True):
        for index, (value, curve) in enumerate(curves(alone, name).items()):
            axes.plot(list(curve), list(curve.values()), color=f"C{index}", label=power(value))
            for told in (t for t in TOLD_ALONE[name] if value in t.of):
                mark(axes, told.mib + 0.5 * (index - 1), told, f"C{index}")
        axes.set(title=title, xlabel="cache in MiB", xlim=(0, 56), ylim=(0, 1.08))
        axes.legend(fontsize=8, loc="lower right", title="keys" if name == "4.7" else "groups")
    panels[0].set_ylabel("throughput, whole cache = 1")
    panels[0].get_legend().remove()
    figure.savefig(file, dpi=110)


def plot_beside(beside: list[Row], file: Path) -> None:
    figure, panels = plt.subplots(2, 5, figsize=(19, 7), sharex=True, sharey=True, layout="constrained")
    figure.suptitle("Throughput side by side, alone = 1: model (lines), thesis's text without partitioning (marks)")
    for column, (name, title) in enumerate(FIGURES_BESIDE.items()):
        for scheme, lines in side_by_side(beside, name).items():
            for row in (0, 1):
                values = [pair[row] for pair in lines.values()]
                panels[row][column].plot(list(lines), values, marker=".", color=SCHEMES[scheme], label=scheme)
        for row in (0, 1):
            axes = panels[row][column]
            for told in TOLD_BESIDE[name][row]:
                for groups in told.of:
                    mark(axes, groups, told, SCHEMES["whole"])
            told_here = {scheme: both for (of, scheme), both in TOLD_GAINS.items() if of == name}
            gains = (f"thesis, {scheme}: {both[row]}" for scheme, both in told_here.items())
            axes.text(0.02, 0.03, "\n".join(gains), transform=axes.transAxes, fontsize=8)
            axes.set(xscale="log", ylim=(0, 1.08))
        panels[0][column].set_title(title, fontsize=10)
        panels[1][column].set_xlabel("groups")
    panels[0][0].set_ylabel("aggregation")
    panels[1][0].set_ylabel("companion")
    panels[0][-1].legend(title="companion's cache", fontsize=8, loc="lower right")
    figure.savefig(file, dpi=110)


def mark(axes: Axes, x: float, told: Told, color: str) -> None:
    """A cross, or a bar where the text gives a range."""
    middle, half = (told.low + told.high) / 2, (told.high - told.low) / 2
    axes.errorbar(x, middle, yerr=half or None, color=color, marker="x", markersize=7, capsize=3, linestyle="none")


if __name__ == "__main__":
    main()
