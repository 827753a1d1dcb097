"""Advice on random configurations, and what must be true of it: it names nothing beyond what is.

Every model that advises, with every machine and workload that fits it; what no file gives is drawn
from its typical range. Where a move ends lies in the domain of the quantity; the configuration
there breaks no rule and no limit of the machine, and gains what is told. So many are drawn by

    python -m tests.dse.advising 2000 1
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

import dse
from dse.advice import Advice, Move
from symbolic.advice import guides
from symbolic.errors import DseError
from symbolic.library import iterate_models, load_model

#: Unions of which more is asked than of their parts.
UNIONS = ("ipp", "occupancy + mwp_cwp", "throughput + power", "transit + transit_warps")
#: Labels and the indices of tables, which have no range.
LABELS: dict[str, Sequence[Any]] = {
    "distribution": ("geometric:0.1", "uniform:20,40", "poisson:3"),
    "tpc_map": ("0-1-2-0-1-2",),
    "lit_sms": ("0-1-2", "0-3", "1-2-4-5"),
    "paths": ("1/2: 100, 1/2: 20",),
}
#: What of a machine holds what of a configuration, said again.
LIMITS = {
    "warps_per_sm": "max_warps_per_sm",
    "active_blocks_per_sm": "max_blocks_per_sm",
    "threads_per_block": "max_threads_per_block",
    "active_sms": "n_sms",
    "busy_sms": "n_sms",
    "core_clock": "max_core_clock",
}
Pick = Callable[[Sequence[Any]], Any]
Between = Callable[[float, float], float]


@cache
def models() -> tuple[str, ...]:
    """The models with advice."""
    return (*(m.name for m in iterate_models() if guides(m)), *UNIONS)


@cache
def _values(kind: str, name: str) -> dict[str, Any]:
    entry = (dse.machine if kind == "machine" else dse.workload)(name)
    return {quantity: value.value for quantity, value in entry.values.items()}


@cache
def _names(kind: str) -> tuple[str, ...]:
    known = dse.machines() if kind == "machine" else dse.workloads()
    return tuple(name for name in known if not name.startswith("cc") or name in ("cc3.5", "cc8.0"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """A configuration: the model, its files, what is given besides, and what should improve."""

    model: str
    machine: str | None
    workload: str | None
    goal: str | None
    levers: str = "all"
    point: dict[str, Any] = field(hash=False)

    @property
    def entries(self) -> dict[str, Any]:
        return {"machine": self.machine, "workload": self.workload}

    def advice(self) -> Advice | None:
        """None where the configuration is none, or gives what an equation should tell."""
        options = {"goal": self.goal, "levers": self.levers}
        try:
            return dse.advise(self.model, **self.entries, **options, **self.point)
        except DseError as error:
            if "is given: remove its value" not in str(error):
                with pytest.raises(DseError):
                    dse.evaluate(self.model, **self.entries, **self.point)
            return None

    def there(self, *outputs: str, **moved: float) -> dict[str, float]:
        """Quantities at a place."""
        given = {**self.point, **moved}
        ds = dse.evaluate(self.model, outputs=list(outputs), **self.entries, **given)
        return {name: float(ds[name]) for name in outputs}

    def tells(self, name: str) -> bool:
        """True if a quantity is known here."""
        try:
            self.there(name)
        except DseError:
            return False
        return True


def draw_case(pick: Pick, between: Between) -> Case:
    """A case by some source of chance."""
    name = pick(models())
    model = load_model(name)
    machine = pick((None, *_names("machine")))
    workload = pick((None, *_names("workload")))
    known = set(_values("machine", machine) if machine else ())
    known |= set(_values("workload", workload) if workload else ())
    point: dict[str, Any] = {}
    moved = {pick(model.inputs) for _ in range(3)}
    for need in model.inputs:
        row = model.quantity(need)
        if row.is_switch or (need in known and need not in moved):
            continue
        if row.default is not None and need not in moved:
            continue
        if row.is_label:
            if need in LABELS and need not in known:
                point[need] = pick(LABELS[need])
        elif row.typical is not None:
            value = between(*row.typical)
            value = float(round(value)) if row.domain.whole else value
            if row.domain.contains(value):
                point[need] = value
    goal = pick((None, *(guide.goal for guide in guides(model))))
    levers = pick(("all", "programmer", "designer"))
    return Case(
        model=name, machine=machine, workload=workload, goal=goal, levers=levers, point=point
    )


def check(case: Case) -> Advice | None:
    """The advice on a case; raises where it names what cannot be."""
    advice = case.advice()
    if advice is None:
        return None
    model = load_model(case.model)
    machine_values = _values("machine", case.machine) if case.machine else {}
    limits = {name: limit for name, limit in LIMITS.items() if case.tells(name)}
    for move in advice.moves:
        assert case.levers in ("all", move.lever), move
        assert not re.search(r" (to|from) (inf|nan|-)\b", str(move)), str(move)
        assert not (move.helps and move.artefact), move
        for end, gain in ((move.until, move.gain), (move.end, move.end_gain)):
            if math.isnan(end):
                continue
            place = _place(case, move, end)
            for name, value in place.items():
                assert model.quantity(name).domain.contains(value), (case, str(move))
                limit = machine_values.get(LIMITS.get(name, ""), math.inf)
                free = isinstance(limit, str) or LIMITS.get(name) in case.point
                assert free or value <= limit, (case, str(move))
            _check_at(case, advice, str(move), place, gain, limits)
            way = 1 if move.direction == "raise" else -1
            assert math.isnan(move.until) or (end - move.until) * way >= 0, (case, str(move))
    for suggestion in advice.suggestions:
        value, name, gain = suggestion.value, suggestion.of, suggestion.gain
        if isinstance(value, float) and gain is not None and name != advice.goal:
            assert model.quantity(name).domain.contains(value), (case, str(suggestion))
            _check_at(case, advice, str(suggestion), {name: value}, gain, limits)
    return advice


def _place(case: Case, move: Move, end: float) -> dict[str, float]:
    if not move.together:
        return {move.quantity: end}
    names = (move.quantity, *move.together)
    return {name: case.there(name)[name] * (end / move.value) for name in names}


def _check_at(
    case: Case,
    advice: Advice,
    text: str,
    place: dict[str, float],
    gain: float,
    limits: dict[str, str],
) -> None:
    """The configuration is feasible, within the machine's limits, and gains what is text."""
    here, machine_values = advice.values[advice.goal], _values("machine", case.machine or "cc3.5")
    result = case.there(advice.goal, *limits, **place)  # refused where a rule is broken
    goal = result[advice.goal]
    ratios = (goal / here if here else math.inf, here / goal if goal else math.inf)
    near = any(math.isclose(gain, ratio, rel_tol=1e-6) for ratio in ratios)
    assert near or (here == goal and gain == 1), (case, text, here, goal)
    for name, limit in limits.items():
        most = machine_values.get(limit, math.inf)
        own = limit in {**case.point, **place} or isinstance(most, str)
        assert case.machine is None or own or result[name] <= most, (case, text, name, result[name])


def main(count: int, seed: int) -> None:
    """Draw cases, check each, and count."""
    chance = random.Random(seed)
    result = [check(draw_case(chance.choice, chance.uniform)) for _ in range(count)]
    advised = [advice for advice in result if advice is not None]
    moves = [move for advice in advised for move in advice.moves]
    print(
        f"{count:,} configurations, {len(advised):,} advised on, {len(moves):,} moves, "
        f"{sum(m.artefact for m in moves):,} by cases that do not meet: none beyond"
    )


if __name__ == "__main__":
    main(*(int(text) for text in sys.argv[1:3]))
