"""Measured errors of the models as intervals, and the chance that a variant is the fastest.

``dse/data/model_errors.toml`` has quantiles of log(measured / predicted time) for each class of
kernels and each machine. ``docs/model_errors.py`` computes this file from measured rows.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FILE = Path(__file__).parents[1] / "data" / "model_errors.toml"
#: A machine's own rows of a class are used if they come from at least this many kernels.
MIN_KERNELS = 5
OTHERS = "others"  # class of all limits except dram; used if one limit has too few machines
#: Class of a kernel, by the limit with the largest share of its time; other limits: ``compute``.
_CLASSES = {"dram": "dram", "l2": "l2", "latency": "latency", "launch": "launch"}
#: The law of the fastest time is integrated at _POINTS points, up to _REACH standard deviations.
_POINTS, _REACH = 2001, 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorClass:
    """Quantiles of log(measured / predicted) for kernels of one class.

    ``limit`` is the class of the kernels (empty: all kernels). ``machine`` is the machine of all
    rows. If it is empty, the quantiles are for a machine without rows, and are widened because the
    number of ``machines`` is small.
    """

    model: str
    limit: str = ""
    machine: str = ""
    machines: tuple[str, ...] = ()
    kernels: int = 0
    rows: int = 0
    quantiles: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorInterval:
    """Interval of measured / predicted time, with the probability ``level``.

    The interval comes from ``rows`` measured rows of the class ``of`` on ``machines``. ``is_known``
    is True if kernels of this class were measured on the machine itself.
    """

    low: float
    high: float
    level: float
    rows: int
    is_known: bool
    of: str
    machines: tuple[str, ...] = ()


def limit_class(limits: Mapping[str, float]) -> str:
    """Return a kernel's class by its largest limit: dram, l2, latency, launch or compute.

    >>> limit_class({"dram": 0.9, "issue": 0.4}), limit_class({"l1": 0.8, "dram": 0.7})
    ('dram', 'compute')
    """
    if not limits:
        return ""
    return _CLASSES.get(max(limits, key=lambda name: limits[name]), "compute")


@lru_cache(maxsize=1)
def _file() -> tuple[tuple[float, ...], float, tuple[ErrorClass, ...]]:
    tree = tomllib.loads(FILE.read_text(encoding="utf-8"))
    classes = [
        ErrorClass(
            **{**each, "machines": tuple(each["machines"]), "quantiles": tuple(each["quantiles"])}
        )
        for each in tree["classes"]
    ]
    return tuple(tree["probabilities"]), float(tree["own_spread"]), tuple(classes)


def read_classes() -> tuple[ErrorClass, ...]:
    """Return the error classes in ``dse/data/model_errors.toml``."""
    return _file()[2]


def learnt_interval(
    model: str, machine: str, limits: Mapping[str, float], level: float
) -> ErrorInterval:
    """Return the interval of measured / predicted time for a kernel on a machine.

    Its quantiles come from the first of these classes with enough measurements: kernels with the
    same largest limit on this machine (at least ``MIN_KERNELS``); kernels with this limit on other
    machines; kernels not limited by dram (if the given kernel is not); all kernels of the model.
    Without measured rows of the model, the interval is the widest interval of all models.
    """
    probabilities, _, classes = _file()
    limit, tail = limit_class(limits), (1 - level) / 2

    def interval(each: ErrorClass, of: str) -> ErrorInterval:
        low, high = np.exp(np.interp([tail, 1 - tail], probabilities, each.quantiles))
        is_known, low, high = bool(each.machine), float(low), float(high)
        about: dict[str, Any] = {"rows": each.rows, "is_known": is_known, "machines": each.machines}
        return ErrorInterval(low=low, high=high, level=level, of=of, **about)

    own = [each for each in classes if each.model == model]
    for each in own:
        if (each.limit, each.machine) == (limit, machine) and each.kernels >= MIN_KERNELS:
            return interval(
                each, f"{each.kernels} kernels limited by {limit}, measured on {machine}"
            )
    for wanted in (limit, OTHERS if limit != "dram" else "", ""):
        words = {OTHERS: " not limited by dram", "": ""}.get(wanted, f" limited by {limit}")
        for each in own:
            if each.limit == wanted and not each.machine:
                others = len({*each.machines} - {machine})
                return interval(
                    each,
                    f"{each.kernels} kernels{words}, measured on {others} other "
                    f"{'machine' if others == 1 else 'machines'}; widened for a new one",
                )
    every = [interval(each, "") for each in classes if not each.machine]
    return ErrorInterval(
        low=min(each.low for each in every),
        high=max(each.high for each in every),
        level=level,
        rows=0,
        is_known=False,
        of=f"no measured rows of the model {model}; the widest interval of all models",
    )


def widen_interval(interval: ErrorInterval, ratios: Floats) -> tuple[float, float]:
    """Return the ends of an interval, widened to cover unknown inputs.

    ``ratios`` are draws of time / predicted time while the unknown inputs vary. They do not depend
    on the model's error. So the result's distance from the middle (in logarithms) is the root of
    the sum of squares of two distances: the interval end's distance, and |log| of a quantile.
    """
    if not ratios.size:
        return interval.low, interval.high
    tail = (1 - interval.level) / 2
    middle = math.log(interval.low * interval.high) / 2
    low, high = np.log(np.quantile(ratios, [tail, 1 - tail]))
    down = math.hypot(middle - math.log(interval.low), min(low, 0.0))
    up = math.hypot(math.log(interval.high) - middle, max(high, 0.0))
    return math.exp(middle - down), math.exp(middle + up)


# --- learning
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
    from scipy import stats

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
                many = len({*kernel[of_one]})
                if of_one.sum() >= MIN_ROWS:
                    result.append(
                        ErrorClass(
                            model=name,
                            limit=wanted,
                            machine=one,
                            machines=(one,),
                            kernels=many,
                            rows=int(of_one.sum()),
                            quantiles=tuple(row_quantiles(error[of_one]).tolist()),
                        )
                    )
    return result


def best_chances(times: Floats) -> Floats:
    """Return, for each variant, the probability that it is the fastest.

    Variants of one kernel on one GPU share most of the model's error, and the shared part does not
    change their order. The other part is assumed to be independent and lognormal, with the spread
    of variants in measured tuning spaces. The probability is an integral over the fastest time.

    >>> best_chances(np.array([1.0, 1.0, 3.0])).round(2).tolist()
    [0.5, 0.5, 0.0]
    """
    logs = np.log(np.asarray(times, dtype=float))
    if logs.size < 2:
        return np.ones(logs.size)
    spread = own_spread()
    low = logs.min()
    near = logs < low + 2 * _REACH * spread
    x = np.linspace(low - _REACH * spread, low + _REACH * spread, _POINTS)
    z = (x[None, :] - logs[near, None]) / spread
    density = np.exp(-z * z / 2)
    later = np.maximum(_normal_tail(z), 1e-300)
    each = np.trapezoid(density * np.exp(np.log(later).sum(axis=0)) / later, x, axis=1)
    chances = np.zeros(logs.size)
    chances[near] = each / each.sum()
    return chances


def own_spread() -> float:
    """Return the standard deviation of the part of the log error that variants do not share."""
    return _file()[1]


def _normal_tail(z: Floats) -> Floats:
    from scipy.special import ndtr

    tail: Floats = ndtr(-z)
    return tail
