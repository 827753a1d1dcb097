"""Run the kernels of examples/kernels on this GPU: results, times, clocks and power.

    pip install cupy-cuda13x nvidia-ml-py               # cupy-cuda12x for a driver before 580
    python examples/kernels_on_gpu.py times kernels.csv # each variant of each kernel
    python examples/kernels_on_gpu.py power power.csv   # each kernel for some seconds
    python examples/kernels_on_gpu.py micro micro.csv   # bandwidths and latencies of the GPU
    ncu --clock-control none --set full -o kernels python examples/kernels_on_gpu.py once once.csv

No setting of the GPU is changed. `cubins FOLDER` compiles all variants with dse's compiler, without
a GPU; `--cubins FOLDER` then runs this machine code, which is what `dse kernel` counts.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import itertools
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "kernels"
MICRO = Path(__file__).parent / "micro.cu"
SPIN_CYCLES = 4_000_000  # about 2 ms, in which the launches queue up
ROTATION = 2**28  # bytes of arguments, several times an L2 cache, so that each launch reads DRAM
MOST_COPIES = 32
Defines = dict[str, int]


@dataclass
class Case:
    """A problem with its data: arguments in the kernel's order, and a check of its result.

    ``result`` is the place of the argument that the kernel writes; ``starts_at_zero`` if it adds to
    it. ``grid`` returns the grid of a block and macros.
    """

    problem: str
    arguments: list[Any]
    result: int
    is_right: Callable[[Any], bool]
    grid: Callable[[Sequence[int], Defines], tuple[int, ...]]
    starts_at_zero: bool = False


@dataclass
class Kernel:
    """A kernel: how it makes its cases, and the variants of macros, blocks and grids to run."""

    cases: list[Callable[[], Case]]
    variants: list[tuple[Defines, tuple[int, ...], int]]


def random(*shape: int) -> Any:
    return np.random.default_rng(1).random(shape, dtype=np.float32)


def is_close(result: Any, expected: Any, tolerance: float = 1e-4) -> bool:
    """True if numbers agree, relative to the largest of them; NaN never does."""
    scale = float(np.abs(expected).max()) or 1.0
    return bool(np.all(np.abs(result - expected) <= tolerance * scale))


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def axpy(n: int) -> Case:
    x, y = random(n), random(n)[::-1].copy()
    # the check is of the first launch; later ones add again
    return Case(
        f"n={n}",
        [x, y, np.float32(0.5), np.int32(n)],
        1,
        lambda result: is_close(result, 0.5 * x + y),
        lambda block, _: (ceil_div(n, block[0]),),
    )


def stencil2d(width: int, height: int) -> Case:
    cells = random(height, width)

    def is_right(result: Any) -> bool:
        a, got = cells[:99].astype(float), result[:98]
        expected = a[:98].copy()
        around = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        expected[1:, 1:-1] += 0.1 * (around - 4 * a[1:-1, 1:-1])
        return is_close(got, expected)

    return Case(
        f"width={width} height={height}",
        [cells, np.zeros_like(cells), np.int32(width), np.int32(height)],
        1,
        is_right,
        lambda block, _: (ceil_div(width, block[0]), ceil_div(height, block[1])),
    )


def gemm(rows: int, columns: int, inner: int, kind: Any = np.float32) -> Case:
    a = (random(rows, inner) - 0.5).astype(kind)
    b = (random(inner, columns)[::-1] - 0.5).astype(kind)
    sizes = [np.int32(size) for size in (rows, columns, inner)]

    def is_right(result: Any) -> bool:
        some = np.linspace(0, rows - 1, 8).astype(int)
        return is_close(result[some], a[some].astype(float) @ b.astype(float), 1e-3)

    return Case(
        f"M={rows} N={columns} K={inner}",
        [a, b, np.zeros((rows, columns), np.float32), *sizes],
        2,
        is_right,
        lambda _, define: (ceil_div(columns, define["TILE_N"]), ceil_div(rows, define["TILE_M"])),
    )


def gemm_mma(rows: int, columns: int, inner: int) -> Case:
    return gemm(rows, columns, inner, np.float16)


def reduction(n: int) -> Case:
    x = random(n)
    return Case(
        f"n={n}",
        [x, np.zeros(1, np.float32), np.int32(n)],
        1,
        lambda result: is_close(result, x.sum(dtype=float), 1e-3),
        lambda block, define: (min(define["grid"], ceil_div(n, block[0])),),
        starts_at_zero=True,
    )


def softmax(rows: int, columns: int) -> Case:
    x = 4 * random(rows, columns)

    def is_right(result: Any) -> bool:
        powers = np.exp(x[::97].astype(float))
        return is_close(result[::97], powers / powers.sum(axis=1, keepdims=True), 1e-3)

    arguments = [x, np.zeros_like(x), np.int32(columns)]
    return Case(f"rows={rows} columns={columns}", arguments, 1, is_right, lambda *_: (rows,))


def layer_norm(rows: int, columns: int) -> Case:
    x, gamma, beta = random(rows, columns), random(columns), random(columns) - 0.5

    def is_right(result: Any) -> bool:
        some = x[::97].astype(float)
        spread = np.sqrt(some.var(axis=1, keepdims=True) + 1e-5)
        expected = (some - some.mean(axis=1, keepdims=True)) / spread * gamma + beta
        return is_close(result[::97], expected, 1e-3)

    arguments = [x, gamma, beta, np.zeros_like(x), np.int32(columns)]
    return Case(f"rows={rows} columns={columns}", arguments, 3, is_right, lambda *_: (rows,))


def transpose(width: int, height: int) -> Case:
    x = random(height, width)
    return Case(
        f"width={width} height={height}",
        [x, np.zeros((width, height), np.float32), np.int32(width), np.int32(height)],
        1,
        lambda result: bool(np.array_equal(result[:128], x[:, :128].T)),
        lambda _, define: (ceil_div(width, define["TILE"]), ceil_div(height, define["TILE"])),
    )


def histogram(n: int, data: str) -> Case:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 256, n, dtype=np.uint32)
    if data == "half":  # half of the values are equal
        values[rng.random(n, dtype=np.float32) < 0.5] = 7
    return Case(
        f"n={n} data={data}",
        [values, np.zeros(256, np.uint32), np.int32(n)],
        1,
        lambda result: bool(np.array_equal(result, np.bincount(values, minlength=256))),
        lambda block, define: (min(define["grid"], ceil_div(n, block[0])),),
        starts_at_zero=True,
    )


def scan(n: int) -> Case:
    x = random(n)

    def grid(block: Sequence[int], _: Defines) -> tuple[int, ...]:
        is_right.block = block[0]  # type: ignore[attr-defined]
        return (ceil_div(n, block[0]),)

    def is_right(result: Any) -> bool:
        block = is_right.block  # type: ignore[attr-defined]
        whole = n // block * block
        some = x[:whole].reshape(-1, block)[::11].astype(float)
        expected = np.cumsum(some, axis=1) - some
        return is_close(result[:whole].reshape(-1, block)[::11], expected)

    totals = np.zeros(ceil_div(n, 32), np.float32)
    return Case(f"n={n}", [x, np.zeros_like(x), totals, np.int32(n)], 1, is_right, grid)


def spmv_csr(rows: int, data: str) -> Case:
    rng = np.random.default_rng(1)
    if data == "equal":
        lengths = np.full(rows, 16)
    elif data == "geometric":
        lengths = rng.geometric(1 / 16, rows)
    else:  # few rows have most of the entries
        lengths = np.minimum((4 * (rng.pareto(1.3, rows) + 1)).astype(int), 4096)
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    column = rng.integers(0, rows, start[-1], dtype=np.int32)
    value, x = rng.random(start[-1], dtype=np.float32), random(rows)

    def is_right(result: Any) -> bool:
        sums = np.concatenate([[0], np.cumsum(value.astype(float) * x[column])])
        return is_close(result, sums[start[1:]] - sums[start[:-1]])

    return Case(
        f"rows={rows} entries={start[-1]} data={data}",
        [start, column, value, x, np.zeros(rows, np.float32), np.int32(rows)],
        4,
        is_right,
        lambda block, define: (ceil_div(rows * define["LANES"], block[0]),),
    )


def nbody(n: int) -> Case:
    bodies = random(n, 4)

    def is_right(result: Any) -> bool:
        some, every = bodies[:64, None, :3].astype(float), bodies[None].astype(float)
        away = every[..., :3] - some
        pull = every[..., 3] * ((away**2).sum(axis=2) + 1e-6) ** -1.5
        expected = (away * pull[..., None]).sum(axis=1)
        return is_close(result[:64, :3], expected, 1e-2)

    arguments = [bodies, np.zeros_like(bodies), np.int32(n)]
    return Case(f"n={n}", arguments, 1, is_right, lambda block, _: (ceil_div(n, block[0]),))


def tiles(names: str, *rows: tuple[int, ...]) -> list[Defines]:
    return [dict(zip(names.split(), row, strict=True)) for row in rows]


def each_case(make: Callable[..., Case], *given: tuple[Any, ...]) -> list[Callable[[], Case]]:
    return [lambda one=one: make(*one) for one in given]  # type: ignore[misc]


BLOCKS = (256, 32, 64, 128, 512, 1024)
LONG_BLOCKS = (256, 64, 128, 512, 1024)
SHAPES: tuple[tuple[int, int], ...] = (
    (8, 8),
    (16, 8),
    (16, 16),
    (32, 4),
    (32, 8),
    (64, 4),
    (128, 2),
    (256, 1),
    (8, 32),
)
SHAPES += ((4, 64), (32, 32), (1, 256))
GEMM = tiles(
    "TILE_M TILE_N TILE_K THREAD_M THREAD_N",
    *((64, 64, 16, 4, 4), (16, 16, 16, 1, 1), (32, 32, 16, 2, 2), (32, 32, 32, 2, 2)),
    *((64, 64, 8, 4, 4), (64, 64, 32, 4, 4), (128, 64, 16, 8, 4), (64, 128, 16, 4, 8)),
    *((128, 128, 8, 8, 8), (128, 128, 16, 8, 8), (128, 128, 16, 8, 4), (32, 64, 16, 4, 4)),
    *((64, 64, 16, 8, 8), (128, 32, 16, 4, 4)),
)
MMA = tiles(
    "TILE_M TILE_N TILE_K WARP_M WARP_N",
    *((128, 128, 32, 64, 32), (64, 64, 32, 32, 32), (128, 64, 32, 64, 32), (64, 128, 32, 32, 64)),
    *((128, 128, 32, 64, 64), (128, 128, 16, 64, 32), (128, 128, 64, 64, 32)),
    *((256, 128, 32, 64, 64), (64, 64, 64, 32, 32), (32, 32, 32, 16, 16)),
)
TRANSPOSE = tiles(
    "TILE ROWS PAD",
    *((32, 8, 1), (32, 8, 0), (32, 4, 1), (32, 16, 1), (32, 32, 1), (16, 16, 1), (16, 8, 1)),
    *((16, 4, 1), (64, 4, 1), (64, 8, 1), (64, 16, 1), (8, 8, 1)),
)
LINES = each_case(softmax, (65536, 1024), (8192, 8192), (262144, 128))
NORMS = each_case(layer_norm, (65536, 1024), (8192, 8192), (262144, 128))
#: The first case and variant of each are those of ``once`` and ``power``.
KERNELS = {
    "axpy": Kernel(
        each_case(axpy, (2**25,), (2**22,), (2**27,)),
        [({}, (b,), 0) for b in BLOCKS],
    ),
    "stencil2d": Kernel(
        each_case(stencil2d, (8192, 8192), (2048, 2048), (16384, 4096)),
        [({}, s, 0) for s in SHAPES],
    ),
    "gemm": Kernel(
        each_case(
            gemm, (2048, 2048, 2048), (1024, 1024, 1024), (4096, 4096, 4096), (4096, 512, 2048)
        ),
        [(d, (d["TILE_N"] // d["THREAD_N"], d["TILE_M"] // d["THREAD_M"]), 0) for d in GEMM],
    ),
    "gemm_mma": Kernel(
        each_case(gemm_mma, (4096,) * 3, (1024,) * 3, (8192, 8192, 2048)),
        [(d, (32 * (d["TILE_M"] // d["WARP_M"]) * (d["TILE_N"] // d["WARP_N"]),), 0) for d in MMA],
    ),
    "reduction": Kernel(
        each_case(reduction, (2**26,), (2**22,), (2**28,)),
        [({}, (b,), g) for b in LONG_BLOCKS for g in (1056, 264, 4224)],
    ),
    "softmax": Kernel(LINES, [({}, (b,), 0) for b in BLOCKS]),
    "layer_norm": Kernel(NORMS, [({}, (b,), 0) for b in BLOCKS]),
    "transpose": Kernel(
        each_case(transpose, (8192, 8192), (2048, 2048), (16384, 4096)),
        [(d, (d["TILE"], d["ROWS"]), 0) for d in TRANSPOSE],
    ),
    "histogram": Kernel(
        each_case(histogram, (2**26, "uniform"), (2**22, "uniform"), (2**26, "half")),
        [({}, (b,), g) for b in LONG_BLOCKS for g in (1056, 264, 4224)],
    ),
    "scan": Kernel(
        each_case(scan, (2**26,), (2**22,), (2**27,)),
        [({}, (b,), 0) for b in LONG_BLOCKS],
    ),
    "spmv_csr": Kernel(
        each_case(spmv_csr, (2**21, "geometric"), (2**21, "equal"), (2**21, "pareto")),
        [({"LANES": k}, (b,), 0) for b in (256, 128) for k in (8, 1, 2, 4, 16, 32)],
    ),
    "nbody": Kernel(
        each_case(nbody, (2**16,), (2**14,), (2**17,)),
        [({"BLOCK": b}, (b,), 0) for b in BLOCKS],
    ),
}


def cubin_name(kernel: str, define: Defines) -> str:
    return "-".join([kernel, *(f"{name}{value}" for name, value in define.items())]) + ".cubin"


def write_cubins(folder: Path, arch: int) -> None:
    """Compile all variants for an architecture; needs the extra kernels, and no GPU."""
    from dse.cuda.compile import compile_kernel

    folder.mkdir(parents=True, exist_ok=True)
    wanted: list[tuple[Path, str, Defines]] = [(MICRO, "micro", {})] + [
        (FOLDER / f"{name}.cu", name, define)
        for name, kernel in KERNELS.items()
        for define, _, _ in kernel.variants
    ]
    for source, name, define in wanted:
        path = folder / cubin_name(name, define)
        if not path.exists():
            how: dict[str, Any] = {"define": define, "options": (), "entry": ""}
            path.write_bytes(compile_kernel(source.read_text(), arch, source, **how)[0])


class Device:
    """The GPU, with its kernels compiled once, and the driver's view of its clocks and power."""

    def __init__(self, cubins: Path | None) -> None:
        self.cupy: Any = importlib.import_module("cupy")
        self.nvml: Any = importlib.import_module("pynvml")
        self.cubins = cubins
        self.nvml.nvmlInit()
        self.handle = self.nvml.nvmlDeviceGetHandleByIndex(0)
        self.modules: dict[str, Any] = {}

    def function(self, kernel: str, define: Defines, entry: str = "") -> Any:
        name = cubin_name(kernel, define)
        if name not in self.modules:
            path = self.cubins and self.cubins / name
            if path and path.exists():
                self.modules[name] = self.cupy.RawModule(path=str(path))
            else:
                source = MICRO if kernel == "micro" else FOLDER / f"{kernel}.cu"
                options = tuple(f"-D{key}={value}" for key, value in define.items())
                self.modules[name] = self.cupy.RawModule(
                    code=source.read_text(), options=options, backend="nvcc"
                )
        return self.modules[name].get_function(entry or kernel)

    def clocks(self) -> tuple[float, float]:
        """Return the clocks of the multiprocessors and of the memory now. [Hz]"""
        read, nvml = self.nvml.nvmlDeviceGetClockInfo, self.nvml
        core, memory = (read(self.handle, k) for k in (nvml.NVML_CLOCK_SM, nvml.NVML_CLOCK_MEM))
        return 1e6 * core, 1e6 * memory

    def power(self) -> float:
        """Return the power, which most drivers average over the last second. [W]"""
        return float(self.nvml.nvmlDeviceGetPowerUsage(self.handle)) / 1000

    def facts(self) -> dict[str, str]:
        nvml = self.nvml
        name = nvml.nvmlDeviceGetName(self.handle)
        return {"device": name.decode() if isinstance(name, bytes) else name}

    def launch_times(self, launches: Sequence[Callable[[], None]]) -> tuple[list[float], Any]:
        """Return the times of launches that follow each other without a gap [s], and the clocks."""
        event = self.cupy.cuda.Event
        events = [event() for _ in range(len(launches) + 1)]
        self.function("micro", {}, "spin")((1,), (1,), (np.int64(SPIN_CYCLES),))
        events[0].record()
        for launch, done in zip(launches, events[1:], strict=True):
            launch()
            done.record()
        clocks = self.clocks()
        events[-1].synchronize()
        between = self.cupy.cuda.get_elapsed_time
        times = [1e-3 * between(a, b) for a, b in itertools.pairwise(events)]
        return times, clocks


