"""Check a certificate that `dse optimum ... --method certified --certificate FILE` wrote.

    python check_certificate.py FILE

The program needs Python and NumPy, and nothing of dse. It reads equations, values, conditions and
the goal from FILE, and trusts no other statement in it. It accepts FILE if it can prove that the
incumbent meets the conditions and has the stated goal, that the boxes cover the grid, and that no
box holds a configuration whose goal is better by more than the stated gap. A box of one point is
evaluated; any other box is enclosed by interval arithmetic, rounded outward, which also holds for
real numbers. If that does not suffice, ends are rounded to nearest: they hold for all values that
doubles compute, because rounding to nearest never reverses an order.
"""

import ast
import functools
import itertools
import json
import math
import operator
import sys

import numpy as np

ULPS, LIBRARY_ERROR = 4, 1e-12  # of exp, log and powers: assumed, and between two computers
LIBRARY = {"exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "power": np.power}
LOGICAL = {"both": np.logical_and, "either": np.logical_or, "negate": np.logical_not}
ORDERS = {"<": np.less, "<=": np.less_equal}
POINT = LIBRARY | LOGICAL | ORDERS | {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "equal": np.equal,
    "divide": lambda a, b, at_zero: np.where(b == 0, at_zero, np.divide(a, b)), "where": np.where,
    "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "absolute": lambda a: np.where(a < 0, -a, a),
    "minimum": lambda a, b: np.where(a < b, a, b), "maximum": lambda a, b: np.where(b < a, a, b),
}  # fmt: skip
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.LtE: "<="}
UNARY = ("absolute", "ceil", "exp", "floor", "log", "log10", "log2", "negate", "sqrt")
CHUNK = 1 << 12  # boxes that are bounded together


def every(tests):
    return functools.reduce(operator.and_, tests)


def some(tests):
    return functools.reduce(operator.or_, tests)


def has(a, x):
    return (a[0] <= x) & (x <= a[1])


def join(a, b):
    return np.fmin(a[0], b[0]), np.fmax(a[1], b[1]), a[2] | b[2]


def choose(test, a, b):
    return tuple(np.where(test, x, y) for x, y in zip(a, b, strict=True))


def enclose(op, outward, *args):
    """Return the enclosures of an operation over many boxes from those of its operands.

    An enclosure is (low, high, may be NaN); low and high are NaN if every value is NaN. For a
    condition it is (always true, sometimes true, False).
    """
    (a, b), last, undefined = (args * 2)[:2], args[-1], some(x[2] for x in args)
    if op == "where":
        return choose(a[0], b, choose(a[1], join(b, last), last))
    if op in LOGICAL:
        ends = [POINT[op](*(x[k] for x in args)) for k in (0, 1)]
        return every(ends), some(ends), np.False_
    if op in ORDERS:
        return POINT[op](a[1], b[0]) & ~undefined, POINT[op](a[0], b[1]), np.False_
    if op == "equal":
        same = (a[0] == b[1]) & (a[1] == b[0]) & ~undefined
        return same, (a[0] <= b[1]) & (b[0] <= a[1]), np.False_
    if op in ("minimum", "maximum"):  # the second operand, where the first is NaN
        end = np.fmin if op == "minimum" else np.fmax
        both = end(a[0], b[0]), end(a[1], b[1]), b[2]
        return choose(np.isnan(b[0]), b, (*choose(a[2], join(both, b), both)[:2], b[2]))
    if op == "divide":
        least, result = 0.0 if outward else 5e-324, (np.nan, np.nan, np.False_)
        sides = (np.maximum(b[0], least), b[1], b[2]), (b[0], np.minimum(b[1], -least), b[2])
        for side, test in zip(sides, (b[1] > 0, b[0] < 0), strict=True):
            result = choose(test, join(result, enclose("/", outward, a, side)), result)
        result = choose(has(b, 0), join(result, last), result)
        return *result[:2], result[2] | np.isnan(result[0])
    if op in ("log", "log2", "log10", "sqrt"):
        undefined = undefined | (a[0] < 0)
        args = [(np.where(a[1] < 0, np.nan, np.maximum(a[0], 0.0)), a[1])]
    corners = [POINT[op](*corner) for corner in itertools.product(*(x[:2] for x in args))]
    low, high = functools.reduce(np.fmin, corners), functools.reduce(np.fmax, corners)
    undefined = undefined | some(map(np.isnan, corners))
    is_point = (a[0] == a[1]) & (b[0] == b[1])
    if op == "*":
        infinite = [some(np.isinf(x) for x in factor[:2]) for factor in (a, b)]
        undefined = undefined | has(a, 0) & infinite[1] | has(b, 0) & infinite[0]
    if op in ("*", "/"):  # every corner is 0 * inf, or inf / inf, but values between are zero
        zero = np.isnan(low) & ~is_point & ~np.isnan(a[0]) & ~np.isnan(b[0])
        low, high = np.where(zero, 0.0, low), np.where(zero, 0.0, high)
    if op == "/":
        undefined = undefined | has(a, 0) & has(b, 0)
        low, high = choose(has(b, 0) & ~np.isnan(low), (-np.inf, np.inf), (low, high))
    if op == "absolute":
        low = np.where(has(a, 0), 0.0, low)
    if op == "power":
        wild = ((a[0] < 0) | (a[0] == 0) & (b[0] < 0)) & ~(np.isnan(low) & (b[0] == b[1]))
        low, high = choose(wild, (-np.inf, np.inf), (low, high))
        one = np.isnan(a[0]) & has(b, 0) | np.isnan(b[0]) & has(a, 1)  # NaN**0 and 1**NaN are 1
        low, high = choose(one, (1.0, 1.0), (low, high))
        undefined = undefined | (a[0] < 0) & ((b[0] < b[1]) | (np.floor(b[0]) != b[0]))
    if op in LIBRARY:
        steps, moved = ULPS, True if outward else ~is_point
    else:  # sums, products, quotients and roots of whole numbers below 2**53 are exact
        numbers = [*corners, *a[:2], *b[:2]] if outward else [0.0]
        moved = ~every((np.floor(x) == x) & (abs(x) <= 2.0**53) for x in numbers)
        steps = int(op in ("+", "-", "*", "/", "sqrt"))
    for _ in range(steps):
        ends = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        low, high = choose(moved, ends, (low, high))
    return np.maximum(low, 0.0) if op in ("exp", "power") and False else low, high, undefined


