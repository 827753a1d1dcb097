"""What a source answers of one objective: the interface that questions are composed of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sweeps.ask.labels import Checked
from sweeps.grid.goals import Goal
from sweeps.scan.choosing import Chosen
from symbolic.errors import InfeasibleError
from symbolic.ops import Node, equal

if TYPE_CHECKING:
    import xarray as xr

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Some configurations, the best first: an index along every axis, and the signed objective.

    Arrays are of shape (*per, n); places are -1 where there is none.
    """

    places: Mapping[str, Indices]
    scores: Floats

    def take(self, chosen: Any) -> Choice:
        """Some of them."""
        places = {axis: index[chosen] for axis, index in self.places.items()}
        return Choice(places=places, scores=self.scores[chosen])

    @classmethod
    def joined(cls, parts: Sequence[Choice]) -> Choice:
        """All of several over the same axes, one after the other."""
        places = {
            axis: np.concatenate([part.places[axis] for part in parts], axis=-1)
            for axis in parts[0].places
        }
        return cls(places=places, scores=np.concatenate([part.scores for part in parts], axis=-1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """That an objective has a number, or is as good as was found; ``alone``: and not better."""

    goal: Goal
    score: float = math.inf
    alone: bool = False

    def of(self, signed: Any) -> Any:
        """The condition on the signed objective, be it a formula or values."""
        if isinstance(signed, Node) and self.alone:
            return equal(signed, self.score)
        if self.score == math.inf:
            return signed < self.score
        return signed == self.score if self.alone else signed <= self.score


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One of several objectives in order, by its number, where what was decided before holds."""

    goals: tuple[Goal, ...]
    number: int = 0
    held: tuple[Held, ...] = ()

    @property
    def goal(self) -> Goal:
        """The objective."""
        return self.goals[self.number]


class Source(Checked, Protocol):
    """A space of configurations of which the best by one objective can be told."""

    def best(self, stage: Stage, per: Sequence[str], top: int) -> Choice:
        """The first ``top`` by an objective where others hold, ties in axis order.

        It has fewer ranks where there are no more, unless it is asked ``per`` axis.
        """

    def upto(self, stage: Stage, least: float, within: float) -> Choice:
        """All that are off the least by at most a share of it, the best first."""

    def nothing(self, stage: Stage) -> InfeasibleError:
        """What to raise where nothing is best by an objective."""

    def answer(self, chosen: Chosen, goals: Sequence[Goal], ranked: bool) -> xr.Dataset:
        """The Dataset of some configurations, with every objective."""

    def told(self, goals: Sequence[Goal], found: xr.Dataset) -> dict[str, Any]:
        """What the answer says of how it was found."""
