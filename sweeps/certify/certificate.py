"""Write the certificate of an optimum as text that a separate program can check.

The text is JSON. It has formulas, the values of their inputs, the incumbent, and boxes that cover
the grid, each with a bound. All bounds come from interval arithmetic, so a checker needs no other
method. Boxes are halved until their bounds prove the gap.
"""

import json
import keyword
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from stochastic import sizes
from sweeps.bounds.problem import Boxes, BoxProblem, Floats, Indices, best_axis, concatenate_boxes
from sweeps.certify.optimum import SwitchCase
from sweeps.grid.goals import Goal
from sweeps.grid.grid import Grid, Leaf
from sweeps.runtime.interrupts import Interrupted, is_interrupted
from symbolic import ops
from symbolic.errors import DseError
from symbolic.node import Node, conjuncts
from symbolic.primitives import PRIMITIVES, arithmetic, choices, functions

_BATCH, _MAX_BOXES = sizes.CERTIFICATE_BATCH, sizes.CERTIFICATE_BOXES
_MAX_NUMBERS = sizes.CERTIFICATE_NUMBERS
_CHECKED = {**arithmetic.ROWS, **choices.ROWS, **functions.ROWS, "constant": 0, "reference": 0}
#: Relative difference of exp, logarithms and powers between computers; the bounds allow for it.
_LIBRARY_ERROR = 1e-12
#: A part of a formula with more characters gets a name.
_LONG = 80

#: A split box, as its axis and the first index of its upper part; or the bound of a box.
Entry = list[Any] | float


def certificate_text(
    grid: Grid, cases: Sequence[SwitchCase], goal: Goal, place: Mapping[str, int], gap: float
) -> str:
    """Return the proof that no point is better than the incumbent by more than a relative gap.

    ``cases`` has the objective for each set of switch labels, and ``place`` the incumbent's index
    along each axis. Raise DseError if the proof needs too many boxes, or a primitive of the user.
    """
    if not math.isfinite(gap):
        raise DseError("there is no bound yet that a certificate could state: give more time")
    tests, value, leaves = _join_cases(cases, goal)
    steps = ops.walk([*tests, value])
    if odd := next((node.op for node in steps if node.op not in _CHECKED), None):
        raise DseError(f"a checker does not know the primitive {odd}: write it in other primitives")
    library = any(PRIMITIVES[node.op].calls_library for node in steps if node.op in PRIMITIVES)
    error = _LIBRARY_ERROR if library else 0.0
    axes = {axis: grid.axes[axis].size for axis in cases[0].labels}
    axes |= {**cases[0].sizes, **cases[0].inner_sizes}
    signed = value if goal.sign > 0 else -value
    problem = BoxProblem(ops.constant(ops.where(ops.both(*tests), signed, math.inf)), leaves, axes)
    indices, best = _best_point(problem, place)
    stated = best - (gap + error) * abs(best)
    flat = {graph.flat(n): n for graph in grid.graphs.values() for n in graph.definitions}
    names = dict(zip(_rewrite(flat), flat.values(), strict=True))
    labels = {axis: list(grid.axes[axis].labels) for axis in axes if axis in grid.axes}
    certificate = {
        "sense": "minimize" if goal.sign > 0 else "maximize",
        **_formulas(tests, value, leaves, names),
        "axes": {axis: labels.get(axis) or size for axis, size in axes.items()},
        "gap": gap + error,
        "incumbent": {"indices": indices, "goal": goal.sign * best},
        "boxes": [
            entry if isinstance(entry, list) else _loosen(entry, stated, error, goal.sign)
            for entry in _cover(problem, best - gap * abs(best))
        ],
    }
    text = json.dumps(certificate, indent=1, ensure_ascii=False)
    return re.sub(r'\[\s+("(?:[^"\\]|\\.)*"),\s+(\d+)\s+\]', r"[\1, \2]", text) + "\n"


def _join_cases(
    cases: Sequence[SwitchCase], goal: Goal
) -> tuple[list[Node], Node, dict[str, Leaf]]:
    """Join the cases, with switches as inputs; return the conditions, the goal and the inputs."""
    leaves: dict[str, Leaf] = {}
    tests, value = list[Node](), ops.constant(math.nan)
    for number, case in enumerate(reversed(cases)):
        swap = {}
        for name in ops.references(case.root):
            leaf = case.leaves[name]
            new = name if leaves.get(name, leaf) is leaf else f"{name} {' '.join(case.key)}"
            leaves[new], swap[name] = leaf, ops.reference(new)
        test, signed, _ = ops.substitute(case.root, swap).args
        own = signed if goal.sign > 0 else signed.args[1]  # a maximized goal times -1
        if number:
            here = ops.both(
                *(ops.equal(ops.reference(axis), index) for axis, index in case.labels.items())
            )
            tests, value = [ops.where(here, test, ops.both(*tests))], ops.where(here, own, value)
        else:
            tests, value = conjuncts([test]), own
    if len(cases) > 1:
        for axis in cases[0].labels:
            count = 1 + max(case.labels[axis] for case in cases)
            leaves[axis] = Leaf(axes=(axis,), array=np.arange(float(count)))
    *tests, value = _rewrite([*tests, value])
    return tests, value, leaves