class Runner:
    """A case on a device, with several copies of its data to rotate through."""

    def __init__(self, device: Device, case: Case, copies: int = 0) -> None:
        self.device, self.case = device, case
        size = sum(each.nbytes for each in case.arguments if each.ndim)
        copies = copies or max(1, min(MOST_COPIES, ROTATION // size))
        self.copies = [self._upload() for _ in range(copies)]

    def _upload(self) -> list[Any]:
        asarray = self.device.cupy.asarray
        return [asarray(each) if each.ndim else each for each in self.case.arguments]

    def launch(self, function: Any, block: Sequence[int], grid: Sequence[int], copy: int) -> None:
        function(tuple(grid), tuple(block), tuple(self.copies[copy % len(self.copies)]))

    def launches(
        self, function: Any, block: Sequence[int], grid: Sequence[int], count: int
    ) -> list[Callable[[], None]]:
        return [partial(self.launch, function, block, grid, copy) for copy in range(count)]

    def check(self, function: Any, block: Sequence[int], grid: Sequence[int]) -> bool:
        """Launch once into a result of NaN, or 0, and compare it."""
        case, mine = self.case, self.copies[0]
        result = mine[case.result]
        if case.arguments[case.result].any():  # read too
            result.set(case.arguments[case.result])
        else:
            result.data.memset(0 if case.starts_at_zero else 255, result.nbytes)
        self.launch(function, block, grid, 0)
        return case.is_right(self.device.cupy.asnumpy(result))


def variants(names: Sequence[str], first: bool) -> Iterator[tuple[str, Kernel, int, Case]]:
    for name in names:
        kernel = KERNELS[name]
        for number, make in enumerate(kernel.cases[: 1 if first else None]):
            yield name, kernel, number, make()


def describe_variant(
    device: Device, name: str, case: Case, variant: tuple[Defines, tuple[int, ...], int]
) -> tuple[Any, tuple[int, ...], dict[str, Any]]:
    """Return the function, the grid, and the columns that name a variant."""
    define, block, grid_size = variant
    grid = case.grid(block, define | {"grid": grid_size})
    row: dict[str, Any] = {
        "kernel": name,
        "defines": " ".join(f"{key}={value}" for key, value in define.items()),
        "block_x": block[0],
        "block_y": block[1] if len(block) > 1 else 1,
        "grid_x": grid[0],
        "grid_y": grid[1] if len(grid) > 1 else 1,
        "problem": case.problem,
    }
    return device.function(name, define), grid, row


def run_times(device: Device, names: Sequence[str], count: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each variant of each problem."""
    empty = device.function("micro", {}, "empty")
    nothing, clocks = device.launch_times([lambda: empty((1,), (32,), ())] * (count + 3))
    yield time_row({"kernel": "empty", "block_x": 32, "grid_x": 1}, nothing[3:], clocks)
    for name, kernel, number, case in variants(names, first=False):
        runner = Runner(device, case)
        for place, variant in enumerate(kernel.variants):
            try:
                function, grid, row = describe_variant(device, name, case, variant)
                block = variant[1]
                # each variant is checked on one problem, and each problem with one variant
                right = runner.check(function, block, grid) if number == 1 or not place else None
                launches = runner.launches(function, block, grid, count + 3)
                times, clocks = device.launch_times(launches)
                row["result"] = {None: "", True: "right", False: "WRONG"}[right]
                yield time_row(row, times[3:], clocks) | {"copies": len(runner.copies)}
            except Exception as error:  # one variant's failure leaves the others
                print(f"{name} {variant} {case.problem}: {error}", file=sys.stderr, flush=True)


def time_row(row: dict[str, Any], times: list[float], clocks: Any) -> dict[str, Any]:
    quarters = statistics.quantiles(times, n=4)
    return row | {
        "time": statistics.median(times),
        "time_min": min(times),
        "time_quarter": quarters[0],
        "time_three_quarters": quarters[2],
        "launches": len(times),
        "core_clock": clocks[0],
        "memory_clock": clocks[1],
    }


def run_power(device: Device, names: Sequence[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Yield a row for each kernel, which runs without pause while power is sampled."""
    for name, kernel, _, case in variants(names, first=True):
        runner = Runner(device, case)
        function, grid, row = describe_variant(device, name, case, kernel.variants[0])
        block = kernel.variants[0][1]
        times, _ = device.launch_times(runner.launches(function, block, grid, 8))
        batch = max(1, round(0.05 / statistics.median(times)))
        start, done, samples = time.perf_counter(), 0, []
        stream = device.cupy.cuda.get_current_stream()
        while time.perf_counter() - start < seconds:
            for k in range(batch):
                runner.launch(function, block, grid, k)
            done += batch
            if time.perf_counter() - start > seconds / 2:
                samples.append((device.power(), *device.clocks()))
            stream.synchronize()
        mean = np.mean(samples, axis=0)
        yield row | {
            "time": (time.perf_counter() - start) / done,
            "launches": done,
            "power": float(mean[0]),
            "core_clock": float(mean[1]),
            "memory_clock": float(mean[2]),
        }


def run_micro(device: Device) -> Iterator[dict[str, Any]]:
    """Yield bandwidths [B/s] and latencies [cycle]."""
    cupy = device.cupy
    sms = int(cupy.cuda.Device().attributes["MultiProcessorCount"])
    out = cupy.asarray(np.zeros(64, np.float32))

    def rate(entry: str, grid: int, block: int, given: tuple[Any, ...], size: float) -> Any:
        function = device.function("micro", {}, entry)
        times, clocks = device.launch_times([lambda: function((grid,), (block,), given)] * 8)
        time_taken = min(times[2:])
        return {"value": size / time_taken, "time": time_taken, "core_clock": clocks[0]}

    data = cupy.asarray(np.ones(2**30, np.float32))
    for megabytes, passes in (
        (4, 200),
        (10, 100),
        (20, 50),
        (24, 40),
        (40, 20),
        (64, 10),
        (4096, 1),
    ):
        count = megabytes * 2**20 // 16
        for grid, block in ((2 * sms, 1024), (4 * sms, 512), (8 * sms, 256)):
            given = (data, out, np.int32(count), np.int32(passes))
            what = {"what": "read_buffer", "size": megabytes * 2**20, "unit": "B/s"}
            yield (
                what
                | {"grid_x": grid, "block_x": block}
                | rate("read_buffer", grid, block, given, 16.0 * count * passes)
            )
    for kilobytes in (32, 64, 128, 160, 192):
        count, passes = kilobytes * 64, 400
        given = (data, out, np.int32(count), np.int32(passes))
        what = {"what": "read_cached", "size": kilobytes * 1024, "unit": "B/s"}
        yield (
            what
            | {"grid_x": sms, "block_x": 1024}
            | rate("read_cached", sms, 1024, given, 16.0 * count * passes * sms)
        )
    for grid, block in ((sms, 1024), (2 * sms, 1024)):
        what = {"what": "read_shared", "size": 16384, "unit": "B/s"}
        yield (
            what
            | {"grid_x": grid, "block_x": block}
            | rate("read_shared", grid, block, (out, np.int32(40000)), 16.0 * 40000 * grid * block)
        )
    for grid, block in ((sms, 128), (sms, 512), (sms, 1024), (2 * sms, 1024)):
        what = {"what": "multiply_add", "unit": "1/s", "grid_x": grid, "block_x": block}
        terms = (out, np.float32(1), np.int32(2000))
        yield what | rate("multiply_add", grid, block, terms, 64.0 * 2000 * grid * block)
    copy: Any = cupy.asarray(np.ones(2**28, np.float32))
    times, clocks = device.launch_times(
        [lambda: copy.data.copy_from_device(data.data, copy.nbytes)] * 8
    )
    taken = min(times[2:])
    row = {"what": "copy", "size": copy.nbytes, "unit": "B/s", "value": 2 * copy.nbytes / taken}
    yield row | {"time": taken, "core_clock": clocks[0]}
    values = np.zeros(64, np.float32)
    values[1:3] = 0.5, 1
    cycles, rounds = cupy.asarray(np.zeros(8, np.int64)), 64
    for _ in range(2):
        arguments = (cupy.asarray(values), cycles, np.int32(rounds))
        device.function("micro", {}, "dependent")((1,), (32,), arguments)
    names = ("fma_f32", "fma_f64", "mad_i32", "rsqrt_f32", "load_shared")
    for name, value in zip(names, cupy.asnumpy(cycles).tolist(), strict=False):
        yield {"what": f"latency_{name}", "unit": "cycle", "value": value / (64 * rounds)}


def run_once(device: Device, names: Sequence[str], every: bool) -> Iterator[dict[str, Any]]:
    """Launch the first variant of each kernel once, or every one, for a profiler."""
    for name, kernel, _, case in variants(names, first=True):
        runner = Runner(device, case, copies=1)
        for variant in kernel.variants[: None if every else 1]:
            function, grid, row = describe_variant(device, name, case, variant)
            right = None if every else runner.check(function, variant[1], grid)
            if every:
                runner.launch(function, variant[1], grid, 0)
            device.cupy.cuda.get_current_stream().synchronize()
            yield row | {"result": {None: "", True: "right", False: "WRONG"}[right]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["times", "power", "micro", "once", "cubins"])
    parser.add_argument("out", type=Path, nargs="?", help="CSV file, or folder of cubins, to write")
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=list(KERNELS))
    parser.add_argument("--cubins", type=Path, help="folder of compiled kernels")
    parser.add_argument("--launches", type=int, default=21, help="timed launches (default 21)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of a kernel for power")
    parser.add_argument("--every", action="store_true", help="once: each variant, not the first")
    parser.add_argument("--arch", type=int, default=90, help="architecture of cubins (default 90)")
    given = parser.parse_args()
    if given.what == "cubins":
        write_cubins(given.out, given.arch)
        return
    device = Device(given.cubins)
    rows = {
        "times": lambda: run_times(device, given.kernels, given.launches),
        "power": lambda: run_power(device, given.kernels, given.seconds),
        "micro": lambda: run_micro(device),
        "once": lambda: run_once(device, given.kernels, given.every),
    }[given.what]()
    columns: list[str] = []
    with given.out.open("w", newline="") as file:
        table = csv.writer(file)
        for row in rows:
            row |= device.facts()
            if not columns:
                columns = list(COLUMNS[given.what])
                table.writerow(columns)
            table.writerow([row.get(name, "") for name in columns])
            file.flush()


COLUMNS = {
    "times": (
        *("kernel", "defines", "block_x", "block_y", "grid_x", "grid_y", "problem", "time"),
        *("time_min", "time_quarter", "time_three_quarters", "launches", "core_clock"),
        *("memory_clock", "result", "copies", "device"),
    ),
    "power": (
        *("kernel", "defines", "block_x", "block_y", "grid_x", "grid_y", "problem", "time"),
        *("launches", "power", "core_clock", "memory_clock", "device"),
    ),
    "once": (
        *("kernel", "defines", "block_x", "block_y", "grid_x", "grid_y", "problem", "result"),
        "device",
    ),
    "micro": ("what", "size", "grid_x", "block_x", "value", "unit", "time", "core_clock", "device"),
}

if __name__ == "__main__":
    main()
