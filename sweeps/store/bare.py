"""A store of a run that was copied without its records (the folder ``.simt-dse``).

What is left is a plain zarr group. zarr takes a chunk that is missing for fill values; a run writes
every chunk, so that here a missing one is an error.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.store.folder import HIDDEN
from sweeps.store.medium import Medium
from sweeps.store.skeleton import ROOT
from sweeps.store.zarr_format import chunk_key
from symbolic.errors import DamagedError, DseError
from symbolic.json_text import read_json

_MOST = sizes.CHUNK_READ
#: Bytes that packing may add to a chunk.
_SLACK = 1 << 20
_NUMBERS = {"bool", "float16", "float32", "float64", "complex64", "complex128"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}

_WHOLE = "copy the folder of the store as a whole (cp -r OUT.zarr COPY.zarr)"


def check_bare(medium: Medium) -> None:
    """Warn that a store of a run has no records; nothing where it is another zarr group.

    Raises
    ------
    DamagedError
        A chunk is missing.
    DseError
        A chunk is too large to be read.
    """
    try:
        tree = read_json(medium.get(ROOT))
        arrays = _arrays(medium, tree)
        _check_declared(medium, arrays)
        if "simt_dse_version" not in tree["attributes"]:
            return
        missing = [each for name, about in arrays.items() for each in _missing(medium, name, about)]
    except DseError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return  # zarr says what is wrong
    if missing:
        raise DamagedError(
            f"{medium.name} has no records ({HIDDEN}) and lacks {len(missing):,} of its chunks, "
            f"such as {missing[0]}: {_WHOLE}"
        )
    if any(_is_of_a_run(about) for about in arrays.values()):
        warnings.warn(
            f"{medium.name} has no records ({HIDDEN}): it is read as a plain zarr group, and "
            f"damage is not noticed; {_WHOLE}",
            stacklevel=2,
        )


def _arrays(medium: Medium, tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return what describes each array of a store."""
    if (inline := tree.get("consolidated_metadata")) is not None:
        found = dict(inline["metadata"])
    else:
        keys = [key for key in medium.files() if key.endswith(f"/{ROOT}")]
        found = {key.removesuffix(f"/{ROOT}"): read_json(medium.get(key)) for key in keys}
    return {name: about for name, about in found.items() if about.get("node_type") == "array"}


def _check_declared(medium: Medium, arrays: Mapping[str, Any]) -> None:
    """Raise where something that is read at once is too large: a chunk, the values of an axis."""
    for name, about in arrays.items():
        each = np.dtype(about["data_type"]).itemsize if about["data_type"] in _NUMBERS else 1
        chunk = about["chunk_grid"]["configuration"]["chunk_shape"]
        if about["codecs"][0]["name"] == "sharding_indexed":
            chunk = about["codecs"][0]["configuration"]["chunk_shape"]
        _check_bytes(medium, f"a chunk of {name!r} declares", math.prod(chunk) * each)
        if about.get("dimension_names") == [name]:
            _check_bytes(medium, f"the axis {name!r} declares", math.prod(about["shape"]) * each)
        largest = max([*medium.sizes(name).values(), *medium.sizes(f"{name}/c").values(), 0])
        _check_bytes(medium, f"a file of {name!r} has", largest - _SLACK)


def _check_bytes(medium: Medium, what: str, size: int) -> None:
    if size > _MOST:
        raise DseError(
            f"{medium.name} is not read: {what} {size:,} bytes, and at most {_MOST:,} are read at "
            "once: write it with smaller chunks (xarray: ds.chunk(...).to_zarr)"
        )


def _is_of_a_run(about: Mapping[str, Any]) -> bool:
    """True if an array was written by a run: its chunks end in a checksum, its keys have dots."""
    separator = about["chunk_key_encoding"]["configuration"]["separator"]
    return bool(separator == "." and about["codecs"][-1]["name"] == "crc32c")


def _missing(medium: Medium, name: str, about: Mapping[str, Any]) -> list[str]:
    """Return the chunks of an array that are not there."""
    if not _is_of_a_run(about):
        return []
    chunk = about["chunk_grid"]["configuration"]["chunk_shape"]
    counts = [math.ceil(size / each) for size, each in zip(about["shape"], chunk, strict=True)]
    there = medium.sizes(name)
    if len(there) > math.prod(counts):  # besides the chunks, one file describes the array
        return []
    keys = map(chunk_key, itertools.product(*map(range, counts)))
    lost = (f"{name}/{key}" for key in keys if key not in there)
    return list(itertools.islice(lost, len(there) + 1))
