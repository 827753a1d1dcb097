"""A study as canonical text, so that equal studies read alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.statistic import DRAW

if TYPE_CHECKING:
    from dse.inputs import Parts
    from sweeps.grid.grid import Grid
    from sweeps.grid.space import Axis


def study_text(
    parts: Parts,
    grid: Grid,
    names: Mapping[str, str | None],
    *,
    given: Mapping[str, Any],
    random: Mapping[str, Any],
    where: Iterable[str],
    fitted: Mapping[str, Any] | None = None,
) -> str:
    """A study as canonical JSON; ``names`` are those of its machine, workload, preferred model.

    What is random is told as it was given, and by a hash of what was drawn.
    """
    tree: dict[str, Any] = {"model": parts.model.name}
    tree |= {key: name for key, name in names.items() if name is not None}
    tree["axes"] = {name: _listed(axis) for name, axis in grid.axes.items()}
    tree["set"] = {name: parts.labels.get(name, _jsonable(value)) for name, value in given.items()}
    tree |= {"fit": fitted} if fitted is not None else {}
    if random:
        tree["random"] = {name: _jsonable(value) for name, value in random.items()}
        tree["draws"] = _drawn(parts)
    tree["where"] = list(where)
    tree["outputs"] = list(grid.outputs)
    return json.dumps(tree)


def _drawn(parts: Parts) -> str:
    """A hash of the draws of what is random, and of their chances."""
    found = hashlib.sha256()
    for axis in parts.axes:
        if axis.kind == DRAW:
            for name, column in axis.columns.items():
                found.update(name.encode() + np.ascontiguousarray(column).tobytes())
            found.update(b"" if axis.weights is None else axis.weights.tobytes())
    return found.hexdigest()


def _listed(axis: Axis) -> Any:
    if axis.weights is not None:
        plain = _listed(replace(axis, weights=None))
        own = plain if isinstance(plain, dict) and "zip" in plain else {"values": plain}
        return {**own, "weights": axis.weights.tolist()}
    if axis.labels:
        return list(axis.labels)
    if axis.columns:
        return {"zip": {name: array.tolist() for name, array in axis.columns.items()}}
    return _shortened(axis.coordinate)


def _shortened(array: np.ndarray[Any, Any]) -> Any:
    """A long axis as a hash of its values, so that the text of a study stays short."""
    if array.size <= 1000:
        return array.tolist()
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {
        "first": array.flat[0].item(),
        "last": array.flat[-1].item(),
        "count": int(array.size),
        "sha256": digest,
    }


def _jsonable(value: Any) -> Any:
    if hasattr(value, "dims"):
        labels = {
            str(dim): np.array(value.coords[dim].values.tolist())  # labels as text, not objects
            for dim in value.dims
            if dim in value.coords
        }
        table: dict[str, Any] = {"dims": list(map(str, value.dims))}
        if labels:
            table["labels"] = {dim: _shortened(array) for dim, array in labels.items()}
        return {**table, "values": _shortened(np.asarray(value))}
    if isinstance(value, Mapping):
        return {str(name): _jsonable(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if not isinstance(value, (str, bool, int, float, np.generic)):
        return str(value)  # a law: what was drawn of it tells it apart
    return value.item() if isinstance(value, np.generic) else value
