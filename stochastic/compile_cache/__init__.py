"""Compile functions to machine code once for each machine, and load the code from disk afterwards.

:func:`compiled` marks a function, which Python and other compiled functions may call. Its machine
code is loaded from the cache (:mod:`.cache`) or compiled by Numba (:mod:`.build`). The code is
called without Numba (:mod:`.native`), because importing Numba takes longer than most runs.
"""

from stochastic.compile_cache.cache import cache_folder, load, save
from stochastic.compile_cache.function import (
    CompiledFunction,
    compile_seconds,
    compiled,
    is_jit_disabled,
)
from stochastic.compile_cache.keys import LazyImport, compile_listener

__all__ = [
    "CompiledFunction", "LazyImport", "cache_folder", "compile_listener", "compile_seconds",
    "compiled", "is_jit_disabled", "load", "save",
]  # fmt: skip