#: Primitives that are replaced by simpler primitives, so that the checker need not know them.
_REWRITTEN: dict[str, Callable[..., Any]] = {
    "equal": lambda a, b: ops.both(a <= b, b <= a),
    "absolute": lambda a: ops.maximum(0.0, ops.maximum(0.0 - a, a)),
}


def _rewrite(roots: Iterable[Node]) -> list[Node]:
    roots = list(roots)
    algebra = {op: partial(lambda op, *args: Node(op, args), op) for op in PRIMITIVES}
    same = {name: ops.reference(name) for name in ops.references(*roots)}
    return ops.interpret_all(roots, same, algebra | _REWRITTEN, ops.constant)


def _best_point(problem: BoxProblem, place: Mapping[str, int]) -> tuple[dict[str, int], float]:
    """Return the best point that has the given indices along some axes, and its value."""
    box = problem.whole_box
    for number, axis in enumerate(problem.dims):
        if axis in place:
            box.lo[number] = box.hi[number] = place[axis]
    if box.points[0] > _MAX_NUMBERS:
        raise DseError(
            f"a certificate compares at most {_MAX_NUMBERS:,} choices with the best, and there are "
            f"{box.points[0]:,.0f}: give the axis of the choices fewer values"
        )
    points = box.all_points()
    values = problem.values(points)
    best = int(np.argmin(values))
    return dict(zip(problem.dims, points[:, best].tolist(), strict=True)), float(values[best])


def _loosen(bound: float, stated: float, error: float, sign: float) -> float | None:
    """Round a bound to few digits, but not below the bound to prove; None if it is infinite."""
    if bound == math.inf:
        return None
    short = float(f"{bound:.6g}")
    return sign * (short if stated <= short <= bound - error * abs(bound) else stated)


def _lower_bounds(problem: BoxProblem, boxes: Boxes) -> Floats:
    with np.errstate(all="ignore"):
        bounds = problem.bound_boxes(boxes)[0][0].copy()
    single = np.all(boxes.lo == boxes.hi, axis=0)
    bounds[single] = problem.values(boxes.lo[:, single])
    return bounds


def _cover(problem: BoxProblem, target: float) -> list[Entry]:
    """Return entries that split the grid into boxes, each with a bound of at least ``target``.

    They are in depth-first order; the lower part of a split box comes first.
    """
    tree: list[Entry] = [math.nan]
    lower: dict[int, int] = {}  # from a split box to its lower part; its upper part is the next
    stack = [(problem.whole_box, np.zeros(1, dtype=np.int64))]
    while stack:
        boxes, numbers = stack.pop()
        if numbers.size > _BATCH:
            stack.append((boxes.take(slice(_BATCH, None)), numbers[_BATCH:]))
            boxes, numbers = boxes.take(slice(_BATCH)), numbers[:_BATCH]
        if is_interrupted():
            raise Interrupted("interrupted before the certificate was complete")
        bounds = _lower_bounds(problem, boxes)
        for number, bound in zip(numbers.tolist(), bounds.tolist(), strict=True):
            tree[number] = bound
        is_open = np.flatnonzero(bounds < target)
        if not is_open.size:
            continue
        first = len(tree) + 2 * np.arange(is_open.size)
        tree += [math.nan] * (2 * is_open.size)
        if len(tree) > 2 * _MAX_BOXES:
            raise DseError(
                f"the certificate would have more than {_MAX_BOXES:,} boxes, because it uses only "
                "interval arithmetic: accept a gap (gap=0.05), or give the study a smaller grid"
            )
        boxes = boxes.take(is_open)
        axis_of = best_axis(boxes, partial(_progress, problem, bounds[is_open], target))
        halves = boxes.halves(axis_of)
        middles = halves.hi[axis_of, np.arange(is_open.size)] + 1
        rows = zip(numbers[is_open], axis_of, middles, first, strict=True)
        for number, axis, middle, low in np.array(list(rows)).tolist():
            tree[number], lower[number] = [problem.dims[axis], middle], low
        stack.append((halves, np.concatenate([first, first + 1])))
    order, waiting = [], [0]
    while waiting:
        number = waiting.pop()
        order.append(tree[number])
        if number in lower:
            waiting += lower[number] + 1, lower[number]
    return order


