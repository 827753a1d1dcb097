"""What a Dataset says of itself, so that the file explains itself years later."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from dse.fingerprints import body_of, canonical
from dse.validity import beyond_validity
from symbolic.quantities import place_of

if TYPE_CHECKING:
    from dse.inputs import Parts
    from sweeps.grid.grid import Grid


@cache
def version() -> str:
    """The version of the installed distribution."""
    try:
        return metadata.version("simt-dse")
    except metadata.PackageNotFoundError:
        return "unknown"


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
                    digests.append(f"{name}[{eq.switches}]: {body_of(eq)}")
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
    said = "\n".join([version(), text, *digests, *map(canonical, [*values, defaults]), *rules])
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
