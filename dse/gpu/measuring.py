"""The GPU at hand, measured: Transit's two curves (Li 2015, §3), latency, clocks and power."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import MOST_THREADS, Board, Look, board_of, checked, device, least
from symbolic.errors import DseError

Floats = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]
#: A launch, and a function that is true if all launches did their work.
Launch = tuple[Callable[[], None], Callable[[], bool]]
#: Numbers of the ring that is read: beyond any cache. [int32]
_RING = 2**26


def _waiting(kernels: Any, shape: tuple[int, int], requests: int, size: int) -> Launch:
    """Return a launch whose threads only wait for memory."""
    total = shape[0] * shape[1]
    if total > size:
        raise DseError(f"size = {size}: expected {total} or more, a number for each thread")
    places = np.arange(size, dtype=np.int64)
    ring = kernels.sent(((places + total) % size).astype(np.int32))
    ends = kernels.sent(np.zeros(total, np.int32))

    def done() -> bool:
        expected = (places[:total] + total * requests) % size
        return np.array_equal(kernels.copied(ends), expected)

    return lambda: kernels.waiting()[shape](ring, ends, requests), done


def _thinking(kernels: Any, shape: tuple[int, int], rounds: int, kind: Any = np.float32) -> Launch:
    """Return a launch whose threads only compute."""
    half, one = (kernels.sent(np.array([number], kind)) for number in (0.5, 1.0))
    values = kernels.sent(np.zeros(shape[0] * shape[1], kind))

    def done() -> bool:
        return bool(np.all(kernels.copied(values) == 2))  # the limit of v/2 + 1

    return lambda: kernels.thinking()[shape](values, half, one, rounds), done


def supply(threads: Sequence[int], *, requests: int = 4096, size: int = _RING) -> dict[str, Floats]:
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
        run, done = _waiting(kernels, _shape(count, multiprocessors), requests, size)
        rates.append(4.0 * count * requests / least(kernels, run))
        checked(done())
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
    rates = []
    for count in threads:
        run, done = _thinking(kernels, _shape(count, multiprocessors), rounds, kind)
        rates.append(kernels.ROUND * count * rounds / least(kernels, run))
        checked(done())
    return {"threads_in_cs": np.array(threads, float), "attained_flops": np.array(rates)}


def _shape(threads: int, multiprocessors: int) -> tuple[int, int]:
    """Blocks of a launch and threads of each, for so many threads on every multiprocessor."""
    for blocks in range(1, 33):
        if threads >= blocks and threads % blocks == 0 and threads // blocks <= MOST_THREADS:
            return blocks * multiprocessors, threads // blocks
    raise DseError(
        f"threads = {threads}: expected a number of 1 or more that blocks of at most "
        f"{MOST_THREADS} threads can share"
    )


_LINE = 128  # bytes between two places of a ring, so that no two share a line of a cache


def latency(sizes: Sequence[int], *, requests: int = 4096, seed: int = 0) -> dict[str, Floats]:
    """Cycles of a load that waits for the one before, against the bytes that are gone through.

    One thread follows a ring in random order, each place in a line of its own; it goes through it
    once before the clock runs, so that a ring that fits in a cache is there.

    Parameters
    ----------
    sizes : sequence of int
        Of rings. [B]
    requests : int
        At least so many loads a ring; a ring is gone through at least once.
    seed : int
        Of the order.

    Returns
    -------
    dict
        ``ring_bytes`` [B] and ``load_cycles`` [cycle], one entry a ring.

    Raises
    ------
    LawError, DseError
        As :func:`supply`.
    """
    for size in sizes:
        if size < 2 * _LINE or size >= 2**33:
            raise DseError(f"sizes: {size}: expected {2 * _LINE} bytes or more, and below 8 GiB")
    kernels, _ = device()
    rng = np.random.default_rng(seed)
    found = []
    for size in sizes:
        ring, order = _ring(size, rng)
        count = max(requests, len(order))
        there = kernels.sent(np.full(2, -1, np.int64))
        given: Any = kernels.sent(ring)
        for _ in range(2):
            kernels.chasing()[1, 1](given, count, there)
        end, cycles = kernels.copied(there).tolist()
        checked(cycles > 0 and end == order[(2 * count) % len(order)])
        found.append(cycles / count)
    return {"ring_bytes": np.array(sizes, float), "load_cycles": np.array(found)}


def _ring(size: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The place after each place, and the places in the order in which they come, from 0 on."""
    step = _LINE // 4
    order = np.concatenate([[0], 1 + rng.permutation(size // _LINE - 1)]) * step
    ring = np.zeros(size // 4, np.int32)
    ring[order] = np.roll(order, -1)
    return ring, order


def power(
    *,
    clocks: Sequence[int] = (),
    memory_clocks: Sequence[int] = (),
    seconds: float = 3.0,
    settle: float = 2.0,
    threads: int = 1024,
    steps: int = 4096,
    size: int = _RING,
    board: Board | None = None,
) -> Columns:
    """Power and time of a kernel that computes and of one that reads memory, at several clocks.

    At each clock nothing runs for a while; then each kernel is launched again and again, one launch
    always waiting behind another, while the driver is asked for power, clocks and temperature.
    Where clocks may not be chosen (that takes rights, and a GPU that offers it), rows are of the
    clocks there are, and ``chosen_by`` says why.

    Parameters
    ----------
    clocks, memory_clocks : sequence of int
        Core and memory clocks to ask for. [MHz] By default eight of the core clocks that the
        driver offers, evenly spaced, at the highest memory clock.
    seconds, settle : float
        For how long power is looked at, and for how long before that the kernel runs unseen: many
        GPUs tell the mean power of the last second. [s]
    threads, steps, size : int
        Threads on each multiprocessor, twice; rounds or requests of each thread, as for
        :func:`supply` and :func:`demand`; numbers of the ring that is read.
    board : optional
        What tells power and clocks; NVML by default.

    Returns
    -------
    dict
        A row a kernel and clock: ``kernel`` (compute, memory), ``core_clock``, ``memory_clock``
        [Hz] and ``temperature`` [degC] as they were, on average, ``asked_clock`` [Hz], NaN where
        none could be, ``chosen_by``, ``time`` of a launch [s], ``power`` [W] with ``power_std`` of
        what was seen ``looks`` times, ``idle_power`` [W] at that clock, ``attained_flops`` (an
        operation is a multiplication and addition) [1/s], ``attained_bandwidth`` [B/s].

    Raises
    ------
    LawError
        Where numba-cuda or a GPU is missing.
    DseError
        Where NVML is, a clock is not offered, or numbers do not fit.
    """
    for name, value in (("seconds", seconds), ("settle", settle)):
        if not 0 <= value < float("inf"):
            raise DseError(f"{name} = {value}: expected 0 or more")
    if not 1 <= threads <= MOST_THREADS:
        raise DseError(f"threads = {threads}: expected 1 to {MOST_THREADS}")
    kernels, multiprocessors = device()
    shape = 2 * multiprocessors, threads
    total = shape[0] * threads
    work: dict[str, tuple[Launch, float, float]] = {
        "compute": (_thinking(kernels, shape, steps), float(kernels.ROUND * steps * total), 0.0),
        "memory": (_waiting(kernels, shape, steps, size), 0.0, 4.0 * steps * total),
    }
    board = board or board_of(kernels.uuid(), simulated=kernels.SIMULATED)
    for (run, _), *_ in work.values():
        run()  # compiled before anything is looked at
    rows: list[dict[str, Any]] = []
    with board.choosing() as choose:
        for memory, core in _asked(board.clocks(), clocks, memory_clocks):
            own: dict[str, Any] = {"asked_clock": 1e6 * core, "chosen_by": "as it was"}
            try:
                own["chosen_by"] = choose(memory, core) if core == core else "as it was: none told"
            except DseError as error:
                own |= {"asked_clock": float("nan"), "chosen_by": f"as it was: {error}"}
            idle = _idle(board, settle, seconds)
            for name, ((run, _), flops, bytes_read) in work.items():
                each, seen = kernels.sustained(run, board.look, settle=settle, seconds=seconds)
                rates = {"attained_flops": flops / each, "attained_bandwidth": bytes_read / each}
                rows.append({"kernel": name, **own, **_told(seen, each), **rates} | idle)
            if own["chosen_by"].startswith("as it was"):
                break
    checked(all(done() for (_, done), *_ in work.values()))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


#: Core clocks that are tried where none is named.
_SEVERAL = 8


def _asked(
    offered: dict[int, list[int]], clocks: Sequence[int], memory_clocks: Sequence[int]
) -> list[tuple[Any, Any]]:
    """Pairs of memory and core clocks to ask for; of NaN where nothing is offered."""
    if not offered:
        if clocks or memory_clocks:
            raise DseError(
                "the driver offers no clocks to choose from: leave them out, and rows are of the "
                "clocks there are"
            )
        return [(float("nan"), float("nan"))]
    found = []
    for memory in memory_clocks or [max(offered)]:
        if memory not in offered:
            raise DseError(f"the memory clock {memory} MHz is not offered; there are: {offered}")
        known = offered[memory]
        several = np.linspace(0, len(known) - 1, min(_SEVERAL, len(known))).round().astype(int)
        for core in clocks or [known[k] for k in several]:
            if core not in known:
                near = sorted(known, key=lambda one: abs(one - core))[:3]
                raise DseError(
                    f"the core clock {core} MHz is not offered at {memory} MHz of the memory; "
                    f"near it are {', '.join(map(str, near))}"
                )
            found.append((memory, core))
    return found


def _idle(board: Board, settle: float, seconds: float) -> dict[str, float]:
    """Power while nothing runs: the mean of ten looks."""
    time.sleep(settle)
    seen = []
    for _ in range(10):
        time.sleep(seconds / 10)
        seen.append(board.look().power)
    return {"idle_power": float(np.mean(seen))}


def _told(seen: Sequence[Look], each: float) -> dict[str, Any]:
    looks = np.array(seen)
    watts, core, memory, warm = looks.mean(axis=0).tolist()
    return {
        "core_clock": core,
        "memory_clock": memory,
        "temperature": warm,
        "time": each,
        "power": watts,
        "power_std": float(looks[:, 0].std()),
        "looks": float(len(looks)),
    }
