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
    from dse.glossary import quantities
    from dse.growth import add
    from dse.library import model, models
    from dse.verbs.backwards import borders, meets, ranges
    from dse.verbs.chosen import best_config, disagreement, optimum, pareto
    from dse.verbs.described import advise, explain, plan
    from dse.verbs.folding import fold
    from dse.verbs.running import run
    from dse.verbs.statistics import count, histogram, quantiles, sensitivity
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
    "fold",
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
    "quantities",
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
    "advise": "dse.verbs.described",
    "best_config": "dse.verbs.chosen",
    "borders": "dse.verbs.backwards",
    "calibrate": "dse.calibration",
    "count": "dse.verbs.statistics",
    "derive": "dse.derived",
    "disagreement": "dse.verbs.chosen",
    "equation": "symbolic.equation",
    "evaluate": "dse.evaluation",
    "explain": "dse.verbs.described",
    "export": "dse.files",
    "fit": "dse.fitting",
    "fold": "dse.verbs.folding",
    "histogram": "dse.verbs.statistics",
    "machine": "dse.catalog",
    "machines": "dse.catalog",
    "meets": "dse.verbs.backwards",
    "model": "dse.library",
    "models": "dse.library",
    "open": "dse.files",
    "optimum": "dse.verbs.chosen",
    "pareto": "dse.verbs.chosen",
    "plan": "dse.verbs.described",
    "quantiles": "dse.verbs.statistics",
    "quantities": "dse.glossary",
    "quantity": "symbolic.quantities",
    "ranges": "dse.verbs.backwards",
    "run": "dse.verbs.running",
    "sensitivity": "dse.verbs.statistics",
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
