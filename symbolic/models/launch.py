"""The probability law of a launch's time, for blocks with random work on slots.

Blocks go to the first free slot. A block takes as long as its longest warp, and a warp as long as
its longest lane. ``launch_time`` is a random quantity: ask for its ``mean``, ``std``, ``quantile``,
``cvar`` or ``chance``. These are computed exactly, without draws. ``distribution`` is the law of
the work of one item, in steps. A joined kernel model computes ``step_cycles``, the cycles of a
step.

With ``sharing = "none"``, slots do not slow each other down: until the end, a step takes as long as
on a full machine, and the law is exact. With ``sharing = "rate"``, each of n running warps has the
rate min(1, warp_parallelism / n). Then the launch is simulated, and ``error(...)`` gives the error
of a statistic. As in ``imbalance``, the text object ``distribution`` computes the laws.
"""

from symbolic.equation import equation
from symbolic.model import Guide, Validity
from symbolic.models import _shared
from symbolic.models.imbalance import require_law, work_mean
from symbolic.ops import ceil, divide, floor, where

OUTPUTS = (
    "launch_time_mean", "launch_time_std", "tail_idle_share", "lane_idle_share", "warp_idle_share",
    "waves_time",
)  # fmt: skip
VALIDITY = Validity(
    statement="a law of blocks on slots, for any machine that starts a block when one ends"
)

ADVICE = Guide(
    state="launch_time_mean",
    goal="launch_time_mean",
    limits="launch_time_mean",
    helps="",
    show=("tail_idle_share", "lane_idle_share", "warp_idle_share"),
    notes={
        "dispatch=hardware": "dse launch shows the gain of sorting, splitting, granularity, "
        "smaller blocks and persistence"
    },
)

WALD_SOURCE = "Wald: mean steps of all slots"
SHARED = (_shared.blocks, _shared.warps_per_block, work_mean)


@equation(source="items cut into equal pieces and a rest", table=True)
def piece_law(distribution, piece_length, piece_overhead):
    """The law of the work of a piece of an item, or of a whole item if items are not cut."""
    return require_law(distribution).pieces(piece_length, piece_overhead)[0]


@equation(source="items cut into equal pieces and a rest", table=True)
def pieces_per_item(distribution, piece_length, piece_overhead):
    """Mean number of pieces of an item. [ratio]"""
    return require_law(distribution).pieces(piece_length, piece_overhead)[1]


@equation(source="pieces are distributed far apart", inputs=("alike", "piece_length"))
def alike_pieces(correlation, piece_length):
    """Probability that an item has the same work as the previous item; 0 for pieces. [ratio]"""
    return where(piece_length > 0, 0.0, correlation)


@equation(source="Swatman 2022, §II-B")
def lockstep_items(lanes, lanes_per_item):
    """Number of items that a warp processes in lockstep. [items]"""
    return floor(lanes / lanes_per_item)


@equation(source="as many items in each block as it has lanes for")
def launch_blocks(blocks, pieces_per_item, lanes, lockstep_items):
    """Number of blocks; it equals ``blocks`` if each lane has one uncut item. [blocks]"""
    return ceil(divide(blocks * pieces_per_item * lanes, lockstep_items, at_zero=1.0) - 1e-9)


@equation(source="Gilman 2020: blocks are placed wherever there is room")
def slots(active_blocks_per_sm, active_sms):
    """Number of blocks that the machine runs at once. [blocks]"""
    return active_blocks_per_sm * active_sms


@equation(source="Hong 2012, Eqs. 21-27: a repetition is one block on each slot")
def step_cycles(total_cycles, repetitions, work_mean, imbalance_loss):
    """Cycles of a step of an item while all slots are occupied. [cycles]

    The kernel's model gives cycles for blocks with equal work of ``work_mean`` steps. These cycles
    contain the loss from waiting lanes (``imbalance_loss``). The law contains the same waiting, so
    we divide the cycles by the loss.
    """
    return divide(total_cycles, repetitions * work_mean * imbalance_loss, at_zero=0.0)


@equation(source="cycles at the clock")
def item_step_time(step_cycles, core_clock):
    """Time of a step if one lane processes an item. [s]"""
    return step_cycles / core_clock


@equation(source="Swatman 2022, §II-B")
def step_time(item_step_time, lanes_per_item, lane_overhead):
    """Time of a step if several lanes share an item; each further lane adds overhead. [s]"""
    return item_step_time * (1 + (lanes_per_item - 1) * lane_overhead) / lanes_per_item


EXACT_SOURCE = "the law of the B-th start of independent renewal processes"
HARDWARE, LOOP, QUEUE = ({"dispatch": d, "sharing": "none"} for d in ("hardware", "loop", "queue"))
RATE_SOURCE = "simulated: each of n running warps goes at the rate min(1, warp_parallelism / n)"

SHAPE_INPUTS = (
    "piece_law", "launch_blocks", "slots", "lockstep_items", "warps_per_block", "alike_pieces",
)  # fmt: skip
RATE_INPUTS = (*SHAPE_INPUTS, "warp_parallelism", "active_blocks_per_sm", "simulated_launches")


