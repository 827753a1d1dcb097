"""Every cell of the table of what may be asked of what: it answers as NumPy does, or refuses.

Cells, and pairs of modifiers, are generated from the table; the page that prints it is current.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import dse
from dse.verbs.query import verbs
from sweeps.query import support_table as tables
from sweeps.query.support_table import MODIFIERS, SOURCES, support_table
from tests.oracles import asking

VERBS = tuple(verbs())
PAGE = Path(__file__).parents[2] / "docs" / "asking.md"
AXES: dict[str, Any] = {"threads": [64, 256, 512, 2048], "intensity": [5, 10, 20]}
AXES["ms_peak"] = [0.5, 1]
GIVEN = {"lanes_width": 32, "mem_latency": 600}
OUTPUTS = ["ms_throughput", "cs_throughput", "bound"]
STUDY = dse.Study(model="transit", axes=AXES, set=GIVEN, outputs=OUTPUTS)
#: The same where an input is random: values that it takes, and how likely each is.
LAW = {300.0: 0.25, 600.0: 0.25, 1200.0: 0.5}
RANDOM = dse.Study(
    model="transit",
    axes=AXES,
    set={"lanes_width": 32},
    random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"},
    outputs=OUTPUTS[:2],
)
ASKED_OF_LAWS = ("chances", "information", "law")
MERIT = "ms_throughput - threads / 8192"
WHERE, LABEL = "ms_throughput <= 0.5", "intensity"


def reason(verb: str, source: str, modifier: str = "") -> str:
    """Why the table refuses a source."""
    return tables.why_unsupported(verb, "study" if source == "store" else source, modifier)


class Mean:
    """The mean of what passes by."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def feed(self, values: Any, weight: int) -> None:
        self.total += weight * float(values[0].sum())
        self.count += weight * values.shape[1]

    def merge(self, other: Mean) -> None:
        self.total, self.count = self.total + other.total, self.count + other.count

    def answer(self) -> float:
        return self.total / self.count


#: What each verb is asked: the arguments besides the source.
ASKED: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "optimum": ((), {"maximize": "ms_throughput"}),
    "pareto": ((), {"minimize": "threads"}),
    "count": ((), {}),
    "histogram": (("cs_throughput",), {"bins": [0.0, 1.0, 5.0, 10.0]}),
    "quantiles": (("cs_throughput", [0.0, 0.3, 1.0]), {}),
    "fold": ((Mean, "cs_throughput"), {}),
    "sensitivity": ((), {"output": "cs_throughput"}),
    "meets": (("cs_throughput >= 5",), {}),
    "ranges": (({"mem_latency": "10 %"},), {}),
    "borders": (("bound",), {"along": "threads"}),
    "chances": ((), {"maximize": MERIT}),
    "information": ((), {"maximize": MERIT}),
    "rule": ((), {"of": "threads", "minimize": "1 / ms_throughput + threads / 64"}),
    "law": (("cs_throughput",), {"at": {"threads": 256, "intensity": 10, "ms_peak": 1}}),
}
GIVE: dict[str, dict[str, Any]] = {
    "where": {"where": WHERE},
    "per": {"per": LABEL},
    "top": {"top": 3},
    "ties": {"ties": True},
    "within": {"within": 0.05},
    "objectives": {},
    "method": {"method": "certified"},
    "time_limit": {"time_limit": 60},
    "gap": {"gap": 0.0},
    "epsilon": {"epsilon": 0.0},
}
SEVERAL: dict[str, Any] = {"maximize": ["ms_throughput", "-threads"]}
#: The study of a finished store answers for it.
CELLS = list(itertools.product(VERBS, (*SOURCES, "store")))
ALONE = [(*cell, modifier) for cell in CELLS for modifier in MODIFIERS]
PAIRS = [
    (verb, source, pair)
    for verb, source in CELLS
    for pair in itertools.combinations(MODIFIERS, 2)
    if not any(reason(verb, source, modifier) for modifier in pair)
]


