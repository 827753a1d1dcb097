"""Validate laws of the loss: time random groups of lanes on a GPU (Swatman 2022, Algorithm 1)."""

from __future__ import annotations

import importlib.util
import math
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic.arrays import Floats, Ints
from stochastic.checks import LawError, check_integer
from stochastic.work.pmf import Pmf

_WARP = 32
_MOST_THREADS = 256  # Upper limit on threads of a block: each may use 255 of 65536 registers.
_MEMORY = 2**28  # Bytes of the matrices and their powers in one launch.
_VERIFIED_LANES = 64  # Number of lanes of a launch whose power is recomputed in double precision.
_TOLERANCE = 1e-3  # Accepted relative difference between single and double precision.


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timing:
    """Clocks and results of one launch of the kernel, whose first group has the index ``first``.

    ``clocks`` is int64 of shape (3, groups, lanes) in cycles. It holds three times of each lane:
    before the loop, after the lane's own last iteration, and after the loop of the whole group.
    ``powers(n)`` copies the results of the first n groups to the host, float32 of shape
    (n, lanes, size, size). Call ``powers`` before the next launch.
    """

    first: int
    clocks: Ints
    powers: Callable[[int], npt.NDArray[np.float32]]


def time_powers(
    exponents: npt.NDArray[np.int32],
    *,
    synchronised: bool,
    size: int = 16,
    threads: int = 256,
    seed: int = 0,
) -> Iterator[Timing]:
    """Run groups on the GPU; each lane raises a random matrix to a power by repeated products.

    ``exponents`` (groups, lanes) is the number of timed iterations of each lane. One untimed
    iteration loads the matrix first, so the result is the matrix to the power of exponent + 1. With
    ``synchronised``, the lanes of a group wait for each other after every iteration. Matrices have
    ``size`` rows. (The paper uses 16, because with 3 the times are noisy.) Their entries are
    uniform, with variance 2 / (3·size). Each block has ``threads`` threads and runs one group on
    the first of them; the other threads only limit how many groups share a multiprocessor.
    """
    exponents = _check_exponents(exponents)
    groups, lanes = exponents.shape
    size = check_integer("size", size, least=1, example=16)
    threads = check_integer("threads", threads, least=lanes, example=_MOST_THREADS)
    if threads > _MOST_THREADS:
        raise LawError(f"threads = {threads}: registers suffice for {_MOST_THREADS} in a block")
    device = _load_gpu()
    memory = min(_MEMORY, device.free_memory() / 2)
    chunk = max(1, min(groups, int(memory / (8 * size**2 * lanes))))
    matrices = np.random.default_rng(seed).random((chunk, lanes, size, size), dtype=np.float32)
    matrices -= np.float32(0.5)
    matrices *= np.float32(math.sqrt(8 / size))
    options = {"synchronised": bool(synchronised), "threads": threads}
    for first, clocks, powers in device.run_launches(matrices, exponents, **options):
        timing = Timing(first=first, clocks=clocks, powers=partial(_copy_to_host, powers))
        _verify_powers(matrices, exponents[first : first + chunk], timing)
        yield timing


def _check_exponents(values: Any) -> npt.NDArray[np.int32]:
    result = np.asarray(values)
    if result.ndim != 2 or not 1 <= result.shape[1] <= _WARP or not len(result):
        raise LawError(
            f"exponents of shape {result.shape}: expected (groups, lanes) with 1 to {_WARP} lanes, "
            "since the lanes of a group are in one warp"
        )
    if result.dtype.kind not in "iu" or result.min() < 0 or result.max() >= 2**31 - 1:
        raise LawError("exponents: expected whole numbers from 0 to 2147483646")
    return np.ascontiguousarray(result, dtype=np.int32)


def _copy_to_host(device_array: Any, groups: int) -> npt.NDArray[np.float32]:
    return device_array[:groups].copy_to_host()


