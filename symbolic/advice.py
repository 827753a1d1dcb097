"""Find the guides of a model, and the values of an input at which to look for the next regime."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.graph import Graph
from symbolic.model import Family, Guide, Model
from symbolic.quantity import Domain

Floats = NDArray[np.float64]

_NEAR_VALUES = sizes.ADVICE_NEAR
#: A quantity is searched from its value / 2**OCTAVES to its value × 2**OCTAVES.
OCTAVES = 64
STEPS_PER_OCTAVE = 32
#: Goals that also get a copy of the guide to the time.
_COST_GOALS = ("energy", "edp")
#: Quantities that say how many threads a launch has.
LAUNCH = ("blocks", "threads_per_block")
#: Units of goals that can improve when resources are reduced.
_POWER_UNITS = ("W", "J", "J s", "J s2")
#: The guide to the time for a model that declares none: it has no competing terms, and every input
#: may help.
_TIME_GUIDE = Guide(state="time", goal="time", limits="time", helps="time", same_work=True)


def guides(model: Model) -> tuple[Guide, ...]:
    """Return the guides of a model: first the guide to the time, then those of its main outputs.

    If the model declares no guides, they are made from its families (see
    :class:`symbolic.equation.Guide`). A model that yields ``time`` always gets a guide to the time.
    If it yields the energy or the energy-delay product, it gets a guide to each of these too.
    """
    yields = set(model.yields)
    known = [g for g in model.guides if {g.state, g.goal, g.limits} <= yields]
    if not known:
        known = [_guide_of_family(each) for each in model.regime_families if each.of in yields]
    if "time" in yields and all(guide.goal != "time" for guide in known):
        rate = next((guide for guide in known if guide.goal == "flops"), _TIME_GUIDE)
        known.append(replace(rate, goal="time", maximize=False))
    order = [*model.outputs, *model.yields]
    known = sorted(known, key=lambda g: (g.goal != "time", g.state == g.goal, order.index(g.state)))
    timed = [guide for guide in known if guide.goal == "time"]
    costs = [replace(g, goal=c, maximize=False) for g in timed for c in _COST_GOALS if c in yields]
    return (*known, *costs)


def has_cases(graph: Graph, guide: Guide) -> bool:
    """True if the equations of a guide's goal depend on the case."""
    is_apart = guide.state not in (guide.goal, guide.limits)
    return is_apart and guide.state in graph.ancestors([guide.goal])


def move_directions(graph: Graph, goal: str) -> dict[str, str]:
    """Return, for each quantity on which a goal depends, the direction in which advice may move it.

    Fewer resources may save power, but never time. If the goal is a time, or depends on no power
    and no energy, the directions are those in the table of quantities, even if a paper predicts
    that fewer resources save time.
    """
    behind = {name: graph.model.quantity(name) for name in graph.ancestors([goal])}
    is_time = graph.model.quantity(goal).unit == "s"
    has_power = not is_time and any(row.unit in _POWER_UNITS for row in behind.values())
    return {
        name: "both" if has_power and row.direction != "none" else row.direction
        for name, row in behind.items()
    }


def _guide_of_family(family: Family) -> Guide:
    of, terms = family.of, ", ".join(family.terms.values())
    maximize = not family.largest
    return Guide(state=of, goal=of, limits=of, maximize=maximize, helps=terms, same_work=True)


def search_values(start: float, domain: Domain, *, upward: bool) -> Floats:
    """Return values above (or below) ``start`` at which to search, the nearest first.

    The last value is the end of the domain, or ``start`` multiplied (or divided) by 2**64.
    """
    sign = 1.0 if upward else -1.0
    if domain.whole:
        whole = math.floor(start) if upward else math.ceil(start)
        near = whole + sign * np.arange(1, _NEAR_VALUES + 1)
        far = np.rint(max(start, 1.0) * np.exp2(sign * np.arange(1, 16 * OCTAVES) / 16))
        xs = np.concatenate([near, far[(far - near[-1]) * sign > 0]])
    else:
        base, octaves = (start, OCTAVES) if start else (2.0**-OCTAVES, 2 * OCTAVES)
        xs = base * np.exp2(
            sign * np.arange(1 if start else 0, STEPS_PER_OCTAVE * octaves + 1) / STEPS_PER_OCTAVE
        )
    ends = [end for end in (domain.low, domain.high) if (end - start) * sign > 0]
    xs = np.concatenate([xs, [end for end in ends if math.isfinite(end)]])
    xs = np.unique(xs[domain.is_inside(xs) & ((xs - start) * sign > 0)])
    return xs if upward else xs[::-1]
