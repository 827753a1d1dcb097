"""Joint laws of several quantities, from measured rows, a fit's covariance, or correlations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.inputs.fit_file import load_fit
from dse.uncertain.laws import normalize_weights, read_csv_columns
from symbolic.errors import DomainError, DseError, UnknownNameError, check_name, nearest_hint
from symbolic.file_access import PathBase, allowed_path
from symbolic.quantities import Quantity

Floats = NDArray[np.float64]
Quantities: TypeAlias = Mapping[str, Quantity]

#: A law is refused if more than this share of its draws lies outside a domain.
_MAX_OUTSIDE_SHARE = 1e-3
#: A negative eigenvalue above this limit counts as a rounding error.
_MIN_EIGENVALUE = -1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class JointRows:
    """A joint law of quantities; a draw takes the values of one random row of a table."""

    columns: Mapping[str, Floats]
    weights: tuple[Fraction, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the quantities."""
        return tuple(self.columns)

    @property
    def dimensions(self) -> int:
        """The number of coordinates that a draw uses."""
        return 1

    def ends(self, levels: Floats) -> dict[str, Floats]:
        """Return the minimum and maximum of each quantity; the levels are ignored."""
        return {name: np.array([np.min(c), np.max(c)]) for name, c in self.columns.items()}

    def values_at(self, points: Floats) -> dict[str, Floats]:
        """Map points of the unit cube, of shape (points, 1), to values of the quantities."""
        ends = np.cumsum([float(weight) for weight in self.weights])
        places = np.minimum(np.searchsorted(ends, points[:, 0]), len(self.weights) - 1)
        return {name: column[places] for name, column in self.columns.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class JointNormal:
    """A joint normal law of the quantities of a fit; ``root`` is a root of the covariance."""

    names: tuple[str, ...]
    means: Floats
    root: Floats
    rows: Mapping[str, Quantity]
    where: str

    @property
    def dimensions(self) -> int:
        """The number of coordinates that a draw uses."""
        return len(self.names)

    def ends(self, levels: Floats) -> dict[str, Floats]:
        """Return the quantiles of each quantity at some levels, clipped to its domain."""
        from scipy.special import ndtri

        widths = np.sqrt(np.square(self.root).sum(axis=1))
        result = {}
        for name, mean, width in zip(self.names, self.means, widths, strict=True):
            domain = self.rows[name].domain
            result[name] = np.clip(mean + width * ndtri(levels), domain.low, domain.high)
        return result

    def values_at(self, points: Floats) -> dict[str, Floats]:
        """Map points of the unit cube to values of the quantities.

        Values outside a domain are moved towards the mean until they are inside. Raise a
        DomainError if more than a thousandth are outside.
        """
        from scipy.special import ndtri

        steps = ndtri(points) @ self.root.T
        values = self.means + steps
        inside = np.ones(len(values), dtype=bool)
        domains = [self.rows[name].domain for name in self.names]
        for place, domain in enumerate(domains):
            inside &= domain.is_inside(values[:, place])
        share = np.count_nonzero(~inside) / max(len(values), 1)
        if share > _MAX_OUTSIDE_SHARE:
            raise DomainError(
                f"{self.where}: {share:.2%} of its draws are outside the domain of a quantity "
                f"among {', '.join(self.names)}: the fit is too uncertain for a normal law; give "
                "them laws of their own"
            )
        for row in np.flatnonzero(~inside).tolist():
            step = steps[row]
            while not all(d.contains(x) for d, x in zip(domains, self.means + step, strict=True)):
                step = step / 2
            values[row] = self.means + step
        return {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(self.names)}


def read_joint_law(
    key: str, value: Any, quantities: Quantities, folder: PathBase
) -> JointRows | JointNormal | None:
    """Read an entry of ``[random]`` as a joint law; return None if it is the law of one quantity.

    ``{"fit": path or Fit}`` takes the values and covariance of a fit; ``label`` chooses one of
    several labels of a fit. ``{"file": path, "columns": {quantity: column}}`` takes the rows of a
    CSV file.
    """
    where = f"random {key}"
    if isinstance(value, JointRows):
        return value
    if hasattr(value, "covariance"):
        return joint_normal_of_fit(value, None, quantities, where)
    if not isinstance(value, Mapping):
        return None
    if "fit" in value:
        fit = value["fit"]
        if not set(value) <= {"fit", "label"} or isinstance(fit, Mapping):
            raise DseError(
                f"{where} = {dict(value)!r}: expected {{ fit = 'runs.fit.json' }}, with a label if "
                "the fit has values for several"
            )
        if isinstance(fit, (str, Path)):
            fit = load_fit(allowed_path(fit, folder, "fit"))
        return joint_normal_of_fit(fit, value.get("label"), quantities, where)
    if "columns" not in value:
        return None
    if not {"file", "columns"} <= set(value) <= {"file", "columns", "units", "weights"}:
        raise DseError(
            f"{where} = {dict(value)!r}: expected {{ file = 'runs.csv', columns = "
            "{ quantity = 'column', ... } }, and optionally units and weights"
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


def find_random_quantity(name: str, quantities: Quantities, where: str) -> Quantity:
    """Return a quantity by name; raise DseError if it is unknown or takes labels."""
    if name not in quantities:
        raise UnknownNameError(f"{where}: {name!r} is no quantity{nearest_hint(name, quantities)}")
    if quantities[name].is_label:
        raise DseError(f"{where}: {name} takes labels, not numbers, and cannot have a law")
    return quantities[name]


def joint_normal_of_fit(fit: Any, label: Any, quantities: Quantities, where: str) -> JointNormal:
    """Return the joint law of fitted values; values without a standard error are constant."""
    if fit.per and label is None:
        raise DseError(
            f"{where}: {', '.join(fit.per)} has a value for each of {', '.join(fit.labels)}: "
            f"choose one, as in label = {fit.labels[0]!r}"
        )
    values = fit.set if label is None else fit.set_of(str(label))
    names = tuple(values)
    rows = {name: find_random_quantity(name, quantities, where) for name in names}
    keys = [name if name in fit.values else f"{name}[{label}]" for name in names]
    places = [list(fit.values).index(key) for key in keys]
    matrix = np.asarray(fit.covariance, dtype=np.float64)[np.ix_(places, places)]
    unknown = np.isnan(np.diag(matrix))
    matrix[unknown], matrix[:, unknown] = 0.0, 0.0
    means = np.array([float(values[name]) for name in names])
    for place, name in enumerate(names):
        rows[name].check(means[place], where)
    root = covariance_root(matrix, names, f"{where}, its covariance")
    return JointNormal(names=names, means=means, root=root, rows=rows, where=where)


def read_correlations(entries: Any, names: Sequence[str]) -> Floats | None:
    """Read correlations, and return a root of the correlation matrix; None if there are none."""
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
            message = f"correlation names {name!r}, which has no law of its own"
            check_name(name, names, message, "these have")
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
    """Return a root of a covariance matrix; raise DseError unless it is positive semidefinite."""
    if matrix.shape != (len(names), len(names)) or not np.all(np.isfinite(matrix)):
        raise DseError(
            f"{where}: a matrix of shape {matrix.shape}, expected one finite row and column for "
            f"each of {', '.join(names)}"
        )
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale[scale == 0] = 1
    even = matrix / np.outer(scale, scale)
    if not np.allclose(even, even.T, atol=1e-8, rtol=0):
        raise DseError(f"{where}: the matrix is not symmetric")
    values, vectors = np.linalg.eigh((even + even.T) / 2)
    if values[0] < _MIN_EIGENVALUE:
        raise DseError(
            f"{where}: no such laws exist, as a combination of {', '.join(names)} would have a "
            f"negative variance (smallest eigenvalue {values[0]:.3g}): bring the correlations "
            "nearer to 0"
        )
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0)))
