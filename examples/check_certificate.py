"""Check a certificate of an optimum: python check_certificate.py FILE

It needs only Python and NumPy, and takes the equations, values, conditions and goal from FILE. It
proves that the incumbent meets the conditions and has the stated goal, that the boxes cover the
grid, and that no point is better by more than the gap. A box of one point is evaluated. Other boxes
are enclosed by intervals with ends rounded outward, and with ends rounded to nearest. Rounding to
nearest keeps the order of numbers, so these intervals contain all values that doubles compute. An
entry [axis, index] splits a box; its upper part begins at the index. Any other entry is the bound
of a box; null means that no point in the box is feasible.
"""

import ast
import functools
import json
import sys

import numpy as np

ULPS, LIBRARY_ERROR = 4, 1e-12  # errors of exp, log, power: in ulps; relative, of two computers
CHUNK = 1 << 12  # number of boxes that are enclosed at once
LIBRARY = {"exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "power": np.power}
LOGICAL = {"both": np.logical_and, "either": np.logical_or, "negate": np.logical_not}
ROUNDED = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "sqrt": np.sqrt}
POINT = LIBRARY | LOGICAL | ROUNDED | {
    "divide": lambda a, b, at_zero: np.where(b == 0, at_zero, np.divide(a, b)), "where": np.where,
    "minimum": lambda a, b: np.where(a < b, a, b), "maximum": lambda a, b: np.where(b < a, a, b),
    "floor": np.floor, "ceil": np.ceil, "<": np.less, "<=": np.less_equal,
}  # fmt: skip
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Lt: "<", ast.LtE: "<="}
TERMS = {op: getattr(f, "nin", 2) for op, f in POINT.items()} | {"divide": 3, "where": 3}
PARSED = functools.cache(lambda text: ast.parse(text, mode="eval").body)
every, some = (functools.partial(functools.reduce, op) for op in (np.bitwise_and, np.bitwise_or))


def join(a, b):
    return np.fmin(a[0], b[0]), np.fmax(a[1], b[1]), a[2] | b[2]


def choose(test, a, b):
    return tuple(np.where(test, x, y) for x, y in zip(a, b, strict=True))


def enclose(op, mode, *args):
    """Return (low, high, may be NaN) of an operation; of a condition (always, ever true, False)."""
    (a, b), last, undefined = (args * 2)[:2], args[-1], some(x[2] for x in args)
    a_has_0, b_has_0 = ((x[0] <= 0) & (x[1] >= 0) for x in (a, b))
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
    if op in ("minimum", "maximum"):  # if the first operand is NaN: the second
        end = np.fmin if op == "minimum" else np.fmax
        both = end(a[0], b[0]), end(a[1], b[1]), b[2]
        return choose(np.isnan(b[0]), b, (*choose(a[2], join(both, b), both)[:2], b[2]))
    if op == "divide":
        least = 5e-324 if mode == "nearest" else 0.0
        above = enclose("/", mode, a, (np.maximum(b[0], least), b[1], b[2]))
        below = enclose("/", mode, a, (b[0], np.minimum(b[1], -least), b[2]))
        parts = (b[1] > 0, above), (b[0] < 0, below), (b_has_0, last)
        return functools.reduce(join, (choose(*p, (np.nan, np.nan, a[2] | b[2])) for p in parts))
    if op in ("log", "log2", "log10", "sqrt"):
        undefined = undefined | (a[0] < 0)
        a = b = np.where(a[1] < 0, np.nan, np.maximum(a[0], 0.0)), a[1]
    corners = [POINT[op](*(x, y)[: len(args)]) for x in a[:2] for y in b[:2]]
    low, high = functools.reduce(np.fmin, corners), functools.reduce(np.fmax, corners)
    undefined = undefined | some(map(np.isnan, corners))
    is_point = (a[0] == a[1]) & (b[0] == b[1])
    exact, ends = is_point & (mode == "nearest"), (*corners, *a[:2], *b[:2])
    if op in ROUNDED:  # whole sums, products and quotients of whole numbers are exact
        exact = every((np.floor(x) == x) & (abs(x) < 2.0**53) & (op != "sqrt") for x in ends)
    for _ in range(ULPS if op in LIBRARY else op in ROUNDED and mode == "outward"):
        moved = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
        low, high = choose(exact, (low, high), moved)
    if op in ("*", "/"):  # if only the corners are NaN, the other values are zero
        zero = np.isnan(low) & ~np.isnan(a[0]) & ~np.isnan(b[0]) & ~is_point
        low, high = choose(zero, (0.0, 0.0), (low, high))
        low, high = choose(b_has_0 & ~np.isnan(low) & (op == "/"), (-np.inf, np.inf), (low, high))
        a_inf, b_inf = (np.isinf(x[0]) | np.isinf(x[1]) for x in (a, b))
        x, y = (b_inf, b_has_0) if op == "*" else (b_has_0, b_inf)
        undefined = undefined | a_has_0 & x | a_inf & y
    low = np.maximum(low, 0.0) if op in ("exp", "power") else low
    if op == "power":  # any value for a negative base or NaN
        wild = ~(a[0] >= 0) | (a[0] == 0) & ~(b[0] >= 0) | np.isnan(b[0]) & (a[0] != a[1])
        wild, undefined = wild & ~(np.isnan(low) & (b[0] == b[1])), undefined | wild
        low, high = choose(wild, (-np.inf, np.inf), (low, high))
    return low, high, undefined


