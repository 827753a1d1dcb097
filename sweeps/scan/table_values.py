"""The values of a formula over a Dataset, some at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sweeps.grid.grid import FEASIBLE
from sweeps.nest.passes import Skipped
from sweeps.scan.arrays import Table
from sweeps.scan.values import AnyPart, Bounds, pieces
from symbolic.expression import parse
from symbolic.ops import interpret_arrays, references

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["TableValues", "conditions_of"]


class TableValues:
    """Formulas over a Dataset: in memory, or read chunk by chunk."""

    def __init__(self, ds: xr.Dataset, text: str, *more: str, where: Sequence[str] = ()) -> None:
        table = Table(ds, where)
        self.ds, self.text, self.where = table.ds, text, tuple(where)
        self.nodes = [parse(each, table.quantities) for each in (text, *more)]
        self.dims = table.dims([*self.nodes, *table.conditions])
        self.names = list(references(*self.nodes, *table.conditions))
        self.names += [FEASIBLE] if FEASIBLE in ds and FEASIBLE not in self.names else []
        self.axes = table.axes
        self.points = math.prod(table.axes.values())
        self.weight = self.points // math.prod(table.axes[dim] for dim in self.dims)
        self.conditions = conditions_of(ds, where)
        self.row = table.quantities.get(text)
        self.attributes = dict(ds[text].attrs) if self.row is not None else {"long_name": text}
        self.skipped = Skipped()

    def gather(self, make: Callable[[], AnyPart], within: Bounds | None = None) -> AnyPart:
        """See :class:`Values`; everything is read."""
        whole = make()
        for part in pieces(self.ds[self.names], self.dims):
            table = Table(part, self.where)
            arrays = {name: table.over(name, self.dims) for name in references(*self.nodes)}
            values = interpret_arrays(self.nodes, arrays)
            _fed(whole, [*values, table.holds(self.dims)], len(values))
        return whole


def _fed(part: AnyPart, arrays: Sequence[Any], count: int = 1) -> AnyPart:
    """A part that knows the values of some arrays where the next one, if there is one, is true."""
    allowed = arrays[count] if len(arrays) > count else True
    shape = np.broadcast_shapes(*(np.shape(array) for array in (*arrays[:count], allowed)))
    values = [_flat(array, np.float64, shape) for array in arrays[:count]]
    part.feed(values[0] if count == 1 else np.stack(values), _flat(allowed, np.bool_, shape))
    return part


def _flat(array: Any, kind: type, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array of some shape as one row, as compiled code takes it; no copy where it is one."""
    given: NDArray[Any] = np.asarray(array, dtype=kind)
    whole = given if given.shape == shape else np.broadcast_to(given, shape)
    return np.require(whole.reshape(-1), requirements=["C", "W"])


def conditions_of(ds: xr.Dataset, further: Sequence[str]) -> tuple[str, ...]:
    """The conditions that a Dataset carries, and those of a question."""
    carried = str(ds[FEASIBLE].attrs.get("conditions", "")) if FEASIBLE in ds else ""
    texts = [text for text in carried.split("; ") if text] or [FEASIBLE] * (FEASIBLE in ds)
    return tuple(dict.fromkeys([*texts, *further]))
