"""A compiled body, and what it is known by: all that its machine code depends on."""

from __future__ import annotations

import builtins
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from stochastic.kept.folder import load, save
from stochastic.kept.native import UnfitError, kind_of, loaded

__all__ = ["Body", "Later", "compiled", "names", "telling"]

_lock = threading.RLock()
_listeners: list[Callable[[str], None]] = []


@contextmanager
def telling(listener: Callable[[str], None]) -> Iterator[None]:
    """Have a listener told the name of each body that is about to be compiled, which takes time."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


class Later:
    """What bodies use and only Numba knows, an intrinsic say: imported when one is compiled."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def found(self) -> Any:
        """The thing itself."""
        return getattr(importlib.import_module(self.module), self.name)

    def identity(self) -> str:
        """What it is known by: its name, and the text of its module."""
        return f"{self.module}.{self.name} {_text(self.module)}"


class Body:
    """A function whose machine code is kept; called from Python, or from other bodies.

    From Python it takes numbers, arrays and tuples of these; what comes back are numbers, arrays in
    C order, and tuples of these. It runs without the GIL.
    """

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        self.function, self.options = function, options
        self._ready: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._identity: str | None = None
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__, self.__wrapped__ = function.__module__, function

    def __call__(self, *args: Any) -> Any:
        """Run it, once it is compiled for such arguments."""
        kinds = tuple(map(kind_of, args))
        ready = self._ready.get(kinds)
        return (ready or self._made(kinds, args))(*args)

    def prepare(self, *args: Any) -> None:
        """Compile it for arguments such as these, or find it compiled; nothing is run."""
        kinds = tuple(map(kind_of, args))
        if kinds not in self._ready:
            self._made(kinds, args)

    def identity(self) -> str:
        """What its machine code depends on: its text, that of all it calls, and its options."""
        if self._identity is None:
            digest = hashlib.sha256(repr(sorted(self.options.items())).encode())
            for part in _parts(self.function):
                digest.update(part.encode() + b"\0")
            self._identity = digest.hexdigest()
        return self._identity

    def _made(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        with _lock:
            ready = self._ready.get(kinds)
            if ready is None:
                ready = self._ready[kinds] = self._kept(kinds, args)
            return ready

    def _kept(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return self.function
        try:
            key = hashlib.sha256(f"{_machine()}\0{self.identity()}\0{kinds}".encode()).hexdigest()
            data = load(key)
            if data is not None:
                return loaded(data, kinds)
        except Exception:  # whatever is wrong with what was kept, it is made anew
            pass
        for listener in _listeners:
            listener(self.__name__)
        try:  # a listener may have waited until another process had compiled it
            data = load(key) if _listeners else None
            if data is not None:
                return loaded(data, kinds)
        except Exception:
            pass
        from stochastic.kept.build import built, dispatcher

        try:
            data = built(self, args)
            ready = loaded(data, kinds)
        except (UnfitError, AttributeError, ImportError, RuntimeError, TypeError, OSError):
            # not to be called without Numba, or by another version of it than those known
            return dispatcher(self, wrapped=True)  # type: ignore[no-any-return]
        save(key, data)
        return ready


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a body: compiled when it is first used, without the GIL, with NumPy's division.

    ``options`` are those of ``numba.njit``; ``_nrt=False`` leaves out the counts of who holds an
    array, in bodies that make none and in which a name is of one type throughout.
    """
    if function is None:
        return lambda body: compiled(body, **options)
    if not isinstance(function, FunctionType):
        raise TypeError(f"no function to compile: {function!r}")
    return Body(function, {"nogil": True, "error_model": "numpy", **options})


# --- what machine code depends on
@cache
def _machine() -> str:
    """The processor, the compilers, and what changes what they make."""
    import llvmlite
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features().flatten()
    given = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    versions = [importlib.metadata.version("numba"), llvmlite.__version__, np.__version__]
    own = [_text(f"stochastic.kept.{name}") for name in ("build", "native")]
    processor = [llvm.get_process_triple(), llvm.get_host_cpu_name(), features]
    return "\0".join(map(str, [*processor, *versions, sys.version, *own, *given]))


@cache
def _text(module: str) -> str:
    """A digest of the text of a module, which is not run."""
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        raise UnfitError(f"no text of {module}")
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()


def _parts(function: FunctionType) -> Iterator[str]:
    """All that a function says, and what the names in it stand for."""
    yield repr(function.__defaults__)
    for code in _codes(function.__code__):
        yield from (code.co_name, code.co_code.hex(), str(code.co_flags))
        yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_argcount))
        yield from (_told(value) for value in code.co_consts if not isinstance(value, CodeType))
    yield from (f"{name}={_told(value)}" for name, value in names(function))
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"{name}={_told(cell.cell_contents)}"


def names(function: FunctionType) -> list[tuple[str, Any]]:
    """The names of its module that a function uses, and what they stand for."""
    used = {name for code in _codes(function.__code__) for name in code.co_names}
    known = function.__globals__
    return [(name, known[name]) for name in sorted(used & known.keys())]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def _told(value: Any) -> str:
    """What a body is compiled with, as text."""
    if isinstance(value, Body | Later):
        return value.identity()
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, tuple):
        return f"({', '.join(map(_told, value))})"
    if isinstance(value, frozenset):
        return f"{{{', '.join(sorted(map(_told, value)))}}}"
    if isinstance(value, np.generic | np.dtype):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, type | BuiltinFunctionType | np.ufunc):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"{type(value).__name__} {value!r}"
    if value is ... or value is builtins:
        return repr(value)
    raise TypeError(f"a body cannot use {value!r}: name it as Later(module, name)")
