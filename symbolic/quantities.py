"""The one table of quantities: name, unit, domain, default, typical range, meaning.

A name has one unit and one domain everywhere. Values are stored in SI units or plain counts; counts
(cycles, threads, warps, blocks, instructions, requests) are dimensionless.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from symbolic.errors import DomainError

__all__ = ["RULES", "TABLE", "Domain", "Quantity", "label_of", "place_of", "quantity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The values a quantity may take: an interval of the reals or of the whole numbers."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = True
    high_open: bool = True
    whole: bool = False

    @classmethod
    def parse(cls, text: str) -> Domain:
        """Read ``"[0, inf)"``, ``"(0, 1]"``, ``"whole [1, inf)"``.

        >>> Domain.parse("whole [1, inf)").contains(3)
        True
        """
        body = text.removeprefix("whole").strip()
        try:
            low, high = (float(part) for part in body[1:-1].split(","))
            if body[0] not in "[(" or body[-1] not in "])" or not low <= high:
                raise ValueError(text)
        except (ValueError, IndexError):
            raise DomainError(
                f"{text!r} is no domain: expected an interval such as '[0, inf)', '(0, 1]' "
                "or 'whole [1, inf)'"
            ) from None
        return cls(
            low=low,
            high=high,
            low_open=body[0] == "(",
            high_open=body[-1] == ")",
            whole=text.startswith("whole"),
        )

    def holds(self, values: Any) -> Any:
        """Elementwise: whether each value lies inside (NaN never does)."""
        array = np.asarray(values, dtype=float)
        above = array > self.low if self.low_open else array >= self.low
        below = array < self.high if self.high_open else array <= self.high
        inside = above & below
        if self.whole:
            inside &= (np.floor(array) == array) | np.isinf(array)
        return inside

    def contains(self, value: float) -> bool:
        """Whether one value lies inside."""
        return bool(self.holds(value))

    def __str__(self) -> str:
        left, right = "[("[self.low_open], "])"[self.high_open]
        return f"{'whole ' if self.whole else ''}{left}{self.low:g}, {self.high:g}{right}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """One row of the table.

    ``labels`` is None for a number; a tuple of labels makes the quantity a *switch*, which chooses
    among equations while the graph is built; an empty tuple admits any label (such quantities feed
    table equations only). ``default`` is a number, a label, or the name of another quantity.
    ``places`` are the labels that it takes where a condition is asked, in order.

    A switch may have ``auto`` as its first label: it stands for the last one where the quantities
    ``settled_by`` are given, and for the one before where they are not, along a categorical axis
    for each label by itself.
    """

    name: str
    unit: str = ""
    domain: Domain = field(default_factory=Domain)
    default: float | str | None = None
    typical: tuple[float, float] | None = None
    meaning: str = ""
    labels: tuple[str, ...] | None = None
    settled_by: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def is_switch(self) -> bool:
        """Whether it chooses among equations."""
        return bool(self.labels)

    @property
    def is_label(self) -> bool:
        """Whether its values are labels rather than numbers."""
        return self.labels is not None

    def check(self, values: Any, origin: str) -> None:
        """Raise :class:`DomainError` naming the first value outside the domain and its place."""
        inside = self.domain.holds(values)
        if np.all(inside):
            return
        array = np.asarray(values, dtype=float)
        place = np.argwhere(~np.atleast_1d(inside))[0]
        value = np.atleast_1d(array)[tuple(place)]
        where = f" at index {', '.join(map(str, place))}" if array.ndim else ""
        unit = f" {self.unit}" if self.unit else ""
        raise DomainError(
            f"{self.name} = {value:g}{unit}{where} ({origin}) is outside its domain "
            f"{self.domain}{unit}: give a value inside it"
        )


_PLACE = "PLACE_OF_"


def place_of(name: str) -> str:
    """Under which name formulas speak of the place of a label; quantities are in lower case."""
    return _PLACE + name


def label_of(name: str) -> str:
    """The quantity whose place a name speaks of; any other name stays.

    >>> label_of(place_of("machine")), label_of("time")
    ('machine', 'time')
    """
    return name.removeprefix(_PLACE)


def quantity(
    name: str,
    *,
    unit: str = "",
    domain: str = "(-inf, inf)",
    default: float | str | None = None,
    typical: tuple[float, float] | None = None,
    meaning: str = "",
    labels: tuple[str, ...] | None = None,
) -> Quantity:
    """Declare a quantity, for a model outside the table.

    Parameters
    ----------
    name : str
        Lower-case name, also the name of the equation that yields it, if any.
    unit : str
        The unit in which values are stored (SI), ``""`` for counts and ratios.
    domain : str
        An interval such as ``"(0, inf)"``, with ``whole`` in front for whole numbers.
    default : float or str, optional
        The value where none is given: a number, a label, or another quantity's name.
    typical : (float, float), optional
        A usual range, used to draw test inputs.
    meaning : str
        One line of prose.
    labels : tuple of str, optional
        Makes it a switch with these labels.

    >>> quantity("base_power", unit="W", domain="[0, inf)").domain.contains(-1)
    False
    """
    if not name.isidentifier() or name != name.lower():
        raise DomainError(f"{name!r} is no quantity name: use lower-case letters, digits and _")
    return Quantity(
        name=name,
        unit=unit,
        domain=Domain.parse(domain),
        default=default,
        typical=typical,
        meaning=meaning,
        labels=labels,
    )


_COUNT1, _COUNT0, _POS, _NONNEG = "whole [1, inf)", "whole [0, inf)", "(0, inf)", "[0, inf)"
_RESULT = "[0, inf]"


def _rows() -> Iterator[Quantity]:
    def row(
        name: str,
        unit: str,
        domain: str,
        meaning: str,
        typical: tuple[float, float] | None = None,
        default: float | str | None = None,
    ) -> Quantity:
        return quantity(
            name, unit=unit, domain=domain, default=default, typical=typical, meaning=meaning
        )

    def switch(name: str, labels: str, meaning: str, settled_by: str = "") -> Quantity:
        names, settling = tuple(labels.split()), tuple(settled_by.split())
        row = quantity(name, labels=names, default=names[0], meaning=meaning)
        return replace(row, settled_by=settling)

    # --- switches; the first label is the default
    yield switch("printed", "false true", "use the equations exactly as printed")
    yield switch("rounding", "continuous whole", "round MWP and CWP up after the minimum")
    yield switch("waves", "fractional whole", "round the repetitions up to whole waves")
    yield switch("supply", "sharp smooth", "shape of the memory supply curve")
    yield switch(
        "granularity",
        "auto none cuda",
        "allocation granularity of the hardware: cuda by the machine's units, none without, auto "
        "by them where the machine holds them",
        "register_allocation_unit registers_allocated_per_warp warp_allocation_unit "
        "shared_mem_allocation_unit max_warps_per_sm",
    )
    yield switch("latency_hiding", "modelled assumed", "latency: modelled, or taken as hidden")
    yield switch("sm_scaling", "log linear", "how power grows with the multiprocessors in use")
    yield switch("power_gating", "false true", "unused multiprocessors draw no power at all")
    yield switch("processor", "gpu cpu", "warps on multiprocessors, or one thread on each CPU core")
    yield switch("voltage_curve", "proportional knee", "how the voltage goes with the core clock")

    # --- machine
    yield row("n_sms", "", _COUNT1, "streaming multiprocessors of the machine", (1, 128))
    yield row("active_sms", "", _COUNT1, "multiprocessors in use", (1, 128), "n_sms")
    yield row("cores_per_sm", "", _COUNT1, "scalar cores of one multiprocessor", (8, 192))
    yield row("warp_size", "", _COUNT1, "threads of a warp", (32, 64), 32)
    yield row("core_clock", "Hz", _POS, "clock of the cores", (5e8, 2e9), "nominal_clock")
    yield row("nominal_clock", "Hz", _POS, "clock at which latencies were measured", (5e8, 2e9))
    yield row("mem_bandwidth", "B/s", _POS, "DRAM bandwidth of the machine", (5e10, 2e12))
    yield row(
        "mem_latency_nominal",
        "cycle",
        _POS,
        "DRAM round trip at the nominal clock, in core cycles",
        (200, 800),
    )
    yield row("mem_latency_dram", "cycle", _POS, "DRAM round trip of one transaction", (200, 800))
    yield row(
        "departure_delay_coalesced",
        "cycle",
        _NONNEG,
        "least distance between two coalesced transactions",
        (1, 10),
    )
    yield row(
        "departure_delay_uncoalesced",
        "cycle",
        _NONNEG,
        "least distance between two uncoalesced transactions",
        (4, 40),
    )
    yield row("issue_cycles", "cycle", _POS, "cycles to issue one instruction of a warp", (1, 8))
    yield row("max_threads_per_sm", "", _COUNT1, "resident threads of one SM", (768, 2048))
    yield row("max_warps_per_sm", "", _COUNT1, "resident warps of one SM", (24, 64))
    yield row("max_blocks_per_sm", "", _COUNT1, "resident blocks of one SM", (8, 32))
    yield row("max_threads_per_block", "", _COUNT1, "threads of one block", (512, 1024))
    yield row("registers_per_sm", "", _COUNT1, "registers of one SM", (8192, 65536))
    yield row(
        "max_registers_per_block",
        "",
        _COUNT1,
        "registers one block may use",
        (8192, 65536),
        "registers_per_sm",
    )
    yield row(
        "max_registers_per_thread", "", _COUNT1, "registers one thread may use", (63, 255), 255
    )
    yield row("shared_mem_per_sm", "B", _COUNT0, "shared memory of one SM", (16384, 167936))
    yield row(
        "max_shared_mem_per_block",
        "B",
        _COUNT0,
        "shared memory one block may use",
        (16384, 167936),
        "shared_mem_per_sm",
    )
    yield row(
        "register_allocation_unit", "", _COUNT1, "registers are allocated in these", (256, 512)
    )
    yield row(
        "warp_allocation_unit",
        "",
        _COUNT1,
        "parts into which registers are divided among warps; where a block is allocated at a time, "
        "its warps are rounded up to these",
        (1, 4),
    )
    yield row(
        "warp_check_unit",
        "",
        _COUNT1,
        "warps of a block are rounded up to these against the registers one block may use",
        (1, 4),
        4,
    )
    yield row(
        "shared_mem_allocation_unit",
        "B",
        _COUNT1,
        "shared memory is allocated in these",
        (128, 512),
    )
    yield row(
        "reserved_shared_mem_per_block",
        "B",
        _COUNT0,
        "shared memory the system takes from each block",
        (0, 1024),
        0,
    )
    yield row(
        "registers_allocated_per_warp",
        "",
        "whole [0, 1]",
        "1 where registers are allocated a warp at a time, 0 where a block at a time",
        (0, 1),
    )

    # --- workload
    yield row("elements", "", _COUNT1, "work items, one thread each", (1e4, 1e8))
    yield row("threads_per_block", "", _COUNT1, "threads of one block", (32, 512))
    yield row("blocks", "", _COUNT1, "blocks of the grid", (1, 1e6))
    yield row("registers_per_thread", "", _COUNT0, "registers of one thread", (4, 64))
    yield row("shared_mem_per_block", "B", _COUNT0, "shared memory of one block", (0, 16384))
    yield row("comp_insts", "", _NONNEG, "computation instructions of one thread", (1, 1e4))
    yield row(
        "coalesced_insts", "", _NONNEG, "coalesced memory instructions of one thread", (0, 500)
    )
    yield row(
        "uncoalesced_insts", "", _NONNEG, "uncoalesced memory instructions of one thread", (0, 500)
    )
    yield row("sync_insts", "", _NONNEG, "barriers executed by one thread", (0, 100))
    yield row(
        "independent_insts",
        "",
        _NONNEG,
        "memory instructions of one thread that need no earlier one",
        (0, 100),
        0,
    )
    yield row("mem_insts", "", _NONNEG, "memory instructions of one thread", (0, 1000))
    yield row("total_insts", "", _NONNEG, "instructions of one thread", (1, 1e4))
    yield row(
        "transactions_per_uncoalesced",
        "",
        "[1, inf)",
        "memory transactions of one uncoalesced instruction of a warp",
        (1, 32),
    )
    yield row("load_bytes_per_warp", "B", _POS, "bytes of one memory request", (32, 512), 128)
    yield row("comp_factor", "", _POS, "slowdown of the instruction mix (M_Factor)", (1, 8), 1)
    yield row("tile", "", _POS, "edge of the square tile a block works on", (4, 32))
    yield row(
        "imbalance_loss", "", "[1, inf)", "what lockstep costs where work is uneven", (1, 4), 1
    )

    # --- positions along the categorical axes of a study

    # --- occupancy
    yield row("warps_per_block", "", _COUNT1, "warps of one block", (1, 32))
    yield row("blocks_by_shared_mem", "", _RESULT, "blocks the shared memory allows", (1, 32))
    yield row("blocks_by_registers", "", _RESULT, "blocks the registers allow", (1, 32))
    yield row("blocks_by_threads", "", _RESULT, "blocks the thread and warp limits allow", (1, 32))
    yield row("active_blocks_per_sm", "", _COUNT0, "blocks resident on one SM", (1, 16))
    yield row("warps_per_sm", "", _NONNEG, "warps resident on one SM (N)", (1, 64))
    yield row("occupancy", "", "[0, 1]", "resident warps over the most there can be", (0.1, 1))
    yield row("limiter", "", _COUNT0, "what limits the resident blocks")

    # --- transit
    yield row("threads", "", _POS, "threads of the machine (n)", (1, 4096))
    yield row("intensity", "cycle", _POS, "computation between two memory requests (Z)", (1, 1000))
    yield row("lanes_width", "", _POS, "lanes that compute at once (M)", (1, 512))
    yield row("ms_peak", "", _POS, "most requests the memory system serves a cycle (R)", (0.01, 10))
    yield row("mem_latency", "cycle", _NONNEG, "latency of one memory request", (100, 2000))
    yield row("thread_limit", "", _RESULT, "throughput the threads allow")
    yield row("computation_limit", "", _RESULT, "memory throughput the lanes ask for")
    yield row("supply_limit", "", _RESULT, "throughput where threads and memory balance")
    yield row("ms_throughput", "", _RESULT, "requests served a cycle (r)", (0.01, 10))
    yield row("cs_throughput", "", _RESULT, "operations computed a cycle (Z r)", (1, 512))
    for name, system in (("threads_in_ms", "memory"), ("threads_in_cs", "computation")):
        yield row(name, "", _RESULT, f"threads in the {system} system")
        yield row(f"{name}_low", "", _RESULT, f"fewest threads in the {system} system")
        yield row(f"{name}_high", "", _RESULT, f"most threads in the {system} system")
    yield row("bound", "", _COUNT0, "what bounds the machine")
    yield row("cs_transition", "", _POS, "threads that saturate the lanes", (32, 2048))
    yield row("ms_transition", "", _POS, "threads that saturate the memory system", (32, 2048))
    yield row(
        "ms_peak_bandwidth", "B/s", _POS, "peak of the memory supply curve, per SM", (1e9, 1e11)
    )
    yield row("request_bytes", "B", _POS, "bytes of one thread's memory request", (4, 16))
    yield row("issued_insts", "", _POS, "instructions issued, by a profiler", (1e3, 1e9))
    yield row("dram_reads", "", _NONNEG, "DRAM reads, by a profiler", (1e3, 1e7))
    yield row("dram_writes", "", _NONNEG, "DRAM writes, by a profiler", (1e3, 1e7))

    # --- tmm
    yield row("work", "", _NONNEG, "operations of the algorithm in all (T_1)", (1e9, 1e13))
    yield row("span", "", _NONNEG, "operations on its critical path (T_inf)", (1, 1e10), 0)
    yield row("transactions", "", _NONNEG, "global memory transactions in all (M)", (1e6, 1e11))
    yield row("n_cores", "", _COUNT1, "scalar cores of the machine (P)", (32, 4096))
    yield row("threads_per_core", "", _POS, "threads that share one core", (1, 48))
    yield row("work_steps", "", _RESULT, "steps in which all cores do the work", (1e6, 1e10))
    yield row("latency_steps", "", _RESULT, "steps of memory latency left to a core", (1e6, 1e10))
    yield row("time_steps", "", _RESULT, "steps on all cores (T_P)", (1e6, 1e10))
    yield row("hiding_threads_per_core", "", _RESULT, "threads of a core that hide the latency")
    yield row("fits_on_chip", "", "whole [0, 1]", "1 where the working set fits on chip", (0, 1))
    yield row("cache_hit_rate", "", "[0, 1]", "share of accesses that hit the cache", (0, 1))
    yield row("cache_miss_slowdown", "", "[1, inf)", "slowdown where every access misses", (1, 20))
    yield row("cache_factor", "", _RESULT, "slowdown by cache misses", (1, 20))
    yield row("block_slots", "", _COUNT1, "blocks the machine holds at once", (1, 1024))
    yield row("passes", "", _COUNT1, "times the machine is filled with blocks", (1, 1e4))
    yield row("sched_factor", "", _RESULT, "slowdown by a last pass that is not full", (1, 2))
    yield row("relative_time", "", _RESULT, "run time in steps, up to a constant factor")

    # --- apsp
    yield row("vertices", "", "whole [2, inf)", "vertices of the graph", (64, 16384))
    yield row("tile_dim", "", _COUNT1, "edge of the sub-block of one thread block", (8, 128))
    yield row("chunk", "", _COUNT1, "accesses grouped into one memory transaction", (1, 64))
    yield row("squarings", "", _NONNEG, "squarings of the adjacency matrix (lg n)", (4, 16))
    yield row(
        "latency_steps_by_blocks", "", _RESULT, "the same as latency_steps, from the blocks", (1, 9)
    )
    yield row("relative_time_by_blocks", "", _RESULT, "the same as relative_time, from the blocks")

    # --- tmm_calibrated
    yield row("root_blocks_per_thread", "", _RESULT, "root of blocks over threads of a core")
    yield row(
        "memory_time_slope", "s", _NONNEG, "time of one root_blocks_per_thread (a_1)", (0.01, 10)
    )
    yield row(
        "memory_time_offset",
        "s",
        "(-inf, inf)",
        "time to which latency would vanish (a_0)",
        (0.1, 100),
    )
    yield row("memory_bound_time", "s", "(-inf, inf]", "run time where latency shows")
    yield row("compute_bound_time", "s", _NONNEG, "run time where latency is hidden", (0.1, 200))

    # --- shared_mem_padding
    yield row("shared_mem_needed", "B", _COUNT0, "shared memory a block makes use of", (0, 16384))
    yield row(
        "most_blocks_per_sm",
        "",
        _COUNT1,
        "blocks that padding leaves to an SM at most",
        (1, 16),
        "max_blocks_per_sm",
    )
    yield row("automatic_blocks_per_sm", "", _COUNT0, "blocks an SM holds unpadded", (1, 16))
    yield row("shared_mem_padding", "B", _COUNT0, "shared memory asked for and not used")

    # --- mwp_cwp
    yield row("mem_latency_uncoalesced", "cycle", _POS, "latency of an uncoalesced request")
    yield row("mem_latency_coalesced", "cycle", _POS, "latency of a coalesced request", (200, 800))
    yield row(
        "departure_delay", "cycle", _NONNEG, "mean distance between two requests", (1, 400), 0
    )
    yield row("weight_uncoalesced", "", "[0, 1]", "share of memory instructions not coalesced")
    yield row("weight_coalesced", "", "[0, 1]", "share of memory instructions that are coalesced")
    yield row("mwp_without_bw_full", "", _RESULT, "MWP that latency and departures allow")
    yield row("mwp_without_bw", "", _RESULT, "the same, within the warps there are")
    yield row("bw_per_warp", "B/s", _NONNEG, "bandwidth one warp takes")
    yield row("mwp_peak_bw", "", _RESULT, "MWP that the bandwidth allows")
    yield row("parallel_warps", "", _RESULT, "warps that count for memory parallelism (N_pw)")
    yield row("mwp", "", "(0, inf)", "memory warp parallelism", (0.5, 64))
    yield row("comp_cycles", "cycle", _NONNEG, "computation cycles of one warp", (10, 1e5))
    yield row("comp_period", "cycle", _NONNEG, "computation of a warp between two requests")
    yield row("mem_cycles", "cycle", _NONNEG, "memory cycles of one warp", (10, 1e6))
    yield row("cwp_full", "", _RESULT, "CWP with warps enough")
    yield row("cwp", "", _RESULT, "computation warp parallelism", (1, 64))
    yield row(
        "warp_parallelism", "", _RESULT, "the smaller of MWP and CWP: memory or computation bound"
    )
    yield row("busy_sms", "", _COUNT1, "multiprocessors that have a block")
    yield row("blocks_per_busy_sm", "", _COUNT1, "blocks a busy SM gets of the grid at most")
    yield row("resident_blocks", "", _COUNT1, "blocks resident on a busy SM")
    yield row("resident_warps", "", "[1, inf)", "warps resident on a busy SM (N)")
    yield row("repetitions", "", "[1, inf)", "times an SM repeats its resident blocks (Rep)")
    yield row("case", "", _COUNT0, "which case holds")
    yield row("few_warps_cycles", "cycle", _RESULT, "cycles of a repetition in case 1")
    yield row("memory_bound_cycles", "cycle", _RESULT, "cycles of a repetition in case 2")
    yield row("computation_bound_cycles", "cycle", _RESULT, "cycles of a repetition in case 3")
    yield row("parallel_warps_per_block", "", _RESULT, "warps of a block that overlap (NpWB)")
    yield row("exec_cycles", "cycle", _RESULT, "cycles without synchronisation")
    yield row("sync_cycles", "cycle", _RESULT, "cycles of synchronisation")
    yield row("total_cycles", "cycle", _RESULT, "cycles with synchronisation")
    yield row("cpi", "cycle", _RESULT, "cycles per instruction of a warp")
    yield row("time", "s", _RESULT, "run time")

    # --- divergence
    yield row("path_probability", "", "[0, 1]", "probability that a lane takes a path", (0, 1))
    yield row("lanes", "", _COUNT1, "threads in lockstep", (1, 64), "warp_size")
    yield row("path_taken", "", "[0, 1]", "probability that a warp pays for a path")
    yield quantity(
        "paths",
        labels=(),
        meaning="the paths of a divergent branch, 'probability: cycles, ...'",
    )
    yield row("divergent_cycles", "cycle", _RESULT, "expected cycles of a divergent branch")
    yield row("divergent_cycles_std", "cycle", _RESULT, "their standard deviation over warps")
    yield row("divergent_cycles_bound", "cycle", _RESULT, "the sum of all paths")
    yield row("convergent_cycles", "cycle", _RESULT, "expected cycles if lanes ran alone")
    yield row("divergence_loss", "", _RESULT, "what lockstep costs at a divergent branch")

    # --- imbalance
    yield quantity(
        "distribution",
        labels=(),
        meaning="the law of the work of one item, such as 'geometric:0.05' or a file of lengths",
    )
    yield switch(
        "work_law",
        "distribution bernoulli binomial geometric negative_binomial poisson uniform",
        "the family of the law of work, or distribution where the law itself is given",
    )
    yield row("success_probability", "", "(0, 1]", "probability of success of a trial", (0.02, 0.9))
    yield row("trial_count", "", _COUNT1, "trials of a binomial law", (1, 100))
    yield row("success_count", "", _POS, "successes waited for while failures count", (1, 20))
    yield row("event_rate", "", _POS, "mean of a Poisson law", (1, 100))
    yield row("lowest_work", "", _COUNT0, "shortest item of a uniform law", (0, 20))
    yield row("highest_work", "", _COUNT0, "longest item of a uniform law", (20, 100))
    yield row("work_mean", "", _NONNEG, "mean work of an item", (1, 100))
    yield row("work_std", "", _NONNEG, "standard deviation of the work of an item", (0, 50))
    yield row("work_min", "", _NONNEG, "work of the shortest item", (0, 10))
    yield row("work_max", "", _RESULT, "work of the longest item", (100, 1000))
    yield row("expected_max", "", _NONNEG, "expected work of the longest of all lanes", (10, 1000))
    yield row("max_sum_covariance", "", _NONNEG, "covariance of the longest and the sum", (1, 1000))
    yield row("imbalance_slowdown", "", "[1, inf)", "what a whole workload pays for lockstep")
    yield row("imbalance_loss_std", "", _NONNEG, "standard deviation of the loss over groups")
    yield row("imbalance_lower", "", "[1, inf)", "rigorous lower bound on the mean loss")
    yield row("imbalance_upper", "", "[1, inf)", "rigorous upper bound on the mean loss")
    yield row("imbalance_largest", "", "[1, inf)", "largest loss that a group can have")
    yield row("imbalance_delta", "", _NONNEG, "second-order approximation of the mean loss")
    yield row("imbalance_limit", "", _RESULT, "what the loss tends to for ever more lanes")
    yield row("exponential_loss", "", "[1, inf)", "mean loss where work is exponential")

    # --- power
    for insts, kind, default in (
        ("fp", "floating-point", "comp_insts"),
        ("sfu", "special-function", 0),
        ("int", "integer", 0),
        ("alu", "logic and move", 0),
        ("shared", "shared memory", 0),
        ("texture", "texture", 0),
        ("const", "constant memory", 0),
        ("register", "register-using", "total_insts"),
        ("global", "global memory", "mem_insts"),
        ("local", "local memory", 0),
        ("l1", "L1-cache", 0),
        ("l2", "L2-cache", 0),
    ):
        yield row(
            f"{insts}_insts", "", _NONNEG, f"{kind} instructions of one thread", (0, 1e4), default
        )
    for unit, kind, most in (
        ("fp", "floating-point units", 0.2),
        ("sfu", "special-function units", 0.5),
        ("int", "integer units", 0.25),
        ("alu", "logic units", 0.2),
        ("shared", "shared memory", 1),
        ("texture", "texture cache", 0.9),
        ("const", "constant cache", 0.4),
        ("register", "register file", 0.3),
        ("fds", "fetch, decode and schedule", 0.5),
        ("l1", "L1 cache", 1.6),
        ("l2", "L2 cache", 12),
        ("global", "DRAM, global accesses", 52),
        ("local", "DRAM, local accesses", 52),
    ):
        typical = (most / 2, most * 2)
        absent = 0 if unit in ("l1", "l2") else None
        yield row(f"access_rate_{unit}", "", _RESULT, f"accesses an issue slot: {kind}", (0, 2))
        yield row(f"max_power_{unit}", "W", _NONNEG, f"at full rate: {kind}", typical, absent)
        yield row(f"{unit}_unit_power", "W", _NONNEG, f"before scaling: {kind}", (0, most))
        yield row(f"{unit}_power", "W", _RESULT, f"share of the power: {kind}", (0, 30 * most))
    yield row("max_power_const_sm", "W", _NONNEG, "constant power of an SM in use", (0.5, 1))
    yield row("const_sm_power", "W", _RESULT, "share of the power: constant, of SMs in use")
    yield row("max_power_activation", "W", _NONNEG, "power of waking the chip", (0, 64), 0)
    yield row("activation_power", "W", _RESULT, "share of the power: activation")
    yield row("idle_power", "W", _NONNEG, "power of the machine that runs nothing", (20, 100))
    yield row("standing_power", "W", _NONNEG, "share of the power: idle, of what is not gated")
    yield row("warps_run_per_sm", "", _RESULT, "warps that one SM executes in all", (1, 1e5))
    yield row("issue_rate", "", _RESULT, "access rate of one instruction of a thread", (1e-5, 0.1))
    yield row("rate_clamped", "", "whole [0, 1]", "whether an access rate above 1 counts as 1")
    yield row("sm_component_power", "W", _NONNEG, "power of one SM (sum of its units)", (1, 5))
    yield row("memory_component_power", "W", _NONNEG, "power of the memory system", (0, 60))
    yield row(
        "scaling_offset", "", "[1, 10]", "offset of the logarithmic scaling (beta)", None, 1.1
    )
    yield row("scaling_slope", "", _NONNEG, "slope of the logarithmic scaling (alpha)", (0.1, 0.6))
    yield row("scaling_factor", "", _NONNEG, "logarithmic share of the power of all SMs", (0.1, 1))
    yield row("sm_scale", "", _NONNEG, "SMs' worth of power that the SMs in use draw", (1, 30))
    yield row("memory_scale", "", _NONNEG, "share of the memory's power that is drawn", (0.1, 1))
    yield row("clock_power_exponent", "", _NONNEG, "power of the clock in dynamic power", (3, 3), 3)
    yield row("clock_power_factor", "", _NONNEG, "dynamic power over that at the nominal clock")
    yield row("sm_power", "W", _RESULT, "dynamic power of the multiprocessors", (10, 200))
    yield row("memory_power", "W", _RESULT, "dynamic power of the memory system", (10, 60))
    yield row("runtime_power", "W", _RESULT, "power beyond idle", (20, 200))
    yield row("power", "W", _RESULT, "power of the machine", (50, 300))
    yield row("work_insts", "", _NONNEG, "instructions of all threads", (1e6, 1e11))
    yield row("insts_per_second", "1/s", _RESULT, "instructions of all threads a second")
    yield row("perf_per_watt", "1/J", _RESULT, "instructions a second and watt")
    yield row("energy", "J", _RESULT, "energy of the run", (1e-3, 10))
    yield row("edp", "J s", _RESULT, "energy-delay product", (1e-6, 1))
    yield row("ed2p", "J s^2", _RESULT, "energy-delay-squared product")
    yield row("warps_on_all_sms", "", "[1, inf)", "warps of a busy SM when every SM is in use")
    yield row("parallel_warps_on_all_sms", "", _RESULT, "N_pw when every SM is in use")
    yield row("mwp_on_all_sms", "", "(0, inf)", "MWP when every SM is in use", (0.5, 64))
    yield row("cwp_on_all_sms", "", _RESULT, "CWP when every SM is in use", (1, 64))
    yield row("sms_at_peak_bw", "", _RESULT, "SMs that reach the peak bandwidth", (1, 64))
    yield row("mwp_peak_bw_on_all_sms", "", _RESULT, "MWP of the bandwidth, every SM in use")
    yield row("optimal_sms", "", "[1, inf)", "SMs for most work per energy, by the bandwidth")

    # --- temperature
    celsius = "(-273.15, inf)"
    yield row("elapsed", "s", _NONNEG, "time since the workload began, or since it ended", (0, 600))
    yield row("idle_temperature", "degC", celsius, "chip temperature at rest", (30, 60))
    yield row("temperature_per_watt", "K/W", _NONNEG, "rise for a watt beyond idle", (0.05, 0.3))
    yield row("temperature_offset", "K", _NONNEG, "rise of any run", (0, 10))
    yield row(
        "temperature_per_intensity", "K", _NONNEG, "rise for an access_intensity of 1", (0, 30)
    )
    yield row("heating_time_constant", "s", _POS, "time constant of heating (RC_Rise)", (10, 100))
    yield row("cooling_time_constant", "s", _POS, "time constant of cooling (RC_Decay)", (10, 100))
    yield row("access_intensity", "", _RESULT, "memory instructions for each other one", (0, 1))
    yield row("max_temperature", "degC", "(-273.15, inf]", "steady chip temperature", (60, 90))
    yield row("temperature", "degC", "(-273.15, inf]", "chip temperature", (50, 90))
    yield row(
        "cooling_start",
        "degC",
        celsius,
        "temperature when cooling begins",
        (60, 90),
        "max_temperature",
    )
    yield row("cooling_temperature", "degC", "(-273.15, inf]", "temperature after the run")
    yield row("leakage_per_degree", "W/K", _NONNEG, "static power for a degree of rise", (0.1, 1))
    yield row("power_at", "W", "[-inf, inf]", "power at the temperature of that moment")
    yield row("steady_power", "W", "[-inf, inf]", "power at the steady temperature")
    yield row(
        "settled_within", "K", _POS, "distance from steady that counts as settled", (0.5, 2), 1
    )
    yield row("settling_time", "s", _RESULT, "time until the temperature is settled")

    # --- leakage
    yield row("supply_voltage", "V", _POS, "supply voltage (V_dd, V_cc)", (0.7, 1.3))
    yield row(
        "nominal_supply_voltage", "V", _POS, "supply voltage of the process (V_dd0)", (0.9, 1.2)
    )
    yield row("transistors", "", _POS, "transistors of the design (N)", (1e9, 1e10))
    yield row("design_factor", "", _POS, "of the circuit and its technology (K_design)", (0.01, 1))
    yield row("leakage_scale", "A/V^2", _POS, "mobility x oxide capacitance x W/L", (1e-6, 1e-3))
    yield row(
        "voltage_leakage_slope", "1/V", _NONNEG, "growth of leakage with voltage (b)", (0.5, 3)
    )
    yield row("threshold_voltage", "V", _NONNEG, "threshold voltage (V_th)", (0.2, 0.5))
    yield row("offset_voltage", "V", "(-inf, inf)", "offset of the threshold (V_off)", (0, 0.1))
    yield row("subthreshold_swing", "", _POS, "swing coefficient (n)", (1, 2))
    yield row("thermal_voltage", "V", _POS, "kT/q", (0.025, 0.032))
    yield row("leakage_current", "A", _RESULT, "leakage of one transistor", (1e-12, 1e-7))
    yield row("static_power", "W", _RESULT, "leakage power of the design", (1, 100))
    yield row(
        "reference_temperature", "degC", celsius, "where the line touches the curve", (50, 80)
    )
    yield row("leakage_slope", "1/K", "[-inf, inf]", "growth of leakage for a degree, relative")
    yield row("reference_static_power", "W", _NONNEG, "static power at the reference", (1, 100))
    yield row("linear_static_power", "W", "[-inf, inf]", "static power on the line")

    # --- placement
    yield switch(
        "placement_policy", "compact scatter apart", "how lit_sms are chosen: few TPCs, many, far"
    )
    yield row("n_tpcs", "", _COUNT1, "texture processing clusters (TPCs) of the machine", (4, 40))
    yield row(
        "sms_to_light", "", _COUNT1, "SMs that a placement policy lights", (1, 14), "active_sms"
    )
    yield quantity("tpc_map", labels=(), meaning="the TPC of each SM, '0-1-2-0-1-2'")
    yield quantity("lit_sms", labels=(), meaning="the SMs that are lit, '0-7-1-8'")
    yield quantity("tpc_distances", labels=(), meaning="distances between TPCs, '[[0, 1], [1, 0]]'")
    yield row("lit_count", "", _COUNT1, "SMs that are lit", (1, 14))
    yield row("active_tpcs", "", _COUNT1, "TPCs with a lit SM", (1, 7))
    yield row("fewest_tpcs", "", _COUNT1, "fewest TPCs that as many SMs can light", (1, 7))
    yield row("most_tpcs", "", _COUNT1, "most TPCs that as many SMs can light", (1, 7))
    yield row("placements", "", _COUNT1, "sets of as many SMs")
    yield row("equal_placements", "", _COUNT0, "sets of as many SMs that light as many TPCs")
    yield row("tpc_separation", "", _RESULT, "least distance of two lit TPCs")
    yield row(
        "placement_base_power", "W", _NONNEG, "power of the system besides TPCs", (50, 300), 0
    )
    yield row("power_per_tpc", "W", _NONNEG, "power that a lit TPC adds", (0.5, 10))
    yield row("placement_power", "W", _RESULT, "power of the system with these SMs lit", (50, 300))
    yield row("placement_loss", "W", _RESULT, "power that fewer TPCs would save", (0, 40))

    # --- energy_speedup
    yield row("gpu_share", "", "[0, 1]", "share of the work that the GPU does", (0, 1))
    yield row("benchmark_series", "", "whole [1, 16]", "row of Table 16", (1, 16))
    yield row("node_configuration", "", "whole [1, 4]", "of Figs. 152-155", (1, 4), 1)
    yield row("slow_work", "", _POS, "cycles for a unit of work where slow (phi)", (1, 100))
    yield row("fast_work", "", _POS, "cycles for a unit of work where fast (phi)", (0.1, 10))
    yield row("low_core_power", "W", _POS, "dynamic power of a core where low", (0.1, 5))
    yield row("high_core_power", "W", _POS, "dynamic power of a core where high", (1, 10))
    yield row("reduced_share", "", "(0, 1]", "what a lesser device has of the default", (0.3, 0.9))
    yield row("work_units", "", _POS, "units of work in all (D)", (1, 1e9), 1)
    yield row(
        "system_power", "W", _NONNEG, "idle power of the system, both devices in it", (50, 300)
    )
    for device in ("cpu", "gpu"):
        name = device.upper()
        yield row(f"{device}_cores", "", _POS, f"cores of the {name} (C)", (1, 32))
        yield row(f"{device}_throughput", "", _POS, f"of a core of the {name} (zeta)", (0.5, 4))
        yield row(
            f"{device}_clock",
            "Hz",
            _POS,
            f"clock of the {name}",
            (5e8, 3e9),
            f"{device}_nominal_clock",
        )
        yield row(
            f"{device}_nominal_clock", "Hz", _POS, f"clock of the {name} at first", (5e8, 3e9)
        )
        yield row(f"{device}_scale", "", "(0, 1]", f"the {name} over the default one", (0.3, 1))
        yield row(
            f"{device}_work", "", _POS, f"cycles for a unit of work, {name} (phi)", (0.1, 100)
        )
        yield row(
            f"{device}_core_power", "W", _POS, f"dynamic power of a core of the {name}", (0.1, 10)
        )
        yield row(f"{device}_full_time", "s", _POS, f"time of all work on the {name}", (1e-3, 10))
        yield row(
            f"{device}_full_power", "W", _NONNEG, f"dynamic power of the busy {name}", (1, 100)
        )
        yield row(f"{device}_time", "s", _NONNEG, f"time of the {name}'s share", (0, 10))
        yield row(f"{device}_dynamic_power", "W", _NONNEG, f"dynamic power of the {name}", (0, 100))
    yield row("baseline_time", "s", _POS, "time of all work on the CPU as it was (T_o)", (1e-3, 10))
    yield row(
        "baseline_dynamic_power", "W", _NONNEG, "dynamic power of the CPU as it was", (1, 100)
    )
    yield row("baseline_power", "W", _POS, "power of the system, CPU as it was (P_o)", (50, 400))
    yield row("shared_time", "s", _NONNEG, "time of both devices together (T_N)", (1e-3, 10))
    yield row("combined_power", "W", _POS, "power of both devices together (P_N)", (50, 400))
    yield row("speedup", "", _RESULT, "baseline time over the new (S)", (0.1, 10))
    yield row("energy_efficiency", "", _RESULT, "baseline energy over the new (E)", (0.1, 10))
    yield row("best_speed_share", "", "[0, 1]", "share of the GPU for the shortest time")
    yield row("best_energy_share", "", "[0, 1]", "share of the GPU for the least energy")
    yield row("power_growth", "", _NONNEG, "power of the speed-up in dynamic power", (0, 3), 3)
    yield row("efficiency_curvature", "", "[-inf, inf]", "second derivative of E by S")

    # --- throughput; a core is a multiprocessor, or one core of a CPU
    yield row("fp_units", "", _COUNT1, "floating-point units of one core", (2, 64))
    yield row("simd_units", "", _COUNT1, "SIMD units of one core", (1, 4))
    yield row("simd_lanes", "", _COUNT1, "lanes of one SIMD unit", (2, 16))
    yield row("inst_latency", "cycle", _POS, "latency of an arithmetic instruction", (4, 24))
    yield row(
        "l1_latency", "cycle", _POS, "latency of a hit in the first cache", (4, 80), "l2_latency"
    )
    yield row(
        "l2_latency",
        "cycle",
        _POS,
        "latency of a hit in the second cache",
        (10, 300),
        "mem_latency_dram",
    )
    yield row("transaction_bytes", "B", _POS, "bytes of one memory transaction", (32, 128), 128)
    for insts, kind in (
        ("fp_fused", "fused multiply-add"),
        ("fp_vec", "vectorisable floating-point"),
        ("fp_vec_fused", "vectorisable fused multiply-add"),
        ("misc", "branch and other"),
    ):
        yield row(f"{insts}_insts", "", _NONNEG, f"{kind} instructions of one thread", (0, 1000), 0)
    ratio = "[1, inf)"
    yield row("mem_strength", "", ratio, "requests of one warp that overlap (MSTR)", (1, 4), 1)
    yield row("ilp", "", ratio, "instructions of one warp that issue at once", (1, 4), 1)
    yield row("simd_ilp", "", ratio, "the same of SIMD instructions, in lanes", (1, 16))
    yield row(
        "dependency_distance", "", ratio, "instructions until one needs the result (DEP)", (1, 8), 1
    )
    yield row("bytes_per_thread", "B", _POS, "bytes of one request of a thread", (1, 16), 4)
    yield row(
        "thread_distance_bytes",
        "B",
        _NONNEG,
        "distance between the requests of neighbouring threads",
        (1, 256),
        "bytes_per_thread",
    )
    yield row("l1_share", "", "[0, 1]", "share of the requests that hit the first cache", (0, 1), 0)
    yield row("l2_share", "", "[0, 1]", "share of the requests that hit the second", (0, 1), 0)
    yield row("dram_share", "", "[0, 1]", "share of the requests that reach DRAM", (0, 1))
    yield row(
        "narrow_fp_insts", "", _NONNEG, "floating-point instructions of the scalar peak (#FP)"
    )
    yield row("wide_fp_insts", "", _NONNEG, "those of the higher peak, fused or SIMD (#VecFP)")
    yield row("narrow_fraction", "", "[0, 1]", "share of the former in both", (0, 1))
    yield row("wide_fraction", "", "[0, 1]", "share of the latter in both", (0, 1))
    yield row("peak_narrow", "1/s", _NONNEG, "operations a second of scalar units", (1e10, 1e12))
    yield row("peak_wide", "1/s", _NONNEG, "operations a second, fused or SIMD", (1e10, 1e13))
    yield row("peak_achievable", "1/s", _NONNEG, "the peak for the mix (PeakAchi)", (1e10, 1e13))
    yield row("lane_passes", "", ratio, "times an instruction of a warp fills the units", (1, 4))
    yield row("dependency_factor", "", ratio, "slowdown by results waited for (DEP_Effect)", (1, 8))
    yield row("perfect_cycles", "cycle", _NONNEG, "cycles of a warp's floating point", (10, 1e5))
    yield row("effective_comp", "cycle", _NONNEG, "computation to a memory instruction", (1, 1000))
    yield row("effective_perfect", "cycle", _NONNEG, "of it, perfect floating point", (1, 1000))
    yield row("transactions_per_request", "", ratio, "transactions of a warp's request", (1, 32))
    yield row("mwp_app_infinite", "", "[1, inf]", "warps that hide all latency (InfiN)", (1, 64))
    yield row("mwp_app_one_warp", "", _RESULT, "the same, within the warps there are", (1, 64))
    yield row("mwp_app", "", _RESULT, "requests in flight that the workload asks for", (1, 128))
    yield row("mwp_bw", "", _RESULT, "requests in flight that the bandwidth allows", (1, 128))
    yield row("mwp_proc", "", _RESULT, "requests in flight that departures allow", (1, 128))
    yield row("serial_mem_cycles", "cycle", _RESULT, "memory periods of all warps in turn")
    yield row("divided_mem_cycles", "cycle", _RESULT, "the same, MWP at a time")
    yield row("overlapped_mem_cycles", "cycle", _RESULT, "from the first request to the last end")
    yield row("serial_comp_cycles", "cycle", _RESULT, "computation periods of all warps")
    yield row("idle_mem_cycles", "cycle", _RESULT, "memory cycles that nothing hides", (0, 1e4))
    yield row("period_cycles", "cycle", _RESULT, "cycles in which each warp has one period")
    yield row("effective_ratio", "", _RESULT, "share of cycles that do floating point (EffRatio)")
    yield row("overhead_fraction", "", "[-inf, inf]", "share of cycles of other computation")
    yield row("idle_fraction", "", _RESULT, "share of cycles that wait for memory")
    yield row("exposed_mem_ratio", "", _RESULT, "idle over serial memory cycles (Fig. 113)")
    yield row("flops", "1/s", _RESULT, "floating-point operations a second", (1e9, 1e12))
    yield row("flops_without_memory", "1/s", _RESULT, "the same, computation only")
    yield row("flops_without_ilp", "1/s", _RESULT, "computation only, one instruction at a time")
    for level in ("l1", "l2", "dram"):
        yield row(f"flops_{level}", "1/s", _RESULT, f"flops if {level.upper()} serves all requests")
    yield row("category", "", "whole [1, 10]", "which of ten: what is short, warps or memory")
    yield row("suggested_sms", "", _COUNT1, "SMs to which the bandwidth reaches")
    yield row("suggested_warps", "", _NONNEG, "warps of an SM to which the bandwidth reaches")
    text = "factor by which the cores may be slower, below 1 should be faster"
    yield row("clock_reduction", "", "[-inf, inf]", text)

    # --- heterogeneous; see energy_speedup, too
    for device in ("cpu", "gpu"):
        yield row(
            f"{device}_flops", "1/s", _POS, f"operations a second, {device.upper()}", (1e9, 1e12)
        )
    yield row("work_flops", "", _POS, "floating-point operations in all", (1e9, 1e12))
    yield row("transfer_time", "s", _NONNEG, "time to move all data to the GPU", (0, 1), 0)
    yield row("cpu_share", "", "[0, 1]", "share of the work that the CPU does", (0, 1))
    yield row("sharing_gain", "", _RESULT, "speed-up over the faster device alone")

    # --- transit_supply, energy_roofline, clock_scaling
    yield row("attained_bandwidth", "B/s", _RESULT, "DRAM bandwidth that is attained", (1e9, 1e12))
    yield row("arithmetic_intensity", "1/B", _POS, "operations for a byte of DRAM", (0.1, 100))
    yield row("peak_flops", "1/s", _POS, "most operations a second", (1e11, 2e13))
    yield row("bandwidth_flops", "1/s", _RESULT, "operations a second that the bandwidth allows")
    yield row("attained_flops", "1/s", _RESULT, "operations attained a second", (1e10, 1e13))
    yield row("constant_power", "W", _NONNEG, "power that no rate or clock changes", (10, 100))
    yield row("energy_per_byte", "J/B", _NONNEG, "energy of a byte of DRAM", (1e-11, 1e-9))
    yield row("energy_per_flop", "J", _NONNEG, "energy of an operation", (1e-12, 1e-10))
    yield row("flops_per_watt", "1/J", _RESULT, "operations for a joule")
    yield row("core_cycles", "cycle", _NONNEG, "cycles that the core clock paces", (1e4, 1e10))
    yield row("stall_time", "s", _NONNEG, "time that the core clock does not change", (1e-5, 10))
    yield row("dynamic_power", "W", _NONNEG, "clocked power at the nominal clock", (10, 200))
    yield row("voltage_knee_clock", "Hz", _POS, "clock up to which the voltage is flat", (5e8, 2e9))
    yield row(
        "voltage_slope", "1/Hz", _NONNEG, "relative rise of voltage for a hertz", (1e-10, 3e-9)
    )
    yield row("relative_voltage", "", "[1, inf)", "voltage over that of low clocks", (1, 1.3))


#: Every quantity of the shipped models, by name.
TABLE: Mapping[str, Quantity] = {row.name: row for row in _rows()}

#: Relations between quantities. A rule applies where all its quantities are known; a point that
#: breaks one is infeasible.
RULES: tuple[str, ...] = (
    "active_sms <= n_sms",
    "threads_per_block <= max_threads_per_block",
    "active_blocks_per_sm >= 1",
    "independent_insts <= mem_insts",
)
