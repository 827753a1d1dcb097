"""Datasets with hostile names and values: a file gives them back equal, or is refused in words.

    python -m tests.sweeps.exporting 2000 1

Draws so many Datasets with the seed 1, and writes and reads each in every format.
"""

from __future__ import annotations

import math
import random
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from sweeps.files.export import FORMATS, export, open_dataset
from symbolic.errors import DseError

#: Texts that every format can hold.
TEXTS = (
    *("", "a", "A", "é", "\n", "\r", "\r\n", "\t", "a,b", "'", '"', "\\", "\\n", "\x1b[2J", "\x7f"),
    *("\u2028", "\u202e", "\U0001f600", "true", "nan", "NaN", "None", "inf", "1", "1.0", "a.b"),
    *("=1+1", "x" * 5000, " ", " a ", "#", "# simt-dse ", "[time]", "null", "NA", "\ufeff", "\x85"),
)
NAMES = (
    *("time", "Time", "N", "a.b", "a b", "é", "x,y", "inf", "nan", "true", "index", "Unnamed: 0"),
    *("\U0001f600", "a/b", "mean(a/b, c)", 'q"', "c", "zarr", "_a", "a'b", "a:b", "x\\y", "0"),
)
#: Texts and names that some format cannot hold.
BAD_TEXTS = ("\0", "\ud800")
BAD_NAMES = (
    *("", ".", "..", "-a", "#a", "a\nb", "\ud800", "c" * 300, "a\0b", "zarr.json", "__a", "a "),
    *("scale_factor", "_FillValue", "coordinates"),
)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan, 5e-324, 1e300, -1e300, 1e-300, 0.1),
    *(2.0**53, 2.0**53 + 2, 1 / 3, sys.float_info.max, sys.float_info.min),
)
WHOLE = (
    *(0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**53 - 1, 2**53, 2**53 + 1, 2**62, 2**63 - 1),
    -(2**63),
)


def _array(rng: random.Random, shape: tuple[int, ...], texts: tuple[str, ...]) -> Any:
    """Draw an array of some type."""
    kind = rng.choice(["f8", "f8", "f4", "i8", "i8", "i1", "u8", "b1", "text"])
    count = math.prod(shape)
    if kind == "text":
        drawn: list[Any] = [rng.choice(texts) for _ in range(count)]
        return np.array(drawn, dtype=rng.choice([object, str])).reshape(shape)
    if kind == "f4":
        drawn = [
            rng.choice((0.0, -0.0, 0.1, math.nan, math.inf, 1e-45, 3e38)) for _ in range(count)
        ]
    elif kind == "i1":
        drawn = [rng.randrange(-128, 128) for _ in range(count)]
    elif kind == "u8":
        drawn = [rng.choice((0, 1, 2**63, 2**64 - 1)) for _ in range(count)]
    elif kind == "b1":
        drawn = [rng.random() < 0.5 for _ in range(count)]
    else:
        drawn = [rng.choice(FLOATS if kind == "f8" else WHOLE) for _ in range(count)]
    return np.array(drawn, dtype=kind).reshape(shape)


def draw(rng: random.Random) -> xr.Dataset:
    """Draw a Dataset; most are of names and texts that every format can hold."""
    bad = rng.random() < 0.2
    texts, names = (TEXTS + BAD_TEXTS, NAMES + BAD_NAMES) if bad else (TEXTS, NAMES)

    def attributes() -> dict[str, Any]:
        result = {}
        for _ in range(rng.choice([0, 0, 1, 2])):
            key = rng.choice(("units", "long_name", "note", *names))
            some: tuple[Any, ...] = (rng.choice(texts), rng.choice(FLOATS), rng.choice(WHOLE))
            some += (np.array([1, 2], dtype=np.int8), ["a", "b"], [0.5, math.inf])
            result[key] = rng.choice((*some, True, None, {"a": 1}) if bad else some)
        return result

    dims = rng.sample(("a", "b", *names), rng.choice([0, 1, 1, 2, 2, 3]))
    sizes = {dim: rng.choice([1, 1, 2, 3]) for dim in dims}
    coords: dict[str, Any] = {}
    variables: dict[str, Any] = {}
    for dim in dims:
        if rng.random() < 0.8:
            coords[dim] = ((dim,), _array(rng, (sizes[dim],), texts), attributes())
    pool = [name for name in (*names, "power", "case") if name not in dims]
    for name in rng.sample(pool, rng.choice([0, 1, 1, 2, 3])):
        over = rng.sample(dims, rng.randint(0, len(dims)))
        array = _array(rng, tuple(sizes[dim] for dim in over), texts)
        (variables if rng.random() < 0.8 else coords)[name] = (tuple(over), array, attributes())
    return xr.Dataset(variables, coords=coords, attrs=attributes())


def _plain(value: Any) -> Any:
    """A value without the type of its container; NaN, 0 and -0 are told apart."""
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value] if len(value) != 1 else _plain(value[0])
    return repr(value) if isinstance(value, float) else value


def difference(actual: xr.Dataset, expected: xr.Dataset) -> str:
    """Say what differs between two Datasets; empty where nothing does."""
    for kind in ("variables", "coords", "sizes"):
        one, other = (set(getattr(ds, kind)) for ds in (actual, expected))
        if one != other:
            return f"{kind} {one} for {other}"
    if dict(actual.sizes) != dict(expected.sizes):
        return f"sizes {dict(actual.sizes)} for {dict(expected.sizes)}"
    owners = [("the Dataset", actual.attrs, expected.attrs)]
    for name in expected.variables:
        one, other = actual[name], expected[name]
        owners.append((str(name), one.attrs, other.attrs))
        texts = other.dtype.kind in "UO"
        if one.dims != other.dims or (not texts and one.dtype != other.dtype):
            return f"{name}: {one.dims} of {one.dtype} for {other.dims} of {other.dtype}"
        if repr(one.values.tolist()) != repr(other.values.tolist()):
            return f"{name}: {one.values} for {other.values}"
    for owner, one, other in owners:
        if {k: _plain(v) for k, v in one.items()} != {k: _plain(v) for k, v in other.items()}:
            return f"attributes of {owner}: {one} for {other}"
    return ""


def fault(seed: int, ending: str) -> tuple[str, bool]:
    """Say what is wrong with one file (empty where nothing is), and whether it was refused."""
    rng = random.Random(seed)
    try:
        ds = draw(rng)
    except (TypeError, ValueError):  # xarray itself cannot hold it
        return "", True
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / f"file{ending}"
        try:
            export(ds, path)
        except DseError as error:
            left = [one.name for one in Path(folder).iterdir()]
            return f"refused ({error}), and {left} is left" if left else "", True
        except Exception as error:
            return f"{type(error).__name__}: {error}", False
        try:
            with open_dataset(path) as result:
                return difference(result.load(), ds), False
        except Exception as error:
            return f"cannot be read: {type(error).__name__}: {error}", False


def main(count: int, seed: int) -> int:
    """Write and read so many Datasets; the exit status."""
    wrong = refused = 0
    for number in range(seed * 10**6, seed * 10**6 + count):
        for ending in FORMATS:
            problem, was_refused = fault(number, ending)
            refused += was_refused
            if problem:
                wrong += 1
                print(f"seed {number}, {ending}: {ascii(problem)[:300]}", flush=True)
    print(f"{count:,} Datasets in each format, seed {seed}: {wrong} wrong, {refused:,} refused")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(text) for text in (*sys.argv[1:], *("2000", "1")[len(sys.argv) - 1 :]))))
