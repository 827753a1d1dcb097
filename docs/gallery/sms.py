"""Performance, power, and their ratio over active multiprocessors (Hong 2012, Fig. 34).

Left: computation is the bottleneck, so more multiprocessors are always better. Right: bandwidth is
the bottleneck, so beyond 20 or 21 of 30 multiprocessors only the power grows.
"""

import dse
from dse import plots
from dse.plots.axes import new_figure

GIVEN = {"threads_per_block": 512, "active_blocks_per_sm": 1, "elements": 1536000, "sync_insts": 0}
GIVEN |= {"coalesced_insts": 100, "uncoalesced_insts": 0, "mem_bandwidth": "120 GB/s"}

figure = new_figure(13, 4.6)
for ax, comp_insts in zip(figure.subplots(1, 2), (3000, 100), strict=True):
    values, axes = {**GIVEN, "comp_insts": comp_insts}, {"active_sms": range(1, 31)}
    plots.sms(dse.Study(model="ipp", machine="gtx280", axes=axes, set=values), ax=ax)
    ax.set_title(f"{comp_insts:,} computation instructions to 100 of memory", fontsize=10)
figure.savefig("sms.png")
