"""Machine code, kept between processes: a body is compiled once for a machine.

:func:`compiled` marks a body; other bodies may call it, and Python may: then its machine code is
looked for in :mod:`stochastic.compile_cache.cache`, compiled by Numba where it is not there
(:mod:`stochastic.compile_cache.build`), and called (:mod:`stochastic.compile_cache.native`). What is kept is called
without Numba, which takes longer to import than most runs take.
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
