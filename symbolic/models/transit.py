"""Transit: a balance of threads between a computation system and a memory system (Li 2015).

There are n threads: k wait for memory, and x = n − k compute. Memory supplies f(k) requests per
cycle, and the lanes demand g(x) requests per cycle (Eqs. 1-2). In the steady state f(k) = g(n − k)
(Eq. 3); a test derives the throughput at which the curves cross in each regime.

In the paper's abstract machine one thread fills a lane, so M lanes need π = M threads. But the
paper measures π = 576 threads on 32 lanes. So in this model an operation occupies its thread for l
cycles, ``arithmetic_latency`` (default: 1). Then π = l M and g(x) = min(x/(l Z), M/Z), where Z is
the intensity.

The switch ``supply`` chooses the memory curve: the roofline of the paper, f(k) = min(R, k/L), or
the smooth curve f(k) = k/(L + k/R), with the same slope at 0 and the same limit.
"""

import math

from symbolic.equation import Family, Guide, Validity, equation
from symbolic.ops import both, divide, equal, maximum, minimum, sqrt, where

OUTPUTS = ("ms_throughput", "cs_throughput", "threads_in_ms", "threads_in_cs", "bound")
VALIDITY = Validity(statement="a machine of two units, whose curves are measured at hand")
RULES = ("threads <= max_threads",)

TERMS = {"thread": "thread_limit", "memory": "ms_peak", "computation": "computation_limit"}
FAMILIES = (Family(of="ms_throughput", terms=TERMS),)

SYMBOLS = {"threads": "n", "intensity": "Z", "lanes_width": "M", "ms_peak": "R"}
SYMBOLS |= {"mem_latency": "L", "arithmetic_latency": "l"}

FLAGS = {0: "thread", 1: "memory", 2: "computation", 3: "capacity"}

#: Moves of §2.4, Figs. 11-17. The latency is left out: it is "generally very difficult to change".
ADVICE = Guide(
    state="bound",
    goal="cs_throughput",
    maximize=True,
    limits="ms_throughput",
    helps={
        "thread": "threads, intensity",
        "memory": "intensity, ms_peak",
        "computation": "lanes_width",
        "capacity": "lanes_width + intensity, lanes_width + ms_peak, "
        "lanes_width + ms_peak + threads",
    },
    tied={"capacity": ("memory", "computation")},
    along=("ms_throughput",),
    fixed=frozenset({"issue_cycles", "comp_factor", "imbalance_loss", "warp_size"}),
    notes={"supply=smooth": "the memory system never fills: thread and memory name its asymptotes"},
)

#: Limits whose relative difference is below 1 / TIE are equal.
TIE = 10**12


@equation(source="Li 2015, Eqs. 1-3 where both curves rise", symbol=r"\frac{n}{L+lZ}")
def thread_limit(threads, mem_latency, intensity, arithmetic_latency):
    r"""Requests per cycle if no system is full: one request per thread and round trip. [1/cycle]

    .. math:: k/L = (n-k)/(lZ) \;\Rightarrow\; r = n/(L+lZ)
    """
    return threads / (mem_latency + arithmetic_latency * intensity)


@equation(source="Li 2015, Eq. 2", symbol=r"\frac{M}{Z}")
def computation_limit(lanes_width, intensity):
    """Requests per cycle if all lanes are busy. [1/cycle]"""
    return lanes_width / intensity


@equation(name="supply_limit", source="Li 2015, Fig. 4-B", when={"supply": "sharp"})
def supply_limit_sharp(thread_limit, ms_peak):
    """Requests per cycle where the rising demand crosses the roofline supply. [1/cycle]"""
    return minimum(thread_limit, ms_peak)


@equation(name="supply_limit", source="Li 2015, Fig. 4-A, Eq. 3", when={"supply": "smooth"})
def supply_limit_smooth(threads, mem_latency, intensity, arithmetic_latency, ms_peak):
    r"""Requests per cycle where the rising demand crosses the smooth supply. [1/cycle]

    With z = l Z, the condition k/(L + k/R) = (n − k)/z is
    :math:`(z/R) r^2 - (L + z + n/R) r + n = 0` in r; the result is the smaller root. The form below
    avoids cancellation: all terms in the divisor are positive.

    .. math:: r = \frac{2n}{L + z + n/R + \sqrt{(z - n/R)^2 + L(L + 2(z + n/R))}}

    >>> supply_limit_smooth(1000.0, 500.0, 0.0, 1.0, 2.0)  # k/(L + k/R), all threads in memory
    1.0
    """
    full = threads / ms_peak
    thinking = arithmetic_latency * intensity
    gap = thinking - full
    spread = gap * gap + mem_latency * (mem_latency + 2 * (thinking + full))
    return 2 * threads / (mem_latency + thinking + full + sqrt(spread))


@equation(name="ms_throughput", source="Li 2015, Eqs. 1-3", symbol="r", when={"supply": "sharp"})
def ms_throughput_sharp(thread_limit, ms_peak, computation_limit):
    """Requests per cycle that the memory system serves. [1/cycle]"""
    return minimum(thread_limit, ms_peak, computation_limit)


@equation(name="ms_throughput", source="Li 2015, Eqs. 2-3", symbol="r", when={"supply": "smooth"})
def ms_throughput_smooth(supply_limit, computation_limit):
    """Requests per cycle that the memory system serves. [1/cycle]"""
    return minimum(supply_limit, computation_limit)


@equation(source="Li 2015, §2.2", symbol="Zr")
def cs_throughput(intensity, ms_throughput):
    """Operations per cycle that the lanes complete. [1/cycle]"""
    return intensity * ms_throughput


