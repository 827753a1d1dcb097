"""Laws of several quantities together: rows of measurements, a fit's covariance, correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.inputs.fit_file import load_fit
from dse.uncertain.laws import normalize_weights, read_csv_columns
from symbolic.errors import DomainError, DseError, UnknownNameError, check_name, nearest_hint
from symbolic.file_access import PathBase, allowed_path
from symbolic.quantities import Quantity

Floats = NDArray[np.float64]

#: The part of draws that may lie outside a domain.
_MAX_OUTSIDE_SHARE = 1e-3
#: The least eigenvalue of a matrix that rounding may have made.
_MIN_EIGENVALUE = -1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRows:
    """Quantities that take the values of one row together, each row with a chance."""

    columns: Mapping[str, Floats]
    weights: tuple[Fraction, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities."""
        return tuple(self.columns)

    @property
    def dimensions(self) -> int:
        """How many coordinates of a point it takes."""
        return 1

    def ends(self, levels: Floats) -> dict[str, Floats]:
        """Return the least and the largest value of each quantity, whatever the levels."""
        return {name: np.array([np.min(c), np.max(c)]) for name, c in self.columns.items()}

    def values_at(self, points: Floats) -> dict[str, Floats]:
        """The values at points between 0 and 1, one column a coordinate."""
        ends = np.cumsum([float(weight) for weight in self.weights])
        places = np.minimum(np.searchsorted(ends, points[:, 0]), len(self.weights) - 1)
        return {name: column[places] for name, column in self.columns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class JointNormal:
    """Quantities with a joint normal law, as a fit gives it."""

    names: tuple[str, ...]
    means: Floats
    root: Floats
    rows: Mapping[str, Quantity]
    where: str

    @property
    def dimensions(self) -> int:
        """How many coordinates of a point it takes."""
        return len(self.names)

    def ends(self, levels: Floats) -> dict[str, Floats]:
        """Return the values of each quantity at some levels, within its domain."""
        from scipy.special import ndtri

        widths = np.sqrt(np.square(self.root).sum(axis=1))
        result = {}
        for name, mean, width in zip(self.names, self.means, widths, strict=True):
            domain = self.rows[name].domain
            result[name] = np.clip(mean + width * ndtri(levels), domain.low, domain.high)
        return result

    def values_at(self, points: Floats) -> dict[str, Floats]:
        """The values at points between 0 and 1; what leaves a domain is drawn nearer to the mean.

        Raises
        ------
        DomainError
            More than a thousandth of them lie outside.
        """
        from scipy.special import ndtri

        steps = ndtri(points) @ self.root.T
        values = self.means + steps
        inside = np.ones(len(values), dtype=bool)
        for place, name in enumerate(self.names):
            inside &= self.rows[name].domain.is_inside(values[:, place])
        if np.count_nonzero(~inside) > max(_MAX_OUTSIDE_SHARE * len(values), 0):
            share = np.count_nonzero(~inside) / len(values)
            raise DomainError(
                f"{self.where}: {share:.2%} of its draws leave the domain of a quantity among "
                f"{', '.join(self.names)}: the fit does not tell these well enough for a normal "
                "law; give them laws of their own"
            )
        for row in np.flatnonzero(~inside).tolist():
            step = steps[row]
            while not all(
                self.rows[name].domain.contains(self.means[k] + step[k])
                for k, name in enumerate(self.names)
            ):
                step = step / 2
            values[row] = self.means + step
        return {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(self.names)}


def read_joint_law(
    key: str, value: Any, quantities: Mapping[str, Quantity], folder: PathBase
) -> JointRows | JointNormal | None:
    """The joint law that an entry of ``[random]`` gives; None where it is that of one quantity.

    ``{"fit": path or Fit}`` takes values and covariance of a fit (``label``: those of one of its
    labels), ``{"file": path, "columns":
    {quantity: column}}`` the rows of a CSV file. The key is then free.
    """
    where = f"random {key}"
    if not isinstance(value, Mapping):
        return (
            joint_normal_of_fit(value, None, quantities, where)
            if hasattr(value, "covariance")
            else None
        )
    if "fit" in value:
        fit = value["fit"]
        if not set(value) <= {"fit", "label"} or isinstance(fit, Mapping):
            raise DseError(
                f"{where} = {dict(value)!r}: expected {{ fit = 'runs.fit.json' }}, with the label "
                "of its values where each has its own"
            )
        if isinstance(fit, (str, Path)):
            fit = load_fit(allowed_path(fit, folder, "fit"))
        return joint_normal_of_fit(fit, value.get("label"), quantities, where)
    if "columns" not in value:
        return None
    if not {"file", "columns"} <= set(value) <= {"file", "columns", "units", "weights"}:
        raise DseError(
            f"{where} = {dict(value)!r}: expected {{ file = 'runs.csv', columns = "
            "{ quantity = 'column', ... } }, with units and weights where there are some"
        )
    columns = value["columns"]
    if not isinstance(columns, Mapping) or not columns:
        raise DseError(f"{where}: columns = {columns!r}, expected {{ quantity = 'column', ... }}")
    rows = {name: find_random_quantity(name, quantities, where) for name in columns}
    units = {columns[name]: unit for name, unit in value.get("units", {}).items()}
    result, weights = read_csv_columns(value, columns, rows, units, where, folder)
    for name, column in result.items():
        rows[name].check(np.array(column), where)
    count = len(next(iter(result.values())))
    return JointRows(
        columns={name: np.array(column) for name, column in result.items()},
        weights=normalize_weights(weights, count, where),
    )


def find_random_quantity(name: str, quantities: Mapping[str, Quantity], where: str) -> Quantity:
    """A quantity by name, of those that can have a law."""
    if name not in quantities:
        raise UnknownNameError(f"{where}: {name!r} is no quantity{nearest_hint(name, quantities)}")
    if quantities[name].is_label:
        raise DseError(f"{where}: {name} takes labels, not numbers, and cannot have a law")
    return quantities[name]


def joint_normal_of_fit(
    fit: Any, label: Any, quantities: Mapping[str, Quantity], where: str
) -> JointNormal:
    """The law of what a fit found; what has no standard error stays at its value."""
    if fit.per and label is None:
        raise DseError(
            f"{where}: {', '.join(fit.per)} has a value for each of {', '.join(fit.labels)}: say "
            f"which is meant, as in label = {fit.labels[0]!r}"
        )
    wanted = fit.set if label is None else fit.set_of(str(label))
    names = tuple(wanted)
    rows = {name: find_random_quantity(name, quantities, where) for name in names}
    own = [name if name in fit.values else f"{name}[{label}]" for name in names]
    places = [list(fit.values).index(name) for name in own]
    matrix = np.asarray(fit.covariance, dtype=np.float64)[np.ix_(places, places)]
    unknown = np.isnan(np.diag(matrix))
    matrix[unknown], matrix[:, unknown] = 0.0, 0.0
    means = np.array([float(wanted[name]) for name in names])
    for place, name in enumerate(names):
        rows[name].check(means[place], where)
    root = covariance_root(matrix, names, f"{where}, its covariance")
    return JointNormal(names=names, means=means, root=root, rows=rows, where=where)


def read_correlations(entries: Any, names: Sequence[str]) -> Floats | None:
    """The root of the correlation matrix of quantities; None where none are correlated.

    Raises
    ------
    DseError
        A pair that is none of the random quantities with laws of their own, given twice, or a
        number beyond -1 and 1; or no laws can be correlated like that.
    """
    if entries is None:
        return None
    if isinstance(entries, str) or not isinstance(entries, Sequence):
        raise DseError(f"correlation = {entries!r}: expected [[name, name, number], ...]")
    matrix = np.eye(len(names))
    seen: set[frozenset[str]] = set()
    for entry in entries:
        if isinstance(entry, str) or not isinstance(entry, Sequence) or len(entry) != 3:
            raise DseError(f"correlation holds {entry!r}: expected [name, name, number]")
        a, b, rho = entry
        for name in (a, b):
            said = f"correlation names {name!r}, which has no law of its own"
            check_name(name, names, said, "these have")
        pair = frozenset((a, b))
        if len(pair) < 2 or pair in seen:
            what = "with itself" if len(pair) < 2 else "twice"
            raise DseError(f"correlation gives {a} {what}: name each pair once")
        if isinstance(rho, bool) or not isinstance(rho, (int, float)) or not -1 <= rho <= 1:
            raise DseError(f"correlation of {a} and {b} = {rho!r}: expected a number from -1 to 1")
        seen.add(pair)
        matrix[names.index(a), names.index(b)] = matrix[names.index(b), names.index(a)] = rho
    return covariance_root(matrix, names, "correlation") if seen else None


def covariance_root(matrix: Floats, names: Sequence[str], where: str) -> Floats:
    """A matrix whose product with its transpose is a covariance or correlation matrix.

    Raises
    ------
    DseError
        It is none: not symmetric, or some combination of quantities would have a negative variance.
    """
    if matrix.shape != (len(names), len(names)) or not np.all(np.isfinite(matrix)):
        raise DseError(
            f"{where}: a matrix of shape {matrix.shape}, expected one finite row and column for "
            f"each of {', '.join(names)}"
        )
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale[scale == 0] = 1
    even = matrix / np.outer(scale, scale)
    if not np.allclose(even, even.T, atol=1e-8, rtol=0):
        raise DseError(f"{where}: the matrix is not symmetric: expected that [a, b] is [b, a]")
    values, vectors = np.linalg.eigh((even + even.T) / 2)
    if values[0] < _MIN_EIGENVALUE:
        raise DseError(
            f"{where}: no such laws exist, for a combination of {', '.join(names)} would have a "
            f"negative variance (the least eigenvalue is {values[0]:.3g}): bring the correlations "
            "nearer to 0"
        )
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0)))
