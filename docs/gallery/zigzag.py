"""The scheduling zigzag of a GTX480 (Ma 2014, Fig. 1).

A last pass that fills few of the 15 multiprocessors costs as much as a full one: run time is least
at every multiple of 15 blocks, and the more passes there are, the less it matters.
"""

import dse
from dse import plots

axes = {"active_blocks_per_sm": [1, 4], "blocks": range(15, 241)}
study = dse.Study(model="tmm", machine="gtx480", axes=axes, outputs=["sched_factor"])
figure = plots.zigzag(study).figure
figure.savefig("zigzag.png")
