"""Write ``dse/data/model_errors.toml``: how far models are off, by class of kernel and machine.

    python docs/model_errors.py ../shared/data [--rows ROWS.csv]

Each measured row is predicted as ``dse analyze`` predicts it: with the machine file alone, nothing
fitted, and the clock of the file unless the clock of the run is known. The data are not part of
this project. ``docs/analyze.md`` explains the classes and the coverage that this prints.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
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
from error_classes import MIN_ROWS, PROBABILITIES, learn_classes, row_quantiles

import dse
from dse.analysis.launch import source_launch
from dse.analysis.prediction import predict
from dse.analysis.subject import known_quantities
from dse.cuda.source import signatures
from dse.cuda.tuning_space import count_variants
from dse.uncertain.model_errors import FILE, OTHERS, limit_class
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
    """Measured rows of one machine: inputs of the model, times, and the kernel of each row.

    ``counts`` is a mark of the class where counts are of another kind than those of an analysis.
    """

    case: str
    machine: str
    inputs: Sequence[Mapping[str, Any]]
    times: Any
    kernels: Sequence[str]
    given: Mapping[str, Any] = field(default_factory=dict)
    counts: str = ""

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
        columns: dict[str, Any] = {"case": self.case, "machine": self.machine}
        columns["model"] = " ".join(filter(None, (prediction.model, self.counts)))
        columns |= {"limit": limits, "kernel": self.kernels, "error": errors, "time": self.times}
        return pd.DataFrame(columns)


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
        # one kernel: all operators stream in the same way
        yield Rows("elementwise", machine, inputs, times, ["elementwise"] * len(own), given)


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


def tuned_a4000(folder: Path, many: int = 60) -> Iterator[Rows]:
    """Yield a draw of another tuning space of the convolution, with tiles in shared memory.

    Its source is that of the other space, at the same sizes of image (4096) and filter (15).
    """
    path = folder / "tuner" / "cachefiles__convolution_milo__A4000_T4.json.gz"
    with gzip.open(path) as file:
        results = json.load(file)["results"]
    usable = [
        r for r in results if r["invalidity"] == "correct" and r["configuration"]["use_shmem"]
    ]
    chosen = random.Random(1).sample(usable, many)
    variants = []
    for result in chosen:
        own = result["configuration"]
        sizes = {n: own[n.lower()] for n in ("BLOCK_SIZE_X", "BLOCK_SIZE_Y", "TILE_SIZE_X")}
        sizes["TILE_SIZE_Y"] = own["tile_size_y"]
        x, y = (sizes[f"BLOCK_SIZE_{a}"] for a in "XY")
        grid = [-(-4096 // (sizes[f"BLOCK_SIZE_{a}"] * sizes[f"TILE_SIZE_{a}"])) for a in "XY"]
        launch = dict(zip(("X", "Y"), ((x, grid[0]), (y, grid[1])), strict=True))
        sizes |= {f"DSE_BLOCK_{a}": each[0] for a, each in launch.items()}
        sizes |= {f"DSE_GRID_{a}": each[1] for a, each in launch.items()}
        images = {"HFS": 7, "IMAGE_WIDTH": 4096, "IMAGE_HEIGHT": 4096}
        more = {"READ_ONLY": own["read_only"], "use_padding": own["use_padding"]}
        variants.append({**sizes, **images, **more})
    settings = {"arch": "sm_86", "options": (), "entry": "Convolution", "set": {}, "times": {}}
    settings |= {n: tuple(f"DSE_{n.upper()}_{a}" for a in "XY") for n in ("block", "grid")}
    source = folder / "profiles" / "convolution" / "KernelTunerConvolution.cu"
    counts = count_variants(source, variants, settings)
    times = [float(np.median(result["times"]["runtimes"])) / 1e3 for result in chosen]
    inputs = [known_quantities(each) for each in counts]
    yield Rows("tuned", "a4000", inputs, times, ["convolution"] * many, AS_TURING)


def own_gpu(folder: Path) -> Iterator[Rows]:
    """Yield twelve kernels on an H100, counted from source (``examples/kernels_on_gpu.py``)."""
    here = Path(__file__).parent
    table = pd.read_csv(here / "gpu-validation" / "kernels-h100.csv")
    table = table[table.kernel != "empty"].fillna({"defines": "", "block_y": 1, "grid_y": 1})
    inputs, times, kernels = [], [], []
    for (kernel, problem), part in table.groupby(["kernel", "problem"]):
        source = here.parent / "examples" / "kernels" / f"{kernel}.cu"
        text = source.read_text(encoding="utf-8")
        known = dict(pair.split("=") for pair in str(problem).split())
        (signature,) = signatures(text).values()
        of_data = list(source_launch(text, source.name).times)
        lengths = [round(float(known.get("entries", 0)) / float(known.get("rows", 1))), 0]
        variants = []
        for row in part.itertuples():
            pairs = (pair.split("=") for pair in str(row.defines).split())
            sizes = {"DSE_BLOCK_X": row.block_x, "DSE_BLOCK_Y": int(row.block_y)}
            sizes |= {"DSE_GRID_X": row.grid_x, "DSE_GRID_Y": int(row.grid_y)}
            variants.append({**dict(pairs), **sizes})
        settings: dict[str, Any] = {"arch": "sm_90", "options": (), "entry": ""}
        settings |= {n: tuple(f"DSE_{n.upper()}_{a}" for a in "XY") for n in ("block", "grid")}
        settings["set"] = {n: float(known[n]) for n in signature.arguments if n in known}
        # of a sparse matrix: the end of a row and its begin, at the mean length
        settings["times"] = dict(zip(of_data, lengths, strict=True)) if of_data else {}
        counts = count_variants(source, variants, settings)
        for one, seconds in zip(counts, part["time [s]"], strict=True):
            if "status" in one:
                print(kernel, problem, one["status"].splitlines()[:3], file=sys.stderr)
                continue
            inputs.append(known_quantities(one))
            times.append(seconds)
            kernels.append(kernel)
    yield Rows("own", "h100_sxm", inputs, times, kernels)


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
    programs, mark = list(table.program), "(estimated counts)"
    yield Rows("hecbench", "rtx3080", inputs, table.time, programs, given, mark)


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


CASES = (
    elementwise,
    own_gpu,
    tuned_source,
    tuned_a4000,
    tuned_counters,
    rajaperf,
    hecbench,
    vector_add,
    copy_blocked,
)


def all_errors(folder: Path, chosen: Sequence[Any] = CASES) -> pd.DataFrame:
    """Return the errors of all rows."""
    return pd.concat([rows.errors() for case in chosen for rows in case(folder)], ignore_index=True)


def polybench(folder: Path) -> pd.DataFrame:
    """Return the errors of MWP-CWP on PolyBench at sizes with published counts."""
    table = cases.polybench(folder, cases.launches.PUBLISHED)
    about = {"case": "polybench", "machine": "gtx1080ti", "model": "occupancy + mwp_cwp"}
    error = np.log(table.time / table.mwp_cwp)
    return pd.DataFrame({**about, "limit": "", "kernel": table.kernel, "error": error})


#: A variant might be the fastest up to this factor over the least predicted time.
CONTEST = 1.5


def own_spread(table: pd.DataFrame) -> float:
    """Return how much variants of one kernel on one GPU differ in their errors.

    It is the mean over tuning spaces of half the distance of the 16 and 84 % quantiles, among the
    variants that might be the fastest.
    """
    tuned = table[table.case == "tuned"]
    groups = []
    for _, part in tuned.groupby(["machine", "kernel"]):
        predicted = part.time / np.exp(part.error)
        groups.append(part.error[predicted <= CONTEST * predicted.min()])
    return float(np.mean([np.diff(np.quantile(each, [0.16, 0.84]))[0] / 2 for each in groups]))


# --- coverage of rows that are left out
def row_coverage(table: pd.DataFrame, level: float = 0.9, folds: int = 10) -> pd.DataFrame:
    """Return the share of left-out rows within intervals learnt from the others of their class."""
    lines = []
    for key, part in table.groupby(["model", "limit", "machine"]):
        if len(part) < MIN_ROWS:
            continue
        order = np.random.default_rng(0).permutation(len(part))
        inside = 0
        for fold in range(folds):
            out = order[fold::folds]
            known = np.delete(part.error.to_numpy(), out)
            low, high = ends(row_quantiles(known), level)
            inside += int(
                ((part.error.to_numpy()[out] >= low) & (part.error.to_numpy()[out] <= high)).sum()
            )
        lines.append((*key, part.kernel.nunique(), len(part), inside / len(part), high - low))
    return pd.DataFrame(
        lines, columns=["model", "limit", "machine", "kernels", "rows", "inside", "width"]
    )


def machine_coverage(table: pd.DataFrame, level: float = 0.9) -> pd.DataFrame:
    """Return the share of rows of each left-out machine within intervals of the others."""
    lines = []
    for (model, machine), own in table.groupby(["model", "machine"]):
        others = table[(table.model == model) & (table.machine != machine)]
        if others.machine.nunique() < 1:
            continue
        classes = [each for each in learn_classes(others) if not each.machine]
        for limit, part in own.groupby("limit"):
            order = [limit, *(() if limit == "dram" else (OTHERS,)), ""]
            fits = [each for name in order for each in classes if each.limit == name]
            chosen = fits[0]
            low, high = ends(np.array(chosen.quantiles), level)
            inside = ((part.error >= low) & (part.error <= high)).mean()
            lines.append(
                (model, limit, machine, chosen.limit or "all", len(part), inside, low, high)
            )
    columns = ["model", "limit", "machine", "class", "rows", "inside", "low", "high"]
    return pd.DataFrame(lines, columns=columns)


def ends(quantiles: Any, level: float) -> tuple[float, float]:
    """Return the ends of an interval."""
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], PROBABILITIES, quantiles)
    return float(low), float(high)


HEAD = """# How far the models are off: quantiles of log(measured / predicted) time.
# Written by: python docs/model_errors.py ../shared/data
# Each row was predicted as `dse analyze` predicts it. Rows, by case: {cases}.
"""


def file_text(table: pd.DataFrame) -> str:
    """Return the content of ``dse/data/model_errors.toml``."""
    counts = table.groupby("case").size()
    lines = [HEAD.format(cases=", ".join(f"{name} {many:,}" for name, many in counts.items()))]
    lines.append(f"probabilities = {list(PROBABILITIES)}")
    lines.append(f"own_spread = {own_spread(table):.4f}")
    for each in learn_classes(table):
        values = ", ".join(f"{value:.4f}" for value in each.quantiles)
        lines += ["", "[[classes]]", f'model = "{each.model}"', f'limit = "{each.limit}"']
        lines += [f'machine = "{each.machine}"', f"machines = {json.dumps(each.machines)}"]
        lines += [f"kernels = {each.kernels}", f"rows = {each.rows}", f"quantiles = [{values}]"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the file, and print the coverage of rows that are left out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the measured rows")
    parser.add_argument("--rows", type=Path, help="file for the error of each row (CSV)")
    given = parser.parse_args()
    table = pd.concat([all_errors(given.data), polybench(given.data)], ignore_index=True)
    if given.rows is not None:
        table.to_csv(given.rows, index=False)
    print(row_coverage(table).round(3).to_string())
    left_out = machine_coverage(table)
    print(left_out.round(3).to_string())
    weighted = left_out.assign(inside=left_out.inside * left_out["rows"])
    sums = weighted.groupby(["model", "machine"])[["rows", "inside"]].sum()
    print((sums["inside"] / sums["rows"]).round(3).to_string())
    FILE.write_text(file_text(table), encoding="utf-8")


if __name__ == "__main__":
    main()
