"""Random formulas over tables with NaN, infinities and both zeros, of which nothing may be lost.

Over every box of a few points, each step of a formula is enclosed by NumPy and by the compiled
search, and compared with the values at all points: a number lies between the ends, NaN is foreseen,
a condition is neither called certain where it fails nor impossible where it holds, and values go
along each axis as their trend says. Then the search must find the least value, and where it is
first. Operands are NaN at every point, at some, or at none.

    python -m tests.one_source.undefined 20000 1

draws 20,000 formulas, the seeds from 1 on. The status is 1 where anything differs.
"""

from __future__ import annotations

import itertools
import math
import random
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import sweeps.bounds.merge_axes
import sweeps.bounds.problem
from sweeps.bounds.checks import first_configuration
from sweeps.bounds.compiled.depth_first import make_buffers
from sweeps.bounds.compiled.enclosure import enclose as compiled_enclose
from sweeps.bounds.compiled.tape import encode_tape
from sweeps.bounds.problem import Boxes, BoxProblem
from sweeps.bounds.search import Incumbent, search
from sweeps.grid.grid import Leaf
from sweeps.runtime.search_loop import SearchStats
from symbolic.intervals import Decision, Interval, enclose, interval_of
from symbolic.ops import Node, constant, interpret_arrays, reference, references, walk, where
from symbolic.primitives import PRIMITIVES

Floats = NDArray[np.float64]

INF, NAN = math.inf, math.nan
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 2.0, -7.0, 1e300, -1e300, 1e-300, INF, -INF)
PLAIN = (0.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.5, 4.0, 7.0, -0.0)
#: The C library's functions, which may be off by some ulp between the backends.
LIBRARY = {name for name, row in PRIMITIVES.items() if row.calls_library}
NEAR = 1e-9


class Drawn(NamedTuple):
    """A formula, the tables it reads, and the sizes of their axes."""

    root: Node
    leaves: dict[str, Leaf]
    sizes: dict[str, int]

    def text(self) -> str:
        """Return the formula and its tables as text."""
        tables = {n: (leaf.axes, leaf.array.tolist()) for n, leaf in self.leaves.items()}
        return f"{self.root!r}\ntables {tables}\nsizes {self.sizes}"


def values(rng: random.Random, count: int) -> Floats:
    """Return numbers of which all, some or none are NaN."""
    among = rng.choice((SPECIAL, PLAIN, PLAIN))
    result = np.array([rng.choice(among) for _ in range(count)])
    holes = rng.choice((0.0, 0.0, 0.3, 0.6, 1.0))
    result[np.array([rng.random() < holes for _ in range(count)], dtype=bool)] = NAN
    return np.sort(result) if rng.random() < 0.3 else result


def tables(rng: random.Random, names: str = "abcd") -> tuple[dict[str, Leaf], dict[str, int]]:
    """Return tables over one to three short axes, some over two of them, some over none."""
    sizes = {axis: rng.choice((1, 1, 2, 3, 4)) for axis in "xyz"[: rng.choice((1, 2, 2, 3))]}
    leaves = {}
    for name in names:
        axes = tuple(a for a in sizes if rng.random() < rng.choice((0.2, 0.5, 0.5)))
        shape = tuple(sizes[a] for a in axes)
        leaves[name] = Leaf(axes=axes, array=values(rng, math.prod(shape)).reshape(shape))
    return leaves, sizes


def formula(rng: random.Random, names: str, depth: int) -> Node:
    """Return a number of random steps."""
    if depth <= 0 or rng.random() < 0.1:
        if rng.random() < 0.15:
            return constant(rng.choice((*PLAIN, INF, -INF, NAN)))
        return reference(rng.choice(names))
    numbers = [n for n, row in PRIMITIVES.items() if not row.is_condition and n not in LIBRARY]
    numbers += ["minimum", "maximum", "where", "add", "sub", "mul"] * 2
    numbers += sorted(LIBRARY) if rng.random() < 0.3 else []
    name = rng.choice(numbers)
    if name == "where":
        test = condition(rng, names, depth - 1)
        return Node(name, (test, *(formula(rng, names, depth - 1) for _ in range(2))))
    return Node(name, tuple(formula(rng, names, depth - 1) for _ in range(PRIMITIVES[name].arity)))


def condition(rng: random.Random, names: str, depth: int) -> Node:
    """Return a condition of random steps."""
    kind = rng.random()
    if depth > 0 and kind < 0.3:
        parts = tuple(condition(rng, names, depth - 1) for _ in range(2))
        return Node(rng.choice(("both", "either")), parts)
    if depth > 0 and kind < 0.4:
        return Node("negate", (condition(rng, names, depth - 1),))
    name = rng.choice(("less", "less", "less_equal", "less_equal", "equal"))
    return Node(name, tuple(formula(rng, names, depth - 1) for _ in range(2)))


