"""A dataset of somebody else runs none of its sender's Python; a study that would is told of."""

from __future__ import annotations

import hashlib
import json
import pickle
import py_compile
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dse
import symbolic.library
from dse.api import Study
from dse.cli import main
from sweeps.store.records import checksum, decode_checked_json, encode_checked_json
from symbolic.errors import DseError
from symbolic.library import load_model

OWN = """
import dse
OUTPUTS = ("reach",)
width = dse.quantity("width", domain="[0, inf)")
@dse.equation(source="here")
def reach(width):
    return width * 3
@dse.equation(source="here")
def area(reach):
    return reach * 2
"""

#: What a store can say of where its model lies; ``@`` is the folder in which all of it lies.
PLACES = (
    "a.zarr/own.py",
    "@/a.zarr/own.py",
    "@/link.py",
    "own.py",
    "own",
    "../a.zarr/own",
    "@/a.zarr/own",
    "transit + a.zarr/own.py",
)

Run = Callable[..., Result]


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store of a model file, which leaves a mark when it is run, in the store."""
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "mark"
    text = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n{OWN}"
    Path("own.py").write_text(text)
    Study(model="own.py", axes={"width": [1, 2, 3]}).run(store="a.zarr")
    mark.unlink()
    forget(monkeypatch)
    return tmp_path


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the loaded models, as another process would not have them."""
    monkeypatch.setattr(symbolic.library, "_LOADED_FILES", {})
    symbolic.library._load_file.cache_clear()


def edit_store(folder: Path, place: str) -> str:
    """The store holds the file, and says that its model lies there, in all that tells of it."""
    (folder / "a.zarr" / "own.py").write_text((folder / "own.py").read_text())
    (folder / "link.py").symlink_to(folder / "a.zarr" / "own.py")
    place = place.replace("@", str(folder))
    path = folder / "a.zarr" / "zarr.json"
    tree = json.loads(path.read_text())
    study = json.loads(tree["attributes"]["study"])
    own = next(part.strip() for part in place.split("+") if "own" in part or "link" in part)
    digest = hashlib.sha256((folder / "own.py").read_bytes()).hexdigest()
    message = {
        "study": json.dumps({**study, "model": place}),
        "model": place,
        "model_files": json.dumps([[own, digest]]),
    }
    tree["attributes"] |= message
    path.write_text(json.dumps(tree))
    hidden = folder / "a.zarr" / ".simt-dse" / "manifest"
    manifest = decode_checked_json(hidden.read_bytes())
    assert manifest is not None
    manifest["files"]["zarr.json"] = checksum(path.read_bytes())
    hidden.write_bytes(encode_checked_json(manifest | message))
    return place


def ways(source: Any) -> list[Callable[[], Any]]:
    """All that may want the model of a dataset."""
    return [
        lambda: dse.optimum(source, minimize="reach"),
        lambda: dse.optimum(source, minimize="area"),
        lambda: dse.pareto(source, minimize=["reach", "area"]),
        lambda: dse.quantiles(source, "reach", 0.5),
        lambda: dse.sensitivity(source, "reach"),
        lambda: dse.meets(source, "reach <= 3"),
        lambda: dse.advise(source),
        lambda: dse.chances(source, minimize="reach"),
        lambda: dse.open("a.zarr", add="area"),
        lambda: dse.derive(dse.open("a.zarr"), "area"),
        lambda: dse.verify("a.zarr"),
        lambda: dse.verify("a.zarr", repair=True),
        lambda: dse.add("a.zarr", "area"),
    ]


