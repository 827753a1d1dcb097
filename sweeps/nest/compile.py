"""From the text of a loop nest to machine code. The project's only ``exec`` stands here."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stochastic import kept
from sweeps.nest.emit import Nest
from symbolic.primitives import PRIMITIVES

_compiled: dict[str, kept.Body] = {}
_lock = threading.Lock()
#: What a nest calls: of numbers, of memory.
_STEPS = (
    *("above", "ceil", "exp", "floor", "log", "log10", "log2"),
    *("maximum", "minimum", "pow", "sqrt", "where"),
)
_MEMORY: dict[str, Callable[..., Any]] = {
    "first": lambda array: array,
    "ahead": lambda array, place: array[place:],
    "room": np.empty,
    "aligned": lambda memory: memory,
    "free": lambda memory: None,
}
_RESULTS: dict[str, tuple[type, ...]] = {
    "float": (np.float64,),
    "flag": (np.int8,),
    "bool": (np.bool_,),
    "reduce": (np.float64, np.int64),
}


def compiled(nest: Nest) -> Callable[..., None]:
    """The machine code of a nest; compiled once for each text, and kept."""
    function = _compiled.get(nest.key)
    if function is None:
        with _lock:
            function = _compiled.get(nest.key)
            if function is None:
                function = _compile(nest)
                _compiled[nest.key] = function
    return function


def _compile(nest: Nest) -> kept.Body:
    namespace: dict[str, Any] = {"np": np, "__name__": __name__}
    if kept.interpreted():
        namespace |= {name: PRIMITIVES[name].scalar for name in _STEPS if name in PRIMITIVES}
        namespace |= {**_MEMORY, "above": lambda x: math.nextafter(x, math.inf)}
    else:
        namespace |= {name: kept.Later("sweeps.nest.instructions", name) for name in _STEPS}
        namespace |= {name: kept.Later("sweeps.nest.instructions", name) for name in _MEMORY}
    exec(compile(nest.source, f"<nest {nest.key}>", "exec"), namespace)
    body: kept.Body = kept.compiled(namespace["nest"], _nrt=False, noalias=True)
    whole, real = np.empty(0, dtype=np.int64), np.empty(0)
    results: Iterator[Any] = (np.empty(0, kind) for name in nest.kinds for kind in _RESULTS[name])
    body.prepare(whole, whole, 0, real, *(real for _ in nest.arrays), *results)
    return body
