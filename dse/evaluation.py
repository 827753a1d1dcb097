"""Evaluate a model at scalars, arrays or DataArrays."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.display import failure_lines
from sweeps.grid.axes import Axis, parse_axis
from sweeps.grid.failures import failures_of
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import Leaf
from symbolic.errors import DseError
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import Node
from symbolic.quantities import Quantity
from symbolic.resolve import resolve

if TYPE_CHECKING:
    import xarray as xr


def evaluate(
    model: str | Path | Model,
    *,
    machine: str | Path | Sequence[str] | None = None,
    workload: str | Path | Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    prefer: str | None = None,
    fit: Any = None,
    **values: Any,
) -> xr.Dataset:
    """Evaluate a model at given values of its quantities.

    Parameters:
        model (str): As for :class:`dse.Study`.
        machine, workload (str or list of str, optional): Entries of the catalogue, which supply the
            inputs that ``values`` does not give. A list becomes a dimension of the result.
        outputs (sequence of str, optional): Quantities to compute; default: every quantity that the
            model's main outputs need.
        fit (path, Fit, or list of these, optional): Fits as for :class:`dse.Study`; ``"none"`` uses
            none, not even the fits of the machine that ship with the project.
        **values: Values of quantities: numbers, texts with units, formulas, labels of switches
            (a list of labels becomes a dimension of the result); arrays, which are broadcast along
            the dimensions ``dim_0``, ``dim_1``, ...; or DataArrays, whose labels the result keeps.

    Returns:
        xarray.Dataset: Each quantity over the dimensions on which it depends, with units and
        meanings. The attribute ``assumed`` (JSON) lists inputs that nobody published for the
        machine; scalars that depend on them have an attribute ``interval``: their 5 and 95 %
        quantiles. The attribute ``impossible`` (JSON) says where a prediction exceeds a limit of
        the hardware.

    Raises:
        DseError: As for :class:`dse.Study`; also if all points break a rule.

    >>> ds = evaluate("transit", threads=1024, intensity=10, lanes_width=32, ms_peak=1,
    ...               mem_latency=600)
    >>> round(float(ds.cs_throughput), 6)
    10.0
    """
    from dse.inputs.fit_file import read_fits
    from dse.inputs.merge import by_quantity_name, entry_name, merge_inputs, with_declared
    from dse.inputs.provenance import provenance_attributes
    from dse.study.possible import all_indices, impossible_points
    from dse.uncertain.assumed_draws import output_intervals
    from sweeps.grid.dataset import grid_dataset
    from sweeps.nest.run import compute

    entries: dict[str, Any] = {"machine": machine, "workload": workload}
    listed = {kind: names for kind, names in entries.items() if isinstance(names, (list, tuple))}
    entries = {k: v if k in listed else entry_name(k, v) for k, v in entries.items()}
    joined = with_declared(load_model(model, prefer=prefer), entries["workload"])
    outputs = None if outputs is None else texts_of(outputs, "outputs")
    outputs, values = (by_quantity_name(joined.names_by_symbol, v) for v in (outputs, values))
    arrays, sizes, coords = _arrays(values, joined)
    several = [n for n, v in values.items() if n not in arrays and isinstance(v, (list, tuple))]
    axes = {**listed, **{name: values.pop(name) for name in several}}
    parts = merge_inputs(
        joined,
        [parse_axis(name, labels, joined.quantities) for name, labels in axes.items()],
        entries={**entries, **dict.fromkeys(listed)},
        set_values={name: value for name, value in values.items() if name not in arrays},
        replaced=arrays,
        fit_inputs=None if fit is None else read_fits(fit),
    )
    given = {**parts.values, **arrays}
    every = outputs is None
    if outputs is None:
        supplied = dict.fromkeys(name for table in parts.tables.values() for name in table)
        nodes = {n: v if isinstance(v, Node) else None for n, v in {**given, **supplied}.items()}
        nodes |= dict.fromkeys(parts.labels)
        switches = {axis.name: axis.labels for axis in parts.axes if axis.kind == "switch"}
        chosen = [dict(zip(switches, each, strict=True)) for each in product(*switches.values())]
        graphs = [resolve(joined, values=nodes, switches={**parts.switches, **c}) for c in chosen]
        names = [n for n in graphs[0].definitions if not joined.quantities[n].is_label]
        outputs = [n for n in names if all(n in graph.definitions for graph in graphs)]
    for dim in sizes:
        if dim in outputs and dim not in arrays:
            raise DseError(
                f"a dimension is named {dim}, as an output is: rename it, or choose outputs="
            )
    indices = [
        Axis(name=n, kind="index", coordinate=np.arange(size), values=np.arange(float(size)))
        for n, size in sizes.items()
    ]
    grid = parts.build_grid(axes=[*parts.axes, *indices], values=given, outputs=outputs)
    text = json.dumps({"model": joined.name} | entries)
    if failed := failures_of(grid, grid.outputs):
        warnings.warn("; ".join(failure_lines(failed)), stacklevel=3)
    ds = grid_dataset(grid, compute(grid), provenance_attributes(text, grid, parts))
    for name, leaf in grid.leaves.get((), {}).items() if every else ():
        row = joined.quantities.get(name)  # a computed label, such as a set of SMs to use
        if row is not None and row.is_label and grid.graph.definitions[name].kind == "table":
            ds[name] = (leaf.axes, leaf.array.astype(np.str_), {"long_name": row.meaning})
    if passed := impossible_points(grid, parts, all_indices(grid)):
        ds.attrs["impossible"] = json.dumps([each.to_dict() for each in passed])
    if not grid.axes:
        for name, ends in output_intervals(grid, parts.assumed, {}, grid.outputs).items():
            ds[name].attrs["interval"] = list(ends)
    return ds.drop_vars(list(sizes)).assign_coords(coords) if sizes else ds


def _arrays(
    values: Mapping[str, Any], model: Model
) -> tuple[dict[str, Leaf], dict[str, int], dict[str, Any]]:
    """Return the inputs that are arrays, the sizes of their dimensions, and their coordinates."""
    leaves: dict[str, Leaf] = {}
    sizes: dict[str, int] = {}
    coords: dict[str, Any] = {}
    bare: dict[str, np.ndarray[Any, Any]] = {}
    for name, value in values.items():
        row = model.quantity(name)
        if isinstance(value, (str, bool, int, float, np.generic)) or row.is_label:
            continue
        if hasattr(value, "dims") and hasattr(value, "coords"):
            array = _float_array(value.values, row)
            dims = tuple(map(str, value.dims))
            for dim, count in zip(dims, array.shape, strict=True):
                if sizes.setdefault(dim, count) != count:
                    raise DseError(
                        f"{name} has {count} values along {dim}, others have {sizes[dim]}"
                    )
            for dim in dims:
                if dim not in value.coords:
                    continue
                known = coords.setdefault(dim, value.coords[dim])
                if not np.array_equal(known.values, value.coords[dim].values):
                    raise DseError(
                        f"{name} has other labels along {dim} than the arrays before it: align "
                        "them first (xarray.align)"
                    )
            leaves[name] = Leaf(axes=dims, array=array)
        else:
            bare[name] = _float_array(value, row)
    if bare:
        try:
            shape = np.broadcast_shapes(*(array.shape for array in bare.values()))
        except ValueError:
            shown = ", ".join(f"{name} {array.shape}" for name, array in bare.items())
            raise DseError(f"the arrays do not broadcast: {shown}") from None
        names = [f"dim_{k}" for k in range(len(shape))]
        for dim, size in zip(names, shape, strict=True):
            if sizes.setdefault(dim, size) != size:
                raise DseError(
                    f"an array without labels has {size} values along its dimension {dim}, and a "
                    f"DataArray has {sizes[dim]} along the one of that name: name its dimension"
                )
        for name, array in bare.items():
            aligned = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
            varying = [k for k in range(len(shape)) if aligned.shape[k] > 1 or shape[k] == 1]
            array = aligned.reshape([aligned.shape[k] for k in varying])
            leaves[name] = Leaf(axes=tuple(names[k] for k in varying), array=array)
    for name, leaf in leaves.items():
        ordered = leaf.transpose(tuple(sizes))
        leaves[name] = replace(ordered, array=np.asarray(ordered.array, order="C"))
    return leaves, sizes, coords


def _float_array(value: Any, row: Quantity) -> np.ndarray[Any, np.dtype[np.float64]]:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
    except (TypeError, ValueError):
        raise DseError(
            f"{row.name} = {value!r}: expected a number, a text with a unit, or an array of numbers"
        ) from None
    if not array.size:
        raise DseError(f"{row.name} is an empty array: give it at least one value")
    array = array.astype(np.float64)
    row.check(array, "given")
    return array
