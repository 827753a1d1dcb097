"""Write ``dse/data/model_errors.toml``: how far models are off, by class of kernel and machine.

    python docs/model_errors.py ../shared/data [--rows ROWS.csv]

Each measured row is predicted as ``dse analyze`` predicts it: with the machine file alone, nothing
fitted, and the clock of the file unless the clock of the run is known. The data are not part of
this project. ``docs/analyze.md`` explains the classes and the coverage that this prints.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import validation_cases as cases
import validation_rows as own_files

import dse
from dse.analysis.errors import FILE, learn_errors, limit_class, new_machine_factors
from dse.analysis.prediction import predict
from dse.analysis.subject import known_quantities
from tests.papers.calibrating import GPUS

#: Inputs that a machine file may lack: of the nearest GPU of which they are published.
AS_TURING = {
    "dependent_latency": 4,
    "l1_latency": 32,
    "l2_latency": 200,
    "mem_latency_nominal": 500,
    "l2_bandwidth": "16 B * n_sms * core_clock",
}
AS_PASCAL = {
    **AS_TURING,
    "dependent_latency": 6,
    "l1_latency": 82,
    "l2_latency": 220,
    "l1_bytes_per_cycle": 64,
}
#: Operators of PyTorch that have two arrays, or an array and a number.
TWO_ARRAYS = ("add", "mul", "div", "pow")


@dataclass
class Rows:
    """Measured rows of one machine: inputs of the model, times, and the kernel of each row."""

    case: str
    machine: str
    inputs: Sequence[Mapping[str, Any]]
    times: Any
    kernels: Sequence[str]
    given: Mapping[str, Any] = field(default_factory=dict)

    def errors(self) -> pd.DataFrame:
        """Return the log of measured over predicted times, with the class of each row."""
        entry = dse.machine(self.machine)
        given = {n: v for n, v in self.given.items() if n not in entry.values or n == "core_clock"}
        prediction = predict(entry, self.inputs, given=given)
        limits = [
            limit_class({name: float(shares[at]) for name, shares in prediction.limits.items()})
            for at in range(len(self.inputs))
        ]
        with np.errstate(all="ignore"):
            errors = np.log(np.asarray(self.times, dtype=float) / prediction.times)
        columns = {"case": self.case, "machine": self.machine, "model": prediction.model}
        return pd.DataFrame({**columns, "limit": limits, "kernel": self.kernels, "error": errors})


def elementwise(folder: Path) -> Iterator[Rows]:
    """Yield the operators of PyTorch on five GPUs, counted from ``elementwise.cu``."""
    with gzip.open(folder / "profiles" / "pytorch_elementwise" / "train_elem.csv.gz") as file:
        table = pd.read_csv(file)
    source = Path(__file__).with_name("elementwise.cu")
    for name, machine in GPUS.items():
        own = table[table.Device == name]
        arch = "sm_80" if machine == "a100_40" else "sm_75"
        counts = {op: _operator(source, op, arch) for op in own.OPName.unique()}
        inputs = []
        for op, size in zip(own.OPName, own.B * own.H, strict=True):
            blocks = -(-size // 512)
            scaled = {"launch_bytes": counts[op]["launch_bytes"] * blocks / 1000, "blocks": blocks}
            inputs.append({**counts[op], **scaled, "elements": 128 * blocks})
        given = AS_PASCAL if machine in ("p4", "p100") else AS_TURING
        times = own.Latency.to_numpy() / 1e3
        yield Rows("elementwise", machine, inputs, times, list(own.OPName), given)


def _operator(source: Path, operator: str, arch: str) -> dict[str, float]:
    """Return the counts of an operator at 1,000 blocks."""
    two, name = operator in TWO_ARRAYS, operator.removesuffix("u")
    define = {"OP": name if name in TWO_ARRAYS else operator, "TWO": int(two)}
    launch: dict[str, Any] = {"block": 128, "grid": 1000, "set": {"n": 512000}}
    return known_quantities(dse.kernel(source, arch=arch, define=define, **launch))


def tuned_source(folder: Path) -> Iterator[Rows]:
    """Yield two tuning spaces, counted from source; the clock is that of the machine file."""
    table = cases.from_source(folder)
    inputs = table.drop(columns=["program", "time", "core_clock"]).to_dict("records")
    yield Rows("tuned", "rtx2080ti", inputs, table.time, list(table.program), AS_TURING)


def tuned_counters(folder: Path) -> Iterator[Rows]:
    """Yield the same spaces with the counters of a profiler."""
    table = cases.both_tuned(folder)
    inputs = table.drop(columns=["program", "time"]).to_dict("records")
    yield Rows("tuned, counters", "rtx2080ti", inputs, table.time, list(table.program), AS_TURING)


def rajaperf(folder: Path) -> Iterator[Rows]:
    """Yield counters of RAJAPerf; registers and operations are not in them."""
    table = cases.rajaperf(folder)
    given = {"registers_per_thread": 32, "shared_mem_per_block": 0, "fp_insts": 0}
    inputs = table.drop(columns=["kernel", "time"]).to_dict("records")
    yield Rows("rajaperf", "v100_sxm2", inputs, table.time, list(table.kernel), given)


def hecbench(folder: Path) -> Iterator[Rows]:
    """Yield HeCBench; instructions and registers are estimated, the clock was the base clock."""
    table = cases.hecbench(folder)
    given = {**AS_TURING, "registers_per_thread": 32, "shared_mem_per_block": 0}
    given |= {"core_clock": "base_clock"}
    inputs = table.drop(columns=["program", "kind", "time"]).to_dict("records")
    yield Rows("hecbench", "rtx3080", inputs, table.time, list(table.program), given)


def vector_add(folder: Path) -> Iterator[Rows]:
    """Yield a vector addition at four block sizes, by the tuner's clock on the host."""
    table = own_files.vector_add(folder)
    inputs = table.drop(columns="time").to_dict("records")
    yield Rows("vectoradd", "rtx2080ti", inputs, table.time, ["vectoradd"] * len(table), AS_TURING)


def copy_blocked(folder: Path) -> Iterator[Rows]:
    """Yield one launch of ncu's details page."""
    table = own_files.copy_blocked(folder)
    inputs = table.drop(columns="time").to_dict("records")
    given = {**AS_TURING, "mem_insts": 512, "comp_insts": 1454, "fp_insts": 0, "int_insts": 0}
    yield Rows("copy", "t4", inputs, table.time, ["copy_blocked"], given)


CASES = (elementwise, tuned_source, tuned_counters, rajaperf, hecbench, vector_add, copy_blocked)


def all_errors(folder: Path, chosen: Sequence[Any] = CASES) -> pd.DataFrame:
    """Return the errors of all rows."""
    return pd.concat([rows.errors() for case in chosen for rows in case(folder)], ignore_index=True)
