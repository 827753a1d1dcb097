"""Print ``docs/launches.md``: launches that the model chooses, against measurements.

    python docs/launches.py ../shared/data > docs/launches.md

The folder holds ``mwp_cwp/`` (orcca-uwo/KLARAPTOR, commit 0e635fc): times of PolyBench kernels on a
GTX 1080 Ti for every shape of block, and the inputs of MWP-CWP for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

import dse

KERNEL, SHAPE = ["bench", "kernel"], ["block_x", "block_y"]
LAUNCH = [*KERNEL, "n", *SHAPE]
COUNTS = ["comp_insts", "uncoalesced_insts", "transactions"]
RENAMED = {
    "N": "n",
    "b0": "block_x",
    "b1": "block_y",
    "bx": "block_x",
    "by": "block_y",
    "median_ms": "ms",
    "Comp_insts": "comp_insts",
    "Uncoal_Mem_insts": "uncoalesced_insts",
    "Uncoal_per_mw": "transactions",
    "Blocks": "blocks",
    "Active_blocks_per_SM": "active_blocks_per_sm",
    "fit_Mem_LD": "mem_latency_dram",
    "fit_Departure": "departure_delay_uncoalesced",
}
#: What the model is given of each launch, besides the transactions.
GIVEN = [*COUNTS[:2], "blocks", "active_blocks_per_sm", "mem_latency_dram"]
GIVEN += ["departure_delay_uncoalesced"]
#: The machine as the data has it; the limits of its compute capability, 6.1.
MACHINE = {
    "n_sms": 28,
    "core_clock": "1.582 GHz",
    "mem_bandwidth": "484.44 GB/s",
    "issue_cycles": 1,
    "departure_delay_coalesced": 1,
    "coalesced_insts": 0,
    "sync_insts": 0,
}
MOST_BLOCKS, MOST_THREADS, WARP = 32, 2048, 32
#: Sizes whose inputs are published, and the two through which the line to the others is drawn.
PUBLISHED, LINE = (64, 128, 256, 512), (256, 512)
LARGE = (1024, 2048)
WHOLE = {"rounding": "whole", "waves": "whole"}
#: What is said of a prediction: whether transactions are those of one request, and its switches.
VARIANTS: Mapping[str, tuple[bool, dict[str, str]]] = {
    "default": (True, {}),
    'waves = "whole"': (True, {"waves": "whole"}),
    'rounding = "whole"': (True, {"rounding": "whole"}),
    "both": (True, WHOLE),
    "transactions as in the file": (False, {}),
    "transactions as in the file, both whole": (False, WHOLE),
}
#: Which of the launches that the model calls equally good is taken: the first of these orders.
ORDERS: Mapping[str, Callable[[tuple[int, int]], tuple[int, int]]] = {
    "`block_x`, `block_y` (the order of the axes)": lambda shape: shape,
    "fewest threads, `block_x`": lambda shape: (shape[0] * shape[1], shape[0]),
    "most threads, `block_x`": lambda shape: (-shape[0] * shape[1], shape[0]),
    "`block_y`, `block_x`": lambda shape: (shape[1], shape[0]),
    "widest first": lambda shape: (-shape[0], shape[1]),
    "most threads, widest first": lambda shape: (-shape[0] * shape[1], -shape[0]),
}
#: Predictions that differ by less are the same.
SAME = 1e-9


# --- the launches


def read(folder: Path) -> pd.DataFrame:
    """Return every measured launch, with the inputs of the model if they are known."""
    names = ("measured_times", "published_evaluations")
    files = [folder / "mwp_cwp" / f"{name}_gtx1080ti.csv" for name in names]
    times, inputs = (pd.read_csv(file).rename(columns=RENAMED) for file in files)
    inputs = inputs[[*LAUNCH, "transactions", *GIVEN]]
    table = times[[*LAUNCH, "ms"]].merge(inputs, how="left", on=LAUNCH).astype({"ms": float})
    table = table.fillna(on_the_line(times[LAUNCH], inputs))
    return table.sort_values(LAUNCH, ignore_index=True)


def on_the_line(launches: pd.DataFrame, inputs: pd.DataFrame) -> pd.DataFrame:
    """Extrapolate the inputs of each launch from those of the same block at two sizes.

    Counts of a thread are linear in the size, and blocks go with the size or with its square.
    """
    low, high = (
        launches.drop(columns="n").merge(inputs[inputs.n == n], how="left", on=[*KERNEL, *SHAPE])
        for n in LINE
    )
    beyond = (launches.n - LINE[0]) / (LINE[1] - LINE[0])
    found = high[GIVEN].copy()
    for count in COUNTS:
        found[count] = low[count] + beyond * (high[count] - low[count])
    threads = launches.block_x * launches.block_y
    power = np.where(high.blocks * threads == LINE[1] ** 2, 2, 1)
    found["blocks"] = high.blocks * (launches.n / LINE[1]) ** power
    found["active_blocks_per_sm"] = np.minimum(MOST_BLOCKS, MOST_THREADS // threads)
    return found


def predict(table: pd.DataFrame, *, each: bool, **switches: str) -> np.ndarray:
    """Return the predicted time of each launch; NaN if its inputs are unknown.

    ``each``: transactions of one memory instruction, as Table 1 of the thesis counts them. The file
    has those of all of a warp's.
    """
    known = table.dropna(subset=GIVEN)
    counted = known.transactions / (known.uncoalesced_insts if each else 1)
    found = dse.evaluate(
        "mwp_cwp",
        **MACHINE,
        **{name: known[name].to_numpy(dtype=float) for name in GIVEN},
        transactions_per_uncoalesced=counted.to_numpy(),
        threads_per_block=(known.block_x * known.block_y).to_numpy(dtype=float),
        outputs=["time"],
        **switches,
    )
    return pd.Series(found["time"].values, index=known.index).reindex(table.index).to_numpy()


# --- what is chosen


@dataclass(frozen=True, kw_only=True)
class Group:
    """Launches of one kernel at one size, in the order of the axes block_x and block_y."""

    kernel: str
    n: int
    shapes: Sequence[tuple[int, int]]
    measured: np.ndarray
    predicted: np.ndarray

    @cached_property
    def equal(self) -> np.ndarray:
        """Return the launches that the model calls best; the first is chosen."""
        return np.flatnonzero(self.predicted <= np.nanmin(self.predicted) * (1 + SAME))

    @property
    def slowdown(self) -> float:
        """Return the measured time of the choice over the best measured time."""
        return float(self.measured[self.equal[0]] / self.measured.min())

    def slowdown_in(self, order: Callable[[tuple[int, int]], tuple[int, int]]) -> float:
        """Return the slowdown if ties are broken in another order."""
        taken = min(self.equal, key=lambda at: order(self.shapes[int(at)]))
        return float(self.measured[taken] / self.measured.min())

    @property
    def slowdown_of_equal(self) -> float:
        """Return the mean slowdown over all equally good launches."""
        return float(self.measured[self.equal].mean() / self.measured.min())

    @property
    def correlation(self) -> float:
        """Return Spearman's rank correlation; NaN if all predictions are equal."""
        known = np.isfinite(self.predicted)
        ranks = [pd.Series(x[known]).rank() for x in (self.predicted, self.measured)]
        return float(ranks[0].corr(ranks[1]))