@equation(name="launch_steps", source=EXACT_SOURCE, table=True, when=HARDWARE, inputs=SHAPE_INPUTS)
def by_hardware(piece_law, *shape):
    """The law of the number of steps if each block goes to the first free slot."""
    return require_law(piece_law).launch_law("hardware", *shape)


@equation(
    name="launch_steps",
    source="the longest of sums of equally many",
    table=True,
    when=LOOP,
    inputs=SHAPE_INPUTS,
)
def by_loop(piece_law, *shape):
    """The law of the number of steps if each slot has one block, which loops over many items."""
    return require_law(piece_law).launch_law("loop", *shape)


@equation(name="launch_steps", source=EXACT_SOURCE, table=True, when=QUEUE, inputs=SHAPE_INPUTS)
def by_queue(piece_law, *shape):
    """The law of the number of steps if persistent warps take work from a queue."""
    return require_law(piece_law).launch_law("queue", *shape)


def _rate_equation(dispatch):
    @equation(
        name="launch_steps",
        source=RATE_SOURCE,
        table=True,
        when={"dispatch": dispatch, "sharing": "rate"},
        inputs=RATE_INPUTS,
    )
    def by_rate(piece_law, *shape):
        """The law of the time of a launch if warps share a rate, in steps on a full machine."""
        return require_law(piece_law).launch_law(dispatch, *shape)

    return by_rate.copy_as(by_rate.name, *by_rate.inputs, formula=dispatch)


hardware_by_rate, loop_by_rate, queue_by_rate = map(_rate_equation, ("hardware", "loop", "queue"))


@equation(source=EXACT_SOURCE, table=True)
def launch_steps_mean(launch_steps):
    """Mean number of steps of a launch. [steps]"""
    return launch_steps.mean


@equation(source=EXACT_SOURCE, table=True)
def launch_steps_std(launch_steps):
    """Standard deviation of the number of steps of a launch. [steps]"""
    return launch_steps.std


@equation(source=WALD_SOURCE, table=True)
def tail_idle_share(launch_steps):
    """Share of all slots' time in which slots wait for the end of the launch. [ratio]"""
    return launch_steps.idle.slot_share


@equation(source=WALD_SOURCE, table=True)
def lane_idle_share(launch_steps):
    """Share of all slots' time in which lanes wait for the longest lane of their warp. [ratio]"""
    return launch_steps.idle.lane_share


@equation(source=WALD_SOURCE, table=True)
def warp_idle_share(launch_steps):
    """Share of all slots' time in which warps wait for the longest warp of their block. [ratio]"""
    return launch_steps.idle.warp_share


@equation(source=WALD_SOURCE, table=True)
def working_share(launch_steps):
    """Share of all slots' time in which lanes work. [ratio]"""
    return launch_steps.idle.working_share


@equation(source="order statistics", table=True)
def block_steps_mean(piece_law, lockstep_items, warps_per_block, alike_pieces):
    """Mean number of steps of a block: that of the block's longest item. [steps]"""
    return require_law(piece_law).mean_max(lockstep_items * warps_per_block, alike_pieces)


@equation(source="steps, each of the same time")
def launch_time(launch_steps, step_time):
    """Time of a launch as a law (or the mean or standard deviation of that time). [s]

    >>> launch_time_mean(1000.0, 0.5), launch_time_std(50.0, 0.5)
    (500.0, 25.0)
    """
    return launch_steps * step_time


launch_time_mean, launch_time_std = (
    launch_time.copy_as(f"launch_time_{kind}", f"launch_steps_{kind}", "step_time")
    for kind in ("mean", "std")
)


@equation(source="wave quantisation")
def launch_waves(launch_blocks, slots):
    """Number of waves that fill the slots; a partial last wave counts in full. [waves]"""
    return ceil(divide(launch_blocks, slots, at_zero=0.0))


@equation(source="wave quantisation")
def waves_time(launch_waves, block_steps_mean, step_time):
    """Time of the waves if all blocks take the mean time; exact if all work is equal. [s]"""
    return launch_waves * block_steps_mean * step_time


@equation(source="no slot ever waits")
def work_bound_time(launch_time_mean, tail_idle_share):
    """Time of the launch if no slot ever waits: a lower bound on the mean time. [s]"""
    return launch_time_mean * (1 - tail_idle_share)


@equation(source="Wald: mean steps of all slots")
def idle_slot_time(slots, launch_time_mean, tail_idle_share):
    """Time in which slots wait for the end of the launch, summed over all slots. [s]"""
    return slots * launch_time_mean * tail_idle_share


@equation(source="power times time")
def idle_energy(idle_slot_time, idle_power, slots, idle_slot_power):
    """Energy of waiting slots: their share of the idle power, and ``idle_slot_power``. [J]"""
    return idle_slot_time * (divide(idle_power, slots, at_zero=0.0) + idle_slot_power)


@equation(source="power times time; what is beyond idle is in proportion to the slots at work")
def launch_energy_mean(
    idle_power, runtime_power, launch_time_mean, tail_idle_share, idle_slot_time, idle_slot_power
):
    """Mean energy of a launch. [J]"""
    working = runtime_power * (1 - tail_idle_share) * launch_time_mean
    return working + idle_power * launch_time_mean + idle_slot_power * idle_slot_time
