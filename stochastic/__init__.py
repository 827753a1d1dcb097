"""Probability laws of the work that threads in lockstep do, and what lockstep costs them.

>>> from stochastic import Pmf, imbalance
>>> law = imbalance(Pmf.geometric(0.05), lanes=32)
>>> round(law.mean(), 6), round(float(law.slowdown()), 6)
(3.978775, 3.981165)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stochastic.binning import partition
    from stochastic.cooperation import granularity
    from stochastic.errors import LawError, ToleranceWarning
    from stochastic.fitting import fit
    from stochastic.inequalities import bounds
    from stochastic.law import Law, imbalance
    from stochastic.pmf import Pmf
    from stochastic.simulation import simulate
    from stochastic.splitting import split
    from stochastic.traces import measured

__all__ = [
    "Law",
    "LawError",
    "Pmf",
    "ToleranceWarning",
    "bounds",
    "fit",
    "granularity",
    "imbalance",
    "measured",
    "partition",
    "simulate",
    "split",
]

_HOMES = {
    "Law": "law",
    "LawError": "errors",
    "Pmf": "pmf",
    "ToleranceWarning": "errors",
    "bounds": "inequalities",
    "fit": "fitting",
    "granularity": "cooperation",
    "imbalance": "law",
    "measured": "traces",
    "partition": "binning",
    "simulate": "simulation",
    "split": "splitting",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stochastic' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"stochastic.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
