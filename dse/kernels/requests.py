"""The requests of warps to memory at a launch: the addresses of lanes, and which lanes ask.

What moves all lanes of a warp alike, as most passes of loops and blocks do, matters only by where
in a sector it leaves them; it is told apart, and its places are counted exactly. Where the pattern
of the lanes changes with passes and blocks, some of these are looked at.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dse.kernels.evaluate import Launch
from dse.kernels.linear import Atom, Whole, atom, constant
from dse.kernels.passes import resting
from dse.kernels.places import BLOCKS, along
from dse.kernels.rebuilding import rebuilt
from dse.kernels.wavefronts import SECTOR
from stochastic import sizes

__all__ = ["Moves", "Requests", "moved", "of_lanes", "phases", "requests", "sized"]

#: How far a step moves an address in bytes, and how many steps there are.
Moves = tuple[tuple[int, int], ...]
#: Blocks, and requests of all warps there in all passes, that are looked at.
_BLOCKS, _REQUESTS = sizes.REQUEST_BLOCKS, sizes.REQUESTS_LOOKED


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of warps: the first bytes of lanes, which lanes ask, how many each stands for.

    ``known`` keeps what was worked out of them.
    """

    first: npt.NDArray[np.int64]
    active: npt.NDArray[np.bool_]
    weight: npt.NDArray[np.float64]
    known: dict[object, Any] = field(default_factory=dict)

    def once(self, what: object, work: Callable[[], Any]) -> Any:
        """What is worked out of these requests, kept by its name."""
        if what not in self.known:
            self.known[what] = work()
        return self.known[what]

    def least(self, width: int) -> float:
        """The sectors that hold as many bytes a lane as are asked for."""
        return self.mean(-(-self.active.sum(axis=-1) * width // SECTOR))

    def mean(self, numbers: Any) -> float:
        """The mean of a number of each."""
        least = float(numbers.min())  # so that what is the same for all stays exact
        return least + float(np.average(numbers - least, weights=self.weight))


def of_lanes(launch: Launch, where: Whole, asks: Whole) -> Requests:
    """The requests of an instruction; of conditions on blocks alone, of which nothing else rests
    on the place, all hold: whatever blocks ask, each asks alike.
    """
    ((product, _),) = asks.terms.items()
    others = (*where.atoms(), *_of_passes(launch, where, asks))
    used = Counter(name for one in (*product, *others) for name in _blocks(one))
    kept = tuple(
        one for one in product if not _of_blocks(one) or any(used[n] > 1 for n in _blocks(one))
    )
    asks = Whole({kept: 1})
    return launch.once(  # type: ignore[no-any-return]
        atom("requests", where, asks), lambda: requests(launch, where, asks)
    )


def _of_passes(launch: Launch, where: Whole, asks: Whole) -> list[Atom]:
    """What the passes rest on that are in an address, or in which lanes ask."""
    every = {**resting(where, launch.passes), **resting(asks, launch.passes)}
    return [one for many in every.values() for one in many.atoms()]


def _blocks(one: Atom) -> set[str]:
    return {each.of[0] for each in one.atoms() if each.kind == "special" and each.of[0] in BLOCKS}


def _of_blocks(one: Atom) -> bool:
    """Whether a condition rests on nothing but the numbers of blocks."""
    return one.kind == "if" and all(
        each.kind in ("if", "over", "scaled", "least", "most")
        or (each.kind == "special" and each.of[0] in BLOCKS)
        for each in one.atoms()
    )


def requests(launch: Launch, where: Whole, asks: Whole) -> Requests:
    """The requests of an instruction, of lanes where ``asks`` is not 0; those that no lane makes
    are left out."""
    atoms = dict.fromkeys((*where.atoms(), *asks.atoms()))
    axes = [name for name in BLOCKS if launch.grid[BLOCKS.index(name)] > 1]
    placed = {*atoms, *_of_passes(launch, where, asks)}
    axes = [name for name in axes if Atom("special", (name,)) in placed]
    blocks, weight = dict[str, Any](), np.ones((1, 1, 1, 1))
    for name in axes:
        at = BLOCKS.index(name)
        looked, stand_for = along(launch.grid[at], int(_BLOCKS ** (1 / len(axes)) + 1e-9))
        blocks[name] = np.expand_dims(looked, [each for each in range(5) if each != at])
        weight = weight * np.expand_dims(stand_for, [each for each in range(4) if each != at])
    shape = (*weight.shape[:3], *launch.active.shape)
    heads = [one.of[0] for one in atoms if one.kind == "pass"]
    most = max(_REQUESTS // math.prod(shape[:-1]), 2)
    each = int(most ** (1 / max(len(heads), 1)) + 1e-9)
    passes = [_some(launch.most(launch.passes[head]), max(each, 2)) for head in heads]
    found = []
    for now in itertools.product(*passes):
        here = launch.at(dict(zip(heads, now, strict=True)), blocks)
        active = launch.active & (np.asarray(here.value(asks)) > 0)
        for head, at_pass in zip(heads, now, strict=True):
            active = active & (at_pass < np.asarray(here.value(launch.passes[head])))
        first = np.broadcast_to(np.asarray(here.value(where)), shape)
        found.append((first, np.broadcast_to(active, shape), np.broadcast_to(weight, shape[:-1])))
    first, active, of = (np.concatenate([each[at] for each in found]) for at in range(3))
    asking = active.any(axis=-1)
    if not asking.any():
        asking, active = ~asking, np.broadcast_to(launch.active, active.shape)
    return Requests(first[asking].astype(np.int64), active[asking], of[asking])


def _some(many: int, most: int) -> Sequence[int]:
    """Some passes of a loop, the first and last among them."""
    last = max(many, 1) - 1
    return sorted({round(each) for each in np.linspace(0, last, min(last + 1, most)).tolist()})


def phases(moves: Moves, fixed: int, unit: int) -> dict[int, float]:
    """Where in a unit of bytes moves leave an address, and the share of each such place.

    >>> phases(((4, 6), (32, 1000)), 0, 8)
    {0: 0.5, 4: 0.5}
    """
    shares = np.zeros(unit)
    shares[fixed % unit] = 1.0
    for step, many in moves:
        period = unit // math.gcd(step, unit)
        at = np.arange(period)
        many = max(many, 1)
        times = many // period + (at < many % period)
        shares = sum(t / many * np.roll(shares, a * step) for a, t in zip(at, times, strict=True))
    return {int(at): float(shares[at]) for at in np.flatnonzero(shares)}


def sized(launch: Launch, where: Whole) -> Whole:
    """An expression in which what is a number at a launch is one."""

    def number(one: Atom) -> Whole | None:
        if one.kind == "argument" and one.of[0] in launch.arguments:
            return constant(launch.arguments[one.of[0]])
        if one.kind == "asked" and float(launch.asked[one.of[0]]).is_integer():
            return constant(int(launch.asked[one.of[0]]))
        if one.kind == "special" and one.of[0].startswith(("ntid", "nctaid")):
            return constant(launch.constant(one.of[0]))
        return None

    return rebuilt(where, number)


def moved(launch: Launch, where: Whole) -> tuple[Moves, Moves, Whole]:
    """The moves of an address by passes and by blocks, and what remains of it."""
    passes, blocks, rest = [], [], dict(where.terms)
    for product, times in where.terms.items():
        if len(product) != 1 or not _moves(one := product[0]):
            continue
        if any(one in each.atoms() for p in where.terms if p != product for each in p):
            continue
        del rest[product]
        if one.kind == "pass":
            passes.append((times, launch.most(launch.passes[one.of[0]])))
        else:
            blocks.append((times, launch.grid["xyz".index(one.of[0][-1])]))
    return tuple(passes), tuple(blocks), Whole(rest)


def _moves(one: Atom) -> bool:
    return one.kind == "pass" or (one.kind == "special" and one.of[0].startswith("ctaid"))
