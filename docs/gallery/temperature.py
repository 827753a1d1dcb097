"""A GTX280 heats while it works and cools when it is done (Hong 2012, Fig. 38).

More multiprocessors draw more power and settle hotter; all of them settle within three minutes.
"""

import dse
from dse import plots

axes = {"active_sms": [1, 10, 30], "elapsed": range(0, 301, 2)}
entries = {"machine": "gtx280", "workload": "svm", "set": {"threads_per_block": 256}}
study = dse.Study(model="ipp + temperature", axes=axes, outputs=["temperature"], **entries)
figure = plots.temperature(study).figure
figure.savefig("temperature.png")
