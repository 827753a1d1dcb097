"""The identity of a store: what tells the store of a study from that of another."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from symbolic.errors import DseError
from symbolic.json_text import read_json

if TYPE_CHECKING:
    from dse.study.data import StudyData
    from sweeps.store.backend import StoreBackend
    from sweeps.store.layout import Layout

_EXPANDED = "-expanded"
_KEYS = ("identity", "study", "model", "simt_dse_version", "model_files")
#: What is left where a place holds something else.
WAY_OUT = "choose another path, or give fresh=True (--fresh) to keep it aside and start over"


def attributes_of(study: StudyData, *, expand: bool) -> dict[str, Any]:
    """Return the attributes of the Dataset of a run."""
    found = dict(study.attributes())
    if expand:
        found["identity"] += _EXPANDED
    return found


def stored_identity(study: StudyData, layout: Layout) -> dict[str, Any]:
    """Return what tells a study's store from any other, as its manifest holds it.

    Raises
    ------
    DseError
        An equation whose text cannot be found, so that a change of it would go unseen.
    """
    from dse.fingerprints import fingerprints

    ours = attributes_of(study, expand=layout.expand)
    kept = {key: ours[key] for key in _KEYS if key in ours}
    chunks = {
        name: {"part": part.number, "shard": list(part.shard), "chunk": list(part.chunk)}
        for part in layout.parts
        for name in part.outputs
    }
    equations = fingerprints(study.grid(), study._parts, ours)
    return kept | equations | {"chunks": chunks, "compression": layout.compression}


def check_same_study(
    backend: StoreBackend, ours: dict[str, Any], theirs: Mapping[str, Any] | None = None
) -> None:
    """Raise where a place holds something else than the store of a study; name the difference.

    ``theirs`` is the manifest, if it is known.
    """
    from sweeps.store.backend import get_or_none
    from sweeps.store.records import MANIFEST, read_sealed

    if theirs is None:
        data = get_or_none(backend, MANIFEST)
        if data is None:
            raise DseError(f"{backend.name} exists and is no store of a study: {WAY_OUT}")
        theirs = read_sealed(data)
    if theirs is None:
        raise DseError(
            f"{backend.name} does not tell whose store it is: {MANIFEST} is damaged; repair it "
            f"with dse verify --repair, or {WAY_OUT}"
        )
    if (theirs["identity"], theirs["chunks"]) != (ours["identity"], ours["chunks"]):
        difference = _difference(theirs, ours)
        raise DseError(f"{backend.name} is the store of another study ({difference}): {WAY_OUT}")


def _difference(theirs: Any, ours: dict[str, Any]) -> str:
    """What tells a store from the one a study would write, in a few words."""
    for key, name in (("simt_dse_version", "version of simt-dse"), ("model", "model")):
        if theirs.get(key) != ours[key]:
            return f"its {name} is {theirs.get(key)}, not {ours[key]}"
    try:
        there = read_json(theirs.get("study", ""))
    except (TypeError, ValueError):
        return "it does not tell its study"
    here = json.loads(ours["study"])
    for key in dict.fromkeys([*here, *there]):
        a, b = there.get(key), here.get(key)
        if a != b and isinstance(a, dict) and isinstance(b, dict):
            for name in dict.fromkeys([*b, *a]):
                if a.get(name) != b.get(name):
                    what = "the axis " if key == "axes" else "the value of "
                    there_is, wanted = _short(a.get(name)), _short(b.get(name))
                    return f"{what}{name} is {there_is} there, not {wanted}"
            return f"the {key} stand in another order"
        if a != b:
            return f"its {key} is {_short(a)}, not {_short(b)}"
    if theirs["identity"] == ours["identity"]:
        return "the same one, cut into other tiles"
    if str(theirs["identity"]).removesuffix(_EXPANDED) == ours["identity"].removesuffix(_EXPANDED):
        expanded = theirs["identity"].endswith(_EXPANDED)
        return f"its outputs are {'' if expanded else 'not '}expanded over all axes"
    for key, name in (("equations", "equation of"), ("values", "value of"), ("rules", "rule")):
        a, b = theirs.get(key, {}), ours[key]
        for what in dict.fromkeys([*b, *a]):
            if a.get(what) != b.get(what):
                return f"its {name} {what} is another one"
    return "its equations or the values of its machine or workload are other ones"


def _short(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-20:]}"


def check_storable(study: StudyData) -> None:
    """Refuse to store no output at all, or one whose name cannot be that of a folder."""
    if not study.grid().outputs:
        named = ", ".join(study.outputs or ())
        raise DseError(
            f"there is nothing to store: each of the outputs {named} is an axis; name one that is "
            f"computed, such as {study.grid().model.outputs[0]}, or run without a store"
        )
    for name in study.grid().outputs:
        if "/" in name:
            raise DseError(
                f"{name} cannot be stored, for '/' parts folders: write a * power(b, -1) for "
                "a / b, ask it of the study (optimum, pareto, count), or run without a store"
            )
