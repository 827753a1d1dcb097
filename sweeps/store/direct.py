"""Appending to a file past the cache of the system, which would copy each byte once more.

A system takes whole pages only, from memory that begins at one, and not for every file. What it
does not take so is written as any file is.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import sizes

#: What memory, places in a file and lengths are whole multiples of.
PAGE = 1 << 12
#: Fewer bytes than these wait for the disk longer than they take to copy.
LEAST = sizes.DIRECT_LEAST


def room(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Memory for some values wherever :func:`within` puts them; it begins at a page."""
    size = -(-count * dtype.itemsize // PAGE) * PAGE + PAGE
    held = np.empty(size + PAGE, dtype=np.uint8)
    start = -held.ctypes.data % PAGE
    return held[start : start + size].view(dtype)


def within(memory: NDArray[Any], origin: int, count: int) -> NDArray[Any]:
    """Where in memory values lie as they will in their file, in which ``origin`` come before."""
    start = origin % (PAGE // memory.itemsize)
    return memory[start : start + count]


class Appender:
    """Appends to an empty file that is open for writing."""

    def __init__(self, handle: int) -> None:
        self._handle, self._end = handle, 0
        self._direct, self._began = hasattr(os, "O_DIRECT"), False
        self._page = np.empty(0, dtype=np.uint8)  # what follows the last whole page, and its place
        self._held = 0

    def write(self, data: Any, first: bool = False) -> None:
        """Append; what follows the last whole page may be kept until :meth:`finish`.

        What is ``first`` takes the place of as many bytes at the beginning.
        """
        view = memoryview(data).cast("B")
        if first:
            self.finish()
            place = 0
            while view:
                done = os.pwrite(self._handle, view, place)
                place, view = place + done, view[done:]
        elif not (self._direct and self._past(view)):
            self.finish()
            self._append(view)

    def finish(self) -> None:
        """Append what is kept; from now on nothing is."""
        if self._began:
            _past_the_cache(self._handle, False)
        self._direct = self._began = False
        held, self._held = self._held, 0
        self._append(self._page[:held].data)

    def _append(self, view: memoryview) -> None:
        while view:  # the system may take less than it is given
            done = os.pwrite(self._handle, view, self._end)
            self._end, view = self._end + done, view[done:]

    def _past(self, view: memoryview) -> bool:
        """Append past the cache; False where that cannot be, and nothing is as good as written."""
        head = -self._held % PAGE
        whole = (len(view) - head) // PAGE * PAGE
        if whole < LEAST or (np.frombuffer(view, dtype=np.uint8).ctypes.data + head) % PAGE:
            return False
        if not self._began:
            self._page, self._began = room(0, np.dtype(np.uint8)), True
            if not _past_the_cache(self._handle, True):
                return False
        self._page[self._held : PAGE][:head] = view[:head]
        parts = [view[head : head + whole]]
        if self._held:
            parts.insert(0, self._page[:PAGE].data)
        size = sum(map(len, parts))
        try:
            if os.pwritev(self._handle, parts, self._end) < size:
                return False
        except OSError:  # it holds for the other way too, or it is no matter
            return False
        self._end, self._held = self._end + size, len(view) - head - whole
        self._page[: self._held] = view[head + whole :]
        return True


def _past_the_cache(handle: int, wanted: bool) -> bool:
    """Let what is written from now on go past the cache, or not; whether that is so."""
    import fcntl

    flags = fcntl.fcntl(handle, fcntl.F_GETFL) & ~os.O_DIRECT
    try:
        fcntl.fcntl(handle, fcntl.F_SETFL, flags | (os.O_DIRECT if wanted else 0))
    except OSError:
        return False
    return True