def require(test, text):
    return test or sys.exit(f"rejected: {text}")


def values_of(given, sizes):
    """Return the values of an input as an array, and the grid's axis of each dimension."""
    given = given if isinstance(given, dict) else {"axes": [], "values": given}
    shape = [sizes[axis] for axis in given["axes"]]
    if "range" in given:
        first, step, last = given["range"]
        given["values"] = np.append(first + np.arange(shape[0] - 1) * step, last)
    values = np.array(given["values"], dtype=np.float64).reshape(shape)
    return values, [list(sizes).index(axis) for axis in given["axes"]]


def extremes(values, low, high):
    """Return enclosures of an input over boxes; a box has first and last indices."""
    ends, d = (values[tuple(low)], values[tuple(high)]), np.diff(np.atleast_1d(values))
    if np.array_equal(low, high) or (values.ndim == 1 and (np.all(d >= 0) or np.all(d <= 0))):
        return np.minimum(*ends), np.maximum(*ends), np.isnan(ends[0])
    parts = [values[tuple(map(slice, *box))] for box in zip(low.T, high.T + 1, strict=True)]
    ends = [np.array([end.reduce(part, None) for part in parts]) for end in (np.fmin, np.fmax)]
    return *ends, np.array([np.isnan(part).any() for part in parts])


def evaluate(node, known, mode):
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.Constant | ast.UnaryOp):
        value = np.float64(ast.literal_eval(node))
        return value, value, np.isnan(value)
    if isinstance(node, ast.Call):
        op, below = node.func.id, [*node.args, *node.keywords]
    elif isinstance(node, ast.Compare):
        op, below = SIGNS[type(node.ops[0])], [node.left, *node.comparators]
    else:
        op, below = SIGNS[type(node.op)], [node.left, node.right]
    args = [evaluate(arg, known, mode) for arg in below]
    tests = args if op in LOGICAL else args[: op == "where"]
    require(len(args) == TERMS[op], f"{op} takes {TERMS[op]} terms")
    require(all(test[0].dtype == bool for test in tests), f"{op} takes conditions")
    return enclose(op, mode, *args)


def lower_bounds(data, sign, mode, low, high):
    """Return bounds of sign * goal over boxes; infinite where no point meets the conditions."""
    known = {name: extremes(x, low[k], high[k]) for name, (x, k) in data["quantities"].items()}
    for name, text in data["equations"].items():
        require(name not in known, f"{name} is defined twice")
        known[name] = evaluate(PARSED(text), known, mode)
    *tests, goal = (evaluate(PARSED(x), known, mode) for x in [*data["conditions"], data["goal"]])
    may_hold = every([np.full(low.shape[1], ~np.isnan(goal[0])), *(test[1] for test in tests)])
    return np.where(may_hold, goal[0] if sign > 0 else -goal[1], np.inf)


def read_boxes(sizes, entries):
    """Return first and last indices of boxes, of shape (axes, boxes), and their bounds."""
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
    return *np.array(boxes, dtype=np.int64).reshape(len(boxes), len(sizes), 2).T, bounds


def check(data):
    """Return what a certificate proves; exit with a message if it proves nothing."""
    sign, place = {"minimize": 1, "maximize": -1}[data["sense"]], data["incumbent"]["indices"]
    gap, stated = np.float64(data["gap"]), sign * np.float64(data["incumbent"]["goal"])
    require(0 <= gap < np.inf > abs(stated), f"the gap is {gap}, and the goal is {stated}")
    sizes = {axis: len(x) if isinstance(x, list) else x for axis, x in data["axes"].items()}
    inside = (type(n) is type(place[a]) is int and 0 <= place[a] < n for a, n in sizes.items())
    require(all(inside), f"the incumbent {place} is not in the grid {sizes}")
    inputs = {**data["quantities"], "inf": np.inf, "nan": np.nan}
    data["quantities"] = {name: values_of(given, sizes) for name, given in inputs.items()}
    index = np.array([place[axis] for axis in sizes], dtype=np.int64).reshape(-1, 1)
    own = lower_bounds(data, sign, "point", index, index)[0]
    require(np.isclose(own, stated, rtol=LIBRARY_ERROR, atol=0), f"the incumbent has {own}")
    (low, high, bounds), outward = read_boxes(sizes, data["boxes"]), 0
    for k in range(0, len(bounds), CHUNK):
        box, part = (low[:, k : k + CHUNK], high[:, k : k + CHUNK]), bounds[k : k + CHUNK]
        needed = np.array([np.inf if x is None else sign * np.float64(x) for x in part])
        require(np.all(needed >= stated - gap * abs(stated)), "a box may hold a better point")
        by = [lower_bounds(data, sign, mode, *box) for mode in ("outward", "nearest", "point")]
        proven = np.where(np.all(box[0] == box[1], axis=0), by[2], np.maximum(*by[:2])) >= needed
        require(np.all(proven), f"the bound of box {k + np.argmin(proven)} is not proven")
        outward += np.count_nonzero(by[0] >= needed)
    points = np.prod(list(sizes.values()), dtype=object)
    goal = f"{data['sense']} {data['goal']}: {sign * stated} at the indices {place} is best"
    boxes = f"{points:,} points: {len(bounds):,} boxes, {outward:,} of them by outward rounding"
    return f"accepted: {goal} up to the gap {gap:g} over {boxes}"


def unique(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else require(False, "a name occurs twice")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file, np.errstate(all="ignore"):
        print(check(json.load(file, object_pairs_hook=unique)))
