"""Quantities of the law of a launch."""

from dataclasses import replace

from symbolic.quantity import (
    COUNT0,
    COUNT1,
    NONNEG,
    POS,
    RATIO,
    SHARE,
    Quantity,
    quantity,
    row,
    switch,
)


def _law(name: str, meaning: str) -> Quantity:
    """A quantity whose values are laws."""
    return replace(quantity(name, labels=(), meaning=meaning), law=True)


ROWS = (
    switch(
        "dispatch",
        "hardware loop queue",
        "who deals out the work: the hardware, a block to the first free slot; a loop, in which "
        "each of as many blocks as there are slots has its own share; a queue, from which warps "
        "that persist take the work of one warp at a time",
    ),
    switch(
        "sharing",
        "none rate",
        "whether warps share the rate of their multiprocessor: none, slots do not slow each other "
        "down; rate, where more are resident than run at full rate, warp_parallelism of them",
    ),
    row("simulated_launches", "", COUNT1, "launches simulated where warps share", (100, 4e3), 1000),
    row("alike", "", SHARE, "probability that an item repeats the work of its neighbour", None, 0),
    row("alike_pieces", "", SHARE, "the same of items or pieces, as they are launched", (0, 1)),
    row("lanes_per_item", "", COUNT1, "lanes that work on one item together", (1, 8), 1),
    row(
        "lane_overhead",
        "",
        NONNEG,
        "share of an item's work that each further lane on it adds",
        (0, 1),
        0,
    ),
    row("piece_length", "", COUNT0, "longest piece of an item, 0: uncut", (0, 1e3), 0),
    row("piece_overhead", "", COUNT0, "steps that each further piece adds to an item", (0, 9), 0),
    quantity("piece_law", labels=(), meaning="the law of the work of one piece of an item"),
    row("pieces_per_item", "", RATIO, "pieces that an item is cut into, on average"),
    row("lockstep_items", "", COUNT0, "items that a warp works on side by side", (1, 64)),
    row("launch_blocks", "", COUNT0, "blocks of the launch, of whole items or pieces", (1, 1e6)),
    row("slots", "", COUNT0, "blocks that the machine runs at once", (1, 2000)),
    row("step_cycles", "cycle", POS, "cycles that one step of an item's work takes", (1, 1e4)),
    row("item_step_time", "s", POS, "time that one step of one lane's item takes", (1e-9, 1e-5)),
    row("step_time", "s", POS, "the same of an item that lanes share", (1e-9, 1e-5)),
    _law("launch_steps", "the law of the steps of a launch"),
    row("launch_steps_mean", "", NONNEG, "mean steps of a launch"),
    row("launch_steps_std", "", NONNEG, "standard deviation of the steps of a launch"),
    row("launch_time", "s", NONNEG, "time of a launch, which has a law"),
    row("launch_time_mean", "s", NONNEG, "mean time of a launch"),
    row("launch_time_std", "s", NONNEG, "standard deviation of the time of a launch"),
    row("launch_waves", "", COUNT0, "times that the slots are filled"),
    row("block_steps_mean", "", NONNEG, "mean steps of a block"),
    row("waves_time", "s", NONNEG, "waves times the mean time of a block: the usual estimate"),
    row("work_bound_time", "s", NONNEG, "time in which slots that never wait do all blocks"),
    row("tail_idle_share", "", SHARE, "share of slot time waited for the end of the launch"),
    row("lane_idle_share", "", SHARE, "share of slot time that lanes wait for their warp"),
    row("warp_idle_share", "", SHARE, "share of slot time that warps wait for their block"),
    row("working_share", "", SHARE, "share of slot time that is useful work"),
    row("idle_slot_time", "s", NONNEG, "time that all slots wait for the end, in sum"),
    row("idle_slot_power", "W", NONNEG, "power of a slot that waits, beyond idle_power", (0, 1), 0),
    row("idle_energy", "J", NONNEG, "energy drawn for slots that wait for the end"),
    row("launch_energy_mean", "J", NONNEG, "mean energy of a launch"),
    row("deadline", "s", POS, "time by which a launch should have ended", (1e-6, 1)),
)
