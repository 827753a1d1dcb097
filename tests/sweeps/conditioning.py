"""Random studies of switches, statistics, conditions and rules beside brute force.

    python -m tests.sweeps.conditioning 3000 1

asks 3,000 studies, the seeds from 1 on, for optima and fronts: of the grid by a scan (in NumPy or
by nests) and with a proof, of a store (whose study must answer alike), of the values of a store
whose model is not at hand, and of a Dataset in memory. Quantities depend on other axes
under each label of a switch; thresholds of conditions are values that are there, or the next float;
values reach 1e±300, infinity and NaN. A third number is that of the processes. What differs is
printed with its seed; the status is 1 then.
"""

from __future__ import annotations

import collections
import itertools
import json
import math
import multiprocessing
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse
import sweeps.nest.tiles
import symbolic.ops
from symbolic.errors import DseError, InfeasibleError
from tests.oracles.statistics import summary
from tests.sweeps.attacking import small_steps
from tests.sweeps.combining import Brute, Wrong, _check, _objective_rows, _places
from tests.sweeps.without_model import without_model

SOURCES = ("scan", "nests", "certified", "store", "values", "Dataset")
NAMES = {name: getattr(symbolic.ops, name) for name in symbolic.ops.__all__}
SWITCHES = {"pick": ("alpha", "beta", "gamma"), "wing": ("left", "right")}
NUMBERS = ("bb", "cc", "ee", "dd")
#: Statistics that choose a value, whose bits therefore do not depend on the order of a sum.
CHOOSING = ("worst_high", "worst_low", "best_high", "best_low", "quantile")
KINDS = (*CHOOSING, "mean", "mean", "chance", "chance", "std", "geomean", "cvar_high")
HEAD = """import dse
from symbolic.ops import (absolute, both, ceil, divide, either, equal, exp, floor, log, log2, log10,
    maximum, minimum, negate, power, sqrt, where)
"""


@dataclass(frozen=True)
class Statistic:
    """A statistic as it is asked."""

    kind: str
    formula: str
    axes: tuple[str, ...]
    level: str = ""

    @property
    def text(self) -> str:
        parts = [self.formula, *([self.level] if self.level else []), *self.axes]
        return f"{self.kind}({', '.join(p for p in parts if p != 'draw')})"


@dataclass(frozen=True)
class Formula:
    """A formula of quantities and statistics, which stand as ``{0}``, ``{1}``."""

    form: str
    parts: tuple[Statistic, ...] = ()

    @property
    def text(self) -> str:
        return self.form.format(*(part.text for part in self.parts))


