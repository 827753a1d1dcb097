"""A compiled body: called from Python, or from other bodies."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from stochastic.kept.folder import load, save
from stochastic.kept.identity import Marked, machine
from stochastic.kept.native import UnfitError, kind_of, loaded

__all__ = ["Body", "compiled", "telling"]

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


class Body(Marked):
    """A function whose machine code is kept; called from Python, or from other bodies.

    From Python it takes numbers, arrays and tuples of these; what comes back are numbers, arrays in
    C order, and tuples of these. It runs without the GIL.
    """

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        super().__init__(function, options)
        self._ready: dict[tuple[Any, ...], Callable[..., Any]] = {}

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
            key = hashlib.sha256(f"{machine()}\0{self.identity()}\0{kinds}".encode()).hexdigest()
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
