"""Record in stores and Datasets which study made them, and rebuild the study from this record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.study.study import StudyData
from sweeps.grid.grid import FEASIBLE
from symbolic.errors import DseError
from symbolic.file_access import FileScope
from symbolic.json_text import read_json
from symbolic.library import locate_models

if TYPE_CHECKING:
    import xarray as xr

    from sweeps.grid.axes import Axis
    from sweeps.store.backend import StoreBackend
    from sweeps.store.layout import StoreLayout

_EXPANDED = "-expanded"
_KEYS = ("identity", "study", "model", "simt_dse_version", "model_files")
OVERWRITE_HINT = "choose another path, or give fresh=True (--fresh) to keep it aside and start over"
_STUDY_HINT = "give the study file in place of the store, or as --study to dse add or dse verify"
#: Exceptions from reading a damaged study text.
_UNREADABLE = (
    *(DseError, ValueError, KeyError, TypeError, AttributeError, OSError),
    *(RecursionError, OverflowError, IndexError),
)


def dataset_attributes(study: StudyData, *, expand: bool) -> dict[str, Any]:
    """Return the attributes of the Dataset that a run of the study produces."""
    attributes = dict(study.attributes())
    if expand:
        attributes["identity"] += _EXPANDED
    return attributes


def is_expanded(tree: Mapping[str, Any]) -> bool:
    """True if the manifest ``tree`` says that every output of the store has all axes."""
    return str(tree["identity"]).endswith(_EXPANDED)


def manifest_identity(study: StudyData, layout: StoreLayout) -> dict[str, Any]:
    """Return the identity of a study for the manifest: attributes, hashes and shapes of chunks."""
    from dse.inputs.provenance import check_sources, fingerprints

    ours = dataset_attributes(study, expand=layout.expand)
    attributes = {key: ours[key] for key in _KEYS if key in ours}
    chunks = {
        name: {"part": part.number, "shard": list(part.shard), "chunk": list(part.chunk)}
        for part in layout.parts
        for name in part.outputs
    }
    check_sources(study.grid())
    hashes = fingerprints(study.grid(), study._parts, json.loads(ours["defaults"]))
    return attributes | hashes | {"chunks": chunks, "compression": layout.compression}


def is_same_manifest(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    """True if two manifests describe the same study, divided into the same tiles."""
    return all(theirs[key] == ours[key] for key in ("identity", "chunks"))


def check_same_study(
    backend: StoreBackend, ours: dict[str, Any], theirs: Mapping[str, Any] | None, hint: str
) -> None:
    """Raise DseError if a store belongs to another study; the message ends with ``hint``."""
    from sweeps.store.backend import get_or_none
    from sweeps.store.records import MANIFEST

    if theirs is None:
        if get_or_none(backend, MANIFEST) is None:
            raise DseError(f"{backend.name} exists and is no store of a study: {hint}")
        raise DseError(
            f"the study of {backend.name} is unknown, as {MANIFEST} is damaged; repair it with "
            f"dse verify --repair, or {hint}"
        )
    if not is_same_manifest(theirs, ours):
        difference = _difference(theirs, ours)
        raise DseError(f"{backend.name} is the store of another study ({difference}): {hint}")


def _difference(theirs: Any, ours: dict[str, Any]) -> str:
    for key, name in (("simt_dse_version", "version of simt-dse"), ("model", "model")):
        if theirs.get(key) != ours[key]:
            return f"its {name} is {theirs.get(key)}, not {ours[key]}"
    try:
        there = read_json(theirs.get("study", ""))
    except (TypeError, ValueError):
        return "its study cannot be read"
    here = json.loads(ours["study"])
    for key in dict.fromkeys([*here, *there]):
        a, b = there.get(key), here.get(key)
        if a != b and isinstance(a, dict) and isinstance(b, dict):
            for name in dict.fromkeys([*b, *a]):
                if a.get(name) != b.get(name):
                    what = "the axis " if key == "axes" else "the value of "
                    there_is, wanted = _short_json(a.get(name)), _short_json(b.get(name))
                    return f"{what}{name} is {there_is} there, not {wanted}"
            return f"the {key} are in another order"
        if a != b:
            return f"its {key} is {_short_json(a)}, not {_short_json(b)}"
    if theirs["identity"] == ours["identity"]:
        return "the same one, cut into other tiles"
    if str(theirs["identity"]).removesuffix(_EXPANDED) == ours["identity"].removesuffix(_EXPANDED):
        return f"its outputs are {'' if is_expanded(theirs) else 'not '}expanded over all axes"
    for key, name in (("equations", "equation of"), ("values", "value of"), ("rules", "rule")):
        a, b = theirs.get(key, ours[key]), ours[key]
        for what in dict.fromkeys([*b, *a]):
            if a.get(what) != b.get(what):
                return f"its {name} {what} is another one"
    return "its equations or the values of its machine or workload are other ones"


def _short_json(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value)
    return text if len(text) <= 90 else f"{text[:60]} ... {text[-20:]}"


def check_storable(study: StudyData) -> None:
    """Raise DseError if a study has no output to store, or an output with ``/`` in its name."""
    if not study.grid().outputs:
        named = ", ".join(study.outputs or ())
        raise DseError(
            f"there is nothing to store: each of the outputs {named} is an axis; name a computed "
            f"one, such as {study.grid().model.outputs[0]}, or run without a store"
        )
    for name in study.grid().outputs:
        if "/" in name:
            raise DseError(
                f"{name} cannot be stored, as '/' separates folders: write a * power(b, -1) for "
                "a / b, query the study (optimum, pareto, count), or run without a store"
            )


def missing_store_error(store: str | Path) -> DseError:
    """Return the error for a store that does not exist."""
    return DseError(f"{str(store)!r} does not exist: expected the store of a run")


def rebuild_study(
    store: str | Path, *, study: StudyData | str | Path | None = None
) -> tuple[StudyData, dict[str, Any]]:
    """Rebuild the study of a store, or check the given ``study``; return it with the manifest.

    Raises DseError if the equations or values have changed since, or if ``study`` does not match.
    """
    from sweeps.store.backend import backend_of
    from sweeps.store.layout import StoreLayout

    backend = backend_of(store)
    if not backend.exists():
        raise missing_store_error(store)
    wanted = StudyData.from_toml(study) if isinstance(study, (str, Path)) else study
    tree = _read_identity(backend, wanted)
    rebuilt = wanted
    if rebuilt is None:
        try:
            rebuilt = read_study_text(tree, axis_reader(backend))
        except _UNREADABLE as error:
            raise DseError(
                f"the study of {backend.name} cannot be read: {error}; or {_STUDY_HINT}"
            ) from error
    identity = manifest_identity(rebuilt, StoreLayout(rebuilt.grid(), expand=is_expanded(tree)))
    if "chunks" not in tree:  # no manifest: the tree has the attributes of the group
        tree = {**tree, "chunks": identity["chunks"]}
    check_same_study(backend, identity, tree, _STUDY_HINT)
    return rebuilt, tree


def study_of(ds: xr.Dataset, *, needs_identity: bool = True) -> StudyData:
    """Rebuild the study from the attributes of a Dataset.

    Raises DseError if there is no study, or if its model or values have changed since. If the
    attributes have no identity, as in answers of queries, only the text of the study is compared.
    """
    from sweeps.store.records import info_of

    info = info_of(ds)
    if info is not None:
        return rebuild_study(info.place)[0]
    if "study" not in ds.attrs or (needs_identity and "identity" not in ds.attrs):
        raise DseError("the Dataset has no study: expected the Dataset of a run of one model")
    try:
        values = lambda name, _: np.ascontiguousarray(ds[name].values)  # noqa: E731
        study = read_study_text(ds.attrs, values, "is incomplete")
    except (DseError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DseError(f"the study of the Dataset cannot be read: {error}") from error
    key = "identity" if "identity" in ds.attrs else "study"
    if study.attributes()[key] != str(ds.attrs[key]).removesuffix(_EXPANDED):
        raise DseError(
            "the Dataset was computed with other equations, values or another version than the "
            "present ones: run the study again"
        )
    return study


def stored_study(source: xr.Dataset | str | Path) -> StudyData | None:
    """Return the study of a store; None if there is no store, or if model or values have changed.

    If ``source`` is a Dataset that was opened from a store, the study has only the outputs of the
    Dataset. Raises ``OtherProcessError`` if another store has replaced the opened store.
    """
    from sweeps.store.records import info_of

    info = info_of(source)
    if info is None:
        return None
    try:
        study = rebuild_study(info.place)[0]
        if not isinstance(source, (str, Path)):
            names = tuple(str(name) for name in source.data_vars if name != FEASIBLE)
            study = replace(study, outputs=names, best=None)
        # the identity does not cover the modules and files that a table equation of a user may read
        definitions = [d for g in study.grid().graphs.values() for d in g.definitions.values()]
        tables = [d.equation for d in definitions if d.equation is not None and d.equation.table]
        if any(eq.function.__module__.split(".")[0] != "symbolic" for eq in tables):
            return None
    except DseError:  # the caller then reads the stored values
        return None
    info.check_same()
    return study


def _read_identity(backend: StoreBackend, study: StudyData | None) -> dict[str, Any]:
    """Read the identity of a store's study from the manifest or the attributes of the group.

    Each record of a tile also has the hash of the identity. If these sources disagree, the given
    ``study`` decides which source is right; without it, DseError is raised.
    """
    from sweeps.store.backend import get_or_none
    from sweeps.store.create import METADATA_FILE
    from sweeps.store.records import MANIFEST, RECORDS, checksum, decode_checked_json, read_manifest

    candidates: dict[str, dict[str, Any]] = {}
    with suppress(ValueError, KeyError, TypeError):
        has = read_json(get_or_none(backend, METADATA_FILE) or b"")["attributes"]
        tree = {key: str(has[key]) for key in _KEYS if key in has}
        candidates[tree["identity"]] = {**tree, "study": tree["study"]}
    manifest = read_manifest(get_or_none(backend, MANIFEST))
    if manifest is not None:
        agree = list(candidates) == [manifest["identity"]]
        candidates[manifest["identity"]] = manifest
        if agree:
            return manifest
    records = (
        decode_checked_json(get_or_none(backend, f"{RECORDS}/{name}"))
        for name in backend.sizes(RECORDS)
    )
    recorded = {str(record.get("identity")) for record in records if record is not None}
    if study is not None:
        about = {key: study.attributes()[key] for key in ("identity", "study")}
        for ours in (about, {**about, "identity": about["identity"] + _EXPANDED}):
            if ours["identity"] in {*candidates, *recorded}:
                return candidates.get(ours["identity"], ours)

    def is_consistent(tree: Mapping[str, Any]) -> bool:
        files = {key: crc for key, crc in tree.get("files", {}).items() if key != METADATA_FILE}
        return recorded <= {tree["identity"]} and all(
            checksum(get_or_none(backend, key) or b"") == crc for key, crc in files.items()
        )

    valid = [tree for tree in candidates.values() if len(candidates) == 1 or is_consistent(tree)]
    if len(valid) == 1:
        return valid[0]
    what = (
        f"the files of {backend.name} are from several stores, and it is unclear which is meant"
        if candidates
        else f"{backend.name} is no store of a study, or both {MANIFEST} and {METADATA_FILE} are "
        "damaged"
    )
    raise DseError(f"{what}: {_STUDY_HINT}")


def read_study_text(
    attributes: Mapping[str, Any], read_axis: Callable[[str, str], Any], problem: str = "is damaged"
) -> StudyData:
    """Rebuild the study from attributes; ``read_axis(name, dtype)`` reads the values of long axes.

    The attributes are not trusted. A model file is run only if a file of the user has the recorded
    hash; a path in the attributes is never used.
    """
    tree = read_json(attributes["study"])
    model = locate_models(tree["model"], read_json(attributes.get("model_files", "[]")))
    fields = {key: tree.get(key) for key in ("machine", "workload", "prefer", "fit")}
    fields |= {"where": tree["where"], "outputs": tree["outputs"]}
    return StudyData(
        model=model,
        axes=read_axes(tree["axes"], read_axis, problem),
        set={name: _value(value) for name, value in tree["set"].items()},
        random=tree.get("random", {}),
        folder=FileScope(None, None),  # never open a file named in the attributes
        **fields,
    )


def read_axes(
    axes: Mapping[str, Any], read_axis: Callable[[str, str], Any], problem: str = "is damaged"
) -> dict[str, Any]:
    """Return the axes in a study's text; read long axes, of which the text has only the hash."""
    values = dict(axes)
    for name, spec in axes.items():
        if isinstance(spec, dict) and "sha256" in spec:
            values[name] = read_axis(name, "<i8" if isinstance(spec["first"], int) else "<f8")
            if hashlib.sha256(values[name].tobytes()).hexdigest() != spec["sha256"]:
                raise DseError(f"the axis {name} {problem}")
    return values