def draw(seed: int) -> Drawn:
    """Return a formula over tables: a single primitive, or one of many steps."""
    rng = random.Random(seed)
    leaves, sizes = tables(rng)
    if rng.random() < 0.3:
        name = rng.choice(list(PRIMITIVES))
        row, conditions = PRIMITIVES[name], ("both", "either", "negate")
        letters = [rng.choice("abcd") for _ in range(row.arity)]
        args = [
            condition(rng, "abcd", 0)
            if name in conditions or (name == "where" and k == 0)
            else reference(letter)
            for k, letter in enumerate(letters)
        ]
        root = Node(name, tuple(args))
    else:
        root = formula(rng, "abcd", rng.choice((2, 3, 3, 4)))
    return Drawn(root, {name: leaves[name] for name in references(root)}, sizes)


# --- what must hold
def outside(low: Any, high: Any, undefined: Any, value: Any, near: float = 0.0) -> Any:
    """Return a mask of values outside their enclosure (certain and possible for a condition)."""
    value = np.asarray(value)
    if value.dtype == bool:
        return (value & ~np.asarray(high, dtype=bool)) | (~value & np.asarray(low, dtype=bool))
    off = near * np.abs(np.where(np.isfinite(value), value, 0.0))
    unknown = np.isnan(value) & ~np.asarray(undefined, dtype=bool)
    return unknown | (~np.isnan(value) & ~((low <= value + off) & (value - off <= high)))


def trend_fault(ways: tuple[Any, Any], value: Any, near: float = 0.0) -> str:
    """Say along which axis values do not follow their trend; empty where they do."""
    value = np.asarray(value, dtype=float)
    up, down = (int(way) for way in ways)
    for axis in range(value.ndim):
        first, second = value.take(range(value.shape[axis] - 1), axis), np.delete(value, 0, axis)
        with np.errstate(all="ignore"):
            close = np.abs(first - second) <= near * np.maximum(np.abs(first), np.abs(second))
        mixed = np.isnan(first) != np.isnan(second)
        for name, way, wrong in (("rise", up, second < first), ("fall", down, first < second)):
            if way >> axis & 1 and np.any(mixed | (wrong & ~close)):
                return f"does not {name} along axis {axis}: {value.tolist()}"
    return ""


def _ends(range_: Any) -> tuple[Any, Any, Any]:
    if isinstance(range_, Decision):
        return range_.certain, range_.possible, False
    return range_.lo, range_.hi, range_.may_be_nan


def boxes_of(sizes: Mapping[str, int], rng: random.Random, most: int) -> Boxes:
    """Return all boxes of a few points, or some of them."""
    ranges = [[(a, b) for a in range(n) for b in range(a, n)] for n in sizes.values()]
    every = list(itertools.product(*ranges))
    every = every if len(every) <= most else rng.sample(every, most)
    ends = np.array(every, dtype=np.int64).reshape(len(every), len(sizes), 2)
    return Boxes(ends[:, :, 0].T.copy(), ends[:, :, 1].T.copy())


def check(one: Drawn, seed: int, most: int = 60) -> int:
    """Compare every step over some boxes with all points; the number of comparisons made."""
    root, leaves, sizes = one
    rng = random.Random(f"boxes {seed}")
    axes, shape = tuple(sizes), tuple(sizes.values())
    at = {name: np.atleast_1d(leaf.align_to(axes)) for name, leaf in leaves.items()}
    nodes = walk((root,))
    true = {}
    for node, value in zip(nodes, interpret_arrays(nodes, at), strict=True):
        true[id(node)] = np.broadcast_to(value, shape)
    problem = BoxProblem(root, leaves, sizes)
    boxes = boxes_of(sizes, rng, most)
    with np.errstate(all="ignore"):
        trends = problem.step_trends(boxes)
    tape = encode_tape(problem)
    room = make_buffers(tape, len(axes))
    number = {id(node): k for k, node in enumerate(nodes)}
    done = 0
    loose: set[int] = set()
    for node in nodes:
        if node.op in LIBRARY or any(id(arg) in loose for arg in node.args if id(arg) in number):
            loose.add(id(node))
    for box in range(boxes.lo.shape[1]):
        ends_of = zip(boxes.lo[:, box].tolist(), boxes.hi[:, box].tolist(), strict=True)
        part = tuple(slice(a, b + 1) for a, b in ends_of)
        first, last = (np.ascontiguousarray(end[:, box]) for end in boxes)
        assert compiled_enclose(tape, first, last, room[3], *room[0]), f"box {part} is called void"
        here = {name: value[tuple(_cut(value, part))] for name, value in at.items()}
        ends = {name: _hull(value) for name, value in here.items()}
        outward = dict(zip(map(id, nodes), enclose(nodes, ends), strict=True))
        for node in nodes:
            value, near = true[id(node)][part], NEAR if id(node) in loose else 0.0
            result = [("outward", _ends(outward[id(node)]), None)]
            if id(node) not in problem.fixed_trends:
                trend = trends[id(node)]
                parts = (*_ends(trend.enclosure), trend.up, trend.down)
                low, high, hole, up, down = (_one(each, box) for each in parts)
                result.append(("NumPy", (low, high, hole), (up, down)))
                k = number[id(node)]
                low, high, hole, up, down = (each[k] for each in room[0][:5])
                result.append(("compiled", (low, high, hole), (up, down)))
            for who, range_, ways in result:
                wrong = outside(*range_, value, near)
                assert not np.any(wrong), f"{who}: {node!r} in {part} is {range_}, not {value}"
                if ways is not None:
                    why = trend_fault(ways, value, near)
                    assert not why, f"{who}: {node!r} in {part} {why}"
                done += 1
    return done


