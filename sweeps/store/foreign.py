"""Checks of a store that may come from somebody else, before it is read.

A link in it that leads out, a device or a pipe would have other files read, or reading never end;
so would a chunk that declares more bytes than memory has. A store that was copied without its
records is read as any zarr group, in which a missing chunk would stand for fill values.
"""

from __future__ import annotations

import itertools
import math
import os
import stat
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from stochastic import sizes
from symbolic.errors import DamagedError, DseError
from symbolic.json_text import LONGEST, read_json

#: The file that describes arrays, which is read as a whole; the folder of the records of a run.
_DESCRIBES, _HIDDEN = "zarr.json", ".simt-dse"
#: Most bytes of a chunk or an axis that are read.
_MOST = sizes.CHUNK_READ
#: Bytes that packing may add to a chunk.
_SLACK = 1 << 20
_NUMBERS = {"bool", "float16", "float32", "float64", "complex64", "complex128"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

_WHOLE = "copy the folder of the store as a whole (cp -r OUT.zarr COPY.zarr)"


def check_enclosed(path: Path) -> None:
    """Raise where something in a folder leads out of it, or is neither file nor folder.

    Raises
    ------
    DseError
        Which of its files it is; none was opened.
    """
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            return
        with os.scandir(path) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        changed = tuple(os.stat(folder).st_mtime_ns for folder in (str(path), *sorted(folders)))
    except (OSError, ValueError):  # removed meanwhile, or not ours to read
        return
    _check(str(path), changed)


@lru_cache(maxsize=64)
def _check(path: str, _changed: tuple[int, ...]) -> None:
    """Check a folder; once, as long as it and the folders in it have not changed."""
    root = os.path.realpath(path)
    waiting = [root]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:  # removed meanwhile, or not ours to read
            continue
        for entry in entries:
            if entry.is_symlink():
                _check_link(entry.path, root, path)
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                if os.path.lexists(entry.path):
                    raise _refused(path, entry.path, root, "is a device, pipe or socket")
            elif entry.name == _DESCRIBES:
                _check_size(entry.path, root, path)


def _check_link(link: str, root: str, path: str) -> None:
    real = os.path.realpath(link)
    if not Path(real).is_relative_to(root):
        raise _refused(path, link, root, "is a link that leads out of the store")


def _check_size(file: str, root: str, path: str) -> None:
    try:
        size = os.stat(file).st_size
    except FileNotFoundError:
        return
    if size > LONGEST:
        raise _refused(path, file, root, f"has more than {LONGEST:,} bytes")


def _refused(path: str, entry: str, root: str, what: str) -> DseError:
    within = os.path.relpath(entry, root)
    return DseError(
        f"{path!r} is not opened as a store, for its file {within!r} {what}: take a copy of the "
        "store as it was written"
    )


def check_foreign(backend: Any) -> None:
    """Warn that a store of a run has no records; nothing where it is another zarr group.

    Raises
    ------
    DamagedError
        A chunk is missing.
    DseError
        A chunk is too large to be read.
    """
    try:
        tree = read_json(backend.get(_DESCRIBES))
        arrays = _arrays(backend, tree)
        _check_declared(backend, arrays)
        if "simt_dse_version" not in tree["attributes"]:
            return
        missing = [
            each for name, about in arrays.items() for each in _missing(backend, name, about)
        ]
    except DseError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # zarr says what is wrong
    if missing:
        raise DamagedError(
            f"{backend.name} has no records ({_HIDDEN}) and lacks {len(missing):,} of its chunks, "
            f"such as {missing[0]}: {_WHOLE}"
        )
    if any(_is_of_a_run(about) for about in arrays.values()):
        warnings.warn(
            f"{backend.name} has no records ({_HIDDEN}): it is read as a plain zarr group, and "
            f"damage is not noticed; {_WHOLE}",
            stacklevel=2,
        )


def _arrays(backend: Any, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return what describes each array of a store."""
    if (inline := tree.get("consolidated_metadata")) is not None:
        found = dict(inline["metadata"])
    else:
        keys = [key for key in backend.files() if key.endswith(f"/{_DESCRIBES}")]
        found = {key.removesuffix(f"/{_DESCRIBES}"): read_json(backend.get(key)) for key in keys}
    return {name: about for name, about in found.items() if about.get("node_type") == "array"}


def _check_declared(backend: Any, arrays: Mapping[str, Any]) -> None:
    """Raise where something that is read at once is too large: a chunk, the values of an axis."""
    for name, about in arrays.items():
        each = np.dtype(about["data_type"]).itemsize if about["data_type"] in _NUMBERS else 1
        chunk = about["chunk_grid"]["configuration"]["chunk_shape"]
        if about["codecs"][0]["name"] == "sharding_indexed":
            chunk = about["codecs"][0]["configuration"]["chunk_shape"]
        _check_bytes(backend, f"a chunk of {name!r} declares", math.prod(chunk) * each)
        if about.get("dimension_names") == [name]:
            _check_bytes(backend, f"the axis {name!r} declares", math.prod(about["shape"]) * each)
        largest = max([*backend.sizes(name).values(), *backend.sizes(f"{name}/c").values(), 0])
        _check_bytes(backend, f"a file of {name!r} has", largest - _SLACK)


def _check_bytes(backend: Any, what: str, size: int) -> None:
    if size > _MOST:
        raise DseError(
            f"{backend.name} is not read: {what} {size:,} bytes, and at most {_MOST:,} are read at "
            "once: write it with smaller chunks (xarray: ds.chunk(...).to_zarr)"
        )


def _is_of_a_run(about: Mapping[str, Any]) -> bool:
    """True if an array was written by a run: its chunks end in a checksum, its keys have dots."""
    separator = about["chunk_key_encoding"]["configuration"]["separator"]
    codecs = about["codecs"]
    if codecs[0]["name"] == "sharding_indexed":
        codecs = codecs[0]["configuration"]["codecs"]
    return bool(separator == "." and codecs[-1]["name"] == "crc32c")


def _missing(backend: Any, name: str, about: Mapping[str, Any]) -> list[str]:
    """Return the chunks of an array that are not there."""
    if not _is_of_a_run(about):
        return []
    chunk = about["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [math.ceil(size / each) for size, each in zip(about["shape"], chunk, strict=True)]
    there = backend.sizes(name)
    if len(there) > math.prod(counts):  # besides the chunks, one file describes the array
        return []
    places = itertools.product(*map(range, counts))
    keys = (".".join(["c", *map(str, place)]) for place in places)
    lost = (f"{name}/{key}" for key in keys if key not in there)
    return list(itertools.islice(lost, len(there) + 1))
