"""Plots of a run: times per query, and ratios to the reference engine."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from measure import Measurements, geometric_mean, ratios

COLORS = {
    "godwit": "#c44e52",
    "duckdb": "#dd9f2e",
    "datafusion": "#4c72b0",
    "polars": "#64a58c",
    "hyper": "#8172b3",
}
GROUP_WIDTH = 0.84


def plot(measurements: Measurements, engines: list[str], reference: str, title: str, file: Path) -> None:
    """Writes a PNG."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(14, 8), sharex=True, layout="constrained")
    figure.suptitle(title)
    queries = list(measurements)
    for position, engine in enumerate(engines):
        medians = {query: m[engine].median for query, m in measurements.items() if m[engine].median}
        label = f"{engine}: sum {sum(medians.values()):.2f} s, geometric mean {geometric_mean(medians.values()):.3f} s"
        _bars(top, queries, medians, position, len(engines), engine, label)
        if reference in engines and engine != reference:
            against = ratios(measurements, engine, reference)
            label = f"{engine}: geometric mean {geometric_mean(against.values()):.2f}"
            _bars(bottom, queries, against, position, len(engines), engine, label)
    top.set(yscale="log", ylabel="seconds (median)")
    bottom.set(yscale="log", ylabel=f"times as long as {reference}")
    bottom.axhline(1, color=COLORS[reference], linewidth=1.5)
    bottom.set_xticks(range(len(queries)), queries)
    for axes in (top, bottom):
        axes.grid(axis="y", which="both", alpha=0.25)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small", ncols=3, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    figure.savefig(file, dpi=130)
    plt.close(figure)


def _bars(
    axes: Any, queries: list[str], values: dict[str, float], position: int, of: int, engine: str, label: str
) -> None:
    width = GROUP_WIDTH / of
    offset = (position - (of - 1) / 2) * width
    places = [index + offset for index, query in enumerate(queries) if query in values]
    axes.bar(places, [values[query] for query in queries if query in values], width, color=COLORS[engine], label=label)
