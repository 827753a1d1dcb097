"""The law of what a fit found: its values, with their covariance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dse.uncertain.correlated import Normals
from dse.uncertain.covariance import root_of
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.quantities import Quantity

__all__ = ["known", "of_fit"]


def known(name: str, quantities: Mapping[str, Quantity], where: str) -> Quantity:
    """A quantity by name, of those that can have a law."""
    if name not in quantities:
        raise UnknownNameError(f"{where}: {name!r} is no quantity{nearest(name, quantities)}")
    if quantities[name].is_label:
        raise DseError(f"{where}: {name} takes labels, not numbers, and cannot have a law")
    return quantities[name]


def of_fit(fit: Any, label: Any, quantities: Mapping[str, Quantity], where: str) -> Normals:
    """The law of what a fit found; what has no standard error stays at its value."""
    if fit.per and label is None:
        raise DseError(
            f"{where}: {', '.join(fit.per)} has a value for each of {', '.join(fit.labels)}: say "
            f"which is meant, as in label = {fit.labels[0]!r}"
        )
    wanted = fit.set if label is None else fit.set_of(str(label))
    names = tuple(wanted)
    rows = {name: known(name, quantities, where) for name in names}
    own = [name if name in fit.values else f"{name}[{label}]" for name in names]
    places = [list(fit.values).index(name) for name in own]
    matrix = np.asarray(fit.covariance, dtype=np.float64)[np.ix_(places, places)]
    unknown = np.isnan(np.diag(matrix))
    matrix[unknown], matrix[:, unknown] = 0.0, 0.0
    means = np.array([float(wanted[name]) for name in names])
    for place, name in enumerate(names):
        rows[name].check(means[place], where)
    root = root_of(matrix, names, f"{where}, its covariance")
    return Normals(names=names, means=means, root=root, rows=rows, where=where)
