"""An answer that breaks an invariant never leaves; conditions hold under every label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
import sweeps.nest.tiles
import sweeps.query.optimum
import sweeps.sources.grid_scan
import sweeps.sources.table
from dse.cli import main
from sweeps.query.source import tolerance_limit
from symbolic.errors import InternalError
from tests.long import mostly_long
from tests.sweeps import conditioning

HEAD = "import dse\n" + "".join(
    f'{name} = dse.quantity("{name}", domain="[-inf, inf]")\n' for name in ("xx", "zz", "ee")
)


def study(folder: Path, equations: str, **given: Any) -> dse.Study:
    path = folder / f"model_{len(list(folder.iterdir()))}.py"
    path.write_text(HEAD + equations)
    return dse.Study(model=path.name, folder=folder, **given)


# --- a condition holds under every label of a switch

SWITCHED = """
pick = dse.quantity("pick", labels=("alpha", "beta"), default="alpha")
@dse.equation(source="s", when={"pick": "alpha"}, name="cost")
def cost_alpha(xx): return xx
@dse.equation(source="s", when={"pick": "beta"}, name="cost")
def cost_beta(xx, ee): return xx + ee
@dse.equation(source="s")
def plain(xx): return xx
"""
AXES: dict[str, Any] = {"pick": ["alpha", "beta"], "xx": [3, 4], "ee": [10, 20]}


@pytest.mark.parametrize("method", ["scan", "certified"])
@pytest.mark.parametrize("objectives", ["mean(cost, ee)", "worst_high(cost, ee)", "best(cost, ee)"])
def test_a_condition_holds_where_it_does_not_lie_along_the_axis_of_a_statistic(
    tmp_path: Path, method: str, objectives: str
) -> None:
    made = study(tmp_path, SWITCHED, axes=AXES, outputs=["cost"])
    result = made.optimum(minimize=objectives, where="cost >= 12", method=method)
    assert result.pick.item() == "beta"  # under alpha cost is 3 or 4
    ruled = study(tmp_path, SWITCHED + 'RULES = ("cost >= 12",)', axes=AXES, outputs=["cost"])
    assert ruled.optimum(minimize=objectives, method=method).pick.item() == "beta"


@pytest.mark.parametrize("method", ["scan", "certified"])
def test_a_switch_that_changes_only_a_condition_changes_a_statistic(
    tmp_path: Path, method: str
) -> None:
    made = study(tmp_path, SWITCHED, axes=AXES, outputs=["plain"])
    result = made.optimum(maximize="mean(plain, ee)", where="cost >= 14", method=method)
    assert (result.pick.item(), result.xx.item()) == ("beta", 4)


def test_a_statistic_is_asked_per_axis_of_a_large_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeps.nest.tiles, "NUMPY_POINTS", 0)
    made = study(tmp_path, SWITCHED, axes=AXES, outputs=["cost"])
    result = made.optimum(minimize="mean(cost, ee)", per="xx", method="scan")
    assert result.pick.values.tolist() == ["alpha", "alpha"]


def test_certified_objectives_in_order_may_be_statistics_that_are_outputs(tmp_path: Path) -> None:
    objectives = ["floor(xx / 10)", "mean(cost, ee)"]
    made = study(tmp_path, SWITCHED, axes=AXES, outputs=["mean(cost, ee)"])
    result = made.optimum(maximize=objectives, method="certified")
    assert (result.pick.item(), result.xx.item()) == ("beta", 4)


def test_a_statistic_that_would_not_see_a_condition_is_refused(tmp_path: Path) -> None:
    made = study(tmp_path, SWITCHED, axes=AXES, outputs=["cost"])
    where = ["mean(cost, ee) <= 18", "worst_high(cost, xx) <= 20"]  # the second lies along ee
    with pytest.raises(dse.DseError, match=r"mean\(cost, ee\) is an output .* ignores 'worst_hi"):
        made.optimum(minimize="mean(cost, ee)", where=where)
    assert made.optimum(minimize="mean(cost, ee)", where=where[0]).pick.item() == "alpha"


@pytest.mark.parametrize("seed", mostly_long(range(1, 61), lambda k, _: k % 12 == 0))
def test_random_conditions(seed: int, tmp_path: Path) -> None:
    sources = ("scan", "certified", "store", "Dataset")
    text = conditioning.check_study(seed, tmp_path, sources)[1]
    assert not text, text


# --- shares of a value that overflow


@pytest.mark.parametrize("method", ["scan", "certified", "store", "Dataset"])
@pytest.mark.parametrize(
    ("objectives", "expected"),
    [
        ({"minimize": "yy", "within": 30.0}, [2.0, 1e3]),
        ({"maximize": "yy", "within": 3.0, "where": "xx >= 1000"}, [1e3]),
        ({"maximize": "yy", "within": 1e308, "ties": True}, [1e3, 2.0]),
        ({"minimize": "-yy", "within": 0.85}, [1e3]),
    ],
)
def test_within_lists_only_feasible_numbers(
    tmp_path: Path, method: str, objectives: dict[str, Any], expected: list[float]
) -> None:
    made = study(
        tmp_path,
        '@dse.equation(source="s")\ndef yy(xx): return dse.log(xx) * 1e307\n',
        axes={"xx": [-2.0, -1.0, 2.0, 1e3, 1e20, 1e300]},
        outputs=["yy"],
    )
    if method in ("scan", "certified"):
        result = made.optimum(**objectives, method=method)
    else:
        place = tmp_path / "out.zarr"
        of = made.run(store=place) if method == "store" else made.run()
        result = dse.optimum(place if method == "store" else of, **objectives)
    assert result.xx.values.tolist() == expected
    assert result.attrs["configurations"] == len(expected)


def test_the_limit_of_a_share_is_finite_and_right() -> None:
    most = 1.7976931348623157e308
    assert tolerance_limit(1e308, 2.0) == most
    assert tolerance_limit(-1.5e308, 1.5) == pytest.approx(0.75e308)  # the product alone overflows
    assert tolerance_limit(-1e308, 1e300) == most
    assert tolerance_limit(-most, 0.0) == -most
    assert tolerance_limit(0.0, 1e308) == 0.0


# --- values that differ by one ulp between libraries

CURVES = """
from symbolic.ops import exp, log, log10, power
@dse.equation(source="s")
def cost(xx): return {0}
@dse.equation(source="s")
def gain(xx): return xx
"""
FUNCTIONS: dict[str, Any] = {
    "exp(xx)": np.exp,
    "log(xx)": np.log,
    "log10(xx)": np.log10,
    "power(xx, 0.3)": lambda x: np.power(x, 0.3),
    "power(2.0, xx)": lambda x: np.power(2.0, x),
}


@pytest.mark.parametrize("formula", mostly_long(FUNCTIONS, lambda k, _: k in (0, 4)))
def test_a_threshold_that_is_a_value_is_met_in_the_search_and_in_the_answer(
    tmp_path: Path, formula: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nest, NumPy and Python decide alike, however close a value is to the threshold."""
    monkeypatch.setattr(sweeps.nest.tiles, "NUMPY_POINTS", 0)
    values = np.random.default_rng(1).uniform(1.0, 80.0, 400)
    whole = FUNCTIONS[formula](np.sort(values))[3::2]
    edges = np.unique([whole, np.nextafter(whole, -np.inf), np.nextafter(whole, np.inf)])
    axes = {"zz": edges, "xx": values}
    made = study(
        tmp_path, CURVES.format(formula), axes=axes, where="cost <= zz", outputs=["cost", "gain"]
    )
    result = made.optimum(maximize="gain", per="zz", method="scan")
    assert result.feasible.values.all()
    assert np.all(result.cost.values <= edges)
    for k in range(0, edges.size, 60):
        explained = made.explain(xx=float(result.xx[k]), zz=float(edges[k])).to_dict()
        assert explained["conditions"] == {"cost <= zz": True}


