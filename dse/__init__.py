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
    from dse.calibration import calibrate
    from dse.catalog import machine, machines, workload, workloads
    from dse.checking import verify
    from dse.derived import derive
    from dse.evaluation import evaluate
    from dse.faces import Study
    from dse.files import export, open  # noqa: A004
    from dse.fitting import fit
    from dse.growth import add
    from dse.library import model, models
    from dse.verbs import (
        advise,
        best_config,
        borders,
        count,
        disagreement,
        explain,
        histogram,
        meets,
        optimum,
        pareto,
        plan,
        quantiles,
        ranges,
        run,
        sensitivity,
    )
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
    "explain",
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
    "plan",
    "quantiles",
    "quantity",
    "ranges",
    "run",
    "sensitivity",
    "verify",
    "workload",
    "workloads",
]

_HOMES = {
    "DseError": "symbolic.errors",
    "Study": "dse.faces",
    "add": "dse.growth",
    "advise": "dse.verbs",
    "best_config": "dse.verbs",
    "borders": "dse.verbs",
    "calibrate": "dse.calibration",
    "count": "dse.verbs",
    "derive": "dse.derived",
    "disagreement": "dse.verbs",
    "equation": "symbolic.equation",
    "evaluate": "dse.evaluation",
    "explain": "dse.verbs",
    "export": "dse.files",
    "fit": "dse.fitting",
    "histogram": "dse.verbs",
    "machine": "dse.catalog",
    "machines": "dse.catalog",
    "meets": "dse.verbs",
    "model": "dse.library",
    "models": "dse.library",
    "open": "dse.files",
    "optimum": "dse.verbs",
    "pareto": "dse.verbs",
    "plan": "dse.verbs",
    "quantiles": "dse.verbs",
    "quantity": "symbolic.quantities",
    "ranges": "dse.verbs",
    "run": "dse.verbs",
    "sensitivity": "dse.verbs",
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
