"""Statistics over axes in formulas: ``mean(time)``, ``quantile(time, 0.99)``, ``worst(power)``.

:data:`STATISTICS` has a row for each statistic, with a function that computes it from a law, and a
function that expresses it as a formula of a few values. The compiled loops have a second table
(:data:`sweeps.nest.statistics.ROW_STATISTICS`). A new statistic needs a row in both tables.

A statistic is a number computed from all values of a formula along some axes, so it is not a
primitive. In formulas it is a reference, like a quantity, with a :class:`StatisticName` as name; it
is computed before the formulas that use it. The meaning of *worst*, *best* and *cvar* depends on
whether a formula should be small or large; :func:`resolve_direction` replaces *worst*, for example,
by *worst_high* or *worst_low*.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from symbolic.errors import DseError
from symbolic.node import Node, constant, reference, substitute, walk
from symbolic.ops import absolute, both, either, exp, log, maximum, minimum, sqrt, where
from symbolic.quantity import Domain, Quantity

#: Names of axes in statistics. ``draw``: random draws. ``run``: repeated runs. ``design``: all
#: other axes, except those of enclosing statistics.
DRAW, RUN, DESIGN = "draw", "run", "design"
#: The last argument of a regret that is a difference.
ABSOLUTE = "'absolute'"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statistic:
    """A statistic of a formula along some axes.

    ``kind`` is a key of :data:`STATISTICS`. ``argument`` is the formula: a condition for
    ``chance``, a statistic for ``error``. ``argument_text`` and ``level_text`` are as the user
    wrote them. ``axes`` is ``("draw",)`` if the user wrote no axis. ``level`` is the level of a
    quantile or tail. ``rules`` has, for each axis of ``at`` and ``regret``, the formula that
    replaces the axis. ``outer_axes`` are the axes of enclosing statistics; the axis name ``design``
    excludes them.
    """

    kind: str
    argument: Node
    argument_text: str
    axes: tuple[str, ...]
    level: Fraction | None = None
    level_text: str = ""
    rules: tuple[Node, ...] = ()
    rule_texts: tuple[str, ...] = ()
    outer_axes: tuple[str, ...] = ()
    unit: str = ""

    @property
    def formula_text(self) -> str:
        """Return the statistic as it is written in formulas, such as ``mean(time)``."""
        parts = [self.argument_text, *([self.level_text] if self.level_text else [])]
        if self.rules:
            pairs = zip(self.axes, self.rule_texts, strict=True)
            parts[1:1] = [text for pair in pairs for text in pair]
            return f"{self.kind}({', '.join(parts)})"
        if self.axes != (DRAW,) and self.kind != "error":
            parts += self.axes
        return f"{self.kind}({', '.join(parts)})"


class StatisticName(str):
    """The name of a statistic in formulas, with the statistic as an attribute."""

    __slots__ = ("statistic",)

    statistic: Statistic

    def __new__(cls, statistic: Statistic) -> StatisticName:
        """Return the name of a statistic."""
        but = f" without {', '.join(statistic.outer_axes)}" if statistic.outer_axes else ""
        result = super().__new__(cls, statistic.formula_text + but)
        result.statistic = statistic
        return result

    def __getnewargs__(self) -> Any:
        return (self.statistic,)

    @property
    def quantity(self) -> Quantity:
        """Return a quantity for the values of the statistic."""
        about = self.statistic
        domain = Domain.parse("[-inf, inf]")
        return Quantity(name=self, unit=about.unit, domain=domain, meaning=about.formula_text)


def regret_formula(regret: Statistic) -> Node:
    """Return a regret as a formula of the value at the rules and of the least value.

    The regret is their quotient, or their difference if ``level_text`` is ``ABSOLUTE``.
    """
    value = reference(StatisticName(replace(regret, kind="at", level_text="")))
    best = replace(regret, kind="best_low", level_text="", rules=(), rule_texts=())
    least = reference(StatisticName(best))
    return value - least if regret.level_text == ABSOLUTE else value / least


def statistics_of(roots: Iterable[Node]) -> list[StatisticName]:
    """Return the statistics in some formulas, without statistics inside other statistics."""
    names = (node.args[0] for node in walk(roots) if node.op == "reference")
    return list(dict.fromkeys(name for name in names if isinstance(name, StatisticName)))


def resolve_direction(root: Node, low: bool) -> Node:
    """Return a formula with ``worst``, ``best`` and ``cvar`` replaced by directed statistics.

    ``worst`` becomes ``worst_high`` if the formula should be small (``low``), and otherwise
    ``worst_low``.
    """

    def settle(about: Statistic) -> Statistic:
        if about.kind == "chance":  # its condition has resolved the direction
            return about
        known = with_argument(about, resolve_direction(about.argument, low))
        directed = STATISTICS[about.kind].direction_names
        return replace(known, kind=directed[0 if low else 1]) if directed else known

    return _map_statistics(root, settle)


def _map_statistics(root: Node, change: Callable[[Statistic], Statistic]) -> Node:
    done: dict[str, Node] = {}
    for name in statistics_of([root]):
        if (known := change(name.statistic)) is not name.statistic:
            done[name] = reference(StatisticName(known))
    return substitute(root, done) if done else root


def undirected_statistics(root: Node) -> list[StatisticName]:
    """Return the statistics of unknown direction in a formula, also inside other statistics."""
    result = []
    for name in statistics_of([root]):
        result += [name] if STATISTICS[name.statistic.kind].direction_names else []
        result += undirected_statistics(name.statistic.argument)
    return result


def check_direction(name: StatisticName) -> None:
    """Raise an error if a statistic must know whether small or large values are better."""
    for other in undirected_statistics(reference(name)):
        kind = other.statistic.kind
        row = STATISTICS[kind]
        high, low = (other.replace(f"{kind}(", f"{word}(", 1) for word in row.direction_names)
        raise DseError(
            f"{other}: the formula is neither minimized nor maximized here, so it is not known "
            f"what is {row.undirected_text}: write {low} or {high}"
        )


def with_argument(statistic: Statistic, argument: Node) -> Statistic:
    """Return a statistic with a new argument; only statistics inside the argument may differ.

    The text of the argument is changed accordingly.
    """
    if argument is statistic.argument:
        return statistic
    text = statistic.argument_text
    old, new = statistics_of([statistic.argument]), statistics_of([argument])
    for before, after in zip(old, new, strict=True):
        text = text.replace(before.statistic.formula_text, after.statistic.formula_text)
    return replace(statistic, argument=argument, argument_text=text)


def exclude_axes(root: Node, axes: tuple[str, ...]) -> Node:
    """Return the formula; in its statistics, ``design`` then stands for all other axes."""

    def exclude(about: Statistic) -> Statistic:
        known = with_argument(about, exclude_axes(about.argument, axes))
        if DESIGN not in known.axes:
            return known
        return replace(known, outer_axes=tuple(dict.fromkeys((*known.outer_axes, *axes))))

    return _map_statistics(root, exclude)


@dataclass(frozen=True, slots=True, kw_only=True)
class LawValues:
    """The values of a formula under a probability law, with their probabilities.

    ``chances`` are the probabilities of the values, and ``cumulative`` the running sums of these.
    ``level`` is the level of a quantile or tail.
    """

    values: Any
    cumulative: Any
    chances: Any
    level: float

    def mean(self) -> float:
        """Return the mean."""
        return math.fsum(self.chances * self.values)

    def std(self) -> float:
        """Return the standard deviation."""
        return math.sqrt(math.fsum(self.chances * (self.values - self.mean()) ** 2))

    def geomean(self) -> float:
        """Return the geometric mean."""
        return math.exp(math.fsum(self.chances * np.log(self.values)))

    def chance(self) -> float:
        """Return the total probability of the values that are true."""
        return min(math.fsum(self.chances[self.values]), 1.0)

    def tail(self, sign: float, mean: bool = True) -> float:
        """Return the mean of a tail of the law, or with ``mean=False`` the quantile that bounds it.

        The tail is above the quantile if ``sign`` is 1, and below the quantile if ``sign`` is -1.
        """
        values, chances, below = sign * self.values, self.chances, self.cumulative
        if np.any(np.diff(values) < 0):
            order = np.argsort(values, kind="stable")
            values, chances = values[order], chances[order]
            below = np.cumsum(chances)
        place = int(np.searchsorted(below, self.level, side="left"))
        place = min(place, len(values) - 1)
        if not mean:
            return sign * float(values[place])
        beyond = values[place] * max(below[place] - self.level, 0.0)
        rest = math.fsum(chances[place + 1 :] * values[place + 1 :])
        return sign * float((beyond + rest) / (1 - self.level))


def statistic_of_law(statistic: Statistic, values: Any, cumulative: Any) -> float:
    """Return a statistic of values whose cumulative probabilities are given."""
    if np.isnan(values).any():
        return math.nan
    cell = STATISTICS[statistic.kind].law
    assert cell is not None, f"{statistic.kind} of a law"
    chances = np.diff(cumulative, prepend=0.0)
    level = float(statistic.level or 0)
    return cell(LawValues(values=values, cumulative=cumulative, chances=chances, level=level))


# --- Statistics of a few values as formulas, with the steps of :mod:`sweeps.nest.statistics`

#: Sums of at least _LONG terms are computed as _PARTS partial sums.
_LONG, _PARTS = 32, 8
#: A sum of weights counts as having reached a level if at most this tolerance is missing.
_WEIGHT_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeValues:
    """The values of a statistic, as nodes; each method returns one statistic as a formula.

    ``weights`` sum to 1; None means equal weights. ``never_nan`` says that no value can be NaN. If
    a statistic has no value, its formula gives NaN.
    """

    values: Sequence[Node]
    weights: Sequence[float] | None
    level: Fraction | None
    never_nan: bool

    def mean(self) -> Node:
        """Return the mean."""
        return _mean(self.values, self.weights)

    def geomean(self) -> Node:
        """Return the geometric mean."""
        return constant(exp(_mean([constant(log(value)) for value in self.values], self.weights)))

    def std(self) -> Node:
        """Return the standard deviation."""
        mean = self.mean()
        off = [constant(absolute(value - mean)) for value in self.values]
        return constant(sqrt(_mean([distance * distance for distance in off], self.weights)))

    def worst(self, high: bool) -> Node:
        """Return the largest (if ``high``) or smallest value; NaN if any value is NaN."""
        return self._nan_if_any(_extreme(self.values, high))

    def best(self, high: bool) -> Node:
        """Return the largest (if ``high``) or smallest of the values that are not NaN."""
        if self.never_nan:
            return _extreme(self.values, high)
        holds = self._not_nan()
        known = [
            constant(where(test, value, -math.inf if high else math.inf))
            for test, value in zip(holds, self.values, strict=True)
        ]
        return constant(where(either(*holds), _extreme(known, high), math.nan))

    def quantile(self) -> Node:
        """Return the quantile at ``level``."""
        return self._nan_if_any(self._tail(1.0, mean=False))

    def tail(self, sign: float) -> Node:
        """Return the mean of the values above (``sign`` 1) or below (-1) the quantile."""
        return self._nan_if_any(self._tail(sign, mean=True))

    def _not_nan(self) -> list[Node]:
        return [constant(value >= -math.inf) for value in self.values]

    def _nan_if_any(self, result: Node) -> Node:
        if self.never_nan:
            return result
        return constant(where(both(*self._not_nan()), result, math.nan))

    def _tail(self, sign: float, mean: bool) -> Node:
        assert self.level is not None
        count, level = len(self.values), self.level
        signed = [value * sign for value in self.values]
        if self.weights is None:
            rank = max(math.ceil(level * count) - 1, 0)
            result, *beyond = _sort(signed)[rank:]
            if mean:
                result = result * float(rank + 1 - level * count) + _ordered_sum(beyond)
                result = result / float((1 - level) * count)
            return result * sign
        result = _weighted_quantile(signed, self.weights, float(level))
        if mean:
            excess = [constant(maximum(value - result, 0.0)) for value in signed]
            more = _mean(excess, self.weights) / (1 - float(level))
            result = constant(where(absolute(result) < math.inf, result + more, result))
        return result * sign


def statistic_as_formula(
    statistic: Statistic, values: Sequence[Node], weights: Any, never_nan: bool = False
) -> Node:
    """Return a statistic of some values as a formula; :class:`NodeValues` defines the arguments."""
    cell = STATISTICS[statistic.kind].formula
    assert cell is not None, f"{statistic.kind} as a formula"
    shares = None if weights is None else [float(share) for share in weights]
    return cell(
        NodeValues(values=values, weights=shares, level=statistic.level, never_nan=never_nan)
    )


def _extreme(values: Sequence[Node], high: bool) -> Node:
    pick = maximum if high else minimum
    return reduce(lambda best, value: constant(pick(value, best)), values)


def _ordered_sum(terms: Sequence[Node]) -> Node:
    """Return the sum of some terms, added in the order in which compiled loops add them."""

    def inorder(first: Node, rest: Sequence[Node]) -> Node:
        return reduce(lambda a, b: a + b, rest, first)

    zero = constant(0.0)
    whole = len(terms) - len(terms) % _PARTS if len(terms) >= _LONG else 0
    parts = [inorder(zero, terms[k:whole:_PARTS]) for k in range(_PARTS)] if whole else [zero] * 8
    a, b, c, d, e, f, g, h = parts
    first = ((a + b) + (c + d)) + ((e + f) + (g + h)) if whole else zero
    return inorder(first, terms[whole:])


def _mean(values: Sequence[Node], shares: Sequence[float] | None) -> Node:
    if shares is None:
        return _ordered_sum(values) / len(values)
    pairs = zip(shares, values, strict=True)
    terms = [share * value for share, value in pairs if share > 0]
    return reduce(lambda a, b: a + b, terms, constant(0.0))


def _weighted_quantile(values: Sequence[Node], shares: Sequence[float], level: float) -> Node:
    """Return the smallest value at which the cumulative weight reaches ``level``."""
    reached = []
    for value in values:
        below = [constant(where(v <= value, w, 0.0)) for v, w in zip(values, shares, strict=True)]
        enough = reduce(lambda a, b: a + b, below) >= level - _WEIGHT_TOLERANCE
        reached.append(constant(where(enough, value, math.inf)))
    return _extreme(reached, high=False)


def _sort(values: Sequence[Node]) -> list[Node]:
    """Sort values by Batcher's merge exchange (Knuth, TAOCP 3, algorithm 5.2.2M)."""
    result = list(values)
    count = len(result)
    top = 1 << max(count - 1, 0).bit_length() >> 1
    p = top
    while p > 0:
        q, r, d = top, 0, p
        while True:
            for i in range(count - d):
                if i & p == r:
                    a, b = result[i], result[i + d]
                    result[i], result[i + d] = constant(minimum(a, b)), constant(maximum(b, a))
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return result


