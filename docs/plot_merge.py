"""Draw docs/merge-four-gpus.png from the store that `dse run examples/merge-four-gpus.toml` writes.

    python docs/plot_merge.py merge.zarr docs/merge-four-gpus.png

needs matplotlib: `pip install '.[docs]'`.
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import dse

if TYPE_CHECKING:
    import xarray as xr

#: For each GPU: its name, and what tells its curve apart in grey too. Where two curves fall on one
#: another, the thin dashes of the second lie on the broad line of the first.
STYLES: dict[str, dict[str, Any]] = {
    "8800gtx": {"label": "8800 GTX", "color": "#e69f00", "lw": 4.5, "ls": "-", "marker": "s"},
    "fx5600": {"label": "FX 5600", "color": "#000000", "lw": 1.3, "ls": "--", "marker": "x"},
    "8800gt": {"label": "8800 GT", "color": "#56b4e9", "lw": 1.8, "ls": "-.", "marker": "^"},
    "gtx280": {"label": "GTX 280", "color": "#0072b2", "lw": 1.8, "ls": "-", "marker": "o"},
}
TITLES = {
    "sepia": "Sepia",
    "linear": "Linear",
    "svm": "SVM",
    "mat_naive": "Matrix product, naive",
    "mat_tiled": "Matrix product, tiled",
    "blackscholes": "Black-Scholes",
}


def line_of(style: dict[str, Any]) -> dict[str, Any]:
    """How the line of a GPU is drawn."""
    return {key: style[key] for key in ("color", "lw", "ls")} | {"solid_capstyle": "butt"}


def marker_of(style: dict[str, Any]) -> dict[str, Any]:
    """How the optimum of a GPU is marked."""
    edge = {"mew": 1.6} if style["marker"] == "x" else {"mec": "black", "mew": 0.9}
    return {"marker": style["marker"], "ms": 8} | edge


def draw(ds: xr.Dataset, picture: str) -> None:
    """Shortest time at each block size, a panel a benchmark; a marker where the optimum lies."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    shortest = ds["time"].where(ds["feasible"], math.inf).min(["active_sms", "core_clock"]) * 1e3
    shortest = shortest.where(shortest < math.inf).load()
    best = dse.optimum(ds, minimize="time", per=["workload", "machine"])
    figure = Figure(figsize=(10, 6.4), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True)
    for panel, workload in zip(panels.flat, ds["workload"].values.tolist(), strict=True):
        for machine, style in STYLES.items():
            curve = shortest.sel(workload=workload, machine=machine)
            winner = best.sel(workload=workload, machine=machine)
            panel.plot(curve["threads_per_block"], curve, **line_of(style))
            at = (winner["threads_per_block"], winner["time"] * 1e3)
            panel.plot(*at, **{**line_of(style), **marker_of(style), "ls": "", "zorder": 5})
        panel.set_yscale("log")
        values = shortest.sel(workload=workload)
        panel.set_ylim(float(values.min()) / 1.6, float(values.max()) * 1.6)
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.set_xticks(range(0, 513, 128))
        panel.set_xlim(0, 528)
        panel.grid(visible=True, which="major", color="0.88", lw=0.8)
        panel.set_axisbelow(True)
        panel.set_title(TITLES[workload], fontsize=11)
    for panel in panels[-1]:
        panel.set_xlabel("threads per block")
    for panel in panels[:, 0]:
        panel.set_ylabel("shortest run time [ms]")
    figure.legend(
        handles=[
            Line2D([], [], label=style["label"], **line_of(style), **marker_of(style))
            for style in STYLES.values()
        ],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        handlelength=4,
        title="marker: the best configuration of that GPU",
    )
    figure.suptitle("Merge benchmarks, best over active SMs and core clock (MWP-CWP model)")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    draw(dse.open(sys.argv[1]), sys.argv[2])
