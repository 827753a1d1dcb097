"""Random launches whose blocks must be those of NVIDIA's own ``cuda_occupancy.h``.

    python -m tests.papers.occupancy_header 100000 1

Draws so many launches for each compute capability of the catalogue from 3.0 on, with the seed 1,
asks the header through a small C program, and compares the resident blocks and what limits them
with those of the model ``occupancy`` as it is by default. Headers are those of the wheels
``nvidia-cuda-runtime`` (13) and ``nvidia-cuda-runtime-cu12`` (12.9) and of installed toolkits; each
capability is asked of the first that knows it, in this order, since 13 dropped some. A third
argument is a folder that holds a header, which is then asked alone. It prints what it compared, and
ends with status 1 where anything differs; with 0 and the reason where there is no header or no
compiler.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse

HEADER = "cuda_occupancy.h"
#: The device as the catalogue has it, then the launch: no more than 48 KiB without opting in, no
#: partitioned global caching, no preference of cache over shared memory, one barrier a block.
PROGRAM = """
#include <limits.h>
#include <stdio.h>
#include "cuda_occupancy.h"

int main(void) {
    int row[13], answer[2];
    while (fread(row, sizeof row, 1, stdin) == 1) {
        cudaOccDeviceProp device = {0};
        cudaOccFuncAttributes function = {0};
        cudaOccDeviceState state = {0};
        cudaOccResult found = {0};
        device.computeMajor = row[0];
        device.computeMinor = row[1];
        device.maxThreadsPerBlock = row[2];
        device.maxThreadsPerMultiprocessor = row[3];
        device.regsPerBlock = row[4];
        device.regsPerMultiprocessor = row[5];
        device.warpSize = row[6];
        device.sharedMemPerBlock = row[7] < 49152 ? row[7] : 49152;
        device.sharedMemPerBlockOptin = row[7];
        device.sharedMemPerMultiprocessor = row[8];
        device.reservedSharedMemPerBlock = row[9];
        device.numSms = 1;
        function.maxThreadsPerBlock = INT_MAX;
        function.numRegs = row[11];
        function.partitionedGCConfig = PARTITIONED_GC_OFF;
        function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        function.maxDynamicSharedSizeBytes = row[12];
        function.numBlockBarriers = 1;
        state.cacheConfig = CACHE_PREFER_NONE;
        state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&found, &device, &function, &state, row[10],
                                                    row[12]) != CUDA_OCC_SUCCESS)
            found.activeBlocksPerMultiprocessor = -1;
        answer[0] = found.activeBlocksPerMultiprocessor;
        answer[1] = (int)found.limitingFactors;
        fwrite(answer, sizeof answer, 1, stdout);
    }
    return 0;
}
"""
DEVICE = (
    "max_threads_per_block",
    "max_threads_per_sm",
    "max_registers_per_block",
    "registers_per_sm",
    "warp_size",
    "max_shared_mem_per_block",
    "shared_mem_per_sm",
    "reserved_shared_mem_per_block",
)
LAUNCH = ("threads_per_block", "registers_per_thread", "shared_mem_per_block")
#: The header's bits of the limits, in the order of the model's flags.
BITS = np.array([4, 2, 8, 1])
CAPABILITIES = [
    capability
    for name in dse.machines()
    if name.startswith("cc") and float(capability := name.removeprefix("cc")) >= 3
]


def headers() -> list[Path]:
    """The folders of the headers, the newest wheel first and toolkits last."""
    result = importlib.util.find_spec("nvidia")
    wheels = [*map(Path, result.submodule_search_locations or ())] if result else []
    known = [f / "include" for wheel in wheels for f in sorted(wheel.glob("cu[0-9]*"))[::-1]]
    known += [wheel / "cuda_runtime" / "include" for wheel in wheels]
    known.append(Path("/usr/local/cuda/include"))
    known += sorted(Path("/usr/local").glob("cuda-*/include"), reverse=True)
    if compiler := shutil.which("nvcc"):
        known.append(Path(compiler).resolve().parents[1] / "include")
    return [folder for folder in dict.fromkeys(known) if (folder / HEADER).is_file()]


def compiler() -> str | None:
    """A C compiler: that of the environment variable CC, else one of the usual names."""
    return next(filter(None, map(shutil.which, [os.environ.get("CC", ""), *_NAMES])), None)


_NAMES = ("cc", "gcc", "clang", "tcc", "icx")


def missing(folders: list[Path]) -> str:
    """Why nothing can be compared; empty where it can."""
    if not folders:
        return f"no {HEADER}: install nvidia-cuda-runtime (the extra test) or a CUDA toolkit"
    return "" if compiler() else f"no C compiler: none of {', '.join(_NAMES)} is on the PATH"


def build_program(folder: Path, into: Path) -> Path:
    """The program, compiled against a header."""
    program = Path(tempfile.mkdtemp(dir=into)) / "ask"
    source = program.with_suffix(".c")
    source.write_text(PROGRAM)
    subprocess.run(
        [str(compiler()), "-O1", "-w", "-I", str(folder), str(source), "-o", str(program)],
        check=True,
    )
    return program


def launches(rng: np.random.Generator, count: int, most: int) -> NDArray[np.int64]:
    """Threads, registers and shared memory of random launches, some beyond every limit."""
    threads = rng.integers(1, 1025, count)
    threads = np.where(rng.random(count) < 0.6, -(-threads // 32) * 32, threads)
    registers = rng.integers(0, 66, count) + (rng.random(count) < 0.5) * rng.integers(0, 195, count)
    shared = rng.integers(0, most + 2048, count) >> rng.integers(0, 8, count)
    return np.stack([threads, registers, shared * (rng.random(count) < 0.7)])


def run_program(
    program: Path, capability: str, drawn: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Blocks and limits by the header; -1 blocks where it does not know the device."""
    values = dse.machine(f"cc{capability}").values
    device = [*map(int, capability.split(".")), *(int(values[n].value) for n in DEVICE)]
    rows = np.empty((drawn.shape[1], 13), dtype=np.int32)
    rows[:, :10], rows[:, 10:] = device, drawn.T
    output = subprocess.run([program], input=rows.tobytes(), capture_output=True, check=True)
    blocks, limits = np.frombuffer(output.stdout, dtype=np.int32).reshape(-1, 2).T
    return blocks, limits