@dataclass(frozen=True, slots=True)
class StatisticRow:
    """A row of :data:`STATISTICS`.

    If ``has_level``, the statistic takes a level between 0 and 1 after the formula; with
    ``includes_ends`` also the levels 0 and 1. If ``has_rules``, each axis is followed by the
    formula that replaces it. ``direction_names`` are two statistics that replace
    this one: the first if a formula should be small, the second if it should be large.
    ``undirected_text`` describes the statistic for an error about its direction. ``law`` computes
    the statistic of a law (None: impossible). ``formula`` returns the statistic as a formula of a
    few values, for bounds over boxes; if it is None, the statistic is computed before the search.
    """

    meaning: str
    has_level: bool = False
    includes_ends: bool = False
    has_rules: bool = False
    direction_names: tuple[str, ...] = ()
    undirected_text: str = ""
    law: Callable[[LawValues], float] | None = None
    formula: Callable[[NodeValues], Node] | None = None


STATISTICS: dict[str, StatisticRow] = {
    "mean": StatisticRow("the mean", law=LawValues.mean, formula=NodeValues.mean),
    "std": StatisticRow("the standard deviation", law=LawValues.std, formula=NodeValues.std),
    "geomean": StatisticRow(
        "the geometric mean", law=LawValues.geomean, formula=NodeValues.geomean,
    ),
    "chance": StatisticRow("the probability of a condition", law=LawValues.chance,
                           formula=NodeValues.mean),
    "at": StatisticRow("the value with axes replaced by formulas", has_rules=True),
    "regret": StatisticRow("the value with axes replaced by formulas, divided by the least value",
                           has_rules=True),
    "error": StatisticRow("half the width of the 95 % interval of a statistic"),
    "worst": StatisticRow("the worst value", undirected_text="worst",
                          direction_names=("worst_high", "worst_low")),
    "worst_high": StatisticRow("the largest value", formula=lambda few: few.worst(high=True)),
    "worst_low": StatisticRow("the least value", formula=lambda few: few.worst(high=False)),
    "best": StatisticRow("the best value of those that there are", undirected_text="best",
                         direction_names=("best_low", "best_high")),
    "best_high": StatisticRow("the largest value of those that there are",
                              formula=lambda few: few.best(high=True)),
    "best_low": StatisticRow("the least value of those that there are",
                             formula=lambda few: few.best(high=False)),
    "quantile": StatisticRow(
        "the least value that is not exceeded with the probability of the level", has_level=True,
        includes_ends=True, law=lambda law: law.tail(1.0, mean=False), formula=NodeValues.quantile,
    ),
    "cvar": StatisticRow("the mean of the worse tail beyond the quantile", has_level=True,
                         undirected_text="the worse tail",
                         direction_names=("cvar_high", "cvar_low"), law=lambda law: law.tail(1.0)),
    "cvar_high": StatisticRow("the mean of the upper tail", has_level=True,
                              law=lambda law: law.tail(1.0), formula=lambda few: few.tail(1.0)),
    "cvar_low": StatisticRow("the mean of the lower tail", has_level=True,
                             law=lambda law: law.tail(-1.0), formula=lambda few: few.tail(-1.0)),
}  # fmt: skip
