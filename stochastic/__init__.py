"""Probability laws of the work of GPU threads, and of the cost of running them in lockstep.

>>> from stochastic import Pmf, imbalance
>>> law = imbalance(Pmf.geometric(0.05), lanes=32)
>>> round(law.mean(), 6), round(float(law.slowdown()), 6)
(3.978775, 3.981165)
"""

import importlib
import re
from pathlib import Path
from typing import Any

#: Public names and their modules, read from the stub of this file; a module is loaded on first use.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+)", _STUB, re.MULTILINE)}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'stochastic' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
