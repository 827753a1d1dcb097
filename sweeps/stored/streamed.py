"""How the values of a store spread: what lies in one bin, and what all counts, is not read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.at import At, labels, sizes_at
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE
from sweeps.nest.passes import Skipped
from sweeps.scan.counting import product_of, told
from sweeps.scan.table_values import fed, stated
from sweeps.scan.values import AnyPart, Bounds
from sweeps.store.reader import Stored
from sweeps.stored.columns import columns_of
from sweeps.stored.question import Question
from sweeps.stored.rounds import through
from symbolic.expression import parse_condition
from symbolic.node import conjuncts
from symbolic.ops import Node, reference, references

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["StoredValues", "stored_count"]


class StoredValues:
    """Formulas over a finished store; see :class:`sweeps.scan.values.Values`."""

    def __init__(
        self,
        stored: Stored,
        text: str,
        *more: str,
        where: Sequence[str] = (),
        at: At | None = None,
    ) -> None:
        at = at or {}
        self.text = text
        goals = [Goal(text=each, sign=1.0) for each in (text, *more)]
        self.question = Question(stored, goals, [*where, *labels(at)])
        sizes, self.dims = sizes_at(stored.axes, at), tuple(self.question.axes)
        self.points = math.prod(sizes.values())
        self.weight = self.points // math.prod(sizes[axis] for axis in self.question.axes)
        self.conditions = stated(stored.outputs.get(FEASIBLE), where)
        self.row = stored.quantities.get(text)
        self.attributes = stored.attributes(text) if self.row is not None else {"long_name": text}
        self.skipped = Skipped()

    def gather(self, make: Callable[[], AnyPart], within: Bounds | None = None) -> AnyPart:
        """See :class:`sweeps.scan.values.Values`."""
        question, whole, before = self.question, make(), self.question.read
        low, high = question.lower[0], question.upper[0]
        every = np.arange(question.blocks.count)
        sizes = question.points(every)
        points, rest = np.where(question.sure, sizes, 0), question.possible
        if within is not None:
            rest = rest[np.any([(low[rest] <= b) & (high[rest] >= a) for a, b in within], axis=0)]
        ends = [int(rest[low[rest].argmin()]), int(rest[high[rest].argmax()])] if rest.size else []
        first = np.unique(np.array(ends, dtype=np.int64))
        seen = 0

        def work(numbers: NDArray[np.int64], length: int) -> AnyPart:
            part, (values, holds) = make(), question.looked(numbers, length)
            whole = (numbers.size, *question.shape(list(question.axes), length))
            values = [v if np.shape(v) == whole else np.broadcast_to(v, whole) for v in values]
            return fed(part, [*values, holds], len(values))

        for now in (first, None):
            chosen = rest if now is None else now
            left = chosen[~whole.take(low[chosen], high[chosen], points[chosen])]
            rest = rest[~np.isin(rest, chosen)] if now is not None else rest
            seen += int(sizes[left].sum())
            for part in through(question, left, work, built=True):
                whole.add(part)
        self.skipped = Skipped(every.size - (question.read - before), int(sizes.sum()) - seen)
        return whole


def stored_count(stored: Stored, where: Sequence[str] = (), at: At | None = None) -> xr.Dataset:
    """As :func:`sweeps.scan.counting.dataset_count`, of a finished store or a part of it."""
    at = at or {}
    nodes = conjuncts(parse_condition(text, stored.quantities) for text in where)
    nodes += labels(at)
    nodes += [reference(FEASIBLE) > 0] if FEASIBLE in stored.zones else []
    known = [(n, {axis for name in references(n) for axis in stored.dims(name)}) for n in nodes]

    def count(node: Node, own: Sequence[str]) -> int:
        question = Question(stored, (), conjuncts([node]))
        sure = question.sure[question.possible]
        certain = int(question.points(question.possible[sure]).sum())
        left = question.possible[~sure]
        return certain + int(sum(through(question, left, _counting(question))))

    total = product_of(known, stored.axes, count)
    texts = stated(stored.outputs.get(FEASIBLE), where)
    return told(total, math.prod(sizes_at(stored.axes, at).values()), texts, Skipped().attributes())


def _counting(question: Question) -> Callable[[NDArray[np.int64], int], int]:
    """How many points of some blocks meet all conditions."""

    def work(numbers: NDArray[np.int64], length: int) -> int:
        if question.compiled:
            from sweeps.stored.kernels import tally

            columns, _held = columns_of(question, numbers, length)
            return int(tally(columns))
        _, holds = question.looked(numbers, length)
        shape = (numbers.size, *question.shape(list(question.axes), length))
        return int(np.count_nonzero(np.broadcast_to(holds, shape)))

    return work
