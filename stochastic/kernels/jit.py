"""How the bodies of this folder are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

__all__ = ["jitted"]


def jitted(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile without the GIL, with NumPy's division, kept on disk beside the source.

    Where neither the folder of the source nor the user's cache can be written, it is compiled anew
    in each process.
    """
    if function is None:
        return lambda body: jitted(body, **options)
    options = {"nogil": True, "error_model": "numpy", **options}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder for the cache can be written
        return numba.njit(**options)(function)
