"""How the bodies of this folder are compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

__all__ = ["inlined", "jitted", "kept", "put"]

#: Without counts of who holds an array: nothing is made or freed in these bodies, and counting took
#: two thirds of their time. What only they call needs no way in from Python.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "_nrt": False,
}


def jitted(function: Callable[..., Any]) -> Any:
    """Compile for other bodies, without the GIL, with NumPy's division."""
    return numba.njit(no_cpython_wrapper=True, **_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Written into its one caller before that is compiled, so that it is not compiled twice."""
    return numba.njit(inline="always", **_OPTIONS)(function)


@jitted
def put(place: Any, values: Any) -> None:
    """Write some values into a place of their size."""
    for k in range(values.size):
        place[k] = values[k]


def kept(function: Callable[..., Any]) -> Any:
    """The same, kept on disk beside the source, or anew in each process where that cannot be.

    The name under which it is kept changes with the text of this folder: Numba alone would not see
    that another file than the function's own was edited.
    """
    function.__qualname__ += f"_{_version()}"
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no folder for the cache can be written
        return numba.njit(**_OPTIONS)(function)


def _version() -> str:
    texts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:16]