def _progress(
    problem: BoxProblem, bounds: Floats, target: float, halves: Boxes, wide: Indices, axis: int
) -> Floats:
    """Return a score of halving boxes along an axis: how far it raises the bounds to the target.

    The bound at the middle of a box shows what more splits along the axis may gain.
    """
    low, count = bounds[wide], wide.size
    middle = Boxes(halves.lo[:, :count].copy(), halves.hi[:, count:].copy())
    width = middle.hi[axis] - middle.lo[axis]
    middle.lo[axis] = middle.hi[axis] = halves.hi[axis, :count]
    after = _lower_bounds(problem, concatenate_boxes([halves, middle])).reshape(3, -1)
    with np.errstate(all="ignore"):
        share = np.clip((after - low) / (target - low), 0.0, 1.0)
        share = np.where(np.isnan(share), (after > low) / 2 + (after >= target) / 2, share)
    worse, better = np.sort(share[:2], axis=0)
    return np.asarray(share[2] + 0.3 * worse + 0.15 * better + 1e-9 * np.log2(width))


# --- Formulas as text


def _formulas(
    tests: Sequence[Node], value: Node, leaves: Mapping[str, Leaf], names: Mapping[Node, str]
) -> dict[str, Any]:
    """Return the goal, conditions, equations and inputs of a problem, for the file.

    A part gets an equation of its own if it is a quantity of the model, is repeated, or is long.
    """
    known = {"inf", "nan", *keyword.kwlist}
    inputs = {name: _identifier(name, known) for name in ops.references(*tests, value)}
    steps = ops.walk([*tests, value])
    uses = Counter(id(arg) for node in steps if node.op in PRIMITIVES for arg in node.args)
    texts: dict[int, tuple[str, int]] = {}
    equations: dict[str, str] = {}
    for node in steps:
        texts[id(node)] = text, _ = _text(node, texts, inputs)
        is_plain = node.op in ("constant", "reference")
        if not is_plain and (node in names or uses[id(node)] > 1 or len(text) > _LONG):
            name = _identifier(names.get(node, "part"), known)
            equations[name], texts[id(node)] = text, (name, 9)
    return {
        "goal": texts[id(value)][0],
        "conditions": [texts[id(test)][0] for test in tests],
        "equations": equations,
        "quantities": {inputs[name]: _values(name, leaves[name]) for name in inputs},
    }


def _identifier(name: str, known: set[str]) -> str:
    plain = re.sub(r"\W+", "_", name).strip("_") or "x"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    ends = ("", *(f"_{k}" for k in range(2, len(known) + 3)))
    result = next(plain + end for end in ends if plain + end not in known)
    known.add(result)
    return result


def _values(name: str, leaf: Leaf) -> float | dict[str, Any]:
    """Return the values of an input: a number, evenly spaced numbers, or a table."""
    array = np.asarray(leaf.array, dtype=np.float64)
    if not array.ndim:
        return float(array)
    axes, flat = list(leaf.axes), array.reshape(-1)
    if array.ndim == 1 and array.size > 2 and np.isfinite(array).all():
        for step in (flat[1] - flat[0], (flat[-1] - flat[0]) / (flat.size - 1)):
            even = flat[0] + np.arange(flat.size) * step
            if abs(even[-1] - flat[-1]) < 1e-6 * abs(step) and np.array_equal(even[:-1], flat[:-1]):
                return {"axes": axes, "range": [float(flat[0]), float(step), float(flat[-1])]}
    if flat.size > _MAX_NUMBERS:
        raise DseError(
            f"a certificate lists at most {_MAX_NUMBERS:,} values of a quantity, and {name} has "
            f"{flat.size:,} that are not evenly spaced: give it fewer"
        )
    return {"axes": axes, "values": flat.tolist()}


_PRECEDENCE = {"<": 1, "<=": 1, "+": 2, "-": 2, "*": 3, "/": 3}


def _text(
    node: Node, texts: Mapping[int, tuple[str, int]], inputs: Mapping[str, str]
) -> tuple[str, int]:
    if node.op == "reference":
        return inputs[node.args[0]], 9
    if node.op == "constant":
        value = node.args[0]
        if isinstance(value, bool):
            return ("0 <= 0" if value else "0 < 0"), 1
        return ("0 - inf", 2) if value == -math.inf else (repr(value), 9)
    sign = PRIMITIVES[node.op].syntax.names[0]
    parts = [texts[id(arg)] for arg in node.args]
    if sign not in _PRECEDENCE:
        return f"{sign}({', '.join(text for text, _ in parts)})", 9
    level = _PRECEDENCE[sign]
    least = level, level + 1
    left, right = (t if p >= n else f"({t})" for (t, p), n in zip(parts, least, strict=True))
    return f"{left} {sign} {right}", level
