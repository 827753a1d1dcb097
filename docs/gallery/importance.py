"""Change of the energy of the tiled matrix product on a GTX280 for 1 % of each input.

The two directions differ at a limit: no more than 30 multiprocessors can be in use.
"""

import dse
from dse import plots

axes = {
    "active_sms": range(15, 31),
    "core_clock": {"start": "0.6 GHz", "stop": "1.5 GHz", "step": "100 MHz"},
}
study = dse.Study(
    model="ipp", machine="gtx280", workload="mat_tiled", axes=axes, set={"threads_per_block": 144}
)
figure = plots.importance(study, "energy", at={"active_sms": 30, "core_clock": "1.2 GHz"}).figure
figure.savefig("importance.png")
