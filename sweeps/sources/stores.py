"""A finished store as what is asked: only those blocks are read that its zones leave open."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.answers import Answering
from sweeps.ask.front import Front
from sweeps.ask.places import MOST_LISTED, as_good, limit_of, listed, placed
from sweeps.ask.source import Choice, Stage
from sweeps.grid.at import At, labels
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE
from sweeps.scan.choosing import spread
from sweeps.sources.table import nothing_left
from sweeps.store.reader import Stored
from sweeps.stored.fronts import best_front
from sweeps.stored.question import Question
from sweeps.stored.streamed import StoredValues, stored_count
from sweeps.stored.winners import best, upto
from symbolic.errors import InfeasibleError
from symbolic.expression import parse_condition
from symbolic.ops import Node, constant, reference

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["StoreSearch"]


@dataclass(slots=True)
class _Read:
    """How many blocks were read, of how many; configurations that an interrupt left."""

    read: int = 0
    blocks: int = 0
    left: int = 0

    def add(self, question: Question) -> None:
        self.read += question.read
        self.blocks = question.blocks.count
        idle = [n for axis, n in question.stored.axes.items() if axis not in question.axes]
        self.left += question.left * math.prod(idle)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSearch(Answering):
    """A finished store under some constraints; ``outputs`` are told of what is found."""

    stored: Stored
    outputs: tuple[str, ...]
    where: tuple[str, ...] = ()
    at: Mapping[str, int] = field(default_factory=dict)
    done: _Read = field(default_factory=_Read)

    @property
    def sizes(self) -> Mapping[str, int]:
        """The axes, in order, and how many values each has."""
        return self.stored.axes

    def only(self, at: Mapping[str, int]) -> StoreSearch:
        """The part at one index of some axes; what is read is counted together."""
        return replace(self, at={**self.at, **at})

    @property
    def coordinates(self) -> Mapping[str, tuple[str, Any, Any]]:
        """The coordinates: the axis along which each lies, its values, its attributes."""
        return self.stored.coordinates

    @property
    def quantities(self) -> Mapping[str, Any]:
        """What formulas may name."""
        return self.stored.quantities

    @property
    def variables(self) -> Mapping[str, Any]:
        """What it holds, coordinates included."""
        return {**self.stored.coordinates, **self.stored.outputs}

    def count(self) -> xr.Dataset:
        """See :class:`sweeps.ask.spread.Spread`."""
        return stored_count(self.stored, self.where, self.at)

    def values(self, text: str, *more: str, at: At | None = None) -> StoredValues:
        """See :class:`sweeps.ask.spread.Spread`."""
        return StoredValues(
            self.stored, text, *more, where=self.where, at={**self.at, **(at or {})}
        )

    def _question(self, stage: Stage, per: Sequence[str] = ()) -> Question:
        conditions: list[str | Node] = [*self.where, *labels(self.at)]
        for one in stage.held:
            signed = one.goal.node(self.stored.quantities)
            conditions += [constant(signed > -math.inf), one.of(signed)]
        return Question(self.stored, [stage.goal], conditions, per)

    def _of(self, goals: Sequence[Goal]) -> Question:
        return Question(self.stored, goals, [*self.where, *labels(self.at)])

    def best(self, stage: Stage, per: Sequence[str], top: int) -> Choice:
        """See :class:`sweeps.ask.source.Source`."""
        question = self._question(stage, per)
        found = best(question, per, top)
        self.done.add(question)
        return placed(*found, per, self.sizes)

    def upto(self, stage: Stage, least: float, within: float) -> Choice:
        """See :class:`sweeps.ask.source.Source`."""
        question, what = self._question(stage), as_good(stage.goal, least, within)
        flat, scores = upto(question, limit_of(least, within), MOST_LISTED)
        self.done.add(question)
        dims = tuple(question.axes)
        return listed(flat, scores, dims, self.sizes, what, counted=False)

    def front(self, goals: Sequence[Goal]) -> Front:
        """See :class:`sweeps.ask.front.FrontSource`."""
        question, before = self._of(goals), self.done.read
        best = best_front(question)
        self.done.add(question)
        if not best.size:
            raise nothing_left(goals, self.where)
        told = {**self.told(goals, None), "blocks_read": self.done.read - before}
        return Front(places=spread(best, tuple(question.axes), (), self.sizes), told=told)

    def pick(
        self, places: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """See :class:`sweeps.ask.answers.Answering`."""
        held = self.stored
        found = {
            name: (np.broadcast_to(held.at(name, places), shape), held.attributes(name))
            for name in self.outputs
        }
        return dict(held.coordinates), found

    is_cheap = False  #: A point lies in a chunk that may have to be fetched.

    @property
    def asked_where(self) -> tuple[str, ...]:
        """See :class:`sweeps.ask.invariants.Checked`."""
        return self.where

    @property
    def conditions(self) -> list[Node]:
        """See :class:`sweeps.ask.answers.Answering`."""
        feasible = [reference(FEASIBLE) > 0] if FEASIBLE in self.stored.zones else []
        texts = [parse_condition(text, self.stored.quantities) for text in self.where]
        return [*texts, *feasible, *labels(self.at)]

    def values_at(self, name: str, places: Mapping[str, NDArray[np.int64]]) -> NDArray[Any]:
        """See :class:`sweeps.ask.answers.Answering`."""
        if name in self.stored.zones:
            return self.stored.at(name, places)
        axis, values = self.stored.column(name)
        return values[places[axis]]

    def nothing(self, stage: Stage) -> InfeasibleError:
        """See :class:`sweeps.ask.source.Source`."""
        return nothing_left(stage.goals[: stage.number + 1], self.where)

    def told(self, goals: Sequence[Goal], found: xr.Dataset | None) -> dict[str, Any]:
        """How much was read."""
        done = self.done
        left = {"points_left": done.left} if done.left else {}
        return {"method": "stored", "blocks_read": done.read, "blocks": done.blocks, **left}
