"""Run time of all-pairs shortest paths on a GTX480, calibrated model (Ma 2014, Figs. 2-4).

Over the root of the blocks divided by the threads of a core, all runs lie on one line until latency
is hidden. Larger sub-blocks get there with fewer threads.
"""

import dse
from dse import plots
from dse.plots.axes import new_figure

TITLES = {
    "root_blocks_per_thread": "all runs on one line, until latency is hidden",
    "threads_per_core": "more threads hide it",
    "blocks": "larger sub-blocks make fewer blocks",
}

axes = {"tile_dim": [16, 32, 64], "threads_per_core": [1, 2, 4, 8, 16, 32, 48]}
entries = {"machine": "gtx480", "workload": "apsp", "outputs": ["time"]}
study = dse.Study(model="apsp + tmm_calibrated", axes=axes, **entries)
figure = new_figure(15, 4.2)
for ax, x in zip(figure.subplots(1, 3), TITLES, strict=True):
    plots.runtime(study, x=x, ax=ax).set_title(TITLES[x], fontsize=10)
figure.savefig("runtime.png")
