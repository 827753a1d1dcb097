"""Random models of a user's own, axes for them, and what may be asked: by a seed, as plain data."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import dse

HEAD = """import math
import dse
from symbolic.ops import (absolute, both, ceil, divide, either, equal, exp, floor, log, log2, log10,
    maximum, minimum, negate, power, sqrt, where)
inf, nan = math.inf, math.nan
mode = dse.quantity("mode", labels=("one", "two"), default="one")
kind = dse.quantity("kind", labels=())
"""
CONSTANTS = (0, 1, 2, -1, 3, 0.5, 3.5, -7, 10, 100, -0.25, 1e-3, 1e6, 41, 1 / 3)
AXES = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Drawn:
    """A model (equations by name: parameters and formula), a study of it, and a question."""

    equations: dict[str, tuple[tuple[str, ...], str]]
    axes: dict[str, Any]
    set: dict[str, Any]
    question: dict[str, Any]
    ask: str
    labels: dict[str, float] = field(default_factory=dict)
    tables: dict[str, tuple[tuple[str, ...], Any]] = field(default_factory=dict)

    def text(self) -> str:
        """The model file."""
        names = [*AXES, "k", "m", "t"]
        lines = [HEAD, *(f'{n} = dse.quantity("{n}", domain="[-inf, inf]")' for n in names)]
        for name, (needs, formula) in self.equations.items():
            given = ['source="here"']
            function = name
            if "@" in name:
                function, label = name.split("@")
                given += [f'name="{function}"', f'when={{"mode": "{label}"}}']
                function += f"_{label}"
            if name == "letters":
                given.append("table=True")
            lines += [
                f"\n\n@dse.equation({', '.join(given)})",
                f"def {function}({', '.join(needs)}):\n    return {formula}",
            ]
        return "\n".join(lines) + "\n"

    def without(self, **changed: Any) -> Drawn:
        return replace(self, **changed)


def make_study(one: Drawn, path: Path) -> dse.Study:
    """The study, its model written to a file."""
    path.write_text(one.text())
    tables = {
        name: xr.DataArray(np.array(array), dims=dims) for name, (dims, array) in one.tables.items()
    }
    outputs = [name.split("@")[0] for name in one.equations if name != "letters"]
    outputs = list(dict.fromkeys(outputs))
    return dse.Study(
        model=path.name,
        axes=one.axes,
        set={**one.set, **tables},
        outputs=outputs,
        folder=path.parent,
    )


class Holes:
    """Formulas that are NaN in some of the studies: at some points, at all of them, or at one.

    It draws from numbers of its own, so that studies without NaN stay what they are.
    """

    def __init__(self, seed: int, share: float = 0.5) -> None:
        self.rng = random.Random(f"holes {seed}")
        self.often = self.rng.choice((0.1, 0.25)) if self.rng.random() < share else 0.0

    def make_study(self, formula: str, name: str) -> str:
        """A formula, or one in its place that is NaN at some values of a quantity."""
        rng = self.rng
        if rng.random() >= self.often:
            return formula
        c = rng.choice((0, 1, -3, 2.5, 40, -1000, 1e6))
        away = rng.choice((f"({name} - {c!r})", f"({c!r} - {name})"))
        hole = rng.choice(
            (
                f"0 * sqrt({away})",
                f"0 * log({away})",
                f"({away} / {away} - 1)",
                f"(0 * {away}) / (0 * {away})",
                f"(1 / (0 * {away}) + 1 / (0 * {away}))",
                f"(1 / maximum({away}, 0) - 1 / maximum({away}, 0))",
                f"(0 * (1 / maximum({away}, 0)))",
                f"where({away} < 0, nan, 0)",
                f"divide(0, {away}, at_zero=nan)",
                f"floor(log(-1 - absolute({name})))",
                f"power(-2 - 0 * {away}, 0.5)",
                "nan",
            )
        )
        if rng.random() < 0.3:
            return f"{rng.choice(('minimum', 'maximum'))}({formula}, {hole})"
        if rng.random() < 0.3:
            return f"{rng.choice(('minimum', 'maximum'))}({hole}, {formula})"
        if rng.random() < 0.3:
            return f"where({hole} {rng.choice(('<', '<=', '>=', '>'))} {c!r}, {formula}, {name})"
        return rng.choice((f"({formula} + {hole})", f"({hole} + {formula})"))


class _Formulas:
    """Formulas in some names, of many shapes."""

    def __init__(self, rng: random.Random, names: list[str], holes: Holes) -> None:
        self.rng, self.names, self.holes = rng, names, holes

    def leaf(self) -> str:
        if self.rng.random() < 0.22:
            return f"({self.rng.choice(CONSTANTS)!r})"
        return self.name()

    def name(self) -> str:
        return self.rng.choice(self.names)

    def condition(self, depth: int) -> str:
        rng = self.rng
        kind = rng.random()
        if depth > 0 and kind < 0.25:
            join = rng.choice(["both", "either"])
            return f"{join}({self.condition(depth - 1)}, {self.condition(depth - 1)})"
        if depth > 0 and kind < 0.33:
            return f"negate({self.condition(depth - 1)})"
        one, other = self.some(depth - 1), self.leaf()
        if depth > 0:
            one = self.holes.make_study(one, self.names[0])
        if kind < 0.45:
            return rng.choice([f"equal(floor({one}), {other})", f"equal({one}, {other})"])
        if kind < 0.5:
            return f"equal(minimum({one}, {self.name()}), {self.name()})"
        return f"({one} {rng.choice(['<', '<=', '>', '>='])} {other})"

    def some(self, depth: int) -> str:
        rng = self.rng
        if depth <= 0:
            return self.leaf()
        x, y = self.some(depth - 1), self.some(rng.randint(0, depth - 1))
        if rng.random() < 0.5:
            x, y = y, x
        if x.startswith("((") or (x[0] == "(" and y[0] == "("):
            x = self.name()  # not of constants alone
        n, c = self.name(), rng.choice(CONSTANTS)
        large = rng.choice([9, 13])
        shapes = (
            (6, f"({x} + {y})"),
            (6, f"({x} - {y})"),
            (7, f"({x} * {y})"),
            (2, f"({n} / {y})"),
            (2, f"divide({n}, {y}, at_zero={rng.choice(['0', '1', 'inf', '-3', 'nan', n])})"),
            (5, f"minimum({x}, {y})"),
            (5, f"maximum({x}, {y})"),
            (1, f"maximum({c!r}, {x}, {y})"),
            (3, f"where({self.condition(depth - 1)}, {x}, {y})"),
            (2, f"absolute({x})"),
            (1.5, f"floor({x})"),
            (1.5, f"ceil({x} * 0.5)"),
            (1, f"sqrt({rng.choice(['', 'absolute'])}({n}))"),
            (1, f"log({rng.choice(['', 'absolute', '1 + absolute'])}({n}))"),
            (0.5, f"{rng.choice(['log2', 'log10'])}(2 + absolute({x}))"),
            (1, f"exp(({n}) * {rng.choice(['0.1', '-0.1', '1'])})"),
            (1, f"power({n}, {rng.choice(['2', '3', '-1', '-2', '0.5', '1.5', '-0.5'])})"),
            (0.5, f"power(absolute({n}), {y})"),
            (1.5, f"({n} + maximum({y} - {n}, 0))"),
            (1, f"minimum({x}, {n}) * maximum({n}, {y})"),
            (1, f"({n} * {self.name()} + {self.name()} * {self.name()})"),
            (0.7, f"({n} * 1e{large} + {y} - {n} * 1e{large})"),
            (0.7, f"(log(absolute({n}) + 1) + log(absolute({y}) + 2))"),
        )
        weights = [weight for weight, _ in shapes]
        return self.holes.make_study(rng.choices([text for _, text in shapes], weights)[0], n)


def _values(rng: random.Random, count: int) -> list[float]:
    """Values of an axis, all different: of one sign or both, in any order."""
    low = rng.choice([-count // 2, -rng.randint(0, count), 0, 1, -count, rng.randint(2, 50)])
    kind = rng.random()
    if kind < 0.45:
        values = [float(low + k) for k in range(count)]
    elif kind < 0.6:
        step = rng.choice([0.5, 0.1, 1 / 3, 7, 100])
        values = [(low + k) * step for k in range(count)]
    elif kind < 0.7:  # repeated magnitudes
        values = [0.0, *(s * v for v in range(1, count) for s in (1.0, -1.0))][:count]
    elif kind < 0.8:
        base = rng.choice([1.2, 2, 10])
        values = [float(base) ** (k - count // 3) for k in range(min(count, 60))]
    elif kind < 0.97:
        values = [round(rng.gauss(0, 1) * rng.choice([1, 10, 1000]), 3) for _ in range(count)]
    else:
        values = [rng.choice([-1, 1]) * 10.0 ** rng.uniform(-300, 300) for _ in range(count)]
        values.append(0.0)
    values = list(dict.fromkeys(values))
    order = rng.random()
    if order < 0.6:
        values.sort()
    elif order < 0.8:
        values.sort(reverse=True)
    else:
        rng.shuffle(values)
    return values


def draw_study(seed: int) -> Drawn:
    """A study and a question; limits are asked as ``{0}``, which the check fills in by values."""
    rng = random.Random(seed)
    count = rng.choices([1, 2, 3, 4], [4, 6, 4, 2])[0]
    own = list(AXES[:count])
    most = 2 ** rng.uniform(3, rng.choice([9, 11, 12]))
    axes: dict[str, Any] = {}
    sizes: dict[str, int] = {}
    for name in own:
        size = (
            1 if rng.random() < 0.05 else max(2, int(rng.uniform(0.5, 1.6) * most ** (1 / count)))
        )
        axes[name] = _values(rng, size)
        sizes[name] = len(axes[name])
    names, given, tables, labels = list(own), {}, {}, {}
    if rng.random() < 0.4:
        given["k"] = rng.choice([-2.0, 0.0, 0.5, 1.0, 3.0, 7.25])
        names.append("k")
    if rng.random() < 0.15:
        some = tuple(n for n in own if rng.random() < 0.6) or (own[0],)
        shape = [sizes[n] for n in some]
        table = np.round(np.random.default_rng(seed).normal(size=shape) * 5, 2)
        hit = np.random.default_rng(seed + 1).random(shape)
        table[hit > 1 - rng.choice([0, 0, 0.05])] = rng.choice([math.inf, -math.inf])
        tables["t"] = some, table.tolist()
        names.append("t")
    if count > 1 and not tables and rng.random() < 0.12:
        first, second = rng.sample(own, 2)
        size = min(sizes[first], sizes[second])
        pair = {first: axes.pop(first)[:size], second: axes.pop(second)[:size]}
        axes["pair"] = {"zip": pair}
    equations: dict[str, tuple[tuple[str, ...], str]] = {}
    holes = Holes(seed)

    def add(name: str, formula: str, known: list[str]) -> None:
        needs = tuple(n for n in known if n in _words(formula))
        equations[name] = needs, formula

    if rng.random() < 0.12:
        words = rng.sample(["x", "yy", "zzzz", "w" * 7], rng.randint(2, 3))
        axes["kind"] = words
        equations["letters"] = ("kind",), f"len(kind) {rng.choice(['- 3', '* 2', '- 10'])}"
        names.append("letters")
    depth = rng.choice([1, 2, 2, 3, 3, 4])
    if rng.random() < 0.2:
        for label in ("one", "two"):
            add(f"s@{label}", _Formulas(rng, names, holes).some(min(depth, 2)), names)
        names.append("s")
        if rng.random() < 0.7:
            axes["mode"] = rng.sample(["one", "two"], 2)
        else:
            given["mode"] = rng.choice(["one", "two"])
    made_of: list[str] = []
    for number in range(rng.randint(1, 4)):
        part = names + made_of + made_of
        add(f"e{number}", _Formulas(rng, part, holes).some(depth), names + made_of)
        made_of.append(f"e{number}")
    order = list(axes)
    rng.shuffle(order)
    question, ask = _question(rng, order, made_of, names)
    return Drawn(
        equations=equations,
        axes={name: axes[name] for name in order},
        set=given,
        question=question,
        ask=ask,
        labels=labels,
        tables=tables,
    )


def _words(formula: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in formula).split())


def _question(
    rng: random.Random, axes: list[str], made_of: list[str], names: list[str]
) -> tuple[dict[str, Any], str]:
    def goal() -> str:
        e, other = rng.choice(made_of), rng.choice(made_of + [n for n in names if n != "letters"])
        formulas = [e, e, e, made_of[-1], f"{e} * {other}", f"{e} - 2 * {other}", f"floor({e})"]
        return rng.choice([*formulas, f"maximum(3.5, {e})", f"minimum({e}, {other}) * {other}"])

    kinds = {
        "optimum": 34, "gap": 14, "top": 10, "per": 8, "order": 9, "within": 9, "late": 3,
        "front": 7, "meets": 6, "ranges": 4, "count": 1, "borders": 10,
    }  # fmt: skip
    ask = rng.choices(list(kinds), list(kinds.values()))[0]
    sense = rng.choice(["minimize", "maximize"])
    question: dict[str, Any] = {}
    if ask in ("order", "front"):
        question[sense] = list(dict.fromkeys(goal() for _ in range(rng.choice([2, 2, 3]))))
        if len(question[sense]) == 1:
            ask = "optimum"
            question[sense] = question[sense][0]
    elif ask not in ("meets", "count", "borders"):
        question[sense] = goal()
    if ask == "gap" or (ask == "order" and rng.random() < 0.4):
        question["gap"] = rng.choice([0.0, 1e-6, 0.01, 0.05, 0.2, 0.5, 1.0, 3.0])
    if ask == "top":
        question["top"] = rng.randint(2, 7)
    if ask == "per":
        question["per"] = rng.sample(axes, rng.choice([1, 1, min(2, len(axes))]))
        if rng.random() < 0.4:
            question["gap"] = rng.choice([0.05, 0.3])
    if ask == "within":
        question["within"] = rng.choice([0, 0.01, 0.1, 0.5, 2])
    if ask == "late":
        question["time_limit"] = 0
    if rng.random() < 0.6 or ask in ("meets", "count", "borders"):
        compared = [*made_of, *made_of, *(n for n in names if n not in ("letters", "k"))]
        limits = []
        for _ in range(rng.choice([1, 1, 2, 3])):
            relation = rng.choice(["<=", "<=", ">=", ">=", "<", ">", "=="])
            limits.append((rng.choice(compared), relation, rng.random()))
        question["where"] = limits
        if ask == "borders":
            question["quantity"] = limits.pop()
    return question, ask
