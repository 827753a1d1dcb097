"""How the bodies of this folder are compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

__all__ = ["jitted", "kept"]

_OPTIONS = {"nogil": True, "error_model": "numpy"}


def jitted(function: Callable[..., Any]) -> Any:
    """Compile without the GIL, with NumPy's division."""
    return numba.njit(**_OPTIONS)(function)


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