def test_values_of_a_dataset_that_is_read_backwards_are_the_same() -> None:
    x = np.random.default_rng(2).uniform(-20, 20, 300)
    ds = xr.Dataset({"y": ("x", x * 1.5)}, coords={"x": x}).isel(x=slice(None, None, -1))
    edge = float(np.exp(1.5 * np.sort(x))[150])
    result = dse.optimum(ds, maximize="exp(y)", where=f"exp(y) <= {edge!r}")
    again = dse.optimum(ds.copy(deep=True), maximize="exp(y)", where=f"exp(y) <= {edge!r}")
    assert result.objective.item() == again.objective.item() <= edge


# --- an answer that breaks an invariant is an internal error


@pytest.fixture
def transit() -> dse.Study:
    return dse.Study(
        model="transit",
        axes={"threads": [256, 512, 1024], "intensity": [5, 10, 20]},
        set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600},
        where="threads <= 512",
    )


def spoil(monkeypatch: pytest.MonkeyPatch, spoilt: Any) -> None:
    """Let every choice pass through a function before it is checked."""
    whole = sweeps.query.optimum._find_points
    monkeypatch.setattr(
        sweeps.query.optimum, "_find_points", lambda source, ask: spoilt(whole(source, ask))
    )


def move(choice: Any, **places: int) -> Any:
    from sweeps.query.source import RankedPoints

    new = {n: np.full_like(i, places[n]) if n in places else i for n, i in choice.places.items()}
    return RankedPoints(places=new, scores=choice.scores)


def rate(choice: Any, factor: float) -> Any:
    from sweeps.query.source import RankedPoints

    return RankedPoints(places=choice.places, scores=choice.scores * factor)


