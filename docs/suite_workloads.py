"""Count the ten kernels of the shipped suite for blocks of 64 to 1024 threads.

    python docs/suite_workloads.py

writes their workload files into ``dse/data/workloads``. A kernel whose source fixes the block is
counted with other macros for each block.
"""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import dse
from dse.analysis.launch import source_launch
from dse.cuda.instruction_counts import join_blocks

ROOT = Path(__file__).parents[1]
SIZES = (64, 128, 256, 512, 1024)
#: Title, source and launches of each workload: blocks, or macros and blocks for each block.
SUITE: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "triad": ("vector triad", "kernels.cu", [{"block": n} for n in SIZES]),
    "options": ("option prices (Black and Scholes)", "kernels.cu", [{"block": n} for n in SIZES]),
    "reduction": ("sum of a vector", "kernels/reduction.cu", [{"block": n} for n in SIZES]),
    "histogram": ("histogram of 256 bins", "kernels/histogram.cu", [{"block": n} for n in SIZES]),
    "softmax": ("softmax of rows", "kernels/softmax.cu", [{"block": n} for n in SIZES]),
    "spmv_csr": ("sparse product", "kernels/spmv_csr.cu", [{"block": n} for n in SIZES]),
    "stencil2d": ("stencil of five points", "kernels/stencil2d.cu", [
        {"block": (32, n // 32)} for n in SIZES
    ]),
    "transpose": ("transpose through shared memory", "kernels/transpose.cu", [
        {"block": (32, n // 32), "define": {"ROWS": n // 32}} for n in SIZES
    ]),
    "nbody": ("forces of bodies by tiles", "kernels/nbody.cu", [
        {"block": n, "define": {"BLOCK": n}} for n in SIZES
    ]),
    "gemm_tiled": ("product of matrices by tiles", "kernels/gemm.cu", [
        {"block": (n // m, m), "define": {"TILE_M": 4 * m, "TILE_N": 4 * n // m}}
        for n, m in zip(SIZES, (8, 8, 16, 16, 32), strict=True)
    ]),
}  # fmt: skip


def text_of(name: str) -> str:
    """Return the text of the workload file of a kernel of the suite."""
    title, source, launches = SUITE[name]
    path = ROOT / "examples" / source
    text = path.read_text(encoding="utf-8")
    known = {k: v for k, v in asdict(source_launch(text, str(path))).items() if v}
    known |= {"entry": name, "set": {"n": 2**24}} if path.name == "kernels.cu" else {}
    if name in ("transpose", "nbody", "gemm_tiled"):
        launches = [
            each | {"define": known.get("define", {}) | each["define"]} for each in launches
        ]
    counts = join_blocks([dse.kernel(path, **{**known, **each}) for each in launches])
    return str(counts.toml()).replace('title = "', f'title = "{title}: ', 1)


def files() -> Iterator[Path]:
    """Write the workload files, and yield their paths."""
    for name in SUITE:
        path = ROOT / "dse" / "data" / "workloads" / f"{name}.toml"
        path.write_text(text_of(name), encoding="utf-8")
        yield path


if __name__ == "__main__":
    for file in files():
        print(file.relative_to(ROOT), file.stat().st_size, "B")
