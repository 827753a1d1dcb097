"""Random launches whose blocks must be those of NVIDIA's own ``cuda_occupancy.h``.

    python -m tests.papers.occupancy_header 100000 1

Draws so many launches for each compute capability of the catalogue from 3.0 on, with the seed 1,
asks the header of an installed CUDA toolkit through a small C++ program, and compares the resident
blocks and what limits them with those of the model ``occupancy`` as it is by default. A third
argument is the folder that holds the header, where it is not found by itself. It prints what it
compared, and ends with status 1 where anything differs; with 0 and the reason where there is no
header or no compiler.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
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
#include <algorithm>
#include <climits>
#include <cstdio>
#include "cuda_occupancy.h"

int main() {
    cudaOccDeviceProp device;
    int optin, reserved, sm_shared, threads, registers, shared;
    while (std::scanf("%d %d %d %d %d %d %d %d %d %d %d %d %d", &device.computeMajor,
                      &device.computeMinor, &device.maxThreadsPerBlock,
                      &device.maxThreadsPerMultiprocessor, &device.regsPerBlock,
                      &device.regsPerMultiprocessor, &device.warpSize, &optin, &sm_shared,
                      &reserved, &threads, &registers, &shared) == 13) {
        device.sharedMemPerBlock = std::min(optin, 49152);
        device.sharedMemPerBlockOptin = optin;
        device.sharedMemPerMultiprocessor = sm_shared;
        device.reservedSharedMemPerBlock = reserved;
        device.numSms = 1;
        cudaOccFuncAttributes function;
        function.maxThreadsPerBlock = INT_MAX;
        function.numRegs = registers;
        function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        function.maxDynamicSharedSizeBytes = shared;
        function.numBlockBarriers = 1;
        cudaOccDeviceState state;
        cudaOccResult found;
        if (cudaOccMaxActiveBlocksPerMultiprocessor(&found, &device, &function, &state, threads,
                                                    shared) != CUDA_OCC_SUCCESS)
            std::printf("-1 0\\n");
        else
            std::printf("%d %u\\n", found.activeBlocksPerMultiprocessor, found.limitingFactors);
    }
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


def header() -> Path | None:
    """The folder of the header, or None where no toolkit is installed."""
    known = [Path("/usr/local/cuda/include"), *sorted(Path("/usr/local").glob("cuda-*/include"))]
    known += [Path(sysconfig.get_paths()["purelib"], "nvidia", "cuda_runtime", "include")]
    if compiler := shutil.which("nvcc"):
        known.append(Path(compiler).resolve().parents[1] / "include")
    return next((folder for folder in known if (folder / HEADER).is_file()), None)


def missing(folder: Path | None) -> str:
    """Why nothing can be compared; empty where it can."""
    if folder is None or not (folder / HEADER).is_file():
        return f"no {HEADER}: install a CUDA toolkit, or name the folder that holds it"
    return "" if shutil.which("g++") else "no C++ compiler: g++ is not on the PATH"


def built(folder: Path, into: Path) -> Path:
    """The program, compiled against the header."""
    program = into / "ask"
    (into / "ask.cpp").write_text(PROGRAM)
    command = ["g++", "-O1", "-w", "-I", str(folder), f"{program}.cpp", "-o", str(program)]
    subprocess.run(command, check=True)
    return program


def launches(rng: np.random.Generator, count: int, most: int) -> NDArray[np.int64]:
    """Threads, registers and shared memory of random launches, some beyond every limit."""
    threads = rng.integers(1, 1025, count)
    threads = np.where(rng.random(count) < 0.6, -(-threads // 32) * 32, threads)
    registers = rng.integers(0, 66, count) + (rng.random(count) < 0.5) * rng.integers(0, 195, count)
    shared = rng.integers(0, most + 2048, count) >> rng.integers(0, 8, count)
    return np.stack([threads, registers, shared * (rng.random(count) < 0.7)])


def asked(
    program: Path, capability: str, drawn: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Blocks and limits by the header; -1 blocks where it does not know the device."""
    values = dse.machine(f"cc{capability}").values
    device = [*capability.split("."), *(str(values[name].value) for name in DEVICE)]
    lines = "".join(f"{' '.join(device)} {t} {r} {s}\n" for t, r, s in drawn.T.tolist())
    told = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    blocks, limits = np.array(told.stdout.split(), dtype=np.int64).reshape(-1, 2).T
    return blocks, limits


def ours(capability: str, drawn: NDArray[np.int64], **switches: Any) -> tuple[Any, Any]:
    """Blocks and the bit of the limit by the model; 0 where a rule is broken."""
    given = dict(zip(LAUNCH, drawn.astype(float), strict=True))
    blocks, bits = np.zeros(drawn.shape[1]), np.zeros(drawn.shape[1], dtype=np.int64)
    wanted = ["active_blocks_per_sm", "limiter"]
    found = dse.evaluate(
        "occupancy", machine=f"cc{capability}", outputs=wanted, **given, **switches
    )
    fits = found.limiter.values >= 0
    blocks[fits] = found.active_blocks_per_sm.values[fits]
    bits[fits] = BITS[found.limiter.values[fits]]
    return blocks, bits


def main(count: int, seed: int, folder: Path | None = None) -> int:
    """Compare so many launches for each compute capability; the exit status."""
    folder = folder or header()
    if reason := missing(folder):
        print(f"nothing compared: {reason}")
        return 0
    assert folder is not None
    rng, wrong, compared, unknown = np.random.default_rng(seed), 0, 0, []
    with tempfile.TemporaryDirectory() as scratch:
        program = built(folder, Path(scratch))
        for name in dse.machines():
            capability = name.removeprefix("cc")
            if capability == name or float(capability) < 3:
                continue
            most = int(dse.machine(name).values["shared_mem_per_sm"].value)
            drawn = launches(rng, count, most)
            blocks, limits = asked(program, capability, drawn)
            if np.all(blocks < 0):
                unknown.append(capability)
                continue
            mine, bits = ours(capability, drawn)
            differs = (mine != blocks) | ((blocks > 0) & (bits & limits == 0))
            plain = np.mean(ours(capability, drawn, granularity="none")[0] != blocks)
            wrong, compared = wrong + int(differs.sum()), compared + count
            print(
                f"{capability:>5}: {int(differs.sum())} of {count} differ (without allocation "
                f"units {plain:.1%}); {np.mean(blocks == 0):.0%} do not fit"
            )
            for at in np.flatnonzero(differs)[:3].tolist():
                said = ", ".join(f"{n} = {v}" for n, v in zip(LAUNCH, drawn[:, at], strict=True))
                print(f"       {said}: {mine[at]:g} blocks here, {blocks[at]} by the header")
    skipped = f"; the header does not know {', '.join(unknown)}" * bool(unknown)
    print(f"{compared:,} launches, seed {seed}: {wrong} differ from {folder / HEADER}{skipped}")
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
