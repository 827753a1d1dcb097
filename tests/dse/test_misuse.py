"""Wrong input to the public functions: one clear error, whatever was given; exit statuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
