"""Sectors and wavefronts of the requests of warps, by the addresses of their lanes.

Shared memory has 32 banks of 4 bytes: a wavefront reads one word of each, for all lanes that ask
for it (CUDA C++ Programming Guide, shared memory). It holds a register a lane, so that 8 bytes a
lane are asked for by half warps and 16 by quarters; two of these are one wavefront where the lanes
of every pair, next to each other or two apart, load the same (NVIDIA, developer forum 77228, of
compute capability 7.0 to 7.5; taken for later ones, too). The first cache reads four sectors a
wavefront, each of another quarter of a line (Khairy 2020, Accel-Sim).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["SECTOR", "WORD", "cache_wavefronts", "sectors", "shared_wavefronts"]

#: Bytes of a sector, the piece in which caches and DRAM move data; of a word of a bank.
SECTOR, WORD = 32, 4
#: Banks of shared memory; quarters of a line, of each of which the first cache reads a sector.
BANKS, QUARTERS = 32, 4

Lanes = npt.NDArray[np.int64]
Active = npt.NDArray[np.bool_]


def sectors(first: Lanes, active: Active, width: int) -> Any:
    """The sectors of each request, by the first bytes of its lanes and which of these ask.

    >>> sectors(4 * np.arange(32)[None], np.ones((1, 32), bool), 4).tolist()
    [4]
    """
    return _new(_pieces(first, active, width, SECTOR))[1].sum(axis=-1)


def cache_wavefronts(first: Lanes, active: Active, width: int, *, load: bool = True) -> Any:
    """The wavefronts of each request to global memory in the first cache."""
    words = max(width // WORD, 1)
    held = _asking(active, words)
    if load and words > 1:
        held = np.where(_paired(first, active), _asking(active, words // 2), held)
    return np.maximum(held, _fullest(_pieces(first, active, width, SECTOR), QUARTERS))


def shared_wavefronts(first: Lanes, active: Active, width: int, *, load: bool = True) -> Any:
    """The wavefronts of each request to shared memory.

    >>> first, every = 4 * np.arange(32)[None], np.ones((1, 32), bool)
    >>> [shared_wavefronts(stride * first, every, 4).item() for stride in (0, 1, 2, 32, 33)]
    [1, 1, 2, 32, 1]
    """
    words = max(width // WORD, 1)
    found = _in_groups(first, active, width, words)
    if load and words > 1:
        joined = _in_groups(first, active, width, words // 2)
        found = np.where(_paired(first, active), joined, found)
    return found


def _in_groups(first: Lanes, active: Active, width: int, groups: int) -> Any:
    """Wavefronts of requests whose lanes are served in groups, one after the other."""
    shape = (len(first) * groups, first.shape[-1] // groups)
    asks = active.reshape(shape)
    found = _fullest(_pieces(first.reshape(shape), asks, width, WORD), BANKS)
    return (found * asks.any(axis=-1)).reshape(-1, groups).sum(axis=-1)


def _asking(active: Active, groups: int) -> Any:
    """How many groups of lanes have one that asks."""
    return active.reshape(len(active), groups, -1).any(axis=-1).sum(axis=-1)


def _paired(first: Lanes, active: Active) -> Any:
    """Whether all pairs of lanes that ask, one apart or two, ask for the same."""
    lanes = np.arange(first.shape[-1])
    return np.logical_or.reduce([
        ((first == first[:, lanes ^ by]) | ~active | ~active[:, lanes ^ by]).all(axis=-1)
        for by in (1, 2)
    ])  # fmt: skip


def _pieces(first: Lanes, active: Active, width: int, size: int) -> Any:
    """The pieces of memory that each request touches, some more than once."""
    begin = np.take_along_axis(first, active.argmax(axis=-1)[:, None], axis=-1)
    first = np.where(active, first, begin)
    more = np.arange((width - 1) // size + 2)
    last = (first + width - 1) // size
    return np.minimum(first[..., None] // size + more, last[..., None]).reshape(len(first), -1)


def _new(pieces: Lanes) -> tuple[Any, Any]:
    """Pieces in order, and of each whether it is the first that is the same."""
    ordered = np.sort(pieces, axis=-1)
    return ordered, np.diff(ordered, axis=-1, prepend=ordered[:, :1] - 1) != 0


def _fullest(pieces: Lanes, banks: int) -> Any:
    """The most different pieces of a request that are of one bank."""
    ordered, new = _new(pieces)
    at = np.arange(len(pieces))[:, None] * banks + ordered % banks
    return np.bincount(at[new], minlength=len(pieces) * banks).reshape(-1, banks).max(axis=-1)
