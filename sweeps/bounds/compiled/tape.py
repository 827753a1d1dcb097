"""Encode an objective as a tape: arrays of its steps and of the values of its leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sweeps.bounds.problem import BoxProblem
from sweeps.bounds.rounded_shares import is_exact_share, share_factors
from symbolic.intervals import Decision
from symbolic.node import INFINITE, conjuncts
from symbolic.ops import Node, walk
from symbolic.primitives import PRIMITIVES

INF = math.inf

#: Operation codes of the steps: 0 constant, 1 reference (a leaf), then one code per primitive.
OPCODES = {name: number for number, name in enumerate(("constant", "reference", *PRIMITIVES))}


class Tape(NamedTuple):
    """An objective as arrays of its steps and leaves; each step follows the steps that it reads."""

    ops: Any
    #: For each step, the steps whose values it reads.
    args: Any
    #: The indices of the steps that vary.
    steps: Any
    #: For each step, the bit mask of the axes on which it does not depend.
    idle_axes: Any
    #: For each step that does not vary: its lower bound, its upper bound, and 1 if it may be NaN.
    fixed_ranges: Any
    #: For each step, the index of its leaf, or -1.
    leaf_of: Any
    #: A row per leaf: its form (1 rising, 2 falling, 3 tables of extremes, 4 extremes of the whole
    #: leaf); its number of axes; the offsets in ``numbers`` of its values and of its tables of
    #: minima, maxima and NaN (-1: no table); its step; then the number, size and levels of each
    #: axis.
    leaves: Any
    #: For each leaf: its minimum, its maximum, and 1 if it has NaN.
    leaf_ranges: Any
    #: For each leaf, masks of the axes along which it rises, falls, and does not change.
    leaf_trends: Any
    #: The values of the leaves and of their tables.
    numbers: Any
    #: log(abs(numbers))
    logs: Any
    #: Mask of the steps for which `planes` bounds the value, never the logarithm.
    value_steps: Any
    #: A step that equals the objective where it is finite, and the step of the objective itself.
    objective_steps: Any
    #: Comparisons that must hold so that the objective is finite.
    required_tests: Any
    #: Steps about which the search can make assumptions.
    branch_steps: Any
    #: Choices (``where``), each with the indices in ``branch_steps`` of the steps that decide it.
    choices: Any
    #: For each axis, the leaves that depend on this axis only (padded with -1).
    axis_leaves: Any


def pruning_bound(value: Any, gap: Any) -> Any:
    """Return the bound at which a box is dropped, given the best value and the permitted gap.

    The gap is relative to the final value, which may be lower than ``value``. For a positive
    ``value`` the result is therefore never below 0, however large the gap is.
    """
    return value - (gap if value < 0 or gap < 1 else 1.0) * abs(value) if value < INF else INF


_LOGICAL_OPS = ("both", "either", "negate")


def encode_tape(problem: BoxProblem) -> Tape:
    """Encode a problem as a tape."""
    nodes = walk((problem.root,))
    number = {id(node): k for k, node in enumerate(nodes)}
    ops = np.array([OPCODES[node.op] for node in nodes], dtype=np.int64)
    args = np.full((len(nodes), 3), -1, dtype=np.int64)
    fixed_ranges = np.zeros((3, len(nodes)))
    for k, node in enumerate(nodes):
        if node.op not in ("constant", "reference"):
            args[k, : len(node.args)] = [number[id(arg)] for arg in node.args]
        if id(node) in problem.fixed_trends:
            ops[k] = OPCODES["constant"]
            ends = problem.fixed_trends[id(node)].enclosure
            if isinstance(ends, Decision):
                fixed_ranges[:, k] = float(ends.certain), float(ends.possible), 0.0
            else:
                fixed_ranges[:, k] = float(ends.lo), float(ends.hi), float(ends.may_be_nan)
    steps = [number[id(node)] for node in problem.steps]
    _rewrite_min_equals(problem, nodes, ops, args)
    _rewrite_sum_as_maximum(problem, number, args)
    _mark_shares(problem, number, args)
    value, required = _objective_and_required_tests(problem, number)
    branches, choices = _branch_steps_and_choices(problem, number, ops, set(required))
    return Tape(
        ops=ops,
        args=args,
        steps=_int_array(sorted(steps)),
        idle_axes=np.array([problem.idle[id(node)] for node in nodes], dtype=np.uint64),
        fixed_ranges=fixed_ranges,
        value_steps=_value_steps(nodes, number, ops),
        objective_steps=_int_array([value, number[id(problem.root)]]),
        required_tests=_int_array(required),
        branch_steps=_int_array(branches),
        choices=choices,
        **_leaf_tables(problem, number, len(nodes)),
    )


def _int_array(values: Any) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def _rewrite_min_equals(
    problem: BoxProblem, nodes: list[Node], ops: NDArray[np.int64], args: NDArray[np.int64]
) -> None:
    """Rewrite ``min(x, y) == y`` as ``y <= x``, which is equivalent if x is never NaN."""
    equal = [k for k, node in enumerate(nodes) if node.op == "equal"]
    equal = [k for k in equal if id(nodes[k]) not in problem.fixed_trends]
    with np.errstate(all="ignore"):
        trends = problem.step_trends(problem.whole_box) if equal else {}
    for k in equal:
        node = nodes[k]
        for least, y in (node.args, node.args[::-1]):
            if least.op == "minimum" and any(arg is y for arg in least.args):
                x = least.args[0] if least.args[1] is y else least.args[1]
                result = trends.get(id(x), problem.fixed_trends.get(id(x)))
                if result is not None and not np.any(result.enclosure.may_be_nan):
                    ops[k] = OPCODES["less_equal"]
                    at = args[args[k, 0] if node.args[0] is least else args[k, 1]]
                    y_step = args[k, 1] if node.args[0] is least else args[k, 0]
                    args[k, 0], args[k, 1] = y_step, at[0] if at[1] == y_step else at[1]
                break


def _rewrite_sum_as_maximum(
    problem: BoxProblem, number: dict[int, int], args: NDArray[np.int64]
) -> None:
    """Mark each sum ``x + max(y - x, 0)`` as max(x, y) by a third argument, which is y."""
    for node in problem.steps:
        if node.op != "add":
            continue
        for x, excess in (node.args, node.args[::-1]):
            if excess.op != "maximum":
                continue
            for over, nothing in (excess.args, excess.args[::-1]):
                fixed = problem.fixed_trends.get(id(nothing))
                zero = fixed is not None and fixed.enclosure.lo == 0 == fixed.enclosure.hi
                if zero and over.op == "sub" and over.args[1] is x:
                    steps = number[id(x)], number[id(excess)], number[id(over.args[0])]
                    args[number[id(node)]] = steps


def _mark_shares(problem: BoxProblem, number: dict[int, int], args: NDArray[np.int64]) -> None:
    """Mark each product ``a * floor(b / a)`` of whole numbers by a third argument, which is b.

    Its quotient by b is marked by a third argument too.
    """
    marked: dict[int, Node] = {}
    for node in problem.steps:
        factors = share_factors(node)
        if factors is not None and is_exact_share(problem, factors):
            args[number[id(node)]] = [number[id(factor)] for factor in factors]
            marked[id(node)] = factors[2]
        elif node.op == "div" and marked.get(id(node.args[0])) is node.args[1]:
            args[number[id(node)], 2] = number[id(node.args[1])]


def _objective_and_required_tests(
    problem: BoxProblem, number: dict[int, int]
) -> tuple[int, list[int]]:
    node = problem.root
    if node.op != "where" or node.args[2] is not INFINITE:
        return number[id(node)], []
    required = {
        number[id(test)]
        for test in conjuncts(node.args[:1])
        if test.op in ("less", "less_equal") and id(test) not in problem.fixed_trends
    }
    return number[id(node.args[1])], sorted(required)


def _branch_steps_and_choices(
    problem: BoxProblem, number: dict[int, int], ops: NDArray[np.int64], required_tests: set[int]
) -> tuple[list[int], NDArray[np.int64]]:
    supposed: set[int] = set()
    under: dict[int, set[int]] = {}
    root = number[id(problem.root)]
    for node in problem.steps:
        k = number[id(node)]
        if node.op in ("minimum", "maximum"):
            supposed.add(k)
        elif node.op == "where" and k != root:
            under[k] = _deciding_tests(problem, number, ops, node)
            supposed |= under[k]
    branches = sorted(supposed - required_tests)
    place = {k: m for m, k in enumerate(branches)}
    longest = max((len(tests) for tests in under.values()), default=0)
    rows = [[k, *(place[t] for t in sorted(tests) if t in place)] for k, tests in under.items()]
    return branches, _pad_rows(rows, longest + 2)


def _deciding_tests(
    problem: BoxProblem, number: dict[int, int], ops: NDArray[np.int64], node: Node
) -> set[int]:
    """Return the comparisons that decide a choice; for an equality, those inside its arguments."""
    result: set[int] = set()
    seen: set[int] = set()
    stack = [node.args[0]]
    while stack:
        test = stack.pop()
        if id(test) in problem.fixed_trends or id(test) in seen:
            continue
        seen.add(id(test))
        if test.op in _LOGICAL_OPS:
            stack.extend(test.args)
        elif ops[number[id(test)]] in (OPCODES["less"], OPCODES["less_equal"]):
            result.add(number[id(test)])  # an equality may have been rewritten as a comparison
        elif test.op == "equal":
            stack.extend(w.args[0] for w in walk(test.args) if w.op == "where")
    return result


def _value_steps(
    nodes: list[Node], number: dict[int, int], ops: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return the mask of steps that contain sums of logarithms: `planes` bounds their values."""
    plain = np.zeros(len(nodes), dtype=np.bool_)
    for k, node in enumerate(nodes):
        if ops[k] <= OPCODES["reference"]:
            continue
        below = [number[id(arg)] for arg in node.args]
        if node.op in ("log", "log2", "log10"):
            plain[k] = True
        elif node.op in ("add", "sub", "minimum", "maximum", "where"):
            plain[k] = plain[below[1 if node.op == "where" else 0 :]].any()
        elif node.op in ("mul", "div"):
            plain[k] = plain[below].any() and (ops[below] == OPCODES["constant"]).any()
    return plain


