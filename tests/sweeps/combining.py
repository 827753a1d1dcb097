"""Every question of every source beside brute force, over random models and studies.

    python -m tests.sweeps.combining 3000 1

asks 3,000 studies, the seeds from 1 on, for optima (several objectives in order, ranks, ties,
shares, for each value of axes), fronts, counts, histograms and quantiles, of the grid by a scan (in
NumPy or by nests) and with a proof, of a store (whose study must answer alike), of the values of a
store whose model is not at hand, and of a Dataset in memory. A third number is that
of the processes. What differs is printed with its seed, as what reproduces it; the status is 1.

    python -m tests.sweeps.combining 2000 1 1 large

does the same with studies of 100,000 to a million points, a quarter of them with the best for each
of more than 10,000 cells.
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
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse
import sweeps.nest.run
import sweeps.nest.tiles
from dse.runs.identity import stored_study
from symbolic.errors import DseError, InfeasibleError
from tests.sweeps.attack_checks import Truth
from tests.sweeps.attack_large import drawn_large, question_large
from tests.sweeps.attack_models import Drawn, draw_study, make_study
from tests.sweeps.attacking import small_steps
from tests.sweeps.without_model import without_model

SOURCES = ("scan", "nests", "certified", "store", "values", "Dataset")
VERBS = ("optimum", "optimum", "optimum", "pareto", "count", "histogram", "quantiles")


class Wrong(AssertionError):  # noqa: N818 - what it says is what it is
    """An answer that brute force does not give."""


def draw_query(one: Drawn, seed: int) -> tuple[str, dict[str, Any]]:
    """A verb and its keywords, but for limits, which brute force fills in."""
    rng = random.Random(seed * 7 + 1)
    verb = rng.choice(VERBS)
    names = [n.split("@")[0] for n in one.equations if n != "letters"]
    formulas = [f"floor({n})" for n in names] + [f"minimum({n}, 1)" for n in names] + names
    question: dict[str, Any] = {}
    if rng.random() < 0.5 and "where" in one.question:
        question["where"] = one.question["where"]
    if rng.random() < 0.5:
        question["per"] = rng.sample(list(one.axes), rng.choice([1, 1, min(2, len(one.axes))]))
    if verb in ("histogram", "quantiles"):
        question["quantity"] = rng.choice(formulas)
        if verb == "histogram":
            question["bins"] = rng.choice([1, 3, 10, [-1.0, 0.0, 2.5, 100.0]])
        else:
            question["q"] = rng.choice([0.5, [0.0, 0.1, 0.75, 1.0]])
    if verb in ("optimum", "pareto"):
        count = rng.choice([1, 2, 2, 3]) if verb == "optimum" else rng.choice([2, 2, 3])
        goals = list(dict.fromkeys(rng.choice(formulas) for _ in range(count)))
        question[rng.choice(["minimize", "maximize"])] = goals if len(goals) > 1 else goals[0]
    if verb == "optimum":
        question["top"] = rng.choice([1, 1, 2, 3, 7])
        question["ties"] = rng.random() < 0.3
        if rng.random() < 0.3:
            question["within"] = rng.choice([0, 0.01, 0.3, 2])
    return verb, question


class Brute:
    """The true answer of a query, from every point."""

    def __init__(self, truth: Truth, verb: str, question: dict[str, Any]) -> None:
        self.truth, self.verb, self.question = truth, verb, question
        self.allowed = truth.feasible_mask(question)
        self.per = [axis for axis in truth.axes if axis in question.get("per", [])]
        rows = [truth.axes.index(axis) for axis in self.per]
        self.shape = tuple(truth.sizes[row] for row in rows)
        label = np.zeros(truth.index.shape[1], dtype=np.int64)
        for row in rows:
            label = label * truth.sizes[row] + truth.index[row]
        order = np.argsort(label, kind="stable")
        ends = np.searchsorted(label[order], np.arange(1, math.prod(self.shape)))
        self.cells = np.split(order, ends)

    def goals(self) -> list[NDArray[np.float64]]:
        return self.truth.objective(self.question)

    def optimum(self) -> list[list[int]] | None:
        """For each cell the flat places, best first; None where there are none at all."""
        question, goals = self.question, self.goals()
        top, within = question["top"], question.get("within")
        result = []
        for cell in self.cells:
            rows = [goal[cell] for goal in goals]
            if top > 1 and within is None:
                counts = np.all(np.isfinite(rows), axis=0)
                cell, rows = cell[counts], [row[counts] for row in rows]
            result.append(self._first(cell, rows, top, within))
        return result if any(result) else None

    def _first(
        self, cell: NDArray[np.int64], rows: list[NDArray[np.float64]], top: int, within: Any
    ) -> list[int]:
        if within is not None or top == 1:
            *before, last = rows
            while before:  # exactly as good in all but the last
                if not cell.size or not before[0].min() < math.inf:
                    return []
                keep = before[0] == before[0].min()
                cell, last = cell[keep], last[keep]
                before = [row[keep] for row in before[1:]]
            if not cell.size or not last.min() < math.inf:
                return []
            least = float(last.min())
            limit = least + within * abs(least) if within else least
            if math.isinf(limit):  # the product alone may be beyond all floats
                exact = Fraction(least) + Fraction(within) * abs(Fraction(least))
                limit = float(min(exact, Fraction(sys.float_info.max)))
            order = np.lexsort((cell, last))
            order = order[last[order] <= limit]
            if within is None and not self.question["ties"]:
                order = order[:1]
            if within is not None and top > 1:
                order = order[:top]
            return [int(p) for p in cell[order]]
        order = np.lexsort((cell, *rows[::-1]))
        chosen = order[:top]
        if self.question["ties"] and chosen.size:
            same = [k for k in order if all(row[k] == row[chosen[-1]] for row in rows)]
            chosen = np.array([*chosen, *(k for k in same if k not in set(chosen.tolist()))])
        return [int(p) for p in cell[chosen]]

    def pareto(self) -> list[int] | None:
        goals, result = np.stack(self.goals()), []
        for cell in self.cells:
            part = goals[:, cell]
            part, where = (
                part[:, np.all(np.isfinite(part), axis=0)],
                cell[np.all(np.isfinite(part), axis=0)],
            )
            order = np.lexsort((np.arange(part.shape[1]), *part[::-1]))
            part, where = part[:, order], where[order]
            if len(part) == 2 and where.size:  # better in the second than all before it
                least = np.minimum.accumulate(part[1])
                result += sorted(where[np.append(True, part[1, 1:] < least[:-1])].tolist())
                continue
            member: list[int] = []
            while where.size:  # the first is beaten by none; what it beats or equals goes
                member.append(int(where[0]))
                left = np.any(part < part[:, :1], axis=0)
                part, where = part[:, left], where[left]
            result += sorted(member)
        return result or None

    def count(self) -> NDArray[np.int64]:
        return np.array([int(self.allowed[cell].sum()) for cell in self.cells])

    def values(self, cell: NDArray[np.int64]) -> NDArray[np.float64]:
        result = self.truth.evaluate(self.question["quantity"]).astype(float)
        return result[cell][self.allowed[cell]]


def _places(answer: Any, study: dse.Study, truth: Truth) -> NDArray[np.int64]:
    """The flat place of each configuration of an answer, -1 where there is none."""
    flat, none = None, None
    for axis, size in zip(truth.axes, truth.sizes, strict=True):
        values = np.asarray(study.grid().axes[axis].coordinate)
        actual = answer[axis].values
        order = {v: k for k, v in enumerate(values.tolist())}
        index = np.array([order.get(v, -1) for v in np.asarray(actual).reshape(-1).tolist()])
        index = index.reshape(np.shape(actual))
        dims = answer[axis].dims
        whole, shape = list(answer.sizes), list(answer.sizes.values())
        index = np.broadcast_to(
            index.reshape([answer.sizes[d] if d in dims else 1 for d in whole]), shape
        )
        flat = index if flat is None else flat * size + index
        none = (index < 0) if none is None else none | (index < 0)
    assert flat is not None
    assert none is not None
    return np.where(none, -1, flat)


def _check(study: dse.Study, answer: Any, brute: Brute) -> None:
    question, verb = brute.question, brute.verb
    if verb == "optimum":
        true = brute.optimum()
        assert true is not None
        flat = _places(answer, study, brute.truth)
        flat = np.where(np.isnan(_objective_rows(answer, brute)[-1]), -1, flat)
        kind = [d for d in answer.sizes if d in ("rank", "tie")]
        rows = flat.reshape(len(brute.cells), -1)
        if list(answer.sizes) != [*brute.per, *kind]:
            raise Wrong(f"dimensions {dict(answer.sizes)}")
        for number, (actual, expected) in enumerate(zip(rows.tolist(), true, strict=True)):
            if [k for k in actual if k >= 0] != expected:
                raise Wrong(f"cell {number}: {actual}, brute force has {expected}")
        _objectives(answer, brute, flat)
    elif verb == "pareto":
        flat = _places(answer, study, brute.truth)
        if flat.tolist() != brute.pareto():
            raise Wrong(f"front {flat.tolist()}, brute force has {brute.pareto()}")
    elif verb == "count":
        if answer.feasible_points.values.reshape(-1).tolist() != brute.count().tolist():
            raise Wrong(f"count {answer.feasible_points.values}, brute force has {brute.count()}")
    elif verb == "histogram":
        edges = np.append(answer.low.values, answer.high.values[-1])
        bins = answer.configurations.values.reshape(len(brute.cells), -1)
        for actual, cell in zip(bins, brute.cells, strict=True):
            values = brute.values(cell)
            values = values[(values >= edges[0]) & (values <= edges[-1])]
            place = np.minimum(np.searchsorted(edges, values, "right") - 1, len(edges) - 2)
            expected = np.bincount(place, minlength=len(edges) - 1)
            if actual.tolist() != expected.tolist():
                raise Wrong(f"bins {actual}, brute force has {expected}")
    else:
        name = next(iter(answer.data_vars))
        shares = np.atleast_1d(question["q"])
        actual = answer[name].values.reshape(len(brute.cells), -1)
        for row, cell in zip(actual, brute.cells, strict=True):
            values = np.sort(brute.values(cell)[~np.isnan(brute.values(cell))])
            expected = [
                values[max(math.ceil(round(share * values.size, 9)), 1) - 1]
                if values.size
                else np.nan
                for share in shares
            ]
            if not np.array_equal(row, expected, equal_nan=True):
                raise Wrong(f"quantiles {row}, brute force has {expected}")


def _texts(brute: Brute) -> list[str]:
    given = brute.question["minimize" if "minimize" in brute.question else "maximize"]
    return given if isinstance(given, list) else [given]


def _objective_rows(answer: Any, brute: Brute) -> list[NDArray[np.float64]]:
    """Return the values of every objective in an answer."""
    texts, actual = _texts(brute), []
    for number, text in enumerate(texts):
        formula = "objective" if len(texts) == 1 else f"objective_{number + 1}"
        array = answer[text if text in answer.variables else formula]
        shape = [answer.sizes[d] if d in array.dims else 1 for d in answer.sizes]
        actual.append(np.broadcast_to(array.values.reshape(shape), list(answer.sizes.values())))
    return actual


def _objectives(answer: Any, brute: Brute, flat: NDArray[np.int64]) -> None:
    """Every objective of the answer is that of its place."""
    for text, actual in zip(_texts(brute), _objective_rows(answer, brute), strict=True):
        true = brute.truth.evaluate(text).astype(float)[np.maximum(flat, 0)]
        if not np.array_equal(actual[flat >= 0], true[flat >= 0], equal_nan=True):
            raise Wrong(f"{text} is {actual}, brute force has {true}")


def combine(
    one: Drawn, seed: int, folder: Path, sources: tuple[str, ...] = SOURCES
) -> tuple[str, str]:
    """Return how a study was answered, and what is wrong with the answer (empty: nothing)."""
    verb, question = draw_query(one, seed)
    chosen = sources if seed % 4 == 0 else (random.Random(seed).choice(sources),)
    return check_answer(one, seed, folder, chosen, verb, question)


def check_answer(
    one: Drawn,
    seed: int,
    folder: Path,
    chosen: tuple[str, ...],
    verb: str,
    question: dict[str, Any],
) -> tuple[str, str]:
    """Return how some sources answered a query, and what is wrong with that (empty: nothing)."""
    try:
        study = make_study(one, folder / f"model_{seed}_{next(_NUMBERS)}.py")
    except (DseError, ValueError) as error:
        return f"refused: {str(error)[:50]}", ""
    truth = Truth(one)
    if "where" in question and one.ask != "large":
        question["where"] = [truth._limit(*limit) for limit in question["where"]]
    brute, rng = Brute(truth, verb, question), random.Random(seed)
    kind = ""
    for source in chosen:
        try:
            result = _ask(study, source, verb, dict(question), rng, folder)
        except InfeasibleError as error:
            some = getattr(brute, verb)() if verb in ("optimum", "pareto") else None
            if type(error) is not InfeasibleError or some is not None:
                return "wrong", f"{source} {verb} {question}: feasible, yet: {error!r}"
            if verb == "count" and source not in ("scan", "nests"):
                return "wrong", f"{source} {verb} {question}: {error!r}"
            kind = kind or "nothing feasible"
            continue
        except DseError as error:
            kind = kind or f"refused: {str(error)[:50]}"
            continue
        except Wrong as error:
            return "wrong", f"{source} {verb} {question}: {error}"
        except Exception:
            return "wrong", f"{source} {verb} {question}: {traceback.format_exc()}"
        try:
            if verb in ("optimum", "pareto") and getattr(brute, verb)() is None:
                raise Wrong(f"an answer, where nothing counts: {result}")
            _check(study, result, brute)
        except Wrong as error:
            near = None if source in ("scan", "certified") else _as_run(study, truth)
            try:
                if near is None:
                    raise error
                _check(study, result, Brute(near, verb, question))
            except Wrong:
                return "wrong", f"{source} {verb} {question}: {error}"
        kind = f"{verb}: {source}"
    return kind, ""


_NUMBERS = itertools.count()


def _as_run(study: dse.Study, truth: Truth) -> Truth | None:
    """The same with the values of nests, whose logarithms and powers may round otherwise."""
    formulas = " ".join(formula for _, formula in truth.one.equations.values())
    if not any(word in formulas for word in ("exp(", "log", "power(")):
        return None
    near, run = Truth(truth.one), study.run()
    for name in set(run.data_vars) & set(near.known):
        array = run[name].transpose(*[axis for axis in truth.axes if axis in run[name].dims])
        shape = [run.sizes[axis] if axis in array.dims else 1 for axis in truth.axes]
        values = np.broadcast_to(array.values.reshape(shape), truth.sizes).reshape(-1)
        if not np.allclose(values, near.known[name], rtol=1e-9, atol=0.0, equal_nan=True):
            return None
        near.known[name] = values.astype(float)
    return near


def _ask(
    study: dse.Study, source: str, verb: str, question: dict[str, Any], rng: Any, folder: Path
) -> Any:
    given = [question.pop(key) for key in ("quantity",) if key in question]
    if source in ("scan", "nests", "certified"):
        if verb in ("optimum", "pareto"):
            question["method"] = "certified" if source == "certified" else "scan"
        threshold = sweeps.nest.tiles.NUMPY_POINTS
        sweeps.nest.tiles.NUMPY_POINTS = 0 if source == "nests" else threshold
        try:
            if source == "certified":
                with small_steps(rng) if study.grid().points < 10_000 else nullcontext():
                    return getattr(study, verb)(*given, **question)
            return getattr(study, verb)(*given, **question)
        finally:
            sweeps.nest.tiles.NUMPY_POINTS = threshold
    if source in ("store", "values"):
        place = folder / f"store_{next(_NUMBERS)}.zarr"
        study.run(store=place)
        with without_model() if source == "values" else nullcontext():
            result = getattr(dse, verb)(place, *given, **question)
        if source == "store":
            own = getattr(dse, verb)(study, *given, **question)
            if stored_study(place) is None:  # the values answer, and no tile is skipped
                own.attrs = {k: v for k, v in own.attrs.items() if not k.endswith("_skipped")}
            if not result.identical(own):
                raise Wrong(f"the store answers {result}, its study {own}")
        return result
    return getattr(dse, verb)(study.run(), *given, **question)


def _one(seed: int, large: bool = False) -> tuple[int, str, str]:
    one = drawn_large(seed) if large else draw_study(seed)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if not large:
                return seed, *combine(one, seed, Path(folder))
            source, verb, question = question_large(one, seed)
            cells = " for each of many cells" if one.question["cells"] else ""
            how, wrong = check_answer(one, seed, Path(folder), (source,), verb, question)
            return seed, how + cells, wrong and f"{wrong}\naxes {_ends(one)}"
        except Exception:
            return seed, "wrong", traceback.format_exc()


def _ends(one: Drawn) -> dict[str, tuple[int, float, float]]:
    """Return the length of each axis, and its first and last value."""
    return {name: (len(v), v[0], v[-1]) for name, v in one.axes.items()}


def main(count: int, first: int = 1, processes: int = 1, *, large: bool = False) -> int:
    """Ask so many studies; the exit status."""
    began, kinds = time.monotonic(), collections.Counter[str]()
    seeds = range(first, first + count)
    context = multiprocessing.get_context("spawn")
    wrong = done = 0
    with ProcessPoolExecutor(processes, mp_context=context, max_tasks_per_child=400) as pool:
        for seed, kind, what in pool.map(_one, seeds, itertools.repeat(large), chunksize=10):
            kinds[kind] += 1
            done += 1
            if what:
                wrong += 1
                print(f"seed {seed}: {what}", flush=True)
            if done % 100 == 0:
                print(f"{done} studies, {wrong} wrong", file=sys.stderr, flush=True)
    actual = {"studies": count, "wrong": wrong, "seconds": round(time.monotonic() - began, 1)}
    print(json.dumps({**actual, **dict(kinds.most_common(60))}, indent=1))
    return int(wrong > 0)


if __name__ == "__main__":
    numbers = [int(given) for given in sys.argv[1:] if given != "large"]
    sys.exit(main(*numbers, large="large" in sys.argv))
