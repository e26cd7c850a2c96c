"""Simulates compaction in the paper's cost model (sections 3.2 to 3.4, figure 5).

A pipeline of k operators gets full chunks. Each leaves as many rows as it got, in chunks a r-th as large; sizes vary by
chance. What compaction costs and saves is counted, not measured. `sort` is the paper's near-optimal reference: it sees
all chunks, and compacts the smallest first.
"""

import numpy as np

CHUNK_ROWS = 2048
ROWS = 200 * CHUNK_ROWS
# In the proportions that the paper measured: a compaction, a row of it, an operator's call, a row of it.
C1, C2, C3, C4 = 0.25, 0.04, 2.4, 0.08
BINARY_ROWS = 128
FACTORS = [2, 4, 16, 64, 256]
STRATEGIES = ["none", "full", "binary", "dynamic", "sort"]


def figure() -> dict[str, dict[str, dict[float, float]]]:
    """Costs by panel, strategy and chunk-reducing factor, in milliseconds of the paper's machine."""
    panels = {}
    for operators in (3, 4, 5):
        for row_cost, rows in ((C2, ""), (10 * C2, ", wide rows")):
            lines = {
                strategy: {float(r): simulate(strategy, operators, r, row_cost) / 1000 for r in FACTORS}
                for strategy in STRATEGIES
            }
            panels[f"{operators} operators{rows}"] = lines
    for title, lines in panels.items():
        for strategy, costs in lines.items():
            print(f"  {title:>25}  {strategy:<8}" + "".join(f"{cost:>10.1f}" for cost in costs.values()))
    return panels


def simulate(strategy: str, operators: int, factor: int, row_cost: float) -> float:
    rng = np.random.default_rng(factor)
    chunks = np.full(ROWS // CHUNK_ROWS, CHUNK_ROWS)
    cost = 0.0
    for followers in reversed(range(operators)):
        cost += len(chunks) * C3 + chunks.sum() * C4
        chunks = reduce(chunks, factor, rng)
        if followers:
            chunks, spent = compact(strategy, chunks, factor, followers, row_cost)
            cost += spent
    return cost


def reduce(chunks: np.ndarray, factor: int, rng: np.random.Generator) -> np.ndarray:
    """Each chunk's rows, spread over `factor` chunks by chance; empty ones don't come out."""
    of_row = np.repeat(np.arange(len(chunks)), chunks) * factor + rng.integers(0, factor, chunks.sum())
    return np.unique(of_row, return_counts=True)[1]


def compact(
    strategy: str, chunks: np.ndarray, factor: int, followers: int, row_cost: float
) -> tuple[np.ndarray, float]:
    """What follows the compactor, and what it cost."""
    if strategy == "none":
        return chunks, 0.0
    if strategy == "sort":
        return compact_sorted(chunks, factor, followers, row_cost)
    threshold = {
        "full": CHUNK_ROWS - 1,
        "binary": BINARY_ROWS,
        "dynamic": threshold_of_model(factor, followers, row_cost),
    }[strategy]
    small = chunks[chunks <= threshold]
    room = CHUNK_ROWS if strategy == "full" else CHUNK_ROWS - threshold
    merged = np.full(-(-small.sum() // max(room, 1)), min(room, CHUNK_ROWS)) if len(small) else small
    return np.concatenate([chunks[chunks > threshold], merged]), len(small) * C1 + small.sum() * row_cost


def gains(buffered: float, rows: float, factor: int, followers: int, row_cost: float) -> float:
    """What it saves to add a chunk to the buffer (equation 2)."""
    reductions = [factor**j for j in range(1, followers)]
    saved = sum(min(r, buffered) + min(r, rows) - min(r, buffered + rows) for r in reductions)
    return C3 - (C1 + rows * row_cost) + C3 * saved


def threshold_of_model(factor: int, followers: int, row_cost: float) -> int:
    half = CHUNK_ROWS // 2
    return max((rows for rows in range(half + 1) if gains(half, rows, factor, followers, row_cost) >= 0), default=0)


def compact_sorted(chunks: np.ndarray, factor: int, followers: int, row_cost: float) -> tuple[np.ndarray, float]:
    ordered = np.sort(chunks)
    emitted, buffered, spent = [], 0, 0.0
    for place, rows in enumerate(ordered):
        if buffered and gains(buffered, rows, factor, followers, row_cost) < 0:
            return np.array([*emitted, buffered, *ordered[place:]]), spent
        if buffered + rows > CHUNK_ROWS:
            emitted.append(buffered)
            buffered = 0
        spent += C1 + rows * row_cost
        buffered += rows
    return np.array([*emitted, buffered]), spent