def _leaf_tables(problem: BoxProblem, number: dict[int, int], steps: int) -> dict[str, Any]:
    rows: list[list[int]] = []
    ranges: list[list[float]] = []
    trends: list[list[Any]] = []
    numbers: list[NDArray[np.float64]] = [np.zeros(1)]
    leaf_of = np.full(steps, -1, dtype=np.int64)
    along: list[list[int]] = [[] for _ in problem.dims]
    size = 1

    def append(array: NDArray[Any]) -> int:
        nonlocal size
        numbers.append(np.ascontiguousarray(array, dtype=np.float64).reshape(-1))
        size += numbers[-1].size
        return size - numbers[-1].size

    steps_of = [node for node in problem.steps if node.op == "reference"]
    leaves = [problem.extremes[node.args[0]] for node in steps_of]
    for node, leaf in zip(steps_of, leaves, strict=True):
        form = (1 if leaf.is_rising else 2) if leaf.is_sorted else 3 if leaf.tables else 4
        row = [form, leaf.dims, append(leaf.array), -1, -1, -1, number[id(node)]]
        for axis in range(leaf.dims):
            row += [leaf.axis_numbers[axis], leaf.array.shape[axis], leaf.levels[axis]]
        leaf_of[number[id(node)]] = len(rows)
        if leaf.dims == 1:
            along[leaf.axis_numbers[0]].append(len(rows))
        rows.append(row)
        ranges.append([leaf.least, leaf.most, float(leaf.has_nan)])
        trends.append([leaf.up, leaf.down, leaf.other_axes])
    values = size  # tables of extremes follow, of which no logarithms are needed
    for row, leaf in zip(rows, leaves, strict=True):
        if leaf.tables is not None and not leaf.is_sorted:
            row[3:6] = [-1 if table is None else append(table) for table in leaf.tables]
    every = np.concatenate(numbers)
    with np.errstate(all="ignore"):
        logs = np.log(np.abs(every[:values]))
    return {
        "leaf_of": leaf_of,
        "leaves": _pad_rows(rows, max((len(row) for row in rows), default=10)),
        "leaf_ranges": np.array(ranges, dtype=np.float64).reshape(-1, 3),
        "leaf_trends": np.array(trends, dtype=np.uint64).reshape(-1, 3),
        "numbers": every,
        "logs": logs,
        "axis_leaves": _pad_rows(along, 1 + max(map(len, along), default=0)),
    }


def _pad_rows(rows: Sequence[Sequence[int]], width: int) -> NDArray[np.int64]:
    result = np.full((len(rows), width), -1, dtype=np.int64)
    for k, row in enumerate(rows):
        result[k, : len(row)] = row
    return result
