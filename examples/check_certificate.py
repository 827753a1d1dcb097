"""Check a certificate that `dse optimum ... --method certified --certificate FILE` wrote.

    python check_certificate.py FILE

The program needs Python and NumPy, and nothing of dse. It reads equations, values, conditions and
the goal from FILE, and trusts no other statement in it. It accepts FILE if it can prove that the
incumbent meets the conditions and has the stated goal, that the boxes cover the grid, and that no
box holds a point whose goal is better by more than the stated gap. A box of one point is evaluated.
Any other box is enclosed by interval arithmetic, rounded outward. If that does not suffice, ends
are rounded to nearest: they enclose all values that doubles compute, because rounding to nearest
never reverses an order.
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
CHUNK = 1 << 12  # boxes that are enclosed together
LIBRARY = {"exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "power": np.power}
LOGICAL = {"both": np.logical_and, "either": np.logical_or, "negate": np.logical_not}
POINT = LIBRARY | LOGICAL | {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "sqrt": np.sqrt,
    "divide": lambda a, b, at_zero: np.where(b == 0, at_zero, np.divide(a, b)), "where": np.where,
    "minimum": lambda a, b: np.where(a < b, a, b), "maximum": lambda a, b: np.where(b < a, a, b),
    "floor": np.floor, "ceil": np.ceil, "absolute": lambda a: np.where(a < 0, -a, a),
    "<": np.less, "<=": np.less_equal, "equal": np.equal,
}  # fmt: skip
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.LtE: "<="}
UNARY = ("absolute", "ceil", "exp", "floor", "log", "log10", "log2", "negate", "sqrt")
every, some = (functools.partial(functools.reduce, op) for op in (operator.and_, operator.or_))


def has(a, x):
    return (a[0] <= x) & (x <= a[1])


def join(a, b):
    return np.fmin(a[0], b[0]), np.fmax(a[1], b[1]), a[2] | b[2]


def choose(test, a, b):
    return tuple(np.where(test, x, y) for x, y in zip(a, b, strict=True))


def enclose(op, mode, *args):
    """Return the enclosures of an operation over many boxes from those of its operands.

    An enclosure is (low, high, may be NaN); low and high are NaN if every value is NaN. For a
    condition it is (always true, sometimes true, False).
    """
    (a, b), last, undefined = (args * 2)[:2], args[-1], some(x[2] for x in args)
    if mode == "point":
        value = POINT[op](*(x[0] for x in args))
        return value, value, np.isnan(value)
    if op == "where":
        return choose(a[0], b, choose(a[1], join(b, last), last))
    if op in LOGICAL:
        ends = [POINT[op](*(x[k] for x in args)) for k in (0, 1)]
        return every(ends), some(ends), np.False_
    if op in ("<", "<="):
        return POINT[op](a[1], b[0]) & ~undefined, POINT[op](a[0], b[1]), np.False_
    if op == "equal":
        same = (a[0] == b[1]) & (a[1] == b[0]) & ~undefined
        return same, (a[0] <= b[1]) & (b[0] <= a[1]), np.False_
    if op in ("minimum", "maximum"):  # the second operand, where the first is NaN
        end = np.fmin if op == "minimum" else np.fmax
        both = end(a[0], b[0]), end(a[1], b[1]), b[2]
        return choose(np.isnan(b[0]), b, (*choose(a[2], join(both, b), both)[:2], b[2]))
    if op == "divide":
        least = 5e-324 if mode == "nearest" else 0.0
        above = enclose("/", mode, a, (np.maximum(b[0], least), b[1], b[2]))
        below = enclose("/", mode, a, (b[0], np.minimum(b[1], -least), b[2]))
        parts = (above, b[1] > 0), (below, b[0] < 0), (last, has(b, 0))
        parts = [choose(test, part, (np.nan, np.nan, undefined)) for part, test in parts]
        return functools.reduce(join, parts)
    if op in ("log", "log2", "log10", "sqrt"):
        args = [(np.where(a[1] < 0, np.nan, np.maximum(a[0], 0.0)), a[1])]
        undefined = undefined | (a[0] < 0)
    corners = [POINT[op](*corner) for corner in itertools.product(*(x[:2] for x in args))]
    low, high = functools.reduce(np.fmin, corners), functools.reduce(np.fmax, corners)
    undefined = undefined | some(map(np.isnan, corners))
    is_point = (a[0] == a[1]) & (b[0] == b[1])
    if op in LIBRARY:
        steps, exact = ULPS, is_point & (mode == "nearest")
    else:  # sums, products and quotients of whole numbers below 2**53 are exact
        steps = int(mode == "outward" and op in ("+", "-", "*", "/", "sqrt"))
        exact = every((np.floor(x) == x) & (abs(x) <= 2.0**53) for x in (*corners, *a[:2], *b[:2]))
    for _ in range(steps):
        ends = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        low, high = choose(exact, (low, high), ends)
    if op in ("*", "/"):  # if only the corners are NaN, the values between are zero
        undefined = undefined | some(map(np.isinf, (*a[:2], *b[:2])))
        zero = np.isnan(low) & ~np.isnan(a[0]) & ~np.isnan(b[0]) & ~is_point
        low, high = choose(zero, (0.0, 0.0), (low, high))
    if op == "/":
        undefined = undefined | has(a, 0) & has(b, 0)
        low, high = choose(has(b, 0) & ~np.isnan(low), (-np.inf, np.inf), (low, high))
    if op in ("absolute", "exp", "power"):
        low = np.where(has(a, 0) & (op == "absolute"), 0.0, np.maximum(low, 0.0))
    if op == "power":  # of a negative number or NaN
        wild = ~(a[0] >= 0) | (a[0] == 0) & ~(b[0] >= 0) | np.isnan(b[0])
        wild = wild & ~(np.isnan(low) & (b[0] == b[1]))
        low, high, undefined = *choose(wild, (-np.inf, np.inf), (low, high)), undefined | wild
    return low, high, undefined


def require(test, text):
    if not test:
        sys.exit(f"rejected: {text}")


def values_of(given, sizes):
    """Return the values of an input as an array over axes, and the numbers of these axes."""
    if not isinstance(given, dict):
        return np.float64(given), []
    axes, shape = given["axes"], [sizes[axis] for axis in given["axes"]]
    require(len(set(axes)) == len(axes), f"the axes {axes} are not distinct")
    values = given.get("values")
    if values is None:  # evenly spaced
        first, step, last = given["range"]
        values = np.append(first + np.arange(shape[0] - 1) * step, last)
    return np.array(values, dtype=np.float64).reshape(shape), [list(sizes).index(a) for a in axes]


def extremes(values, low, high):
    """Return the enclosures of an input over boxes: ranges of indices along its axes."""
    ends = values[tuple(low)], values[tuple(high)]
    steps = np.diff(values) if values.ndim == 1 else np.array(np.nan)
    if np.all(steps >= 0) or np.all(steps <= 0) or np.array_equal(low, high):
        return np.minimum(*ends), np.maximum(*ends), np.isnan(ends[0])
    parts = [values[tuple(map(slice, *box))] for box in zip(low.T, high.T + 1, strict=True)]
    ends = [np.array([end.reduce(part, None) for part in parts]) for end in (np.fmin, np.fmax)]
    return *ends, np.array([np.isnan(part).any() for part in parts])


def evaluate(node, known, mode):
    """Return the enclosures of a formula, given those of the quantities in it."""
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.Constant | ast.UnaryOp):
        value = np.float64(ast.literal_eval(node))
        return value, value, np.isnan(value)
    if isinstance(node, ast.Call):
        op, below = node.func.id, node.args
    elif isinstance(node, ast.Compare):
        op, below = SIGNS[type(node.ops[0])], [node.left, *node.comparators]
    else:
        op, below = SIGNS[type(node.op)], [node.left, node.right]
    args = [evaluate(arg, known, mode) for arg in below]
    tests = args if op in LOGICAL else args[: op == "where"]
    count = 3 if op in ("divide", "where") else 2 - (op in UNARY)
    valid = len(args) == count and all(test[0].dtype == bool for test in tests)
    require(valid, f"{ast.unparse(node)} is no formula")
    return enclose(op, mode, *args)


def lower_bounds(data, sign, mode, low, high):
    """Return bounds of sign * goal over boxes; infinite where no point meets the conditions."""
    known = {name: extremes(x, low[k], high[k]) for name, (x, k) in data["quantities"].items()}
    for name, tree in data["equations"].items():
        require(name not in known, f"{name} is defined twice")
        known[name] = evaluate(tree, known, mode)
    *tests, goal = (evaluate(tree, known, mode) for tree in (*data["conditions"], data["goal"]))
    tests += [(0, ~np.isnan(goal[0])), (0, np.ones(low.shape[1:], dtype=bool))]
    return np.where(every(test[1] for test in tests), goal[0] if sign > 0 else -goal[1], np.inf)


def read_boxes(sizes, entries):
    """Return first and last indices of boxes, of shape (axes, boxes), and the stated bounds.

    An entry [axis, index] splits a box: its upper part begins at the index. Any other entry is the
    bound of the next box; null says that no point of the box meets the conditions.
    """
    stack, boxes, bounds = [{axis: (0, size - 1) for axis, size in sizes.items()}], [], []
    for entry in entries:
        box = stack.pop()
        if isinstance(entry, list):
            (axis, index), (low, high) = entry, box[entry[0]]
            require(type(index) is int and low < index <= high, f"{entry} splits no box")
            stack += [{**box, axis: (index, high)}, {**box, axis: (low, index - 1)}]
        else:
            boxes.append(list(box.values()))
            bounds.append(entry)
    require(not stack, f"{len(stack)} boxes are missing")
    ends = np.array(boxes, dtype=np.int64).reshape(len(boxes), len(sizes), 2)
    return ends[..., 0].T, ends[..., 1].T, np.array(bounds, dtype=object)


def check(data):
    """Exit with a message unless the certificate is a proof; return what it proves."""
    sign, best = {"minimize": 1, "maximize": -1}[data["sense"]], data["incumbent"]
    gap, stated = np.float64(data["gap"]), np.float64(best["goal"])
    require(0 <= gap < np.inf > abs(stated), f"the gap is {gap}, and the goal is {stated}")
    sizes = {axis: len(x) if isinstance(x, list) else x for axis, x in data["axes"].items()}
    require(all(type(n) is int and n > 0 for n in sizes.values()), f"{sizes} are no sizes of axes")
    places = [best["indices"][axis] for axis in sizes]
    inside = (type(i) is int and 0 <= i < n for i, n in zip(places, sizes.values(), strict=True))
    require(all(inside), f"the incumbent {places} is not in the grid {sizes}")
    parse = functools.partial(ast.parse, mode="eval")
    data["quantities"] = {k: values_of(given, sizes) for k, given in data["quantities"].items()}
    data["equations"] = {name: parse(text).body for name, text in data["equations"].items()}
    data["conditions"] = [parse(text).body for text in data["conditions"]]
    data["goal"] = parse(data["goal"]).body
    index = np.array(places, dtype=np.int64).reshape(-1, 1)
    own = sign * lower_bounds(data, sign, "point", index, index)[0]
    same = math.isclose(own, stated, rel_tol=LIBRARY_ERROR)
    require(same, f"the goal of the incumbent is {own} (infinite: infeasible), not {stated}")
    low, high, bounds = read_boxes(sizes, data["boxes"])
    outward = 0
    for k in range(0, bounds.size, CHUNK):
        box, part = (low[:, k : k + CHUNK], high[:, k : k + CHUNK]), bounds[k : k + CHUNK]
        needed = np.array([np.inf if x is None else sign * np.float64(x) for x in part])
        require(
            np.all(needed >= sign * stated - gap * abs(stated)), "a box may hold a better point"
        )
        by = {
            mode: lower_bounds(data, sign, mode, *box) for mode in ("outward", "nearest", "point")
        }
        single = np.all(box[0] == box[1], axis=0)
        proven = np.where(single, by["point"], np.maximum(by["outward"], by["nearest"])) >= needed
        require(np.all(proven), f"the bound of box {k + np.argmin(proven)} is not proven")
        outward += np.count_nonzero(by["outward"] >= needed)
    return (
        f"accepted: {ast.unparse(data['goal'])} = {stated} at the indices {best['indices']} is best "
        f"up to the gap {gap:g} over {math.prod(sizes.values()):,} points\n"
        f"({bounds.size:,} boxes, {outward:,} of them closed by bounds that are rounded outward)"
    )


def unique(pairs):
    require(len(dict(pairs)) == len(pairs), "a name is given twice")
    return dict(pairs)


def check_text(text):
    try:
        with np.errstate(all="ignore"):
            return check(json.loads(text, object_pairs_hook=unique))
    except Exception as error:
        sys.exit(f"rejected: {error!r}")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(check_text(file.read()))