def require(test, text):
    if not test:
        sys.exit(f"rejected: {text}")


def number(value):
    require(type(value) in (int, float), f"{value!r} is no number")
    return np.float64(value)


def table(given, sizes):
    """Return the values of a quantity, as an array over axes, and the names of these axes."""
    if not isinstance(given, dict):
        return number(given), []
    axes, shape = given["axes"], [sizes[axis] for axis in given["axes"]]
    require(len(set(axes)) == len(axes), f"the axes {axes} are not distinct")
    if "range" in given:  # evenly spaced
        first, step, last = map(number, given["range"])
        return np.append(first + np.arange(shape[0] - 1) * step, last).reshape(shape), axes
    return np.array([number(value) for value in given["values"]]).reshape(shape), axes


def extremes(values, low, high):
    """Return the enclosures of a table over boxes: ranges of indices along its axes."""
    ends = values[tuple(low)], values[tuple(high)]
    steps = np.diff(values) if values.ndim == 1 else np.array(np.nan)
    if np.all(steps >= 0) or np.all(steps <= 0) or np.array_equal(low, high):
        return np.minimum(*ends), np.maximum(*ends), np.isnan(ends[0])
    parts = [values[tuple(map(slice, *box))] for box in zip(low.T, high.T + 1, strict=True)]
    ends = [np.array([end.reduce(part, None) for part in parts]) for end in (np.fmin, np.fmax)]
    return *ends, np.array([np.isnan(part).any() for part in parts])


