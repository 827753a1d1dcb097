"""Studies of any size whose certified answers are known by construction.

    python -m tests.sweeps.planting 300 1

asks 300 studies of more than 2**28 points, the seeds from 1 on. Axes stand in groups, in any order;
each group is read through one term alone, which takes few values, NaN among them. So every answer
follows from the combinations of the values of the terms, and where each value is first: optima,
ties, ranks, all that is near the best, the best for each value of an axis, objectives in order,
fronts, and how many points meet conditions. A spike is planted in some terms; some are NaN at every
point; some are statistics over an axis of their own.

A third argument is the size: ``vast`` (the default), ``below`` for as many points as are not
merged, or ``tiny`` for so few that a scan looks at each, too, with the constants of the search set
small. What differs is printed with its seed; the status is 1 then.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import math
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse
import sweeps.bounds.merge_axes
from symbolic.errors import InfeasibleError, OutOfTimeError
from symbolic.ops import divide
from tests.sweeps.attack_checks import NAMES
from tests.sweeps.attack_models import HEAD
from tests.sweeps.attacking import pressed

Floats = NDArray[np.float64]

#: Axes of groups, of the statistic, and one that nothing depends on.
LETTERS, OVER, IDLE = "uvwxyz", "s", "i"
#: Points by size; values that a term takes, and combinations of them that are looked at.
POINTS = {"vast": (2.0**28.2, 2.0**36), "below": (2.0**25, 2.0**27.9), "tiny": (40, 4000)}
MOST_VALUES, MOST_MESH = 300, 1 << 21
#: Configurations that are listed at most, and seconds that a question may take.
LISTED, SECONDS = 2000, 60


@dataclass(kw_only=True)
class Term:
    """A quantity over a group of axes: its formula, values, and where each is first."""

    name: str
    axes: tuple[str, ...]
    formula: str
    statistic: str = ""
    values: Floats = field(default_factory=lambda: np.zeros(0))
    #: For each value the index along each axis of every combination that has it, in axis order.
    places: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the term as it is written in objectives."""
        return f"{self.statistic}({self.name}, {OVER})" if self.statistic else self.name


@dataclass(kw_only=True)
class Planted:
    """A study, a question, and what follows of the construction."""

    axes: dict[str, list[Any]]
    terms: list[Term]
    equations: dict[str, tuple[tuple[str, ...], str]]
    question: dict[str, Any]
    verb: str

    @property
    def points(self) -> int:
        """Return how many configurations there are."""
        return math.prod(len(values) for name, values in self.axes.items() if name != OVER)

    def text(self) -> str:
        """The model file."""
        names = [*LETTERS, OVER, IDLE]
        lines = [HEAD, *(f'{n} = dse.quantity("{n}", domain="[-inf, inf]")' for n in names)]
        for name, (needs, formula) in self.equations.items():
            lines += [
                "\n\n@dse.equation(source='here')",
                f"def {name}({', '.join(needs)}):\n    return {formula}",
            ]
        return "\n".join(lines) + "\n"


