"""Foreign files make the tool open no other file and print no control characters."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import Result

import dse
from symbolic.errors import DseError
from symbolic.file_access import TABLE_LIMIT, TEXT_LIMIT

Run = Callable[..., Result]

SET: dict[str, Any] = {"intensity": 10, "lanes_width": 32, "ms_peak": 1}
AXES = {"threads": [256, 512], "mem_latency": [300, 600]}
MACHINE = 'title = "own"\n[values]\nmem_latency = { value = 300, source = "s" }\n'
LAW = {"file": "SECRET", "column": "HUSH", "unit": "cycle"}


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that no Dataset and no study may open, beside a folder of what was received."""
    monkeypatch.delenv("DSE_PATH", raising=False)
    (tmp_path / "received").mkdir()
    monkeypatch.chdir(tmp_path / "received")
    path = tmp_path / "secret.csv"
    path.write_text("HUSH\n1\n")
    return path


def run_naming(keys: dict[str, Any], place: object) -> xr.Dataset:
    """The Dataset of a run which says that its study names a file."""
    ds = dse.Study(model="transit", axes=AXES, set=SET).run()
    tree = json.loads(ds.attrs["study"])
    data = json.loads(json.dumps(keys).replace("SECRET", str(place)))
    return ds.assign_attrs(study=json.dumps({**tree, **data}))


@pytest.mark.parametrize(
    "keys",
    [
        {"random": {"mem_latency": LAW}},
        {"random": {"x": {"fit": "SECRET"}}},
        {"fit": "SECRET"},
        {"fit": {"file": "SECRET"}},
        {"machine": "SECRET.toml"},
        {"workload": "SECRET.toml"},
        {"set": {"distribution": "SECRET.csv", "lanes": 32}, "model": "imbalance"},
        {"axes": {"machine": ["SECRET.toml"]}},
    ],
    ids=str,
)
def test_a_dataset_opens_no_file_that_it_names(keys: dict[str, Any], secret: Path) -> None:
    for place in (secret, f"../{secret.name}", "/dev/zero"):
        with pytest.raises(DseError) as caught:
            dse.derive(run_naming(keys, place), "threads_needed")
        assert "a Dataset opens no other file" in str(caught.value)
        assert str(place) in str(caught.value)
        assert "HUSH" not in str(caught.value).replace("'HUSH'", "")