def _cut(value: Floats, part: tuple[slice, ...]) -> list[slice]:
    return [slice(None) if n == 1 else cut for n, cut in zip(value.shape, part, strict=True)]


def _hull(value: Floats) -> Interval:
    """Return the enclosure of some values."""
    numbers, hole = value[~np.isnan(value)], bool(np.isnan(value).any())
    if not numbers.size:
        return interval_of(np.float64(NAN))
    return Interval(numbers.min(), numbers.max(), hole)


def _one(part: Any, box: int) -> Any:
    part = np.asarray(part)
    return part if not part.ndim else part[box if part.size > 1 else 0]


def check_search(one: Drawn, seed: int) -> int:
    """Compare the least value and its first place with those of all points."""
    root, leaves, sizes = one
    if root.is_boolean or any(node.op in LIBRARY for node in walk((root,))):
        return 0
    rng = random.Random(f"search {seed}")
    value = -root if rng.random() < 0.5 else root
    limited = rng.random() < 0.4
    objective = value > -INF
    if limited:
        objective = Node("both", (condition(rng, "".join(leaves) or "a", 1), objective))
        if set(references(objective)) - set(leaves):
            return 0
    objective = constant(where(objective, value, INF))
    axes, shape = tuple(sizes), tuple(sizes.values())
    at = {name: np.atleast_1d(leaf.align_to(axes)) for name, leaf in leaves.items()}
    true = np.broadcast_to(interpret_arrays((objective,), at)[0], shape)
    least = float(true.min())
    sweeps.bounds.merge_axes._MIN_POINTS, least_points = (
        rng.choice((0, 1 << 28)),
        sweeps.bounds.merge_axes._MIN_POINTS,
    )
    sweeps.bounds.problem._MAX_SPARSE_TABLE, table = (
        rng.choice((0, 1 << 24)),
        sweeps.bounds.problem._MAX_SPARSE_TABLE,
    )
    try:
        goal = Incumbent()
        with np.errstate(all="ignore"):
            search(BoxProblem(objective, leaves, sizes), goal, SearchStats())
            space = sweeps.bounds.merge_axes.merge_axes(objective, leaves, sizes, {})
            place, proven = first_configuration(space, axes, None, least, SearchStats())
    finally:
        sweeps.bounds.merge_axes._MIN_POINTS, sweeps.bounds.problem._MAX_SPARSE_TABLE = (
            least_points,
            table,
        )
    assert goal.value == least, f"{objective!r}: the search has {goal.value}, not {least}"
    if least < INF:
        assert proven
        assert place is not None
        first = tuple(place[axis] for axis in axes)
        expected = np.unravel_index(int(np.argmin(true)), shape)
        assert first == tuple(map(int, expected)), f"{objective!r}: first {first}, not {expected}"
    return 1


def main(count: int, first: int = 1) -> int:
    """Check so many formulas; the exit status."""
    began, done, result, wrong = time.monotonic(), 0, 0, 0
    for seed in range(first, first + count):
        one = draw(seed)
        try:
            done += check(one, seed)
            result += check_search(one, seed)
        except Exception as error:
            wrong += 1
            what = str(error) if isinstance(error, AssertionError) else traceback.format_exc()
            print(f"--- seed {seed}: {what}\n{one.text()}", flush=True)
    print(
        f"{count:,} formulas, {done:,} enclosures, {result:,} searches: {wrong} differ from all "
        f"points; {time.monotonic() - began:.0f} s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(given) for given in sys.argv[1:] or ["2000"])))
