"""Divergent branches: a warp executes every path that any of its lanes takes (Hong 2012, §2.6.5).

``paths`` lists the mutually exclusive paths of a branch as ``probability: cycles``, separated by
commas: ``"0.5: 100, 0.3: 20, 1/5: 7"``. Each lane takes one path, independently of the other lanes.
The thesis sums the cycles of all paths (within 6 % of its measurements). For many lanes, the
expected cycles approach that sum.
"""

import math
from fractions import Fraction
from functools import lru_cache

from symbolic.equation import equation
from symbolic.errors import DseError
from symbolic.model import Validity
from symbolic.ops import divide, power

OUTPUTS = ("divergent_cycles", "divergent_cycles_std", "divergent_cycles_bound", "divergence_loss")
VALIDITY = Validity(
    statement="any machine whose lanes run in lockstep: only the probabilities of paths count"
)

TOLERANCE = Fraction(1, 10**9)
EXACT_LANES = 1024


@lru_cache(maxsize=256)
def _parse_paths(paths):
    """Parse and check ``paths``; return a pair (probability, cycles) for each path."""
    pairs: list[tuple[Fraction, Fraction]] = []
    for part in paths.split(","):
        try:
            chance, cycles = (Fraction(text.strip()) for text in part.split(":"))
        except (ValueError, ZeroDivisionError):
            raise DseError(
                f"paths = {paths!r}: {part.strip()!r} is no path; expected 'probability: cycles, "
                "...', for example '0.5: 100, 0.3: 20, 0.2: 7'"
            ) from None
        if chance < 0 or chance > 1 or cycles < 0:
            raise DseError(
                f"paths = {paths!r}: {part.strip()!r} is outside its domain; expected a "
                "probability in [0, 1] and cycles of 0 or more"
            )
        pairs.append((chance, cycles))
    total = sum((chance for chance, _ in pairs), Fraction(0))
    if abs(total - 1) > TOLERANCE:
        raise DseError(
            f"paths = {paths!r}: the probabilities sum to {float(total):.12g}, expected 1; a lane "
            "takes exactly one path, so list the one on which nothing is done too, with 0 cycles"
        )
    return tuple(pairs)


def _untaken_probability(chance, lanes):
    """Return the probability that an event of probability ``chance`` occurs in no lane."""
    if chance >= 1:
        return Fraction(0)
    if lanes <= EXACT_LANES:
        return (1 - chance) ** int(lanes)
    return Fraction(math.exp(lanes * math.log1p(-float(chance))))


@equation(source="Hong 2012, §2.6.5")
def path_taken(path_probability, lanes):
    """Probability that at least one lane of a warp takes a path. [ratio]"""
    return 1 - power(1 - path_probability, lanes)


@equation(source="Hong 2012, §2.6.5, in expectation", table=True)
def divergent_cycles(paths, lanes):
    r"""Expected cycles of a warp, which executes every path that a lane takes. [cycles]

    .. math:: E = \sum_i c_i (1 - (1-p_i)^{lanes})
    """
    return float(sum(c * (1 - _untaken_probability(p, lanes)) for p, c in _parse_paths(paths)))


@equation(source="Hong 2012, §2.6.5, in expectation", table=True)
def divergent_cycles_std(paths, lanes):
    r"""Standard deviation of the cycles of a warp. [cycles]

    It follows from the probability, for each pair of paths, that no lane takes either:

    .. math:: \sigma^2 = \sum_{i,j} c_i c_j \left[(1-p_i-p_j)^{lanes}
        - (1-p_i)^{lanes}(1-p_j)^{lanes}\right],\quad (1-p_i)^{lanes} \text{ for } i = j.
    """
    read = _parse_paths(paths)
    unseen = [_untaken_probability(chance, lanes) for chance, _ in read]
    variance = Fraction(0)
    for i, (chance, cycles) in enumerate(read):
        variance += cycles * cycles * unseen[i] * (1 - unseen[i])
        for j in range(i):
            neither = _untaken_probability(chance + read[j][0], lanes)
            variance += 2 * cycles * read[j][1] * (neither - unseen[i] * unseen[j])
    return math.sqrt(max(float(variance), 0.0))


@equation(source="Hong 2012, §2.6.5 and Fig. 30", table=True)
def divergent_cycles_bound(paths):
    """Cycles of a warp that executes every path, as in the thesis. [cycles]"""
    return float(sum(cycles for _, cycles in _parse_paths(paths)))


@equation(source="Hong 2012, §2.6.5, of one lane", table=True)
def convergent_cycles(paths):
    """Expected cycles of a lane that runs without lockstep. [cycles]"""
    return float(sum(chance * cycles for chance, cycles in _parse_paths(paths)))


@equation(source="Hong 2012, §2.6.5")
def divergence_loss(divergent_cycles, convergent_cycles):
    """Slowdown from lockstep: expected cycles of a warp / expected cycles of a lane. [ratio]"""
    return divide(divergent_cycles, convergent_cycles, at_zero=1.0)