def test_a_store_of_a_foreign_model_is_scanned_until_the_model_is_at_hand(
    evil: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for source in ("a.zarr", dse.open("a.zarr")):
        assert dse.optimum(source, maximize="reach").reach == 9
        assert dse.quantiles(source, "reach", 0.5).reach == 6
        assert dse.count(source, where="reach > 3").feasible_points == 2
        with pytest.raises(DseError, match="takes no method"):
            dse.optimum(source, maximize="reach", method="certified")
    assert not (evil / "mark").exists()
    monkeypatch.setenv("DSE_PATH", str(evil))
    result = dse.optimum("a.zarr", maximize="reach", method="certified")
    assert (result.reach, result.attrs["bound"]) == (9, 9)


@pytest.mark.parametrize("place", PLACES)
def test_nothing_that_a_store_names_is_run(
    place: str, evil: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = evil / "empty"
    empty.mkdir()
    monkeypatch.setenv("DSE_PATH", str(empty))  # `../a.zarr/own` leads out of it
    monkeypatch.setattr(sys, "path", [str(evil), *sys.path])
    edit_store(evil, place)
    ds = dse.open("a.zarr").load()
    ds.to_netcdf("a.nc")
    dse.export(ds, "a.csv")
    dse.export(dse.open("a.zarr"), "b.parquet")
    stored = pickle.loads(pickle.dumps(ds))
    for source in ("a.zarr", ds, dse.open("a.nc"), "a.csv", "b.parquet", stored):
        for ask in ways(source):
            with suppress(DseError):
                ask()
    for command in (
        *(["verify", "a.zarr"], ["add", "a.zarr", "area"], ["export", "a.zarr", "c.nc"]),
        *(["optimum", s, "--minimize", "area"] for s in ("a.zarr", "a.nc", "a.csv", "b.parquet")),
        ["count", "a.zarr", "--where", "area < 5"],
        ["plot", "a.zarr", "area", "--out", "a.png"],
    ):
        CliRunner().invoke(main, command)
    assert not (evil / "mark").exists()
    with pytest.raises(DseError, match="what a dataset names is not run"):
        dse.derive(ds, "area")


def test_the_way_out_exists_in_every_command(evil: Path) -> None:
    result = CliRunner().invoke(
        main, ["optimum", "a.zarr", "--minimize", "reach", "--where", "area * 2 <= 8"]
    )
    assert "cannot be read" in result.output
    assert "give the study file in place of the store, or as --study to dse add" in result.output


def test_a_store_at_a_url(evil: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Study(model="own.py", axes={"width": [1, 2, 3]}).run(store="memory://foreign/a.zarr")
    (evil / "mark").unlink()
    forget(monkeypatch)
    for ask in (dse.verify, lambda url: dse.optimum(url, minimize="area")):
        with pytest.raises(DseError, match=r"model file own\.py.* not among yours"):
            ask("memory://foreign/a.zarr")
    assert not (evil / "mark").exists()


def test_ones_own_model_is_found(evil: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DSE_PATH, an earlier run or the study find it, if it is the same file."""
    ds = dse.open("a.zarr").load()
    with pytest.raises(DseError, match="put the folder of that file on DSE_PATH"):
        dse.optimum(ds, minimize="area")
    assert dse.verify("a.zarr", study=Study(model="own.py", axes={"width": [1, 2, 3]})).tiles == 1
    assert float(dse.optimum(ds, minimize="area").area) == 6  # run above, by the user's own word
    forget(monkeypatch)
    mine = evil / "mine"
    mine.mkdir()
    monkeypatch.setenv("DSE_PATH", str(mine))
    (mine / "own.py").write_text((evil / "own.py").read_text() + "# other\n")
    (evil / "mark").unlink()
    with pytest.raises(DseError, match=r"mine/own\.py is another file"):
        dse.optimum("a.zarr", minimize="area")
    assert not (evil / "mark").exists()
    (mine / "own.py").write_text((evil / "own.py").read_text())
    assert float(dse.optimum("a.zarr", minimize="area").area) == 6
    assert dse.verify("a.zarr").damages == ()
    assert dse.add("a.zarr", "area").area.values.tolist() == [6, 12, 18]


def test_a_comment_is_no_damage(evil: Path) -> None:
    (evil / "own.py").write_text((evil / "own.py").read_text() + "# as before\n")
    study = Study(model="own.py", axes={"width": [1, 2, 3]})
    assert dse.verify("a.zarr", study=study).damages == ()
    assert study.run(store="a.zarr").reach.values.tolist() == [3, 6, 9]


def test_what_is_hashed_is_run(tmp_path: Path) -> None:
    """No bytecode beside a model file takes its place."""
    path = tmp_path / "own.py"
    path.write_text(OWN.replace("width * 3", "width * 7"))
    py_compile.compile(str(path), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    path.write_text(OWN)
    assert load_model(str(path)).variants("reach")[0](2.0) == 6


def test_other_zarr_formats_are_not_read(tmp_path: Path) -> None:
    """The second can name a codec that unpickles what it reads."""
    import xarray as xr

    xr.Dataset({"x": ("k", [1, 2])}).to_zarr(tmp_path / "a.zarr", zarr_format=2)
    with pytest.raises(DseError, match="is no zarr store that can be read"):
        dse.open(tmp_path / "a.zarr")


# --- studies


@pytest.fixture
def inbox(evil: Path) -> Path:
    """A folder with studies, one of which names a file outside it."""
    folder = evil / "received"
    (folder / "models").mkdir(parents=True)
    near = {"own.py": "own.py", "models/own.py": "models/own.py"}
    for name in near.values():
        (folder / name).write_text((evil / "own.py").read_text())
    (folder / "link.py").symlink_to(evil / "own.py")
    places = {"near": "own.py", "below": "models/own.py", "far": "../own.py", "link": "link.py"}
    for name, place in places.items():
        (folder / f"{name}.toml").write_text(f'model = "{place}"\naxes.width = [1, 2]\n')
    return folder


def test_a_study_runs_what_lies_beside_it(
    inbox: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("near", "below"):
        assert "2 points" in run("plan", f"{inbox}/{name}.toml").stdout
    (inbox.parent / "mark").unlink()
    for name in ("far", "link"):
        for command in (["plan"], ["run"], ["optimum", "--minimize", "reach"], ["count"]):
            output = run(*command, f"{inbox}/{name}.toml", status=2).stderr
            assert "outside its folder and DSE_PATH, and there is no terminal to ask on" in output
        run(
            "verify",
            str(inbox.parent / "a.zarr"),
            "--study",
            f"{inbox}/far.toml",
            status=2,
        )
    assert not (inbox.parent / "mark").exists()
    monkeypatch.setenv("DSE_PATH", str(inbox.parent))
    assert "2 points" in run("plan", f"{inbox}/far.toml").stdout


@pytest.mark.parametrize("answer", ["y", "n"])
def test_somebody_is_asked(
    answer: str, inbox: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = []

    def confirm(text: str, **_: Any) -> bool:
        query.append(text)
        return answer == "y"

    monkeypatch.setattr("dse.cli.command.is_interactive", lambda: True)
    monkeypatch.setattr("click.confirm", confirm)
    result = run("plan", f"{inbox}/far.toml", status=0 if answer == "y" else 2)
    assert len(query) == 1
    assert query[0].endswith("own.py', outside its folder and DSE_PATH. Run it?")
    assert (inbox.parent / "mark").exists() == (answer == "y")
    assert ("2 points" in result.stdout) == (answer == "y")


def test_a_plan_without_code(inbox: Path, run: Run) -> None:
    for name, near in (("near", True), ("far", False)):
        output = run("plan", f"{inbox}/{name}.toml", "--no-code").stdout
        assert "nothing was run" in output
        assert ("outside its folder" in output) != near
        data = json.loads(run("plan", f"{inbox}/{name}.toml", "--no-code", "--json").stdout)
        (code,) = data["would_run"]
        assert code["equations"] == (["reach", "area"] if near else [])  # the far is not opened
        assert code["imports"] == (["dse", "pathlib"] if near else [])
        assert code["near"] == near
    (inbox / "near.toml").write_text('model = ["transit", "own.py"]\naxes.width = [1, 2]\n')
    assert "own.py" in run("plan", f"{inbox}/near.toml", "--no-code").stdout
    assert not (inbox.parent / "mark").exists()
    assert "21 points" in run("plan", "study.toml", "--no-code").stdout


def test_a_store_answers_by_its_values_where_a_file_that_its_model_imports_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "factor_of_mine.py").write_text("FACTOR = 3\n")
    (tmp_path / "mine.py").write_text(
        "import dse\nimport factor_of_mine\n\nx = dse.quantity('x')\n\n\n"
        "@dse.equation(source='here', table=True)\ndef y(x):\n"
        "    return factor_of_mine.FACTOR * x\n"
    )
    study = dse.Study(model=str(tmp_path / "mine.py"), axes={"x": [1.0, 2.0, 3.0]})
    study.run(store=tmp_path / "a.zarr")
    sys.modules["factor_of_mine"].FACTOR = -100  # type: ignore[attr-defined]
    assert dse.optimum(tmp_path / "a.zarr", maximize="y").y.item() == 9
