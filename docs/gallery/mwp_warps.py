"""Requests that a workload asks for against those the bandwidth allows (Hong 2012, Fig. 124).

Where a rising line meets a level there are as many warps as the bandwidth of that many active
multiprocessors feeds.
"""

import dse
from dse import plots

axes = {"workload": ["cmem", "dmadd"], "active_sms": [8, 12, 16], "warps_per_sm": range(1, 49)}
study = dse.Study(model="throughput", machine="gtx580", axes=axes, outputs=["mwp"])
figure = plots.mwp(study, quantity=["mwp_bw", "mwp_app"]).figure
figure.savefig("mwp_warps.png")
