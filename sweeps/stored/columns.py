"""The goals and conditions of a question as columns for compiled code; see the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeps.stored.question import Question
from sweeps.stored.rows import Columns
from sweeps.stored.wanted import Term
from symbolic.ops import interpret_arrays, references

__all__ = ["columns_of", "offsets"]


def columns_of(question: Question, numbers: NDArray[np.int64], length: int) -> tuple[Columns, Any]:
    """The goals over some blocks, then the conditions that are not certain, for a kernel.

    With them what must outlive the addresses.
    """
    pairs = [
        (term, certain[numbers])
        for term, certain in zip(question.terms, question.certain, strict=True)
        if not np.all(certain[numbers])
    ]
    terms = [*question.goals, *(term for term, _ in pairs)]
    whole = question.shape(list(question.axes), length)
    located = [_located(question, term, numbers, length) for term in terms]
    placed = [offsets(shape, whole) for _, shape, _ in located]
    addresses = np.stack([each for each, _, _ in located])
    for row, (_, certain) in zip(addresses[len(question.goals) :], pairs, strict=True):
        row[certain] = 0
    columns = Columns(
        goals=len(question.goals),
        addresses=addresses,
        offsets=np.stack([rows for rows, _ in placed]),
        steps=np.array([step for _, step in placed]),
        low=np.array([term.low for term in terms]),
        high=np.array([term.high for term in terms]),
        run=whole[-1],
    )
    return columns, [held for _, _, held in located]


def _located(
    question: Question, term: Term, numbers: NDArray[np.int64], length: int
) -> tuple[NDArray[np.int64], list[int], Any]:
    """Where a term over some blocks lies, its shape in a block, what must outlive that."""
    if term.name is not None and question.stored.mapped(term.name):
        shape = question.shape(question.stored.dims(term.name), length)
        addresses, held = question.addresses(term.name, numbers, math.prod(shape))
        return addresses, shape, held
    arrays = {name: question.array(name, numbers, length) for name in references(term.node)}
    (value,) = interpret_arrays([term.node], arrays)
    values = np.asarray(value, dtype=np.float64)
    axes = len(question.shape((), length))
    shape = list(values.shape[1:]) or [1] * axes
    values = np.ascontiguousarray(np.broadcast_to(values, (numbers.size, *shape)))
    return values.ctypes.data + 8 * math.prod(shape) * np.arange(numbers.size), shape, values


def offsets(shape: Sequence[int], whole: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """Where each row of a block begins in an array that lacks some of its axes, and the step.

    The last axis is the row.

    >>> offsets((2, 1, 3), (2, 2, 3)), offsets((2, 1), (2, 5))
    ((array([0, 0, 3, 3]), 1), (array([0, 1]), 0))
    """
    found, stride = np.zeros(1, dtype=np.int64), 1
    steps = []
    for own in reversed(shape):
        steps.append(stride if own > 1 else 0)
        stride *= own
    steps.reverse()
    for step, n in zip(steps[:-1], whole[:-1], strict=True):
        found = (found[:, None] + step * np.arange(n, dtype=np.int64)).reshape(-1)
    return found, steps[-1]
