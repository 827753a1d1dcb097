"""What a Dataset says of itself, so that the file explains itself years later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.syntax import syntax
from dse.validity import beyond_validity
from sweeps.grid.leaf import Leaf
from symbolic.equation import Equation
from symbolic.errors import DseError
from symbolic.quantities import place_of
from symbolic.statistic import DRAW

if TYPE_CHECKING:
    from dse.inputs import Parts
    from sweeps.grid.grid import Grid
    from sweeps.grid.space import Axis

__all__ = ["attributes", "fingerprints", "study_text", "version"]


@cache
def version() -> str:
    """The version of the installed distribution."""
    try:
        return metadata.version("simt-dse")
    except metadata.PackageNotFoundError:
        return "unknown"


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
    if axis.real:
        return {"between": axis.values.tolist()}
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


def attributes(text: str, grid: Grid, parts: Parts) -> dict[str, Any]:
    """The attributes of a study's Dataset, as text (JSON where structured).

    ``text`` is the study in canonical form. Model files of one's own stand in it by their names;
    ``model_files`` tells their hashes.
    """
    model, files = parts.model.name, parts.model.files
    equations, digests = [], []
    defaults: dict[str, Any] = {}
    for graph in grid.graphs.values():
        for name, definition in graph.definitions.items():
            if definition.equation is not None:
                eq = definition.equation
                row = {"name": name, "source": eq.source}
                if eq.when:
                    row["when"] = eq.switches
                if row not in equations:
                    equations.append(row)
                    digests.append(f"{name}[{eq.switches}]: {_body(eq)}")
            elif definition.kind == "default":
                defaults[name] = definition.node.args[0]
            elif definition.kind == "formula" and name not in parts.origins:
                defaults[name] = str(definition.node)
        compared = {name for name in graph.switches if place_of(name) in graph.definitions}
        for name in (graph.switches_of(grid.outputs) | compared) - set(grid.switch_axes):
            if name not in parts.switches:
                defaults[name] = graph.switches[name]
    used = {name for graph in grid.graphs.values() for name in graph.definitions}
    sources = {name: text for name, text in parts.origins.items() if name in used}
    assumptions = [t for t in parts.assumptions if t.split(" of ", 1)[0] in used]
    values = [parts.values, parts.tables, parts.labels, parts.switches]
    values += [parts.laws] if parts.laws else []
    rules = [condition.text for condition in grid.conditions]
    said = "\n".join([version(), text, *digests, *map(_canonical, [*values, defaults]), *rules])
    identity = hashlib.sha256(said.encode()).hexdigest()
    beyond = beyond_validity(parts)
    return {
        "Conventions": "CF-1.11",
        "title": f"simt-dse sweep of {model}",
        "model": model,
        "axes": " ".join(grid.axes),
        "study": text,
        "equations": json.dumps(equations),
        "defaults": json.dumps(defaults, sort_keys=True),
        "sources": json.dumps(sources, sort_keys=True),
        "assumptions": json.dumps(assumptions),
        "simt_dse_version": version(),
        "identity": identity,
        **({"validity": json.dumps(beyond)} if beyond else {}),
        **({"model_files": json.dumps(files)} if files else {}),
    }


def fingerprints(grid: Grid, parts: Parts, said: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """A hash of each equation, value and rule that a study uses, so that a change has a name.

    ``said`` are its :func:`attributes`.

    Raises
    ------
    DseError
        A table equation whose text cannot be found, so that a change of it would go unseen.
    """
    equations = {}
    for graph in grid.graphs.values():
        for name, definition in graph.definitions.items():
            eq = definition.equation
            if eq is None:
                continue
            if eq.table and syntax(eq.function) is None:
                raise DseError(
                    f"the equation {eq.describe()} has no source text, so that a later change "
                    "could not be told: it can be swept, but not stored; define it in a file"
                )
            equations[f"{name} [{eq.switches}]" if eq.when else name] = _digest(_body(eq))
    values: dict[str, str] = {}
    for given in (parts.values, parts.tables, parts.labels, parts.switches, parts.laws or {}):
        values |= {name: _digest(_plain(value)) for name, value in given.items()}
    defaults = json.loads(said["defaults"])
    values |= {name: _digest(_plain(value)) for name, value in defaults.items()}
    rules = {condition.text: _digest(condition.text) for condition in grid.conditions}
    return {"equations": equations, "values": values, "rules": rules}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _body(equation: Equation) -> str:
    """What an equation computes, as text; a table equation by its source, where there is one."""
    if not equation.table:
        return repr(equation.node)
    return (syntax(equation.function) or equation.doc) + equation.formula


def _canonical(values: Mapping[str, Any]) -> str:
    """Values as text that depends on nothing but them."""
    return repr(sorted((name, _plain(value)) for name, value in values.items()))


def _plain(value: Any) -> str:
    if isinstance(value, Leaf):
        return f"{value.axes}: {value.array.tolist()}"
    if isinstance(value, Mapping):
        return _canonical(value)
    return repr(value)