def axis_reader(backend: StoreBackend) -> Callable[[str, str], Any]:
    """Return a function that reads the values of a store's axis, given its name and dtype."""
    # a checksum follows the values in the last four bytes
    return lambda name, kind: np.frombuffer(backend.get(f"{name}/c.0")[:-4], dtype=kind)


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "sha256" in json.dumps(value):
        raise DseError("it contains a long table")
    import xarray as xr

    return xr.DataArray(value["values"], value.get("labels"), value["dims"])


def contained_study(
    study: StudyData, backend: StoreBackend, theirs: Mapping[str, Any], *, expand: bool
) -> StudyData | None:
    """Return the store's study if only fewer values or other outputs differ; otherwise None."""
    from sweeps.store.layout import StoreLayout

    with suppress(DseError, ValueError, KeyError, TypeError, OSError):
        there = read_json(theirs["study"])
        axes = read_axes(there["axes"], axis_reader(backend))
        smaller = replace(study, axes=axes, outputs=tuple(there["outputs"]), best=None)
        if list(study.grid().axes) != list(axes):
            return None
        pairs = zip(study.grid().axes.values(), smaller.grid().axes.values(), strict=True)
        if any(
            set(new.columns) != set(old.columns) or not set(_values(old)) <= set(_values(new))
            for new, old in pairs
        ):
            return None
        identity = manifest_identity(smaller, StoreLayout(smaller.grid(), expand=expand))
        return smaller if is_same_manifest(theirs, identity) else None
    return None


def _values(axis: Axis) -> list[Any]:
    if axis.columns:
        columns = (axis.columns[name].tolist() for name in sorted(axis.columns))
        return list(zip(*columns, strict=True))
    return list(axis.labels) or np.asarray(axis.values).tolist()
