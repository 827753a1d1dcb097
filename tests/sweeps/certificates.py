"""Certificates of random studies, which a checker must accept, and false ones, which it must not.

    python -m tests.sweeps.certificates 200 1

The numbers are the number of studies and the first seed. Each certificate is checked by
``examples/check_certificate.py``, and then changed in ten ways. Brute force with Python's ``eval``
decides whether a change makes the certificate false. The status is 1 if an optimum is wrong, a
certificate is rejected, or a false one accepted.
"""

from __future__ import annotations

import collections
import copy
import importlib.util
import json
import math
import random
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import dse
import symbolic.ops
from symbolic.errors import DseError, InfeasibleError
from tests.sweeps import regretting
from tests.sweeps.attack_checks import NAMES, Truth
from tests.sweeps.attack_models import draw_study, make_study
from tests.sweeps.attacking import small_steps

CHECKER = Path(__file__).parents[2] / "examples" / "check_certificate.py"
_spec = importlib.util.spec_from_file_location("check_certificate", CHECKER)
assert _spec is not None
assert _spec.loader is not None
checker = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(checker)

Certificate = dict[str, Any]


def verdict(data: Certificate) -> str:
    """Return the checker's reason to reject a certificate; "" if the checker accepts it."""
    try:
        with np.errstate(all="ignore"):
            checker.check(json.loads(json.dumps(data)))
    except (Exception, SystemExit) as error:
        return repr(error)
    return ""


def sizes_of(data: Certificate) -> dict[str, int]:
    """Return the number of values of each axis."""
    return {a: len(x) if isinstance(x, list) else x for a, x in data["axes"].items()}


def scores(data: Certificate) -> Any:
    """Return the goal at every point, signed to be minimized; infinite at infeasible points."""
    sizes = sizes_of(data)
    shape, count = tuple(sizes.values()), math.prod(sizes.values())
    index = dict(zip(sizes, np.indices(shape).reshape(len(shape), count), strict=True))
    known: dict[str, Any] = {}
    for name, given in data["quantities"].items():
        if not isinstance(given, dict):
            known[name] = np.float64(given)
            continue
        values = given.get("values")
        if values is None:
            first, step, last = given["range"]
            values = [*(first + k * step for k in range(sizes[given["axes"][0]] - 1)), last]
        table = np.array(values, dtype=float).reshape([sizes[axis] for axis in given["axes"]])
        known[name] = table[tuple(index[axis] for axis in given["axes"])]
    with np.errstate(all="ignore"):
        for name, text in data["equations"].items():
            known[name] = eval(_numbers(text), dict(_ORACLE), known)
        tests = [eval(_numbers(text), dict(_ORACLE), known) for text in data["conditions"]]
        goal = eval(_numbers(data["goal"]), dict(_ORACLE), known) * _sign(data)
        holds = np.logical_and.reduce(np.broadcast_arrays(*tests, ~np.isnan(goal)))
        result = np.where(holds, goal, np.inf)
    return np.broadcast_to(result.reshape(-1), count).reshape(shape)


def _sign(data: Certificate) -> float:
    return 1.0 if data["sense"] == "minimize" else -1.0


def _numbers(text: str) -> str:
    """Return a formula with numbers of NumPy, which can be divided by zero."""
    return re.sub(r"(?<![\w.])(\d[\d.]*(e[-+]?\d+)?)", r"float64(\1)", text)


_ORACLE = NAMES | {
    "float64": np.float64,
    "divide": lambda a, b, c: symbolic.ops.divide(a, b, at_zero=c),
}


def is_true(data: Certificate) -> bool:
    """True if brute force confirms the incumbent of a certificate."""
    best, every = data["incumbent"], scores(data)
    own, stated = every[tuple(best["indices"].values())], _sign(data) * best["goal"]
    limit = stated - data["gap"] * abs(stated)
    return math.isclose(own, stated, rel_tol=1e-12) and bool(every.min() >= limit)


def leaves(data: Certificate) -> list[tuple[int, list[slice]]]:
    """Return the index of each entry that is a bound, and the slices of its box."""
    names, result = list(data["axes"]), []
    stack = [[slice(0, size) for size in sizes_of(data).values()]]
    for k, entry in enumerate(data["boxes"]):
        box = stack.pop()
        if isinstance(entry, list):
            row = names.index(entry[0])
            parts = (slice(entry[1], box[row].stop), slice(box[row].start, entry[1]))
            stack += [[*box[:row], part, *box[row + 1 :]] for part in parts]
        else:
            result.append((k, box))
    return result


# --- Changes: each returns True if it makes a certificate false


def raise_bound(data: Certificate, rng: random.Random) -> bool:
    """Raise a bound above the best value in its box."""
    k, box = rng.choice(leaves(data))
    least = float(scores(data)[tuple(box)].min())
    raised = least + rng.choice([1e-9, 0.1, 10]) * abs(least) + 1e-300
    data["boxes"][k] = rng.choice([_sign(data) * raised, _sign(data) * raised, None])
    return least < raised < math.inf


def drop_box(data: Certificate, rng: random.Random) -> bool:
    del data["boxes"][rng.randrange(len(data["boxes"]))]
    return True


def move_split(data: Certificate, rng: random.Random) -> bool:
    """Move the index of a split out of its box, or replace it by no integer."""
    places = [k for k, entry in enumerate(data["boxes"]) if isinstance(entry, list)]
    if places:
        entry = data["boxes"][rng.choice(places)]
        entry[1] = rng.choice([0, -1, sizes_of(data)[entry[0]], 0.5, True])
    return bool(places)


