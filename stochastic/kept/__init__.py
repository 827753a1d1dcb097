"""Machine code, kept between processes: a body is compiled once for a machine.

:func:`compiled` marks a body; other bodies may call it, and Python may: then its machine code is
looked for in :mod:`stochastic.kept.folder`, compiled by Numba where it is not there
(:mod:`stochastic.kept.build`), and called (:mod:`stochastic.kept.native`). What is kept is called
without Numba, which takes longer to import than most runs take.
"""

from stochastic.kept.body import CompiledFunction, compile_seconds, compiled, is_jit_disabled
from stochastic.kept.folder import load, cache_folder, save
from stochastic.kept.identity import LazyImport, compile_listener

__all__ = [
    "CompiledFunction",
    "LazyImport",
    "compile_seconds",
    "compiled",
    "is_jit_disabled",
    "load",
    "cache_folder",
    "save",
    "compile_listener",
]
