"""Scheduling zigzag of a GTX480 (Ma 2014, Fig. 1).

A last pass that uses few of the 15 multiprocessors takes as long as a full one. The run time is
lowest at multiples of 15 blocks, and the effect fades as the number of passes grows.
"""

import dse
from dse import plots

axes = {"active_blocks_per_sm": [1, 4], "blocks": range(15, 241)}
study = dse.Study(model="tmm", machine="gtx480", axes=axes, outputs=["sched_factor"])
figure = plots.zigzag(study).figure
figure.savefig("zigzag.png")
