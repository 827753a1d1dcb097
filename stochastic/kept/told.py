"""Who wants to know that something is about to be compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


@contextmanager
def telling(listener: Callable[[str], None]) -> Iterator[None]:
    """Have a listener told the name of each body that is about to be compiled, which takes time."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def tell(name: str) -> bool:
    """Tell of a body; whether anybody listened."""
    for listener in _listeners:
        listener(name)
    return bool(_listeners)
