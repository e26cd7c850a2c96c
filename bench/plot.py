"""Plots of a run: times per query and ratios to the reference engine, or times over a parameter."""

import math
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from measure import Measurements, geometric_mean, ratios
from suites import Panel

COLORS = {
    "godwit": "#c44e52",
    "godwit-other": "#7f7f7f",
    "godwit-native": "#e377a2",
    "godwit-unweighted": "#d98880",
    "godwit-equality": "#a04000",
    "godwit-equity": "#7b241c",
    "duckdb": "#dd9f2e",
    "duckdb-native": "#8c6d1f",
    "datafusion": "#4c72b0",
    "polars": "#64a58c",
    "hyper": "#8172b3",
    "hyper-native": "#4b3f72",
    "clickhouse": "#5f5f5f",
}
GROUP_WIDTH = 0.84
PANELS_PER_ROW = 4
PANEL_INCHES = 3.4


def plot(
    measurements: Measurements, engines: list[str], reference: str, title: str, panels: list[Panel], file: Path
) -> None:
    """Writes a PNG."""
    if panels:
        _plot_panels(measurements, engines, title, panels, file)
    else:
        _plot_bars(measurements, engines, reference, title, file)


def _plot_bars(measurements: Measurements, engines: list[str], reference: str, title: str, file: Path) -> None:
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(14, 8), sharex=True, layout="constrained")
    figure.suptitle(title)
    queries = list(measurements)
    for position, engine in enumerate(engines):
        medians = {query: m[engine].median for query, m in measurements.items() if m[engine].median}
        label = f"{engine}: sum {sum(medians.values()):.2f} s, geometric mean {geometric_mean(medians.values()):.3f} s"
        failed = len(queries) - len(medians)
        _bars(top, queries, medians, position, len(engines), engine, label + (f", {failed} failed" if failed else ""))
        if reference in engines and engine != reference:
            against = ratios(measurements, engine, reference)
            label = f"{engine}: geometric mean {geometric_mean(against.values()):.2f}"
            _bars(bottom, queries, against, position, len(engines), engine, label)
    top.set(yscale="log", ylabel="seconds (median)")
    bottom.set(yscale="log", ylabel=f"times as long as {reference}")
    bottom.axhline(1, color=COLORS[reference], linewidth=1.5)
    bottom.set_xticks(range(len(queries)), queries, rotation=0 if len(queries) < 12 or len(queries[0]) < 4 else 45)
    for axes in (top, bottom):
        tidy(axes)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize="small", ncols=3, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
    save(figure, file)


def _bars(
    axes: Any, queries: list[str], values: dict[str, float], position: int, of: int, engine: str, label: str
) -> None:
    width = GROUP_WIDTH / of
    offset = (position - (of - 1) / 2) * width
    places = [index + offset for index, query in enumerate(queries) if query in values]
    axes.bar(places, [values[query] for query in queries if query in values], width, color=COLORS[engine], label=label)


def _plot_panels(measurements: Measurements, engines: list[str], title: str, panels: list[Panel], file: Path) -> None:
    figure, all_axes = panel_axes(len(panels))
    figure.suptitle(title)
    for axes, panel in zip(all_axes, panels, strict=True):
        points = [(x, query) for x, query in panel.points if query in measurements]
        for engine in engines:
            times = [(x, measurements[query][engine].median or math.nan) for x, query in points]
            failed = [x for x, query in points if measurements[query][engine].error]
            line(axes, engine, times, failed, "failed")
        axes.set(title=panel.title, xlabel=panel.label, ylabel="seconds (median)", ylim=(0, None))
        axes.set_xticks([x for x, _ in panel.points])
        tidy(axes)
    all_axes[0].legend(fontsize="small", frameon=False)
    save(figure, file)


def panel_axes(count: int) -> tuple[Any, list[Any]]:
    """A figure with this many axes."""
    columns = min(count, PANELS_PER_ROW)
    rows = math.ceil(count / columns)
    size = (PANEL_INCHES * columns + 1, PANEL_INCHES * rows + 0.6)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    all_axes = list(grid.flat)
    for unused in all_axes[count:]:
        unused.remove()
    return figure, all_axes[:count]


def line(axes: Any, engine: str, times: list[tuple[float, float]], failed: list[float], failure: str) -> None:
    """Times of an engine over a parameter; where it failed, a cross at the bottom."""
    axes.plot(*zip(*times, strict=True), marker="o", markersize=4, color=COLORS[engine], label=engine)
    if failed:
        # The engines' crosses beside each other.
        height = 0.02 + 0.02 * list(COLORS).index(engine)
        transform = axes.get_xaxis_transform()
        axes.plot(failed, [height] * len(failed), "x", color=COLORS[engine], transform=transform, clip_on=False)
        axes.plot([], [], "x", color=COLORS[engine], label=f"{engine} {failure}")


def tidy(axes: Any) -> None:
    axes.grid(axis="y", which="both", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Any, file: Path) -> None:
    figure.savefig(file, dpi=130)
    plt.close(figure)
