"""Draw docs/kernels-on-gpus.png from the store of `dse run examples/kernels-on-gpus.toml`.

    python docs/plot_kernels.py kernels.zarr docs/kernels-on-gpus.png

needs matplotlib: `pip install '.[docs]'`.
"""

from __future__ import annotations

import math
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING

import dse

if TYPE_CHECKING:
    import xarray as xr

#: For each GPU: its name, and what tells its line apart in grey too (colours of Okabe and Ito).
STYLES = {
    "gtx280": ("GTX 280 (2008)", "#000000", ":", "x"),
    "v100_sxm2": ("V100", "#e69f00", "-.", "s"),
    "a40": ("A40", "#009e73", "--", "^"),
    "a100_80": ("A100, 80 GB", "#0072b2", "-", "o"),
    "h100_pcie": ("H100 PCIe", "#cc79a7", "-", "D"),
}
TITLES = {
    "triad": "Triad of vectors",
    "stencil": "Stencil of five points",
    "options": "Prices of options",
    "bodies": "All pairs of bodies",
}


def draw(ds: xr.Dataset, picture: str) -> None:
    """Draw the shortest time at each clock with its 5-95 % band, one panel for each kernel."""
    from matplotlib.figure import Figure

    mean, low, high = (f"{each}(time{q})" for each, q in BANDS)
    shown = ds[[mean, low, high]].where(ds["feasible"], math.inf) * 1e3
    shortest = shown.min("threads_per_block").load()
    best = dse.optimum(ds, minimize=mean, per=["workload", "machine"])
    figure = Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True)
    for panel, workload in zip(panels.flat, ds["workload"].values.tolist(), strict=True):
        for machine, (_, color, line, marker) in STYLES.items():
            at = shortest.sel(workload=workload, machine=machine)
            at = at.where(at[mean] < math.inf, drop=True)
            clocks = at["core_clock"].values / 1e9
            panel.fill_between(clocks, at[low], at[high], color=color, alpha=0.2, lw=0)
            panel.plot(clocks, at[mean], color=color, ls=line, lw=1.8)
            chosen = best.sel(workload=workload, machine=machine)
            panel.plot(
                float(chosen["core_clock"]) / 1e9,
                float(chosen[mean]) * 1e3,
                color=color,
                marker=marker,
                ms=8,
                mec="black",
            )
        panel.set_yscale("log")
        panel.set_title(TITLES[PurePath(workload).stem], fontsize=11)
        panel.grid(alpha=0.3, which="both", lw=0.5)
    for panel in panels[:, 0]:
        panel.set_ylabel("run time [ms]")
    for panel in panels[1]:
        panel.set_xlabel("core clock [GHz]")
    handles = [
        figure.axes[0].plot([], [], color=color, ls=line, marker=marker, mec="black", label=label)[
            0
        ]
        for label, color, line, marker in STYLES.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)
    figure.suptitle("Best block size at each clock; bands hold 90 % of what is not known for sure")
    figure.savefig(picture, dpi=110)


#: Statistics of the time that are drawn.
BANDS = (("mean", ""), ("quantile", ", 0.05"), ("quantile", ", 0.95"))

if __name__ == "__main__":
    draw(dse.open(sys.argv[1]), sys.argv[2])