def _verify_powers(
    matrices: npt.NDArray[np.float32], exponents: npt.NDArray[np.int32], timing: Timing
) -> None:
    lanes, size = matrices.shape[1:3]
    count = min(-(-_VERIFIED_LANES // lanes), len(exponents))
    result = timing.powers(count).reshape(-1, size, size)
    exact = matrices[:count].reshape(-1, size, size).astype(np.float64)
    for power, matrix, exponent in zip(result, exact, exponents[:count].ravel(), strict=True):
        expected = np.linalg.matrix_power(matrix, int(exponent) + 1)
        scale = np.abs(expected).max()
        if 1e-30 < scale < 1e30 and np.abs(power - expected).max() > _TOLERANCE * scale:
            raise LawError(
                f"a lane did not compute its matrix to the power of {exponent + 1}: GPU driver, "
                "CUDA toolkit and numba-cuda are incompatible; see `numba -s`"
            )


def describe() -> dict[str, Any]:
    """Return facts to store with measurements: device, clocks, driver, versions and date."""
    facts: dict[str, Any] = _load_gpu().device_facts()
    return (
        facts
        | _driver_info(facts.get("uuid", ""))
        | {
            "numba_cuda": version("numba-cuda"),
            "numba": version("numba"),
            "date": datetime.now(UTC).date().isoformat(),
        }
    )


def _driver_info(uuid: str) -> dict[str, str]:
    """Return the driver, clocks and power limit of a GPU from nvidia-smi; empty if that fails."""
    names = ("driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "power.limit")
    query = ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader"]
    if not uuid or not shutil.which(query[0]):
        return {}
    done = subprocess.run([*query, f"--id={uuid}"], capture_output=True, text=True, check=False)
    values = [text.strip() for text in done.stdout.split("\n")[0].split(",")]
    if done.returncode or len(values) != len(names):
        return {}
    return dict(zip(("driver", *names[1:]), values, strict=True))


def _load_gpu() -> ModuleType:
    if importlib.util.find_spec("numba_cuda") is None:
        raise LawError("numba-cuda is not installed: pip install numba-cuda")
    from stochastic.kernels import gpu

    if not gpu.is_available():
        raise LawError(
            "no NVIDIA GPU with a driver was found; for a trial without one, set "
            "NUMBA_ENABLE_CUDASIM=1 before Python starts: numba-cuda then simulates a GPU, slowly"
        )
    return gpu


def drawn_loss(exponents: npt.NDArray[np.int32]) -> Floats:
    """Return the loss of each group from its iterations: lanes · max / sum, or 1 without work.

    This is Eq. 4 of Swatman 2022; Algorithm 1 of the paper omits the factor ``lanes``.
    """
    whole_group = exponents.max(axis=1).astype(np.float64) * exponents.shape[1]
    return _ratio(whole_group, exponents.sum(axis=1, dtype=np.float64))


def timed_loss(clocks: Ints) -> Floats:
    """Return the loss of each group from its clocks: C_SIMT / C_MIMD, or 1 without work.

    C_MIMD is the sum of the lanes' own times. In C_SIMT every lane is charged for the time until
    all lanes of its group are done.
    """
    start, done, left = clocks
    if np.any(done < start) or np.any(left < done):
        raise LawError(
            "the clock of a lane ran backwards, so the kernel was moved between multiprocessors: "
            "run it again while nothing else uses the GPU"
        )
    in_lockstep = (left.max(axis=1, keepdims=True) - start).sum(axis=1, dtype=np.float64)
    return _ratio(in_lockstep, (done - start).sum(axis=1, dtype=np.float64))


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    return np.divide(numerator, denominator, out=np.ones_like(numerator), where=denominator > 0)


def losses(
    law: Pmf, lanes: int, *, groups: int, size: int = 16, threads: int = 256, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Draw groups, time them, and return three arrays with the loss of each group.

    The first array is computed from the drawn iterations, the second from times with synchronised
    lanes, and the third from times without synchronisation. ``law`` is the law of the iterations of
    a lane; for the other arguments see :func:`time_powers`. :func:`stochastic.fit_timing` compares
    the first array with one of the others.
    """
    groups = check_integer("groups", groups, least=1, example=2**18)
    seed = check_integer("seed", seed, least=0)
    exponents = _check_exponents(law.sample((groups, lanes), seed))

    def measure(synchronised: bool) -> Floats:
        options = {"size": size, "threads": threads, "seed": seed}
        runs = time_powers(exponents, synchronised=synchronised, **options)
        return np.concatenate([timed_loss(run.clocks) for run in runs])

    return drawn_loss(exponents), measure(True), measure(False)
