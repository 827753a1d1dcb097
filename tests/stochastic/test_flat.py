"""Bodies whose arrays and tuples are addresses find what they find as functions of Python."""

from __future__ import annotations

from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

from stochastic.compile_cache import CompiledFunction, compiled


class Pair(NamedTuple):
    values: Any
    factor: Any


class Deep(NamedTuple):
    table: Any
    pair: Any
    count: Any
    truth: Any


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "code"


def row_sum(row: Any) -> Any:
    total = 0.0
    for k in range(row.size):
        total += row[k]
    return total


def write_all(deep: Any, truths: Any, small: Any, out: Any, scale: Any) -> Any:
    """Every kind of array, item and part that a body may read or write."""
    table, (values, factor) = deep.table, deep.pair
    rows, columns = table.shape
    for k in range(rows):
        out[k, 0] = summing(table[k]) * factor
        for j in range(1, columns):
            out[k, j] = values[j] if truths[j] else small[j] * scale
        if deep.truth:
            truths[k] = not truths[k]
            small[k] += 1
    return summing(out[deep.count]), out.size, deep[1][0].shape[0]


summing: Any = row_sum


def flat_sum() -> CompiledFunction:
    return CompiledFunction(row_sum, {"_nrt": False, "flat": True})  # type: ignore[arg-type]


@pytest.mark.parametrize("truth", [True, False])
def test_every_item_and_part(truth: bool, folder: Path) -> None:
    named = {**globals(), "summing": flat_sum()}
    body = compiled(FunctionType(write_all.__code__, named, "written"), _nrt=False, flat=True)
    result = []
    for function in (write_all, body):
        truths, small = np.array([True, False, True, False]), np.arange(4, dtype=np.int8)
        table, out = np.arange(12.0).reshape(3, 4), np.zeros((3, 4))
        deep = Deep(table, Pair(np.array([0.5, -1.5, 2.0, 7.0]), 3.0), 1, truth)
        output = function(deep, truths, small, out, 2)
        result.append((output, truths.tolist(), small.tolist(), out.tolist()))
    assert result[0] == result[1]
    assert len(list(folder.iterdir())) == 1


def test_what_is_not_in_order_is_taken_as_by_others(folder: Path) -> None:
    assert flat_sum()(np.arange(6.0)[::2]) == 6.0
    assert not folder.exists()  # by Numba, as it is
    assert flat_sum()(np.arange(6.0)) == 15.0
    assert len(list(folder.iterdir())) == 1