def double_box(data: Certificate, rng: random.Random) -> bool:
    k = rng.randrange(len(data["boxes"]))
    data["boxes"].insert(k, data["boxes"][k])
    return True


def change_goal(data: Certificate, rng: random.Random) -> bool:
    """State a better or worse value of the incumbent."""
    best = data["incumbent"]
    best["goal"] = best["goal"] * (1 + rng.choice([1e-9, -1e-9, 0.1, -0.1])) + rng.choice([0, 1e-9])
    return not is_true(data)


def move_incumbent(data: Certificate, rng: random.Random) -> bool:
    """Claim another point to be the best, with its own value."""
    best = data["incumbent"]
    best["indices"] = {axis: rng.randrange(size) for axis, size in sizes_of(data).items()}
    best["goal"] = _sign(data) * float(scores(data)[tuple(best["indices"].values())])
    return not is_true(data)


def claim_worse(data: Certificate, rng: random.Random) -> bool:
    """Claim another point, and state bounds that agree with it."""
    is_false = move_incumbent(data, rng)
    worse = data["incumbent"]["goal"]
    data["boxes"] = [e if e is None or isinstance(e, list) else worse for e in data["boxes"]]
    return is_false


def change_value(data: Certificate, rng: random.Random) -> bool:
    """Change a value of an input."""
    given = data["quantities"]
    if not given:
        return False
    name = rng.choice(list(given))
    factor, step = rng.choice([0.5, 2, -1, 1]), rng.choice([0, 1, -3])
    if isinstance(given[name], dict):
        values = given[name].get("values") or given[name]["range"]
        k = rng.randrange(len(values))
        values[k] = values[k] * factor + step
    else:
        given[name] = given[name] * factor + step
    return not is_true(data)


def change_formula(data: Certificate, rng: random.Random) -> bool:
    """Change an operation or a number of an equation, a condition or the goal."""
    places = [(data["equations"], name) for name in data["equations"]]
    places += [(data["conditions"], k) for k in range(len(data["conditions"]))] + [(data, "goal")]
    swaps = [
        ("+", "-"),
        ("-", "+"),
        ("*", "+"),
        (" / ", " * "),
        ("minimum", "maximum"),
        ("<=", "<"),
    ]
    swaps += [("maximum", "minimum"), ("floor", "ceil"), ("2", "3"), ("1", "2"), (" < ", " <= ")]
    matches = [(t, k, s) for t, k in places for s in swaps if s[0] in t[k]]
    if not matches:
        return False
    table, key, (old, new) = rng.choice(matches)
    table[key] = table[key].replace(old, new, 1)
    try:
        return not is_true(data)
    except Exception:
        return True  # no formula any more


def drop_condition(data: Certificate, rng: random.Random) -> bool:
    """Drop a condition, which may make better points feasible."""
    if data["conditions"]:
        del data["conditions"][rng.randrange(len(data["conditions"]))]
    return not is_true(data)


CHANGES = (
    raise_bound, drop_box, move_split, change_goal, move_incumbent, claim_worse, change_value,
    change_formula, drop_condition, double_box,
)  # fmt: skip


def draw_certificate(seed: int, folder: Path) -> tuple[Certificate | None, str]:
    """Return the certificate of a random study, if it has one, and the text of an error."""
    rng, path = random.Random(seed), folder / f"{seed}.json"
    if seed % 3 == 0:
        formulas, axes, limit, about = regretting.study(seed)
        file = folder / f"regret_{seed}.py"
        file.write_text(regretting.MODEL.format(**formulas))
        study = dse.Study(model=str(file), axes=axes, where=limit or ())
        question: dict[str, Any] = {"maximize": f"regret(cost, s, {about['written']})"}
    else:
        one = draw_study(seed)
        try:
            study = make_study(one, folder / f"model_{seed}.py")
        except (DseError, ValueError):
            return None, ""
        truth = Truth(one)
        drawn = {
            k: v for k, v in truth.question().items() if k in ("minimize", "maximize", "where")
        }
        question = {
            k: v[0] if k != "where" and isinstance(v, list) else v for k, v in drawn.items()
        }
        if not {"minimize", "maximize"} & set(question):
            question["minimize"] = list(one.equations)[-1].split("@")[0]
    gap = rng.choice([0.0, 0.0, 0.0, 0.05])
    try:
        with small_steps(rng):
            study.optimum(**question, method="certified", gap=gap, certificate=path)
    except InfeasibleError:
        return None, ""
    except DseError as error:
        known = ("units", "unit", "dimension", "no number", "outside")
        return None, "" if any(word in str(error) for word in known) else f"refused: {error}"
    data = json.loads(path.read_text())
    return data, "" if is_true(data) else "brute force disproves it"


def main(count: int, first: int = 1, changes: int = 10) -> int:
    """Check the certificates of some studies, and false ones; return the number of errors."""
    counts, wrong = collections.Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        for seed in range(first, first + count):
            data, error = draw_certificate(seed, Path(name))
            counts["no certificate"] += data is None
            if data is not None and not error:
                error = verdict(data)
                counts["accepted"] += not error
                rng = random.Random(seed)
                for change in CHANGES * (changes // len(CHANGES)):
                    false = copy.deepcopy(data)
                    if change(false, rng):
                        reason = verdict(false)
                        counts[change.__name__ if reason else "false, accepted"] += 1
                        if not reason:
                            error = f"{error} {change.__name__} is accepted"
            if error:
                wrong += 1
                print(seed, error, flush=True)
    for what, many in counts.most_common():
        print(f"{many:7,}  {what}")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
