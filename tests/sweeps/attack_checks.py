"""Compare proofs of random studies with brute force by Python's ``eval``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dse
import symbolic.ops
from tests.sweeps.attack_models import Drawn

Floats = NDArray[np.float64]
NAMES = {name: getattr(symbolic.ops, name) for name in symbolic.ops.__all__}
NAMES |= {"inf": math.inf, "nan": math.nan, "len": len, "__builtins__": {}}


class Wrong(AssertionError):  # noqa: N818 - what it says is what it is
    """A proof that brute force disproves."""


def same(actual: Any, true: Any, what: str) -> None:
    if not np.array_equal(np.asarray(actual), np.asarray(true), equal_nan=True):
        raise Wrong(f"{what}: {actual}, brute force has {true}")


def holds(claim: Any, what: str) -> None:
    if not claim:
        raise Wrong(what)


def _numbers(values: Any) -> Any:
    """Labels, or floats: whole numbers have no -0."""
    result = np.array(values)
    return result if result.dtype.kind == "U" else result.astype(float)


class Truth:
    """Every quantity of a study at every point, in the order of the axes."""

    def __init__(self, one: Drawn, moved: dict[str, Callable[[Floats], Floats]] | None = None):
        self.one, self.axes = one, list(one.axes)
        self.sizes = tuple(
            len(next(iter(v["zip"].values()))) if isinstance(v, dict) else len(v)
            for v in one.axes.values()
        )
        self.index = np.indices(self.sizes).reshape(len(self.sizes), -1)
        count = self.index.shape[1]
        known: dict[str, Any] = {name: np.full(count, v) for name, v in one.set.items()}
        for row, (name, values) in zip(self.index, one.axes.items(), strict=True):
            parts = values["zip"] if isinstance(values, dict) else {name: values}
            known |= {key: _numbers(part)[row] for key, part in parts.items()}
        for name, (dims, array) in one.tables.items():
            at = [self.index[self.axes.index(dim)] for dim in dims]
            known[name] = np.array(array)[tuple(at)]
        for name, move in (moved or {}).items():
            known[name] = move(known[name])
        self.known = known
        switches: dict[str, dict[str, Any]] = {}
        with np.errstate(all="ignore"):
            for name, (_, formula) in one.equations.items():
                if name == "letters":
                    known[name] = np.array(
                        [float(self._eval(formula, {"kind": w})) for w in known["kind"]]
                    )
                elif "@" in name:
                    function, label = name.split("@")
                    switches.setdefault(function, {})[label] = self.evaluate(formula)
                    if len(switches[function]) == 2:
                        mode = known.get("mode", np.full(count, "one"))
                        known[function] = np.where(mode == "one", *switches[function].values())
                else:
                    known[name] = self.evaluate(formula)

    def _eval(self, formula: str, known: dict[str, Any]) -> Any:
        return eval(formula, dict(NAMES), known)

    def evaluate(self, formula: str) -> Any:
        """A formula at every point."""
        with np.errstate(all="ignore"):
            result = self._eval(formula, self.known)
        return np.broadcast_to(result, self.index.shape[1:]).copy()

    def question(self) -> dict[str, Any]:
        """Return the query, its limits replaced by values that occur."""
        query = dict(self.one.question)
        if "where" in query:
            query["where"] = [self._limit(*limit) for limit in query["where"]]
        if "quantity" in query:
            query["quantity"] = self._limit(*query["quantity"])
        return query

    def _limit(self, name: str, relation: str, share: float) -> str:
        values = np.unique(self.known[name][np.isfinite(self.known[name])])
        value = float(values[int(share * values.size)]) if values.size else 0.0
        if 0.3 < share * 7 % 1 < 0.5:
            value = float(f"{value:.2g}")
        return f"{name} {relation} {value!r}"

    def feasible_mask(self, query: dict[str, Any]) -> Any:
        """Return the mask of points where all conditions hold."""
        result = np.ones(self.index.shape[1], dtype=bool)
        for text in query.get("where", []):
            result &= self.evaluate(text)
        return result

    def objective(self, query: dict[str, Any], moved: Any = None) -> list[Floats]:
        """Each objective, smaller being better, infinite where there is none."""
        sense = "minimize" if "minimize" in query else "maximize"
        texts = query[sense] if isinstance(query[sense], list) else [query[sense]]
        sign, allowed = 1.0 if sense == "minimize" else -1.0, self.feasible_mask(query)
        result = []
        for text in texts:
            value = sign * self.evaluate(text).astype(float)
            result.append(np.where(np.isfinite(value) & allowed, value, math.inf))
        return result

    def feasible(self, query: dict[str, Any]) -> bool:
        """Return True if there is an answer."""
        if "minimize" not in query and "maximize" not in query:
            return bool(self.feasible_mask(query).any())
        objectives = self.objective(query)
        if self.one.ask == "front":
            return bool(np.all(np.isfinite(objectives), axis=0).any())
        if len(objectives) > 1 and query.get("gap"):
            return False  # it depends on what is found within the gap
        left = np.isfinite(objectives[0])
        for values in objectives:  # in order
            least = np.where(left, values, math.inf).min()
            if least == math.inf:
                return False
            left &= values == least
        return True

    def places(self, answer: Any, study: dse.Study) -> list[int]:
        """The numbers of configurations of an answer."""
        axes = study.grid().axes
        rows = [
            [axes[name].position(v, {}) for v in np.atleast_1d(answer[name].values).tolist()]
            for name in self.axes
        ]
        return np.ravel_multi_index(np.array(rows), self.sizes).tolist()


def signed_score(answer: Any, query: dict[str, Any]) -> tuple[float, Any]:
    """The sense of an answer, and its values, smaller being better."""
    sense = "minimize" if "minimize" in query else "maximize"
    sign, text = (1.0 if sense == "minimize" else -1.0), query[sense]
    return sign, sign * answer[text if text in answer else "objective"].values


def _optimum(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = study.optimum(**query, method="certified")
    values = truth.objective(query)[0]
    least = float(values.min())
    holds(least < math.inf, f"found where nothing is: {result}")
    sign, actual = signed_score(result, query)
    place, actual, bound = (
        truth.places(result, study)[0],
        float(actual),
        sign * result.attrs["bound"],
    )
    same(actual, values[place], "the value where it was found")
    holds(bound <= least, f"bound {bound}, yet {least} is there (signed)")
    gap = result.attrs["gap"]
    off = gap * abs(actual) * (1 + 1e-12) if gap < math.inf else math.inf
    holds(actual - least <= off, f"gap {gap}: {actual}, yet {least}")
    if "time_limit" not in query:
        given = query.get("gap", 0.0)
        holds(gap <= given * (1 + 1e-12), f"a gap of {gap} where {given} was asked")
        if not given:
            same([actual, bound], [least, least], "value and bound")
            holds(result.attrs["settled"], "not settled which is the first")
    if result.attrs["settled"]:
        same(place, int(np.argmin(values)), "the first of the best")


def _top(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = study.optimum(**query, method="certified")
    values = truth.objective(query)[0]
    order = np.argsort(values, kind="stable")
    order = order[values[order] < math.inf][: query["top"]]
    same(truth.places(result, study), order, "the ranks")
    same(signed_score(result, query)[1], values[order], "their values")


def _per(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = study.optimum(**query, method="certified")
    values = truth.objective(query)[0].reshape(truth.sizes)
    rest = tuple(k for k, name in enumerate(truth.axes) if name not in query["per"])
    least = values.min(axis=rest)
    least = np.where(np.isfinite(least), least, math.nan)
    chosen = [name for name in truth.axes if name in query["per"]]
    text = query.get("minimize", query.get("maximize"))
    array = result[text if text in result else "objective"]
    sign = 1.0 if "minimize" in query else -1.0
    actual = sign * np.broadcast_to(
        array.transpose(*[d for d in chosen if d in array.dims]), least.shape
    )
    given = query.get("gap", 0.0)
    same(np.isnan(actual), np.isnan(least), "where there is none")
    if given:
        wrong = (actual < least) | (actual - least > given * np.abs(actual) * (1 + 1e-12))
        holds(not np.any(wrong), f"beyond a gap of {given}: {actual}, brute force has {least}")
    else:
        same(actual, least, "the best of each")
        scan = study.optimum(**{k: v for k, v in query.items() if k != "gap"}, method="scan")
        holds(result.drop_attrs().identical(scan.drop_attrs()), f"{result}\nscan: {scan}")


def _order(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = study.optimum(**query, method="certified")
    objectives = truth.objective(query)
    sign = 1.0 if "minimize" in query else -1.0
    place = truth.places(result, study)[0]
    left = np.all(np.isfinite(objectives[:1]), axis=0)
    given = query.get("gap", 0.0)
    for number, values in enumerate(objectives):
        among = np.where(left, values, math.inf)
        least, actual = float(among.min()), float(values[place])
        bound, gap = sign * result.attrs["bound"][number], result.attrs["gap"][number]
        holds(bound <= least, f"objective {number}: bound {bound}, yet {least} is there")
        holds(gap <= given * (1 + 1e-12), f"objective {number}: gap {gap}, asked {given}")
        if not given:
            same([actual, bound], [least, least], f"objective {number} and its bound")
        left &= values <= actual
    if not given:
        same(place, int(np.flatnonzero(left)[0]), "the first of the best")


def _tolerance(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = study.optimum(**query, method="certified")
    values = truth.objective(query)[0]
    best, share = float(values.min()), query["within"]
    near = np.flatnonzero((values <= best + share * abs(best)) & (values < math.inf))
    near = near[np.argsort(values[near], kind="stable")]
    same(truth.places(result, study), near, "all that are near")
    same(result.attrs["configurations"], near.size, "how many are near")


def _front(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = study.pareto(**query, method="certified")
    values = np.stack(truth.objective(query))
    finite = np.flatnonzero(np.all(np.isfinite(values), axis=0))
    vectors, first = np.unique(values[:, finite] + 0.0, axis=1, return_index=True)
    chosen = [
        int(finite[k])
        for v, k in zip(vectors.T, first, strict=True)
        if not np.any(np.all(vectors <= v[:, None], axis=0) & np.any(vectors < v[:, None], axis=0))
    ]
    same(truth.places(result, study), sorted(chosen), "the front")
    holds(result.attrs["complete"] and result.attrs["settled"], f"left open: {result.attrs}")


def _meets(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = dse.meets(study, query["where"], boxes=10**6)
    allowed = truth.feasible_mask(query).reshape(truth.sizes)
    times = np.zeros(truth.sizes, dtype=int)
    axes = study.grid().axes
    holds(bool(np.all(result.certain)) and result.attrs["complete"], "boxes left open")
    ends = [
        [
            [axes[name].position(v, {}) for v in result[f"{name}_{side}"].values.tolist()]
            for side in ("first", "last")
        ]
        for name in truth.axes
    ]
    for box in range(result.sizes["box"]):
        times[tuple(slice(low[box], high[box] + 1) for low, high in ends)] += 1
    same(times, allowed.astype(int), "how many boxes hold each point")
    counts = [int(result[name]) for name in ("inner", "outer", "total")]
    same(counts, [allowed.sum(), allowed.sum(), allowed.size], "inner, outer and total")


def _count(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    result = study.count(**query)
    same(
        int(result.feasible_points), int(truth.feasible_mask(query).sum()), "how many are feasible"
    )


def _ranges(study: dse.Study, query: dict[str, Any], truth: Truth) -> None:
    one = truth.one
    names = [
        n for n in [*one.set, *one.axes] if n in (*"abcd", "k") and n in _used_names(truth, query)
    ]
    zipped = [n for v in one.axes.values() if isinstance(v, dict) for n in v["zip"]]
    if not names or zipped:
        return
    name, share = names[0], 0.3
    result = dse.ranges(study, {name: f"{100 * share:g} %"}, **query)
    text = query.get("minimize", query.get("maximize"))
    for away in (-share, -0.1, 0.0, 0.17, share):
        moved = Truth(one, {name: lambda v, away=away: v + np.abs(v) * away})
        for output in [n.split("@")[0] for n in one.equations if n in result]:
            at = result[output].transpose(
                "end", *[a for a in truth.axes if a in result[output].dims]
            )
            shape = [
                n if a in result[output].dims else 1
                for a, n in zip(truth.axes, truth.sizes, strict=True)
            ]
            low, high = (
                np.broadcast_to(at.sel(end=end).values.reshape(shape), truth.sizes).reshape(-1)
                for end in ("lower", "upper")
            )
            value = moved.known[output]
            off = np.where(np.isfinite(value), 1e-12 * np.abs(value), 0.0)
            holds(
                not np.any((value < low - off) | (value > high + off)),
                f"{output} leaves its range at {away}",
            )
        values = moved.objective(query)[0]
        if np.isfinite(values.min()):
            best = values == values.min()
            shape = [
                n if a in result.can_be_best.dims else 1
                for a, n in zip(truth.axes, truth.sizes, strict=True)
            ]
            dims = [a for a in truth.axes if a in result.can_be_best.dims]
            can = result.can_be_best.transpose(*dims).values.reshape(shape)
            can = np.broadcast_to(can, truth.sizes).reshape(-1)
            holds(bool(can[best].all()), f"the best by {text} at {away} is none that can be")


def _used_names(truth: Truth, query: dict[str, Any]) -> set[str]:
    texts = [query.get("minimize", query.get("maximize")), *query.get("where", [])]
    result = {name for name in truth.known if any(name in text for text in texts)}
    for _ in truth.one.equations:
        for name, (needs, _) in truth.one.equations.items():
            if name.split("@")[0] in result:
                result |= set(needs)
    return result


CHECKS: dict[str, Callable[[dse.Study, dict[str, Any], Truth], None]] = {
    **dict.fromkeys(("optimum", "gap", "late"), _optimum),
    "top": _top,
    "per": _per,
    "order": _order,
    "within": _tolerance,
    "front": _front,
    "meets": _meets,
    "ranges": _ranges,
    "count": _count,
}
