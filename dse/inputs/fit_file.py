"""Read and write fit files (``NAME.fit.json``), and use fits as inputs of a study.

A fit file is JSON. Lists follow the order of ``names``. Numbers are in stored (SI) units, and
reading them gives the same bits; unknown numbers are null. ``docs/calibration.md`` explains the
keys.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dse.inputs.merge import FittedInputs
from dse.inputs.provenance import version
from sweeps.files.atomic_write import write_atomic
from symbolic.answer import Answer, Report, Table, count_text, value_text
from symbolic.errors import DseError, check_name
from symbolic.file_access import PathBase, allowed_path
from symbolic.json_text import read_json
from symbolic.quantities import TABLE

FORMAT, ENDING = "simt-dse fit 1", ".fit.json"

_ERRORS = {"mean error": "mean", "largest error": "largest"}
_LEFT_OUT = {"refit": ", a fit without each", "hat": ", by the hat matrix"}


class FitReport(Report):
    """Result of a fit that can be saved and given to a study."""

    __slots__ = ()

    @property
    def saved_fit(self) -> SavedFit:
        """The fit in the form in which it is saved."""
        raise NotImplementedError

    def _answer(self) -> Answer:
        return fit_answer("Fit", self.saved_fit)

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as plain data, as in the JSON file."""
        return self.saved_fit.to_dict()

    @property
    def set(self) -> dict[str, float]:
        """The values for ``set=`` of a :class:`dse.Study`, without values of single labels."""
        saved = self.saved_fit
        of_labels = {f"{name}[{label}]" for name in saved.per for label in saved.labels}
        return {name: value for name, value in saved.values.items() if name not in of_labels}

    def set_of(self, label: str) -> dict[str, float]:
        """Return the values for ``set=`` for one label: its own values and the common values."""
        saved = self.saved_fit
        check_name(label, saved.labels, f"{label!r} is no label of this fit")
        return self.set | {name: saved.values[f"{name}[{label}]"] for name in saved.per}

    def save(self, path: str | Path) -> Path:
        """Write the file ``NAME.fit.json`` atomically; studies accept it as ``fit=``.

        Raises:
            DseError: The name has another ending or exists, or the folder cannot be written.
        """
        path = Path(path)
        if not path.name.endswith(ENDING) or path.name == ENDING:
            raise DseError(f"{str(path)!r}: expected a name that ends in {ENDING}, runs{ENDING}")
        try:
            lines = [
                f" {json.dumps(key)}: {json.dumps(value, allow_nan=False, ensure_ascii=False)}"
                for key, value in self.saved_fit.to_dict().items()
            ]
        except (TypeError, ValueError) as error:
            raise DseError(
                f"the fit cannot be a file: {error}; give only numbers and texts to set="
            ) from error
        return write_atomic(path, "{\n" + ",\n".join(lines) + "\n}\n", replace=False)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SavedFit(FitReport):
    """The content of a fit file.

    Attributes:
        to: Measured quantities.
        machine, workload, set_values: The machine and workload that supplied inputs to the fit, and
            the inputs given by ``set``.
        values, standard_errors, units: Fitted values and their standard errors in stored units.
        covariance: Shape (names, names); NaN where a value has no standard error.
        at_end: Names of quantities whose value is at an end of their domain or bounds.
        column, per, labels: Column of labels, quantities with one value for each label, and the
            labels.
        rows, errors, left_out: The fitted rows, errors of the fit, and errors on left-out rows.
        tried: The alternatives, as in :attr:`dse.fitting.calibrate.Calibration.tried`.
    """

    model: str
    to: tuple[str, ...]
    machine: str | None = None
    workload: str | None = None
    set_values: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, float]
    units: Mapping[str, str]
    standard_errors: Mapping[str, float]
    covariance: NDArray[np.float64] = field(compare=False)
    at_end: tuple[str, ...] = ()
    column: str | None = None
    per: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rows: Mapping[str, Any] = field(default_factory=dict)
    errors: Mapping[str, Any] = field(default_factory=dict)
    left_out: Mapping[str, Any] = field(default_factory=dict)
    tried: tuple[Mapping[str, Any], ...] = ()

    @property
    def saved_fit(self) -> SavedFit:
        """This fit."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as plain data, as in the JSON file."""
        names = list(self.values)
        labels = {"column": self.column, "names": list(self.labels), "own": list(self.per)}
        return {
            "format": FORMAT,
            "model": self.model,
            "to": list(self.to),
            "machine": self.machine,
            "workload": self.workload,
            "set": dict(self.set_values),
            "names": names,
            "units": [self.units[name] for name in names],
            "values": [self.values[name] for name in names],
            "standard_errors": [_finite_or_none(self.standard_errors[name]) for name in names],
            "covariance": [[_finite_or_none(x) for x in row] for row in self.covariance.tolist()],
            "at_end": list(self.at_end),
            "labels": labels if self.per else None,
            "rows": dict(self.rows),
            "errors": _jsonable(self.errors),
            "left_out": _jsonable(self.left_out),
            "tried": [_jsonable(alternative) for alternative in self.tried],
            "simt_dse_version": version(),
        }

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any], name: str = "the fit") -> Self:
        """Return the fit from the content of a JSON file; raise an error if it is damaged."""
        if not isinstance(tree, Mapping) or tree.get("format") != FORMAT:
            actual = tree.get("format") if isinstance(tree, Mapping) else type(tree).__name__
            raise DseError(f"{name} has the format {actual!r}: expected {FORMAT!r}")
        try:
            names = [str(each) for each in tree["names"]]
            count, labels = len(names), tree.get("labels") or {}
            values, errors = (_numbers(tree[key]) for key in ("values", "standard_errors"))
            units = [str(unit) for unit in tree["units"]]
            if not np.isfinite(values).all() or len(set(names)) < count:
                raise ValueError("a value is missing, or a name occurs twice")
            needed = {f"{n}[{label}]" for n in labels.get("own", ()) for label in labels["names"]}
            if not needed <= {*names}:
                raise ValueError("a label lacks a value")
            return cls(
                model=str(tree["model"]),
                to=tuple(tree["to"]),
                machine=tree.get("machine"),
                workload=tree.get("workload"),
                set_values=dict(tree.get("set") or {}),
                values=dict(zip(names, values, strict=True)),
                units=dict(zip(names, units, strict=True)),
                standard_errors=dict(zip(names, errors, strict=True)),
                covariance=np.array(
                    [_numbers(row) for row in tree["covariance"]], dtype=np.float64
                ).reshape(count, count),
                at_end=tuple(tree.get("at_end", ())),
                column=labels.get("column"),
                per=tuple(labels.get("own", ())),
                labels=tuple(labels.get("names", ())),
                tried=tuple(tree.get("tried", ())),
                **{key: dict(tree.get(key) or {}) for key in ("rows", "errors", "left_out")},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"has no {error}" if isinstance(error, KeyError) else f"is damaged: {error}"
            raise DseError(f"{name} {what}; write it again by dse fit --save") from error


def fit_answer(kind: str, fit: SavedFit, notes: Sequence[str] = ()) -> Answer:
    """Return the answer that displays a fit: values, errors, and errors of left-out rows."""

    def error_of(name: str) -> str:
        error, value = fit.standard_errors[name], fit.values[name]
        if name in fit.at_end:
            return "at an end of its domain or bounds"
        if math.isnan(error):
            return "no standard error: as many free quantities as rows"
        share = f", {error / abs(value):.2%}" if value else ""
        return f"{value_text(error, fit.units[name])}{share}"

    rows = [[n, (value, fit.units[n]), error_of(n)] for n, value in fit.values.items()]
    groups = fit.left_out.get("groups", {})
    by = [[label, f"{each['mean']:.2%}", str(each["rows"])] for label, each in groups.items()]
    tried = [
        [
            ", ".join(f"{name} = {label}" for name, label in row["set"].items()),
            row.get("reason") or f"{row['error']:.2%} left out",
            "chosen" if row["chosen"] else "",
        ]
        for row in fit.tried
    ]
    errors = {name: fit.errors.get(key) for name, key in _ERRORS.items()}
    facts = {name: f"{value:.2%}" for name, value in errors.items() if value is not None}
    for name, rms, how in (
        ("residuals", fit.errors.get("rms"), ""),
        ("rows left out", fit.left_out.get("rms"), _LEFT_OUT.get(str(fit.left_out.get("how")), "")),
    ):
        if rms is not None and not math.isnan(rms):
            relative, row = fit.errors["residuals"] == "relative", TABLE.get(fit.to[0])
            shown = f"{rms:.2%}" if relative else value_text(rms, row.unit if row else "")
            facts[name] = f"root mean square {shown}{how}"
    r2 = fit.errors.get("r2")
    mean = np.mean([each["mean"] for each in groups.values()]) if groups else 0.0
    left_out = f"error of each {fit.left_out.get('by')} left out, mean {mean:.2%}:"
    return Answer(
        kind=kind,
        title=f"{fit.model} fitted to {', '.join(fit.to)} of "
        + count_text(fit.rows.get("used", 0), "row"),
        facts=facts,
        tables=[
            Table(columns=("quantity", "value", "standard error"), rows=rows, is_open=True),
            Table(title=left_out, columns=("label", "mean error", "rows"), rows=by),
            Table(title="tried", columns=("alternative", "error", ""), rows=tried),
        ],
        notes=[*([] if r2 is None else [f"r2 = {r2:.6g}"]), *notes],
    )


def _numbers(column: Sequence[float | None]) -> list[float]:
    return [math.nan if value is None else float(value) for value in column]


def _finite_or_none(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _jsonable(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {str(key): _jsonable(value) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_jsonable(value) for value in tree]
    return _finite_or_none(tree.item() if isinstance(tree, np.generic) else tree)


def join_fits(parts: Sequence[SavedFit]) -> SavedFit:
    """Join independent fits of different quantities into one fit."""
    if len(parts) == 1:
        return parts[0]
    values = {name: value for fit in parts for name, value in fit.values.items()}
    sizes = [len(fit.values) for fit in parts]
    matrix = np.zeros((len(values), len(values)))
    for end, size, fit in zip(np.cumsum(sizes).tolist(), sizes, parts, strict=True):
        matrix[end - size : end, end - size : end] = fit.covariance
    set_values = {name: value for fit in parts for name, value in fit.set_values.items()}
    used = [fit.rows["used"] for fit in parts]
    mean = [fit.errors["mean"] for fit in parts]
    places = [span for fit in parts for span in fit.rows["places"]]
    return replace(
        parts[0],
        set_values={name: value for name, value in set_values.items() if name not in values},
        values=values,
        units={name: unit for fit in parts for name, unit in fit.units.items()},
        standard_errors={n: error for fit in parts for n, error in fit.standard_errors.items()},
        covariance=matrix,
        at_end=tuple(name for fit in parts for name in fit.at_end),
        rows={**parts[0].rows, "used": sum(used), "places": sorted(places), "where": []},
        errors={
            "residuals": parts[0].errors["residuals"],
            "mean": float(np.average(mean, weights=used)),
            "largest": max(fit.errors["largest"] for fit in parts),
        },
        left_out={},
    )


def load_fit(path: str | Path) -> SavedFit:
    """Load a file ``NAME.fit.json`` that :meth:`dse.fitting.Fit.save` or ``dse fit --save`` wrote.

    Raises:
        DseError: The file cannot be read or contains no fit.
    """
    try:
        tree = read_json(Path(path).read_text(encoding="utf-8"), 1 << 24)
    except OSError as error:
        raise DseError(f"the fit {str(path)!r} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DseError(f"the fit {str(path)!r} is no JSON: {error}") from error
    return SavedFit.from_dict(tree, f"the fit {str(path)!r}")


_EXPECTED = (
    'expected the path of a file NAME.fit.json, { file = "NAME.fit.json", label = "..." }, a fit, '
    "a list of these, or 'none' to use no fit of the machine"
)
#: Value of ``fit=`` that uses no fits, not even the shipped fits of a machine.
NO_FIT = "none"


def read_fits(specs: Any, folder: PathBase = None) -> FittedInputs:
    """Return the values that the fits given as ``fit=`` supply to a study."""
    if isinstance(specs, FittedInputs):
        return specs
    if specs == NO_FIT:
        return FittedInputs(values={}, sources={}, units={}, use_shipped=False)
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    units: dict[str, str] = {}
    for spec in specs if isinstance(specs, (list, tuple)) else [specs]:
        inputs = _read(spec, folder)
        for name, value in inputs.values.items():
            if name in values and values[name] != value:
                raise DseError(
                    f"fit gives {name} twice, {sources[name]} and {inputs.sources[name]}: keep one "
                    "of them"
                )
        values |= inputs.values
        sources |= inputs.sources
        units |= inputs.units
    return FittedInputs(values=values, sources=sources, units=units)


def _read(spec: Any, folder: PathBase) -> FittedInputs:
    if isinstance(spec, Mapping) and {"values", "sources"} <= set(spec):
        return FittedInputs(**spec, units={})
    tree = {"file": spec} if isinstance(spec, (str, Path)) else spec
    if isinstance(tree, Mapping):
        file, label = tree.get("file"), tree.get("label")
        if not set(tree) <= {"file", "label"} or not isinstance(file, (str, Path)):
            raise DseError(f"fit = {dict(tree)!r}: {_EXPECTED}")
        fit = load_fit(allowed_path(file, folder, "fit"))
        return _inputs(fit, None if label is None else str(label))
    saved = spec if isinstance(spec, SavedFit) else getattr(spec, "saved_fit", None)
    if not isinstance(saved, SavedFit):
        raise DseError(f"fit = {spec!r}: {_EXPECTED}")
    return _inputs(saved)


def _inputs(fit: SavedFit, label: str | None = None) -> FittedInputs:
    source = f"set of the fit of {fit.model} to {', '.join(fit.to)}"
    sources = dict.fromkeys(fit.set_values, source)
    fitted = fit.set if label is None else fit.set_of(label)
    keys = {name: f"{name}[{label}]" if name in fit.per else name for name in fitted}
    sources |= {name: _source(fit, key) for name, key in keys.items()}
    units = {name: fit.units[key] for name, key in keys.items()}
    return FittedInputs(values={**fit.set_values, **fitted}, sources=sources, units=units)


def _source(fit: SavedFit, key: str) -> str:
    rows = fit.rows
    text = f"fitted: {fit.model} to {', '.join(fit.to)} of {rows.get('used', '?')} rows"
    text += f" of {rows['data']}" if rows.get("data") else ""
    text += f" on {fit.machine}" if fit.machine else ""
    if key in fit.at_end:
        return f"{text}, an end of its domain or bounds"
    error = fit.standard_errors[key]
    known = not math.isnan(error)
    return f"{text}, standard error {value_text(error, fit.units[key])}" if known else text
