"""Limits of MWP against the number of warps, coalesced and not (Hong 2012, Figs. 21 and 22).

With few warps, their number is the limit. Coalesced, the bandwidth follows. Uncoalesced, the
departure delay follows, and the bandwidth is never reached.
"""

import dse
from dse import plots
from dse.plots.axes import new_figure

figure = new_figure(13, 4.2)
for ax, workload in zip(figure.subplots(1, 2), ("mb4_c", "mb4_uc"), strict=True):
    given = {"machine": "8800gt", "workload": workload, "outputs": ["mwp"]}
    axes = {"warps_per_sm": range(1, 25)}
    study = dse.Study(model="mwp_cwp", axes=axes, set={"threads_per_block": 32}, **given)
    plots.mwp(study, ax=ax).set(title=f"{workload} on 8800gt", yscale="log", ylim=(0.8, 150))
figure.savefig("mwp_limits.png")