def groups(table: pd.DataFrame, predicted: np.ndarray, sizes: Sequence[int]) -> list[Group]:
    """Return the group of each kernel at some sizes, if anything is predicted."""
    found = []
    for (_, kernel, n), part in table.groupby([*KERNEL, "n"]):
        of = predicted[part.index]
        # of one kernel, the inputs of a single launch are published
        if n in sizes and np.isfinite(of).sum() > 1:
            shapes = list(zip(part.block_x, part.block_y, strict=True))
            times = part.ms.to_numpy()
            found.append(Group(kernel=kernel, n=n, shapes=shapes, measured=times, predicted=of))
    return found


def replaced(table: pd.DataFrame, predicted: np.ndarray, by: pd.Series) -> np.ndarray:
    """Multiply the prediction by the mean factor that it missed by at equal ``by``.

    The mean is that of the kernel's *other* sizes: nothing is learnt from what is predicted.
    """
    missed = pd.Series(np.log(table.ms) - np.log(predicted))
    missed -= missed.groupby([table.bench, table.kernel, table.n]).transform("mean")
    cells = pd.DataFrame({"missed": missed, "by": by}).join(table[[*KERNEL, "n"]])
    of_all = cells.groupby([*KERNEL, "by"]).missed.agg(["sum", "count"])
    of_size = cells.groupby([*KERNEL, "by", "n"]).missed.agg(["sum", "count"])
    rest = of_all.reindex(pd.MultiIndex.from_frame(cells[[*KERNEL, "by"]])).to_numpy()
    rest = rest - of_size.reindex(pd.MultiIndex.from_frame(cells[[*KERNEL, "by", "n"]])).to_numpy()
    mean = np.divide(rest[:, 0], rest[:, 1], out=np.zeros(len(rest)), where=rest[:, 1] > 0)
    return predicted * np.exp(mean)