# --- what is drawn
def _axis(rng: random.Random, size: int) -> list[float]:
    low = rng.choice((-size // 2, 0, 1, -size, 5))
    step = rng.choice((1, 1, 0.5, 0.25, 3))
    values = [(low + k) * step for k in range(size)]
    order = rng.random()
    if order < 0.2:
        values.reverse()
    elif order < 0.4:
        rng.shuffle(values)
    return values


def _nan_at(rng: random.Random, name: str, values: list[float]) -> str:
    """Return what is 0, but NaN at some values of an axis, at all of them, or at one."""
    c = rng.choice((*rng.sample(values, min(2, len(values))), min(values) - 1, max(values) + 1))
    away = rng.choice((f"{name} - {c!r}", f"{c!r} - {name}"))
    wall = f"divide(1, maximum({away}, 0), at_zero=inf)"
    return rng.choice(
        (
            f"0 * sqrt({away})",
            f"0 * log({away})",
            f"floor(0 * sqrt({away}))",
            f"(({away}) / ({away}) - 1)",
            f"({wall} - {wall})",
            f"0 * {wall}",
            f"divide(0, 1 + sqrt({away}), at_zero=3)",
            f"where({away} < 0, nan, 0)",
            "0 * sqrt(-1 - 0 * " + name + ")",
        )
    )


def _smooth(rng: random.Random, names: list[str], axes: dict[str, list[float]]) -> str:
    x = rng.choice(names)
    y = rng.choice(names)
    c, d = rng.choice(axes[x]), rng.choice(axes[y])
    return rng.choice(
        (
            f"({x} - {c!r}) * ({y} - {d!r})",
            f"({x} - {c!r}) * ({x} - {c!r}) + absolute({y} - {d!r})",
            f"absolute({x} - {c!r}) - 2 * {y}",
            f"{x} * {y} - {y} * {d!r}",
            f"maximum({x}, {d!r}) + minimum({y}, {c!r})",
            f"{x} + {y}" if x != y else f"floor({x} / 3) * 3",
        )
    )


def _formula(rng: random.Random, names: list[str], axes: dict[str, list[float]]) -> str:
    """Return a formula over a group of axes that takes few values."""
    smooth = _smooth(rng, names, axes)
    with np.errstate(all="ignore"):
        result = _evaluate_over(names, axes, smooth)
    span = float(np.nanmax(result) - np.nanmin(result)) or 1.0
    levels = rng.choice((2, 5, 12, 40))
    power = 2.0 ** math.ceil(math.log2(span / levels))
    formula = smooth
    if np.unique(result).size > levels:
        formula = f"floor(({smooth}) / {power!r})"
    if rng.random() < 0.35:  # a spike, where nothing else tells of it
        at = [f"equal({n}, {rng.choice(axes[n])!r})" for n in names]
        test = at[0] if len(at) == 1 else f"both({', '.join(at)})"
        formula = f"where({test}, {rng.choice((77, -77, 1000))}, {formula})"
    if rng.random() < 0.6:
        name = rng.choice(names)
        hole = _nan_at(rng, name, axes[name])
        formula = rng.choice((f"{formula} + {hole}", f"{hole} + {formula}"))
        if rng.random() < 0.3:
            other = rng.choice(("2", "-3", names[0]))
            pick = rng.choice(("minimum", "maximum"))
            formula = f"{pick}({formula}, {other})"
    return formula


def _evaluate_over(names: list[str], axes: dict[str, list[float]], formula: str) -> Floats:
    """Return a formula at all combinations of some axes."""
    mesh = np.meshgrid(*(np.array(axes[n], dtype=float) for n in names), indexing="ij")
    with np.errstate(all="ignore"):
        result = eval(formula, dict(NAMES), dict(zip(names, mesh, strict=True)))
    return np.array(np.broadcast_to(result, mesh[0].shape), dtype=float)


def _outer(rng: random.Random, names: list[str], depth: int) -> str:
    """Return a formula of terms."""
    if depth <= 0 or rng.random() < 0.1:
        return rng.choice(names)
    a, b = _outer(rng, names, depth - 1), _outer(rng, names, depth - 1)
    c = rng.choice((-2, 0, 0.5, 1, 3))
    return rng.choice(
        (
            f"({a} + {b})",
            f"({a} + {b})",
            f"({a} - {b})",
            f"({a} * {b})",
            f"minimum({a}, {b})",
            f"maximum({a}, {b})",
            f"maximum({a}, {b})",
            f"where({a} < {b}, {a}, {b} + {c!r})",
            f"where({a} <= {c!r}, {b}, {a})",
            f"({a} + 0 * sqrt({b}))",
            f"absolute({a} - {c!r})",
            f"divide({a}, {b}, {rng.choice(('1', '-3', b))})",
            f"floor({a} / 2)",
        )
    )


def _sizes(rng: random.Random, size: str) -> tuple[list[list[str]], dict[str, int]]:
    low, high = POINTS[size]
    groups, letters = [], list(LETTERS)
    for _ in range(rng.choice((2, 3, 3, 4)) if size != "tiny" else rng.choice((1, 2, 2, 3))):
        count = min(rng.choice((1, 1, 2, 2, 3)), len(letters))
        if count:
            groups.append([letters.pop(0) for _ in range(count)])
    names = [n for group in groups for n in group]
    while True:
        goal = math.exp(rng.uniform(math.log(low), math.log(high)))
        shares = [rng.uniform(0.4, 1.6) for _ in names]
        each = [goal ** (s / sum(shares)) for s in shares]
        sizes = {n: max(1, min(round(e), 200_000)) for n, e in zip(names, each, strict=True)}
        most = max(math.prod(sizes[n] for n in group) for group in groups)
        if low < math.prod(sizes.values()) < high and most < 1 << 22:
            return groups, sizes


def plant(seed: int, size: str = "vast") -> Planted:
    """Return a study of a size, and a question of it."""
    rng = random.Random(f"planted {size} {seed}")
    groups, sizes = _sizes(rng, size)
    axes: dict[str, list[float]] = {n: _axis(rng, size_) for n, size_ in sizes.items()}
    if rng.random() < 0.2:
        axes[IDLE] = _axis(rng, rng.choice((1, 3, 20)))
    terms, equations = [], {}
    statistic_of = rng.randrange(len(groups)) if rng.random() < 0.25 else -1
    blank = rng.randrange(len(groups)) if rng.random() < 0.3 else -1
    for number, group in enumerate(groups):
        term = _term(rng, number, group, axes, statistic_of == number)
        if number == blank:  # NaN at every point
            hole = rng.choice(
                (f"0 * sqrt(-1 - absolute({group[0]}))", "nan", f"log(-1 - 0 * {group[0]})")
            )
            term.formula = rng.choice((f"{term.formula} + {hole}", f"{hole} * ({term.formula})"))
        terms.append(term)
        needs = tuple(n for n in (*group, OVER) if n in _words(term.formula))
        equations[term.name] = needs, term.formula
    order = list(axes)
    rng.shuffle(order)
    axes = {name: axes[name] for name in order}
    for term in terms:
        term.axes = tuple(n for n in order if n in term.axes)
        _tabulate(term, axes)
    question, verb = _question(rng, terms, axes)
    one = Planted(axes=axes, terms=terms, equations=equations, question=question, verb=verb)
    if verb != "meets" and "where" in question and rng.random() < 0.8:
        truth = Truth(one)
        if not truth.feasible(truth.goals(truth.feasible_mask(truth.limits()))):
            del question["where"]
    return one


def _term(
    rng: random.Random, number: int, group: list[str], axes: dict[str, list[float]], statistic: bool
) -> Term:
    formula = _formula(rng, group, axes)
    term = Term(name=f"t{number}", axes=tuple(group), formula=formula)
    if statistic:
        axes[OVER] = [0.0, 1.0, 2.0, 5.0][: rng.choice((1, 2, 4))]
        other = rng.choice((OVER, f"{OVER} + {_nan_at(rng, OVER, axes[OVER])}", f"{OVER} * 2"))
        term.formula = f"{rng.choice(('minimum', 'maximum'))}({formula}, {other})"
        term.formula = rng.choice((term.formula, f"{formula} + {other}"))
        term.statistic = rng.choice(("mean", "worst_high", "worst_low", "best_high", "best_low"))
    return term


def _words(formula: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in formula).split())


def _tabulate(term: Term, axes: dict[str, list[float]]) -> None:
    """Work out which values a term takes, and at which combinations."""
    names = list(term.axes)
    if term.statistic:
        result = _evaluate_over([*names, OVER], axes, term.formula)
        result = _statistic(term.statistic, result)
    else:
        result = _evaluate_over(names, axes, term.formula)
    flat = np.where(result == 0, 0.0, result).reshape(-1)  # zeros of both signs are one value
    signed = np.array([flat, np.signbit(result.reshape(-1)) & (result.reshape(-1) == 0)])
    kinds, code = np.unique(signed, axis=1, return_inverse=True)
    nan = np.isnan(kinds[0])
    code = code.reshape(-1)
    if nan.sum() > 1:  # one kind for all NaN
        code = np.where(nan[code], int(np.argmax(nan)), code)
    used = np.unique(code)
    term.values = np.array([-0.0 if kinds[1, k] else kinds[0, k] for k in used])
    order = np.argsort(code, kind="stable")
    begins = np.searchsorted(code[order], used)
    ends = np.append(begins[1:], code.size)
    shape = [len(axes[n]) for n in names]
    term.places = [
        _split(order[a:b], shape) for a, b in zip(begins.tolist(), ends.tolist(), strict=True)
    ]


def _split(flat: NDArray[np.int64], shape: list[int]) -> NDArray[np.int64]:
    """Return the index along each axis (rows) of some combinations."""
    rows = []
    for size in reversed(shape):
        flat, index = np.divmod(flat, size)
        rows.append(index)
    return np.array(rows[::-1]).reshape(len(shape), -1)


def _statistic(kind: str, values: Floats) -> Floats:
    """Return a statistic along the last axis, NaN where a value is, but for the best."""
    missing = np.isnan(values)
    if kind == "mean":
        total = np.zeros(values.shape[:-1])
        for k in range(values.shape[-1]):
            total = total + values[..., k]
        return total / values.shape[-1]
    pick = np.fmax if kind.endswith("high") else np.fmin
    result = pick.reduce(values, axis=-1)
    return result if kind.startswith("best") else np.where(missing.any(axis=-1), np.nan, result)


# --- questions, and what is true
def _question(
    rng: random.Random, terms: list[Term], axes: dict[str, list[float]]
) -> tuple[dict[str, Any], str]:
    names = [term.text for term in terms]
    verbs = ["optimum"] * 6 + ["ties", "within", "top", "top", "per", "order", "order"]
    verbs += ["front", "front", "meets"]
    verb = rng.choice(verbs)
    question: dict[str, Any] = {}
    texts = [_outer(rng, names, rng.choice((1, 2, 2, 3))) for _ in range(3)]
    blank = [term.text for term in terms if np.isnan(term.values).all()]
    rest = " + ".join(name for name in names if name not in blank)
    if blank and rest and rng.random() < 0.8:  # what is NaN everywhere is to decide nothing
        pick = rng.choice(("minimum", "maximum"))
        texts[0] = rng.choice((f"{pick}({blank[0]}, {rest})", f"0 - {pick}({blank[0]}, {rest})"))
    elif rng.random() < 0.5:  # of all terms together
        texts[0] = " + ".join(names)
    sense = rng.choice(("minimize", "maximize"))
    if verb in ("order", "front"):
        question[sense] = list(dict.fromkeys(texts[: rng.choice((2, 2, 3))]))
        if len(question[sense]) == 1:
            verb, question[sense] = "optimum", question[sense][0]
    elif verb != "meets":
        question[sense] = texts[0]
    if rng.random() < 0.5 or verb == "meets":
        limits = []
        for _ in range(rng.choice((1, 1, 2))):
            text = rng.choice((*names, _outer(rng, names, 1)))
            limits.append((text, rng.choice(("<=", ">=", "<", ">", "==")), rng.random()))
        question["where"] = limits
    if verb == "within":
        question["within"] = rng.choice((0, 0.01, 0.1))
    if verb == "ties":
        question["ties"] = True
    if verb == "top":
        question["top"] = rng.randint(2, 5)
    used = [question.get(sense, ""), *(text for text, *_ in question.get("where", []))]
    if verb in ("top", "meets") and OVER in axes and not any(f", {OVER})" in t for t in used):
        verb = "optimum" if verb == "top" else verb
        question.pop("top", None)
    if verb == "per":
        short = [n for n in axes if n not in (OVER,) and len(axes[n]) <= 6]
        question["per"] = rng.choice(short) if short else None
        if not short:
            verb = "optimum"
            del question["per"]
    return question, verb


def _divide(a: Any, b: Any, at_zero: Any) -> Any:
    return divide(a, b, at_zero=at_zero)


_FORMULA = NAMES | {"divide": _divide}  # as in formulas, whose terms have no names


class Truth:
    """The true answer of a query, from all combinations of the values of the terms."""

    def __init__(self, one: Planted) -> None:
        self.one = one
        self.shape = tuple(term.values.size for term in one.terms)
        if math.prod(self.shape) > MOST_MESH:
            raise ValueError("too many combinations")
        mesh = np.meshgrid(*(term.values for term in one.terms), indexing="ij", sparse=True)
        self.known = {term.name: value for term, value in zip(one.terms, mesh, strict=True)}
        self.order = [name for name in one.axes if name != OVER]
        self.sizes = [len(one.axes[name]) for name in self.order]
        many = [np.array([p.shape[1] for p in term.places], dtype=object) for term in one.terms]
        counts: Any = np.ones(self.shape, dtype=object)
        for axis, row in enumerate(many):
            counts = counts * row.reshape([-1 if k == axis else 1 for k in range(len(many))])
        self.idle = len(one.axes.get(IDLE, [0]))
        self.counts = counts * self.idle

    def evaluate(self, text: str) -> Any:
        """Return a formula of terms at all combinations."""
        for term in self.one.terms:
            text = text.replace(term.text, term.name)
        with np.errstate(all="ignore"):
            result = eval(text, _FORMULA, dict(self.known))
        return np.broadcast_to(result, self.shape)

    def limits(self) -> list[str]:
        """Return the conditions as text; their limits are values that are there."""
        result = []
        for text, relation, share in self.one.question.get("where", []):
            values = np.unique(self.evaluate(text)[np.isfinite(self.evaluate(text))])
            value = float(values[int(share * values.size)]) if values.size else 0.0
            result.append(f"{text} {relation} {value!r}")
        return result

    def feasible_mask(self, limits: list[str]) -> Any:
        result = np.ones(self.shape, dtype=bool)
        for text in limits:
            result &= self.evaluate(text)
        return result

    def objectives(self, texts: list[str], sign: float, allowed: Any) -> list[Floats]:
        """Return each objective, smaller being better, infinite where there is none."""
        values = [sign * self.evaluate(text).astype(float) for text in texts]
        return [np.where(np.isfinite(value) & allowed, value, math.inf) for value in values]

    def goals(self, allowed: Any) -> list[Floats]:
        """Return the objectives of the question."""
        question = self.one.question
        sense = "minimize" if "minimize" in question else "maximize"
        texts = question[sense] if isinstance(question[sense], list) else [question[sense]]
        return self.objectives(texts, 1.0 if sense == "minimize" else -1.0, allowed)

    def feasible(self, goals: list[Floats]) -> bool:
        """True if there is an answer."""
        if self.one.verb == "front":
            return bool(np.all(np.isfinite(goals), axis=0).any())
        left = np.isfinite(goals[0])
        for values in goals:
            left &= values == np.where(left, values, math.inf).min()
            left &= np.isfinite(values)
        return bool(left.any())

    def firsts(self, chosen: Any) -> list[tuple[int, ...]]:
        """Return the first configuration of each chosen combination, in the order of the axes."""
        result = []
        for at in np.argwhere(chosen).tolist():
            index = dict.fromkeys(self.order, 0)
            for term, k in zip(self.one.terms, at, strict=True):
                index.update(zip(term.axes, term.places[k][:, 0].tolist(), strict=True))
            result.append(tuple(index[name] for name in self.order))
        return result

    def every(self, chosen: Any) -> list[tuple[int, ...]]:
        """Return all configurations of the chosen combinations, in order."""
        result = []
        for at in np.argwhere(chosen).tolist():
            parts: list[Any] = [
                t.places[k].T.tolist() for t, k in zip(self.one.terms, at, strict=True)
            ]
            parts.append([[k] for k in range(self.idle)])
            names = [*(term.axes for term in self.one.terms), (IDLE,)]
            for some in itertools.product(*parts):
                index: dict[str, int] = {}
                for own, values in zip(names, some, strict=True):
                    index.update(zip(own, values, strict=True))
                result.append(tuple(index[name] for name in self.order))
        return sorted(result)


class Wrong(AssertionError):  # noqa: N818
    """An answer that the construction disproves."""


def _same(actual: Any, true: Any, what: str) -> None:
    if actual != true:
        raise Wrong(f"{what}: {str(actual)[:300]}, by construction {str(true)[:300]}")


def _places(study: dse.Study, truth: Truth, answer: Any) -> list[tuple[int, ...]]:
    axes = study.grid().axes
    rows = []
    for name in truth.order:
        values = np.atleast_1d(answer[name].values)
        rows.append([axes[name].position(v, {}) for v in values.tolist()])
    longest = max(map(len, rows))
    rows = [row * longest if len(row) == 1 else row for row in rows]
    return list(zip(*rows, strict=True))


@contextlib.contextmanager
def _merge_axes_always(seed: int) -> Iterator[None]:
    """The constants of the search small, and axes merged in most studies."""
    rng = random.Random(f"merged {seed}")
    with pressed(rng):  # restores what is set here, too
        sweeps.bounds.merge_axes._MIN_POINTS = rng.choice((0, 0, 0, 1 << 28))
        yield


def compare(one: Planted, seed: int, folder: Path, size: str) -> str:
    """Ask a study, and compare its answer; what kind of answer it was."""
    truth = Truth(one)
    (folder / "model.py").write_text(one.text())
    study = dse.Study(model="model.py", axes=one.axes, outputs=list(one.equations), folder=folder)
    question = dict(one.question)
    limits = truth.limits()
    if "where" in question:
        question["where"] = limits
    small = _merge_axes_always(seed) if size == "tiny" else contextlib.nullcontext()
    allowed = truth.feasible_mask(limits)
    if one.verb == "meets":
        with small:
            return _meets(study, question, truth, allowed)
    sign = 1.0 if "minimize" in question else -1.0
    goals = truth.goals(allowed)
    feasible = truth.feasible(goals)
    if one.verb in ("ties", "within") and feasible:
        least, share = float(goals[0].min()), question.get("within", 0)
        near = goals[0] <= least + share * abs(least)
        if int(truth.counts[near].sum()) > LISTED:
            question.pop("ties", None)
            question.pop("within", None)
    try:
        with small:
            if one.verb == "front":
                result = study.pareto(**question, method="certified")
            else:
                limit = {} if size == "tiny" else {"time_limit": SECONDS}
                result = study.optimum(**question, method="certified", **limit)
    except OutOfTimeError as error:
        if size == "tiny":
            raise Wrong(f"out of time: {error}") from None
        return "out of time"
    except InfeasibleError as error:
        if feasible:
            raise Wrong(f"feasible, yet: {error}") from None
        return "nothing feasible"
    if not feasible:
        raise Wrong(f"an answer, where nothing counts: {result}")
    if size == "tiny" and one.verb != "front":
        scan = study.optimum(**question, method="scan")
        if not result.drop_attrs().identical(scan.drop_attrs()):
            raise Wrong(f"{result.drop_attrs()}\nscan: {scan.drop_attrs()}")
    return _answer(study, question, truth, result, goals, sign, one.verb)


def _answer(
    study: dse.Study,
    question: dict[str, Any],
    truth: Truth,
    answer: Any,
    goals: list[Floats],
    sign: float,
    verb: str,
) -> str:
    if verb == "front":
        _same(_places(study, truth, answer), _front(truth, goals), "the front")
        _same((answer.attrs["complete"], answer.attrs["settled"]), (1, 1), "complete and settled")
        return "front"
    if question.get("per"):
        return _per(study, question, truth, answer, goals[0], sign)
    actual = answer.attrs["gap"]
    gaps = actual if isinstance(actual, list) else [actual]
    if any(gap != 0 for gap in gaps):
        least = float(goals[0].min())
        bound = answer.attrs["bound"]
        bound = sign * (bound[0] if isinstance(bound, list) else bound)
        if bound > least:
            raise Wrong(f"bound {bound}, yet {least} is there (signed)")
        return "not proven in time"
    places = list(dict.fromkeys(_places(study, truth, answer)))  # copies along the statistic's axis
    if question.get("ties") or "within" in question:
        least, share = float(goals[0].min()), question.get("within", 0)
        near = (goals[0] <= least + share * abs(least)) & (goals[0] < math.inf)
        expected = [
            place
            for value in np.unique(goals[0][near] + 0.0)
            for place in truth.every(near & (goals[0] == value))
        ]
        _same(places, expected, "all that are as good")
        return verb
    if "top" in question:
        _same(places, _ranks(truth, goals[0], question["top"]), "the ranks")
        return "top"
    left = np.isfinite(goals[0])
    for values in goals:
        left &= values == np.where(left, values, math.inf).min()
    if len(goals) == 1:
        _same(sign * float(answer.attrs["bound"]), float(goals[0].min()), "the bound")
    _same(places, [min(truth.firsts(left))], "the first of the best")
    return verb


def _ranks(truth: Truth, values: Floats, top: int) -> list[tuple[int, ...]]:
    result: list[tuple[int, ...]] = []
    for value in np.unique(values[np.isfinite(values)] + 0.0):
        same = values == value
        if int(truth.counts[same].sum()) > LISTED:
            return result + _first_few(truth, same, top - len(result))
        result += truth.every(same)
        if len(result) >= top:
            break
    return result[:top]


def _first_few(truth: Truth, chosen: Any, count: int) -> list[tuple[int, ...]]:
    """Return the first configurations of very many, by the first ones of each combination.

    Those of one combination are a product of sets: its first few lie among the first few of each
    set when the axes do not interleave, else among a few more.
    """
    result: list[tuple[int, ...]] = []
    starts = sorted(zip(truth.firsts(chosen), np.argwhere(chosen).tolist(), strict=True))[:count]
    for _, at in starts:
        sets = [
            _leading(term.places[k], count) for term, k in zip(truth.one.terms, at, strict=True)
        ]
        names = [*(term.axes for term in truth.one.terms), (IDLE,)]
        sets.append([[k] for k in range(min(truth.idle, count))])
        for some in itertools.product(*sets):
            index: dict[str, int] = {}
            for own, values in zip(names, some, strict=True):
                index.update(zip(own, values, strict=True))
            result.append(tuple(index[name] for name in truth.order))
    return sorted(result)[:count]


def _leading(places: NDArray[np.int64], count: int) -> list[list[int]]:
    return places[:, :count].T.tolist()


def _per(
    study: dse.Study,
    question: dict[str, Any],
    truth: Truth,
    answer: Any,
    values: Floats,
    sign: float,
) -> str:
    axis = question["per"]
    text = question["minimize" if sign > 0 else "maximize"]
    array = answer[text if text in answer else "objective"]
    rows = np.atleast_1d(array.values)
    number = next((k for k, t in enumerate(truth.one.terms) if axis in t.axes), None)
    for cell in range(len(truth.one.axes[axis])):
        least = float(values.min())
        if number is not None:
            term = truth.one.terms[number]
            row = term.axes.index(axis)
            has = [bool((places[row] == cell).any()) for places in term.places]
            least = float(np.compress(has, values, axis=number).min(initial=math.inf))
        actual = float(rows[cell] if rows.size > 1 else rows[0])
        expected = sign * least if math.isfinite(least) else math.nan
        if not (actual == expected or (math.isnan(actual) and math.isnan(expected))):
            raise Wrong(f"{axis} {cell}: {actual}, by construction {expected}")
    return "per"


def _front(truth: Truth, goals: list[Floats]) -> list[tuple[int, ...]]:
    finite = np.all(np.isfinite(goals), axis=0)
    vectors = np.unique(np.stack([goal[finite] + 0.0 for goal in goals]), axis=1)
    rows_left: list[Any] = []
    for vector in vectors.T:  # in order of the first objective
        if not any(np.all(other <= vector) for other in rows_left):
            rows_left.append(vector)
    result = []
    for vector in rows_left:
        same = finite.copy()
        for goal, value in zip(goals, vector, strict=True):
            same &= goal == value
        result.append(min(truth.firsts(same)))
    return sorted(result)


def _meets(study: dse.Study, question: dict[str, Any], truth: Truth, allowed: Any) -> str:
    try:
        result = dse.meets(study, question["where"], boxes=4000)
    except InfeasibleError as error:
        if allowed.any():
            raise Wrong(f"feasible, yet: {error}") from None
        return "nothing feasible"
    count = int(truth.counts[allowed].sum()) * len(truth.one.axes.get(OVER, [0]))
    inner, outer, total = (int(result[name]) for name in ("inner", "outer", "total"))
    relevant = {axis for axis in truth.order if f"{axis}_first" in result or axis in result}
    times = math.prod(n for a, n in zip(truth.order, truth.sizes, strict=True) if a not in relevant)
    if total * times == math.prod(truth.sizes):
        inner, outer = inner * times, outer * times
        count = int(truth.counts[allowed].sum())
    if not inner <= count <= outer:
        raise Wrong(f"between {inner} and {outer} points, by construction {count}")
    if result.attrs["complete"]:
        _same((inner, outer), (count, count), "how many meet the conditions")
    return "meets" if result.attrs["complete"] else "meets, boxes left"


def main(count: int, first: int = 1, size: str = "vast") -> int:
    """Ask so many studies; the exit status."""
    began, kinds, wrong, seed, done = time.monotonic(), collections.Counter[str](), 0, first, 0
    least, most = math.inf, 0
    while done < count:
        seed += 1
        try:
            one = plant(seed - 1, size)
            Truth(one)
        except ValueError:
            continue
        done += 1
        least, most = min(least, one.points), max(most, one.points)
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            try:
                kind = compare(one, seed - 1, Path(folder), size)
            except Exception as error:
                wrong += 1
                actual = str(error) if isinstance(error, Wrong) else traceback.format_exc()
                kind = "wrong"
                limits = Truth(one).limits()
                shown = {
                    n: (v if len(v) < 40 else f"{len(v)}: {v[:3]}") for n, v in one.axes.items()
                }
                print(
                    f"--- seed {seed - 1}: {one.verb} {one.question} {limits}\n{one.equations}\n"
                    f"{[t.text for t in one.terms]}\naxes {shown}\n{actual}",
                    flush=True,
                )
            if time.monotonic() - start > 20:
                print(f"seed {seed - 1}: {kind} took {time.monotonic() - start:.0f} s", flush=True)
            kinds[kind] += 1
    for kind, number in kinds.most_common():
        print(f"{number:7,}  {kind}")
    border = sweeps.bounds.merge_axes._MIN_POINTS
    print(
        f"{count:,} studies of {least:,} to {most:,} points (axes are merged above {border:,}): "
        f"{wrong} differ from what is known by construction; {time.monotonic() - began:.0f} s"
    )
    return int(wrong > 0)


if __name__ == "__main__":
    given = sys.argv[1:] or ["300"]
    sys.exit(main(int(given[0]), *(int(n) for n in given[1:2]), *given[2:3]))
