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
    from stochastic.errors import LawError, ToleranceWarning
    from stochastic.loss.inequalities import bounds
    from stochastic.loss.law import Law, imbalance
    from stochastic.loss.timed import fit_timing
    from stochastic.remedies.binning import partition
    from stochastic.remedies.cooperation import granularity
    from stochastic.remedies.splitting import split
    from stochastic.remedies.traces import measured
    from stochastic.scheduling.continuous import Between, launch_between
    from stochastic.scheduling.launch import Launch, launch
    from stochastic.scheduling.shared_rate import Sharing
    from stochastic.trials.simulation import simulate
    from stochastic.work.alike import stickiness
    from stochastic.work.fitting import fit
    from stochastic.work.pmf import Pmf

__all__ = [
    "Between",
    "Launch",
    "Law",
    "LawError",
    "Pmf",
    "Sharing",
    "ToleranceWarning",
    "bounds",
    "fit",
    "fit_timing",
    "granularity",
    "imbalance",
    "launch",
    "launch_between",
    "measured",
    "partition",
    "simulate",
    "split",
    "stickiness",
]

_HOMES = {
    "Between": "scheduling.continuous",
    "Launch": "scheduling.launch",
    "Law": "loss.law",
    "LawError": "errors",
    "Pmf": "work.pmf",
    "Sharing": "scheduling.shared_rate",
    "ToleranceWarning": "errors",
    "bounds": "loss.inequalities",
    "fit": "work.fitting",
    "fit_timing": "loss.timed",
    "granularity": "remedies.cooperation",
    "imbalance": "loss.law",
    "launch": "scheduling.launch",
    "launch_between": "scheduling.continuous",
    "measured": "remedies.traces",
    "partition": "remedies.binning",
    "simulate": "trials.simulation",
    "split": "remedies.splitting",
    "stickiness": "work.alike",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stochastic' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"stochastic.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
