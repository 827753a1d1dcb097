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
    from dse.uncertain.spoken import beta, discrete, lognormal, normal, triangular, uniform
    from dse.validation import validate
    from dse.verbs.borders import borders
    from dse.verbs.chosen import best_config, optimum
    from dse.verbs.compared import disagreement
    from dse.verbs.described import advise, explain, plan
    from dse.verbs.folding import fold
    from dse.verbs.fronts import pareto
    from dse.verbs.information import information
    from dse.verbs.laws import law
    from dse.verbs.ranges import ranges
    from dse.verbs.running import run
    from dse.verbs.sensitivity import sensitivity
    from dse.verbs.statistics import count, histogram, quantiles
    from dse.verbs.targets import meets
    from dse.verbs.uncertain import chances
    from symbolic.equation import equation
    from symbolic.errors import DseError
    from symbolic.guides import Family, Guide
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

#: Where each name is at home, which is loaded when it is first used.
_HOMES = {
    name: home
    for home, names in {
        "dse.answers": "table",
        "dse.calibration": "calibrate",
        "dse.catalog": "machine machines workload workloads",
        "dse.checking": "verify",
        "dse.derived": "derive",
        "dse.evaluation": "evaluate",
        "dse.faces": "Study",
        "dse.files": "export open",
        "dse.fitted": "load_fit",
        "dse.fitting": "fit",
        "dse.glossary": "quantities",
        "dse.growth": "add",
        "dse.kernels": "kernel",
        "dse.library": "model models",
        "dse.page.explore": "explore",
        "dse.uncertain.spoken": "beta discrete lognormal normal triangular uniform",
        "dse.validation": "validate",
        "dse.verbs.borders": "borders",
        "dse.verbs.chosen": "best_config optimum",
        "dse.verbs.compared": "disagreement",
        "dse.verbs.described": "advise explain plan",
        "dse.verbs.folding": "fold",
        "dse.verbs.fronts": "pareto",
        "dse.verbs.information": "information",
        "dse.verbs.laws": "law",
        "dse.verbs.ranges": "ranges",
        "dse.verbs.running": "run",
        "dse.verbs.sensitivity": "sensitivity",
        "dse.verbs.statistics": "count histogram quantiles",
        "dse.verbs.targets": "meets",
        "dse.verbs.uncertain": "chances",
        "symbolic.equation": "equation",
        "symbolic.guides": "Family Guide",
        "symbolic.errors": "DseError",
        "symbolic.ops": (
            "absolute both ceil divide either equal exp floor log log10 log2 maximum "
            "minimum sqrt where"
        ),
        "symbolic.quantities": "quantity",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
