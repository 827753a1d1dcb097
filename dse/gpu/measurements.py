"""Measure the GPU of this machine; each function returns the columns of a table.

There are measurements of Transit's two curves (Li 2015, §3), latency, clocks and power, times of
launches and of their blocks, the loss of lockstep (Swatman 2022, Algorithm 1), and all-pairs
shortest paths (Ma 2014, §IV).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.gpu.device import DeviceState, NvmlBoard, open_board
from stochastic import Pmf, imbalance
from stochastic.validation import describe, losses
from symbolic.errors import DseError

Floats = NDArray[np.float64]
Columns = dict[str, NDArray[Any]]
#: A function that launches a kernel, and a function that returns True if the results are right.
CheckedLaunch = tuple[Callable[[], None], Callable[[], bool]]
_RING = 2**26  # number of uint32 elements of the ring, larger than any cache
_LINE = 128  # bytes from one used element of a ring to the next: each has its own cache line
_RING_OF_BLOCKS = 2**23  # size in bytes of a ring larger than an L1 cache and smaller than L2
_MAX_CLOCKS = 8  # default number of core clocks of a power measurement
MAX_THREADS = 1024  # maximum number of threads in a block
_MAX_ROWS = 64  # maximum edge of a tile: three tiles of float32 must fit in 48 KiB
#: Laws of Swatman 2022, Table I. The table combines each law with each number of lanes.
LAWS: tuple[str, ...] = ("binomial:40,0.5", "geometric:0.05", "poisson:30", "uniform:20,40")
LAWS += ("negative_binomial:5,0.3",)
LANES = (2, 4, 8, 16, 32)


def open_device() -> tuple[Any, int]:
    """Return the module of kernels, and the number of multiprocessors (1 for the simulator)."""
    facts = describe()
    from dse.gpu import kernels

    return kernels, int(facts.get("multiprocessors", 1))


def shortest_run_time(kernels: Any, run: Any) -> float:
    """Return the shortest time of three runs; a run before them compiles the kernel. [s]"""
    run()
    return min(kernels.time_run(run) for _ in range(3))


def check_result(is_right: bool) -> None:
    """Raise DseError if the result of a kernel is wrong, because the time is then meaningless."""
    if not is_right:
        raise DseError(
            "the threads did not do their work: the versions of GPU driver, CUDA toolkit and "
            "numba-cuda do not match; see `numba -s`"
        )


def _memory_launch(kernels: Any, shape: tuple[int, int], requests: int, size: int) -> CheckedLaunch:
    """Return a launch whose threads only wait for memory; ``shape`` is (blocks, threads)."""
    total = shape[0] * shape[1]
    if total > size:
        raise DseError(f"size = {size}: expected {total} or more, a number for each thread")
    places = np.arange(size, dtype=np.int64)
    ring = kernels.cuda.to_device(((places + total) % size).astype(np.uint32))
    ends = kernels.cuda.to_device(np.zeros(total, np.uint32))

    def is_done() -> bool:
        return np.array_equal(ends.copy_to_host(), (places[:total] + total * requests) % size)

    return lambda: kernels.chase_pointers[shape](ring, ends, requests), is_done


def _compute_launch(
    kernels: Any, shape: tuple[int, int], rounds: int, kind: Any = np.float32
) -> CheckedLaunch:
    one = kernels.cuda.to_device(np.ones(1, kind))
    values = kernels.cuda.to_device(np.zeros(shape[0] * shape[1], kind))

    def is_done() -> bool:
        return bool(np.all(values.copy_to_host() == 2))  # repeating v -> v/2 + 1 converges to 2

    return lambda: kernels.multiply_add[shape](values, one, rounds), is_done


def supply(threads: Sequence[int], *, requests: int = 4096, size: int = _RING) -> dict[str, Floats]:
    """Measure the bandwidth of a multiprocessor against its waiting threads: Transit's f(k).

    Parameters:
        threads (sequence of int): Numbers of threads on each multiprocessor; use whole warps for
            full coalescing.
        requests (int): Number of requests of each thread, of 4 bytes each, one after the other; the
            requests of a warp are contiguous.
        size (int): Number of elements of the ring that is read; it must be far larger than any
            cache.

    Returns:
        dict: ``threads_in_ms`` and ``attained_bandwidth`` [B/s], for :func:`dse.fit` of
        ``transit_supply``.
    """
    kernels, multiprocessors = open_device()
    rates = []
    for count in threads:
        run, done = _memory_launch(kernels, _launch_shape(count, multiprocessors), requests, size)
        rates.append(4.0 * count * requests / shortest_run_time(kernels, run))
        check_result(done())
    return {"threads_in_ms": np.array(threads, float), "attained_bandwidth": np.array(rates)}


def demand(threads: Sequence[int], *, rounds: int = 4096, double: bool = False) -> Columns:
    """Measure the operations of a multiprocessor against its computing threads: Transit's G(x).

    An operation is one multiplication and addition; it uses the result of the operation before.

    Parameters:
        threads (sequence of int): Numbers of threads on each multiprocessor.
        rounds (int): Number of rounds of each thread; a round has 64 operations.
        double (bool): Use double precision instead of single precision.

    Returns:
        dict: ``threads_in_cs`` and ``attained_flops`` [1/s], for :func:`dse.fit` of
        ``transit_demand``.
    """
    kernels, multiprocessors = open_device()
    kind = np.float64 if double else np.float32
    rates = []
    for count in threads:
        run, done = _compute_launch(kernels, _launch_shape(count, multiprocessors), rounds, kind)
        operations = kernels.OPERATIONS_PER_ROUND * count * rounds
        rates.append(operations / shortest_run_time(kernels, run))
        check_result(done())
    return {"threads_in_cs": np.array(threads, float), "attained_flops": np.array(rates)}


def _launch_shape(threads: int, multiprocessors: int) -> tuple[int, int]:
    """Return the blocks and threads per block that put ``threads`` on every multiprocessor."""
    for blocks in range(1, 33):
        if threads >= blocks and threads % blocks == 0 and threads // blocks <= MAX_THREADS:
            return blocks * multiprocessors, threads // blocks
    raise DseError(
        f"threads = {threads}: expected a number from 1 on that can be divided into equal blocks "
        f"of at most {MAX_THREADS} threads"
    )


def latency(sizes: Sequence[int], *, requests: int = 4096, seed: int = 0) -> dict[str, Floats]:
    """Measure the cycles of dependent loads against the size of the data.

    One thread follows a ring in random order; each element of the ring is in a separate cache line.
    An untimed pass over the ring comes first, so that a ring that fits in a cache is cached.

    Parameters:
        sizes (sequence of int): Sizes of the rings. [B]
        requests (int): Minimum number of loads for a ring; at least the whole ring is followed.
        seed (int): Seed of the random order.

    Returns:
        dict: ``ring_bytes`` [B] and ``load_cycles`` [cycle], one entry for each ring.
    """
    for size in sizes:
        if size < 2 * _LINE or size >= 2**33:
            raise DseError(f"sizes: {size}: expected {2 * _LINE} bytes or more, and below 8 GiB")
    kernels, _ = open_device()
    rng = np.random.default_rng(seed)
    load_cycles = []
    for size in sizes:
        ring, order = _random_ring(size, rng)
        count = max(requests, len(order))
        output = kernels.cuda.to_device(np.full(2, -1, np.int64))
        device_ring: Any = kernels.cuda.to_device(ring)
        for _ in range(2):
            kernels.time_pointer_chase[1, 1](device_ring, count, output)
        end, cycles = output.copy_to_host().tolist()
        check_result(cycles > 0 and end == order[(2 * count) % len(order)])
        load_cycles.append(cycles / count)
    return {"ring_bytes": np.array(sizes, float), "load_cycles": np.array(load_cycles)}


def _random_ring(size: int, rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a ring (for each index, the next index), and the indices in ring order, from 0."""
    step = _LINE // 4
    order = np.concatenate([[0], 1 + rng.permutation(size // _LINE - 1)]) * step
    ring = np.zeros(size // 4, np.uint32)
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
    keep_clocks: bool = False,
    board: NvmlBoard | None = None,
) -> Columns:
    """Measure the power and time of a compute-bound and a memory-bound kernel at several clocks.

    At each clock, the GPU is first left idle to measure ``idle_power``. Then each kernel is
    launched repeatedly without pauses while power, clocks and temperature are sampled. To set
    clocks, one needs permission and a GPU that allows it. If they cannot be set, only the current
    clocks are measured, and ``chosen_by`` has the reason.

    Parameters:
        clocks, memory_clocks (sequence of int): Core and memory clocks to set. [MHz] Default: eight
            evenly spaced core clocks of those that the driver offers, at the highest memory clock.
        seconds, settle (float): Duration of the sampling, and of the load before it. [s] Many GPUs
            report the mean power of the last second, so some load must come before the samples.
        threads (int): Number of threads in a block; there are two blocks for each multiprocessor.
        steps (int): Number of rounds (compute-bound kernel) or requests (memory-bound kernel) of
            each thread; see :func:`demand` and :func:`supply`.
        size (int): Number of elements of the ring that the memory-bound kernel reads.
        keep_clocks (bool): True: change no setting of the GPU, and measure at the current clocks.
        board (optional): Object that reads and sets clocks and reads power; default: NVML.

    Returns:
        dict: A row for each kernel and clock: ``kernel`` (compute, memory); means of ``core_clock``
        and ``memory_clock`` [Hz] and of ``temperature`` [degC]; the requested ``asked_clock`` [Hz]
        (NaN for none), and how it was set, ``chosen_by``; the ``time`` of a launch [s]; mean
        ``power`` [W] and its standard deviation ``power_std`` over ``looks`` samples;
        ``idle_power`` [W] at the clock; ``attained_flops`` [1/s] (a multiplication and addition
        count as one operation); ``attained_bandwidth`` [B/s].

    Raises:
        DseError: NVML is not available, or the driver does not offer a clock.
    """
    for name, value in (("seconds", seconds), ("settle", settle)):
        if not 0 <= value < float("inf"):
            raise DseError(f"{name} = {value}: expected 0 or more")
    if not 1 <= threads <= MAX_THREADS:
        raise DseError(f"threads = {threads}: expected 1 to {MAX_THREADS}")
    if keep_clocks and (clocks or memory_clocks):
        raise DseError("clocks are given together with keep_clocks: expected one of the two")
    kernels, multiprocessors = open_device()
    shape = 2 * multiprocessors, threads
    total = shape[0] * threads
    work: dict[str, tuple[CheckedLaunch, float, float]] = {
        "compute": (
            _compute_launch(kernels, shape, steps),
            float(kernels.OPERATIONS_PER_ROUND * steps * total),
            0.0,
        ),
        "memory": (_memory_launch(kernels, shape, steps, size), 0.0, 4.0 * steps * total),
    }
    board = board or open_board(kernels.uuid(), simulated=kernels.SIMULATED)
    for (run, _), *_ in work.values():
        run()  # the first launch compiles the kernel
    rows: list[dict[str, Any]] = []
    times = {"settle": settle, "seconds": seconds}
    rate_names = ("attained_flops", "attained_bandwidth")
    offered = {} if keep_clocks else board.supported_clocks()
    with nullcontext(None) if keep_clocks else board.clock_control() as choose:
        for memory, core in _clock_pairs(offered, clocks, memory_clocks):
            clock: dict[str, Any] = {"asked_clock": 1e6 * core, "chosen_by": "as it was"}
            try:
                if choose is None:
                    clock["chosen_by"] = "as it was: not changed"
                elif core != core:
                    clock["chosen_by"] = "as it was: none offered"
                else:
                    clock["chosen_by"] = choose(memory, core)
            except DseError as error:
                clock |= {"asked_clock": float("nan"), "chosen_by": f"as it was: {error}"}
            clock |= _idle(board, settle, seconds)
            for name, ((run, _), flops, bytes_read) in work.items():
                work_time, states = kernels.run_sustained(run, board.read_state, **times)
                rates = flops / work_time, bytes_read / work_time
                row = {"kernel": name, **clock, **_mean_state(states, work_time)}
                rows.append(row | dict(zip(rate_names, rates, strict=True)))
            if clock["chosen_by"].startswith("as it was"):
                break
    check_result(all(done() for (_, done), *_ in work.values()))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _clock_pairs(
    offered: dict[int, list[int]], clocks: Sequence[int], memory_clocks: Sequence[int]
) -> list[tuple[Any, Any]]:
    if not offered:
        if clocks or memory_clocks:
            raise DseError(
                "the driver offers no clocks to choose from: leave them out to measure at the "
                "current clocks"
            )
        return [(float("nan"), float("nan"))]
    result = []
    for memory in memory_clocks or [max(offered)]:
        if memory not in offered:
            raise DseError(f"the memory clock {memory} MHz is not offered; there are: {offered}")
        known = offered[memory]
        several = np.linspace(0, len(known) - 1, min(_MAX_CLOCKS, len(known))).round().astype(int)
        for core in clocks or [known[k] for k in several]:
            if core not in known:
                near = sorted(known, key=lambda clock: abs(clock - core))[:3]
                raise DseError(
                    f"the core clock {core} MHz is not offered at a memory clock of {memory} MHz; "
                    f"near it are {', '.join(map(str, near))}"
                )
            result.append((memory, core))
    return result


def _idle(board: NvmlBoard, settle: float, seconds: float) -> dict[str, float]:
    time.sleep(settle)
    samples = []
    for _ in range(10):
        time.sleep(seconds / 10)
        samples.append(board.read_state().power)
    return {"idle_power": float(np.mean(samples))}


def _mean_state(states: Sequence[DeviceState], launch_time: float) -> dict[str, Any]:
    samples = np.array(states)
    watts, core, memory, temperature = samples.mean(axis=0).tolist()
    return {
        "core_clock": core,
        "memory_clock": memory,
        "temperature": temperature,
        "time": launch_time,
        "power": watts,
        "power_std": float(samples[:, 0].std()),
        "looks": float(len(samples)),
    }


def blocks(rounds: Sequence[int], *, threads: int = 256, loads: bool = False) -> dict[str, Floats]:
    """Measure the start, end and multiprocessor of every block of a launch.

    Parameters:
        rounds (sequence of int): Work of each block: its number of rounds. In a round, each thread
            executes 64 multiplications and additions.
        threads (int): Number of threads in a block.
        loads (bool): True: a round is one load from 8 MiB, whose address is the result of the load
            before. The blocks of a multiprocessor then hardly slow each other down.

    Returns:
        dict: One entry for each block: ``block``, ``block_rounds``, ``sm`` (the hardware's number
        of the multiprocessor), and the times ``block_start`` and ``block_end`` since the first
        start. [s]
    """
    work = check_rounds(rounds, threads)
    stamps = block_stamps(work, threads, loads)
    start, end = (1e-9 * (stamps[k] - stamps[1].min()) for k in (1, 2))
    numbers = np.arange(len(work), dtype=float)
    columns = numbers, work.astype(float), stamps[0].astype(float), start, end
    names = ("block", "block_rounds", "sm", "block_start", "block_end")
    return dict(zip(names, columns, strict=True))


def check_rounds(rounds: Any, threads: int) -> NDArray[np.int64]:
    """Check the rounds of each block and the threads of a block; return the rounds as an array."""
    work = np.array(rounds, dtype=np.int64)
    if work.ndim != 1 or not len(work) or work.min() < 1 or work.max() >= 2**31:
        raise DseError("rounds: expected a number of 1 or more for each block")
    if not 1 <= threads <= MAX_THREADS:
        raise DseError(f"threads = {threads}: expected 1 to {MAX_THREADS}")
    return work


def block_stamps(work: NDArray[np.int64], threads: int, loads: bool = False) -> NDArray[np.int64]:
    """Run a launch; return an array (3, blocks): multiprocessor, start and end [ns] of blocks."""
    kernels, _ = open_device()
    to_device = kernels.cuda.to_device
    rounds = to_device(work.astype(np.int32))
    shape = len(work), threads
    if loads:
        ring, order = _random_ring(_RING_OF_BLOCKS, np.random.default_rng(0))
        first = (
            np.arange(len(work)) * len(order) // len(work)
        )  # each block begins at a different element
        start, expected = order[first], order[(first + work) % len(order)]
        kernel, inputs = kernels.stamp_loading_blocks[shape], [to_device(ring)]
    else:
        start, expected = np.zeros(shape[0] * threads), 2  # repeating v -> v/2 + 1 converges to 2
        kernel, inputs = kernels.stamp_blocks[shape], [to_device(np.ones(1, np.float32))]
    stamps = np.zeros((3, len(work)), np.int64)
    for _ in range(2):  # the first launch compiles the kernel
        values = to_device(start.astype(np.uint32 if loads else np.float32))
        output = to_device(np.zeros_like(stamps))
        kernel(values, *inputs, rounds, output)
        stamps = output.copy_to_host()
    check_result(bool(np.all(values.copy_to_host() == expected)))
    check_result(bool(np.all(stamps[2] >= stamps[1]) and np.all(stamps[1] > 0)))
    return stamps


def launches(
    blocks: Sequence[int],
    *,
    law: str = "uniform:1,2000",
    times: int = 50,
    threads: int = 32,
    seed: int = 0,
    loads: bool = False,
) -> dict[str, NDArray[Any]]:
    """Measure the times of launches whose blocks have random amounts of work.

    Parameters:
        blocks (sequence of int): Numbers of blocks of a launch; each number gives a row.
        law (str): Law of the work of a block, in rounds of 64 operations of each thread; at least 1
            round.
        times (int): Number of launches for each row; each launch has new random work.
        threads (int): Number of threads in a block; all of them do the same work.
        seed (int): Seed of the random work.
        loads (bool): True: a round is a load, as for :func:`blocks`.

    Returns:
        dict: ``distribution``, ``blocks``, ``lanes`` and ``warps_per_block`` (both 1, because the
        law is that of a block), ``slots`` (largest number of concurrent blocks on a multiprocessor,
        times the number of multiprocessors in use), ``step_time`` (time of all blocks divided by
        their rounds) [s], ``launch_time_mean`` and ``launch_time_std`` over the launches [s],
        ``block_time_mean`` [s], ``launches``. The columns fit :func:`dse.validate` of the model
        ``launch``.
    """
    if times < 2 or not len(blocks):
        raise DseError(f"times = {times}: expected 2 launches or more, of some number of blocks")
    work_law, rng = Pmf.parse(law), np.random.default_rng(seed)
    rows = []
    for count in blocks:
        taken, worked, rounds, slots = [], 0.0, 0.0, 0
        for _ in range(times):
            work = check_rounds(work_law.sample(count, int(rng.integers(2**31))), threads)
            sm, start, end = block_stamps(work, threads, loads)
            taken.append(1e-9 * float(end.max() - start.min()))
            worked += 1e-9 * float((end - start).sum())
            rounds += float(work.sum())
            slots = max(slots, _concurrent_blocks(sm, start, end))
        rows.append(
            {
                "distribution": law,
                "blocks": count,
                "lanes": 1,
                "warps_per_block": 1,
                "slots": slots,
                "step_time": worked / rounds,
                "launch_time_mean": np.mean(taken),
                "launch_time_std": np.std(taken, ddof=1),
                "block_time_mean": worked / (count * times),
                "launches": times,
            }
        )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _concurrent_blocks(sm: NDArray[Any], start: NDArray[Any], end: NDArray[Any]) -> int:
    """Return the number of used multiprocessors times the maximum of concurrent blocks on one.

    >>> _concurrent_blocks(np.array([0, 0, 1, 0]), np.array([0, 0, 0, 5]), np.array([5, 9, 3, 7]))
    4
    """
    most = 0
    for number in np.unique(sm):
        here = sm == number
        moments = np.concatenate([start[here], end[here]])
        steps = np.repeat([1, -1], [here.sum(), here.sum()])
        order = np.lexsort((steps, moments))  # at equal times, ends come before starts
        most = max(most, int(np.cumsum(steps[order]).max()))
    return most * len(np.unique(sm))


def lockstep(
    laws: Sequence[str] = LAWS,
    lanes: Sequence[int] = LANES,
    *,
    groups: int = 2**18,
    each: bool = False,
    size: int = 16,
    threads: int = 256,
    seed: int = 1,
) -> dict[str, NDArray[Any]]:
    """Measure the losses of groups in lockstep, and compute the losses for the same drawn work.

    Parameters:
        laws (sequence of str): Laws of the number of iterations of a lane, as texts for
            :meth:`stochastic.Pmf.parse`.
        lanes (sequence of int): Numbers of lanes of a group, 1 to 32.
        groups (int): Number of groups to draw for each law and number of lanes; the paper has
            2**18.
        each (bool): Return a row for each group, as :func:`stochastic.fit_timing` needs, instead of
            means.
        size, threads, seed (int): Number of rows of the matrices, number of threads in a block, and
            seed of the draws; see :func:`stochastic.validation.time_powers`.

    Returns:
        dict: ``distribution``, ``lanes``, the timed ``imbalance_loss``, the timed
        ``unsynchronised_loss`` without synchronisation, and ``drawn_loss``, computed from the drawn
        work. Unless ``each``, also the standard deviations over groups ``imbalance_loss_std`` and
        ``drawn_loss_std``, the exact mean ``modelled_loss``, and ``groups``. The columns fit
        :func:`dse.validate` of the model ``imbalance``.

    Raises:
        LawError: A text is not a law; or there is no GPU.
    """
    cases = [(text, Pmf.parse(text), count) for text in laws for count in lanes]
    if not cases:
        raise DseError("laws and lanes: expected at least one of each")
    if wrong := [count for count in lanes if not 1 <= count <= 32]:
        raise DseError(f"lanes = {wrong[0]}: expected 1 to 32, the lanes of one warp")
    parts: list[dict[str, Any]] = []
    for text, law, count in cases:
        how = {"groups": groups, "size": size, "threads": threads, "seed": seed}
        drawn, timed, free = losses(law, count, **how)
        columns = {"imbalance_loss": timed, "unsynchronised_loss": free, "drawn_loss": drawn}
        if each:
            case = {"distribution": [text] * groups, "lanes": np.full(groups, count)}
            parts.append(case | columns)
            continue
        row: dict[str, Any] = {"distribution": text, "lanes": count}
        row |= {name: values.mean() for name, values in columns.items()}
        row |= {"imbalance_loss_std": timed.std(), "drawn_loss_std": drawn.std()}
        row |= {"modelled_loss": float(imbalance(law, count).mean()), "groups": groups}
        parts.append({name: [value] for name, value in row.items()})
    return {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}


def shortest_paths(
    distances: Any, *, tile_dim: int = 32, threads: int = 256, padding: int = 0
) -> tuple[NDArray[np.float32], float]:
    """Compute and time the lengths of all shortest paths on the GPU (Ma 2014, Eq. 9).

    Parameters:
        distances (array, shape (vertices, vertices)): Lengths of the edges; infinite where there is
            no edge, 0 from a vertex to itself.
        tile_dim, threads (int): Edge S_D of the tile of a thread block, and number of threads T_r
            in a block.
        padding (int): Additional unused shared memory, which lowers the number of active blocks
            (§V). [B]

    Returns:
        tuple: Lengths of the shortest paths (vertices, vertices), and the time of all squarings.
        [s]
    """
    matrix = np.array(distances, dtype=np.float32)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not len(matrix):
        raise DseError(f"distances of shape {matrix.shape}: expected (vertices, vertices)")
    if np.isnan(matrix).any() or (matrix < 0).any():
        raise DseError("distances: expected numbers of 0 or more, inf where there is no edge")
    limits = ("tile_dim", tile_dim, _MAX_ROWS), ("threads", threads, MAX_THREADS)
    for name, value, most in limits:
        if not 1 <= value <= most:
            raise DseError(f"{name} = {value}: expected 1 to {most}")
    kernels, _ = open_device()
    np.fill_diagonal(matrix, 0)
    blocks = -(-len(matrix) // tile_dim)
    shape = (blocks, blocks), threads, 0, padding
    input_, output = kernels.cuda.to_device(matrix), kernels.cuda.to_device(matrix)
    kernels.min_plus_square(tile_dim)[shape](input_, output)  # the first launch compiles the kernel
    arrays = [kernels.cuda.to_device(matrix), output]

    def square_repeatedly() -> None:
        for _ in range(max(len(matrix) - 1, 1).bit_length()):
            kernels.min_plus_square(tile_dim)[shape](*arrays)
            arrays.reverse()

    duration = kernels.time_run(square_repeatedly)
    lengths: NDArray[np.float32] = arrays[0].copy_to_host()
    return lengths, duration


def paths(
    vertices: int,
    tile_dims: Sequence[int],
    threads: Sequence[int],
    *,
    padding: int = 0,
    seed: int = 0,
) -> dict[str, Floats]:
    """Measure the time of :func:`shortest_paths` for tiles and threads (Ma 2014, Figs. 2-5).

    Returns:
        dict: One entry for each run on a random graph: ``tile_dim``, ``threads_per_block``,
        ``shared_mem_padding`` [B] and ``time`` [s]. The columns fit :func:`dse.calibrate`.
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