class World:
    """A study and every quantity at every point, draws included."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.rng = rng = random.Random(seed)
        self.whole = rng.random() < 0.6  # whole numbers, of which every sum is exact
        self.switches = ["pick", *(["wing"] if rng.random() < 0.3 else [])]
        self.values: dict[str, list[Any]] = {}
        for name in rng.sample(NUMBERS, rng.choice([2, 3, 3, 4])):
            self.values[name] = self._values(rng.choice([1, 2, 2, 3, 4]))
        for name in self.switches:
            if rng.random() < 0.85:
                count = rng.randint(1, len(SWITCHES[name]))
                self.values[name] = rng.sample(SWITCHES[name], count)
        order = list(self.values)
        rng.shuffle(order)
        self.values = {name: self.values[name] for name in order}
        self.numbers = [name for name in self.values if name in NUMBERS]
        self.random = rng.random() < 0.25
        self.weights: dict[str, list[float]] = {}
        if rng.random() < 0.15:
            name = rng.choice(self.numbers)
            self.weights[name] = [rng.choice([0.0, 1.0, 2.0, 5.5]) for _ in self.values[name]]
            self.weights[name][0] += 1.0
        self.equations: dict[str, tuple[str, ...]] = {}
        self.formulas: dict[tuple[str, str], str] = {}
        for name, switch in (("cost", "pick"), ("side", rng.choice(self.switches)), ("plain", "")):
            self.equations[name] = SWITCHES[switch] if switch else ("",)
            for label in self.equations[name]:
                used = [n for n in self._names() if rng.random() < 0.5] or [self.numbers[0]]
                self.formulas[name, label] = self._formula(used)
        self.rules, self.where = [], []
        self.folder, self.seed = folder, seed
        study = self._study([], [])
        axes = study.grid(draws=True).axes
        self.axes = list(axes)
        self.sizes = tuple(axis.size for axis in axes.values())
        self.index = np.indices(self.sizes)
        self.known: dict[str, Any] = {}
        self.shares = {name: axis.weights for name, axis in axes.items()}
        for place, name in enumerate(self.axes):
            at = self.index[place]
            if name == "draw":
                self.known["rr"] = axes[name].columns["rr"][at]
            elif name in SWITCHES:
                self.known[name] = np.array(self.values[name])[at]
            else:
                self.known[name] = np.array(self.values[name], dtype=float)[at]
        for name in SWITCHES:
            self.known.setdefault(name, np.full(self.sizes, SWITCHES[name][0]))
        self.settled = dict(self.known)
        for name, labels in self.equations.items():
            self.known[name] = np.full(self.sizes, np.nan)
            for label in labels:
                here = self._value_under(name, label)
                result = self.value_of(self.formulas[name, label])
                self.known[name] = np.where(here, result, self.known[name])
        count = rng.choice([0, 0, 1, 1, 2])
        self.rules = [self.condition(False, rule=True).text for _ in range(count)]
        self.where = [self.condition(rng.random() < 0.2) for _ in range(rng.choice([0, 1, 1]))]

    def _names(self) -> list[str]:
        return [*self.numbers, *(["rr"] if self.random else [])]

    def _values(self, count: int) -> list[float]:
        rng = self.rng
        if self.whole:
            low = rng.choice([-3, 0, 1, 10])
            return [float(v) for v in rng.sample(range(low, low + 9), count)]
        wild = [0.0, -1.0, 0.1, 1 / 3, 2.5, 7.0, 1e-300, 1e300, -1e300, 1e20, 5e-324, 40.0, 2.0**53]
        some = [rng.choice([*wild, rng.gauss(0, 3), rng.uniform(0, 50)]) for _ in range(count * 2)]
        return list(dict.fromkeys(some))[:count]

    def _formula(self, used: list[str]) -> str:
        rng = self.rng
        x, y = rng.choice(used), rng.choice(used)
        rest = "".join(f" + {name}" for name in used if name not in (x, y))
        plain = [f"{x} + {y}", f"{x} * {y}", f"{x} - 2 * {y}", f"minimum({x}, {y})", x]
        plain += [f"where({x} < {y}, {x}, 3)", f"maximum({x}, 2) - {y}", f"floor({x} / 2) + {y}"]
        wild = [f"exp({x}) + {y}", f"log({x}) - {y}", f"power(absolute({x}), {y})", f"sqrt({x})"]
        wild += [f"log({x}) * 1e307", f"exp({x} * 20)", f"log10(absolute({x})) * {y}"]
        wild += [f"divide({x}, {y}, at_zero=inf)", f"log2({x} + 1) + {y}", f"power({x}, 2.0)"]
        result = rng.choice(plain if self.whole else [*plain, *wild, *wild])
        return result.replace("inf", "1e400") + rest

    def _value_under(self, name: str, label: str) -> Any:
        if not label:
            return True
        switch = next(s for s, labels in SWITCHES.items() if label in labels)
        return self.known[switch] == label

    def value_of(self, text: str, more: dict[str, Any] | None = None) -> Any:
        """A formula at every point."""
        with np.errstate(all="ignore"):
            result = eval(text, {**NAMES, "__builtins__": {}}, {**self.known, **(more or {})})
        return np.broadcast_to(result, self.sizes)

    def text(self) -> str:
        lines = [HEAD]
        lines += [f'{n} = dse.quantity("{n}", domain="[-inf, inf]")' for n in (*NUMBERS, "rr")]
        lines += [
            f'{name} = dse.quantity("{name}", labels={labels!r}, default="{labels[0]}")'
            for name, labels in SWITCHES.items()
        ]
        for (name, label), formula in self.formulas.items():
            needs = [n for n in (*NUMBERS, "rr") if n in formula]
            given = ""
            if label:
                switch = next(s for s, labels in SWITCHES.items() if label in labels)
                given = f', name="{name}", when={{"{switch}": "{label}"}}'
            lines += [f'@dse.equation(source="here"{given})']
            lines += [f"def {name}{'_' + label if label else ''}({', '.join(needs)}):"]
            lines += [f"    return {formula}"]
        return "\n".join([*lines, f"RULES = {tuple(self.rules)!r}"]) + "\n"

    def _study(self, where: Sequence[str], outputs: Sequence[str]) -> dse.Study:
        path = self.folder / f"model_{self.seed}_{next(_NUMBERS)}.py"
        path.write_text(self.text())
        axes: dict[str, Any] = {
            name: {"values": values, "weights": self.weights[name]}
            if name in self.weights
            else values
            for name, values in self.values.items()
        }
        laws = {"rr": "discrete: 1: 1, 2: 1, 6: 2"} if self.random else {}
        return dse.Study(
            model=path.name,
            axes=axes,
            random=laws,
            where=list(where),
            outputs=[*(["cost", "side", "plain"] if not self.random else ["mean(cost)"]), *outputs],
            folder=self.folder,
        )

    # --- what is asked
    def statistic(self, formula: str = "") -> Statistic:
        rng = self.rng
        kind = rng.choice(KINDS)
        formula = formula or rng.choice(["cost", "side", "plain", "cost + side"])
        axes = rng.sample(self.numbers, rng.choice([1, 1, min(2, len(self.numbers))]))
        if self.random:
            axes = ["draw"] if rng.random() < 0.7 else ["draw", *axes]
        if kind == "chance":
            formula = f"{formula} {rng.choice(['<=', '>'])} {self.threshold(formula)}"
        level = rng.choice(["0.25", "0.5", "0.9"]) if kind in ("quantile", "cvar_high") else ""
        named = tuple(axes)
        return Statistic(kind, formula, named, level)

    def threshold(self, text: str) -> str:
        """A value that is there, or the next float."""
        values = np.unique(self.value_of(text))
        values = values[np.isfinite(values)]
        if not values.size:
            return "1.0"
        value = float(self.rng.choice(values.tolist()))
        turn = self.rng.choice([0, 0, 1, -1])
        value = math.nextafter(value, turn * math.inf) if turn and not self.whole else value
        return repr(value) if math.isfinite(value) else "1.0"

    def condition(self, folded: bool, rule: bool = False) -> Formula:
        rng = self.rng
        sign = rng.choice(["<=", ">=", "<", ">"])
        if folded:
            part = self.statistic()
            value = rng.choice(["0.5", "2", "3.5"]) if part.kind != "chance" else "0.5"
            return Formula(f"{{0}} {sign} {value}", (part,))
        name = rng.choice([*self.numbers, "cost", "cost", "side", "side", "plain"])
        name = rng.choice(self.numbers) if self.random and not rule else name
        if rng.random() < 0.15 and not self.random:
            return Formula(f"{name} {sign} plain")
        text = f"{name} {sign} {self.threshold(name)}"
        if self.value_of(text).mean() < 0.4 and rng.random() < 0.8:  # that something is left
            text = text.replace(sign, {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}[sign], 1)
        return Formula(text)

    def objective(self) -> Formula:
        rng = self.rng
        kind = rng.random()
        if kind < 0.25 and not self.random:
            return Formula(rng.choice(["cost", "side", "cost - plain", "exp(cost)", *self.numbers]))
        if kind < 0.8:
            return Formula("{0}", (self.statistic(),))
        if kind < 0.9:
            return Formula("{0} + {1}", (self.statistic(), self.statistic()))
        return Formula(f"{{0}} - {rng.choice(self.numbers)}", (self.statistic(),))

    def question(self) -> tuple[str, dict[str, Any]]:
        rng, options = self.rng, dict[str, Any]()
        verb = rng.choice(["optimum", "optimum", "optimum", "pareto"])
        count = rng.choice([1, 1, 1, 2]) if verb == "optimum" else 2
        goals = {goal.text: goal for goal in (self.objective() for _ in range(count))}
        options["goals"] = list(goals.values())
        options["sense"] = rng.choice(["minimize", "maximize"])
        count = rng.choice([0, 1, 1, 2])
        options["where"] = [self.condition(rng.random() < 0.25) for _ in range(count)]
        parts = [p for c in options["where"] for p in c.parts]
        if parts and rng.random() < 0.5:  # what is asked stands in a condition, too
            options["goals"] = [Formula("{0}", (rng.choice(parts),))]
        if rng.random() < 0.3:
            options["per"] = [rng.choice(list(self.values))]
        if verb == "optimum":
            options["top"] = rng.choice([1, 1, 1, 2, 5])
            options["ties"] = rng.random() < 0.25
            if rng.random() < 0.25:
                options["within"] = rng.choice([0.0, 0.3, 2.0, 30.0, 1e300])
        return verb, options

    # --- what is true
    def depends(self, text: str, labels: dict[str, str]) -> set[str]:
        """The axes on which a formula depends under some labels of the switches."""
        result: set[str] = set()
        for name in ("cost", "side", "plain"):
            if name in text:
                label = next((one for one in self.equations[name] if one in labels.values()), "")
                result |= self.depends(self.formulas[name, label], labels)
        result |= {name for name in self.numbers if name in text}
        return result | ({"draw"} if "rr" in text else set())

    def cells(self) -> list[tuple[dict[str, str], Any]]:
        """The labels of the switches, each with the part of the arrays that lies under them."""
        own = [s for s in SWITCHES if s in self.axes]
        fixed = {s: labels[0] for s, labels in SWITCHES.items() if s not in own}
        result = []
        for places in itertools.product(*(range(len(self.values[s])) for s in own)):
            cut = [slice(None)] * len(self.axes)
            for s, place in zip(own, places, strict=True):
                cut[self.axes.index(s)] = slice(place, place + 1)
            labels = {s: self.values[s][p] for s, p in zip(own, places, strict=True)}
            result.append(({**fixed, **labels}, tuple(cut)))
        return result


class Truth:
    """Truth about a question whose statistics see some conditions."""

    def __init__(self, world: World, options: dict[str, Any], *, table: bool) -> None:
        self.world = world
        own = [Formula(text) for text in world.rules] + world.where
        self.where = [*own, *options["where"]]
        seen = own if table else self.where
        self.plain = [c for c in seen if not c.parts]
        masks = {}
        for c in self.where:
            masks[c.text] = self.value(c, [p for p in seen if not p.parts])
        self.masks = masks
        self.goals = [self.value(goal, seen) for goal in options["goals"]]
        self.texts = [goal.text for goal in options["goals"]]

    def value(self, formula: Formula, seen: Sequence[Formula]) -> Any:
        """A formula at every point, its statistics over the points where conditions hold."""
        world = self.world
        parts = {f"part{k}": self.statistic(p, seen) for k, p in enumerate(formula.parts)}
        return world.value_of(formula.form.format(*parts), parts)

    def lies(self, formula: Formula, labels: dict[str, str], seen: Sequence[Formula]) -> set[str]:
        """The axes on which a formula depends under some labels."""
        result = self.world.depends(formula.form, labels)
        for part in formula.parts:
            reach = self.reach(part, labels, seen)
            result |= reach - set(part.axes)
        return result

    def reach(self, part: Statistic, labels: dict[str, str], seen: Sequence[Formula]) -> set[str]:
        result = self.world.depends(part.formula, labels)
        return result.union(*(d for _, d in self.inside(part, labels, seen)))

    def inside(
        self, part: Statistic, labels: dict[str, str], seen: Sequence[Formula]
    ) -> list[tuple[Formula, set[str]]]:
        plain = [p for p in seen if not p.parts]
        each = [(c, self.lies(c, labels, plain)) for c in seen]
        return [(c, d) for c, d in each if d & set(part.axes)]

    def statistic(self, part: Statistic, seen: Sequence[Formula]) -> Any:
        world, plain = self.world, [p for p in seen if not p.parts]
        result = np.full(world.sizes, np.nan)
        whole = world.value_of(part.formula)
        for labels, cut in world.cells():
            holds = np.ones(world.sizes, dtype=bool)
            for c, _ in self.inside(part, labels, seen):
                holds = holds & self.value(c, plain)
            if part.kind == "chance":
                values = np.where(holds & whole, 1.0, 0.0)[cut]
            else:
                values = np.where(holds, whole, np.nan)[cut]
            reach = self.reach(part, labels, seen)
            along = [k for k, n in enumerate(world.axes) if n in set(part.axes) & reach]
            idle = [k for k, n in enumerate(world.axes) if n in set(part.axes) - reach]
            values = np.take(values, [0], axis=idle[0]) if idle else values
            for k in idle[1:]:
                values = np.take(values, [0], axis=k)
            result[cut] = self.reduce_axes(part, values, along)
        return result

    def reduce_axes(self, part: Statistic, values: Any, along: list[int]) -> Any:
        rest = [k for k in range(values.ndim) if k not in along]
        moved = values.transpose([*rest, *along])
        shape = moved.shape[: len(rest)]
        flat = moved.reshape(*shape, -1)
        shares = None
        if any(self.world.shares[self.world.axes[k]] is not None for k in along):
            shares = np.ones(1)
            for k in along:
                own = self.world.shares[self.world.axes[k]]
                own = np.full(values.shape[k], 1 / values.shape[k]) if own is None else own
                shares = np.multiply.outer(shares, own).reshape(-1)
        level = float(part.level) if part.level else None
        with np.errstate(all="ignore"):
            if shares is None and part.kind in ("mean", "chance"):
                done = flat.sum(axis=-1) / flat.shape[-1]
            else:
                done = self.summarize(part, flat, level, shares)
        back = done.reshape(*shape, *[1] * len(along))
        return back.transpose(np.argsort([*rest, *along]))

    def summarize(self, part: Statistic, flat: Any, level: Any, shares: Any) -> Any:
        return np.asarray(summary(part.kind, flat, level, shares))  # type: ignore[no-untyped-call]

    def feasible(self, gone: set[str]) -> Any:
        """Return where all conditions hold that depend on no axis in ``gone``."""
        result = np.ones(self.world.sizes, dtype=bool)
        for labels, cut in self.world.cells():
            for c in self.where:
                if not self.lies(c, labels, self.plain) & gone:
                    result[cut] &= self.masks[c.text][cut]
        return result


class Rest:
    """The truth over the axes of an answer, as `tests.sweeps.combining` looks at it."""

    def __init__(self, truth: Truth, axes: Sequence[str]) -> None:
        world = truth.world
        self.axes = [axis for axis in world.axes if axis in axes]
        gone = [k for k, axis in enumerate(world.axes) if axis not in axes]
        cut = tuple(slice(1) if k in gone else slice(None) for k in range(len(world.axes)))
        self.holds = truth.feasible({world.axes[k] for k in gone})[cut].reshape(-1)
        self.sizes = tuple(world.sizes[world.axes.index(axis)] for axis in self.axes)
        self.index = np.indices(self.sizes).reshape(len(self.sizes), math.prod(self.sizes))
        self.values = {}
        for text, goal in zip(truth.texts, truth.goals, strict=True):
            part = goal[cut]
            if not np.array_equal(np.broadcast_to(part, goal.shape), goal, equal_nan=True):
                raise Wrong(f"{text} lies along an axis that the answer leaves out")
            self.values[text] = part.reshape(-1).astype(float)

    def feasible_mask(self, question: Any) -> Any:
        return self.holds

    def evaluate(self, text: str) -> Any:
        return self.values[text]

    def objective(self, question: dict[str, Any]) -> list[NDArray[np.float64]]:
        sign = 1.0 if "minimize" in question else -1.0
        values = [sign * self.values[text] for text in self.values]
        return [np.where(np.isfinite(v) & self.holds, v, math.inf) for v in values]


def _loosely(study: dse.Study, answer: Any, brute: Brute) -> None:
    """Check that an answer is as good as brute force but for rounding, at a feasible place."""
    goals = brute.goals()
    flat = _places(answer, study, brute.truth)
    values = _objective_rows(answer, brute)[0]
    sign = 1.0 if "minimize" in brute.question else -1.0
    flat = np.where(np.isnan(values), -1, flat)
    if np.any(goals[0][flat[flat >= 0]] == math.inf):
        raise Wrong(f"{flat} is named and not allowed")
    if not np.allclose(sign * values[flat >= 0], goals[0][flat[flat >= 0]], rtol=1e-9, atol=1e-9):
        raise Wrong(f"{values} at {flat}, brute force has {sign * goals[0][flat]}")
    rows = flat.reshape(len(brute.cells), -1)
    for row, cell in zip(rows, brute.cells, strict=True):
        least = goals[0][cell].min()
        if least < math.inf and (row[0] < 0 or goals[0][row[0]] > least + 1e-9 * (1 + abs(least))):
            raise Wrong(f"{row} for a cell whose best is {least}")
        if least == math.inf and row[0] >= 0:
            raise Wrong(f"{row} for a cell that has none")


def check_study(seed: int, folder: Path, sources: Sequence[str] = SOURCES) -> tuple[str, str]:
    """Return how a study was answered, and what is wrong with it (empty: nothing)."""
    try:
        world = World(seed, folder)
        verb, options = world.question()
        source = random.Random(seed).choice(list(sources))
        recorded = source in ("values", "Dataset")
        if recorded and world.random:
            source, recorded = "scan", False
        texts = list(dict.fromkeys(p.text for g in options["goals"] for p in g.parts))
        texts += [p.text for c in options["where"] for p in c.parts]
        study = world._study(
            [c.text for c in world.where], list(dict.fromkeys(texts)) if recorded else []
        )
    except (DseError, ValueError) as error:
        return f"refused: {str(error)[:50]}", ""
    question: dict[str, Any] = {k: v for k, v in options.items() if k not in ("goals", "sense")}
    goals = [goal.text for goal in options["goals"]]
    question[options["sense"]] = goals if len(goals) > 1 else goals[0]
    question["where"] = [c.text for c in options["where"]]
    description = f"{source} {verb} {question}\n{world.text()}axes = {world.values}, "
    description += f"weights = {world.weights}, where = {[c.text for c in world.where]}"
    truth = Truth(world, options, table=recorded)
    exact = all(_exact(p, world) for g in options["goals"] for p in g.parts)
    exact &= all(_exact(p, world) for c in truth.where for p in c.parts)
    try:
        result = _ask(study, source, verb, dict(question), seed, folder)
    except InfeasibleError as error:
        if type(error) is not InfeasibleError:
            return "wrong", f"{description}\n{error!r}"
        return "nothing feasible", _wrong_nothing(
            truth, options, verb, question, description, exact
        )
    except DseError as error:
        return f"refused: {str(error)[:50]}", ""
    except Exception:
        return "wrong", f"{description}\n{traceback.format_exc()}"
    try:
        axes = [axis for axis in world.axes if axis in result.coords]
        if not axes:  # nothing is chosen
            return f"{verb}: {source}, no axis is left", ""
        brute = Brute(Rest(truth, axes), verb, question)  # type: ignore[arg-type]
        if verb == "pareto" and not exact:
            return f"{verb}: {source}, not compared", ""
        if exact:
            if getattr(brute, verb)() is None:
                raise Wrong(f"an answer, where nothing counts: {result}")
            _check(study, result, brute)
        elif len(goals) == 1:
            _loosely(study, result, brute)
    except Wrong as error:
        return "wrong", f"{description}\n{error}"
    return f"{verb}: {source}", ""


def _exact(part: Statistic, world: World) -> bool:
    weighted = any(axis in world.weights or axis == "draw" for axis in part.axes)
    return part.kind in CHOOSING or (
        part.kind in ("mean", "chance") and world.whole and not weighted
    )


def _wrong_nothing(
    truth: Truth, options: Any, verb: str, question: Any, description: str, exact: bool
) -> str:
    """Return what is wrong with the claim that nothing counts."""
    if not exact:
        return ""
    along = {axis for goal in options["goals"] for part in goal.parts for axis in part.axes}
    for left in (set(), along, along | {"draw"}):  # which axes are left out is not told
        try:
            rest = Rest(truth, [a for a in truth.world.axes if a not in left])
        except Wrong:
            continue
        brute = Brute(rest, verb, {**question, "per": []})  # type: ignore[arg-type]
        if getattr(brute, verb)() is None:
            return ""
    return f"{description}\nnothing is said to count, and something does"


_NUMBERS = itertools.count()


def _ask(
    study: dse.Study, source: str, verb: str, question: dict[str, Any], seed: int, folder: Path
) -> Any:
    if source in ("scan", "nests", "certified"):
        question["method"] = "certified" if source == "certified" else "scan"
        small = sweeps.nest.tiles.NUMPY_POINTS
        sweeps.nest.tiles.NUMPY_POINTS = 0 if source == "nests" else small
        try:
            if source == "certified":
                with small_steps(random.Random(seed)):
                    return getattr(study, verb)(**question)
            return getattr(study, verb)(**question)
        finally:
            sweeps.nest.tiles.NUMPY_POINTS = small
    if source in ("store", "values"):
        place = folder / f"store_{next(_NUMBERS)}.zarr"
        study.run(store=place)
        with without_model() if source == "values" else nullcontext():
            result = getattr(dse, verb)(place, **question)
        if source == "store":
            own = getattr(dse, verb)(study, **question)
            assert result.identical(own), f"the store answers {result}, its study {own}"
        return result
    return getattr(dse, verb)(study.run(), **question)


def _one(seed: int) -> tuple[int, str, str]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return seed, *check_study(seed, Path(folder))
        except Exception:
            return seed, "wrong", traceback.format_exc()


def main(count: int, first: int = 1, processes: int = 1) -> int:
    """Ask so many studies; the exit status."""
    began, kinds, wrong = time.monotonic(), collections.Counter[str](), 0
    seeds = range(first, first + count)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, max_tasks_per_child=400) as pool:
        for seed, kind, what in pool.map(_one, seeds, chunksize=10):
            kinds[kind] += 1
            if what:
                wrong += 1
                print(f"seed {seed}: {what}\n", flush=True)
    summary_row = {"studies": count, "wrong": wrong, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps({**summary_row, **dict(kinds.most_common(40))}, indent=1))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
