"""A compiled body: called from Python, or from other bodies."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, overload

from stochastic.kept.folder import load, save
from stochastic.kept.identity import Marked, tell
from stochastic.kept.native import UnfitError, kind_of, loaded

_lock = threading.RLock()
_spent = [0.0]


def interpreted() -> bool:
    """Whether Numba is told to compile nothing: bodies are then the functions that they were."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def compile_seconds() -> float:
    """Return the seconds in which this process has compiled bodies, Numba's import included."""
    return _spent[0]


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

    def apart(self, *args: Any) -> None:
        """Compile what others call of it, where it ``gives`` something; see :func:`compiled`."""
        from stochastic.kept.build import part, types_of

        part(self, types_of(self, args))

    def _made(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        with _lock:
            ready = self._ready.get(kinds)
            if ready is None:
                ready = self._ready[kinds] = self._kept(kinds, args)
            return ready

    def _kept(self, kinds: tuple[Any, ...], args: tuple[Any, ...]) -> Callable[..., Any]:
        if interpreted():
            return self.function
        key = self.key(kinds)
        ready = _found(key, kinds)
        if ready is None and tell(self.__name__):
            ready = _found(key, kinds)  # a listener may have waited for another process
        if ready is not None:
            return ready
        began = time.monotonic()
        try:
            return self._compiled(key, kinds, args)
        finally:
            _spent[0] += time.monotonic() - began

    def _compiled(
        self, key: str, kinds: tuple[Any, ...], args: tuple[Any, ...]
    ) -> Callable[..., Any]:
        from stochastic.kept.build import built, dispatcher

        try:
            data = built(self, args)
            ready = loaded(data, kinds)
        except (UnfitError, AttributeError, ImportError, RuntimeError, TypeError, OSError):
            # not to be called without Numba, or by another version of it than those known
            return dispatcher(self, wrapped=True, whole=True)  # type: ignore[no-any-return]
        save(key, data)
        return ready


def _found(key: str, kinds: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return what was kept under a key, if it can be used; else it is made anew."""
    try:
        data = load(key)
        return None if data is None else loaded(data, kinds)
    except Exception:
        return None


@overload
def compiled(function: Callable[..., Any], **options: Any) -> Any: ...
@overload
def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]: ...
def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a body: compiled when it is first used, without the GIL, with NumPy's division.

    ``options`` are those of ``numba.njit``; ``_nrt=False`` leaves out the counts of who holds an
    array, in bodies that make none and in which a name is of one type throughout. ``noalias`` says
    that what is written through one argument is not read or written through another. ``flat`` is
    for bodies of many branches whose arrays are in C order and whose indices count from the
    beginning: there arrays and tuples are addresses, and loops stay as they are. ``gives``, a value
    such as what comes back, has a large body compiled apart from those that call it: once for all
    of them, by whichever process comes first.
    """
    if function is None:
        return lambda body: compiled(body, **options)
    if not isinstance(function, FunctionType):
        raise TypeError(f"no function to compile: {function!r}")
    return Body(function, {"nogil": True, "error_model": "numpy", **options})
