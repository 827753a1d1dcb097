"""Shortest paths of all pairs on the GPU at hand, timed (Ma 2014, §IV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import MOST_THREADS, device
from symbolic.errors import DseError

Floats = NDArray[np.float64]

#: Rows of three sub-blocks of float32 that fit in 48 KiB.
_MOST_ROWS = 64


def shortest_paths(
    distances: Any, *, tile_dim: int = 32, threads: int = 256, padding: int = 0
) -> tuple[NDArray[np.float32], float]:
    """The length of the shortest path from every vertex to every other (Ma 2014, Eq. 9).

    Parameters
    ----------
    distances : array, shape (vertices, vertices)
        Of the edges; infinite where there is none, 0 from a vertex to itself.
    tile_dim : int
        Edge of the sub-block of one thread block, S_D.
    threads : int
        Of a block, T_r.
    padding : int
        Shared memory asked for and not used, which lowers the active blocks (§V). [B]

    Returns
    -------
    tuple
        The lengths, and the time of all squarings. [s]

    Raises
    ------
    LawError
        Where numba-cuda or a GPU is missing.
    DseError
        For a matrix or numbers that do not fit.
    """
    matrix = np.array(distances, dtype=np.float32)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise DseError(f"distances of shape {matrix.shape}: expected (vertices, vertices)")
    if np.isnan(matrix).any() or (matrix < 0).any():
        raise DseError("distances: expected numbers of 0 or more, inf where there is no edge")
    for name, value, most in (
        ("tile_dim", tile_dim, _MOST_ROWS),
        ("threads", threads, MOST_THREADS),
    ):
        if not 1 <= value <= most:
            raise DseError(f"{name} = {value}: expected 1 to {most}")
    kernels, _ = device()
    np.fill_diagonal(matrix, 0)
    blocks = -(-len(matrix) // tile_dim)
    shape = (blocks, blocks), threads, 0, padding
    here, there = kernels.sent(matrix), kernels.sent(matrix)
    kernels.squaring(tile_dim)[shape](here, there)  # compiled before the clock runs
    arrays = [kernels.sent(matrix), there]

    def run() -> None:
        for _ in range(max(len(matrix) - 1, 1).bit_length()):
            kernels.squaring(tile_dim)[shape](*arrays)
            arrays.reverse()

    taken = kernels.seconds(run)
    found: NDArray[np.float32] = kernels.copied(arrays[0])
    return found, taken


def paths(
    vertices: int,
    tile_dims: Sequence[int],
    threads: Sequence[int],
    *,
    padding: int = 0,
    seed: int = 0,
) -> dict[str, Floats]:
    """Run times of :func:`shortest_paths` over sub-blocks and threads (Ma 2014, Figs. 2-5).

    Returns
    -------
    dict
        ``tile_dim``, ``threads_per_block``, ``shared_mem_padding`` [B] and ``time`` [s], one entry
        a run of a random graph, for :func:`dse.calibrate`.

    Raises
    ------
    LawError, DseError
        As :func:`shortest_paths`.
    """
    matrix = np.random.default_rng(seed).random((vertices, vertices), dtype=np.float32)
    rows = []
    for edge in tile_dims:
        for count in threads:
            each = {"tile_dim": edge, "threads": count, "padding": padding}
            rows.append((edge, count, padding, shortest_paths(matrix, **each)[1]))
    names = ("tile_dim", "threads_per_block", "shared_mem_padding", "time")
    columns = zip(*rows, strict=True)
    return {name: np.array(column, float) for name, column in zip(names, columns, strict=True)}
