"""From the text of a loop nest to machine code. The project's only ``exec`` stands here."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from sweeps.emit import Nest

__all__ = ["compiled"]

_compiled: dict[str, Callable[..., None]] = {}
_lock = threading.Lock()


def compiled(nest: Nest) -> Callable[..., None]:
    """The machine code of a nest; compiled once a process for each text."""
    function = _compiled.get(nest.key)
    if function is None:
        with _lock:
            function = _compiled.get(nest.key)
            if function is None:
                function = _compiled[nest.key] = _compile(nest)
    return function


def _compile(nest: Nest) -> Callable[..., None]:
    import numba

    whole, real = numba.int64, numba.float64
    results = {
        "float": (real[::1],),
        "flag": (numba.int8[::1],),
        "bool": (numba.boolean[::1],),
        "reduce": (real[::1], whole[::1]),
    }
    signature = numba.void(
        whole[::1],
        whole[::1],
        whole,
        real[::1],
        *(real[::1] for _ in nest.arrays),
        *(kind for name in nest.kinds for kind in results[name]),
    )
    namespace: dict[str, Any] = {"np": np}
    exec(compile(nest.source, f"<nest {nest.key}>", "exec"), namespace)
    function: Callable[..., None] = numba.njit(
        signature, nogil=True, error_model="numpy", no_cfunc_wrapper=True
    )(namespace["nest"])
    return function
