"""Work shared between a CPU and a GPU in proportion to their throughput (Hong 2012, §5.9).

``cpu_flops`` and ``gpu_flops`` are the ``flops`` of the model ``throughput`` for each machine. The
thesis ignores the transfer of data. Here the time to transfer all data, ``transfer_time``, is
multiplied by the GPU's share. Give ``gpu_share`` to evaluate another share. For the energy, give
the power of each device while it works.
"""

from symbolic.equation import Validity, equation
from symbolic.models import energy_speedup
from symbolic.ops import divide, maximum, minimum

OUTPUTS = ("gpu_share", "cpu_share", "time", "sharing_gain")
VALIDITY = Validity(statement="any two devices: the rates that both attain are given")


@equation(source="Hong 2012, §5.9")
def cpu_full_time(work_flops, cpu_flops):
    """Time that the CPU takes for all the work. [s]"""
    return work_flops / cpu_flops


@equation(source="Hong 2012, §5.9, with the transfer")
def gpu_full_time(work_flops, gpu_flops, transfer_time):
    """Time that the GPU takes for all the work, after the transfer of all data. [s]"""
    return work_flops / gpu_flops + transfer_time


gpu_share = energy_speedup.best_speed_share.copy_as(
    *("gpu_share", "cpu_full_time", "gpu_full_time"), source="Hong 2012, §5.9 and Fig. 147"
)


@equation(source="Hong 2012, Fig. 147")
def cpu_share(gpu_share):
    """Share of the work that the CPU does. [ratio]"""
    return 1 - gpu_share


cpu_time = energy_speedup.cpu_time
gpu_time = energy_speedup.gpu_time


@equation(source="Hong 2012, §5.9")
def time(cpu_time, gpu_time):
    """Time until both devices have finished. [s]"""
    return maximum(cpu_time, gpu_time)


@equation(source="Hong 2012, Eqs. 107 and 112, over the time of both")
def power(cpu_full_power, cpu_time, gpu_full_power, gpu_time, time, system_power):
    """Mean power until both devices have finished; each draws power only while it works. [W]"""
    work = cpu_full_power * cpu_time + gpu_full_power * gpu_time
    return divide(work, time, at_zero=0.0) + system_power


@equation(source="Hong 2012, Fig. 148")
def sharing_gain(cpu_full_time, gpu_full_time, time):
    """Speed-up compared with the faster device alone; a bad share gives less than 1. [ratio]"""
    return divide(minimum(cpu_full_time, gpu_full_time), time, at_zero=1.0)
