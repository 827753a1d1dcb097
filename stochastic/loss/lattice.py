"""Ways to the probabilities P(sum >= the least sum of its largest value) of a group of items.

A way is prepared once for a law and a number of lanes; it is then called with rows of least sums,
one for each value that the largest item can have, and adds up over them. Sums are counted in steps
of their lattice, from the smallest. See :mod:`stochastic.loss.inversion` for the mathematics.
"""

from __future__ import annotations

from stochastic.errors import LawError
from stochastic.loss.coefficients import Plan
from stochastic.loss.convolved import Convolution
from stochastic.loss.items import Items
from stochastic.loss.spectrum import Spectrum

__all__ = ["choose"]

_COEFFICIENTS = 1.5e7  # most that are kept, of 16 bytes each
_TRANSFORMS = 1e9  # most of a single value at a frequency
_PRODUCTS = 2e9  # most of a convolution


def choose(items: Items, lanes: int) -> Convolution | Spectrum:
    """The way that costs less for an answer: few lanes with a wide law are convolved."""
    convolution = Convolution(items=items, lanes=lanes)
    if lanes == 2:
        return convolution
    plan = Plan.of(items, lanes)
    needed = plan.frequencies * plan.kept
    fits = needed <= _COEFFICIENTS and plan.frequencies * len(items.places) <= _TRANSFORMS
    if fits and needed <= convolution.products + convolution.growth:
        return Spectrum.of(plan)
    if convolution.products + convolution.growth <= _PRODUCTS:
        return convolution
    if fits:
        return Spectrum.of(plan)
    raise LawError(
        f"the CDF of {lanes} lanes over {len(items.places)} uneven values up to "
        f"{int(items.places[-1])} steps apart takes too long ({needed:.1g} coefficients): "
        "simulate it, or group the values on a coarser grid"
    )