def test_a_dataset_finds_files_in_folders_that_the_user_lists(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = secret.parent / "own"
    own.mkdir()
    (own / "listed-by-the-user.toml").write_text(MACHINE)
    ds = dse.Study(
        model="transit", machine=str(own / "listed-by-the-user.toml"), axes=AXES, set=SET
    ).run()
    ds = ds.assign_attrs(
        study=ds.attrs["study"].replace(
            str(own / "listed-by-the-user.toml"), "listed-by-the-user.toml"
        )
    )
    with pytest.raises(DseError, match="list in DSE_PATH the folder"):
        dse.derive(ds, "threads_in_ms")
    monkeypatch.setenv("DSE_PATH", str(own))
    with pytest.raises(DseError, match="other equations, values"):  # found, and another name
        dse.derive(ds.drop_vars("threads_in_ms"), "threads_in_ms")


STUDIES = {
    "machine": 'machine = "../secret.toml"',
    "workload": 'workload = "../secret.toml"',
    "fit": 'fit = "../secret.fit.json"',
    "random": 'random = { ms_peak = { file = "../secret.csv", column = "a", unit = "1" } }',
    "joint": 'random = { x = { fit = "../secret.fit.json" } }',
    "link": 'machine = "link.toml"',
    "folder": 'machine = "far/secret.toml"',
    "base": 'machine = "child.toml"',
    "model": 'model = "../secret.py"',
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_file_opens_nothing_outside_its_folder(
    name: str, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ending in ("toml", "fit.json", "py", "csv"):
        secret.with_name(f"secret.{ending}").write_text("HUSH")
    Path("link.toml").symlink_to(secret.with_name("secret.toml"))
    Path("far").symlink_to(secret.parent)
    Path("child.toml").write_text('title = "x"\nbase = "../secret.toml"\n')
    model = "" if name == "model" else 'model = "transit"\n'
    Path("study.toml").write_text(f"{model}{STUDIES[name]}\naxes.threads = [256, 512]\n")
    for ask in (dse.Study.from_toml, lambda path: dse.optimum(path, minimize="ms_throughput")):
        with pytest.raises(DseError, match=r"the study names the .*DSE_PATH=") as caught:
            ask("study.toml")
        way_out = r"put it below the study's folder, or set DSE_PATH="
        assert name == "model" or re.search(way_out, str(caught.value))
        assert "HUSH" not in str(caught.value)
    monkeypatch.setenv("DSE_PATH", str(secret.parent))  # the user's word that they may be opened
    with pytest.raises(DseError) as caught:
        dse.Study.from_toml("study.toml")
    assert "DSE_PATH=" not in str(caught.value)


def test_a_missing_file_of_a_study_is_below_the_folder_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("studies").mkdir()
    Path("w.toml").write_text("")
    Path("studies/s.toml").write_text('model = "ipp"\nworkload = "w.toml"\nmachine = "gtx280"\n')
    with pytest.raises(DseError, match=r"\): paths are relative to the study file$"):
        dse.Study.from_toml("studies/s.toml")
    with pytest.raises(DseError, match=r"looked for .*\)$"):
        dse.Study(model="ipp", workload="v.toml", machine="gtx280")


def test_files_below_the_folder_and_those_of_the_command_line_are_opened(
    secret: Path, run: Run
) -> None:
    folder = secret.parent / "received"
    (folder / "machines").mkdir()
    (folder / "machines" / "m.toml").write_text(MACHINE)
    secret.with_name("mine.toml").write_text(MACHINE)
    text = 'model = "transit"\nmachine = "machines/m.toml"\naxes.threads = [256, 512]\n'
    text += "set = { intensity = 10, lanes_width = 32, ms_peak = 1 }\n"
    (folder / "study.toml").write_text(text)
    study = str(folder / "study.toml")
    assert "2 points" in run("plan", study).stdout
    run("run", study, "--set", "machine=../mine.toml")
    point = ("threads=256", "intensity=10", "lanes_width=32", "ms_peak=1")
    run("evaluate", "transit", "--machine", str(secret.with_name("mine.toml")), *point)


def test_devices_pipes_and_huge_files_are_refused_at_once(secret: Path, run: Run) -> None:
    folder = secret.parent / "received"
    os.mkfifo(folder / "pipe.csv")
    os.mkfifo(folder / "pipe.toml")
    os.mkfifo(folder / "pipe.zarr")
    (folder / "zero.csv").symlink_to("/dev/zero")
    for name, size in (("huge.toml", TEXT_LIMIT), ("huge.csv", TABLE_LIMIT)):
        with (folder / name).open("wb") as file:
            file.truncate(size + 1)
    for name in ("pipe.csv", "zero.csv", "pipe.toml"):
        output = run("optimum", str(folder / name), "--minimize", "x", status=2).stderr
        assert "is a device, pipe or socket" in output
    head = 'model = "transit"\naxes.threads = [1, 2]\n'
    law = 'random = { ms_peak = { file = "huge.csv", column = "a", unit = "1" } }\n'
    for line, what in ((law, "16,777,216"), ('machine = "huge.toml"\n', "1,048,576")):
        (folder / "study.toml").write_text(head + line)
        output = run("plan", str(folder / "study.toml"), status=2).stderr
        assert f"more than {what} bytes" in output


@pytest.mark.parametrize("target", ["/dev/zero", "../secret.csv"])
def test_a_store_with_links_that_lead_out_is_refused(target: str, secret: Path) -> None:
    dse.Study(model="transit", axes=AXES, set=SET).run(store="a.zarr")
    Path("a.zarr/ms_throughput/c.0.0").unlink()
    Path("a.zarr/ms_throughput/c.0.0").symlink_to(Path(target).absolute())
    for ask in (dse.open, dse.verify, lambda path: dse.optimum(path, minimize="ms_throughput")):
        with pytest.raises(DseError, match=r"'ms_throughput/c\.0\.0' is a link that leads out"):
            ask("a.zarr")


def test_a_copy_without_its_records_says_so_and_misses_no_chunk(secret: Path) -> None:
    dse.Study(model="transit", axes=AXES, set=SET).run(store="a.zarr")
    subprocess.run("mkdir b.zarr && cp -r a.zarr/* b.zarr/", shell=True, check=True)
    with pytest.warns(UserWarning, match=r"has no records \(\.simt-dse\)"):
        assert dse.optimum("b.zarr", maximize="ms_throughput").threads.item() == 512
    Path("b.zarr/ms_throughput/c.0.0").unlink()
    with pytest.raises(DseError, match=r"lacks 1 of its chunks, such as ms_throughput/c\.0\.0"):
        dse.optimum("b.zarr", maximize="ms_throughput")
    dse.export(dse.open("a.zarr"), "c.zarr")  # zarr itself leaves out chunks of fill values
    assert dse.open("c.zarr").sizes == {"threads": 2, "mem_latency": 2}


@pytest.mark.filterwarnings("ignore")  # zarr and xarray warn of stores without one description
@pytest.mark.parametrize("consolidated", [True, False])
@pytest.mark.parametrize("way", ["chunk", "axis", "file", "shard"])
def test_a_store_with_huge_chunks_or_axes_is_refused(
    way: str, consolidated: bool, secret: Path
) -> None:
    ds = xr.Dataset({"time": ("k", [1.0, 2.0])}, coords={"k": [1, 2]})
    shards = {"time": {"shards": (2,), "chunks": (1,)}} if way == "shard" else {}
    ds.to_zarr("a.zarr", zarr_format=3, consolidated=consolidated, encoding=shards)
    assert dse.open("a.zarr").sizes == {"k": 2}
    for path in Path("a.zarr").rglob("zarr.json"):
        tree = json.loads(path.read_text())
        inline = dict((tree.get("consolidated_metadata") or {}).get("metadata", {}))
        inline[path.parent.name] = tree
        for name in {"chunk": ["time"], "shard": ["time"], "axis": ["k"]}.get(way, []):
            about = inline.get(name, {"node_type": "none"})
            if about["node_type"] != "array" or about.get("dimension_names") != ["k"]:
                continue
            if way == "shard":
                about["codecs"][0]["configuration"]["chunk_shape"] = [3 << 27]
            if way == "axis":
                about["shape"] = [10**12]
            else:
                about["chunk_grid"]["configuration"]["chunk_shape"] = [3 << 27]
        path.write_text(json.dumps(tree))
    if way == "file":
        with Path("a.zarr/time/c/0").open("wb") as file:
            file.truncate(3 << 30)
    for ask in (dse.open, lambda path: dse.export(dse.open(path), "b.nc")):
        with pytest.raises(DseError, match=r"is not read: .* at most 1,073,741,824 are read at"):
            ask("a.zarr")


@pytest.mark.filterwarnings("ignore")  # zarr warns of text of a fixed length
def test_arrays_of_odd_types_are_checked_and_hide_no_other(secret: Path) -> None:
    ds = xr.Dataset({"label": ("k", np.array(["a", "bc"])), "time": ("k", [1.0, 2.0])})
    ds.to_zarr("a.zarr", zarr_format=3)
    assert dse.open("a.zarr").label.values.tolist() == ["a", "bc"]
    path = Path("a.zarr/zarr.json")
    for name, key, value in (
        ("time", "chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [3 << 27]}}),
        (
            "label",
            "data_type",
            {"name": "fixed_length_utf32", "configuration": {"length_bytes": 3 << 29}},
        ),
    ):
        tree = json.loads(path.read_text())
        tree["consolidated_metadata"]["metadata"][name][key] = value
        (Path("b.zarr") / name).mkdir(parents=True, exist_ok=True)
        Path("b.zarr/zarr.json").write_text(json.dumps(tree))
        with pytest.raises(DseError, match=r"is not read: .* at most 1,073,741,824 are read at"):
            dse.open("b.zarr")
    tree["consolidated_metadata"]["metadata"]["label"]["data_type"] = "nothing"
    Path("b.zarr/zarr.json").write_text(json.dumps(tree))
    with pytest.raises(DseError, match="is no zarr store that can be read"):
        dse.open("b.zarr")


LABELS = [
    "\x1b]0;OWNED\x07\x1b[2J\x1b[Hcertified: none is better",
    "b\n   1  trusted     0.1",
    "\u202egnp.exe",
    "\x9b31m",
    "<script>alert(1)</script>",
]
STEERING = ("\x1b", "\x07", "\x9b", "\u202e")


def test_labels_of_a_file_steer_no_terminal(run: Run) -> None:
    about = {"units": "s", "long_name": "\x1b[2J"}
    time = (("machine",), np.arange(5.0), about)
    ds = xr.Dataset({"time": time}, coords={"machine": LABELS}, attrs={"title": "\x1b[2J"})
    dse.export(ds, "evil.zarr")
    dse.export(ds, "evil.csv")
    for source in ("evil.zarr", "evil.csv"):
        for command in (
            ["optimum", source, "--minimize", "time", "--top", "5"],
            ["optimum", source, "--minimize", "time", "--top", "5", "--json"],
            ["pareto", source, "--minimize", "time"],
            ["sensitivity", source, "--output", "time"],
            ["histogram", source, "--output", "time"],
        ):
            output = run(*command).output
            assert not [sign for sign in STEERING if sign in output]
            assert not any(line.startswith("   1  trusted") for line in output.splitlines())
    result = json.loads(run("optimum", "evil.zarr", "--minimize", "time", "--json").stdout)
    assert result["rows"][0]["machine"] == LABELS[0]  # nothing is lost
    output = run("optimum", "evil.zarr", "--minimize", "tme", status=2).output
    assert not [sign for sign in STEERING if sign in output]
    run("explore", "evil.zarr", "--out", "page.html")
    page = Path("page.html").read_text()
    assert not [sign for sign in (*STEERING, "<script>alert") if sign in page]
    shown = dse.table(dse.optimum("evil.zarr", minimize="time", top=5))._repr_html_()
    assert not [sign for sign in (*STEERING, "<script>") if sign in shown]


def test_titles_and_sources_of_a_machine_steer_no_terminal(run: Run) -> None:
    Path("m.toml").write_text(
        'title = "x\\u001b]0;OWNED\\u0007\\u001b[2J"\n'
        '[values]\nn_sms = { value = 4, source = "\\u001b[31ms\\u202e" }\n'
    )
    output = run("machines", "m.toml").output
    assert "\\u001b]0;OWNED\\u0007" in output
    assert not [sign for sign in STEERING if sign in output]


def test_the_label_of_a_slope_is_one_line(run: Run) -> None:
    time = (("threads", "machine"), np.arange(6.0).reshape(2, 3), {"units": "s"})
    coords = {"threads": [1, 2], "machine": ["a", "b\nFORGED", "c"]}
    dse.export(xr.Dataset({"time": time}, coords=coords), "a.csv")
    output = run("sensitivity", "a.csv", "--output", "time").output
    assert "b\\nFORGED; elasticities" in output
    assert "\nFORGED" not in output


def test_a_title_of_several_lines_is_one(run: Run) -> None:
    Path("m.toml").write_text(
        'title = "x\\nFORGED"\n[values]\nn_sms = { value = 4, source = "s" }\n'
    )
    assert "m: x\\nFORGED\n" in run("machines", "m.toml").output


def test_a_name_that_is_too_long_for_a_file_ends_in_words() -> None:
    name = "x" * 5000 + ".toml"
    with pytest.raises(DseError, match="its name is too long"):
        dse.Study(model="transit", machine=name, axes=AXES, set=SET).run()
    with pytest.raises(DseError, match="its name is too long"):
        dse.machine(name)


def test_an_error_forges_no_other_message(run: Run) -> None:
    output = run("plan", "x\nError: y.toml", status=2).stderr
    assert "\nError: y" not in output.partition("Error:")[2]


def test_text_in_csv_is_no_formula_and_comes_back(tmp_path: Path) -> None:
    texts = [
        "=1+1",
        "+a",
        "-b",
        "@x",
        "'=q",
        "''=z",
        "'plain",
        "\t=t",
        "a,=1+1",
        "\r=x",
        "a\nb",
        "",
    ]
    variables: dict[str, Any] = {
        "time": (("machine",), -np.arange(12.0)),
        "=HYPERLINK(1)": (("machine",), np.arange(12)),
    }
    about = {"title": "x,=1+1", "note": 'a",@b', "many": ["=a", "b"]}
    ds = xr.Dataset(variables, coords={"machine": texts}, attrs=about)
    dse.export(ds, tmp_path / "a.csv")
    first, _, rest = (tmp_path / "a.csv").read_bytes().decode().partition("\n")
    assert not [cell for cell in first.split(",") if cell.lstrip()[:1] in ("=", "@")]
    cells = [cell for row in csv.reader(rest.split("\n")[:-1]) for cell in row]
    assert not [cell for cell in cells if cell[:1] in ("=", "@")]
    xr.testing.assert_identical(dse.open(tmp_path / "a.csv"), ds)


def test_a_header_of_csv_is_read_with_limits(tmp_path: Path) -> None:
    dse.export(xr.Dataset({"time": ("k", [1.0, 2.0])}), tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    for old, new in (
        ('"dtype": "<f8"', '"dtype": "<U1000000000"'),
        ('"sizes": {', '"sizes": ' + "[" * 100_000),
        ('"attrs": {', '"attrs": {"x": {"array": [1], "dtype": "S1999999999"}, '),
        ('"attrs": {', '"attrs": {"x": "' + "y" * 10_000_000 + '", '),
    ):
        (tmp_path / "b.csv").write_text(text.replace(old, new, 1))
        with pytest.raises(DseError, match="is no CSV file that can be read"):
            dse.open(tmp_path / "b.csv")


@pytest.mark.parametrize("ending", ["zarr", "csv", "parquet"])
def test_what_is_too_long_to_be_read_is_not_written(ending: str, tmp_path: Path) -> None:
    ds = xr.Dataset({"time": ("k", [1.0, 2.0])}, attrs={"note": "x" * (8 << 20)})
    with pytest.raises(DseError, match="at most 8,388,608 are read"):
        dse.export(ds, tmp_path / f"a.{ending}")
    assert not [*tmp_path.iterdir()]


def test_a_store_with_weights_that_are_too_many_to_be_read_is_not_begun(tmp_path: Path) -> None:
    weights = [k / 7 for k in range(1, 400_001)]
    study = dse.Study(
        model="transit",
        axes={"threads": {"values": range(1, 400_001), "weights": weights}},
        set=SET | {"mem_latency": 300},
        outputs=["mean(ms_throughput, threads)"],
    )
    with pytest.raises(DseError, match="give fewer values with weights"):
        study.run(store=tmp_path / "a.zarr")
    assert not (tmp_path / "a.zarr" / "zarr.json").exists()


def test_an_error_far_down_a_long_file_is_told_soon(tmp_path: Path) -> None:
    rows = "".join(f"# {k}\n" for k in range(50_000))
    (tmp_path / "m.toml").write_text(f'title = "x"\n{rows}[values]\nn_sms = {{ value = 1 }}\n')
    with pytest.raises(DseError, match="neither source nor assumed"):
        dse.machine(str(tmp_path / "m.toml"))


def test_some_foreign_inputs(tmp_path: Path) -> None:
    """Drawn as by ``python -m tests.dse.foreign``, in a process that is audited."""
    seeds = random.Random(3).sample(range(10**6, 10**6 + 400), 8)
    code = (
        "import sys, tempfile, pathlib\n"
        "from tests.dse import foreign\n"
        f"place = pathlib.Path({str(tmp_path)!r})\n"
        "foreign.make_outside_files(place)\n"
        f"for seed in {seeds}:\n"
        "    for line in foreign.one(seed, place, 30.0)[0]:\n"
        "        print(ascii(line))\n"
    )
    root = Path(dse.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]
