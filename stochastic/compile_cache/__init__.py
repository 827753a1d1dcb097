"""Machine code of functions, compiled once for a machine and loaded from disk afterwards.

:func:`compiled` marks a function; Python and other compiled functions may call it. Its machine code
is loaded from the cache (:mod:`.cache`) or compiled by Numba (:mod:`.build`), and called without
Numba (:mod:`.native`), which takes longer to import than most runs take.
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
    "CompiledFunction",
    "LazyImport",
    "cache_folder",
    "compile_listener",
    "compile_seconds",
    "compiled",
    "is_jit_disabled",
    "load",
    "save",
]