def test_the_table_is_of_what_can_be_given() -> None:
    assert set(ASKED) == set(VERBS)
    assert set(GIVE) == set(MODIFIERS)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same configurations as each of the sources."""
    folder = tmp_path_factory.mktemp("sources")
    STUDY.run(store=folder / "out.zarr")
    ds = STUDY.run()
    ds.drop_vars("bound").to_dataframe().reset_index().to_csv(folder / "rows.csv", index=False)
    rows = dse.open(folder / "rows.csv", axes=[*AXES], shape="rows")
    result = {"study": STUDY, "store": folder / "out.zarr", "Dataset": ds}
    RANDOM.run(store=folder / "random.zarr")
    again = rows.expand_dims(run=3).copy(deep=True)
    again["ms_throughput"] = again.ms_throughput * xr.DataArray(
        [1 - 1e-6, 1.0, 1 + 1e-6], dims="run"
    )
    random = {"study": RANDOM, "store": folder / "random.zarr", "Dataset": RANDOM.run()}
    return {**result, "rows": rows, "random": {**random, "rows": again}}


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    """The columns of the configurations, in axis order."""
    frame = STUDY.run().drop_vars("bound").to_dataframe().reset_index()
    return {str(name): frame[name].to_numpy(dtype=float) for name in frame}


def ask(verb: str, source: Any, *modifiers: str) -> Any:
    args, options = ASKED[verb]
    for modifier in modifiers:
        options = {**options, **(several(verb) if modifier == "objectives" else GIVE[modifier])}
    return getattr(dse, verb)(source, *args, **options)


def several(verb: str) -> dict[str, Any]:
    return {"minimize": "threads", "maximize": "cs_throughput"} if verb == "pareto" else SEVERAL


@pytest.mark.parametrize(("verb", "source", "modifier"), [(*c, "") for c in CELLS] + ALONE)
def test_a_cell_answers_or_refuses_with_the_reason(
    verb: str, source: str, modifier: str, sources: dict[str, Any], rows: dict[str, Any]
) -> None:
    given = [modifier] if modifier else []
    if why := reason(verb, source) or reason(verb, source, modifier):
        if (verb, modifier) == ("ranges", "within"):  # there it says how far inputs may be off
            with pytest.raises(dse.DseError, match=re.escape(why)):
                tables.check_supported(verb, source.replace("store", "study"), {modifier: True})
            return
        with pytest.raises(dse.DseError) as raised:
            ask(verb, pick(sources, verb, source), *given)
        assert why in str(raised.value)
    else:
        CHECKS[verb](ask(verb, pick(sources, verb, source), *given), rows, source, given)


@pytest.mark.parametrize(("verb", "source", "pair"), PAIRS)
def test_two_modifiers_answer_together(
    verb: str, source: str, pair: tuple[str, str], sources: dict[str, Any], rows: dict[str, Any]
) -> None:
    CHECKS[verb](ask(verb, pick(sources, verb, source), *pair), rows, source, pair)


def pick(sources: dict[str, Any], verb: str, source: str) -> Any:
    """A source; where laws are asked of, that with a random input or with runs."""
    return (sources["random"] if verb in ASKED_OF_LAWS else sources)[source]


# --- what NumPy says
def parts(rows: Any, given: Any) -> Iterator[tuple[dict[str, float], Any]]:
    """Return the configurations that count, for each label if there is ``per``."""
    counted = rows["ms_throughput"] <= 0.5 if "where" in given else rows["threads"] > 0
    for label in np.unique(rows[LABEL]).tolist() if "per" in given else [None]:
        if label is None:
            yield {}, counted
        else:
            yield {LABEL: label}, counted & (rows[LABEL] == label)


def check_optimum(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    goals = [-rows["ms_throughput"], *([rows["threads"]] if "objectives" in given else [])]
    wanted = {"top": 3 if "top" in given else 1, "ties": "ties" in given}
    for label, counted in parts(rows, given):
        best = asking.best(goals, counted, within=0.05 if "within" in given else None, **wanted)
        assert best
        got = answer.sel(label)
        for name in (*AXES, "ms_throughput"):
            values = np.broadcast_to(got[name].values, got.threads.shape).reshape(-1)
            real = got.threads.values.reshape(-1) >= 0
            assert values[real].tolist() == rows[name][best].tolist()


def check_pareto(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    goals = [rows["threads"], *([-rows["cs_throughput"]] if "objectives" in given else [])]
    front = [row for _, counted in parts(rows, given) for row in asking.front(goals, counted)]
    for name in (*AXES, "cs_throughput"):
        values = np.broadcast_to(answer[name].values, answer.sizes["point"])
        assert values.tolist() == rows[name][front].tolist()


def check_count(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    for label, counted in parts(rows, given):
        assert answer.sel(label).feasible_points.item() == counted.sum()


def check_histogram(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    for label, counted in parts(rows, given):
        wanted, _ = np.histogram(rows["cs_throughput"][counted], [0.0, 1.0, 5.0, 10.0])
        assert answer.sel(label).configurations.values.tolist() == wanted.tolist()


def check_quantiles(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    for label, counted in parts(rows, given):
        values = rows["cs_throughput"][counted]
        wanted = [asking.quantile(values, q) for q in (0.0, 0.3, 1.0)]
        assert answer.sel(label).cs_throughput.values.tolist() == wanted


def check_fold(result: Any, rows: Any, source: str, given: Any) -> None:
    for label, counted in parts(rows, given):
        answer = result.sel(label).item() if label else result
        assert answer == pytest.approx(rows["cs_throughput"][counted].mean(), rel=1e-12)


def check_sensitivity(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    for label, counted in parts(rows, given):
        values = rows["cs_throughput"][counted]
        here = answer.sel(label).isel(output=0)
        assert here.counted.item() == counted.sum()
        assert here["mean"].item() == pytest.approx(values.mean(), rel=1e-12)
        assert here["std"].item() == pytest.approx(values.std(), rel=1e-9)
        if "where" in given:
            continue
        for axis in here.axis.values.tolist():
            column = rows[axis][counted]
            means = [values[column == x].mean() for x in np.unique(column)]
            assert here["first"].sel(axis=axis).item() == pytest.approx(
                np.var(means) / np.var(values), rel=1e-9
            )


def check_meets(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    for label, counted in parts(rows, given):
        here = answer.sel(label)
        assert here.inner.item() == here.outer.item() == (counted & enough(rows)).sum()


def enough(rows: Any) -> Any:
    return rows["cs_throughput"] >= 5


def check_ranges(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    for name in OUTPUTS[:2]:
        whole = answer[name].broadcast_like(STUDY.run()[name]).transpose("end", *AXES)
        low, same, high = (whole.sel(end=end).values.reshape(-1) for end in END)
        assert same.tolist() == rows[name].tolist()
        assert np.all((low <= same) & (same <= high))
        assert np.any(low < high)
    if "where" in given:
        sure, maybe = (answer[f"{word}_feasible"] for word in ("certainly", "possibly"))
        counted = next(parts(rows, given))[1]
        for mark, holds in ((sure, ~counted), (maybe, counted)):
            whole = mark.broadcast_like(STUDY.run().ms_throughput).transpose(*AXES)
            values = whole.values.reshape(-1)
            assert not values[holds].any() if mark is sure else values[holds].all()


END = ("lower", "given", "upper")


def check_borders(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    alone = xr.Dataset.identical(answer, ask("borders", STUDY, *given))
    assert alone
    if "where" not in given:
        np.testing.assert_array_equal(answer.bound.values, STUDY.run().bound.values)


# --- where an input is random
@cache
def columns_at(latency: float) -> Any:
    """The columns of the configurations, in axis order, where the random input has a value."""
    made = dse.Study(model="transit", axes=AXES, set={**GIVEN, "mem_latency": latency})
    frame = made.run().to_dataframe().reset_index()
    return {name: frame[name].to_numpy(dtype=float) for name in (*AXES, *OUTPUTS[:2])}


def merits(given: Any) -> Any:
    """Return the objective by draw (row) and configuration (column); NaN if infeasible."""
    each = [columns_at(latency) for latency in LAW]
    worth = np.array([one["ms_throughput"] - one["threads"] / 8192 for one in each])
    if "where" in given:
        worth[np.array([one["ms_throughput"] for one in each]) > 0.5] = -np.inf
    return worth


def check_chances(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    if source == "rows":
        worth = np.where(next(parts(rows, given))[1], merits(())[1], -np.inf)
        best = {
            tuple(float(rows[n][k]) for n in AXES) for k in np.flatnonzero(worth == worth.max())
        }
        assert {tuple(float(answer[n].values[k]) for n in AXES) for k in range(len(best))} == best
        assert answer.chance.values[: len(best)].sum() == pytest.approx(1)
        return
    weights = np.array(list(LAW.values()))
    worth = merits(given)
    for label, own in parts(rows, given[:0] if "per" not in given else ["per"]):
        here, most = answer.sel(label), np.where(own, worth, -np.inf).max(axis=1)
        ties = (worth == most[:, None]) & own & np.isfinite(worth)
        chance = weights @ (ties / np.maximum(ties.sum(axis=1), 1)[:, None])
        real = here.chance.values > 0
        order = np.sort(chance[chance > 0])[::-1][: 3 if "top" in given else None]
        assert here.chance.values[real].tolist() == pytest.approx(order.tolist())
        for rank in np.flatnonzero(real):
            place = {n: np.broadcast_to(here[n].values, real.shape)[rank] for n in AXES}
            at = np.all([rows[n] == float(place[n]) for n in AXES], axis=0)
            assert chance[at].item() == pytest.approx(here.chance.values[rank])


def check_information(answer: xr.Dataset, rows: Any, source: str, given: Any) -> None:
    weights, worth = np.array(list(LAW.values())), merits(given)
    worth = worth[:, np.all(np.isfinite(worth), axis=0)]
    known = weights @ worth.max(axis=1) - (weights @ worth).max()
    assert answer.evpi.item() == pytest.approx(known, abs=1e-12)
    assert known > 0


def check_law(answer: Any, rows: Any, source: str, given: Any) -> None:
    one = (rows["threads"] == 256) & (rows["intensity"] == 10) & (rows["ms_peak"] == 1)
    values = [columns_at(latency)["cs_throughput"][one][0] for latency in LAW]
    assert answer.mean == pytest.approx(np.dot(values, list(LAW.values())), rel=1e-12)
    assert answer.quantile(0.6) == pytest.approx(sorted(values)[1], rel=1e-12)


def check_rule(report: Any, rows: Any, source: str, given: Any) -> None:
    made: dict[str, Any] = {}
    exec(report.text(".py"), made)
    cost = 1 / rows["ms_throughput"] + rows["threads"] / 64
    pairs = list(zip(rows["intensity"], rows["ms_peak"], strict=True))
    worst = 0.0
    for pair in set(pairs):
        here = [other == pair for other in pairs]
        names = dict(zip(("intensity", "ms_peak"), pair, strict=True))
        chosen = made["threads"](**{name: names[name] for name in report.problem.inputs})
        worst = max(worst, cost[here & (rows["threads"] == chosen)].item() / cost[here].min())
    assert report.is_within
    assert report.proof.worst == pytest.approx(worst, rel=1e-12)


CHECKS = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name[:6] == "check_"
}


# --- the page
def test_the_page_prints_the_table() -> None:
    output = PAGE.read_text(encoding="utf-8")
    assert f"\n{support_table(VERBS)}\n" in output
    assert "python docs/asking.py" in output
    assert all(f"**{name}**: {what}" in " ".join(output.split()) for name, what in SOURCES.items())
