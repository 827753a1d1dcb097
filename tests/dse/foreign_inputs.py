"""Datasets and studies that somebody else may send: hostile paths, texts, numbers and sizes."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import socket
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import dse

#: A line of its own with this text in the output was forged by a file.
FORGED = "FORGED"
BOMB = "bomb.csv.gz"
SECRET = "HUSH"  # stands in every file outside
SET = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
STUDY: dict[str, Any] = {
    "model": "transit",
    "axes": {"threads": [256, 512, 1024], "mem_latency": [300, 600]},
    "set": {"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    "where": [],
    "outputs": ["ms_throughput", "cs_throughput", "bound"],
}
ENDINGS = (".toml", ".csv", ".csv.gz", ".fit.json", ".py")
TEXTS = (
    "\x1b]0;OWNED\x07\x1b[2J\x1b[H",
    f"b\n{FORGED}  1  trusted  0.1",
    f"a\r{FORGED}",
    "\u202egnp.exe\u202c",
    "\u2066x\u2069\u200f",
    "\x9b31m",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><b onclick='x'>",
    "=HYPERLINK(1)",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "'=1",
    "x,=1+1",
    "$\\frac{",
    "$x_{$^",
    "{{title}}",
    "%s%n{0}",
    "a" * 3000,
    "",
    " ",
    "nan",
    "\0",
    "\ud800",
    "__import__('os').system('x')",
    "µ é 漢字",
)
JSONS = (
    "[" * 100_000,
    '{"a":' * 50_000,
    "[1," * 1000,
    "[" + "1," * 300_000 + "1]",
    "9" * 5000,
    "null",
    "[]",
    "{}",
    '"text"',
    "[[[1]]]",
    '{"outputs": 5}',
    '{"outputs": [{}], "axes": 7}',
    '[{"name": 1}]',
    "NaN",
    "\ud800",
)
NUMBERS = (0, -1, 1e308, 5e-324, float("nan"), float("inf"), 2**53, 10**30, True, None, "1 GB/s")


def make_outside(folder: Path) -> None:
    """Fill a folder with files that nobody may open."""
    folder.mkdir()
    for ending in ENDINGS:
        name = folder / f"secret{ending}"
        text = f"{SECRET} = 1\n{SECRET},2\n"
        name.write_bytes(gzip.compress(text.encode()) if ending.endswith(".gz") else text.encode())
    (folder / BOMB).write_bytes(gzip.compress(b"1\n" * (24 << 20), 1))


def make_received(folder: Path, outside: Path, rng: random.Random) -> None:
    """Fill a folder with what a sender may put beside a study."""
    folder.mkdir()
    (folder / "sub").mkdir()
    (folder / "far").symlink_to(outside)
    (folder / "round").symlink_to(folder / "round")
    for ending in ENDINGS:
        (folder / f"link{ending}").symlink_to(outside / f"secret{ending}")
        (folder / f"zero{ending}").symlink_to("/dev/zero")
        (folder / f"gone{ending}").symlink_to("nowhere")
        os.mkfifo(folder / f"pipe{ending}")
        with (folder / f"huge{ending}").open("wb") as file:
            file.truncate(3 << 30)
        (folder / f"folder{ending}").mkdir()
    shutil.copy(outside / BOMB, folder)
    (folder / "sub" / "runs.csv").write_text("lat,w\n300,1\n400,2\n")
    (folder / "sub" / "law.csv").write_text("3\n4\n5\n")
    (folder / "m.toml").write_text(machine(rng))
    server = socket.socket(socket.AF_UNIX)
    cwd = Path.cwd()
    os.chdir(folder)  # the names of sockets are short
    try:
        server.bind("socket.csv")
    finally:
        os.chdir(cwd)
        server.close()


def machine(rng: random.Random) -> str:
    """A machine file with hostile texts."""
    title, source = (json.dumps(rng.choice(TEXTS[:20]) or "x") for _ in range(2))
    base = rng.choice(["", "", f"base = {json.dumps(path('.toml', rng))}\n"])
    kind = rng.choice(["", f"kind = {title}\n"])
    return f"title = {title}\n{kind}{base}[values]\nn_sms = {{ value = 4, source = {source} }}\n"


def path(ending: str, rng: random.Random) -> str:
    """A path that ends in this, to what should not be opened; sometimes to what may."""
    places = (
        *(f"../outside/secret{ending}", f"@/outside/secret{ending}", f"link{ending}"),
        *(f"far/secret{ending}", f"sub/../../outside/secret{ending}", f"zero{ending}"),
        *(f"pipe{ending}", f"huge{ending}", f"gone{ending}", f"folder{ending}", f"absent{ending}"),
        *(f"~/secret{ending}", f"~root/secret{ending}", f"round/x{ending}", f"a\0{ending}"),
        *(f"/dev/zero{ending}", "/dev/zero", "/etc/passwd", "/proc/self/environ", "socket.csv"),
        *("bomb.csv.gz", "sub/runs.csv", "sub/law.csv", "m.toml", "sub", "", ".", "..", "-"),
        *("x" * 5000 + ending, "http://127.0.0.1:1/x" + ending, "file:///etc/passwd", "\ud800"),
        *(f"\x1b[2J\n{FORGED}{ending}", f"|id{ending}", f"$(id){ending}", f"memory://x{ending}"),
    )
    return rng.choice(places)


def study_tree(rng: random.Random) -> dict[str, Any]:
    """A study that names files, and holds what no study means."""
    tree: dict[str, Any] = json.loads(json.dumps(STUDY))
    hostile = rng.choice(TEXTS)
    columns = {"mem_latency": "lat"}
    changes: tuple[tuple[str, Any], ...] = (
        ("machine", path(".toml", rng)),
        ("workload", path(".toml", rng)),
        ("fit", path(".fit.json", rng)),
        ("fit", {"file": path(".fit.json", rng), "label": hostile}),
        ("fit", {"values": {"intensity": hostile}, "sources": {"intensity": hostile}}),
        ("random", {"mem_latency": {"file": path(".csv", rng), "column": "lat", "unit": "cycle"}}),
        ("random", {"x": {"file": path(".csv", rng), "columns": columns}}),
        ("random", {"x": {"fit": path(".fit.json", rng)}}),
        (
            "random",
            {"mem_latency": "normal: 450 cycles, 5 %", "draws": 1 << rng.choice([3, 8, 30, 60])},
        ),
        ("model", path(".py", rng)),
        ("model", f"transit + {path('.py', rng)}"),
        ("model", ["transit", path(".py", rng)]),
        ("model", hostile),
        ("prefer", hostile),
        ("where", [hostile]),
        ("outputs", [hostile]),
        ("best", {"minimize": hostile}),
        ("set", {"distribution": path(".csv", rng), "lanes": 32}),
        ("set", {hostile: 1}),
        ("set", {"intensity": rng.choice(NUMBERS)}),
        ("set", {"intensity": {"values": [1] * 5, "dims": ["threads"], "labels": hostile}}),
        ("axes", {"machine": [path(".toml", rng), "gtx280"]}),
        ("axes", {"distribution": [path(".csv", rng), path(".csv.gz", rng)]}),
        ("axes", {"threads": {"linspace": [1, 2, 10 ** rng.choice([3, 5, 11, 15])]}}),
        ("axes", {"threads": {"start": 1, "stop": 10 ** rng.choice([3, 5, 11, 18])}}),
        ("axes", {"threads": {"values": [1, 2], "weights": [1, 10**400]}}),
        ("axes", {hostile: [hostile]}),
        ("axes", {"threads": [*range(20_000)], "mem_latency": [300]}),
        (hostile, hostile),
    )
    harmless: tuple[tuple[str, Any], ...] = (
        ("random", {"mem_latency": {"file": "sub/runs.csv", "column": "lat", "unit": "cycle"}}),
        ("random", {"mem_latency": "normal: 450 cycles, 5 %", "draws": 16}),
        ("where", ["threads > 256"]),
        ("axes", {"threads": {"values": [256, 512], "weights": [1, 10**6]}}),
        ("axes", {"threads": [*range(1, 3000)]}),
    )
    given = rng.sample(harmless, 1) if rng.random() < 0.6 else []
    tree |= dict(given or rng.sample(changes, rng.choice([1, 1, 1, 2, 3])))
    if isinstance(tree.get("random"), dict):
        tree["axes"].pop("mem_latency", None)
        tree["outputs"] = ["ms_throughput"] if given else tree["outputs"]
    if "mem_latency" not in {*tree["axes"], *tree.get("random", ())}:
        tree["set"] = {"mem_latency": 300, **tree["set"]}
    if "distribution" in str(tree["set"]) or "distribution" in str(tree["axes"]):
        tree |= {"model": "imbalance", "outputs": rng.choice([None, ["slowdown"]])}
        tree["set"] = {"lanes": 32, **(tree["set"] if "distribution" in tree["set"] else {})}
    return {key: value for key, value in tree.items() if value is not None}


def with_folder(tree: Any, folder: Path) -> Any:
    """A tree in whose paths ``@`` is a folder."""
    if isinstance(tree, dict):
        return {with_folder(key, folder): with_folder(value, folder) for key, value in tree.items()}
    if isinstance(tree, list):
        return [with_folder(value, folder) for value in tree]
    return tree.replace("@/", f"{folder}/") if isinstance(tree, str) else tree


def study_file(folder: Path, rng: random.Random) -> Path:
    """A study file of somebody else."""
    from dse.toml_text import toml_key, toml_value

    tree = with_folder(study_tree(rng), folder.parent)
    lines = []
    for name, value in tree.items():
        try:
            lines.append(f"{toml_key(name)} = {toml_value(value)}")
        except (TypeError, ValueError):
            continue
    text = "\n".join(lines)
    if rng.random() < 0.05:
        text = "# " + "x" * rng.choice([900_000, 3_000_000]) + "\n" + text
    if rng.random() < 0.05:
        text += "\n" + "\n".join(f"[t{k}.b]\nx = 1" for k in range(rng.choice([2000, 100_000])))
    place = folder / f"study{rng.randrange(10**9)}.toml"
    place.write_bytes(text.replace("null", '""').encode("utf-8", "surrogatepass"))
    return place


def entry_file(folder: Path, rng: random.Random) -> Path:
    """A machine or workload file of somebody else."""
    place = folder / f"entry{rng.randrange(10**9)}.toml"
    place.write_bytes(with_folder(machine(rng), folder.parent).encode("utf-8", "surrogatepass"))
    return place


def _text(rng: random.Random) -> str:
    return rng.choice(TEXTS).replace("\0", "").encode("utf-8", "replace").decode()


def _attributes(folder: Path, rng: random.Random) -> dict[str, Any]:
    """Attributes of a Dataset: a study that names files, JSON that is none, hostile texts."""
    tree = with_folder(study_tree(rng), folder.parent)
    text = json.dumps(tree).replace("\\u0000", "").replace("\\ud800", "?")
    result: dict[str, Any] = {
        "study": rng.choice([text, text, text, *JSONS]),
        "identity": rng.choice(["0" * 64, "x-expanded", _text(rng)]),
        "model": rng.choice(["transit", _text(rng), path(".py", rng)]),
        "model_files": rng.choice(["[]", *JSONS, json.dumps([["own", "0" * 64]])]),
        "simt_dse_version": _text(rng),
        "axes": rng.choice(["threads", "machine threads", _text(rng)]),
        "title": _text(rng),
    }
    for name in ("equations", "notes", "defaults", "assumptions", "question", "coordinates"):
        if rng.random() < 0.4:
            result[name] = rng.choice([*JSONS, _text(rng)])
    for name in rng.sample(sorted(result), rng.choice([0, 0, 1, 3])):
        result[name] = rng.choice([5, 1.5, np.arange(3), "", result[name]])
    return {k: _writable(v) for k, v in result.items()}


def _writable(value: Any) -> Any:
    return (
        value.encode("utf-8", "replace").decode().replace("\0", "")
        if isinstance(value, str)
        else value
    )


def _dataset(folder: Path, rng: random.Random) -> xr.Dataset:
    """A small Dataset with hostile labels and attributes."""
    labels = list(dict.fromkeys(_text(rng) for _ in range(4)))
    size = len(labels)
    about = {"units": rng.choice(["s", "1", "cycle", _text(rng)]), "long_name": _text(rng)}
    if rng.random() < 0.3:
        about |= {"flag_values": np.arange(2, dtype=np.int8), "flag_meanings": _text(rng)}
    variables: dict[str, Any] = {
        "time": (("machine", "threads"), np.arange(2.0 * size).reshape(size, 2), about),
        rng.choice(["power", "bound"]): (("machine",), np.arange(size, dtype=np.int8), about),
    }
    if rng.random() < 0.3:
        text = _text(rng).replace("/", "") or "x"
        variables[rng.choice(["word", text])] = (("machine",), np.array(labels), about)
    if rng.random() < 0.3:
        recorded = {"conditions": _text(rng)}
        variables["feasible"] = (("machine",), np.ones(size, dtype=bool), recorded)
    coords = {"machine": ("machine", labels, about), "threads": ("threads", [1, 2], about)}
    return xr.Dataset(variables, coords=coords, attrs=_attributes(folder, rng))


def dataset_file(folder: Path, rng: random.Random, store: Path) -> Path:
    """A Dataset of somebody else, as a file or store; ``store`` is that of a run."""
    place = folder / f"data{rng.randrange(10**9)}"
    kind = rng.choice([".zarr", ".csv", ".parquet", ".nc", "run", "run", "run"])
    if kind == "run":
        place = place.with_name(place.name.replace("data", "run"))
        place = place.with_suffix(".zarr")
        shutil.copytree(store, place)
        _spoil_store(place, folder, rng)
        return place
    place = place.with_suffix(kind)
    ds = _dataset(folder, rng)
    try:
        dse.export(ds, place)
    except Exception:  # what cannot be written is none of this
        place = place.with_suffix(".csv")
        dse.export(xr.Dataset({"time": ("k", [1.0, 2.0])}, attrs={"title": _text(rng)}), place)
    if place.suffix == ".csv":
        _spoil_csv(place, rng)
    if place.suffix == ".zarr":
        _link_some(place, folder, rng)
    return place


def _spoil_store(place: Path, folder: Path, rng: random.Random) -> None:
    """Edit what a store tells of itself, as its sender may."""
    root = place / "zarr.json"
    tree = json.loads(root.read_text())
    given = {k: v for k, v in _attributes(folder, rng).items() if not isinstance(v, np.ndarray)}
    if rng.random() < 0.5:  # only what is shown
        tree["attributes"] |= {"title": _text(rng), "notes": _text(rng)}
        for about in tree["consolidated_metadata"]["metadata"].values():
            about["attributes"]["long_name"] = _text(rng)
        if rng.random() < 0.9:  # else the records notice it
            shutil.rmtree(place / ".simt-dse")
    else:
        for name in rng.sample(sorted(given), rng.choice([1, 2, 4])):
            tree["attributes"][name] = given[name]
        tree["attributes"]["study"] = given.get("study", 5)
    root.write_text(json.dumps(tree))
    hidden = place / ".simt-dse"
    way = rng.random()
    if not hidden.exists():
        pass
    elif way < 0.4:
        shutil.rmtree(hidden)
    elif way < 0.7:
        from sweeps.store.records import checksum, decode_checked_json, encode_checked_json

        manifest = decode_checked_json((hidden / "manifest").read_bytes()) or {}
        manifest["files"]["zarr.json"] = checksum(root.read_bytes())
        for name in rng.sample(sorted(manifest), rng.choice([0, 0, 1])):
            manifest[name] = rng.choice([None, 5, "x", [], {}, {"a": 1}])
        (hidden / "manifest").write_bytes(encode_checked_json(manifest))
    elif way < 0.8:
        (hidden / rng.choice(["manifest", "finished"])).write_text(rng.choice(JSONS[:9]))
    _link_some(place, folder, rng)


def _link_some(place: Path, folder: Path, rng: random.Random) -> None:
    if rng.random() < 0.7:
        return
    way = rng.randrange(5)
    name = "zarr.json" if way == 3 else "*"
    victim = rng.choice([each for each in place.rglob(name) if each.is_file()])
    victim.unlink()
    if way == 0:
        victim.symlink_to(folder.parent / "outside" / "secret.csv")
    elif way == 1:
        victim.symlink_to("/dev/zero")
    elif way == 2:
        os.mkfifo(victim)
    elif way == 3:
        with victim.open("wb") as file:
            file.truncate(3 << 30)


def _spoil_csv(place: Path, rng: random.Random) -> None:
    """Edit the comment in which a CSV file tells what a table cannot."""
    if rng.random() < 0.7:
        return
    first, _, rest = place.read_bytes().decode().partition("\n")
    edits = (
        ('"dtype": "<f8"', '"dtype": "<U1000000000"'),
        ('"dtype": "<f8"', '"dtype": "S2000000000"'),
        ('"dtype": "<f8"', '"dtype": "O"'),
        ('"dtype": "<f8"', '"dtype": "O,O"'),
        ('"dtype": "text"', '"dtype": "|b1"'),
        ('"threads": 2', '"threads": 1000000000000'),
        ('"threads": 2', '"threads": -1'),
        ('"sizes": {', '"sizes": {"a": 0, '),
        ('"sizes": {', '"sizes": ' + "[" * 100_000),
        ('"attrs": {', '"attrs": {"x": {"array": [1], "dtype": "S1999999999"}, '),
        ('"attrs": {', '"attrs": {"x": "' + "y" * 10_000_000 + '", '),
        ('"dims": [', '"dims": ["a", '),
        ("# simt-dse {", "# simt-dse " + "{" * 10),
    )
    old, new = rng.choice(edits)
    place.write_bytes(f"{first.replace(old, new, 1)}\n{rest}".encode())