def ours(capability: str, drawn: NDArray[np.int64], **switches: Any) -> tuple[Any, Any]:
    """Blocks and the bit of the limit by the model; 0 where a rule is broken."""
    given = dict(zip(LAUNCH, drawn.astype(float), strict=True))
    blocks, bits = np.zeros(drawn.shape[1]), np.zeros(drawn.shape[1], dtype=np.int64)
    wanted = ["active_blocks_per_sm", "limiter"]
    result = dse.evaluate(
        "occupancy", machine=f"cc{capability}", outputs=wanted, **given, **switches
    )
    fits = result.limiter.values >= 0
    blocks[fits] = result.active_blocks_per_sm.values[fits]
    bits[fits] = BITS[result.limiter.values[fits]]
    return blocks, bits


def compare_programs(
    programs: list[Path], capability: str, count: int, seed: int
) -> tuple[list[str], str] | None:
    """The launches that differ, and a line that tells of all; None where no header knows it."""
    rng = np.random.default_rng([seed, *map(int, capability.split("."))])
    most = int(dse.machine(f"cc{capability}").values["shared_mem_per_sm"].value)
    drawn = launches(rng, count, most)
    for program in programs:
        blocks, limits = run_program(program, capability, drawn)
        if not np.all(blocks < 0):
            break
    else:
        return None
    assert len(blocks) == count
    mine, bits = ours(capability, drawn)
    differs = (mine != blocks) | ((blocks > 0) & (bits & limits == 0))
    plain = np.mean(ours(capability, drawn, granularity="none")[0] != blocks)
    wrong = []
    for at in np.flatnonzero(differs).tolist():
        printed = ", ".join(f"{n} = {v}" for n, v in zip(LAUNCH, drawn[:, at], strict=True))
        wrong.append(f"{printed}: {mine[at]:g} blocks here, {blocks[at]} by the header")
    return wrong, (
        f"{capability:>5}: {len(wrong)} of {count} differ (without allocation units "
        f"{plain:.1%}); {np.mean(blocks == 0):.0%} do not fit"
    )


def main(count: int, seed: int, folder: Path | None = None) -> int:
    """Compare so many launches for each compute capability; the exit status."""
    folders = [folder] if folder else headers()
    if reason := missing(folders):
        print(f"nothing compared: {reason}")
        return 0
    wrong, times, unknown = 0, 0, []
    with tempfile.TemporaryDirectory() as scratch:
        programs = [build_program(each, Path(scratch)) for each in folders]
        for capability in CAPABILITIES:
            result = compare_programs(programs, capability, count, seed)
            if result is None:
                unknown.append(capability)
                continue
            differing, line = result
            wrong, times = wrong + len(differing), times + 1
            print("\n       ".join([line, *differing[:3]]))
    skipped = f"; no header knows {', '.join(unknown)}" * bool(unknown)
    where = ", ".join(str(each / HEADER) for each in folders)
    print(f"{times * count:,} launches, seed {seed}: {wrong} differ from {where}{skipped}")
    return int(wrong > 0)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(
        main(
            int(given[0]) if given else 20_000,
            int(given[1]) if len(given) > 1 else 1,
            Path(given[2]) if len(given) > 2 else None,
        )
    )
