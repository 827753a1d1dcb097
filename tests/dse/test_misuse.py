"""Wrong input to the public functions: one clear error, whatever was given; exit statuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
from dse import DseError, Study
from dse.cli import main
from tests.sweeps.without_model import without_model

SPEC: dict[str, Any] = {
    "model": "transit",
    "axes": {"threads": [1, 64, 512], "intensity": [4, 8]},
    "set": {"lanes_width": 32, "ms_peak": 0.25, "mem_latency": 600},
    "outputs": ["ms_throughput", "cs_throughput", "bound"],
}
TEXT = """
model = "transit"
outputs = ["ms_throughput", "cs_throughput", "bound"]
[axes]
threads = [1, 64, 512]
intensity = [4, 8]
[set]
lanes_width = 32
ms_peak = 0.25
mem_latency = 600
"""
#: What is no Dataset, no place, no name, no condition.
WRONG: list[Any] = [None, 3, "", [], {}, b"x", np.nan, object(), ("a", 1), True, np.array([1, 2])]
Ask = Callable[[Any], Any]
SOURCES: dict[str, Ask] = {
    "add": lambda wrong: dse.add(wrong, "time"),
    "best_config": dse.best_config,
    "count": dse.count,
    "derive": lambda wrong: dse.derive(wrong, "ms_transition"),
    "disagreement": lambda wrong: dse.disagreement(wrong, minimize="time"),
    "histogram": lambda wrong: dse.histogram(wrong, "time"),
    "open": dse.open,
    "optimum": lambda wrong: dse.optimum(wrong, minimize="time"),
    "pareto": lambda wrong: dse.pareto(wrong, minimize="time"),
    "quantiles": lambda wrong: dse.quantiles(wrong, "time", 0.5),
    "rule": lambda wrong: dse.rule(wrong, of="threads_per_block", minimize="time"),
    "verify": dse.verify,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stores") / "a.zarr"
    Study(**SPEC).run(store=path)
    return path


def check_refused(ask: Ask, wrong: Any) -> None:
    with pytest.raises(DseError) as caught:
        ask(wrong)
    assert len(str(caught.value)) > 10


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_no_dataset_or_place(name: str) -> None:
    for wrong in WRONG:
        check_refused(SOURCES[name], wrong)


def test_what_names_no_quantity(store: Path) -> None:
    study, lazy = Study(**SPEC), dse.open(store)
    memory = study.run()
    for wrong in [*WRONG, "nope", ["ms_throughput", None]]:
        check_refused(lambda wrong: dse.add(store, wrong), wrong)
        check_refused(lambda wrong: study.histogram(wrong), wrong)
        for ds in (lazy, memory):
            check_refused(lambda wrong, ds=ds: dse.derive(ds, wrong), wrong)
            check_refused(lambda wrong, ds=ds: dse.histogram(ds, wrong), wrong)
            check_refused(lambda wrong, ds=ds: dse.quantiles(ds, wrong, 0.5), wrong)
            check_refused(lambda wrong, ds=ds: dse.optimum(ds, minimize=wrong), wrong)
    for outputs in (None, [], {}):
        with pytest.raises(DseError, match="name at least one quantity"):
            dse.add(store, outputs)  # type: ignore[arg-type]


def test_where_to_write(store: Path) -> None:
    study = Study(**SPEC)
    memory = study.run()
    for wrong in [wrong for wrong in WRONG if wrong is not None]:
        check_refused(lambda wrong: study.run(store=wrong), wrong)
        check_refused(lambda wrong: dse.export(memory, wrong), wrong)
    for what in ("fresh", "extend"):
        with pytest.raises(DseError, match=rf"{what} needs a store, and none is given"):
            study.run(**{what: True})
    with pytest.raises(DseError, match="expand = 'x': expected True or False"):
        study.run(expand="x")  # type: ignore[arg-type]
    with pytest.raises(DseError, match="a Study: expected a Dataset"):
        dse.derive(study, "bound")  # type: ignore[arg-type]


def test_a_folder_in_place_of_a_file_is_damage(store: Path) -> None:
    memory, best = Study(**SPEC).run(), Study(**SPEC).optimum(minimize="ms_throughput")
    hidden = store / ".simt-dse"
    for file in (
        *(store / "ms_throughput/c.0.0", hidden / "finished", hidden / "manifest"),
        *(hidden / "tiles").iterdir(),
    ):
        whole = file.read_bytes()
        file.unlink()
        (file / "inside").mkdir(parents=True)
        name = file.relative_to(store).as_posix()
        assert [(d.file, d.problem) for d in dse.verify(store).damages][:1] == [(name, "missing")]
        if "manifest" in name or "finished" in name:
            check_refused(lambda _: dse.optimum(store, minimize="ms_throughput"), None)
        else:  # its study answers
            assert dse.optimum(store, minimize="ms_throughput").identical(best)
            with without_model():
                check_refused(lambda _: dse.optimum(store, minimize="ms_throughput"), None)
        assert dse.verify(store, repair=True).is_repaired
        assert file.read_bytes() == whole
        assert not dse.verify(store).damages
    (store / "ms_throughput/c.0.0").unlink()
    (store / "ms_throughput/c.0.0").mkdir()
    xr.testing.assert_equal(Study(**SPEC).run(store=store).load(), memory)


STATUSES = [
    ("run study.toml --fresh", 2, "fresh needs a store"),
    ("run study.toml --extend", 2, "extend needs a store"),
    ("verify .", 2, "expected a path or URL"),
    ("add . time", 2, "expected a path or URL"),
    ("verify memory://nowhere/a.zarr", 2, "does not exist"),
    ("count memory://nowhere/a.zarr", 2, "does not exist"),
    *(
        (f"{command} https://127.0.0.1:9/a.zarr{options}", 1, "cannot be reached")
        for command, options in (
            ("run study.toml --store", ""),
            ("verify", ""),
            ("add", " ms_transition"),
            ("count", ""),
            ("quantiles", " --output threads"),
            ("optimum", " --minimize threads"),
            ("pareto", " --minimize threads"),
            ("export", " out.nc"),
        )
    ),
]


@pytest.mark.parametrize(("command", "status", "message"), STATUSES, ids=[s[0] for s in STATUSES])
def test_exit_statuses(
    command: str, status: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Misuse is 2, a failure 1."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(TEXT)
    result = CliRunner().invoke(main, command.split())
    assert (result.exit_code, message in result.stderr) == (status, True), result.stderr


def test_of_several_models_the_answer_says_whose_it_is(tmp_path: Path) -> None:
    models = ["occupancy + mwp_cwp", "occupancy + transit + transit_time"]
    text = Path(__file__).parents[2].joinpath("examples/two-models.toml").read_text()
    (tmp_path / "two.toml").write_text(text)
    command = ["optimum", str(tmp_path / "two.toml"), "--minimize", "time"]
    result = CliRunner().invoke(main, command).stdout
    assert sum(f"\n{model} " in result for model in models) == 1
    assert "--per model gives the best by each" in result
    each = CliRunner().invoke(main, [*command, "--per", "model"]).stdout
    assert all(model in each for model in models)
    assert "--per model" not in each


GIVEN: dict[str, Any] = {"machine": "gtx280", "threads_per_block": 128}
#: The library and a study, without types.
lib, STUDY = cast(Any, dse), cast(Any, Study(**SPEC))
UNCERTAIN: Any = Study(
    model="transit",
    set={"intensity": 4, "lanes_width": 32, "ms_peak": 1, "threads": 64},
    random={"mem_latency": dse.normal(600, 60)},
)
FREE = ["ms_peak_bandwidth"]
ROWS = {"threads_in_ms": [1, 2, 3], "attained_bandwidth": [1, 2, 3], "ms_transition": [9, 9, 9]}
WRONG_CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: lib.evaluate(5), "5 is no model: expected a name"),
    (lambda: lib.evaluate("gemm", machine=1), "machine = 1: expected a name or a path"),
    (
        lambda: lib.evaluate("gemm", machine={"b200"}),
        r"machine = \{'b200'\}: expected a name or",
    ),
    (lambda: lib.advise("gemm", workload=1), "workload = 1: expected a name or a path"),
    (
        lambda: lib.Study(),
        "dse.Study: missing a required argument: 'model'; its parameters",
    ),
    (lambda: lib.Study(model=3), "model = 3: expected a name"),
    (lambda: lib.Study("transit"), "dse.Study: too many positional arguments; its parameters"),
    (lambda: lib.Study(model="a.py", folder=3), "folder = 3: expected a folder as a Path"),
    (lambda: lib.Study(model=["transit", "gemm"], axis={}), "unexpected argument 'axis'; did you"),
    (lambda: lib.kernel("examples/strided-sum.ptx", set={"steps": "a"}), "set = {'steps': 'a'}: "),
    (
        lambda: lib.fit("transit_supply", ROWS, free=["ms_peak_bandwidth"], start=7),
        "start = 7: expected a mapping",
    ),
    (lambda: lib.discrete([1, 2], 7), "weights = 7: expected a list"),
    (lambda: lib.quantity("a", unit=7), "unit = 7: expected text"),
    (lambda: lib.equation(when=7), "when = 7: expected a mapping"),
    (lambda: UNCERTAIN.information(maximize="threads", sets=7), "sets = 7: expected a list"),
    (
        lambda: lib.Study(model="gemm", axis={}),
        "argument 'axis'; did you mean 'axes'?; its parameters",
    ),
    (
        lambda: STUDY.optimum(minimize=7),
        "minimize = 7: expected text, or a list of texts",
    ),
    (
        lambda: STUDY.optimum(minimise="time"),
        "'minimise'; did you mean 'minimize'?",
    ),
    (
        lambda: STUDY.optimum(minimize="threads", ties="no"),
        "ties = 'no': expected True or",
    ),
    (
        lambda: STUDY.explore(7),
        r"path = 7: expected text or a path; help\(dse.explore\)",
    ),
    (
        lambda: STUDY.explain(7),
        "dse.explain: too many positional arguments; its param",
    ),
    (lambda: STUDY.lazy(expand="x"), r"expand = 'x': expected True or False; help\(dse.Study.lazy"),
    (lambda: STUDY.run().dse.explain(7), "point = 7: expected a mapping from axes"),
    (
        lambda: lib.kernel("a.cu", 7),
        r"times = 7: expected a mapping from names; help\(dse.kernel",
    ),
    (lambda: lib.analyze(7, "b200"), "source = 7: expected text or a path"),
    (lambda: lib.analyze("a.cu", 7), "machine = 7: expected text or a list of texts"),
    (lambda: lib.load_fit(7), "path = 7: expected text or a path"),
    (lambda: lib.machines(7), "too many positional arguments; its parameters are none"),
    (lambda: lib.quantity(7), "name = 7: expected text"),
    (lambda: lib.equation(7), "function = 7: expected a function"),
]


@pytest.mark.parametrize(("call", "message"), WRONG_CALLS)
def test_a_wrong_argument_is_named_with_what_is_expected(
    call: Callable[[], Any], message: str
) -> None:
    with pytest.raises(DseError, match=message.replace("?", r"\?")):
        call()


def test_an_error_inside_a_correct_call_stays_as_it_is() -> None:
    def fail(_: Any) -> None:
        raise TypeError("of the caller")

    with pytest.raises(TypeError, match="of the caller") as caught:
        Study(**SPEC).run(progress=fail)
    assert not isinstance(caught.value, DseError)
    assert Study(**SPEC).optimum(minimize="threads", ties=np.bool_(True)).sizes == {"tie": 2}


def test_paths_name_machines_workloads_and_models(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["new", "workload", str(tmp_path / "w.toml")])
    assert result.exit_code == 0
    named: dict[str, Any] = {"workload": tmp_path / "w.toml", **GIVEN}
    expected = float(dse.evaluate("occupancy + mwp_cwp", workload="svm", **GIVEN).time)
    assert float(dse.evaluate("occupancy + mwp_cwp", **named).time) == expected
    assert dse.explain("occupancy + mwp_cwp", **named)["time"].value == expected
    assert dse.advise("occupancy + mwp_cwp", **named).moves
    (tmp_path / "m.py").write_text(
        "import dse\n\n@dse.equation(unit='s', meaning='a time')\n"
        "def double(threads):\n    return 2 * threads\n"
    )
    assert float(dse.evaluate(tmp_path / "m.py", threads=3).double) == 6
    study = Study(model=tmp_path / "m.py", axes={"threads": [1, 2]})
    assert study.run().dse.study.run().double.values.tolist() == [2, 4]