SPOILT = {
    "not feasible": lambda choice: move(choice, threads=2),
    "another value than the point": lambda choice: rate(choice, 1 + 1e-15),
    "another value": lambda choice: move(choice, threads=0),
}


@pytest.mark.parametrize("what", SPOILT)
@pytest.mark.parametrize("source", ["scan", "certified", "Dataset", "store"])
def test_an_answer_that_its_source_contradicts_never_leaves(
    transit: dse.Study, what: str, source: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spoil(monkeypatch, SPOILT[what])
    of: Any = transit
    if source in ("store", "Dataset"):
        place = tmp_path / "out.zarr"
        of = transit.run(store=place) if source == "store" else transit.run()
        of = place if source == "store" else of
    method = {"method": source} if source in ("scan", "certified") else {}
    with pytest.raises(InternalError, match=what) as caught:
        dse.optimum(of, maximize="cs_throughput", **method)
    text = str(caught.value)
    assert "asked: maximize cs_throughput" in text
    assert "threads = " in text
    assert "Please report" in text
    assert ("study: " in text) == (source != "Dataset")


def test_a_better_point_that_is_not_named_is_found(
    transit: dse.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sweeps.query.source import RankedPoints

    worst = dse.optimum(transit, minimize="cs_throughput")

    def spoilt(choice: Any) -> Any:
        at = {n: np.full_like(i, 0) for n, i in choice.places.items()}
        return RankedPoints(
            places=at, scores=np.full_like(choice.scores, -worst.cs_throughput.item())
        )

    spoil(monkeypatch, spoilt)
    with pytest.raises(InternalError, match="a point that is not named is better"):
        transit.optimum(maximize="cs_throughput", method="scan")


def test_ranks_and_nothing_are_checked(transit: dse.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    from sweeps.query.source import RankedPoints
    from symbolic.errors import InfeasibleError

    def turn(choice: Any) -> Any:
        places = {n: i[..., ::-1] for n, i in choice.places.items()}
        return RankedPoints(places=places, scores=choice.scores[..., ::-1])

    with monkeypatch.context() as patch:
        spoil(patch, turn)
        with pytest.raises(InternalError, match="a rank is better than the one before"):
            transit.optimum(maximize="cs_throughput", top=3)

    def nothing(source: Any, ask: Any) -> Any:
        raise InfeasibleError("no point counts")

    monkeypatch.setattr(sweeps.query.optimum, "_find_points", nothing)
    with pytest.raises(InternalError, match="no point counts, and this one does"):
        transit.optimum(maximize="cs_throughput")


def test_a_front_is_checked(transit: dse.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sweeps.sources.grid_scan.scan_front
    objectives: dict[str, Any] = {"maximize": "cs_throughput", "minimize": "threads"}
    with monkeypatch.context() as patch:
        patch.setattr(
            sweeps.sources.grid_scan,
            "scan_front",
            lambda *given: {n: np.append(i, 0) for n, i in whole(*given).items()},
        )
        with pytest.raises(InternalError, match="another point of the front beats this one"):
            transit.pareto(**objectives)
    monkeypatch.setattr(
        sweeps.sources.grid_scan,
        "scan_front",
        lambda *given: {n: i[:1] for n, i in whole(*given).items()},
    )
    with pytest.raises(InternalError, match="no point of the front is as good"):
        transit.pareto(**objectives)


def test_a_command_ends_with_70_and_a_report(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(
        'model = "transit"\n[axes]\nthreads = [256, 512, 1024]\n[set]\nintensity = 10\n'
        "lanes_width = 32\nms_peak = 1\nmem_latency = 600\n"
    )
    spoil(monkeypatch, lambda choice: move(choice, threads=0))
    done = CliRunner().invoke(
        main, ["optimum", str(tmp_path / "study.toml"), "--maximize", "cs_throughput"]
    )
    assert done.exit_code == 70
    assert "internal error, no answer is given" in done.output
    assert '"model": "transit"' in done.output


def test_an_internal_error_can_be_sent_to_another_process() -> None:
    import pickle

    error = InternalError("what", query="a", result="g").with_study(json.dumps({"model": "m"}))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.study == '{"model": "m"}'


def test_only_some_of_many_named_points_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    whole = sweeps.sources.table.TableScan.evaluate

    def count_calls(self: Any, places: Any, goals: Any) -> Any:
        sizes.append(next(iter(places.values())).size)
        return whole(self, places, goals)

    monkeypatch.setattr(sweeps.sources.table.TableScan, "evaluate", count_calls)
    ds = xr.Dataset({"y": (("a", "b"), np.random.default_rng(0).random((6000, 2)))})
    result = dse.optimum(ds, minimize="y", per="a")
    assert result.sizes["a"] == 6000
    limits = sweeps.query.optimum
    assert max(sizes) <= limits.MAX_NAMED_POINTS + limits.SAMPLE_POINTS + 2 * 2
