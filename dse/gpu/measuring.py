"""The GPU at hand, measured: Transit's two curves (Li 2015, §3), shortest paths (Ma 2014, §IV)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic.trials.timing import describe
from symbolic.errors import DseError

__all__ = ["checked", "demand", "device", "paths", "shortest_paths", "supply"]

Floats = NDArray[np.float64]

#: Threads of a block, at most, and rows of three sub-blocks of float32 that fit in 48 KiB.
_MOST_THREADS, _MOST_ROWS = 1024, 64


def supply(threads: Sequence[int], *, requests: int = 4096, size: int = 2**26) -> dict[str, Floats]:
    """Bandwidth of a multiprocessor against its threads that only wait: f(k) of Transit, δ in it.

    Parameters
    ----------
    threads : sequence of int
        On each multiprocessor, whole warps for full coalescing.
    requests : int
        Of each thread, one after the other, of 4 bytes; those of a warp stand side by side.
    size : int
        Numbers of the ring that is read, far more than any cache holds.

    Returns
    -------
    dict
        ``threads_in_ms`` and ``attained_bandwidth`` [B/s], for :func:`dse.fit` of
        ``transit_supply``.

    Raises
    ------
    LawError
        Where numba-cuda or a GPU is missing.
    DseError
        For threads that cannot stand on a multiprocessor, or a thread that went astray.
    """
    kernels, multiprocessors = device()
    rates = []
    for count in threads:
        grid, block = _shape(count, multiprocessors)
        total = grid * block
        if total > size:
            raise DseError(f"size = {size}: expected {total} or more, a number for each thread")
        places = np.arange(size, dtype=np.int64)
        ring = kernels.sent(((places + total) % size).astype(np.int32))
        ends = kernels.sent(np.zeros(total, np.int32))

        def run(shape: Any = (grid, block), given: Any = (ring, ends)) -> None:
            kernels.waiting()[shape](*given, requests)

        taken = _least(kernels, run)
        expected = (places[:total] + total * requests) % size
        checked(np.array_equal(kernels.copied(ends), expected))
        rates.append(4.0 * count * requests / taken)
    return {"threads_in_ms": np.array(threads, float), "attained_bandwidth": np.array(rates)}


def demand(
    threads: Sequence[int], *, rounds: int = 4096, double: bool = False
) -> dict[str, Floats]:
    """Operations of a multiprocessor against its threads that only compute: G(x), with π in it.

    An operation is one multiplication and addition, on the result of the one before.

    Parameters
    ----------
    threads : sequence of int
        On each multiprocessor.
    rounds : int
        Of 64 operations of each thread.
    double : bool
        Whether in double precision.

    Returns
    -------
    dict
        ``threads_in_cs`` and ``attained_flops`` [1/s], for :func:`dse.fit` of ``transit_demand``.

    Raises
    ------
    LawError, DseError
        As :func:`supply`.
    """
    kernels, multiprocessors = device()
    kind = np.float64 if double else np.float32
    half, one = (kernels.sent(np.array([number], kind)) for number in (0.5, 1.0))
    rates = []
    for count in threads:
        grid, block = _shape(count, multiprocessors)
        values = kernels.sent(np.zeros(grid * block, kind))

        def run(shape: Any = (grid, block), given: Any = values) -> None:
            kernels.thinking()[shape](given, half, one, rounds)

        taken = _least(kernels, run)
        checked(bool(np.all(kernels.copied(values) == 2)))  # the limit of v/2 + 1
        rates.append(kernels.ROUND * count * rounds / taken)
    return {"threads_in_cs": np.array(threads, float), "attained_flops": np.array(rates)}


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
        ("threads", threads, _MOST_THREADS),
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
    rows = [
        (
            edge,
            count,
            padding,
            shortest_paths(matrix, tile_dim=edge, threads=count, padding=padding),
        )
        for edge in tile_dims
        for count in threads
    ]
    names = ("tile_dim", "threads_per_block", "shared_mem_padding", "time")
    columns = zip(*[(*row[:3], row[3][1]) for row in rows], strict=True)
    return {name: np.array(column, float) for name, column in zip(names, columns, strict=True)}


def device() -> tuple[Any, int]:
    """The kernels and the multiprocessors of what runs them; the simulator counts as one."""
    facts = describe()
    from dse.gpu import kernels

    return kernels, int(facts.get("multiprocessors", 1))


def _shape(threads: int, multiprocessors: int) -> tuple[int, int]:
    """Blocks of a launch and threads of each, for so many threads on every multiprocessor."""
    for blocks in range(1, 33):
        if threads >= blocks and threads % blocks == 0 and threads // blocks <= _MOST_THREADS:
            return blocks * multiprocessors, threads // blocks
    raise DseError(
        f"threads = {threads}: expected a number of 1 or more that blocks of at most "
        f"{_MOST_THREADS} threads can share"
    )


def _least(kernels: Any, run: Any) -> float:
    """The shortest of three runs, after one in which the kernel is compiled. [s]"""
    run()
    taken: float = min(kernels.seconds(run) for _ in range(3))
    return taken


def checked(right: bool) -> None:
    """The time of work that was not done is worth nothing."""
    if not right:
        raise DseError(
            "the threads did not do their work: GPU driver, CUDA toolkit and numba-cuda do not fit "
            "together; see `numba -s`"
        )