@equation(name="bound", source="Li 2015, §2.4", when={"supply": "sharp"}, flags=FLAGS)
def bound_sharp(ms_throughput, ms_peak, computation_limit):
    """The bottleneck of the machine.

    If memory and computation limit equally (within 1e-12), the bottleneck is "capacity". If the
    thread limit equals the limit of memory or computation, that system is the bottleneck, because
    more threads do not help.
    """
    near = ms_throughput + ms_throughput / TIE
    memory = ms_peak <= near
    computation = computation_limit <= near
    return where(both(memory, computation), 3.0, where(computation, 2.0, where(memory, 1.0, 0.0)))


@equation(name="bound", source="Li 2015, §2.4", when={"supply": "smooth"}, flags=FLAGS)
def bound_smooth(ms_throughput, thread_limit, ms_peak, computation_limit):
    """The bottleneck of the machine.

    With a smooth supply the memory system is never full, and "capacity" does not occur. If the
    lanes are not full, the bottleneck is the lower of the supply's two asymptotes: threads or
    memory.
    """
    computation = computation_limit <= ms_throughput + ms_throughput / TIE
    return where(computation, 2.0, where(ms_peak <= thread_limit, 1.0, 0.0))


@equation(name="threads_in_ms_low", source="Li 2015, Eq. 3, Figs. 11-17", when={"supply": "sharp"})
def threads_in_ms_low_sharp(
    bound, threads, ms_throughput, mem_latency, intensity, arithmetic_latency
):
    """Smallest possible number of threads in the memory system. [threads]"""
    computing = ms_throughput * (arithmetic_latency * intensity)
    return where(equal(bound, 1), threads - computing, ms_throughput * mem_latency)


@equation(name="threads_in_ms_high", source="Li 2015, Eq. 3, Figs. 11-17", when={"supply": "sharp"})
def threads_in_ms_high_sharp(
    bound, threads_in_ms_low, threads, ms_throughput, intensity, arithmetic_latency
):
    """Largest possible number of threads in the memory system. [threads]

    It exceeds the smallest number only if both systems are full. Then spare threads may wait in
    either system.
    """
    computing = ms_throughput * (arithmetic_latency * intensity)
    most = maximum(threads_in_ms_low, threads - computing)
    return where(equal(bound, 3), most, threads_in_ms_low)


@equation(name="threads_in_ms_low", source="Li 2015, Eq. 3", when={"supply": "smooth"})
def threads_in_ms_low_smooth(
    bound, threads, ms_throughput, ms_peak, mem_latency, intensity, arithmetic_latency
):
    """Number of threads in the memory system; a smooth supply allows only one. [threads]

    Where both curves rise, :math:`k^2/R + (L + z - n/R) k - n L = 0` with z = l Z. The root is
    computed in the form that has no difference of nearly equal numbers.
    """
    excess = mem_latency + (arithmetic_latency * intensity - threads / ms_peak)
    root = sqrt(excess * excess + 4 * threads * mem_latency / ms_peak)
    few = divide(2 * threads * mem_latency, root + maximum(excess, 0), at_zero=0.0)
    waiting = where(excess < 0, ms_peak * (root - excess) / 2, few)
    spare = maximum(1 - ms_throughput / ms_peak, 0.0)
    supplying = divide(ms_throughput * mem_latency, spare, at_zero=math.inf)
    return where(equal(bound, 2), minimum(supplying, waiting), waiting)


@equation(name="threads_in_ms_high", source="Li 2015, Eq. 3", when={"supply": "smooth"})
def threads_in_ms_high_smooth(threads_in_ms_low):
    """Number of threads in the memory system; a smooth supply allows only one. [threads]"""
    return threads_in_ms_low


@equation(source="Li 2015, Fig. 6", symbol="k")
def threads_in_ms(threads_in_ms_low, threads_in_ms_high):
    """Number of threads in this system: the middle of the possible range. [threads]

    If both systems are full, spare threads may wait in either system. Otherwise the range is a
    single number.
    """
    return (threads_in_ms_low + threads_in_ms_high) / 2


threads_in_cs = threads_in_ms.copy_as(
    "threads_in_cs", "threads_in_cs_low", "threads_in_cs_high", symbol="x"
)


@equation(source="Li 2015, Fig. 6")
def threads_in_cs_low(
    bound, threads, threads_in_ms_low, ms_throughput, intensity, arithmetic_latency
):
    """Smallest possible number of threads in the computation system. [threads]

    It is r l Z, because n − k loses digits if most threads wait for memory. If more threads than
    lanes compute, it is n − k.
    """
    computing = ms_throughput * (arithmetic_latency * intensity)
    most = maximum(computing, threads - threads_in_ms_low)
    return where(equal(bound, 2), most, computing)


@equation(source="Li 2015, Fig. 6")
def threads_in_cs_high(bound, threads, threads_in_ms_low, threads_in_cs_low):
    """Largest possible number of threads in the computation system. [threads]"""
    most = maximum(threads_in_cs_low, threads - threads_in_ms_low)
    return where(equal(bound, 3), most, threads_in_cs_low)


@equation(source="Li 2015, Eq. 1", symbol=r"\pi")
def cs_transition(lanes_width, arithmetic_latency):
    """Number of threads that fill the lanes: lanes × cycles of an operation. [threads]

    >>> cs_transition(32.0, 18.0)  # C2075
    576.0
    """
    return arithmetic_latency * lanes_width


@equation(source="Li 2015, §2.2", symbol=r"\delta")
def ms_transition(ms_peak, mem_latency):
    """Number of threads that fill the memory system: peak × latency (δ = R L). [threads]"""
    return ms_peak * mem_latency
