"""The study that a store belongs to, made again from what the store tells."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.identity import attributes_of, belongs, stored_identity
from dse.study.data import StudyData
from symbolic.errors import DamagedError, DseError
from symbolic.json_text import read_json
from symbolic.library import found_again
from symbolic.reach import Reach

if TYPE_CHECKING:
    from sweeps.store.held import Held
    from sweeps.store.medium import Medium

#: What goes wrong where a study is not told in full.
_UNTOLD = (
    *(DseError, ValueError, KeyError, TypeError, AttributeError, OSError),
    *(RecursionError, OverflowError, IndexError),
)


def missing(store: str | Path) -> DseError:
    """Nothing is there."""
    return DseError(f"{str(store)!r} does not exist: expected the store of a run")


def rebuilt(
    store: str | Path, *, study: StudyData | str | Path | None = None
) -> tuple[StudyData, bool]:
    """The study of a store, and whether its outputs are expanded; given, it is compared.

    Raises
    ------
    DseError
        There is no store, its study cannot be told, or an equation or value has changed since.
    """
    from sweeps.store.layout import Layout
    from sweeps.store.medium import medium_of
    from sweeps.store.versions import steady

    medium = medium_of(store)
    if not medium.exists():
        raise missing(store)

    def read() -> tuple[StudyData, bool]:
        given = None if study is None else study
        given = StudyData.from_toml(given) if isinstance(given, (str, Path)) else given
        tree, expand = told(medium, given)
        whose = _rebuilt(medium, tree) if given is None else given
        identity = stored_identity(whose, Layout(whose.grid(), expand=expand))
        if "chunks" in tree:  # else only the arrays tell whose store it is
            belongs(medium, identity, tree)
        elif tree.get("identity", identity["identity"]) != identity["identity"]:
            raise DseError(f"{medium.name} is the store of another study: give the right one")
        return whose, expand

    return steady(medium, read)


def told(medium: Medium, study: StudyData | None = None) -> tuple[dict[str, Any], bool]:
    """What a store tells of its study, by what is whole; and whether its outputs are expanded.

    Where nothing tells it, it may be that of a study that is given.
    """
    from sweeps.store.held import held_of
    from sweeps.store.records import read_sealed
    from sweeps.store.skeleton import IDENTITY, ROOT

    held, trees = None, {}
    with suppress(DamagedError):
        held = held_of(medium)
    with suppress(FileNotFoundError):
        data = medium.get(IDENTITY)
        tree = read_sealed(data)
        whole_one = tree is not None and isinstance(tree.get("identity"), str)
        trees[IDENTITY] = tree if whole_one else None, data
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        data = medium.get(ROOT)
        has = read_json(data)["attributes"]
        tree = {key: str(has[key]) for key in ("identity", "study")}
        tree |= {key: has[key] for key in ("model_files",) if key in has}
        trees[ROOT] = tree, data
    whole = {key: pair for key, pair in trees.items() if pair[0] is not None}
    # what the list of the store does not have may be that of an earlier store
    listed = [k for k, (_, data) in whole.items() if held is None or not held.problem(k, data)]
    said = {tree["identity"]: tree for tree, _ in reversed(whole.values()) if tree is not None}
    if len(said) > 1 and not _holds_else(medium, held):  # whatever agrees with the list
        listed = []
    found = whole[listed[0]][0] if listed else None
    if found is None and study is not None:
        ours = study.attributes()["identity"]
        found = _of_given(study, held) or said.get(ours) or said.get(f"{ours}-expanded")
    if found is None and len(said) > 1:
        raise DseError(
            f"the files of {medium.name} are of different versions of it, and do not tell which is "
            "meant: give its study file (--study)"
        )
    if found is None and (len(whole) == 2 or held is None or not held.files):
        found = next(iter(said.values()), None)
    if found is None:
        names = " and ".join((IDENTITY, ROOT))
        raise DseError(
            f"{medium.name} is no store of a study, or both {names} are damaged: give its study "
            "file (--study)"
        )
    return found, str(found["identity"]).endswith("-expanded")


def _holds_else(medium: Medium, held: Held | None) -> bool:
    """Whether all that a list has, but for what tells whose store it is, is as it says."""
    from sweeps.store.skeleton import IDENTITY, ROOT
    from sweeps.store.zones import ZONES

    for key in () if held is None else {*held.files} - {IDENTITY, ROOT, ZONES}:
        data = None
        with suppress(FileNotFoundError):
            data = medium.get(key)
        if held is not None and held.problem(key, data):
            return False
    return held is not None and bool(held.files)


def _of_given(study: StudyData, held: Held | None) -> dict[str, Any] | None:
    """What a store tells that is that of a study, as the list of what it holds proves; or None."""
    from sweeps.store.layout import COMPRESSIONS, Layout
    from sweeps.store.skeleton import skeleton

    if held is None or not held.files:
        return None
    for expand, packed in itertools.product((False, True), COMPRESSIONS):
        layout = Layout(study.grid(), expand=expand, compression=packed)
        identity = stored_identity(study, layout)
        files = skeleton(layout, attributes_of(study, expand=expand), identity)
        if not any(held.problem(key, data) for key, data in files.items()):
            return identity
    return None


def _rebuilt(medium: Medium, tree: dict[str, Any]) -> StudyData:
    """The study as its canonical text tells it; long axes are read from the store."""
    try:
        return read_study_text(tree, lambda name, spec: axis_of(medium, name, spec))
    except _UNTOLD as error:
        raise DseError(
            f"the study of {medium.name} cannot be told: {error}; or give the study file (--study)"
        ) from error


def read_study_text(said: Mapping[str, Any], axis: Callable[[str, Any], Any]) -> StudyData:
    """The study that attributes tell; ``axis`` gives the values of an axis.

    Whoever wrote the attributes chose them: a file of a model is run where it is the user's own,
    found by its hash, and never where they say it lies.
    """
    tree = read_json(said["study"])
    model = found_again(tree["model"], read_json(said.get("model_files", "[]")))
    axes = {name: axis(name, spec) for name, spec in tree["axes"].items()}
    given = {name: _value(value) for name, value in tree["set"].items()}
    rest = {key: tree.get(key) for key in ("machine", "workload", "prefer", "fit")}
    kept = {"where": tree["where"], "outputs": tree["outputs"]}
    random = tree.get("random", {})
    rest["folder"] = Reach(None, None)  # which opens no file that the attributes name
    return StudyData(model=model, axes=axes, set=given, random=random, **rest, **kept)


def axis_of(medium: Medium, name: str, spec: Any) -> Any:
    """An axis as the text of a study tells it; a long one is read from the store."""
    if not isinstance(spec, dict) or "sha256" not in spec:
        return spec
    data = medium.get(f"{name}/c.0")[:-4]
    if hashlib.sha256(data).hexdigest() != spec["sha256"]:
        raise DseError(f"the axis {name} is damaged")
    return np.frombuffer(data, dtype="<i8" if isinstance(spec["first"], int) else "<f8")


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "sha256" in json.dumps(value):
        raise DseError("it holds a long table")
    import xarray as xr

    return xr.DataArray(value["values"], value.get("labels"), value["dims"])
