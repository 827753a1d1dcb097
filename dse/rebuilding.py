"""The study that a store belongs to, rebuilt from what the store says of itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.identity import check_same_study, stored_identity
from dse.study.data import StudyData
from symbolic.errors import DseError
from symbolic.json_text import read_json
from symbolic.library import found_again
from symbolic.reach import Reach

if TYPE_CHECKING:
    from sweeps.store.backend import StoreBackend

#: What goes wrong where the text of a study is not whole.
_UNREADABLE = (
    *(DseError, ValueError, KeyError, TypeError, AttributeError, OSError),
    *(RecursionError, OverflowError, IndexError),
)


def missing(store: str | Path) -> DseError:
    """Return the error for a place where nothing is."""
    return DseError(f"{str(store)!r} does not exist: expected the store of a run")


def rebuilt(
    store: str | Path, *, study: StudyData | str | Path | None = None
) -> tuple[StudyData, bool]:
    """Return the study of a store, and whether its outputs are expanded.

    A study that is given is compared with it.

    Raises
    ------
    DseError
        There is no store, its study cannot be read, or an equation or value has changed since.
    """
    from sweeps.store.backend import backend_of
    from sweeps.store.layout import Layout

    backend = backend_of(store)
    if not backend.exists():
        raise missing(store)
    wanted = StudyData.from_toml(study) if isinstance(study, (str, Path)) else study
    tree, expand = read_identity(backend, wanted)
    whose = _rebuilt(backend, tree) if wanted is None else wanted
    identity = stored_identity(whose, Layout(whose.grid(), expand=expand))
    if "chunks" in tree:  # else only the attributes of the arrays tell whose store it is
        check_same_study(backend, identity, tree)
    elif tree["identity"] != identity["identity"]:
        raise DseError(f"{backend.name} is the store of another study: give the right one")
    return whose, expand


def read_identity(
    backend: StoreBackend, study: StudyData | None = None
) -> tuple[dict[str, Any], bool]:
    """Return what a store says of its study, and whether its outputs are expanded.

    The manifest and the attributes of the group say it, and each record repeats the identity. Where
    they contradict each other, a study that is given decides.

    Raises
    ------
    DseError
        Nothing says it, or it is contradictory.
    """
    from sweeps.store.backend import get_or_none
    from sweeps.store.create import ROOT
    from sweeps.store.records import MANIFEST, RECORDS, read_sealed

    said: dict[str, dict[str, Any]] = {}
    with suppress(ValueError, KeyError, TypeError):
        has = read_json(get_or_none(backend, ROOT) or b"")["attributes"]
        tree = {key: str(has[key]) for key in ("identity", "study")}
        tree |= {key: has[key] for key in ("model_files",) if key in has}
        said[tree["identity"]] = tree
    manifest = read_sealed(get_or_none(backend, MANIFEST))
    if manifest is not None and isinstance(manifest.get("identity"), str):
        agree = list(said) == [manifest["identity"]]
        said[manifest["identity"]] = manifest
        if agree:
            return manifest, manifest["identity"].endswith("-expanded")
    records = set()
    for name in backend.sizes(RECORDS):
        record = read_sealed(get_or_none(backend, f"{RECORDS}/{name}"))
        if record is not None:
            records.add(str(record.get("identity")))
    found = None
    if study is not None:
        ours = study.attributes()["identity"]
        for identity in (ours, f"{ours}-expanded"):
            if identity in said:
                found = said[identity]
            elif identity in records:
                found = {"identity": identity, "study": study.attributes()["study"]}
    if found is None:
        agreed = [
            tree
            for identity, tree in said.items()
            if records in (set(), {identity}) and _fits_arrays(backend, tree)
        ]
        if len(said) == 1 or len(agreed) == 1:
            found = agreed[0] if agreed else next(iter(said.values()))
    if found is None and said:
        raise DseError(
            f"the files of {backend.name} are those of several stores, and do not say which is "
            "meant: give its study file (--study)"
        )
    if found is None:
        raise DseError(
            f"{backend.name} is no store of a study, or both {MANIFEST} and {ROOT} are damaged: "
            "give its study file (--study)"
        )
    return found, str(found["identity"]).endswith("-expanded")


def _fits_arrays(backend: StoreBackend, tree: Mapping[str, Any]) -> bool:
    """True if the files of the arrays are those that a manifest lists, or there is no list."""
    from sweeps.store.backend import get_or_none
    from sweeps.store.create import ROOT
    from sweeps.store.records import checksum

    files = {key: crc for key, crc in tree.get("files", {}).items() if key != ROOT}
    return all(checksum(get_or_none(backend, key) or b"") == crc for key, crc in files.items())


def _rebuilt(backend: StoreBackend, tree: dict[str, Any]) -> StudyData:
    """Return the study of its canonical text; long axes are read from the store."""
    try:
        return read_study_text(tree, lambda name, spec: axis_of(backend, name, spec))
    except _UNREADABLE as error:
        raise DseError(
            f"the study of {backend.name} cannot be read: {error}; or give the study file (--study)"
        ) from error


def read_study_text(said: Mapping[str, Any], axis: Callable[[str, Any], Any]) -> StudyData:
    """Return the study of some attributes; ``axis`` gives the values of an axis.

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


def axis_of(backend: StoreBackend, name: str, spec: Any) -> Any:
    """Return an axis of the text of a study; a long one is read from the store."""
    if not isinstance(spec, dict) or "sha256" not in spec:
        return spec
    data = backend.get(f"{name}/c.0")[:-4]  # without its checksum
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
