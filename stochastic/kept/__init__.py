"""Machine code, kept between processes: a body is compiled once for a machine.

:func:`compiled` marks a body; other bodies may call it, and Python may: then its machine code is
looked for in :mod:`stochastic.kept.folder`, compiled by Numba where it is not there
(:mod:`stochastic.kept.build`), and called (:mod:`stochastic.kept.native`). What is kept is called
without Numba, which takes longer to import than most runs take.
"""

from stochastic.kept.body import Body, compile_seconds, compiled, interpreted
from stochastic.kept.folder import load, place, save
from stochastic.kept.identity import Later, telling

__all__ = [
    "Body",
    "Later",
    "compile_seconds",
    "compiled",
    "interpreted",
    "load",
    "place",
    "save",
    "telling",
]
