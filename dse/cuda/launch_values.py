"""Evaluate expressions at a launch: at its threads, and at iterations of its loops.

Values are arrays of five axes: blocks along x, y and z, warps in a block, lanes in a warp.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dse.cuda.integer_expressions import (
    FALSE,
    TRUE,
    Atom,
    Condition,
    IntExpr,
    Substitution,
    atom_expr,
    constant,
    floordiv,
    substitute,
)
from dse.cuda.loop_counts import free_loops, required_trip_counts
from stochastic import sizes
from symbolic.errors import DseError

_MAX_BLOCKS = sizes.BLOCKS_LOOKED  # upper limit on sampled blocks
BLOCKS = ("ctaid.x", "ctaid.y", "ctaid.z")


def sample_indices(size: int, limit: int) -> Any:
    """Return all indices below ``size``; if there are more than ``limit``, evenly spaced ones."""
    return np.unique(np.linspace(0, size - 1, min(size, limit)).round().astype(np.int64))


def sample_axis(size: int, limit: int) -> tuple[Any, Any]:
    """Return sampled indices along an axis, and the number of indices that each represents."""
    indices = sample_indices(size, limit)
    if size <= limit:
        return indices, np.ones(size)
    middle = (indices[1:] + indices[:-1]) / 2
    edges = np.concatenate([[-0.5], middle, [size - 0.5]])
    weights = np.diff(edges)
    weights[0], weights[-1] = 1.0, 1.0
    weights[1] += edges[1] - edges[0] - 1
    weights[-2] += edges[-1] - edges[-2] - 1
    return indices, weights


_MAX_ITERATIONS = sizes.PASSES_FOLLOWED  # upper limit for a loop run step by step
_INTRICATE = "the kernel is too complex to count: import a profile (dse import) instead"


_BINARY_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "least": np.minimum,
    "most": np.maximum,
    "exclusive or": np.bitwise_xor,
    "bitwise and": np.bitwise_and,
    "bitwise or": np.bitwise_or,
}


def _evaluate_table(table: int, words: Sequence[Any]) -> Any:
    """Return a bitwise function of three words, given by the truth table of LOP3."""
    result: Any = 0
    for row in range(8):
        if table >> row & 1:
            bits = (
                word if row & bit else ~word for word, bit in zip(words, (4, 2, 1), strict=True)
            )
            result = result | functools.reduce(np.bitwise_and, bits)
    return result


class LaunchSubstitution(Substitution):
    """Replaces launch sizes, arguments and data inputs in expressions by numbers.

    A condition is decided if it is the same at all threads, as most boundary guards are. Unknown
    conditions and addresses are not replaced.
    """

    def __init__(self, launch: KernelLaunch) -> None:
        super().__init__(self._replace_atom)
        numbers: dict[tuple[str, object], int] = {
            ("argument", at): value
            for at, value in launch.arguments.items()
            if at not in launch.pointers
        }
        for name, many in launch.data_values.items():
            if float(many).is_integer():
                numbers["input", name] = int(many)
        self._max_index: dict[str, int] = {}
        for axis, blocks, threads in zip("xyz", launch.grid, launch.block, strict=True):
            for name, size in (("ctaid", blocks), ("tid", threads)):
                self._max_index[f"{name}.{axis}"] = size - 1
                numbers["special", f"n{name}.{axis}"] = size
                if size == 1:
                    numbers["special", f"{name}.{axis}"] = 0
        self._constants = {Atom(kind, (n,)): constant(v) for (kind, n), v in numbers.items()}

    def _replace_atom(self, atom: Atom) -> IntExpr | None:
        if atom.kind == "over":
            above, below = (self.value(each) for each in atom.args)
            by_zero = below.constant_value == 0
            return atom_expr("over", above, below) if by_zero else floordiv(above, below)
        return self._constants.get(atom)

    def _compare(self, operator: str, value: IntExpr) -> Condition:
        low = high = 0
        for product, times in value.terms.items():
            top = times
            for one in product:
                if one.kind != "special" or one.args[0] not in self._max_index:
                    return operator, value
                top *= self._max_index[one.args[0]]
            low += min(top, 0) if product else top
            high += max(top, 0) if product else top
        if operator == ">=":
            return TRUE if low >= 0 else FALSE if high < 0 else (operator, value)
        return TRUE if low == high == 0 else FALSE if low > 0 or high < 0 else (operator, value)


_MIN_ITERATIONS = sizes.PASSES_LOOKED  # lower limit on the budget of sampled iterations
_MAX_ITERATIONS_TOTAL = sizes.PASSES_EVERY  # sampled iterations of all nested loops together
_MIN_ITERATIONS_EACH = sizes.PASSES_FEW  # lower limit on sampled iterations of each nested loop
_MAX_NUMBERS = sizes.PASSES_NUMBERS  # upper limit on values computed over lanes and iterations


class KernelLaunch:
    """A launch: sizes of grid and block, arguments, and data inputs.

    Large grids are sampled along each axis. ``pointers`` are the arguments that are addresses.
    ``cache`` holds earlier results for the same sizes and inputs, of this kernel or of others.
    """

    def __init__(
        self,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Mapping[int, int],
        data_values: Mapping[str, float],
        trip_counts: Mapping[int, IntExpr],
        pointers: frozenset[int] = frozenset(),
        cache: dict[Any, Any] | None = None,
    ) -> None:
        self.grid, self.block, self.threads = grid, block, math.prod(block)
        self.arguments, self.data_values, self.pointers = arguments, data_values, pointers
        self._special: dict[str, Any] = {}
        self._set_special_registers()
        self._atom_values: dict[Atom, Any] = {}
        self._iterations: dict[int, Any] = {}
        self._loop_results: dict[Any, Any] = {}
        self._free_loop_cache: dict[Atom, frozenset[int]] = {}
        self._cache: dict[Any, Any] = {} if cache is None else cache
        sized: LaunchSubstitution = self._cache.setdefault("sized", LaunchSubstitution(self))
        self._substitution = sized
        self.trip_counts = {head: self.substitute(many) for head, many in trip_counts.items()}
        #: True once iterations of a loop were sampled.
        self.is_sampled = False

    def _set_special_registers(self, warp_size: int = 32) -> None:
        grid, block = self.grid, self.block
        warps = -(-self.threads // warp_size)
        lanes = np.arange(warps * warp_size)
        self.active = (lanes < self.threads).reshape(warps, warp_size)
        lanes = np.minimum(lanes, self.threads - 1)
        axes = sum(size > 1 for size in grid)
        most = int(_MAX_BLOCKS ** (1 / max(axes, 1)))
        indices, weights = zip(*(sample_axis(size, most) for size in grid), strict=True)
        weight = functools.reduce(np.multiply.outer, [*weights, np.ones(warps)])
        self.weight = weight / weight.sum()
        tid = (lanes % block[0], lanes // block[0] % block[1], lanes // (block[0] * block[1]))
        at = self._special
        for axis, name in enumerate("xyz"):  # an index that is always 0 is a number, not an array
            blocks = np.expand_dims(indices[axis], [each for each in range(5) if each != axis])
            at[f"ntid.{name}"], at[f"nctaid.{name}"] = block[axis], grid[axis]
            at[f"ctaid.{name}"] = blocks if grid[axis] > 1 else 0
            at[f"tid.{name}"] = tid[axis].reshape(warps, warp_size) if block[axis] > 1 else 0
        at["lane"] = np.arange(warp_size)

    def restrict_to(self, iterations: Mapping[int, int], blocks: Mapping[str, int]) -> KernelLaunch:
        """Return the launch at given iterations of loops and given blocks of the grid."""
        result = copy.copy(self)
        result._special, result._iterations = {**self._special, **blocks}, dict(iterations)
        result._atom_values, result._cache, result._loop_results = {}, {}, {}
        return result

    def substitute(self, value: IntExpr) -> IntExpr:
        """Return an expression in which everything except addresses is replaced by numbers."""
        return self._substitution.value(value)

    def substitute_pointers(self, value: IntExpr) -> IntExpr:
        """Return a substituted expression with known addresses of pointers replaced by numbers."""
        numbers = {at: constant(number) for at, number in self.arguments.items()}
        return substitute(value, lambda a: numbers.get(a.args[0]) if a.kind == "argument" else None)

    def compute_once(self, value: IntExpr, compute: Callable[[], Any], *key_parts: object) -> Any:
        """Return ``compute()``, cached by an expression, its trip counts and ``key_parts``."""
        key = (*key_parts, value, *sorted(required_trip_counts(value, self.trip_counts).items()))
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def mean_per_warp(self, value: IntExpr) -> float:
        """Return the mean, over warps, of the largest value among the threads of a warp."""
        return self._mean_over_warps(self.substitute(value), self._max_over_lanes, "warp")

    def longest_per_mean(self, counts: Iterable[tuple[IntExpr, float]]) -> float:
        """Return a sum of counts of the longest warp of a block, over that of a mean warp."""
        total = np.zeros(self.weight.shape)
        for value, many in counts:
            sized = self.substitute(value)
            total += many * np.asarray(self._mean_over_iterations(sized, self._max_over_lanes))
        mean = float((total * self.weight).sum())
        longest = float((total.max(axis=-1, keepdims=True) * self.weight).sum())
        return longest / mean if mean else 1.0

    def _max_over_lanes(self, values: Any) -> Any:
        values = np.maximum(np.asarray(values, dtype=float), 0.0)
        if values.ndim == 0 or values.shape[-1] == 1:
            return values[..., 0] if values.ndim else values
        return np.where(self.active, values, 0.0).max(axis=-1)

    def mean_per_thread(self, value: IntExpr) -> float:
        """Return the mean of a value over threads."""
        threads = self.active.sum(axis=-1)

        def mean_over_lanes(values: Any) -> Any:
            lanes = np.broadcast_to(values, (*values.shape[:-1], self.active.shape[-1]))
            return np.where(self.active, lanes, 0.0).sum(axis=-1) / threads.mean()

        return self._mean_over_warps(self.substitute(value), mean_over_lanes, "thread")

    def _mean_over_warps(self, value: IntExpr, fold: Any, name: str) -> float:
        if value.constant_value is not None:
            return float(value.constant_value)

        def fold_lanes(values: Any) -> Any:
            values = np.maximum(np.asarray(values, dtype=float), 0.0)
            return fold(values) if values.ndim else values

        def mean() -> float:
            warps = np.asarray(self._mean_over_iterations(value, fold_lanes), dtype=float)
            if warps.ndim == 0:
                return float(warps)
            least = float(warps.min())  # subtracted so that the mean of equal values is exact
            return least + float(((warps - least) * self.weight).sum())

        try:
            return float(self.compute_once(value, mean, name))
        except OverflowError:
            raise DseError("a count exceeds 64 bits: give smaller arguments") from None

    def max_value(self, value: IntExpr) -> int:
        """Return the largest value of a count over threads, with enclosing loops at iteration 0."""
        return max(math.ceil(float(np.max(self.value(value)))), 0)

    def _mean_over_iterations(
        self, value: IntExpr, fold: Any, share: Any = 1.0, budget: float = _MAX_ITERATIONS_TOTAL
    ) -> Any:
        """Return the mean of a value over the iterations of each thread's loops.

        In each iteration, the value is weighted by ``share`` and reduced over lanes by ``fold``. If
        all loops together have more than ``budget`` iterations, the iterations are sampled.
        """
        heads = self._open_loops(value)
        if not heads:
            return fold(self.value(value) * share)
        inside = {head: len(self.free_loops(self.trip_counts[head]) & heads) for head in heads}
        head = min(sorted(heads), key=inside.__getitem__)  # the outermost loop
        many = np.asarray(self.value(self.trip_counts[head]), dtype=float)
        top = int(np.max(many)) if many.size else 0
        if top <= 0:
            return 0.0
        if not self._iterations:
            lanes = max(np.size(self.value(value)), 1)
            budget = min(budget, max(_MAX_NUMBERS / lanes, _MIN_ITERATIONS))
        most = max(int(budget ** (1 / len(heads))), _MIN_ITERATIONS_EACH)
        self.is_sampled |= top > most
        sampled = sample_indices(top, most)
        counted = np.maximum(np.searchsorted(sampled, many, side="left"), 1)
        total: Any = 0.0
        for index in sampled:
            self._iterations[head], self._atom_values = int(index), {}
            total = total + self._mean_over_iterations(
                value, fold, share * (index < many) / counted, budget / len(sampled)
            )
        del self._iterations[head]
        self._atom_values = {}
        return total

    def _open_loops(self, value: IntExpr) -> frozenset[int]:
        result, waiting = set[int](), [value]
        while waiting:
            for head in self.free_loops(waiting.pop()) - result - self._iterations.keys():
                result.add(head)
                waiting.append(self.trip_counts[head])
        return frozenset(result)

    def free_loops(self, value: Any) -> frozenset[int]:
        """Return the loops whose iteration changes a value."""
        return free_loops(value, self._free_loop_cache)

    def value(self, value: IntExpr) -> Any:
        """Return the value of an expression at every sampled thread; a number if it is constant."""
        total: Any = 0
        for product, times in value.terms.items():
            part: Any = times
            for one in product:
                part = part * self._atom_value(one)
            total = total + part
        return total

    def _atom_value(self, atom: Atom) -> Any:
        if atom not in self._atom_values:
            if atom.kind in (
                "first",
                "total",
            ):  # cached, because their evaluation iterates over a loop
                heads = sorted(self.free_loops(atom))
                now = ((head, self._iterations.get(head, 0)) for head in heads)
                if (key := (atom, *now)) not in self._loop_results:
                    self._loop_results[key] = self._evaluate_atom(atom)
                self._atom_values[atom] = self._loop_results[key]
            else:
                self._atom_values[atom] = self._evaluate_atom(atom)
        return self._atom_values[atom]

    def _evaluate_atom(self, atom: Atom) -> Any:
        match atom:
            case Atom("special", (name,)):
                return self._special[name]
            case Atom("argument", (offset,)) if offset in self.arguments:
                return self.arguments[offset]
            case Atom("argument", (offset,)):
                raise DseError(
                    f"a count needs the argument at byte {offset}, which has no value: give each "
                    "argument by set (--set NAME=VALUE)"
                )
            case Atom("input", (name,)):
                return self.data_values[name]
            case Atom("loaded", _):
                return np.nan
            case Atom("pass", (head,)):
                return self._iterations.get(head, 0)
            case Atom("over", (above, below)):
                by = self.value(below)
                return np.floor_divide(self.value(above), np.where(by == 0, 1, by))
            case Atom("scaled", (value, factor, by)):
                return np.floor_divide(self.value(value) * factor, 2 ** (32 + by))
            case Atom(("exclusive or" | "bitwise and" | "bitwise or") as kind, values):
                words = [np.asarray(self.value(v)).astype(np.int64) for v in values]
                return _BINARY_FUNCTIONS[kind](*words)
            case Atom("logic", (table, *values)):
                words = [np.asarray(self.value(v)).astype(np.int64) for v in values]
                return _evaluate_table(table, words)
            case Atom(("least" | "most") as kind, (first, second)):
                return _BINARY_FUNCTIONS[kind](self.value(first), self.value(second))
            case Atom("power", (factor, head)):
                return float(factor) ** self._iterations.get(head, 0)
            case Atom("power of", (factor, power)):
                return float(factor) ** self.value(power)
            case Atom("power of two", (power,)):
                return 2 ** self.value(power)
            case Atom("if", (when,)):
                return self.condition_mask(when).astype(int)
            case Atom("first", (head, stays)):
                return self._count_until_exit(head, stays)
            case Atom("total", (head, often)):
                return self._sum_over_iterations(head, often)
        raise DseError(_INTRICATE)

    def _count_until_exit(self, head: int, condition: Condition) -> Any:
        """Return the number of iterations up to the first one in which a condition fails."""
        iterations: Any = 1
        running: Any = True
        for _ in self._iterate_loop(head, _MAX_ITERATIONS):
            running = running & self.condition_mask(condition)
            if not np.any(running):
                break
            iterations = iterations + np.asarray(running).astype(int)
        return iterations

    def _sum_over_iterations(self, head: int, runs: IntExpr) -> Any:
        many = np.asarray(self.value(self.trip_counts[head]))
        total: Any = 0
        for number in self._iterate_loop(head, min(int(many.max()), _MAX_ITERATIONS)):
            total = total + np.where(number < many, self.value(runs), 0)
        return total

    def _iterate_loop(self, head: int, limit: int) -> Iterator[int]:
        """Set the iteration of a loop to each number in turn, and restore it at the end."""
        known, now = self._atom_values, self._iterations.get(head)
        try:
            for number in range(limit):
                self._iterations[head], self._atom_values = number, {}
                yield number
        finally:
            self._atom_values = known
            if now is None:
                self._iterations.pop(head, None)
            else:
                self._iterations[head] = now

    def condition_mask(self, when: Condition) -> Any:
        """Return the mask of the threads for which a condition holds."""
        match when:
            case ("true",):
                return np.asarray(True)
            case ("false",):
                return np.asarray(False)
            case (">=", value):
                return np.asarray(self.value(value)) >= 0
            case ("==", value):
                return np.asarray(self.value(value)) == 0
            case ("and", one, two):
                return self.condition_mask(one) & self.condition_mask(two)
            case ("or", one, two):
                return self.condition_mask(one) | self.condition_mask(two)
            case ("not", one):
                return ~self.condition_mask(one)
        raise DseError(_INTRICATE)
