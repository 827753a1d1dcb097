"""What few studies have, loaded by those that have it: laws, fits, statistics over axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symbolic.quantities import Quantity
from symbolic.reach import Base

if TYPE_CHECKING:
    from dse.fitted_inputs import FittedInputs
    from dse.uncertain.draws import Uncertain


def random_of(
    given: Mapping[str, Any], quantities: Mapping[str, Quantity], folder: Base
) -> Uncertain | None:
    """The laws of ``random=``, None without (:func:`dse.uncertain.draws.read_random`)."""
    if not given:
        return None
    from dse.uncertain.draws import read_random

    return read_random(given, quantities, folder)


def fits_of(given: Any, folder: Base) -> FittedInputs | None:
    """The fits of ``fit=``, None without (:func:`dse.study.fits_given.read_fits`)."""
    if given is None:
        return None
    from dse.study.fits_given import read_fits

    return read_fits(given, folder)


def summarized(folding: Any) -> Any:
    """Statistics of a formula over axes (:func:`sweeps.nest.summarize.summarized`)."""
    from sweeps.nest.summarize import summarized

    return summarized(folding)
