"""A launch: the law of its time, where the work of a block is random and slots take it in turn.

Blocks go to whichever slot is free first; a block takes as long as its longest warp, a warp as long
as its longest lane. ``launch_time`` has a law: ask ``mean``, ``std``, ``quantile``, ``cvar`` or
``chance`` of it, which are answered exactly, without draws. ``distribution`` is the law of the work
of one item, in steps. One step takes ``step_cycles``, of a model of the kernel where one is joined.

With ``sharing = "none"`` slots do not slow each other down: the time of a step is that of a full
machine to the end, and the law is exact. With ``sharing = "rate"`` the case decides: where more
warps are resident than run at full rate, ``warp_parallelism`` of them, each of n running warps goes
at the rate min(1, warp_parallelism / n), and the launch is simulated; ``error(...)`` of a statistic
tells within what. The laws themselves are computed outside, as those of ``imbalance`` are.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.model import Guide, Validity
from symbolic.models import _shared
from symbolic.models.imbalance import require_law, work_mean
from symbolic.ops import ceil, divide, floor, where

OUTPUTS = (
    "launch_time_mean",
    "launch_time_std",
    "tail_idle_share",
    "lane_idle_share",
    "warp_idle_share",
    "waves_time",
)
VALIDITY = Validity(
    statement="a law of blocks on slots, of any machine that starts a block where one ends"
)

ADVICE = Guide(
    state="launch_time_mean",
    goal="launch_time_mean",
    limits="launch_time_mean",
    helps="",
    show=("tail_idle_share", "lane_idle_share", "warp_idle_share"),
    notes={
        "dispatch=hardware": "dse launch tells what sorting, splitting, granularity, smaller "
        "blocks and persistence would gain",
    },
)

WALD_SOURCE = "Wald: mean steps of all slots"
SHARED = (_shared.blocks, _shared.warps_per_block, work_mean)


# --- what is launched


@equation(source="items cut into equal pieces and a rest", table=True)
def piece_law(distribution, piece_length, piece_overhead):
    """The law of the work of a piece of an item; of the item itself where it is not cut."""
    return require_law(distribution).pieces(piece_length, piece_overhead)[0]


@equation(source="items cut into equal pieces and a rest", table=True)
def pieces_per_item(distribution, piece_length, piece_overhead):
    """Pieces that an item is cut into, on average. [ratio]"""
    return require_law(distribution).pieces(piece_length, piece_overhead)[1]


@equation(source="pieces are dealt out far from one another")
def alike_pieces(alike, piece_length):
    """Probability that an item repeats its neighbour as it is launched; pieces never do. [ratio]"""
    return where(piece_length > 0, 0.0, alike)


@equation(source="Swatman 2022, §II-B")
def lockstep_items(lanes, lanes_per_item):
    """Items that a warp works on side by side. [items]"""
    return floor(lanes / lanes_per_item)


@equation(source="as many items in each block as it has lanes for")
def launch_blocks(blocks, pieces_per_item, lanes, lockstep_items):
    """Blocks of the launch; ``blocks`` would do for items uncut, a lane for each. [blocks]"""
    return ceil(divide(blocks * pieces_per_item * lanes, lockstep_items, at_zero=1.0) - 1e-9)


@equation(source="Gilman 2020: blocks are placed wherever there is room")
def slots(active_blocks_per_sm, active_sms):
    """Blocks that the machine runs at once. [blocks]"""
    return active_blocks_per_sm * active_sms


# --- the time of a step


@equation(source="Hong 2012, Eqs. 21-27: a repetition is one block on each slot")
def step_cycles(total_cycles, repetitions, work_mean, imbalance_loss):
    """Cycles that a step of an item takes while the slots are full. [cycles]

    The model's cycles are those of blocks alike in work, of ``work_mean`` steps; the lanes' waiting
    is counted by the law, so that a loss that the cycles count already is taken out.
    """
    return divide(total_cycles, repetitions * work_mean * imbalance_loss, at_zero=0.0)


@equation(source="cycles at the clock")
def item_step_time(step_cycles, core_clock):
    """Time that a step of an item takes one lane. [s]"""
    return step_cycles / core_clock


@equation(source="Swatman 2022, §II-B")
def step_time(item_step_time, lanes_per_item, lane_overhead):
    """Time that a step takes where lanes share an item and each further one adds work. [s]"""
    return item_step_time * (1 + (lanes_per_item - 1) * lane_overhead) / lanes_per_item


# --- the law of the steps, by who deals out the work and whether warps share a rate

EXACT_SOURCE = "the law of the B-th start of independent renewal processes"
HARDWARE, LOOP, QUEUE = (
    {"dispatch": name, "sharing": "none"} for name in ("hardware", "loop", "queue")
)
RATE_SOURCE = "simulated: each of n running warps goes at the rate min(1, warp_parallelism / n)"


SHAPE_INPUTS = (
    "piece_law",
    "launch_blocks",
    "slots",
    "lockstep_items",
    "warps_per_block",
    "alike_pieces",
)
RATE_INPUTS = (*SHAPE_INPUTS, "warp_parallelism", "active_blocks_per_sm", "simulated_launches")


@equation(name="launch_steps", source=EXACT_SOURCE, table=True, when=HARDWARE, inputs=SHAPE_INPUTS)
def by_hardware(piece_law, *shape):
    """The law of the steps of a launch whose blocks go to the first free slot."""
    return require_law(piece_law).launch_law("hardware", *shape)


@equation(
    name="launch_steps",
    source="the longest of sums of equally many",
    table=True,
    when=LOOP,
    inputs=SHAPE_INPUTS,
)
def by_loop(piece_law, *shape):
    """The law of the steps where each slot has one block, which loops over its share."""
    return require_law(piece_law).launch_law("loop", *shape)


@equation(name="launch_steps", source=EXACT_SOURCE, table=True, when=QUEUE, inputs=SHAPE_INPUTS)
def by_queue(piece_law, *shape):
    """The law of the steps where warps persist and take the work of one warp at a time."""
    return require_law(piece_law).launch_law("queue", *shape)


def _rate_equation(dispatch):
    """The same where resident warps share the rate of their multiprocessor."""

    @equation(
        name="launch_steps",
        source=RATE_SOURCE,
        table=True,
        when={"dispatch": dispatch, "sharing": "rate"},
        inputs=RATE_INPUTS,
    )
    def by_rate(piece_law, *shape):
        """The law of the steps, of a full machine, where resident warps share a rate."""
        return require_law(piece_law).launch_law(dispatch, *shape)

    return by_rate.copy_as(by_rate.name, *by_rate.inputs, formula=dispatch)


hardware_by_rate, loop_by_rate, queue_by_rate = map(_rate_equation, ("hardware", "loop", "queue"))


@equation(source=EXACT_SOURCE, table=True)
def launch_steps_mean(launch_steps):
    """Mean steps of a launch. [steps]"""
    return launch_steps.mean


@equation(source=EXACT_SOURCE, table=True)
def launch_steps_std(launch_steps):
    """Standard deviation of the steps of a launch. [steps]"""
    return launch_steps.std


@equation(source=WALD_SOURCE, table=True)
def tail_idle_share(launch_steps):
    """Share of all slot time that slots wait for the end of the launch. [ratio]"""
    return launch_steps.idle.slot_share


@equation(source=WALD_SOURCE, table=True)
def lane_idle_share(launch_steps):
    """Share of all slot time that lanes wait for the longest of their warp. [ratio]"""
    return launch_steps.idle.lane_share


@equation(source=WALD_SOURCE, table=True)
def warp_idle_share(launch_steps):
    """Share of all slot time that warps wait for the longest of their block. [ratio]"""
    return launch_steps.idle.warp_share


@equation(source=WALD_SOURCE, table=True)
def working_share(launch_steps):
    """Share of all slot time that lanes work. [ratio]"""
    return launch_steps.idle.working_share


@equation(source="order statistics", table=True)
def block_steps_mean(piece_law, lockstep_items, warps_per_block, alike_pieces):
    """Mean steps of a block, its longest item. [steps]"""
    return require_law(piece_law).mean_max(lockstep_items * warps_per_block, alike_pieces)


# --- in seconds


@equation(source="steps, each of the same time")
def launch_time(launch_steps, step_time):
    """Time of a launch, which has a law: statistics of it are exact; its mean and spread. [s]

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
    """Times that the slots are filled, the last time in part. [waves]"""
    return ceil(divide(launch_blocks, slots, at_zero=0.0))


