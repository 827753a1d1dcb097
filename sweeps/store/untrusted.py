"""Check a store of unknown origin before it is read.

A link that leads out of the store would read other files. Reading a device or pipe may never end.
Chunks may declare more bytes than the memory has. A store without records is read as a plain zarr
group, in which missing chunks are silently replaced by fill values.
"""

import itertools
import math
import os
import stat
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from stochastic import sizes
from symbolic.errors import DamagedError, DseError
from symbolic.json_text import MAX_LENGTH, read_json

#: Name of the metadata files, and folder of the manifest and records of a run.
_METADATA_FILE, _PRIVATE_FOLDER = "zarr.json", ".simt-dse"
_MAX_BYTES = sizes.CHUNK_READ
#: Maximum number of bytes that compression and checksums may add to a chunk. [B]
_SLACK = 1 << 20
_COPY_HINT = "copy the folder of the store as a whole (cp -r OUT.zarr COPY.zarr)"


def check_no_outside_links(path: Path) -> None:
    """Raise DseError if a folder has special files, or links out of it. No file is opened."""
    try:
        if not stat.S_ISDIR(os.stat(path).st_mode):
            return
        with os.scandir(path) as entries:
            folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        changed = tuple(os.stat(folder).st_mtime_ns for folder in (str(path), *sorted(folders)))
    except (OSError, ValueError):  # a removed or unreadable folder
        return
    _check(str(path), changed)


@lru_cache(maxsize=64)
def _check(path: str, _mtimes: tuple[int, ...]) -> None:
    root = os.path.realpath(path)
    waiting = [root]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:  # a removed or unreadable folder
            continue
        for entry in entries:
            what = ""
            with suppress(FileNotFoundError):  # the file was just removed
                if entry.is_symlink():
                    if not Path(os.path.realpath(entry.path)).is_relative_to(root):
                        what = "is a link that leads out of the store"
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif not stat.S_ISREG(entry.stat().st_mode):
                    what = "is a device, pipe or socket"
                elif entry.name == _METADATA_FILE and entry.stat().st_size > MAX_LENGTH:
                    what = f"has more than {MAX_LENGTH:,} bytes"
            if what:
                raise DseError(
                    f"{path!r} is not opened as a store, because its file "
                    f"{os.path.relpath(entry.path, root)!r} {what}: use a copy of the store as it "
                    "was written"
                )


def check_unrecorded(backend: Any) -> None:
    """Raise an error if a zarr group without records lacks chunks or has huge chunks.

    If a run wrote the group, warn that damage will not be detected.
    """
    try:
        tree = read_json(backend.get(_METADATA_FILE))
    except FileNotFoundError:  # zarr will raise an error
        return
    if (inline := tree.get("consolidated_metadata")) is not None:
        result = inline["metadata"]
    else:
        keys = [key for key in backend.files() if key.endswith(f"/{_METADATA_FILE}")]
        result = {key.rpartition("/")[0]: read_json(backend.get(key)) for key in keys}
    arrays = {name: each for name, each in result.items() if each["node_type"] == "array"}
    missing: dict[str, list[str]] = {}
    for name, about in arrays.items():
        missing |= _check_array(backend, name, about)
    if "simt_dse_version" not in tree.get("attributes", {}):
        return
    if lost := [key for keys in missing.values() for key in keys]:
        raise DamagedError(
            f"{backend.name} has no records ({_PRIVATE_FOLDER}) and lacks {len(lost):,} of its "
            f"chunks, such as {lost[0]}: {_COPY_HINT}"
        )
    if missing:
        warnings.warn(
            f"{backend.name} has no records ({_PRIVATE_FOLDER}): it is read as a plain zarr group, "
            f"in which damage is not detected; {_COPY_HINT}",
            stacklevel=2,
        )


def _check_array(backend: Any, name: str, about: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the missing chunks of an array of a run; raise an error if a chunk is too big."""
    from zarr.dtype import parse_dtype

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr will warn again
        each = parse_dtype(about["data_type"], zarr_format=3).to_native_dtype().itemsize or 1
    outer = chunk = about["chunk_grid"]["configuration"]["chunk_shape"]
    codecs, shape = about["codecs"], about["shape"]
    if codecs[0]["name"] == "sharding_indexed":
        chunk, codecs = (codecs[0]["configuration"][key] for key in ("chunk_shape", "codecs"))
    there = backend.sizes(name)
    axis = shape if about.get("dimension_names") == [name] else ()
    largest = max([*there.values(), *backend.sizes(f"{name}/c").values(), 0])
    for what, size in (
        (f"a chunk of {name!r} declares", math.prod(chunk) * each),
        (f"the axis {name!r} declares", math.prod(axis) * each),
        (f"a file of {name!r} has", largest - _SLACK),
    ):
        if size > _MAX_BYTES:
            raise DseError(
                f"{backend.name} is not read: {what} {size:,} bytes, and at most {_MAX_BYTES:,} "
                "are read at once: write it with smaller chunks (xarray: ds.chunk(...).to_zarr)"
            )
    # in stores of runs, chunks end in a checksum, and their keys have dots
    separator = about.get("chunk_key_encoding", {}).get("configuration", {}).get("separator")
    if separator != "." or codecs[-1]["name"] != "crc32c":
        return {}
    counts = [math.ceil(size / length) for size, length in zip(shape, outer, strict=True)]
    if len(there) > math.prod(counts):  # all chunks and the metadata file exist
        return {name: []}
    places = itertools.product(*map(range, counts))
    keys = (".".join(["c", *map(str, place)]) for place in places)
    lost = (f"{name}/{key}" for key in keys if key not in there)
    return {name: list(itertools.islice(lost, len(there) + 1))}
