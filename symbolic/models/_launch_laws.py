"""The law of the steps of a launch, by who deals out the work and whether warps share a rate."""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.models.imbalance import law_behind

EXACT = "the law of the B-th start of independent renewal processes"
HARDWARE, LOOP, QUEUE = (
    {"dispatch": name, "sharing": "none"} for name in ("hardware", "loop", "queue")
)
RATE = "simulated: each of n running warps goes at the rate min(1, warp_parallelism / n)"


def _law(dispatch, piece_law, *shape):
    return law_behind(piece_law).launched(dispatch, *shape)


@equation(name="launch_steps", source=EXACT, table=True, when=HARDWARE)
def by_hardware(piece_law, launch_blocks, slots, lockstep_items, warps_per_block, alike_pieces):
    """The law of the steps of a launch whose blocks go to the first free slot."""
    shape = launch_blocks, slots, lockstep_items, warps_per_block, alike_pieces
    return _law("hardware", piece_law, *shape)


@equation(name="launch_steps", source="the longest of sums of equally many", table=True, when=LOOP)
def by_loop(piece_law, launch_blocks, slots, lockstep_items, warps_per_block, alike_pieces):
    """The law of the steps where each slot has one block, which loops over its share."""
    shape = launch_blocks, slots, lockstep_items, warps_per_block, alike_pieces
    return _law("loop", piece_law, *shape)


@equation(name="launch_steps", source=EXACT, table=True, when=QUEUE)
def by_queue(piece_law, launch_blocks, slots, lockstep_items, warps_per_block, alike_pieces):
    """The law of the steps where warps persist and take the work of one warp at a time."""
    shape = launch_blocks, slots, lockstep_items, warps_per_block, alike_pieces
    return _law("queue", piece_law, *shape)


def _by_rate(dispatch):
    """The same where resident warps share the rate of their multiprocessor."""

    @equation(
        name="launch_steps",
        source=RATE,
        table=True,
        when={"dispatch": dispatch, "sharing": "rate"},
    )
    def by_rate(
        piece_law,
        launch_blocks,
        slots,
        lockstep_items,
        warps_per_block,
        alike_pieces,
        warp_parallelism,
        active_blocks_per_sm,
        simulated_launches,
    ):
        """The law of the steps, of a full machine, where resident warps share a rate."""
        shape = launch_blocks, slots, lockstep_items, warps_per_block, alike_pieces
        rate = warp_parallelism, active_blocks_per_sm, simulated_launches
        return _law(dispatch, piece_law, *shape, *rate)

    return by_rate.of(by_rate.name, *by_rate.inputs, formula=dispatch)


hardware_by_rate, loop_by_rate, queue_by_rate = map(_by_rate, ("hardware", "loop", "queue"))

EQUATIONS = (by_hardware, by_loop, by_queue, hardware_by_rate, loop_by_rate, queue_by_rate)
