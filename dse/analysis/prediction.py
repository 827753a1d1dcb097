"""Choose the model for a machine and a kernel, and predict many variants with it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.catalog.entries import Entry
from dse.evaluation import evaluate
from dse.inputs.assumed import AssumedInput, read_assumed
from dse.uncertain.assumed_draws import draw_inputs
from dse.uncertain.model_errors import limit_quantities
from sweeps.grid.dataset import read_flag_meanings
from symbolic.answer import value_text
from symbolic.errors import DseError, GraphError
from symbolic.library import load_model
from symbolic.model import Model

#: Models that predict a time, the most detailed first, with the case in which each is used.
MODELS: Mapping[str, str] = {
    "occupancy + latency_roofline + footprint": "a GPU with caches, and bytes counted from source",
    "occupancy + latency_roofline": "a GPU with caches, and measured bytes",
    "occupancy + mwp_cwp": "a GPU whose loads pass no cache, or with few published numbers",
}

#: _MAX_DRAWS and _MIN_DRAWS: limits on the draws of assumed inputs per variant. _DRAWN_POINTS:
#: target for the draws of all variants together.
_MAX_DRAWS, _MIN_DRAWS, _DRAWN_POINTS = 1024, 64, 30_000

#: Quantities of the model ``roofline`` that depend on the kernel.
ROOFLINE_QUANTITIES = (
    *("work_flops", "dram_bytes", "l2_bytes", "l1_moved_bytes", "attainable_flops"),
    *("arithmetic_intensity", "l2_intensity", "l1_intensity"),
)

Floats = NDArray[np.float64]
#: Counts and other inputs of a variant, by quantity.
Inputs = Mapping[str, float | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Times of variants on one machine, and the share of each limit in them.

    ``times`` and ``limits`` are NaN where ``status`` has the reason. ``values`` has other
    quantities by name. ``model`` is the name of the model, and ``why`` says why no earlier model
    was used. ``assumed`` are unpublished inputs of the machine. For each variant, ``draws`` has
    ratios of time to predicted time while the assumed inputs vary (empty if nothing is assumed).
    """

    model: str
    why: str
    times: Floats
    limits: Mapping[str, Floats]
    values: Mapping[str, Floats]
    draws: Mapping[int, Floats]
    assumed: Sequence[str]
    flags: Mapping[str, Mapping[int, str]]
    status: Sequence[str]

    def value(self, name: str, number: int) -> float:
        """Return a quantity of a variant; NaN if the model does not have it."""
        return float(self.values[name][number]) if name in self.values else float("nan")

    def shares(self, number: int) -> dict[str, float]:
        """Return the share of each limit in the time of a variant, the largest first."""
        known = ((name, float(shares[number])) for name, shares in self.limits.items())
        return dict(sorted(known, key=lambda item: -item[1]))

    def label(self, name: str, number: int) -> str:
        """Return a quantity of a variant that has labels, such as the limit of the occupancy."""
        value = self.values[name][number] if name in self.values else np.nan
        return self.flags[name].get(int(value), "") if np.isfinite(value) else ""


