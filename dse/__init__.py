"""Probabilistic and design-space exploration engine for SIMT machines (GPUs).

>>> import dse
>>> ds = dse.evaluate("transit", threads=64, intensity=10, lanes_width=32, ms_peak=1,
...                   mem_latency=600)
>>> round(float(ds.ms_throughput), 6)
0.104918
"""

import importlib
import re
from pathlib import Path
from types import FunctionType
from typing import Any


def _order(name: str) -> tuple[bool, str]:
    """Return a sort key: classes come first, and numbers in names are compared by value."""
    return name[0].islower(), re.sub(r"\d+", lambda number: f"{int(number[0]):09}", name)


#: The module that defines each public name, read from the stub; a module is imported on first use.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_MODULE_OF = {name: home for home, name in re.findall(r"^from (\S+) import (\w+)", _STUB, re.M)}
__all__ = sorted(_MODULE_OF, key=_order)


importlib.import_module("dse.accessor").register_accessor()


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dse' has no attribute {name!r}")
    module = importlib.import_module(_MODULE_OF[name])
    value = getattr(module, name)
    if isinstance(value, FunctionType) and _MODULE_OF[name] != "symbolic.ops":
        value = importlib.import_module("dse.call_checks").check_arguments(value)
        setattr(module, name, value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
