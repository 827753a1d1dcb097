"""A finished store as a source of answers, beside a Dataset in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.answers import Goal
from sweeps.questions import source_optimum, source_pareto
from sweeps.stored.ask import best, best_front, ties
from sweeps.stored.question import Question
from sweeps.stored.reader import Stored
from sweeps.ties import MOST_TIES

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["stored_optimum", "stored_pareto"]


class _Asked:
    """A store under some constraints; it counts what it reads."""

    def __init__(self, stored: Stored, where: Sequence[str], outputs: Sequence[str]) -> None:
        self.stored, self.where, self.outputs = stored, tuple(where), outputs
        self.quantities, self.axes = stored.quantities, stored.axes
        self.variables = {**stored.coordinates, **stored.outputs}
        self.read = self.blocks = 0

    def _count(self, question: Question) -> None:
        self.read += question.read
        self.blocks = question.blocks.count

    def choose(
        self, goal: Goal, per: Sequence[str], top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], tuple[str, ...]]:
        """The best, as :func:`sweeps.answers.choose` has them."""
        question = Question(self.stored, [goal], self.where, per)
        found = best(question, per, top)
        self._count(question)
        return found

    def tied(self, goal: Goal, score: float) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Flat indices of all points with a signed value, and over which axes."""
        question = Question(self.stored, [goal], self.where)
        found = ties(question, score, MOST_TIES)
        self._count(question)
        return found, tuple(question.axes)

    def front(self, goals: Sequence[Goal]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
        """Flat indices of the points that no other dominates, and over which axes."""
        question = Question(self.stored, goals, self.where)
        found = best_front(question)
        self._count(question)
        return found, tuple(question.axes)

    def pick(
        self, places: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Coordinates by axis, and variables at the given places, of the given shape."""
        return self.stored.pick(places, shape, self.outputs)

    def told(self, found: xr.Dataset) -> xr.Dataset:
        """An answer that says how much was read for it."""
        found.attrs["method"] = "stored"
        found.attrs["blocks_read"], found.attrs["blocks"] = self.read, self.blocks
        return found


def stored_optimum(
    stored: Stored,
    goal: Goal,
    *,
    where: Sequence[str] = (),
    per: str | Sequence[str] | None = None,
    top: int = 1,
    ties: bool = False,
    outputs: Sequence[str] | None = None,
) -> xr.Dataset:
    """As :func:`sweeps.questions.dataset_optimum`, of a store; ``outputs`` are told, or all."""
    asked = _Asked(stored, where, list(stored.outputs) if outputs is None else outputs)
    return asked.told(source_optimum(asked, goal, per=per, top=top, ties=ties))


def stored_pareto(
    stored: Stored,
    goals: Sequence[Goal],
    *,
    where: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
) -> xr.Dataset:
    """As :func:`sweeps.questions.dataset_pareto`, of a store; ``outputs`` are told, or all."""
    asked = _Asked(stored, where, list(stored.outputs) if outputs is None else outputs)
    return asked.told(source_pareto(asked, goals))
