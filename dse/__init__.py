"""Probabilistic and design-space exploration engine for SIMT machines (GPUs).

>>> import dse
>>> ds = dse.evaluate("transit", threads=64, intensity=10, lanes_width=32, ms_peak=1,
...                   mem_latency=600)
>>> round(float(ds.ms_throughput), 6)
0.104918
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dse.advice import advise
    from dse.api import (
        best_config,
        disagreement,
        export,
        model,
        models,
        open,  # noqa: A004
        optimum,
        pareto,
    )
    from dse.calibration import calibrate
    from dse.catalog import machine, machines, workload, workloads
    from dse.checking import verify
    from dse.derived import derive
    from dse.distribution import count, histogram, quantiles
    from dse.effects import sensitivity
    from dse.evaluation import evaluate
    from dse.fitting import fit
    from dse.growth import add
    from dse.inverse import borders, meets, ranges
    from dse.study import Study
    from symbolic.equation import equation
    from symbolic.errors import DseError
    from symbolic.quantities import quantity

__all__ = [
    "DseError",
    "Study",
    "add",
    "advise",
    "best_config",
    "borders",
    "calibrate",
    "count",
    "derive",
    "disagreement",
    "equation",
    "evaluate",
    "export",
    "fit",
    "histogram",
    "machine",
    "machines",
    "meets",
    "model",
    "models",
    "open",
    "optimum",
    "pareto",
    "quantiles",
    "quantity",
    "ranges",
    "sensitivity",
    "verify",
    "workload",
    "workloads",
]

_HOMES = {
    "DseError": "symbolic.errors",
    "Study": "dse.study",
    "add": "dse.growth",
    "advise": "dse.advice",
    "best_config": "dse.api",
    "borders": "dse.inverse",
    "calibrate": "dse.calibration",
    "count": "dse.distribution",
    "derive": "dse.derived",
    "disagreement": "dse.api",
    "equation": "symbolic.equation",
    "evaluate": "dse.evaluation",
    "export": "dse.api",
    "fit": "dse.fitting",
    "histogram": "dse.distribution",
    "machine": "dse.catalog",
    "machines": "dse.catalog",
    "meets": "dse.inverse",
    "model": "dse.api",
    "models": "dse.api",
    "open": "dse.api",
    "optimum": "dse.api",
    "pareto": "dse.api",
    "quantiles": "dse.distribution",
    "quantity": "symbolic.quantities",
    "ranges": "dse.inverse",
    "sensitivity": "dse.effects",
    "verify": "dse.checking",
    "workload": "dse.catalog",
    "workloads": "dse.catalog",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
