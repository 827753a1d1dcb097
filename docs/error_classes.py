"""Quantiles of the model's errors, learnt from measured rows; used by ``docs/model_errors.py``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dse.uncertain.model_errors import OTHERS, ErrorClass, Floats

#: Probabilities of the quantiles in the file.
PROBABILITIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995)
#: A class needs at least this number of machines to have quantiles for a machine without rows. With
#: fewer machines, a wider class is used.
MIN_MACHINES = 2
MIN_ROWS = 30  # a machine with fewer rows in a class has no quantiles of its own
FEW_ROWS = 10  # a machine with fewer rows in a class is left out of the class
#: Student's factor is taken for at least this number of observations: for two it would be 100.
LEAST_FACTOR = 3


def row_quantiles(errors: Floats) -> Floats:
    """Return the quantiles for a new row of the same kind, at the levels PROBABILITIES."""
    return np.quantile(errors, PROBABILITIES, method="weibull")


def machine_quantiles(groups: Iterable[tuple[str, str, Floats]]) -> Floats:
    """Return quantiles for a machine without rows, from errors by machine and kernel.

    All machines have equal weights, and so have the kernels of a machine. Distances from the median
    are multiplied by Student's factor for n observations: n is the number of machines or of
    kernels, whichever is smaller, but at least ``LEAST_FACTOR``.
    """
    by_machine: dict[str, list[Floats]] = {}
    different = set[str]()
    for machine, kernel, errors in groups:
        by_machine.setdefault(machine, []).append(errors)
        different.add(kernel)
    many = len(by_machine)
    counted = max(min(many, len(different)), LEAST_FACTOR)
    values = [each for kernels in by_machine.values() for each in kernels]
    weights = [
        np.full(each.size, 1 / (many * len(kernels) * each.size))
        for kernels in by_machine.values()
        for each in kernels
    ]
    errors, weight = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(errors)
    middles = np.cumsum(weight[order]) - weight[order] / 2
    quantiles = np.interp(PROBABILITIES, middles, errors[order])
    at = np.array(PROBABILITIES)
    with np.errstate(invalid="ignore"):
        factor = stats.t.ppf(at, counted - 1) / stats.norm.ppf(at) * math.sqrt(1 + 1 / counted)
    middle = float(np.interp(0.5, PROBABILITIES, quantiles))
    widened: Floats = middle + (quantiles - middle) * np.where(at == 0.5, 1, factor)
    return widened


def learn_classes(rows: Mapping[str, Any]) -> list[ErrorClass]:
    """Return the classes of errors, learnt from a table of measured rows.

    The table has the columns ``model``, ``limit``, ``machine``, ``kernel`` and ``error``, which is
    log(measured / predicted time).
    """
    names = ("model", "limit", "machine", "kernel")
    model, limit, machine, kernel = (np.asarray(rows[name], dtype=str) for name in names)
    error = np.asarray(rows["error"], dtype=float)
    usable = np.isfinite(error)
    result = []

    def groups(chosen: NDArray[np.bool_]) -> dict[tuple[str, str], Floats]:
        pairs = sorted({*zip(machine[chosen], kernel[chosen], strict=True)})
        return {(m, k): error[chosen & (machine == m) & (kernel == k)] for m, k in pairs}

    for name in sorted({*model}):
        for wanted in ("", OTHERS, *sorted({*limit[model == name]} - {""})):
            chosen = usable & (model == name)
            if wanted:
                chosen &= limit != "dram" if wanted == OTHERS else limit == wanted
            here = [
                one
                for one in sorted({*machine[chosen]})
                if (chosen & (machine == one)).sum() >= FEW_ROWS
            ]
            chosen &= np.isin(machine, here)
            if not chosen.any():
                continue
            parts = groups(chosen)
            machines = tuple(dict.fromkeys(m for m, _ in parts))
            about: dict[str, Any] = {"model": name, "limit": wanted}
            if len(machines) >= MIN_MACHINES or wanted in ("", OTHERS):
                quantiles = machine_quantiles((m, k, each) for (m, k), each in parts.items())
                many = len({k for _, k in parts})
                about |= {"machines": machines, "kernels": many, "rows": int(chosen.sum())}
                result.append(ErrorClass(**about, quantiles=tuple(quantiles.tolist())))
            for one in machines if wanted not in ("", OTHERS) else ():
                of_one = chosen & (machine == one)
                if of_one.sum() >= MIN_ROWS:
                    about |= {"machine": one, "machines": (one,), "rows": int(of_one.sum())}
                    about |= {"kernels": len({*kernel[of_one]})}
                    quantiles = row_quantiles(error[of_one])
                    result.append(ErrorClass(**about, quantiles=tuple(quantiles.tolist())))
    return result
