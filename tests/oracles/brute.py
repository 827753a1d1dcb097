"""Slow, obvious answers to questions: a list of dictionaries, one for each configuration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

Record = dict[str, Any]


def records(ds: xr.Dataset, axes: Sequence[str]) -> list[Record]:
    """Every configuration of a Dataset in the order of the axes, with ``index`` and ``place``."""
    result = []
    values = {str(name): np.asarray(ds[name].values) for name in ds.variables}
    dims = {str(name): [str(dim) for dim in ds[name].dims] for name in ds.variables}
    for place in itertools.product(*(range(ds.sizes[axis]) for axis in axes)):
        at = dict(zip(axes, place, strict=True))
        record: Record = {"index": len(result), "place": at}
        for name, array in values.items():
            record[name] = array[tuple(at[dim] for dim in dims[name])].item()
        result.append(record)
    return result


def counting(
    listed: Sequence[Record],
    objectives: Sequence[Callable[[Record], float]],
    allowed: Callable[[Record], bool] = lambda record: True,
) -> list[tuple[tuple[float, ...], Record]]:
    """The configurations that count, each with its objectives."""
    result = []
    for record in listed:
        scores = tuple(float(objective(record)) for objective in objectives)
        if record.get("feasible", True) and allowed(record) and all(map(math.isfinite, scores)):
            result.append((scores, record))
    return result


def best(
    listed: Sequence[Record],
    objective: Callable[[Record], float],
    *,
    allowed: Callable[[Record], bool] = lambda record: True,
    per: Sequence[str] = (),
    top: int = 1,
) -> dict[tuple[int, ...], list[Record]]:
    """For each place along ``per`` the ``top`` smallest, ties in the order of the axes."""
    groups: dict[tuple[int, ...], list[tuple[float, int, Record]]] = {}
    for (score,), record in counting(listed, [objective], allowed):
        place = tuple(record["place"][axis] for axis in per)
        groups.setdefault(place, []).append((score, record["index"], record))
    return {
        place: [record for _, _, record in sorted(group, key=lambda row: row[:2])[:top]]
        for place, group in groups.items()
    }


def dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    """True if a is nowhere worse than b and somewhere better."""
    return all(x <= y for x, y in zip(a, b, strict=True)) and tuple(a) != tuple(b)


def pareto(points: Sequence[Sequence[float]]) -> list[int]:
    """Indices of the points that none dominates; of equal ones the first; infinite ones never."""
    rows = [(tuple(map(float, p)), i) for i, p in enumerate(points) if all(map(math.isfinite, p))]
    front = []
    for row, i in rows:
        beaten = any(dominates(other, row) or (other == row and j < i) for other, j in rows)
        if not beaten:
            front.append(i)
    return front


def same_answer(
    answer: xr.Dataset,
    expected: Mapping[tuple[int, ...], Sequence[Record]],
    ds: xr.Dataset,
    *,
    per: Sequence[str] = (),
) -> None:
    """Assert that an answer holds the expected winners and nothing where there are none."""
    ranked = "rank" in answer.sizes
    assert set(map(str, answer.sizes)) == {*per, *(["rank"] if ranked else [])}
    names = [str(name) for name in answer.variables if name not in (*per, "rank", "objective")]
    assert set(map(str, ds.coords)) - set(per) <= set(names)
    arrays = {name: answer[name].values for name in names}
    dims = {name: answer[name].dims for name in names}
    for place in itertools.product(*(range(ds.sizes[axis]) for axis in per)):
        winners = expected.get(place, [])
        at: dict[Any, int] = dict(zip(per, place, strict=True))
        for name in names:
            free = [slice(None) if dim == "rank" else at[dim] for dim in dims[name]]
            result = np.atleast_1d(arrays[name][tuple(free)])  # along the ranks, or one for all
            for rank in range(min(len(winners), answer.sizes.get("rank", 1))):
                value = result[rank if "rank" in dims[name] else 0].item()
                assert equal(value, winners[rank][name]), (name, at, rank, value, winners[rank])
            if len(winners) < answer.sizes.get("rank", 1):
                rest = result[len(winners) :] if "rank" in dims[name] else result
                assert is_blank(rest), (name, at, rest)


def equal(a: Any, b: Any) -> bool:
    """Equal, NaN included."""
    return a == b or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)


def is_blank(values: Any) -> bool:
    """NaN, -1, False or an empty label, all of them."""
    if values.dtype.kind == "f":
        return bool(np.isnan(values).all())
    return bool(np.isin(values, [""] if values.dtype.kind in "UT" else [-1, 0]).all())
