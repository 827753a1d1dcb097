"""Temperature of a GTX280 that works and then cools down (Hong 2012, Fig. 38).

More multiprocessors draw more power and reach a higher temperature. It settles within three minutes
in all cases.
"""

import dse
from dse import plots

axes = {"active_sms": [1, 10, 30], "elapsed": range(0, 301, 2)}
entries = {"machine": "gtx280", "workload": "svm", "set": {"threads_per_block": 256}}
study = dse.Study(model="ipp + temperature", axes=axes, outputs=["temperature"], **entries)
figure = plots.temperature(study).figure
figure.savefig("temperature.png")
