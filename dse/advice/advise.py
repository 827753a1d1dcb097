"""Compute the advice on one configuration: follow each input until another bound or case holds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.advice.report import Advice, Move
from dse.advice.site import Floats, Site, extreme_names
from dse.arguments import axis_indices
from dse.catalog.entries import shipped_values
from dse.inputs.merge import merge_inputs, with_declared
from dse.study.study import StudyData
from sweeps.bounds.checks import check_grid, outside_domain
from sweeps.grid.grid import Grid, Leaf
from symbolic.advice import OCTAVES, guides, has_cases, move_directions, search_values
from symbolic.answer import value_text
from symbolic.crossings import CaseLines, first_crossing
from symbolic.errors import DseError, GraphError, UnknownNameError, nearest_hint
from symbolic.expression import parse_condition
from symbolic.graph import extreme_terms
from symbolic.library import load_model
from symbolic.model import Guide, Model
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
from symbolic.quantity import LEVERS
from symbolic.statistics import DRAW, statistics_of

Entries: TypeAlias = dict[str, str | None]


def build_advice(
    subject: str | Model | StudyData,
    entries: Entries,
    prefer: str | None,
    point: Mapping[str, Any],
    goal: str | None = None,
    levers: str = "all",
) -> Advice:
    """Return the advice on a study or model; see :func:`dse.advise`."""
    if levers not in (*LEVERS, "all"):
        raise DseError(f"levers = {levers!r}: expected one of {', '.join(LEVERS)}, all")
    shown: Sequence[str] = ()
    where, folder, values = shown, None, dict(point)
    if isinstance(subject, StudyData):
        if prefer is not None:
            raise DseError("prefer is part of a study: give it to dse.Study")
        named = {kind: name for kind, name in entries.items() if name is not None}
        entries, values = _study_point(subject, {**point, **named})
        model, folder = subject.grid().model, subject.folder
        where = [text for text in subject.where if _is_of_one_point(text, subject, model)]
        shown = subject.outputs or ()
    else:
        model = with_declared(load_model(subject, prefer=prefer), entries.get("workload"))
    possible = _possible_guides(model, shown, goal)
    parts = merge_inputs(model, (), entries=entries, set_values=values, folder=folder)

    def build(values: Mapping[str, Any], outputs: Sequence[str]) -> Grid:
        return parts.build_grid(values=values, outputs=outputs, constraints=where)

    guide = possible[0]
    for each in possible if len(possible) > 1 else ():
        with suppress(GraphError):  # a goal that the user did not ask for may lack inputs
            build(parts.values, [each.goal, each.state, each.limits])
            guide = each
            break
    outputs = list(dict.fromkeys([guide.goal, guide.state, guide.limits, *guide.show]))
    remedies = [name for name in guide.remedies.values() if not model.quantity(name).is_label]
    for name in (*guide.suggests, *guide.remedies, *remedies):
        with suppress(DseError):  # a suggestion may lack inputs
            build(parts.values, [name])
            outputs.append(name)
    grid = build(parts.values, outputs)
    check_grid(grid)
    pins = {}  # values of the inputs that are computed from other inputs by default
    labels = [""] if isinstance(guide.helps, str) else list(guide.helps)
    moved = [name for label in labels for names in guide.moves(label) for name in names]
    if guide.same_work:  # every input that the goal depends on may help
        moved += sorted(grid.graph.ancestors(moved))
    for name in dict.fromkeys([*moved, *guide.suggests.values()]):
        definition = grid.graph.definitions.get(name)
        if definition is not None and definition.kind == "formula" and name not in values:
            pins[name] = float(grid.evaluate_point({}, [name])[name])

    definition, has_state = grid.graph.definitions[guide.state], guide.state != guide.limits
    flags = grid.flag_meanings(guide.state)
    if definition.equation is None or (has_state and not flags):
        raise DseError(f"{guide.state} is given: remove its value, so that its equation is used")
    families = [family for family in model.regime_families if family.of == guide.limits]
    known = {quantity: label for f in families for label, quantity in f.terms.items()}
    largest = grid.graph.definitions[guide.limits].node.op == "maximum"
    names = extreme_terms(grid.graph, guide.limits, "maximum" if largest else "minimum")
    terms = {name: known.get(name, name) for name in names}
    at_point = {n: float(value) for n, value in grid.evaluate_point({}, names).items()}
    binding = extreme_names(at_point, largest)
    if has_state:
        flag = int(float(grid.evaluate_point({}, [guide.state])[guide.state]))
        bound = guide.tied.get(flags[flag], (flags[flag],))
        binding = tuple(n for n in names if terms[n] in bound) or binding
    else:
        flag = names.index(binding[0])
    site = Site(
        grid=grid,
        guide=guide,
        flag=flag,
        terms=terms,
        binding=binding,
        state_from_terms=not has_state or set(terms.values()) <= set(flags.values()),
        has_state=has_state,
        levers=levers,
        pins=pins,
        rebuild=lambda pinned: build({**parts.values, **pinned}, outputs),
        largest=largest,
        counted_for=parts.counted_for,
        is_machine=entries.get("machine") is not None,
    )
    result = [move for names in site.candidates() for move in find_moves(site, names)]
    unique = {(move.quantity, move.together, move.direction): move for move in result}
    return Advice(
        state=site.guide.state,
        bound=site.label(site.flag),
        goal=site.guide.goal,
        limiter=extreme_names(site.term_values(), site.largest),
        terms=site.term_values(),
        values=site.goal_values(),
        units={name: site.row(name).unit for name in site.goal_values()},
        moves=tuple(sorted(unique.values(), key=lambda move: (not move.helps, -move.end_gain))),
        suggestions=tuple(site.suggestions()),
        notes=site.notes(),
    )


def moves_over_jumps(study: StudyData, point: Mapping[str, Any]) -> list[Move]:
    """Return the moves from a configuration to another case at whose border the goal jumps."""
    for guide in guides(study.grid().model):
        with suppress(DseError):  # the goal may lack inputs
            if has_cases(study.grid([guide.goal]).graph, guide):
                advice = build_advice(study, {}, None, point, guide.goal)
                return [move for move in advice.moves if move.jump]
    return []


def _possible_guides(model: Model, outputs: Sequence[str], goal: str | None) -> list[Guide]:
    """Return the guide to the goal; without a goal, return all, first the guides to the outputs."""
    known = guides(model)
    if not known:
        raise DseError(
            f"there is no advice on the model {model.name}: advice needs an output that is the "
            "minimum(...) or maximum(...) of named terms, or a dse.Guide named ADVICE in the file "
            "of the model, as in transit and mwp_cwp"
        )
    if goal is None:
        return sorted(known, key=lambda guide: not {guide.goal, guide.state} & set(outputs))
    if wanted := [guide for guide in known if guide.goal == goal]:
        return wanted[:1]
    goals = list(dict.fromkeys(guide.goal for guide in known))
    raise UnknownNameError(
        f"goal = {goal!r}: available goals of the model {model.name} are {', '.join(goals)}"
        f"{nearest_hint(goal, goals)}; dse sensitivity STUDY --output {goal!r} ranks the inputs of "
        "any formula"
    )


def _is_of_one_point(text: str, study: StudyData, model: Model) -> bool:
    """True if a condition has no statistics along axes of the study: one point decides it."""
    statistics = statistics_of([parse_condition(text, model.quantities)])
    return not statistics or (
        study.random_inputs is None and all(s.statistic.axes == (DRAW,) for s in statistics)
    )


def _study_point(study: StudyData, point: Mapping[str, Any]) -> tuple[Entries, dict[str, Any]]:
    grid, parts = study.grid(draws=True), study._parts
    indices = {name: axis.default_index for name, axis in grid.axes.items()}
    indices |= axis_indices(grid, point, prefix="")
    entries = {"machine": study.machine, "workload": study.workload}
    values: dict[str, Any] = {**(study.fit.values if study.fit else {}), **study.set}
    for name, value in values.items():
        leaf = parts.values.get(name)
        if hasattr(value, "dims") and isinstance(leaf, Leaf):
            values[name] = float(leaf.array[tuple(indices[axis] for axis in leaf.axes)])
    for name, axis in grid.axes.items():
        index = indices[name]
        if name in entries:
            entries[name] = axis.labels[index]
        elif axis.columns:
            values |= {column: float(array[index]) for column, array in axis.columns.items()}
        else:
            values[name] = axis.labels[index] if axis.labels else float(axis.values[index])
    return entries, values


#: Name of the leaf that holds the common factor of several inputs that move together.
PLACE = "place of the move"
#: A gain whose difference from 1 is at most this tolerance counts as no gain.
_NO_GAIN = 1e-12
#: The state after a border is evaluated at this relative distance beyond the border.
_BEYOND_STEP = 1e-9
#: A move ends before the end of its path if the goal is better there by more than this share.
_MIN_IMPROVEMENT = 1e-9
#: The best place on a path is refined ROUNDS times; each time, its range is cut into PARTS parts.
ROUNDS, PARTS = 8, 64
#: On a path without an end, a gain that still grows by this factor over the last _LAST_STEPS steps
#: counts as unlimited.
_GROWTH_WITHOUT_LIMIT, _LAST_STEPS = 1.5, 256
#: A move past a border ends where twice (or half) the value improves the goal by a smaller factor.
_SATURATION = 1.01
#: A border within this relative distance of the start counts as lying at the start.
_SAME_TOLERANCE = 1e-11
#: A border whose two sides are closer than this, relative to the start, is a jump.
_JUMP_WIDTH = 2.0**-65


def find_moves(site: Site, names: tuple[str, ...]) -> Iterator[Move]:
    """Yield the moves of one input up and down, or of several inputs up by a common factor."""
    site = site.with_free_inputs(names)
    path = _MovePath(site, names, raising=True)
    borders, limits = path.stop_lines(), path.stop_lines(borders=False)
    for raising in (True, False) if len(names) == 1 else (True,):
        path = _MovePath(site, names, raising=raising)
        if (move := path.move(borders)) is not None:
            yield path.with_end(move, limits)


class _MovePath:
    """Path of a move; a place on it is a value of the input, or a factor common to several inputs.

    ``axis`` names the leaf whose value is the place, and ``domain`` contains the places. If
    ``state_from_terms`` is True, the smallest term gives the state.
    """

    def __init__(self, site: Site, names: tuple[str, ...], *, raising: bool) -> None:
        self.site, self.names, self.raising = site, names, raising
        here = {name: site.value(name) for name in names}
        single, row = len(names) == 1, site.row(names[0])
        step = site.value(row.step) if row.step in site.grid.graph.definitions else 0.0
        self.axis = names[0] if single and not step else PLACE
        self.domain = row.domain if single else Domain(low=0)
        self.end_text = f"the end of its domain {self.domain}"
        is_far = single and site.is_machine and site.guide.goal == "time"
        known = shipped_values(names[0]) if is_far and site.lever(names) == "designer" else ()
        if known:  # moves of a designer end at the extreme value of shipped machines
            self.end_text = (
                f"the {'largest' if raising else 'smallest'} value of any shipped machine"
            )
            end: dict[str, Any] = {"high": max(known)} if raising else {"low": min(known)}
            self.domain = replace(self.domain, **end, **{f"{n}_open": False for n in end})
        is_count = names[0].endswith("_insts") and names[0] != "uncoalesced_insts"  # coalesce them
        if single and not raising and site.guide.fixed and is_count:
            self.end_text = "10 % fewer, as nobody knows how few the work needs"
            self.domain = replace(self.domain, low=0.9 * here[names[0]], low_open=False)
        self.start = here[names[0]] / (step or 1.0) if single else 1.0
        # start values, if several inputs move, or the step of one
        self.factors = ({names[0]: step} if step else {}) if single else here
        self.state_from_terms = site.state_from_terms and not self.domain.whole

    def inputs_at(self, places: Floats) -> dict[str, Floats]:
        return {n: f * places for n, f in self.factors.items()} or {self.axis: places}

    def value(self, place: float) -> float:
        if math.isnan(place):
            return math.nan  # always this object, so that two equal moves compare equal
        return self.factors[self.names[0]] * place if self.factors else place

    def gain(self, place: float) -> float:
        return float(self.gains(np.array([place]))[0])

    def gains(self, places: Floats) -> Floats:
        return self.site.gains(self.inputs_at(places))

    def is_allowed(self, places: Floats) -> NDArray[np.bool_]:
        return self.site.holds(self._allowed_condition(), {self.axis: places})

    def _allowed_condition(self) -> Node:
        domains = [(name, replace(self.site.row(name).domain, whole=False)) for name in self.names]
        inside = [negate(self._by_place(outside_domain(reference(n), d))) for n, d in domains]
        return constant(both(self._by_place(self.site.allowed_condition()), *inside))

    def _by_place(self, node: Node) -> Node:
        """Replace each of several moved inputs in a tree by its start times the common factor."""
        place = reference(PLACE)
        moved = {n: constant(place * f) for n, f in self.factors.items()}
        return substitute(node, moved) if moved else node

    def stop_lines(self, borders: bool = True) -> CaseLines:
        beyond = negate(self._allowed_condition())
        if borders:
            changed = self._by_place(self.site.change_condition(self.state_from_terms))
            beyond = either(beyond, changed)
        return CaseLines(constant(beyond), self.axis, self.site.leaves())

    def move(self, stop: CaseLines) -> Move | None:
        """Return the move to the first border or the end of the path; None if it does not help."""
        start, domain = self.start, self.domain
        xs = search_values(start, domain, upward=self.raising)
        result = first_crossing(stop, np.concatenate([[start], xs]), whole=domain.whole)
        if result is None:
            return self._move_to_end(xs) if len(xs) else None
        low, high = result
        best = self._best_before(low, xs)
        if best is not None:
            return self._make_move(best, limit=f"where {self.site.guide.goal} is best")
        if not self.is_allowed(np.array([high]))[0]:
            return self._make_move(low, limit=self._violated_limit(high))
        # whole numbers may step over the place at which the equations of two cases meet
        border = (first_crossing(stop, np.array([low, high])) or result)[1]
        # at a jump the next state begins exactly at ``high``
        jumps = domain.whole or abs(low - high) < _JUMP_WIDTH * start
        low = start if math.isclose(low, start, rel_tol=_SAME_TOLERANCE) else low
        until = high if jumps else low
        keep = self.site.guide.follow or (until == start and abs(self.gain(until) - 1) <= _NO_GAIN)
        beyond = high if jumps else self._place_past_border(low, high)
        return self._make_move(until, next_place=beyond, border=border, always=keep)

    def _jump_at(self, place: float, flag: float) -> str:
        goal = self.site.row(self.site.guide.goal)
        pairs = self.site.goals_by_case(self.inputs_at(np.array([place])), float(flag))
        if not pairs or math.isclose(pairs[0][1], pairs[1][1], rel_tol=1e-6):
            return ""
        return f"{goal.name} jumps from {' to '.join(value_text(x, goal.unit) for _, x in pairs)}"

    def with_end(self, move: Move, limits: CaseLines) -> Move:
        """Add the place where the gain saturates, if the goal still improves past the border."""
        sign, domain = (1 if self.raising else -1), self.domain
        xs = search_values(self.start, domain, upward=self.raising)
        if not move.helps or move.limit or move.together or not xs.size:
            return move
        limit = "" if domain.contains(float(xs[-1]) * 2.0**sign) else self.end_text
        path = np.append(self.start, xs)
        if (crossing := first_crossing(limits, path, whole=domain.whole)) is not None:
            xs = np.append(xs[(xs - crossing[0]) * sign < 0], crossing[0])
            limit = self._violated_limit(crossing[1])
        gains, last = self.gains(xs), len(xs) - 1
        best = np.maximum.accumulate(gains)
        further = np.searchsorted(sign * xs, sign * xs * 2.0**sign).clip(max=last)
        grows = np.flatnonzero(best[further] >= _SATURATION * best)
        at = min(int(grows[-1]) + 1 if grows.size else 0, last)
        if further[at] < last:
            factor = "twice" if self.raising else "half"
            limit = f"where {factor} the value gains less than 1 % more"
        elif (at := int(np.argmax(gains))) < last:
            limit = f"where {self.site.guide.goal} improves no more"
        gain, before = float(gains[at]), 1.0 if math.isnan(move.until) else move.gain
        is_artefact = self.site.is_artefact(self.inputs_at(xs[at : at + 1]))
        if not limit or gain < _SATURATION * before or is_artefact:
            return move
        return replace(move, end=self.value(float(xs[at])), end_gain=gain, end_limit=limit)

    def _move_to_end(self, xs: Floats) -> Move | None:
        """Return the move along a path without borders: to its best place, or to its end.

        The path ends where the goal stops changing, or at the end of a closed domain. Otherwise
        ``until`` is NaN.
        """
        domain, goal = self.domain, self.site.guide.goal
        ends = (domain.low, not domain.low_open), (domain.high, not domain.high_open)
        end, closed = ends[self.raising]
        best = self._best_before(float(xs[-1]), xs)
        if best is not None:
            return self._make_move(best, limit=f"where {goal} is best")
        gains = self.gains(xs)
        gain, before = float(gains[-1]), float(gains[max(len(xs) - 1 - _LAST_STEPS, 0)])
        with np.errstate(invalid="ignore"):  # inf - inf is NaN
            moving = np.flatnonzero(np.abs(gains - gain) > _MIN_IMPROVEMENT * abs(gain))
        at = int(moving[-1]) + 1 if moving.size else 0
        closed = closed and math.isfinite(end)
        ends_before = at < len(xs) - 1 or not closed
        if ends_before and self._is_near(float(xs[at]), at, len(xs)) and (gains[at:] == gain).all():
            plateau = self._refine_best(xs, at, gain)
            return self._make_move(plateau, limit=f"where {goal} changes no more")
        if closed:
            return self._make_move(end, limit=self.end_text)
        if gain > _GROWTH_WITHOUT_LIMIT * before or before > _GROWTH_WITHOUT_LIMIT * gain:
            gain = math.inf if gain > before else 0.0
        return self._make_move(math.nan, gain=gain)

    def _is_near(self, place: float, index: int, size: int) -> bool:
        """True if a place lies in the first half (in octaves) of the searched values."""
        if not (self.start and place):
            return index < size // 2
        return abs(math.log2(place / self.start)) < OCTAVES / 2

    def _best_before(self, end: float, xs: Floats) -> float | None:
        """Return the best place before ``end``, or None if no place is better than ``end``."""
        inner = xs[(xs - end) * (1 if self.raising else -1) < 0]
        if not inner.size:
            return None
        gains = self.gains(inner)
        at = int(np.argmax(gains))
        if not gains[at] > max(self.gain(end), 1.0) * (1 + _MIN_IMPROVEMENT):
            return None
        return self._refine_best(np.append(inner, end), at)

    def _refine_best(self, xs: Floats, index: int, enough: float = math.inf) -> float:
        """Return the best place near ``xs[index]``, or the first place that gains ``enough``."""
        ends = (
            self.start if index == 0 else float(xs[index - 1]),
            float(xs[min(index + 1, len(xs) - 1)]),
        )
        best = float(xs[index])
        for _ in range(ROUNDS):
            places = np.linspace(*ends, PARTS + 1)
            places = np.unique(np.rint(places)) if self.domain.whole else places
            places = places if self.raising or not self.domain.whole else places[::-1]
            k = int(np.argmax(np.minimum(self.gains(places), enough)))
            best = float(places[k])
            ends = float(places[max(k - 1, 0)]), float(places[min(k + 1, len(places) - 1)])
        return best

    def _place_past_border(self, low: float, high: float) -> float:
        """Return a place just past a border, where the state after the border holds."""
        step = _BEYOND_STEP * abs(low) * (1 if self.raising else -1)
        place = max(low + step, high) if self.raising else min(low + step, high)
        inside = self.domain.contains(place) and bool(self.is_allowed(np.array([place]))[0])
        return place if inside else high

    def _violated_limit(self, place: float) -> str:
        graph, moved = self.site.grid.graph, self.inputs_at(np.array([place]))
        for condition in graph.conditions:
            names = references(condition.node)
            values = dict(zip(names, self.site.evaluate(names, moved), strict=True))
            if not np.all(interpret_arrays([condition.node], values)[0]):
                return f"{'the rule' if condition.is_rule else 'the constraint'} {condition.text}"
        for text, node in self.site.guide_conditions().items():
            if not self.site.holds(node, moved)[0]:
                return f"the condition {text}"
        nodes = {name: (reference(name), self.site.row(name).domain) for name in self.names}
        for name, (node, domain) in {**self.site.formulas(), **nodes}.items():
            if self.site.holds(outside_domain(node, domain), moved)[0]:
                return f"the end of the domain of {name}, {domain}"
        return f"the end of the range in which {self.site.guide.goal} is defined"

    def _make_move(
        self,
        place: float,
        *,
        gain: float | None = None,
        next_place: float | None = None,
        border: float = math.nan,
        limit: str = "",
        always: bool = False,
    ) -> Move | None:
        gain = self.gain(place) if gain is None else gain
        artefact = math.isfinite(place) and self.site.is_artefact(self.inputs_at(np.array([place])))
        helps = gain > 1 + _NO_GAIN and not artefact
        if not (helps or always or artefact):
            return None
        site, graph = self.site, self.site.grid.graph
        known, wrong = move_directions(graph, site.guide.goal), "down" if self.raising else "up"
        if helps and any(known.get(name) == wrong for name in self.names):
            return None  # the move reduces a resource, or increases a latency or a count
        along = site.guide.along if math.isfinite(place) else ()
        there = site.evaluate(along, self.inputs_at(np.array([place]))) if along else ()
        here = [site.value(name) or math.nan for name in along]
        label: str | None = None
        limiter: tuple[str, ...] = ()
        jump = ""
        decides = site.binding[0]
        if next_place is not None:
            flag, *terms = site.evaluate(
                [site.guide.state, *site.terms], self.inputs_at(np.array([next_place]))
            )
            values = {name: float(term[0]) for name, term in zip(site.terms, terms, strict=True)}
            near = list(extreme_names(values, site.largest))
            first = max if site.largest else min
            if first(values.values()) != first(values[name] for name in site.binding):
                near = [name for name in near if name not in site.binding]
                decides = near[0]
            else:
                decides = site.guide.state
            limiter = tuple(dict.fromkeys(site.terms[name] for name in near))
            unique = self.state_from_terms and len(limiter) == 1
            label = limiter[0] if unique or not site.has_state else site.label(flag[0])
            jump = self._jump_at(border, flag[0]) and self._jump_at(next_place, flag[0])
        eq = graph.definitions[decides].equation or graph.definitions[site.guide.limits].equation
        return Move(
            quantity=self.names[0],
            together=self.names[1:],
            meaning=site.row(self.names[0]).meaning,
            unit=site.row(self.names[0]).unit,
            direction="raise" if self.raising else "lower",
            value=site.value(self.names[0]),
            until=self.value(place),
            next_bound=label,
            next_limiter=limiter,
            gain=gain,
            along={n: float(x[0]) / y for n, x, y in zip(along, there, here, strict=True)},
            helps=helps,
            artefact=artefact,
            lever=site.lever(self.names),
            equation=eq.name if eq else "",
            source=eq.source if eq else "",
            limit=limit,
            jump=jump,
            end=self.value(place),
            end_gain=gain,
            end_limit=limit,
        )
