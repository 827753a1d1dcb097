"""Power, clocks and times of kernels that keep the GPU busy, at each clock that may be had."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import checked, device
from dse.gpu.nvml import Board, Look, board_of
from symbolic.errors import DseError

Columns = dict[str, NDArray[Any]]
#: Core clocks that are tried where none is named.
_SEVERAL = 8
#: Numbers of the ring that is read: beyond any cache. [int32]
_RING = 2**26


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
    if not 1 <= threads <= 1024:
        raise DseError(f"threads = {threads}: expected 1 to 1024")
    kernels, multiprocessors = device()
    grid = 2 * multiprocessors
    total = grid * threads
    if total > size:
        raise DseError(f"size = {size}: expected {total} or more, a number for each thread")
    board = board or board_of(kernels.uuid(), simulated=kernels.SIMULATED)
    runs, work, done = _runs(kernels, (grid, threads), steps, size)
    rows: list[dict[str, Any]] = []
    with board.choosing() as choose:
        for memory, core in _asked(board.clocks(), clocks, memory_clocks):
            own: dict[str, Any] = {"asked_clock": 1e6 * core, "chosen_by": "as it was"}
            try:
                own["chosen_by"] = choose(memory, core) if core == core else "as it was: none told"
            except DseError as error:
                own |= {"asked_clock": float("nan"), "chosen_by": f"as it was: {error}"}
            idle = _idle(board, settle, seconds)
            for name, run in runs.items():
                each, seen = kernels.sustained(run, board.look, settle=settle, seconds=seconds)
                rates = {rate: work[name].get(rate, 0.0) / each for rate in _RATES}
                rows.append({"kernel": name, **own, **_told(seen, each), **rates} | idle)
            if own["chosen_by"].startswith("as it was"):
                break
    checked(done())
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


_RATES = ("attained_flops", "attained_bandwidth")


def _runs(kernels: Any, shape: tuple[int, int], steps: int, size: int) -> tuple[Any, Any, Any]:
    """What is launched by name, what a launch of it does, and whether both did their work."""
    total = shape[0] * shape[1]
    half, one = (kernels.sent(np.array([number], np.float32)) for number in (0.5, 1.0))
    values = kernels.sent(np.zeros(total, np.float32))
    ring = kernels.sent(((np.arange(size, dtype=np.int64) + total) % size).astype(np.int32))
    ends = kernels.sent(np.zeros(total, np.int32))
    runs: dict[str, Callable[[], None]] = {
        "compute": lambda: kernels.thinking()[shape](values, half, one, steps),
        "memory": lambda: kernels.waiting()[shape](ring, ends, steps),
    }
    for run in runs.values():
        run()  # compiled before anything is looked at
    work = {
        "compute": {"attained_flops": float(kernels.ROUND * steps * total)},
        "memory": {"attained_bandwidth": 4.0 * steps * total},
    }

    def done() -> bool:
        expected = (np.arange(total, dtype=np.int64) + total * steps) % size
        computed = bool(np.all(kernels.copied(values) == 2))  # the limit of v/2 + 1
        return computed and np.array_equal(kernels.copied(ends), expected)

    return runs, work, done


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
