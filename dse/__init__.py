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
    from dse.answers import table
    from dse.calibration import calibrate
    from dse.catalog import machine, machines, workload, workloads
    from dse.checking import verify
    from dse.derived import derive
    from dse.evaluation import evaluate
    from dse.faces import Study
    from dse.files import export, open  # noqa: A004
    from dse.fitted import load_fit
    from dse.fitting import fit
    from dse.glossary import quantities
    from dse.growth import add
    from dse.kernels import kernel
    from dse.library import model, models
    from dse.page.explore import explore
    from dse.uncertain.laws import beta, discrete, lognormal, normal, triangular, uniform
    from dse.validation import validate
    from dse.verbs.backwards import borders, meets, ranges
    from dse.verbs.chosen import best_config, disagreement, optimum, pareto
    from dse.verbs.described import advise, explain, plan
    from dse.verbs.folding import fold
    from dse.verbs.laws import law
    from dse.verbs.running import run
    from dse.verbs.statistics import count, histogram, quantiles, sensitivity
    from dse.verbs.uncertain import chances, information
    from symbolic.equation import equation
    from symbolic.equation_set import Family, Guide
    from symbolic.errors import DseError
    from symbolic.ops import (
        absolute,
        both,
        ceil,
        divide,
        either,
        equal,
        exp,
        floor,
        log,
        log2,
        log10,
        maximum,
        minimum,
        sqrt,
        where,
    )
    from symbolic.quantities import quantity

__all__ = [
    "DseError",
    "Family",
    "Guide",
    "Study",
    "absolute",
    "add",
    "advise",
    "best_config",
    "beta",
    "borders",
    "both",
    "calibrate",
    "ceil",
    "chances",
    "count",
    "derive",
    "disagreement",
    "discrete",
    "divide",
    "either",
    "equal",
    "equation",
    "evaluate",
    "exp",
    "explain",
    "explore",
    "export",
    "fit",
    "floor",
    "fold",
    "histogram",
    "information",
    "kernel",
    "law",
    "load_fit",
    "log",
    "log2",
    "log10",
    "lognormal",
    "machine",
    "machines",
    "maximum",
    "meets",
    "minimum",
    "model",
    "models",
    "normal",
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
    "sqrt",
    "table",
    "triangular",
    "uniform",
    "validate",
    "verify",
    "where",
    "workload",
    "workloads",
]

_HOMES = {
    "DseError": "symbolic.errors",
    "Family": "symbolic.equation_set",
    "Guide": "symbolic.equation_set",
    "Study": "dse.faces",
    "absolute": "symbolic.ops",
    "add": "dse.growth",
    "advise": "dse.verbs.described",
    "best_config": "dse.verbs.chosen",
    "beta": "dse.uncertain.laws",
    "borders": "dse.verbs.backwards",
    "both": "symbolic.ops",
    "calibrate": "dse.calibration",
    "ceil": "symbolic.ops",
    "chances": "dse.verbs.uncertain",
    "count": "dse.verbs.statistics",
    "derive": "dse.derived",
    "disagreement": "dse.verbs.chosen",
    "discrete": "dse.uncertain.laws",
    "divide": "symbolic.ops",
    "either": "symbolic.ops",
    "equal": "symbolic.ops",
    "equation": "symbolic.equation",
    "evaluate": "dse.evaluation",
    "exp": "symbolic.ops",
    "explain": "dse.verbs.described",
    "explore": "dse.page.explore",
    "export": "dse.files",
    "fit": "dse.fitting",
    "floor": "symbolic.ops",
    "fold": "dse.verbs.folding",
    "histogram": "dse.verbs.statistics",
    "information": "dse.verbs.uncertain",
    "kernel": "dse.kernels",
    "law": "dse.verbs.laws",
    "load_fit": "dse.fitted",
    "log": "symbolic.ops",
    "log10": "symbolic.ops",
    "log2": "symbolic.ops",
    "lognormal": "dse.uncertain.laws",
    "machine": "dse.catalog",
    "machines": "dse.catalog",
    "maximum": "symbolic.ops",
    "meets": "dse.verbs.backwards",
    "minimum": "symbolic.ops",
    "model": "dse.library",
    "models": "dse.library",
    "normal": "dse.uncertain.laws",
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
    "sqrt": "symbolic.ops",
    "table": "dse.answers",
    "validate": "dse.validation",
    "triangular": "dse.uncertain.laws",
    "uniform": "dse.uncertain.laws",
    "verify": "dse.checking",
    "where": "symbolic.ops",
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