@equation(source="wave quantisation")
def waves_time(launch_waves, block_steps_mean, step_time):
    """Waves times the mean time of a block: exact where work is constant, else no law. [s]"""
    return launch_waves * block_steps_mean * step_time


@equation(source="no slot ever waits")
def work_bound_time(launch_time_mean, tail_idle_share):
    """Time in which slots that never wait do all blocks; no mean is shorter. [s]"""
    return launch_time_mean * (1 - tail_idle_share)


# --- what it costs: the time that slots wait, and energy


@equation(source="Wald: mean steps of all slots")
def idle_slot_time(slots, launch_time_mean, tail_idle_share):
    """Time that all slots wait for the end of the launch, in sum. [s]"""
    return slots * launch_time_mean * tail_idle_share


@equation(source="power times time")
def idle_energy(idle_slot_time, idle_power, slots, idle_slot_power):
    """Energy drawn for slots that wait: their share of the idle power, and what they draw. [J]"""
    return idle_slot_time * (divide(idle_power, slots, at_zero=0.0) + idle_slot_power)


@equation(source="power times time; what is beyond idle is in proportion to the slots at work")
def launch_energy_mean(
    idle_power, runtime_power, launch_time_mean, tail_idle_share, idle_slot_time, idle_slot_power
):
    """Mean energy of a launch. [J]"""
    working = runtime_power * (1 - tail_idle_share) * launch_time_mean
    return working + idle_power * launch_time_mean + idle_slot_power * idle_slot_time
