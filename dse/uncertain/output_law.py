"""Compute the law of an output at one configuration: exactly where possible, or from draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.arguments import axis_indices
from dse.uncertain.laws import InputLaw
from stochastic import sizes
from sweeps.grid.goals import Goal, dims_of, objective_node
from sweeps.grid.grid import POINT_AXIS, Grid, gather_points
from sweeps.nest.statistics import SamplingDesign, error_of, range_of, summary
from symbolic.answer import Answer, Report, Table, half_width_text, value_text
from symbolic.confidence import chance_half_width_of_rows
from symbolic.errors import DseError, InfeasibleError
from symbolic.intervals import Interval, Trend, interval_of, literal_trend, trend_algebra
from symbolic.ops import Node, interpret_all, interpret_arrays, references
from symbolic.primitives.rule_operations import ALL_AXES
from symbolic.statistics import DRAW, Statistic

if TYPE_CHECKING:
    from dse.uncertain.draws import RandomInputs

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]

#: Levels of the quantiles that an answer shows, and texts for :attr:`OutputLaw.way`.
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_WAYS = {
    "enumerated": "exact: all values enumerated",
    "monotone": "exact: monotone in its one random input",
    "draws": "estimated from draws",
}
#: Inputs are drawn at quantile levels between this level and 1 minus it.
_MIN_LEVEL = 2.0**-40
#: The range of an input is divided into this many parts to prove monotonicity on each.
_PIECES = sizes.OUTPUT_PIECES


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLaw(Report):
    """The law of an output at one configuration, as returned by :func:`dse.law`.

    Attributes:
        text, unit (str): The formula and its unit.
        at, place (dict, str): The configuration, and its text.
        values, weights (array): If ``way`` is "enumerated", ascending values with their
            probabilities; otherwise draws, grouped by replicate.
        undefined (float): The probability that the configuration is infeasible; the law is
            conditional on feasibility.
        way (str): "enumerated": all values and their probabilities are exact. "monotone": quantiles
            and CDF are exact, because the output is proven monotone in its only random input;
            moments are from draws. "draws": all results are estimated from draws, with errors.
    """

    text: str
    unit: str
    at: Mapping[str, Any]
    place: str
    values: Floats
    weights: Floats
    replicates: int
    way: str
    undefined: float = 0.0
    _ranges: tuple[tuple[Floats, Floats], ...] = ()
    _monotone_input: tuple[Function, InputLaw, bool] | None = None

    def __repr__(self) -> str:
        low, middle, high = (self.quantile(q) for q in (0.05, 0.5, 0.95))
        unit = f" {self.unit}" if self.unit else ""
        text = f"{middle:.6g}{unit}, 90 % within {low:.6g} and {high:.6g}{unit} ({self.way})"
        return f"{self.text}{f' at {self.place}' if self.place else ''}: {text}"

    def to_dict(self) -> dict[str, Any]:
        """Return moments, quantiles and atoms as plain data, each value with its half-width."""
        atoms = [self.values.tolist(), self.weights.tolist()] if self.way == "enumerated" else None
        data: dict[str, Any] = {"quantity": self.text, "unit": self.unit, "at": dict(self.at)}
        data |= {"way": self.way, "undefined": self.undefined, "atoms": atoms}
        data |= {name: [getattr(self, name), self.error(name)] for name in ("mean", "std")}
        levels = [[q, self.quantile(q), self.error("quantile", q)] for q in _QUANTILES]
        return data | {"quantiles": levels}

    def _answer(self) -> Answer:
        data, unit = self.to_dict(), self.unit
        pairs = [(name, data[name]) for name in ("mean", "std")]
        pairs += [(f"quantile {q:g}", each) for q, *each in data["quantiles"]]
        rows = [
            [name, (value, unit), half_width_text(error, unit)] for name, (value, error) in pairs
        ]
        where = f" at {self.place}" if self.place else ""
        undefined = [f"chance of no value: {self.undefined:.3g}"] if self.undefined else []
        return Answer(
            kind="Law",
            title=f"{self.text}{where} ({_WAYS[self.way]})",
            tables=[Table(columns=(self.text, "", ""), rows=rows, is_open=True)],
            notes=undefined,
            data=data,
        )

    @property
    def exact(self) -> bool:
        """True if quantiles and CDF have no error."""
        return self.way != "draws"

    @property
    def mean(self) -> float:
        """The expected value."""
        return math.fsum((self.weights * self.values).tolist())

    @property
    def std(self) -> float:
        """The standard deviation."""
        off = self.values - self.mean
        return math.sqrt(math.fsum((self.weights * off * off).tolist()))

    def quantile(self, q: float) -> float:
        """Return the smallest x for which the probability of a value <= x is at least ``q``."""
        level = _level(q)
        if self._monotone_input is not None:
            function, law, rises = self._monotone_input
            u = np.clip([float(level if rises else 1 - level)], _MIN_LEVEL, 1 - _MIN_LEVEL)
            return float(function(law.quantile(u))[0])
        return self._statistic("quantile", level)

    def cdf(self, x: float) -> float:
        """Return the probability that the output is at most ``x``."""
        if self._monotone_input is None:
            return math.fsum(self.weights[self.values <= x].tolist())
        function, law, rises = self._monotone_input
        low, high = _MIN_LEVEL, 1 - _MIN_LEVEL
        ends = function(law.quantile(np.array([low, high])))
        if (ends <= x).all() or (ends > x).all():
            return float(ends[0] <= x)
        for _ in range(80):
            middle = (low + high) / 2
            below = bool(function(law.quantile(np.array([middle])))[0] <= x)
            low, high = (middle, high) if below == rises else (low, middle)
        return low if rises else 1 - low

    def error(self, of: str, at: float | None = None) -> float:
        """Return half the width of the 95 % interval of a statistic; 0 if it is exact.

        ``of`` is ``"mean"``, ``"std"``, ``"quantile"`` or ``"cdf"``; ``at`` is the level of the
        quantile, or the argument of the CDF.
        """
        if of not in ("mean", "std", "quantile", "cdf"):
            raise DseError(f"error of {of!r}: expected mean, std, quantile or cdf")
        if self.way == "enumerated":
            return 0.0
        if self._monotone_input is not None and of in ("quantile", "cdf"):
            return self._tail_error(of, float(at or 0))
        if of == "cdf":
            below = (self.values[None] <= float(at or 0)).astype(np.float64)
            return float(chance_half_width_of_rows(below, self.replicates)[0])
        return self._statistic(of, _level(at) if of == "quantile" else None, error=True)

    def _tail_error(self, kind: str, value: float) -> float:
        """Return the error of a monotone law, which is 0 between the extreme draw levels."""
        assert self._monotone_input is not None
        if kind == "cdf":
            return _MIN_LEVEL if self.cdf(value) in (0, 1) else 0.0
        if _MIN_LEVEL <= value <= 1 - _MIN_LEVEL:
            return 0.0
        function, law, rises = self._monotone_input
        with np.errstate(all="ignore"):
            end = float(function(law.quantile(np.array([value if rises else 1 - value])))[0])
        return math.inf if math.isnan(end) else abs(end - self.quantile(value))

    def _statistic(self, kind: str, level: Fraction | None, error: bool = False) -> float:
        zero = Node("constant", (0.0,))
        statistic = Statistic(
            kind=kind, argument=zero, argument_text=self.text, axes=(DRAW,), level=level
        )
        rows = np.ascontiguousarray(self.values[None])
        weights = None if np.all(self.weights == self.weights[0]) else self.weights
        if error:
            size, ranges = self.values.size, self._value_range if self._ranges else None
            design = SamplingDesign(draws=size, replicates=self.replicates, range_at=ranges)
            return float(error_of(statistic, rows, design)[0])
        out = np.empty(1)
        summary(statistic, rows, weights, out)
        return float(out[0])

    def _value_range(self, _: Any, whole: bool) -> tuple[Floats, Floats]:
        low, high = self._ranges[whole]
        return low.reshape(1, 1), high.reshape(1, 1)


def _level(q: Any) -> Fraction:
    if isinstance(q, bool) or not isinstance(q, (int, float, Fraction)) or not 0 <= q <= 1:
        raise DseError(f"q = {q!r}: expected a probability from 0 to 1, such as 0.95")
    return Fraction(q)


def output_law(
    grid: Grid, goal: Goal, random_inputs: RandomInputs, at: Mapping[str, Any], unit: str
) -> OutputLaw:
    """Return the law of a formula at one configuration of a grid with random draws."""
    point = _point_indices(grid, goal, at)
    key = tuple(grid.axes[a].labels[point[a]] for a in grid.switch_axes)
    node = objective_node(grid, key, goal)
    used = {name: grid.leaves[key][name] for name in references(node)}
    index = {axis: np.array([i]) for axis, i in point.items() if axis not in grid.switch_axes}
    part = gather_points(replace(grid, leaves={key: used}), key, index, (DRAW,))
    leaves = part.leaves[()]
    axis = part.axes[DRAW]
    outputs = part.evaluate([node], (), (POINT_AXIS, DRAW))[0]
    values = np.array(outputs, dtype=np.float64).reshape(-1)
    weights = np.full(axis.size, 1 / axis.size) if axis.weights is None else axis.weights
    random = [name for name, leaf in leaves.items() if DRAW in leaf.axes]
    shared: dict[str, Any] = {"text": goal.text, "unit": unit, "replicates": axis.replicates}
    shared["at"] = {a: grid.axes[a].coordinate[i].item() for a, i in point.items()}
    units = {a: grid.model.quantities[a].unit for a in point if a in grid.model.quantities}
    pairs = [f"{a} = {value_text(value, units.get(a, ''))}" for a, value in shared["at"].items()]
    shared["place"] = ", ".join(pairs)
    shared["_ranges"] = tuple(range_of(part, node, (POINT_AXIS,), full) for full in (False, True))
    if len(random) == 1 and random[0] in random_inputs.laws:
        law = random_inputs.laws[random[0]]
        known = {n: np.asarray(leaf.array).reshape(-1) for n, leaf in leaves.items()}

        def function(x: Floats) -> Floats:
            result = interpret_arrays([node], {**known, random[0]: x})[0]
            return np.broadcast_to(np.asarray(result, dtype=np.float64), x.shape)

        if law.values:
            chances = np.array([float(weight) for weight in law.weights])
            return _enumerated_law(function(np.array(law.values)), chances, shared)
        rises = _is_rising(node, known, random[0], law)
        if rises is not None and np.isfinite(values).all():
            shared["_monotone_input"] = (function, law, rises)
            return OutputLaw(values=values, weights=weights, way="monotone", **shared)
    if random_inputs.is_exact or not random:
        return _enumerated_law(values, weights, shared)
    undefined = float(weights[~np.isfinite(values)].sum())
    if undefined:
        raise InfeasibleError(
            f"{goal.text} has no value in {undefined:.2%} of the draws at "
            f"{shared['place'] or 'any configuration'}: choose a configuration that is feasible in "
            "all draws, or query the chance that it is"
        )
    return OutputLaw(values=values, weights=weights, way="draws", **shared)


def _point_indices(grid: Grid, goal: Goal, at: Mapping[str, Any]) -> dict[str, int]:
    """Return the index of the point ``at`` on each axis on which the formula depends."""
    axes = [axis for axis in grid.axes if axis != DRAW]
    fixed = axis_indices(grid, at, allowed=axes)
    used = dims_of(grid, [goal]) | set(at) | set(grid.switch_axes)
    missing = [a for a in axes if a in used and a not in at and grid.axes[a].size > 1]
    if missing:
        raise DseError(
            f"{goal.text} differs along {', '.join(missing)}: give its value, as in at="
            f"{{{missing[0]!r}: {grid.axes[missing[0]].coordinate[0].item()!r}}}"
        )
    return {axis: fixed.get(axis, 0) for axis in axes if axis in used}


def _enumerated_law(values: Floats, weights: Floats, attributes: Mapping[str, Any]) -> OutputLaw:
    """Return the law of weighted values without NaN and infinities; merge equal values."""
    defined = np.isfinite(values)
    if not defined.any():
        raise InfeasibleError(
            f"{attributes['text']} has no value at {attributes['place'] or 'any configuration'}: "
            "not feasible"
        )
    atoms, place = np.unique(values[defined], return_inverse=True)
    chances = np.array(
        [math.fsum(weights[defined][place == number].tolist()) for number in range(atoms.size)]
    )
    undefined = math.fsum(weights[~defined].tolist())
    return OutputLaw(
        values=atoms,
        weights=chances / math.fsum(chances.tolist()) if undefined else chances,
        way="enumerated",
        undefined=undefined,
        **attributes,
    )


def _is_rising(node: Node, values: Mapping[str, Floats], name: str, law: InputLaw) -> bool | None:
    """True if a formula provably never falls as an input grows, False if it provably never rises.

    The result is None if neither is proven.
    """
    ends = law.quantile(np.clip(np.linspace(0, 1, _PIECES + 1), _MIN_LEVEL, 1 - _MIN_LEVEL))
    if not np.isfinite(ends).all():
        return None
    fixed = {n: Trend(interval_of(v), ALL_AXES, ALL_AXES) for n, v in values.items() if n != name}
    bit = np.uint64(1)
    moved = Trend(Interval(ends[:-1], ends[1:]), np.full(_PIECES, ALL_AXES), ALL_AXES & ~bit)
    with np.errstate(all="ignore"):
        trends = {**fixed, name: moved}
        result: Trend = interpret_all([node], trends, trend_algebra(), literal_trend)[0]
    if result.enclosure.may_be_nan is not False and np.any(result.enclosure.may_be_nan):
        return None
    for rises, ways in ((True, result.up), (False, result.down)):
        if np.all(np.bitwise_and(ways, bit)):
            return rises
    return None
