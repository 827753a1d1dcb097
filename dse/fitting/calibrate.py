"""Calibrate a machine or a model: fit free quantities to measured rows, with groups left out.

If no free quantities are named, the coefficients of the calibrated TMM model are fitted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.fitting import Fit, fit
from dse.fitting.parameters import parse_number
from dse.fitting.rows import (
    ColumnTable,
    FewRowsError,
    NoRowError,
    read_columns,
    read_table,
    to_floats,
)
from dse.inputs.fit_file import FitReport, SavedFit, fit_answer, join_fits
from dse.inputs.merge import merge_inputs, with_declared
from dse.progress import ProgressOption
from sweeps.grid.goals import texts_of
from symbolic.answer import Answer, Table
from symbolic.errors import DseError, check_name
from symbolic.library import load_model
from symbolic.model import Model

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dse.fitting.parameters import Floats, Start
    from dse.fitting.rows import ColumnChoice


#: Standard deviations of logarithms: of a free quantity before any measurement (PRIOR), of the
#: model's error (DISCREPANCY), and of the error of a measurement (NOISE).
PRIOR, DISCREPANCY, NOISE = 0.5, 0.1, 0.05
#: Number of fits; each but the first gives rows with errors beyond ``NOISE`` a smaller weight.
PASSES = 4
#: The model has similar errors in rows whose columns differ by less than this factor.
SIMILAR = 8.0
#: STEP: relative step of numerical derivatives. MAX_CANDIDATES: upper limit on compared candidates.
STEP, MAX_CANDIDATES = 0.05, 1000
#: A quantity is determined if its standard deviation is at most this share of ``PRIOR``.
DETERMINED = 0.5


def log_slopes(
    model: Model,
    columns: Mapping[str, Floats],
    values: Mapping[str, float],
    to: str,
    options: Mapping[str, Any],
) -> Floats:
    """Return the derivatives d log(prediction) / d log(value), shape (rows, quantities)."""
    from dse.evaluation import evaluate

    count = len(values)
    moved = {name: np.full((count + 1, 1), value) for name, value in values.items()}
    steps = np.empty(count)
    for place, (name, array) in enumerate(moved.items()):
        high = model.quantity(name).domain.high
        ahead = array[0, 0] * (1 + STEP)
        array[place + 1] = ahead if ahead <= high else array[0, 0] / (1 + STEP)
        steps[place] = np.log(array[place + 1, 0] / array[0, 0])
    inputs: dict[str, Any] = {**columns, **moved}
    predicted = evaluate(model, outputs=[to], **options, **inputs)[to].values
    logs = np.log(np.broadcast_to(predicted, (count + 1, *next(iter(columns.values())).shape)))
    return ((logs[1:] - logs[0]) / steps[:, None]).T


def similarity(columns: Mapping[str, Floats]) -> Floats:
    """Return the correlation of the model's errors between rows, of shape (rows, rows).

    >>> np.round(similarity({"n": np.array([1.0, 4.0, 1e9])})[0], 2).tolist()
    [1.0, 0.8, 0.0]
    """
    logs = np.log(np.maximum(np.stack(list(columns.values()), axis=1), 1e-300)) / np.log(SIMILAR)
    squares = np.square(logs).sum(axis=1)
    apart = squares[:, None] + squares[None, :] - 2 * logs @ logs.T
    return np.exp(-np.maximum(apart, 0) / 2)


def determined_quantities(slopes: Floats) -> NDArray[np.bool_]:
    """Return the mask of the quantities that measured rows determine.

    >>> determined_quantities(np.array([[1.0, 0.0], [1.0, 1e-3]])).tolist()
    [True, False]
    """
    error = np.hypot(DISCREPANCY, NOISE)
    precision = np.eye(slopes.shape[1]) / PRIOR**2 + slopes.T @ slopes / error**2
    return np.sqrt(np.diag(np.linalg.inv(precision))) <= DETERMINED * PRIOR


def propose(
    slopes: Floats, similar: Floats, measured: Sequence[int], candidates: Sequence[int], count: int
) -> list[int]:
    """Return the rows to measure next, best first, chosen one after the other.

    Parameters:
        slopes (array): Derivatives of log predictions of all rows, shape (rows, quantities).
        similar (array): Correlation of the model's errors, shape (rows, rows).
        measured, candidates (sequence of int): Indices of the rows that are measured already, and
            of the rows to choose from.
    """
    covariance = PRIOR**2 * slopes @ slopes.T + DISCREPANCY**2 * similar
    open_rows = np.zeros(len(slopes), dtype=bool)
    open_rows[list(candidates)] = True
    chosen: list[int] = []
    for place in (*measured, *[-1] * min(count, len(candidates))):
        row = place
        if place < 0:
            gains = np.square(covariance).sum(axis=0) / (np.diag(covariance) + NOISE**2)
            row = int(np.argmax(np.where(open_rows, gains, -np.inf)))
            open_rows[row] = False
            chosen.append(row)
        column = covariance[:, row] / (covariance[row, row] + NOISE**2)
        covariance = covariance - np.outer(column, covariance[row])
    return chosen


#: For each regime of TMM: the condition that selects its rows, the fitted coefficients, and the
#: coefficients that are set to 0.
_REGIMES = {
    "memory": (
        "bound == 2",
        ("memory_time_slope", "memory_time_offset"),
        {"compute_bound_time": 0.0},
    ),
    "computation": (
        "bound < 2",
        ("compute_bound_time",),
        {"memory_time_slope": 0.0, "memory_time_offset": 0.0},
    ),
}
#: Rows are proposed from a grid of shapes, in which each column has this number of values.
_GRID_STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Calibration(FitReport):
    """Quantities fitted to measured rows, with the errors of left-out groups.

    Attributes:
        fits: One fit, ``"together"``; or for TMM the fits ``"memory"`` and ``"computation"``, if
            there are rows in these regimes.
        by: The column whose labels were left out, one at a time.
        groups: (predicted - measured) / measured of the rows of each label, by a fit to all other
            rows.
        tried: For each alternative: its values (``set``), whether it was chosen (``chosen``), and
            the error of left-out rows (``error``) or why there is none (``reason``).
        undetermined: Quantities that the rows do not determine, and that have the value of the
            machine.
        design: Rows to measure next, best first.
    """

    fits: Mapping[str, Fit]
    by: str | None = None
    groups: Mapping[str, Floats] = field(default_factory=dict, compare=False)
    tried: tuple[Mapping[str, Any], ...] = ()
    undetermined: tuple[str, ...] = ()
    design: tuple[Mapping[str, Any], ...] = ()

    @property
    def standard_errors(self) -> dict[str, float]:
        """Standard errors of the values, in the same units."""
        return dict(self.saved_fit.standard_errors)

    @property
    def r2(self) -> dict[str, float]:
        """The coefficient of determination of each fit."""
        return {regime: result.r2 for regime, result in self.fits.items()}

    @property
    def saved_fit(self) -> SavedFit:
        """The calibration in the form of a fit file."""
        if not self.fits:
            raise DseError("no row is measured yet: measure rows of the design, and fit to them")
        joined = join_fits([result.saved_fit for result in self.fits.values()])
        groups = {
            label: {
                "rows": off.size,
                "mean": float(np.abs(off).mean()),
                "median": float(np.median(np.abs(off))),
                "largest": float(np.abs(off).max()),
            }
            for label, off in self.groups.items()
        }
        more = {"by": self.by, "groups": groups} if groups else {}
        return replace(joined, left_out={**joined.left_out, **more}, tried=self.tried)

    def to_dict(self) -> dict[str, Any]:
        """Return the tree of the JSON file, with the proposed rows."""
        tree = self.saved_fit.to_dict() if self.fits else {}
        more = {"undetermined": list(self.undetermined), "design": [dict(r) for r in self.design]}
        return {**tree, **{key: value for key, value in more.items() if value}}

    def _answer(self) -> Answer:
        names = list(self.design[0]) if self.design else []
        rows = [[str(row[name]) for name in names] for row in self.design]
        design = Table(title="measure next, best first", columns=names, rows=rows, is_open=True)
        if not self.fits:
            return Answer(kind="Calibration", title="no row is measured yet", tables=[design])
        if self.undetermined or self.design:
            notes = [f"not determined by the rows: {', '.join(self.undetermined)}"]
            answer = fit_answer("Calibration", self.saved_fit, notes if self.undetermined else [])
            return replace(answer, tables=[*answer.tables, *([design] if rows else [])])
        missing = [regime for regime in _REGIMES if not {regime, "together"} & {*self.fits}]
        notes = [f"{regime}: no row is in this regime" for regime in missing]
        r2 = [f"r2 of {regime} = {r2:.6g}" for regime, r2 in self.r2.items() if len(self.r2) > 1]
        return fit_answer("Calibration", self.saved_fit, [*r2, *notes])


def calibrate(
    data: str | Path | pd.DataFrame | xr.Dataset | Mapping[str, Any],
    *,
    model: str | Model = "apsp + tmm_calibrated",
    machine: str | None = None,
    workload: str | None = None,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    where: str | Sequence[str] = (),
    regimes: str = "apart",
    columns: ColumnChoice = None,
    weights: str | Sequence[float] | Floats | None = None,
    residuals: str | None = None,
    free: Sequence[str] = (),
    per: Mapping[str, Sequence[str]] | None = None,
    to: str = "time",
    leave_out: str | None = None,
    choose: Mapping[str, Sequence[str]] | None = None,
    start: Start | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    design: int = 0,
    progress: ProgressOption = False,
) -> Calibration:
    r"""Fit free quantities of a machine or model to measured rows, with groups left out.

    The quantities of ``free`` and ``per`` are fitted to ``to`` as by :func:`dse.fit`, from the
    columns that are inputs of the model; other columns are ignored. If neither is given, the
    coefficients of TMM are fitted:

    .. math:: Time = \max\left(a_1 \frac{\sqrt{B_r}}{\mathcal{T}} + a_0, t_{computation}\right)

    By default, a line (Ma 2014, Eq. 15) is fitted to the memory-bound rows, and the constant time
    (Eq. 13) is the mean of the other rows. A row is memory-bound if ``bound`` of the model is
    ``memory``: for ``apsp``, if 𝒯 S_D C < L. With ``regimes="together"`` all three coefficients are
    fitted at once, which does not need L / C.

    Parameters:
        data: As for :func:`dse.fit`. TMM needs a column ``time``, and inputs such as ``tile_dim``
            and ``threads_per_core``. A column ``bound`` (0 computation, 1 span, 2 memory) gives the
            regime of each row, if it is known.
        model (str or Model): For TMM: ``tmm_calibrated`` joined with a model that yields ``blocks``
            and ``bound``.
        regimes (str): For TMM: ``"apart"`` fits each regime to its rows, ``"together"`` fits the
            maximum to all.
        machine, workload, set, where, columns, weights, free, per, start, bounds, progress: As
            for :func:`dse.fit`. A coefficient in ``set`` is not fitted.
        to (str): The measured quantity.
        residuals (str, optional): As for :func:`dse.fit`; default: ``"relative"``, but
            ``"absolute"`` for TMM.
        leave_out (str, optional): A column; the rows of each of its labels are predicted by a fit
            to all other rows.
        choose (mapping, optional): Labels of switches to try: ``{"clock_overlap": ["none",
            "full"]}``. The alternative with the smallest error of left-out rows is chosen.
            Alternatives whose free quantities the rows do not determine are listed, but never
            chosen.

    design : int
        The number of rows to propose for measurement, from the rows without a value of ``to``, or
        from a grid of shapes if there are none. Models such as ``gemm`` have quantities that are
        fitted by default: those that the measured rows determine, for the labels of a column
        (``dtype``) one after the other.

    >>> import dse
    >>> times = {"tile_dim": [32, 32, 32, 32, 32, 32], "threads_per_core": [2, 4, 8, 16, 24, 32],
    ...          "time": [182.0, 118.0, 86.0, 70.5, 69.5, 70.0]}
    >>> result = dse.calibrate(times, machine="gtx480", workload="apsp")
    >>> {name: round(value, 6) for name, value in result.set.items()}
    {'memory_time_slope': 1.0, 'memory_time_offset': 54.0, 'compute_bound_time': 70.0}
    """
    values = dict(set or {})
    options: dict[str, Any] = {"machine": machine, "workload": workload, "progress": progress}
    loaded = load_model(model)
    if design < 0:
        raise DseError(f"design = {design}: expected the number of rows to propose, at least 1")
    if design or (loaded.fitted and not (free or per or choose or leave_out)):
        if not (names := tuple(free) or loaded.fitted):
            raise DseError(f"{loaded.name} fits no quantities by default: name some by free=")
        shared = {**options, "set": values, "start": start, "bounds": bounds}
        return _calibrate_by_label(data, loaded, names, to, design, shared)
    options |= {"columns": columns, "weights": weights, "where": where, "set": values}
    if free or per or choose or leave_out:
        options |= {"free": free, "per": per, "start": start, "bounds": bounds}
        options["residuals"] = residuals or "relative"
        return _calibrate_free(data, model, to, leave_out, choose or {}, options)
    options |= {"to": "time", "residuals": residuals or "absolute"}
    if regimes not in ("apart", "together"):
        raise DseError(f"regimes = {regimes!r}: expected 'apart' or 'together'")
    if regimes == "together":
        free = [n for _, names, _ in _REGIMES.values() for n in names if n not in values]
        return Calibration(fits={"together": fit(model, data, free=free, **options)})
    _check_bound_column(data, columns)
    fits: dict[str, Fit] = {}
    failed: NoRowError | None = None
    for regime, (rows, coefficients, absent) in _REGIMES.items():
        options |= {"where": [*texts_of(where, "where"), rows], "set": {**values, **absent}}
        free = [name for name in coefficients if name not in values]
        options["set"] |= {name: values[name] for name in coefficients if name in values}
        try:
            if free:
                fits[regime] = fit(model, data, free=free, **options)
        except NoRowError as error:
            failed = error
        except FewRowsError as error:
            raise FewRowsError(
                f"the {regime} regime ({rows}): {error}; use where= to choose rows of one regime"
            ) from None
    if failed is not None and not fits:
        raise failed
    if not fits:
        raise DseError("all coefficients are set: leave those to be fitted out of set=")
    return Calibration(fits=fits)


def _calibrate_free(
    data: Any,
    model: str | Model,
    to: str,
    leave_out: str | None,
    choose: Mapping[str, Sequence[str]],
    fit_options: dict[str, Any],
) -> Calibration:
    """Fit every alternative, and return the one with the smallest error of left-out rows."""
    table, per = read_table(data), fit_options["per"] or {}
    if leave_out in per:
        raise DseError(f"per has values for each {leave_out}: none is known for a left-out one")
    if leave_out is not None and isinstance(fit_options["columns"], Mapping):
        raise DseError("leave_out reads columns by their names: give columns= as a list")
    if fit_options["columns"] is None:
        per_label = [name for names in per.values() for name in names]
        excluded = [*fit_options["free"], *per_label, *fit_options["set"], *choose]
        loaded = load_model(model)  # profiles have many other columns
        names = {name: loaded.names_by_symbol.get(name, name) for name in table.columns}
        read = [n for n, q in names.items() if q in loaded.inputs and q not in excluded]
        fit_options["columns"] = [*read, to] if to in table.columns else read
    for name, labels in choose.items():
        if isinstance(labels, str) or len(labels) < 2:
            raise DseError(f"choose of {name} is {labels!r}: expected a list of two labels or more")
    result: list[tuple[float, Fit, dict[str, Floats]]] = []
    tried: list[dict[str, Any]] = []
    how = "hat" if leave_out else "auto"
    for several in itertools.product(*choose.values()):
        alternative = dict(zip(choose, several, strict=True))
        options = {**fit_options, "set": {**fit_options["set"], **alternative}}
        try:
            fitted = fit(model, table.select_rows(slice(None)), to=to, left_out=how, **options)
            groups = left_out_errors(table, model, leave_out, to, options) if leave_out else {}
        except FewRowsError as error:
            if not choose:
                raise
            tried.append({"set": alternative, "reason": str(error), "chosen": False})
            continue
        errors = np.concatenate(list(groups.values())) if groups else fitted.left_out[to]
        known = errors[np.isfinite(errors)]
        rms = math.sqrt(float(np.square(known).mean())) if known.size else math.inf
        result.append((rms, fitted, groups))
        unknown = int(errors.size - known.size)
        tried.append({"set": alternative, "error": rms, "unknown": unknown, "chosen": False})
    if not result:
        why = "; ".join(f"{each['set']}: {each['reason']}" for each in tried)
        raise FewRowsError(f"the rows determine none of the alternatives: {why}")
    least, best, groups = min(result, key=itemgetter(0))
    for each in tried:
        each["chosen"] = each.get("error") == least
    tried = tried if choose else []
    return Calibration(fits={"together": best}, by=leave_out, groups=groups, tried=tuple(tried))


def _calibrate_by_label(
    data: Any, model: Model, names: Sequence[str], to: str, design: int, options: dict[str, Any]
) -> Calibration:
    table = read_table(data)
    quantities = {name: model.names_by_symbol.get(name, name) for name in table.columns}
    columns = {q: n for n, q in quantities.items() if q in model.inputs and q not in names}
    switches = [n for n, q in quantities.items() if any(q in eq.when for eq in model.equations)]
    if len(switches) > 1:
        raise DseError(f"{', '.join(switches)} are columns with labels: keep one, set the others")
    labels = np.asarray(table.columns[switches[0]] if switches else [""] * table.rows).astype(str)
    arrays = read_columns(table, model, columns)
    measured = np.zeros(table.rows, dtype=bool)
    if to in table.columns:
        measured = np.isfinite(read_columns(table, model, {to: to})[to])
    if design and measured.all():
        arrays, labels, measured = _add_grid(model, arrays, labels, measured)
    entries = {key: options[key] for key in ("machine", "workload")}
    known = merge_inputs(model, (), entries=entries, set_values={}).values
    starts = {n: known.get(n, model.quantity(n).default) for n in names if n not in options["set"]}
    for name, value in (options["start"] or {}).items():
        check_name(name, starts, f"start names {name}, which is not free", "free are")
        starts[name] = parse_number(value, model.quantity(name), model, "the start")
    if computed := [name for name, value in starts.items() if value is None]:
        from dse.evaluation import evaluate

        row = {name: array[0] for name, array in arrays.items()}
        which = {switches[0]: labels[0]} if switches else {}
        ds = evaluate(model, outputs=computed, **entries, **options["set"], **which, **row)
        starts |= {name: ds[name].item() for name in computed}
    values = {n: float(v) for n, v in starts.items() if isinstance(v, (int, float))}
    fits: dict[str, Fit] = {}
    fitted: dict[str, float] = {}
    undetermined: dict[str, None] = {}
    slopes = np.zeros((labels.size, len(values)))
    order = sorted(dict.fromkeys(labels.tolist()), key=lambda x: -int(measured[labels == x].sum()))
    for label in order:
        here = labels == label
        which = {switches[0]: label} if switches else {}
        set_values = {**options["set"], **which}
        inputs = {name: array[here] for name, array in arrays.items()}
        now = {**values, **fitted}
        slopes_here = log_slopes(model, inputs, now, to, {**entries, **set_values})
        slopes[here] = slopes_here
        rows = measured[here]
        if not rows.any():
            continue
        used = np.abs(slopes_here).max(axis=0) > 0
        settled = determined_quantities(slopes_here[rows]) & used
        free = [n for n, take in zip(now, settled, strict=True) if take and n not in fitted]
        lacking = [n for n, take in zip(now, used & ~settled, strict=True) if take]
        undetermined |= dict.fromkeys(name for name in lacking if name not in fitted)
        if free:
            given = {n: now[n] for n, take in zip(now, used, strict=True) if take and n not in free}
            chosen = table.select_rows(np.flatnonzero(here[: table.rows] & measured[: table.rows]))
            more = {**options, "set": {**set_values, **given}, "columns": {**columns, to: to}}
            more |= {"to": to, "free": free, "start": {name: now[name] for name in free}}
            weights = np.ones(int(rows.sum()))
            for _ in range(PASSES):
                ridge = (DISCREPANCY**2 + NOISE**2) / PRIOR**2 / weights.sum()
                more |= {"residuals": "relative", "ridge": ridge, "left_out": "hat"}
                latest = fit(model, chosen, weights=weights, **more)
                weights = 1 / np.sqrt(1 + np.square(latest.residuals[to] / NOISE))
            fits[label or "together"] = latest
            fitted |= latest.set
    proposed = []
    if design:
        open_rows = np.flatnonzero(~measured)
        if not open_rows.size:
            raise DseError("no row is without a measurement: add the shapes to choose from")
        drawn = np.random.default_rng(0).permutation(open_rows)[:MAX_CANDIDATES]
        places = np.concatenate([np.flatnonzero(measured)[:MAX_CANDIDATES], drawn])
        near = similarity({name: array[places] for name, array in arrays.items()})
        near = near * (labels[places, None] == labels[None, places])
        count = places.size - drawn.size
        best = propose(slopes[places], near, range(count), range(count, places.size), design)
        symbols = {quantity: name for name, quantity in quantities.items()}
        for row in places[best].tolist():
            shape = {symbols.get(n, n): float(array[row]) for n, array in arrays.items()}
            shape = {n: int(x) if x.is_integer() else x for n, x in shape.items()}
            proposed.append({**shape, **({switches[0]: str(labels[row])} if switches else {})})
    return Calibration(fits=fits, undetermined=tuple(undetermined), design=tuple(proposed))


def _add_grid(
    model: Model, arrays: dict[str, Floats], labels: Any, measured: Any
) -> tuple[dict[str, Floats], Any, Any]:
    steps = []
    for name in arrays:
        row = model.quantity(name)
        low, high = row.typical or (float(arrays[name].min()), float(arrays[name].max()))
        points = np.geomspace(low, high, _GRID_STEPS)
        steps.append(np.unique(np.round(points)) if row.domain.whole else points)
    kinds = list(dict.fromkeys(labels.tolist()))
    grid = [np.tile(each.ravel(), len(kinds)) for each in np.meshgrid(*steps, indexing="ij")]
    added = {n: np.r_[arrays[n], g] for n, g in zip(arrays, grid, strict=True)}
    more = np.repeat(kinds, grid[0].size // len(kinds))
    return added, np.r_[labels, more], np.r_[measured, np.zeros(more.size, bool)]


def left_out_errors(
    table: ColumnTable, model: str | Model, column: str, to: str, fit_options: Mapping[str, Any]
) -> dict[str, Floats]:
    """Return (predicted - measured) / measured for the left-out rows of each label."""
    from dse.evaluation import evaluate

    labels = np.asarray(table.columns[table.find_column(column)[0]]).astype(str)
    if len(set(labels)) < 2:
        raise DseError(f"the column {column} has one label: without it no row is left")
    loaded = load_model(model, prefer=fit_options.get("prefer"))
    loaded = with_declared(loaded, fit_options.get("workload"))
    result = {}
    for label in dict.fromkeys(labels.tolist()):
        out = labels == label
        fitted = fit(model, table.select_rows(~out), to=to, left_out="hat", **fit_options)
        names = [*(name for name in fit_options["columns"] if name != to), to]
        values = read_columns(read_table(table.select_rows(out)), loaded, names)
        measured = values.pop(to)
        entries = {key: fit_options.get(key) for key in ("machine", "workload")}
        inputs = {**values, **(fit_options.get("set") or {}), **fitted.set}
        predicted = evaluate(model, outputs=[to], **entries, **inputs)[to].values
        result[label] = np.broadcast_to(predicted, measured.shape) / measured - 1
    return result


def _check_bound_column(data: Any, columns: ColumnChoice) -> None:
    table = read_table(data)
    header = "bound" if columns is None or "bound" in columns else None
    header = columns.get("bound") if isinstance(columns, Mapping) else header
    if header is None or header not in table.columns:
        return
    values = to_floats(table.columns[header], header)
    wrong = np.flatnonzero(~np.isin(values, (0, 1, 2)))
    if wrong.size:
        raise DseError(
            f"the column {header!r} has {values[wrong[0]]:g} at row {wrong[0]}: expected 0 "
            "(computation), 1 (span) or 2 (memory); leave the column out if model= yields bound"
        )
