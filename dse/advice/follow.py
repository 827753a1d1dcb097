"""An input moved in one direction, until another bound or case is reached."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dse.advice.site import Site, extreme
from sweeps.bounds.check import outside_of
from symbolic.advice import steps
from symbolic.crossings import Lines, first_along
from symbolic.ops import (
    Node,
    both,
    constant,
    either,
    interpret_arrays,
    negate,
    reference,
    references,
    substitute,
)
from symbolic.quantities import Domain

if TYPE_CHECKING:
    from dse.advice.words import Move

Floats = NDArray[np.float64]

#: What stands for a common factor in a tree over the leaves.
PLACE = "place of the move"
#: Gains within this of 1 are none.
NOTHING = 1e-12
#: How far beyond a border the next state is read off.
BEYOND = 1e-9
#: How much better than the end of the way a place before it must be to be told instead.
BETTER = 1e-9
#: How often, and into how many parts, the way beside such a place is divided.
ROUNDS, PARTS = 8, 64
#: A gain that still grows by this much over the last steps of an endless way has no limit.
GROWS, LAST = 1.5, 256
#: A border this near, relative to the start, is at the start.
SAME = 1e-11
#: Less than any step of the search, relative to the start.
TINY = 2.0**-65


def follow(site: Site, names: tuple[str, ...]) -> Iterator[Move]:
    """The moves of one input, up and down, or of several upwards by one factor."""
    up = _Way(site=site.free_of(names), names=names, raising=True)
    lines = up.ended()
    for way in (up, replace(up, raising=False)) if len(names) == 1 else (up,):
        move = way.move(lines)
        if move is not None:
            yield move


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """Where a move leads: places are values of the input, or the common factor of several."""

    site: Site
    names: tuple[str, ...]
    raising: bool

    @property
    def domain(self) -> Domain:
        """Of a place."""
        alone = len(self.names) == 1
        return self.site.row(self.names[0]).domain if alone else Domain(low=0)

    @property
    def told(self) -> bool:
        """Whether the first term tells the state; a whole number may stand on a border."""
        return self.site.told and not self.domain.whole

    @property
    def start(self) -> float:
        return self.site.value(self.names[0]) if len(self.names) == 1 else 1.0

    @property
    def axis(self) -> str:
        """What stands for the place in a tree over the leaves."""
        return self.names[0] if len(self.names) == 1 else PLACE

    def moved(self, places: Floats) -> dict[str, Floats]:
        if len(self.names) == 1:
            return {self.names[0]: places}
        return {name: self.site.value(name) * places for name in self.names}

    def value(self, place: float) -> float:
        """Of the first quantity."""
        if math.isnan(place):
            return math.nan  # one object, so that equal moves are equal
        return place if len(self.names) == 1 else self.site.value(self.names[0]) * place

    def gain(self, place: float) -> float:
        """The factor by which the goal improves."""
        return float(self.gains(np.array([place]))[0])

    def gains(self, places: Floats) -> Floats:
        """The same at several places."""
        return self.site.gains(self.moved(places))

    def tendency(self, place: float) -> dict[str, float]:
        """The factors by which the quantities that the guide tells along with the goal change."""
        names = self.site.guide.along if math.isfinite(place) else ()
        there = self.site.at(names, self.moved(np.array([place]))) if names else ()
        here = [self.site.value(name) or math.nan for name in names]
        return {n: float(x[0]) / y for n, x, y in zip(names, there, here, strict=True)}

    def allowed(self, places: Floats) -> NDArray[np.bool_]:
        return self.site.holds(self._can_be(), {self.axis: places})

    def _can_be(self) -> Node:
        """Whether a place can be had."""
        domains = [(name, replace(self.site.row(name).domain, whole=False)) for name in self.names]
        inside = [negate(self._by_place(outside_of(reference(n), d))) for n, d in domains]
        return constant(both(self._by_place(self.site.allowed()), *inside))

    def _by_place(self, node: Node) -> Node:
        """A tree over the leaves with what is moved written by the place."""
        if len(self.names) == 1:
            return node
        place = reference(PLACE)
        moved = {name: constant(place * self.site.value(name)) for name in self.names}
        return substitute(node, moved)

    def ended(self) -> Lines:
        """Whether a place is beyond a border, or cannot be had."""
        changed = self._by_place(self.site.changed(self.told))
        beyond = constant(either(negate(self._can_be()), changed))
        return Lines(beyond, self.axis, self.site.leaves())

    def move(self, ended: Lines) -> Move | None:
        """The move to the first border, or to the end of the way; None where it is no advice."""
        start, domain = self.start, self.domain
        xs = steps(start, domain, raising=self.raising)
        found = first_along(ended, np.concatenate([[start], xs]), whole=domain.whole)
        if found is None:
            return self._to_the_end(xs) if len(xs) else None
        low, high = found
        best = self._best_before(low, xs)
        if best is not None:
            return self._made(best, limit=f"where {self.site.guide.goal} is best")
        if not self.allowed(np.array([high]))[0]:
            return self._made(low, limit=self._broken(high))
        jumps = domain.whole or abs(low - high) < TINY * start  # only the end itself is beyond
        low = start if math.isclose(low, start, rel_tol=SAME) else low
        until = high if jumps else low
        keep = self.site.guide.follow or (until == start and abs(self.gain(until) - 1) <= NOTHING)
        beyond = high if jumps else self._beyond(low, high)
        return self._made(until, beyond=beyond, keep=keep)

    def _to_the_end(self, xs: Floats) -> Move | None:
        """The move where no border follows: to the end of the domain, if that belongs to it."""
        domain, goal = self.domain, self.site.guide.goal
        end, closed = (
            (domain.high, not domain.high_open)
            if self.raising
            else (domain.low, not domain.low_open)
        )
        best = self._best_before(float(xs[-1]), xs)
        if best is not None:
            return self._made(best, limit=f"where {goal} is best")
        if closed:
            return self._made(end, limit=f"the end of its domain {domain}")
        gains = self.gains(xs)
        gain, before = float(gains[-1]), float(gains[max(len(xs) - 1 - LAST, 0)])
        moving = np.flatnonzero(np.abs(gains - gain) > BETTER * abs(gain))
        at = int(moving[-1]) + 1 if moving.size else 0
        if at < len(xs) // 2 and (gains[at:] == gain).all():  # it does not just tend to it
            settled = self._narrowed(xs, at, gain)
            return self._made(settled, limit=f"where {goal} changes no more")
        if gain > GROWS * before or before > GROWS * gain:
            gain = math.inf if gain > before else 0.0
        return self._made(math.nan, gain=gain)

    def _best_before(self, end: float, xs: Floats) -> float | None:
        """Where the goal is best on the way to some place, unless it is best at that place."""
        inner = xs[(xs - end) * (1 if self.raising else -1) < 0]
        if not inner.size:
            return None
        gains = self.gains(inner)
        at = int(np.argmax(gains))
        if not gains[at] > max(self.gain(end), 1.0) * (1 + BETTER):
            return None
        return self._narrowed(np.append(inner, end), at)

    def _narrowed(self, xs: Floats, at: int, enough: float = math.inf) -> float:
        """The best place next to one of several, or the first that is good enough."""
        ends = self.start if at == 0 else float(xs[at - 1]), float(xs[min(at + 1, len(xs) - 1)])
        best = float(xs[at])
        for _ in range(ROUNDS):
            places = np.linspace(*ends, PARTS + 1)
            places = np.unique(np.rint(places)) if self.domain.whole else places
            places = places if self.raising or not self.domain.whole else places[::-1]
            k = int(np.argmax(np.minimum(self.gains(places), enough)))
            best = float(places[k])
            ends = float(places[max(k - 1, 0)]), float(places[min(k + 1, len(places) - 1)])
        return best

    def _beyond(self, low: float, high: float) -> float:
        """A place past the border, where neighbouring states are told apart."""
        step = BEYOND * abs(low) * (1 if self.raising else -1)
        place = max(low + step, high) if self.raising else min(low + step, high)
        inside = self.domain.contains(place) and bool(self.allowed(np.array([place]))[0])
        return place if inside else high

    def _broken(self, place: float) -> str:
        """What forbids a place."""
        graph, moved = self.site.grid.graph, self.moved(np.array([place]))
        for condition in graph.conditions:
            names = references(condition.node)
            values = dict(zip(names, self.site.at(names, moved), strict=True))
            if not np.all(interpret_arrays([condition.node], values)[0]):
                return f"{'the rule' if condition.is_rule else 'where'} {condition.text}"
        nodes = {name: (reference(name), self.site.row(name).domain) for name in self.names}
        for name, (node, domain) in {**self.site.formulas(), **nodes}.items():
            if self.site.holds(outside_of(node, domain), moved)[0]:
                return f"the end of the domain of {name}, {domain}"
        return f"the end of what {self.site.guide.goal} is defined for"

    def _made(
        self,
        place: float,
        *,
        gain: float | None = None,
        beyond: float | None = None,
        limit: str = "",
        keep: bool = False,
    ) -> Move | None:
        from dse.advice.words import Move

        gain = self.gain(place) if gain is None else gain
        artefact = math.isfinite(place) and self.site.artefact(self.moved(np.array([place])))
        helps = gain > 1 + NOTHING and not artefact
        if not (helps or keep or artefact):
            return None
        site, graph = self.site, self.site.grid.graph
        label: str | None = None
        limiter: tuple[str, ...] = ()
        decides = site.binding[0]
        if beyond is not None:
            flag, *terms = site.at([site.guide.state, *site.terms], self.moved(np.array([beyond])))
            values = {name: float(term[0]) for name, term in zip(site.terms, terms, strict=True)}
            near = list(extreme(values, site.largest))
            first = max if site.largest else min
            if first(values.values()) != first(values[name] for name in site.binding):
                near = [name for name in near if name not in site.binding]
                decides = near[0]
            else:
                decides = site.guide.state
            limiter = tuple(dict.fromkeys(site.terms[name] for name in near))
            alone = self.told and len(limiter) == 1
            label = limiter[0] if alone or not site.stated else site.label(flag[0])
        eq = graph.definitions[decides].equation or graph.definitions[site.guide.limits].equation
        return Move(
            quantity=self.names[0],
            together=self.names[1:],
            unit=site.row(self.names[0]).unit,
            direction="raise" if self.raising else "lower",
            value=site.value(self.names[0]),
            until=self.value(place),
            next_bound=label,
            next_limiter=limiter,
            gain=gain,
            along=self.tendency(place),
            helps=helps,
            artefact=artefact,
            lever=site.lever(self.names),
            equation=eq.name if eq else "",
            source=eq.source if eq else "",
            limit=limit,
        )