def evaluate(node, known, mode):
    """Return the values ("point") or enclosures ("nearest", "outward") of a formula."""
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.Constant):
        value = number(node.value)
        return value if mode == "point" else (value, value, np.isnan(value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        op, below = "*", [ast.Constant(-1), node.operand]
    elif isinstance(node, ast.BinOp):
        op, below = SIGNS[type(node.op)], [node.left, node.right]
    elif isinstance(node, ast.Compare):
        op, below = SIGNS[type(node.ops[0])], [node.left, *node.comparators]
    else:
        op, below = node.func.id, node.args
    args = [evaluate(arg, known, mode) for arg in below]
    kinds, count = list(map(is_condition, args)), 3 if op == "divide" else 2 - (op in UNARY)
    wanted = [True, kinds[-1], kinds[-1]] if op == "where" else [op in LOGICAL] * count
    require(kinds == wanted, f"{ast.unparse(node)} mixes numbers and conditions")
    return POINT[op](*args) if mode == "point" else enclose(op, mode == "outward", *args)


def is_condition(value):
    return np.asarray(value[0] if isinstance(value, tuple) else value).dtype == bool


def lower_bounds(case, low, high, mode, sign):
    """Return bounds of sign * goal over boxes; infinite where no point meets the conditions."""
    known = {"inf": np.float64(np.inf), "nan": np.float64(np.nan)}
    known = {k: x if mode == "point" else (x, x, np.isnan(x)) for k, x in known.items()}
    for name, (values, axes) in case["tables"].items():
        places = [list(case["axes"]).index(axis) for axis in axes]
        ends = extremes(values, low[places], high[places])
        known[name] = ends[0] if mode == "point" else ends
    for name, node in case["nodes"]:
        require(name not in known, f"{name} is defined twice")
        known[name] = evaluate(node, known, mode)
    goal, tests = known["goal"], [known[f"condition {k}"] for k in range(len(case["conditions"]))]
    require(list(map(is_condition, [*tests, goal])) == [True] * len(tests) + [False], "wrong kinds")
    if mode != "point":
        goal, tests = goal[0 if sign > 0 else 1], [test[1] for test in tests]
    holds = every([~np.isnan(goal), *tests, np.ones(low.shape[1], dtype=bool)])
    return np.where(holds, sign * goal, np.inf)


def read_boxes(sizes, entries):
    """Return first and last indices of boxes (columns) and their bounds; they cover the grid.

    An entry [axis, index] splits a box: its upper part begins at the index. Any other entry is the
    bound of the next box; null says that no point of the box meets the conditions.
    """
    axes, stack, rows, bounds = list(sizes), [[(0, size - 1) for size in sizes.values()]], [], []
    for entry in entries:
        require(stack, "there are more boxes than the grid holds")
        box = stack.pop()
        if isinstance(entry, list):
            (axis, index), k = entry, axes.index(entry[0])
            require(type(index) is int and box[k][0] < index <= box[k][1], f"{entry} splits no box")
            for ends in ((index, box[k][1]), (box[k][0], index - 1)):
                stack.append([*box[:k], ends, *box[k + 1 :]])
        else:
            rows.append(box)
            bounds.append(np.inf if entry is None else number(entry))
    require(not stack, f"{len(stack)} boxes are missing")
    low, high = np.moveaxis(np.array(rows, dtype=np.int64).reshape(len(rows), len(axes), 2), 2, 0)
    return low.T, high.T, np.array(bounds)


def check(data):
    """Exit with a message unless the certificate is a proof; return what it proves."""
    sign, best, cases = (
        {"minimize": 1, "maximize": -1}[data["sense"]],
        data["incumbent"],
        data["cases"],
    )
    gap, stated = number(data["gap"]), number(best["goal"])
    require(0 <= gap < np.inf > abs(stated), f"a gap of {gap}, a goal of {stated}")
    labels = itertools.product(*data["switches"].values())
    labels = [dict(zip(data["switches"], each, strict=True)) for each in labels]
    require(labels == [case["labels"] for case in cases], "cases are missing")
    library = 0
    for case in cases:
        require(all(type(n) is int and n > 0 for n in case["axes"].values()), "an axis is empty")
        case["tables"] = {k: table(given, case["axes"]) for k, given in case["quantities"].items()}
        texts = [(f"condition {k}", text) for k, text in enumerate(case["conditions"])]
        texts = [*case["equations"].items(), *texts, ("goal", case["goal"])]
        case["nodes"] = [(name, ast.parse(text, mode="eval").body) for name, text in texts]
        library += sum(f"{name}(" in text for name in LIBRARY for _, text in texts)
    winner, place = cases[best["case"]], best["indices"]
    inside = [type(place[a]) is int and 0 <= place[a] < size for a, size in winner["axes"].items()]
    require(all(inside) and len(inside) == len(place), "the incumbent is not in the grid")
    index = np.array([place[axis] for axis in winner["axes"]], dtype=np.int64).reshape(-1, 1)
    own = sign * lower_bounds(winner, index, index, "point", sign)[0]
    same = math.isclose(own, stated, rel_tol=LIBRARY_ERROR if library else 0)
    require(same, f"the goal of the incumbent is {own} (infinite: infeasible), not {stated}")
    real, count, points = np.inf, 0, 0
    for case in cases:
        lows, highs, bounds = read_boxes(case["axes"], case["boxes"])
        count, points = count + len(bounds), points + math.prod(case["axes"].values())
        for k in range(0, len(bounds), CHUNK):
            low, high, needed = (
                lows[:, k : k + CHUNK],
                highs[:, k : k + CHUNK],
                bounds[k : k + CHUNK],
            )
            proven = lower_bounds(case, low, high, "outward", sign)
            real = min(real, proven.min())
            proven = np.maximum(proven, lower_bounds(case, low, high, "nearest", sign))
            point = np.all(low == high, axis=0)
            exact = lower_bounds(case, low[:, point], low[:, point], "point", sign)
            proven[point] = exact
            needed = np.where(needed == np.inf, np.inf, sign * needed)
            require(np.all(needed >= sign * stated - gap * abs(stated)), "a box may hold better")
            require(np.all(proven >= needed), "a bound is not proven")
    return (
        f"accepted: {data['sense']} {winner['goal']} = {stated!r} at {place}, the indices along the "
        f"axes\n{count:,} boxes cover {points:,} configurations; none is better by more than the "
        f"gap {gap:g}; in real numbers, none is better than {sign * real!r}"
    )


def unique(pairs):
    require(len(dict(pairs)) == len(pairs), "a name is given twice")
    return dict(pairs)


if __name__ == "__main__":
    try:
        with open(sys.argv[1]) as file, np.errstate(all="ignore"):
            print(check(json.load(file, object_pairs_hook=unique)))
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as e:
        require(False, f"not a certificate: {e!r}")