def terms(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the quantity that each term of the model depends on, among launches at one size."""
    threads = table.block_x * table.block_y
    return {
        "transactions: the shape of a warp": np.minimum(table.block_x, WARP),
        "residency: the threads of a block": threads,
        "both": np.minimum(table.block_x, WARP) + threads * (WARP + 1),
    }


# --- the page

HEAD = """\
# Launch configurations: model against measurement

**In a minute.** MWP-CWP chooses the block shape of {kernels} PolyBench kernels on a GTX 1080 Ti.
The slowdown of a choice is its measured time divided by the best measured time. The goal is a
slowdown of at most 1.03 in the median and 1.15 in the 90th percentile:

{verdict}

For the model, many shapes are equally good, and it does not say which of them to choose. Whether
the goal is met therefore depends on the order in which ties are broken (first table). At large
sizes, the likely cause of errors is an input, the number of transactions
([below](#which-term-is-wrong)).

## Data and definitions

Generated by `python docs/launches.py ../shared/data > docs/launches.md`. The data, `mwp_cwp`, are
from orcca-uwo/KLARAPTOR at commit 0e635fc and are not part of this project: {launches} run times
of {kernels} kernels, one measurement a block shape, and the inputs of MWP-CWP for four sizes.
The counts of a thread are linear in the size, so the counts of other sizes are extrapolated from
{low} and {high}. At 64 and 128, where this can be checked, {off} of {counts} counts are off by
more than 1 %, and none by more than {most:.1f} %. For {unknown} launches the inputs are unknown:
the model never chooses these launches, but one of them may be the fastest measured.

If several launches are equally good, the first in the order of the axes `block_x` and `block_y` is
chosen by default; brackets show the mean over all equally good launches. *Correlation* is
Spearman's rank correlation of predicted and measured times.

## Results

This table shows how the order in which ties are broken affects the slowdown:
"""

UNITS = """\
## Units and switches

In the paper, #Uncoal_per_mw is the number of transactions of *one* memory instruction (Hong 2012,
Table 1); an instruction of 32 lanes needs at most 32. The file contains the sum over all memory
instructions of a warp, which is up to tens of thousands. "Default" divides this sum by the number
of memory instructions and does not change any switch. The other rows show the effect of using the
sum and of changing switches. The default was chosen after all rows had been seen.
"""

FAULT = """\
## Which term is wrong?

In each row, the prediction is multiplied by a factor that corrects one term of the model. Each
term depends on one quantity, and the value of this quantity determines the factor, too. The factor
is the mean over the *other* sizes of the same kernel, so the predicted rows are not used to find
it. If a term is wrong, its factor improves both the choice and the rank correlation.
"""

CAUSES = """\
At large sizes, the number of transactions is probably wrong. This number is an input; the way in
which the model overlaps transactions is not the cause. Transactions depend on the shape of a warp.
With a factor for this shape, the large sizes meet the goal however ties are broken, and all sizes
are ranked correctly. At small sizes this factor does not help.

The file has the same count for all blocks of 16 lanes or more. For the matrix products, more than
20 launches are therefore equally good, although their measured times differ by a third. For SYR2K
the count falls with the width of the block. The measured times of wide blocks, however, are several
times as long, as if neighbouring lanes read different rows.

Residency, MWP's limit N and the waves depend on the number of threads of a block. A factor for this
number also leads to a good choice at large sizes, because it separates blocks of one warp from
other blocks; but the ranking becomes worse.

Counting full waves (`waves = "whole"`) is right for small grids and wrong for large grids. It
prefers blocks of one warp, although only 32 instead of 64 warps are then resident. By Eq. 22 the
number of waiting warps does not matter once it exceeds MWP; in the measurements it does.
"""


def summary(found: Sequence[Group]) -> list[str]:
    """Return cells: number of groups, median and 90th percentile of the slowdown, correlation."""
    cells = [str(len(found))]
    for share in (0.5, 0.9):
        first, any_of = (
            np.quantile([getattr(group, name) for group in found], share)
            for name in ("slowdown", "slowdown_of_equal")
        )
        cells.append(f"{first:.3f} ({any_of:.3f})")
    ranks = [group.correlation for group in found]
    return [*cells, f"{np.nanmedian(ranks):.2f}", f"{np.nanquantile(ranks, 0.1):.2f}"]


def compared(table: pd.DataFrame, predictions: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Yield a table of predictions, separately for published and large sizes."""
    yield (
        "| prediction | sizes | groups | median | 90th percentile "
        "| correlation | its 10th percentile |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, predicted in predictions.items():
        for sizes in (PUBLISHED, LARGE):
            cells = summary(groups(table, predicted, sizes))
            yield f"| {name} | {sizes[0]} to {sizes[-1]} | {' | '.join(cells)} |"


def ties(table: pd.DataFrame, predicted: np.ndarray) -> Iterator[str]:
    """Yield a table of the slowdown for each order of equally good launches."""
    yield "| ties broken by | sizes | median | 90th percentile |"
    yield "|---|---|---|---|"
    for name, order in ORDERS.items():
        for sizes in (PUBLISHED, LARGE):
            slow = [one.slowdown_in(order) for one in groups(table, predicted, sizes)]
            half, most = np.quantile(slow, 0.5), np.quantile(slow, 0.9)
            yield f"| {name} | {sizes[0]} to {sizes[-1]} | {half:.3f} | {most:.3f} |"


def by_kernel(table: pd.DataFrame, predicted: np.ndarray) -> Iterator[str]:
    """Yield a table of slowdown and correlation of each kernel at each size."""
    sizes = sorted({*PUBLISHED, *LARGE})
    found = {(one.kernel, one.n): one for one in groups(table, predicted, sizes)}
    yield f"| kernel | {' | '.join(map(str, sizes))} |"
    yield "|" + "---|" * (1 + len(sizes))
    for kernel in dict.fromkeys(kernel for kernel, _ in found):
        of = [found[kernel, n] for n in sizes]
        cells = [f"{one.slowdown:.2f} ({one.correlation:.2f})" for one in of]
        yield f"| `{kernel}` | {' | '.join(cells)} |"


def worst(table: pd.DataFrame, predicted: np.ndarray, above: float) -> Iterator[str]:
    """Yield a table of the choices that cost the most."""
    yield "| kernel | size | slowdown | chosen | equally good | best measured | its prediction |"
    yield "|---|---|---|---|---|---|---|"
    found = groups(table, predicted, (*PUBLISHED, *LARGE))
    for one in sorted(found, key=lambda group: -group.slowdown):
        if one.slowdown > above:
            best, chosen = one.measured.argmin(), one.equal[0]
            apart = one.predicted[best] / one.predicted[chosen] - 1
            told = "equal" if apart <= SAME else f"{apart:.2%} slower"
            told = told if np.isfinite(apart) else "none"
            shapes = [f"{x} × {y}" for x, y in (one.shapes[int(at)] for at in (chosen, best))]
            cells = [one.n, f"{one.slowdown:.2f}", shapes[0], len(one.equal), shapes[1], told]
            yield f"| `{one.kernel}` | {' | '.join(map(str, cells))} |"


def line_errors(table: pd.DataFrame, folder: Path) -> np.ndarray:
    """Return relative errors of the extrapolation at the sizes that it does not use."""
    path = folder / "mwp_cwp" / "published_evaluations_gtx1080ti.csv"
    inputs = pd.read_csv(path).rename(columns=RENAMED)
    inputs = inputs.merge(table[LAUNCH], on=LAUNCH)
    inputs = inputs[~inputs.n.isin(LINE)].reset_index(drop=True)
    whole = pd.read_csv(path).rename(columns=RENAMED)
    found = on_the_line(inputs[LAUNCH], whole)
    errors: np.ndarray = (found[COUNTS] / inputs[COUNTS] - 1).abs().to_numpy()
    return errors[np.isfinite(errors)]


def page(folder: Path) -> str:
    """Return the whole page."""
    table = read(folder)
    predictions = {
        name: predict(table, each=each, **switches) for name, (each, switches) in VARIANTS.items()
    }
    plain = predictions["default"]
    learnt = {name: replaced(table, plain, by) for name, by in terms(table).items()}
    off = line_errors(table, folder)
    lines = [
        HEAD.format(
            launches=f"{len(table):,}",
            kernels=len(table.groupby(KERNEL)),
            low=LINE[0],
            high=LINE[1],
            off=int((off > 0.01).sum()),
            counts=f"{off.size:,}",
            most=100 * off.max(),
            unknown=int(np.isnan(plain).sum()),
            verdict=verdict(table, plain),
        ),
        *ties(table, plain),
        "",
        *compared(table, {"default": plain}),
        "",
        "Slowdown, and correlation in brackets, for each kernel and size:",
        "",
        *by_kernel(table, plain),
        "",
        UNITS,
        *compared(table, predictions),
        "",
        FAULT,
        *compared(table, {"default": plain} | learnt),
        "",
        CAUSES,
        "Choices with a slowdown above 15 %:",
        "",
        *worst(table, plain, 1.15),
        "",
        "Each time is a single measurement. For `Convolution2D_kernel` at size 64, one shape has",
        "0.0046 ms, all others 0.0110 ms or more.",
    ]
    return "\n".join(lines) + "\n"


def verdict(table: pd.DataFrame, predicted: np.ndarray) -> str:
    """Return a list that says for which sizes the goal is met."""
    told = []
    for sizes, where in (
        (PUBLISHED, "for sizes with published inputs"),
        (LARGE, "for the two large sizes with extrapolated inputs"),
        ((*PUBLISHED, *LARGE), "for all sizes"),
    ):
        slow = [group.slowdown for group in groups(table, predicted, sizes)]
        half, most = np.quantile(slow, 0.5), np.quantile(slow, 0.9)
        met = "met" if half <= 1.03 and most <= 1.15 else "missed"
        told.append(f"* {met} {where}: {half:.3f} and {most:.3f}")
    return "\n".join(told)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(page(Path(sys.argv[1])), end="")
