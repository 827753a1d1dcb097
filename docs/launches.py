"""Which launch the model would choose, and what it costs; prints ``docs/launches.md``.

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
    "as by default": (True, {}),
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
    """Every launch that was measured, with the inputs of the model where they are known."""
    names = ("measured_times", "published_evaluations")
    files = [folder / "mwp_cwp" / f"{name}_gtx1080ti.csv" for name in names]
    times, inputs = (pd.read_csv(file).rename(columns=RENAMED) for file in files)
    inputs = inputs[[*LAUNCH, "transactions", *GIVEN]]
    table = times[[*LAUNCH, "ms"]].merge(inputs, how="left", on=LAUNCH).astype({"ms": float})
    table = table.fillna(on_the_line(times[LAUNCH], inputs))
    return table.sort_values(LAUNCH, ignore_index=True)


def on_the_line(launches: pd.DataFrame, inputs: pd.DataFrame) -> pd.DataFrame:
    """The inputs of each launch, from those of the same block at two sizes.

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
    """Predicted time of each launch; NaN where its inputs are not known.

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
    """The launches of one kernel at one size, in the order of the axes block_x and block_y."""

    kernel: str
    n: int
    shapes: Sequence[tuple[int, int]]
    measured: np.ndarray
    predicted: np.ndarray

    @cached_property
    def equal(self) -> np.ndarray:
        """Those that the model calls best, the first of which is chosen."""
        return np.flatnonzero(self.predicted <= np.nanmin(self.predicted) * (1 + SAME))

    @property
    def slowdown(self) -> float:
        """Time of the choice over the best measured."""
        return float(self.measured[self.equal[0]] / self.measured.min())

    def slowdown_in(self, order: Callable[[tuple[int, int]], tuple[int, int]]) -> float:
        """As of the choice, if the equally good ones were taken in another order."""
        taken = min(self.equal, key=lambda at: order(self.shapes[int(at)]))
        return float(self.measured[taken] / self.measured.min())

    @property
    def slowdown_of_equal(self) -> float:
        """As of the choice, if one of those that are equally good were drawn."""
        return float(self.measured[self.equal].mean() / self.measured.min())

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation; NaN where the prediction is the same for all."""
        known = np.isfinite(self.predicted)
        ranks = [pd.Series(x[known]).rank() for x in (self.predicted, self.measured)]
        return float(ranks[0].corr(ranks[1]))


def groups(table: pd.DataFrame, predicted: np.ndarray, sizes: Sequence[int]) -> list[Group]:
    """Each kernel at each of some sizes, where anything is predicted."""
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
    """The prediction times what it missed by, in the mean, where ``by`` is the same.

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
    """What each term of the model varies with, among the launches of a kernel at one size."""
    threads = table.block_x * table.block_y
    return {
        "transactions: the shape of a warp": np.minimum(table.block_x, WARP),
        "residency: the threads of a block": threads,
        "both": np.minimum(table.block_x, WARP) + threads * (WARP + 1),
    }


# --- the page

HEAD = """\
# Launches chosen by the model, and measured

Generated by `python docs/launches.py ../shared/data > docs/launches.md`. Data: `mwp_cwp`,
orcca-uwo/KLARAPTOR at commit 0e635fc, which is no part of this project: {launches} times of
{kernels} kernels on a GTX 1080 Ti, each shape of block measured once, and the inputs of MWP-CWP
for four sizes. The counts of a thread are linear in the size, so that those of other sizes lie
on a line through {low} and {high}; where that can be checked, at 64 and 128, {off} of {counts}
counts are off by more than 1 %, none by more than {most:.1f} %. Of {unknown} launches the
inputs are not known: they are never chosen, but may be the best measured.

*Slowdown* is the measured time of the launch that the model calls best over the least measured
of its kernel and size. To the model several launches are often equally good; the first in the
order of the axes, `block_x` and `block_y`, is chosen. In brackets: the mean over all that are
equally good. *Correlation* is Spearman's, between predicted and measured times.

The goal is a slowdown of 1.03 in the median and of 1.15 in the 90th percentile:

{verdict}

Where it is met, it is so by the order in which equally good launches are taken, in which the
model has no say:
"""

UNITS = """\
## Units and switches

#Uncoal_per_mw is the number of transactions of *one* memory instruction (Hong 2012, Table 1).
The file has that of all of a warp's together, up to tens of thousands, where an instruction of
32 lanes needs 32 at most. "By default" divides it by the memory instructions and leaves every
switch alone; the other rows show what the unit and the switches are worth. All rows were seen
before one of them was called the default.
"""

FAULT = """\
## Which term is at fault

In each row a factor stands in for what a term misses: one for each value of what the term
varies with, learnt as a mean from the *other* sizes of the same kernel, so that nothing is
learnt from what is predicted. Where a term is at fault, both the choice and the order get
better by its factor.
"""

CAUSES = """\
At large sizes the transactions are the likeliest at fault, an input, and not how the model
overlaps them: with a factor for the shape of a warp, with which they vary, those sizes meet the
goal whichever of the equally good is taken, and the order is right throughout; at small ones
the factor does not help. The file counts the same for all
blocks of 16 lanes or more, so that of the matrix products more than 20 launches are equally
good, whose measured times differ by a third. Of SYR2K it counts the fewer the wider a block is,
though wide blocks take several times as long, as if lanes beside one another read different
rows. A factor for the threads of a block, with which residency, MWP's limit N and the waves
vary, also leads to a good choice at large sizes, for it tells blocks of one warp from others,
but the order gets worse.

