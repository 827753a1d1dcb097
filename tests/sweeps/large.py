"""A handful of large questions beside brute force in blocks of memory.

    python -m tests.sweeps.large 10000000

asks studies of about 10,000,000 points (at most 100,000,000 are meant) for the best of each of
100,000 labels, the first 10,000, 100,000 ties, a certified optimum, counts and quantiles; brute
force goes over the same formulas in NumPy, some rows of the first axis at a time. What differs is
printed; the status is 1 then. It takes minutes, and less than 8 GiB.
"""

from __future__ import annotations

import math
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse
from tests.sweeps.attack_large import EQUATIONS
from tests.sweeps.attack_models import Drawn, made

Floats = NDArray[np.float64]
#: Points of which brute force looks at about as many together.
BLOCK = 1 << 22


def study_of(folder: Path, axes: dict[str, range]) -> dse.Study:
    """A study of the formulas of large draws, over some axes."""
    rest = {name: 3.0 for name in "abcd" if name not in axes}
    plain: dict[str, Any] = {name: list(map(float, values)) for name, values in axes.items()}
    one = Drawn(equations=EQUATIONS, axes=plain, set=rest, question={}, ask="large")
    return made(one, folder / f"large_{'_'.join(axes)}.py")


def blocks(axes: dict[str, range], value: Callable[..., Any]) -> Iterator[tuple[int, Floats]]:
    """Yield a formula at all points, a few rows of the first axis at a time, and the first row."""
    first, *others = axes.values()
    mesh = np.meshgrid(*(np.array(o, dtype=float) for o in others), indexing="ij", sparse=True)
    step = max(BLOCK // math.prod(map(len, others)), 1)
    for low in range(0, len(first), step):
        rows = np.array(first[low : low + step], dtype=float)
        rows = rows.reshape(-1, *(1 for _ in others))
        shape = (rows.shape[0], *map(len, others))
        with np.errstate(all="ignore"):
            yield low, np.broadcast_to(value(rows, *mesh), shape).reshape(shape[0], -1)


def cost(a: Any, b: Any, c: Any) -> Any:
    near = a - 50 * np.floor(a / 50)
    return (b - near) * (b - near) + c


def steps(a: Any, b: Any, d: Any) -> Any:
    return np.floor((a + 2 * b) / 16) + np.floor(d / 4)


def smallest(parts: Iterator[tuple[int, Floats]], count: int) -> tuple[NDArray[np.int64], Floats]:
    """The places and values of the smallest ``count`` of all blocks, earlier ones first."""
    places, values = np.empty(0, dtype=np.int64), np.empty(0)
    for low, block in parts:
        flat = block.reshape(-1)
        limit = np.partition(flat, count - 1)[count - 1] if flat.size > count else math.inf
        some = np.flatnonzero(flat <= limit)
        places = np.concatenate([places, some + low * block.shape[1]])
        values = np.concatenate([values, flat[some]])
        order = np.lexsort((places, values))[:count]
        places, values = places[order], values[order]
    return places, values


def same(actual: Any, true: Any, what: str) -> str:
    """Return what differs, or nothing."""
    actual, true = np.asarray(actual), np.asarray(true)
    if actual.shape == true.shape and np.array_equal(actual, true, equal_nan=True):
        return ""
    wrong = (
        np.count_nonzero(actual != true) if actual.shape == true.shape else f"shape {actual.shape}"
    )
    return f"{what}: {wrong} differ from brute force"


def each_of_many_labels(points: int, folder: Path) -> str:
    """The best for each of 100,000 values of an axis, and where it lies."""
    axes = {"a": range(100_000), "b": range(50), "c": range(max(points // 5_000_000, 1))}
    result = study_of(folder, axes).optimum(minimize="cost", per="a", method="scan")
    row = np.concatenate([block.argmin(axis=1) for _, block in blocks(axes, cost)])
    value = np.concatenate([block.min(axis=1) for _, block in blocks(axes, cost)])
    count = len(axes["c"])
    return (
        same(result.b, row // count, "b of each a")
        or same(result.c, row % count, "c of each a")
        or same(result.cost, value, "the least cost of each a")
    )


def first_of_many(points: int, folder: Path) -> str:
    """The first 10,000, many of which tie with others that are left out."""
    axes = {"a": range(points // 40_000), "b": range(200), "d": range(200)}
    result = study_of(folder, axes).optimum(minimize="steps", top=10_000, method="scan")
    places, values = smallest(blocks(axes, steps), 10_000)
    number = (result.a * 200 + result.b) * 200 + result.d
    return same(number, places, "the first") or same(result.steps, values, "their values")


def many_ties(points: int, folder: Path) -> str:
    """About 100,000 configurations that are equally good."""
    axes = {"a": range(points // 250_000), "b": range(500), "d": range(500)}
    study = study_of(folder, axes)
    formula = f"minimum(0, absolute(steps - {len(axes['a']) // 32 + 60}) - 1)"
    result = study.optimum(minimize=formula, within=0, method="scan")
    level = len(axes["a"]) // 32 + 60
    places = [
        np.flatnonzero(block.reshape(-1) == level) + low * block.shape[1]
        for low, block in blocks(axes, steps)
    ]
    number = (result.a * 500 + result.b) * 500 + result.d
    few = "" if number.size > 50_000 else f"only {number.size} ties were asked for"
    return few or same(number, np.concatenate(places), f"{number.size:,} ties")


def certify(points: int, folder: Path) -> str:
    """A proof, which does not look at every point."""
    axes = {"a": range(points // 10_000), "b": range(100), "c": range(-50, 50)}
    result = study_of(folder, axes).optimum(minimize="cost", where="a > 20", method="certified")
    places, values = smallest(
        blocks(axes, lambda a, b, c: np.where(a > 20, cost(a, b, c), math.inf)), 1
    )
    number = (int(result.a) * 100 + int(result.b)) * 100 + int(result.c) + 50
    return same([number, result.attrs["gap"]], [places[0], 0], "the place and the gap") or same(
        float(result.cost), values[0], "the least cost"
    )


def check_count(points: int, folder: Path) -> str:
    """Check feasible counts, in all and for each label, and quantiles."""
    axes = {"a": range(points // 40_000), "b": range(200), "d": range(200)}
    study = study_of(folder, axes)
    per = study.count(where="steps >= 40", per="b").feasible_points
    true = sum((b.reshape(-1, 200, 200) >= 40).sum(axis=(0, 2)) for _, b in blocks(axes, steps))
    levels = [0.0, 0.1, 0.5, 0.999, 1.0]
    number = study.quantiles("steps", q=levels)
    every = np.sort(np.concatenate([block.reshape(-1) for _, block in blocks(axes, steps)]))
    ranks = [max(math.ceil(round(level * every.size, 6)), 1) - 1 for level in levels]
    return same(per, true, "feasible ones of each b") or same(
        next(iter(number.data_vars.values())), every[ranks], "quantiles"
    )


def main(points: int) -> int:
    """Ask each question; return the exit status."""
    wrong = 0
    for ask in (each_of_many_labels, first_of_many, many_ties, certify, check_count):
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            text = ask(points, Path(folder))
        wrong += bool(text)
        print(f"{ask.__name__:20} {time.perf_counter() - began:6.1f} s  {text or 'as brute force'}")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{wrong} differ from brute force; at most {most:.1f} GiB")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
