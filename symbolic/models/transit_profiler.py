"""Inputs of Transit from a profiler's counters, and comparison with its measurements (Li 2015, §3).

Join with ``transit``, and with ``occupancy`` for the threads n of a launch. The model counts
instructions and requests of threads on one multiprocessor. Profilers count instructions of warps,
and bytes, of the whole GPU; the first three equations convert these counts. If ``kernel_time`` is
given, the prediction is compared with the measurement: PCT, RCT and the star of Figs. 18 and 19, at
the ``core_clock`` of the measurement.
"""

import math

from symbolic.equation import Validity, equation
from symbolic.ops import absolute, divide

OUTPUTS = ("threads", "intensity")
VALIDITY = Validity(statement="a machine of two units, whose curves are measured at hand")

#: The model does not cover a workload that never accesses DRAM.
RULES = ("dram_reads + dram_writes > 0",)


@equation(source="Li 2015, §3")
def issued_insts(issued_warp_insts, warp_size, active_sms):
    """Instructions of threads on one multiprocessor, idle lanes included. [instructions]"""
    return issued_warp_insts * warp_size / active_sms


@equation(source="Li 2015, §3")
def dram_reads(dram_read_bytes, request_bytes, active_sms):
    """Requests to DRAM of the threads of one multiprocessor. [requests]"""
    return dram_read_bytes / (request_bytes * active_sms)


dram_writes = dram_reads.copy_as("dram_writes", "dram_write_bytes", "request_bytes", "active_sms")


@equation(source="Li 2015, §3", symbol="n")
def threads(occupancy, max_threads_per_sm):
    """Number of threads of one multiprocessor: occupancy × maximum number of threads. [threads]"""
    return occupancy * max_threads_per_sm


@equation(source="Li 2015, §3", symbol="Z")
def intensity(issued_insts, dram_reads, dram_writes):
    """Cycles of issued instructions per DRAM access; an instruction is one cycle. [cycles]"""
    return divide(issued_insts, dram_reads + dram_writes, at_zero=math.inf)


@equation(source="Li 2015, Figs. 18-19")
def measured_ms_throughput(dram_reads, dram_writes, kernel_time, core_clock):
    """Measured requests per cycle of the memory system: the star in Fig. 18. [1/cycle]"""
    return (dram_reads + dram_writes) / (kernel_time * core_clock)


@equation(source="Li 2015, Figs. 18-19", symbol="PCT")
def predicted_flops(cs_throughput, core_clock):
    """Predicted operations per second of one multiprocessor. [1/s]"""
    return cs_throughput * core_clock


@equation(source="Li 2015, Figs. 18-19", symbol="RCT")
def measured_flops(issued_insts, kernel_time):
    """Measured operations per second of one multiprocessor. [1/s]"""
    return issued_insts / kernel_time


@equation(source="Li 2015, §3")
def prediction_accuracy(predicted_flops, measured_flops):
    """1 minus the relative error of the predicted computation throughput. [ratio]

    The paper gives the means 90.4 % (C2075) and 82.6 % (GTX 690) over Rodinia without three
    outliers, but no definition.
    """
    error = absolute(predicted_flops - measured_flops)
    return 1 - divide(error, measured_flops, at_zero=math.inf)