Waves counted in full (`waves = "whole"`) are right for small grids and wrong for large ones.
They prefer blocks of one warp, of which 32 are resident and not 64: by Eq. 22 it does not
matter how many wait once MWP is below their number, and measured it does.
"""


def summary(found: Sequence[Group]) -> list[str]:
    """Cells: kernels and sizes, slowdown in the median and 90th percentile, correlation."""
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
    """A table of predictions, those of published inputs and of large sizes apart."""
    yield "| prediction | sizes | groups | median | 90th percentile | correlation | its 10th |"
    yield "|---|---|---|---|---|---|---|"
    for name, predicted in predictions.items():
        for sizes in (PUBLISHED, LARGE):
            cells = summary(groups(table, predicted, sizes))
            yield f"| {name} | {sizes[0]} to {sizes[-1]} | {' | '.join(cells)} |"


def ties(table: pd.DataFrame, predicted: np.ndarray) -> Iterator[str]:
    """What the order of equally good launches does to the slowdown."""
    yield "| of equally good ones, the first by | sizes | median | 90th percentile |"
    yield "|---|---|---|---|"
    for name, order in ORDERS.items():
        for sizes in (PUBLISHED, LARGE):
            slow = [one.slowdown_in(order) for one in groups(table, predicted, sizes)]
            half, most = np.quantile(slow, 0.5), np.quantile(slow, 0.9)
            yield f"| {name} | {sizes[0]} to {sizes[-1]} | {half:.3f} | {most:.3f} |"


def by_kernel(table: pd.DataFrame, predicted: np.ndarray) -> Iterator[str]:
    """Slowdown and correlation of each kernel at each size."""
    sizes = sorted({*PUBLISHED, *LARGE})
    found = {(one.kernel, one.n): one for one in groups(table, predicted, sizes)}
    yield f"| kernel | {' | '.join(map(str, sizes))} |"
    yield "|" + "---|" * (1 + len(sizes))
    for kernel in dict.fromkeys(kernel for kernel, _ in found):
        of = [found[kernel, n] for n in sizes]
        cells = [f"{one.slowdown:.2f} ({one.correlation:.2f})" for one in of]
        yield f"| `{kernel}` | {' | '.join(cells)} |"


def worst(table: pd.DataFrame, predicted: np.ndarray, above: float) -> Iterator[str]:
    """The choices that cost the most."""
    yield "| kernel | size | slowdown | chosen | equally good | best measured | it is predicted |"
    yield "|---|---|---|---|---|---|---|"
    found = groups(table, predicted, (*PUBLISHED, *LARGE))
    for one in sorted(found, key=lambda group: -group.slowdown):
        if one.slowdown > above:
            best, chosen = one.measured.argmin(), one.equal[0]
            apart = one.predicted[best] / one.predicted[chosen] - 1
            told = "as good" if apart <= SAME else f"{apart:.2%} slower"
            told = told if np.isfinite(apart) else "not at all"
            shapes = [f"{x} × {y}" for x, y in (one.shapes[int(at)] for at in (chosen, best))]
            cells = [one.n, f"{one.slowdown:.2f}", shapes[0], len(one.equal), shapes[1], told]
            yield f"| `{one.kernel}` | {' | '.join(map(str, cells))} |"


def line_errors(table: pd.DataFrame, folder: Path) -> np.ndarray:
    """How far the line misses published counts at the sizes through which it is not drawn."""
    path = folder / "mwp_cwp" / "published_evaluations_gtx1080ti.csv"
    inputs = pd.read_csv(path).rename(columns=RENAMED)
    inputs = inputs.merge(table[LAUNCH], on=LAUNCH)
    inputs = inputs[~inputs.n.isin(LINE)].reset_index(drop=True)
    whole = pd.read_csv(path).rename(columns=RENAMED)
    found = on_the_line(inputs[LAUNCH], whole)
    errors: np.ndarray = (found[COUNTS] / inputs[COUNTS] - 1).abs().to_numpy()
    return errors[np.isfinite(errors)]


def page(folder: Path) -> str:
    """The whole page."""
    table = read(folder)
    predictions = {
        name: predict(table, each=each, **switches) for name, (each, switches) in VARIANTS.items()
    }
    plain = predictions["as by default"]
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
        *compared(table, {"as by default": plain}),
        "",
        "Slowdown, and correlation in brackets, of each kernel at each size:",
        "",
        *by_kernel(table, plain),
        "",
        UNITS,
        *compared(table, predictions),
        "",
        FAULT,
        *compared(table, {"as by default": plain} | learnt),
        "",
        CAUSES,
        "The choices that cost more than 15 %:",
        "",
        *worst(table, plain, 1.15),
        "",
        "The times are single readings: of `Convolution2D_kernel` at size 64 one shape is read at",
        "0.0046 ms, where all others take 0.0110 ms and more.",
    ]
    return "\n".join(lines) + "\n"


def verdict(table: pd.DataFrame, predicted: np.ndarray) -> str:
    """Whether the goal is met, and where."""
    told = []
    for sizes, where in (
        (PUBLISHED, "on the sizes whose inputs are published"),
        (LARGE, "on the two large ones, whose inputs lie on the line"),
        ((*PUBLISHED, *LARGE), "on all"),
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
