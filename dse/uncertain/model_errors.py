"""Measured errors of the models as intervals, and the chance that a variant is the fastest.

``dse/data/model_errors.toml`` has quantiles of log(measured / predicted time) for each class of
kernels and each machine. ``docs/model_errors.py`` computes this file from measured rows.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.uncertain.joint import JointRows
from symbolic.equation import equation
from symbolic.expression import parse_output
from symbolic.model import Model
from symbolic.ops import maximum, where
from symbolic.quantity import quantity

Floats = NDArray[np.float64]

FILE = Path(__file__).parents[1] / "data" / "model_errors.toml"
#: A machine's own rows of a class are used if they come from at least this many kernels.
MIN_KERNELS = 5
OTHERS = "others"  # class of all limits except dram; used if one limit has too few machines
LAUNCH_BYTES = {"launch_bytes", "dram_bytes"}  # if they are assumed, a time has no lower bound
#: Class of a kernel, by the limit with the largest share of its time; other limits: ``compute``.
_CLASSES = {"dram": "dram", "l2": "l2", "latency": "latency", "launch": "launch"}
#: A class has no weight in an interval if its share is below this share of the largest one.
_NEARLY, _TINY = 0.9, 1e-12
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
    """Interval of measured / predicted time, with the probability ``level``, and its median.

    The interval comes from ``rows`` measured rows of the class ``of`` on ``machines``. ``is_known``
    is True if kernels of this class were measured on the machine itself.
    """

    low: float
    high: float
    median: float
    level: float
    rows: int
    is_known: bool
    of: str
    machines: tuple[str, ...] = ()


def limit_class(limits: Mapping[str, float]) -> str:
    """Return a kernel's class by its largest limit: dram, l2, latency, launch or compute.

    The power limit counts as ``compute`` where it is reached, or nearly so.

    >>> limit_class({"dram": 0.9, "issue": 0.4}), limit_class({"dram": 0.7, "power": 1.0})
    ('dram', 'compute')
    """
    shares = _effective_shares(limits)
    return _CLASSES.get(max(shares, key=shares.__getitem__), "compute") if shares else ""


def _effective_shares(limits: Mapping[str, float]) -> dict[str, float]:
    """Return the shares; that of power rises from 0 at ``_NEARLY`` to 1 at the limit."""
    power = max(0.0, (limits.get("power", 0.0) - _NEARLY) / (1 - _NEARLY))
    return {name: power if name == "power" else share for name, share in limits.items()}


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


def _class_for(model: str, machine: str, limit: str) -> tuple[ErrorClass | None, str]:
    """Return the first class that was measured enough, and a text that says which it is.

    The order: kernels with the same largest limit on this machine (at least ``MIN_KERNELS``);
    kernels with this limit on other machines; kernels not limited by dram (if the given kernel is
    not); all kernels of the model.
    """
    own = [each for each in read_classes() if each.model == model]
    for each in own:
        if (each.limit, each.machine) == (limit, machine) and each.kernels >= MIN_KERNELS:
            return each, f"{each.kernels} kernels limited by {limit}, measured on {machine}"
    for wanted in (limit, OTHERS if limit != "dram" else "", ""):
        words = {OTHERS: " not limited by dram", "": ""}.get(wanted, f" limited by {limit}")
        for each in own:
            if each.limit == wanted and not each.machine:
                others = len({*each.machines} - {machine})
                return each, (
                    f"{each.kernels} kernels{words}, measured on {others} other "
                    f"{'machine' if others == 1 else 'machines'}; widened for a new one"
                )
    return None, f"no measured rows of the model {model}; the widest interval of all models"


def learnt_interval(
    model: str, machine: str, limits: Mapping[str, float], level: float
) -> ErrorInterval:
    """Return the interval of measured / predicted time for a kernel on a machine.

    Without measured rows of the model, the interval is the widest interval of all models. If two
    classes are nearly tied, the ends are weighted means, so that they do not jump.
    """
    tails, shares = [(1 - level) / 2, 0.5, (1 + level) / 2], dict[str, float]()
    for name, share in sorted(_effective_shares(limits).items(), key=lambda item: -item[1]):
        shares.setdefault(_CLASSES.get(name, "compute"), share)
    least = _NEARLY * shares[limit_class(limits)] if limits else 0.0
    near = {n: x - least + _TINY for n, x in shares.items() if n and x >= least} or {"": 1.0}
    classes = [_class_for(model, machine, name) for name in near]
    known, of = classes[0][0], " or ".join(dict.fromkeys(text for _, text in classes))
    every = [k for k, _ in classes if k] or [c for c in read_classes() if not c.machine]
    ends = np.array([np.interp(tails, _file()[0], each.quantiles) for each in every])
    if known:
        ends = np.average(ends, axis=0, weights=[*near.values()], keepdims=True)
    ends = np.exp(ends)
    about: dict[str, Any] = {"low": float(ends[:, 0].min()), "high": float(ends[:, 2].max())}
    about["median"] = float(np.median(ends[:, 1]))
    if known:
        about["machines"] = known.machines
    rows, is_known = (known.rows, bool(known.machine)) if known else (0, False)
    return ErrorInterval(**about, level=level, of=of, rows=rows, is_known=is_known)


#: Limits that are no units of a model, each with the quantity that is the time of the limit.
_OTHER_LIMITS = {"latency": "latency_bound_time", "launch": "start_up_time", "power": "power_time"}
#: Number of equally likely values of an error in a random study, and the levels of their ends.
#: Beyond these, quantiles for a new machine are Student's factor more than measurements.
_ERROR_VALUES, _ERROR_LEVELS = 1024, (0.025, 0.975)
_SOURCE = "docs/analyze.md: measured over predicted times of kernels with the same largest limit"


def limit_quantities(model: Model) -> dict[str, str]:
    """Return the times of the limits of a model by name; empty if the model has no limits."""
    families = {family.of: family.terms for family in model.regime_families}
    units = families.get("throughput_time", {})
    return {**units, **_OTHER_LIMITS} if units else {}


def with_model_error(
    model: Model, machine: str, given: Collection[str], choices: Sequence[str] = ()
) -> tuple[Model, JointRows | None]:
    """Return a model whose time has the measured error as a factor, and the law of the error.

    The error of each class of kernels is a random quantity. The limit that is the largest if each
    limit has its least time along the axes ``choices`` decides the class, so that configurations of
    one kernel have one error. ``given`` are the quantities that have values. Without measured rows
    of the model, the model is returned as it is. With ``l2_size``, no time is below ``least_time``.
    """
    parts = {*model.name.split(" + ")} - ({"footprint"} if "dram_bytes" in given else set())
    measured = [each.model for each in read_classes() if {*each.model.split(" + ")} <= parts]
    if not measured:
        return model, None
    limits = limit_quantities(model)
    limits |= {"power": "power_bound_time"} if limits else {}  # without effect unless reached
    classes = [f"{limit_class({name: 1.0})}_error" for name in limits] or ["kernel_error"]
    levels = np.clip((np.arange(_ERROR_VALUES) + 0.5) / _ERROR_VALUES, *_ERROR_LEVELS)
    errors = {}
    for name in classes:
        known, _ = _class_for(max(measured, key=len), machine, name.removesuffix("_error"))
        assert known is not None
        errors[name] = np.exp(np.interp(levels, _file()[0], known.quantiles))

    def choose(*values: Any) -> Any:
        known = dict(zip(errors, values[len(limits) :], strict=True))
        largest, error = 0.0, known[classes[0]]
        for name, time in zip(classes, values[: len(limits)], strict=False):
            error, largest = where(time > largest, known[name], error), maximum(largest, time)
        return error

    def bounded_product(predicted_time: Any, model_error: Any, *least: Any) -> Any:
        return maximum(predicted_time * model_error, *least)

    best = f"best_low({{}}, {', '.join(choices)})" if choices else "{}"
    times = [parse_output(best.format(name), model.quantities) for name in limits.values()]
    least = ["least_time"] * ("latency_roofline" in parts and "l2_size" in given)
    factors = ("predicted_time", "model_error", *least)
    equations = [
        *(replace(e, name="predicted_time") if e.name == "time" else e for e in model.equations),
        equation(choose, name="model_error", source=_SOURCE, inputs=(*times, *errors)),
        equation(bounded_product, name="time", source=_SOURCE, inputs=factors),
    ]
    meaning = "measured time / predicted time"
    rows = [quantity(n, domain="(0, inf)", meaning=meaning) for n in (*errors, "model_error")]
    rows.append(replace(model.quantity("time"), name="predicted_time"))
    quantities = {**model.quantities, **{row.name: row for row in rows}}
    law = JointRows(columns=errors, weights=(Fraction(1, _ERROR_VALUES),) * _ERROR_VALUES)
    return replace(model, equations=tuple(equations), quantities=quantities), law


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


def best_chances(times: Floats) -> Floats:
    """Return, for each variant, the probability that it is the fastest.

    Variants of one kernel on one GPU share most of the model's error, and the shared part does not
    change their order. The other part is assumed to be independent and lognormal, with the spread
    of variants in measured tuning spaces. The probability is an integral over the fastest time.

    >>> best_chances(np.array([1.0, 1.0, 3.0])).round(2).tolist()
    [0.5, 0.5, 0.0]
    """
    from scipy.special import ndtr

    logs = np.log(np.asarray(times, dtype=float))
    if logs.size < 2:
        return np.ones(logs.size)
    spread = own_spread()
    low = logs.min()
    near = logs < low + 2 * _REACH * spread
    x = np.linspace(low - _REACH * spread, low + _REACH * spread, _POINTS)
    z = (x[None, :] - logs[near, None]) / spread
    density = np.exp(-z * z / 2)
    later = np.maximum(ndtr(-z), 1e-300)
    each = np.trapezoid(density * np.exp(np.log(later).sum(axis=0)) / later, x, axis=1)
    chances = np.zeros(logs.size)
    chances[near] = each / each.sum()
    return chances


def own_spread() -> float:
    """Return the standard deviation of the part of the log error that variants do not share."""
    return _file()[1]