def predict(
    entry: Entry,
    variants: Sequence[Inputs],
    *,
    workload: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> Prediction:
    """Return the times of variants of a kernel, or of a workload, on a machine.

    ``given`` are values for all variants. The first of MODELS whose inputs are all known is used.
    """
    reasons: dict[str, str] = {}
    errors: list[DseError] = []
    for name in MODELS:
        model = load_model(name)
        levels = entry.values.get("cache_levels")
        if "latency_roofline" in name and levels is not None and not levels.value:
            reasons[name] = f"{entry.name} has no cache that loads pass"
            continue
        if "footprint" in name and any("dram_bytes" in each for each in (*variants, given or {})):
            reasons[name] = "the bytes are given"
            continue
        try:
            return _predict(model, entry, variants, workload, dict(given or {}), reasons)
        except GraphError as error:
            errors.append(error)
            reasons[name] = _missing_inputs(error)
    if len(errors) == 1:
        raise errors[0]
    text = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    least = _least_time(entry, variants[0], workload, dict(given or {}))
    raise DseError(
        f"no model gives a time on {entry.name}{least}: {text}; give values of what is missing by "
        "set (--set NAME=VALUE)"
    )


def _least_time(entry: Entry, variant: Inputs, workload: str | None, given: dict[str, Any]) -> str:
    """Return a text with the time of the slowest unit whose work is known; empty if none is."""
    model = load_model(next(name for name in MODELS if "footprint" not in name))
    columns = {**_columns(model, [variant]), **given, "bandwidth_share": 1.0}
    columns |= {"machine": entry_text(entry), "workload": workload}
    times = {}
    for limit, name in limit_quantities(model).items():
        with suppress(DseError):
            time = evaluate(model, outputs=[name], **columns)[name]
            if "interval" not in time.attrs:  # what is assumed bounds nothing
                times[limit] = float(time)
    slowest = max(times, key=lambda limit: times[limit], default="")
    if not times.get(slowest):
        return ""
    return f", and it takes at least {value_text(times[slowest], 's')} (by {slowest})"


def _missing_inputs(error: GraphError) -> str:
    lines = str(error).splitlines()
    names = [line.split(",")[0].strip() for line in lines[1:-1]]
    return f"needs {', '.join(names)}" if names else lines[0]


def _predict(
    model: Model,
    entry: Entry,
    variants: Sequence[Inputs],
    workload: str | None,
    given: dict[str, Any],
    reasons: Mapping[str, str],
) -> Prediction:
    units = limit_quantities(model)
    size = len(variants)
    draws: dict[int, Floats] = {}
    assumed: dict[str, str] = {}
    values: dict[str, Floats] = {}
    flags: dict[str, dict[int, str]] = {}
    status = [""] * size
    groups = _groups(model, variants)
    while groups:
        places = groups.pop(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            settings: dict[str, Any] = {"machine": entry_text(entry), "workload": workload}
            columns = {**_columns(model, [variants[at] for at in places]), **given}
            ds = _evaluate_with_roofline(model, settings, columns)
            if "impossible" in ds.attrs and len(places) > 1:  # find the impossible variants
                groups = [*([at] for at in places), *groups]
                continue
            for row in json.loads(ds.attrs.get("impossible", "[]")):
                status[places[0]] = str(row["why"])
            with suppress(DseError):  # the L2 cache of the machine may be unknown
                least = evaluate(model, outputs=["least_time"], **settings, **columns)
                ds["least_time"] = least["least_time"]
            inputs = read_assumed(ds.attrs.get("assumed", ""))
            assumed |= {each.name: each.text for each in inputs}
            ratios = _drawn_ratios(model, settings, columns, inputs, len(places))
            draws |= dict(zip(places, ratios, strict=False))
        for name, array in ds.data_vars.items():
            if array.dtype.kind not in "biuf":
                continue
            column = values.setdefault(str(name), np.full(size, np.nan))
            column[places] = np.broadcast_to(array.values, (len(places),))
            if "flag_values" in array.attrs:
                flags[str(name)] = read_flag_meanings(array.attrs)
    times = values["time"]
    for at in np.flatnonzero(values.get("feasible", np.ones(size)) == 0):
        status[at] = "a block of this size does not fit on a multiprocessor"
    times[[bool(reason) for reason in status]] = np.nan
    with np.errstate(all="ignore"):
        limits = {label: values[name] / times for label, name in units.items() if name in values}
    return Prediction(
        model=model.name,
        why="; ".join(f"not {name}: {reason}" for name, reason in reasons.items()),
        times=times,
        limits=limits,
        values=values,
        draws=draws,
        assumed=list(assumed.values()),
        flags=flags,
        status=status,
    )


def _evaluate_with_roofline(
    model: Model, settings: Mapping[str, Any], columns: Mapping[str, Any]
) -> Any:
    """Evaluate a model together with ``roofline`` if its operations and bytes are known."""
    try:
        return evaluate(load_model(f"{model.name} + roofline"), **settings, **columns)
    except GraphError:
        return evaluate(model, **settings, **columns)


def _drawn_ratios(
    model: Model,
    settings: Mapping[str, Any],
    columns: Mapping[str, Any],
    inputs: Sequence[AssumedInput],
    size: int,
) -> list[Floats]:
    """Draw assumed inputs; return, for each variant, the times of the draws / their median."""
    if not inputs:
        return []
    import xarray as xr

    count = max(_MIN_DRAWS, min(_MAX_DRAWS, _DRAWN_POINTS // size))
    values = {n: v for n, v in columns.items() if not isinstance(v, np.ndarray)}
    values |= {
        n: xr.DataArray(v, dims="variant") for n, v in columns.items() if isinstance(v, np.ndarray)
    }
    values |= {n: xr.DataArray(v[:count], dims="of_draw") for n, v in draw_inputs(inputs).items()}
    time = evaluate(model, outputs=["time"], **settings, **values)["time"]
    if "of_draw" not in time.dims:
        return []
    if "variant" not in time.dims:
        time = time.expand_dims(variant=size)
    ratios = (time / time.median("of_draw")).transpose("variant", "of_draw").values
    return [each[np.isfinite(each)] for each in ratios]


def _groups(model: Model, variants: Sequence[Inputs]) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for at, variant in enumerate(variants):
        key = [(n, v if isinstance(v, str) else "") for n, v in variant.items()]
        groups.setdefault(frozenset(key), []).append(at)
    return list(groups.values())


def _columns(model: Model, variants: Sequence[Inputs]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name in variants[0]:
        values = [variant[name] for variant in variants]
        if name in model.quantities:
            same = len(values) == 1 or len({*values}) == 1
            result[name] = values[0] if same else np.array(values, dtype=float)
    return result


def entry_text(entry: Entry) -> str:
    """Return the text by which the catalogue can load an entry again."""
    from dse.catalog.entries import entry_paths

    return entry.name if entry.name.lower() in entry_paths("machine") else str(entry.path)
