"""Find the guides of a model, and the values of an input at which to look for the next regime."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes
from symbolic.model import Family, Guide, Model
from symbolic.quantity import Domain

Floats = NDArray[np.float64]

#: Number of nearest whole numbers that are tried one by one; further ones are spaced by a ratio.
_NEAR_VALUES = sizes.ADVICE_NEAR
#: A quantity is varied from its value up to its value times 2**OCTAVES (or down, divided by it).
OCTAVES = 64
STEPS_PER_OCTAVE = 32
#: Quantities for which a guide to the time is also used.
_COST_GOALS = ("energy", "edp")


def guides(model: Model) -> tuple[Guide, ...]:
    """Return the guides of a model, in the order of its main outputs.

    If the model declares no guides, they are made from its families (see
    :class:`symbolic.equation.Guide`). A guide whose goal is the time, or operations per second, is
    returned for the energy and the energy-delay product too, if the model yields them.
    """
    yields = set(model.yields)
    known = [g for g in model.guides if {g.state, g.goal, g.limits} <= yields]
    if not known:
        known = [
            _guide_of_family(family) for family in model.regime_families if family.of in yields
        ]
    order = [*model.outputs, *model.yields]
    known = sorted(known, key=lambda g: (g.state == g.goal, order.index(g.state)))
    timed = [guide for guide in known if guide.goal in ("time", "flops")]
    costs = [replace(g, goal=c, maximize=False) for g in timed for c in _COST_GOALS if c in yields]
    return (*known, *costs)


def _guide_of_family(family: Family) -> Guide:
    of, terms = family.of, ", ".join(family.terms.values())
    return Guide(state=of, goal=of, limits=of, maximize=not family.largest, helps=terms)


def search_values(start: float, domain: Domain, *, upward: bool) -> Floats:
    """Return values above or below ``start`` at which to search, nearest first.

    They end at the end of the domain, or at the start times (or divided by) 2**64.
    """
    sign = 1.0 if upward else -1.0
    if domain.whole:
        near = start + sign * np.arange(1, _NEAR_VALUES + 1)
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
