"""Which names and texts each file format can hold; what none can hold is refused in words.

Names of outputs may hold a slash, as formulas do, which zarr and netCDF read as a folder. There
they are written under another name, with the right one as an attribute.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

#: Formats in which a name may be a path.
FOLDERS = (".zarr", ".nc")
_NAME = "simt_dse_name"
_SLASHES = str.maketrans({"/": "\N{DIVISION SLASH}", "\\": "\N{SET MINUS}"})
#: Bytes of a name that is a folder in zarr.
_LONGEST = 200
#: What xarray does not read back as an attribute, as it changes how values are read.
_RESERVED = {"_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "dtype"}
_RESERVED |= {"coordinates", "calendar", _NAME}


def check_names(ds: xr.Dataset, path: Path) -> None:
    """Refuse a Dataset that a file of this name could not give back.

    Raises
    ------
    DseError
        A name, label or attribute that would be lost or changed.
    """
    for what, problem in _problems(ds, path.suffix):
        raise DseError(
            f"{path} cannot be written: {what} {problem}; rename it (ds.rename, assign_attrs), or "
            "drop it"
        )


def _problems(ds: xr.Dataset, suffix: str) -> Iterator[tuple[str, str]]:
    """Yield what cannot be written, and why."""
    as_folders = suffix in FOLDERS
    for name in dict.fromkeys([*ds.variables, *ds.dims]):
        problem = _of_name(name)
        if as_folders and not problem:
            problem = _of_folder(str(name) if name in ds.dims else _plain(name))
        if problem:
            yield f"the name {_shown(name)}", problem
    for owner, attributes in [
        ("the Dataset", ds.attrs),
        *((_shown(n), v.attrs) for n, v in ds.variables.items()),
    ]:
        for key, value in attributes.items():
            what = f"the attribute {_shown(key)} of {owner}"
            problem = _of_name(key) or _of_attribute(value, suffix)
            if suffix == ".nc" and not problem:
                problem = _of_folder(key, attribute=True)
            if problem:
                yield what, problem
            elif as_folders and (key in _RESERVED or (key == "units" and " since " in str(value))):
                yield what, "would change how values are read"
    for name, variable in ds.variables.items():
        if variable.dtype.kind in "OUT":
            for one in variable.values.reshape(-1).tolist():
                if problem := _of_text(str(one)):
                    yield f"the label {_shown(one)} of {_shown(name)}", problem
        elif variable.dtype.kind not in "iufb":
            yield f"the variable {_shown(name)}", f"is of the type {variable.dtype}"


def _of_text(text: str) -> str:
    """Say what no file can hold of a text; empty where it can hold all."""
    if "\0" in text:
        return "holds the character NUL"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "holds half of a character (a lone surrogate)"
    return ""


def _of_name(name: Any) -> str:
    if not isinstance(name, str):
        return "is no text"
    if not name.strip():
        return "is empty"
    if any(sign < " " or sign == "\x7f" for sign in name):
        return "holds control characters"
    return _of_text(name)


def _of_folder(name: str, *, attribute: bool = False) -> str:
    first, problem = name[0], ""
    if name.translate(_SLASHES) != name:
        problem = "holds a slash"
    elif not (first.isalnum() or first == "_" or first > "\x7f") or name.endswith(" "):
        problem = "begins with a sign or ends in a space"
    elif not attribute and (name.startswith("__") or name == "zarr.json"):
        problem = "is reserved"
    elif len(name.encode()) > _LONGEST:
        problem = f"is longer than {_LONGEST} bytes"
    return problem and f"{problem}, which only .csv and .parquet can hold"


def _of_attribute(value: Any, suffix: str) -> str:
    """Say why an attribute cannot be read back; empty where it can be."""
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, (list, tuple)):
        kinds = {type(one) for one in value}
        if suffix == ".nc" and len(kinds) != 1:
            return "is a list that is empty or of several types, which netCDF cannot hold"
        return next(filter(None, (_of_attribute(one, suffix) for one in value)), "")
    if isinstance(value, np.ndarray):
        numbers = value.dtype.kind in "iuf" and value.ndim == 1 and value.size
        return "" if numbers else "is no row of numbers: expected one, or a list of texts"
    is_bool = isinstance(value, (bool, np.bool_))
    if is_bool and suffix != ".nc":
        return ""
    if is_bool or not isinstance(value, (int, float, np.number)):
        return f"is a {type(value).__name__}: expected text, a number or a list of such"
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return "is a whole number of more than 64 bits"
    return ""


def _shown(name: Any) -> str:
    text = ascii(name)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _plain(name: Any, *, coordinate: bool = False) -> str:
    """Return a name as zarr and netCDF have it."""
    text = str(name).translate(_SLASHES)
    return "_".join(text.split()) if coordinate else text


def without_slashes(ds: xr.Dataset) -> xr.Dataset:
    """Return a Dataset whose names are no paths; :func:`with_own_names` gives the names back.

    Names of coordinates hold no spaces then: xarray writes them as a list parted by spaces.
    """
    new = {
        name: stored
        for name in ds.variables
        if name not in ds.dims
        and (stored := _plain(name, coordinate=name in ds.coords)) != str(name)
    }
    if not new:
        return ds
    if len({*new.values()} | ({*ds.variables} - new.keys())) < len(ds.variables):
        raise DseError(f"names differ by slashes and spaces alone: {', '.join(map(str, new))}")
    marked = ds.copy()
    for name in new:
        marked[name].attrs[_NAME] = name
    return marked.rename_vars(new)


def with_own_names(ds: xr.Dataset) -> xr.Dataset:
    """Return a Dataset that was read, with the names that its variables had."""
    own = {name: v.attrs[_NAME] for name, v in ds.variables.items() if _NAME in v.attrs}
    own = {
        name: text
        for name, text in own.items()
        if isinstance(text, str)
        and name in (_plain(text), _plain(text, coordinate=True))
        and text not in ds.variables
    }
    if not own:
        return ds
    for name in own:
        del ds[name].attrs[_NAME]
    return ds.rename_vars(own)
