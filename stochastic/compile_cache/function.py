"""Define compiled functions, which Python and other compiled functions can call."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, overload

from stochastic.compile_cache.cache import load, save
from stochastic.compile_cache.keys import Compilable, notify_listeners
from stochastic.compile_cache.native import NativeCodeError, kind_of, load_function

_lock = threading.RLock()
_compile_times = [0.0]


def is_jit_disabled() -> bool:
    """True if NUMBA_DISABLE_JIT is set: functions then run in Python and are not compiled."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def compile_seconds() -> float:
    """Return the time spent on compiling, or on waiting for another process that compiles. [s]"""
    return _compile_times[0]


@contextmanager
def _compile_timer() -> Iterator[None]:
    """Within a ``with`` block, count the time as compile time; nested blocks count once."""
    with _lock:
        began, before = time.monotonic(), _compile_times[0]
        try:
            yield
        finally:
            _compile_times[0] = before + time.monotonic() - began


class CompiledFunction(Compilable):
    """A function with cached machine code, which Python and compiled functions can call.

    Arguments and results are numbers, arrays and tuples of these; arrays in results are in C order.
    The function runs without the GIL.
    """

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self._functions: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *args: Any) -> Any:
        """Call the function; for new kinds of arguments, first load or compile its code."""
        kinds = tuple(map(kind_of, args))
        ready = self._functions.get(kinds)
        return (ready or self._get_or_compile(kinds, args))(*args)

    def prepare(self, *args: Any) -> None:
        """Load or compile the function for the kinds of these arguments, without running it."""
        kinds = tuple(map(kind_of, args))
        if kinds not in self._functions:
            self._get_or_compile(kinds, args)

    def compile_separately(self, *args: Any) -> None:
        """Compile the bitcode that callers link, if the option ``gives`` is set."""
        from stochastic.compile_cache.build import argument_types, separate_bitcode

        with _compile_timer():
            separate_bitcode(self, argument_types(self, args))

    def _get_or_compile(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        with _lock:
            ready = self._functions.get(kinds)
            if ready is None:
                ready = self._functions[kinds] = self._load_or_compile(kinds, args)
            return ready

    def _load_or_compile(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        if is_jit_disabled():
            return self.function
        key = self.key(kinds)
        ready = _load_cached(key, kinds)
        if ready is not None:
            return ready
        with _compile_timer():
            if notify_listeners(self.__name__):
                ready = _load_cached(key, kinds)  # another process may have stored the code
            return self._compile(key, kinds, args) if ready is None else ready

    def _compile(self, key: str, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
        from stochastic.compile_cache.build import build_code, dispatcher

        try:
            data = build_code(self, args)
            ready = load_function(data, kinds)
        except (NativeCodeError, AttributeError, ImportError, RuntimeError, TypeError, OSError):
            # the code cannot be called without Numba, or the version of Numba is unknown
            return dispatcher(self, from_python=True, standalone=True)
        save(key, data)
        return ready


def _load_cached(key: str, kinds: tuple[Any, ...]) -> Callable[..., Any] | None:
    try:
        data = load(key)
        return None if data is None else load_function(data, kinds)
    except Exception:
        return None


@overload
def compiled(function: Callable[..., Any], **options: Any) -> Any: ...
@overload
def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]: ...
def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a function to be compiled at its first call, without the GIL, with NumPy's division.

    ``options`` are those of ``numba.njit`` and the following. ``_nrt=False`` omits reference
    counts; the function must create no arrays, and its variables must not change type. ``noalias``
    states that array arguments do not overlap. ``flat`` passes arrays (in C order, without negative
    indices) and tuples as addresses, and does not transform loops; it is for functions with many
    branches. ``gives`` is an example of the result; callers then link one compiled version.
    """
    if function is None:
        return lambda body: compiled(body, **options)
    if not isinstance(function, FunctionType):
        raise TypeError(f"no function to compile: {function!r}")
    return CompiledFunction(function, {"nogil": True, "error_model": "numpy", **options})
