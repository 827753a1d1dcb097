"""NumPy at sizes on both sides of its buffers: what it does at once is what it does in pieces.

The fault of ``unravel_index`` beyond 8,192 elements was one of buffers that end where some arrays
do not expect it. Here are the functions that answers rest on, with numbers of every kind
that are cast on the way, for arrays that are a row, a column, reversed, strided or transposed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

SIZES = (8_191, 8_192, 8_193, 16_385, 20_000)
#: Fewer than any buffer holds.
PIECE = 1000
SHAPES: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x,
    "column": lambda x: x[:, None],
    "wide": lambda x: x[None, :],
    "deep": lambda x: x[:, None, None],
    "reversed": lambda x: x[::-1],
    "strided": lambda x: np.repeat(x, 3)[::3],
    "second column": lambda x: np.stack([x, x], axis=1)[:, 1:],
    "transposed": lambda x: np.stack([x, x]).T[:, :1],
    "spread": lambda x: np.broadcast_to(x[:, None], (x.size, 2)),
}
#: Of each element by itself, mixing kinds: buffers are used where one is cast.
EACH: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda i, x: i + x,
    "divide": lambda i, x: i / 7 + x,
    "where": lambda i, x: np.where(i % 3 == 0, i, x),
    "floor_divide": lambda i, x: i // 13 * 5 + i % 13,
    "divmod": lambda i, x: np.stack(np.divmod(i, 13)).sum(axis=0),
    "compare": lambda i, x: (i.astype(np.int32) < x) & (x != np.float32(0.5)),
    "maximum": lambda i, x: np.maximum(i.astype(np.int16), x),
    "take": lambda i, x: TABLE[i % TABLE.size],
    "take two": lambda i, x: SQUARE[i % 97, i % 31],
    "searchsorted": lambda i, x: np.searchsorted(EDGES, x, "right"),
    "clip": lambda i, x: np.clip(i, 5, np.int64(7000)) - x,
    "astype": lambda i, x: x.astype(np.float32).astype(np.float64) + i.astype(np.uint8),
    "isfinite": lambda i, x: np.isfinite(1.0 / (i % 5)) & ~np.isnan(x),
}
TABLE = np.random.default_rng(5).random(997)
SQUARE = np.random.default_rng(6).random((97, 31))
EDGES = np.linspace(0.0, 1.0, 41)


def numbers(size: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(size)
    return rng.integers(0, 10_000, size), rng.random(size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", EACH)
def test_each_element_is_as_alone(what: str, size: int) -> None:
    i, x = numbers(size)
    with np.errstate(divide="ignore"):
        pieces = [EACH[what](i[k : k + PIECE], x[k : k + PIECE]) for k in range(0, size, PIECE)]
        expected = np.concatenate(pieces)
        for name, shape in SHAPES.items():
            result = EACH[what](shape(i), shape(x))
            assert np.array_equal(result, shape(expected)), name


@pytest.mark.parametrize("size", SIZES)
def test_reductions_along_each_axis_are_those_of_pieces(size: int) -> None:
    i, x = numbers(size)
    values = np.stack([x, 1 - x, x * 3 % 1], axis=1)
    mixed = np.where(i[:, None] % 4 == 0, np.inf, values)
    for array in (values, values[::-1], np.asfortranarray(mixed), mixed):
        rows = [array[k : k + PIECE] for k in range(0, size, PIECE)]
        for by in (np.argmin, np.argmax, np.min, np.max):
            assert np.array_equal(by(array, axis=1), np.concatenate([by(r, axis=1) for r in rows]))
        for by, joined in ((np.min, np.min), (np.max, np.max), (np.any, np.any), (np.all, np.all)):
            whole = joined(np.stack([by(r < 9, axis=0) for r in rows]), axis=0)
            assert np.array_equal(by(array < 9, axis=0), whole)
        first = np.argmin(array, axis=0)
        assert [array[:, k].tolist().index(min(array[:, k].tolist())) for k in range(3)] == [*first]
        best = np.take_along_axis(array, np.argmin(array, axis=1)[:, None], axis=1)
        assert np.array_equal(best[:, 0], array.min(axis=1))


@pytest.mark.parametrize("size", SIZES)
def test_orders_counts_and_sums_are_those_of_python(size: int) -> None:
    i, x = numbers(size)
    few = i % 97
    listed, values = few.tolist(), x.tolist()
    order = sorted(range(size), key=lambda k: (listed[k], values[k], k))
    assert np.lexsort((np.arange(size), x, few)).tolist() == order
    stable = sorted(range(size), key=lambda k: listed[k])
    assert np.argsort(few, kind="stable").tolist() == stable
    counts = [listed.count(k) for k in range(100)]
    assert np.bincount(few, minlength=100).tolist() == counts
    assert np.unique(few, return_counts=True)[1].tolist() == [c for c in counts if c]
    for at in (np.add, np.maximum):
        result, expected = np.zeros(100), [0.0] * 100
        at.at(result, few, i.astype(np.int32))
        for k, n in zip(listed, i.tolist(), strict=True):
            expected[k] = expected[k] + n if at is np.add else max(expected[k], n)
        assert result.tolist() == expected
    starts = np.unique(np.concatenate([[0], np.sort(i % size)[::50]]))
    ends = [*starts[1:].tolist(), size]
    for by, python in ((np.minimum, min), (np.maximum, max), (np.logical_or, any)):
        given = i % 50 == 0 if python is any else x
        pieces = [python(given[a:b].tolist()) for a, b in zip(starts.tolist(), ends, strict=True)]
        assert by.reduceat(given, starts).tolist() == pieces
    lowest = np.minimum.accumulate(x).tolist()
    assert lowest == [min(values[max(k - 1, 0) : k + 1] + lowest[k - 1 : k]) for k in range(size)]
    assert np.sort(np.partition(x, 500)[:500]).tolist() == sorted(values)[:500]
    assert np.flatnonzero(few == 3).tolist() == [k for k, n in enumerate(listed) if n == 3]
    assert np.cumsum(i).tolist()[-1] == sum(i.tolist())


@pytest.mark.parametrize("size", SIZES)
def test_indexed_writes_reach_their_places(size: int) -> None:
    i, x = numbers(size)
    order = np.random.default_rng(1).permutation(size)
    for shape in ((size, 1), (1, size), (size,)):
        array = np.zeros(shape)
        array.reshape(-1)[order] = x.astype(np.float32)
        expected = dict(zip(order.tolist(), x.astype(np.float32).tolist(), strict=True))
        assert array.reshape(-1).tolist() == [expected[k] for k in range(size)]
    mask = i % 2 == 0
    array = np.zeros((size, 2))
    array[mask] = i[mask][:, None].astype(np.int16)
    assert np.array_equal(array[:, 1], np.where(mask, i, 0))
    meshed = np.zeros((size, 3))
    meshed[np.ix_(order, [2, 0])] = np.stack([i, -i], axis=1)
    assert np.array_equal(meshed[order], np.stack([-i, np.zeros(size), i], axis=1))
