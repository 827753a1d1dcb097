"""Compute cache keys of compiled functions from everything that their machine code depends on."""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from stochastic import sizes
from stochastic.compile_cache.native import NativeCodeError


class LazyImport:
    """The name of an object that only Numba needs; it is imported when code is compiled."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def resolve(self) -> Any:
        """Import the object."""
        return getattr(importlib.import_module(self.module), self.name)

    def identity(self) -> str:
        """Return the name of the object and a digest of the source of its module."""
        return f"{self.module}.{self.name} {_module_digest(self.module)}"


class Compilable:
    """A function marked to be compiled, with the options of ``numba.njit``."""

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        self.function, self.options = function, options
        self._identity: str | None = None
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__, self.__wrapped__ = function.__module__, function

    def identity(self) -> str:
        """Return a digest of the function, of all functions it calls, and of its options."""
        if self._identity is None:
            options = sorted((name, _as_text(value)) for name, value in self.options.items())
            digest = hashlib.sha256(repr(options).encode())
            for part in _function_parts(self.function):
                digest.update(part.encode() + b"\0")
            self._identity = digest.hexdigest()
        return self._identity

    def key(self, kinds: tuple[Any, ...]) -> str:
        """Return the cache key of the machine code for some kinds of arguments."""
        return hashlib.sha256(f"{_platform()}\0{self.identity()}\0{kinds}".encode()).hexdigest()


@cache
def _platform() -> str:
    """Return the processor, the compilers and all settings that change machine code, as a text."""
    import llvmlite
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    settings = sorted(item for item in os.environ.items() if _affects_code(item[0]))
    versions = [importlib.metadata.version("numba"), llvmlite.__version__, np.__version__]
    digests = [
        _module_digest(f"stochastic.compile_cache.{name}")
        for name in ("build", "flat_arrays", "native")
    ]
    processor = [llvm.get_process_triple(), llvm.get_host_cpu_name(), features]
    return "\0".join(map(str, [*processor, *versions, sys.version, *digests, *settings]))


def _affects_code(setting: str) -> bool:
    return setting.startswith("NUMBA_") and "CUDA" not in setting


@cache
def _module_digest(module: str) -> str:
    result = importlib.util.find_spec(module)
    if result is None or result.origin is None:
        raise NativeCodeError(f"no text of {module}")
    return hashlib.sha256(Path(result.origin).read_bytes()).hexdigest()


def _function_parts(function: FunctionType) -> Iterator[str]:
    """Yield, as texts, a function's code and the values of the global names that it uses."""
    yield repr(function.__defaults__)
    for code in _nested_codes(function.__code__):
        yield from (code.co_name, code.co_code.hex(), str(code.co_flags))
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount))
        yield from (_as_text(value) for value in code.co_consts if not isinstance(value, CodeType))
    yield from (f"{name}={_as_text(value)}" for name, value in used_globals(function))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"{name}={_as_text(cell.cell_contents)}"


def used_globals(function: FunctionType) -> list[tuple[str, Any]]:
    """Return the global names that a function uses, with their values."""
    used = {name for code in _nested_codes(function.__code__) for name in code.co_names}
    known = function.__globals__
    return [(name, known[name]) for name in sorted(used & known.keys())]


def _nested_codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _nested_codes(value)


def _as_text(value: Any) -> str:
    if isinstance(value, Compilable | LazyImport):
        return value.identity()
    if isinstance(value, ModuleType) and value is not sizes:  # values in ``sizes`` may differ
        return value.__name__
    if isinstance(value, tuple):
        return f"({', '.join(map(_as_text, value))})"
    if isinstance(value, set | frozenset):  # the order of a set differs between processes
        return f"{{{', '.join(sorted(map(_as_text, value)))}}}"
    if isinstance(value, np.generic | np.dtype):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__} {value!r}"
    if value is ... or value is builtins:
        return repr(value)
    raise TypeError(
        f"a compiled function cannot use {value!r}: name it by LazyImport(module, name)"
    )


_listeners: list[Callable[[str], None]] = []


@contextmanager
def compile_listener(listener: Callable[[str], None]) -> Iterator[None]:
    """Within a ``with`` block, call a listener with the name of each function to be compiled."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def notify_listeners(name: str) -> bool:
    """Call all listeners with a name; return True if there are any."""
    for listener in _listeners:
        listener(name)
    return bool(_listeners)
