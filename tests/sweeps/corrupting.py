"""Corrupts finished stores in every way, and looks at what is said of them.

    python -m tests.sweeps.corrupting 200 1

corrupts 200 times, as drawn from the seed 1: a bit of any byte of any file flipped, files cut,
emptied, removed, made longer, renamed, exchanged with others, replaced by those of an earlier
version of the store, alone or with what belongs to them, and files that do not belong there; of
stores compressed and not. Each must be found by `verify`; before, each question, opening and export
must be right or refused; after `verify --repair`, with the study where the store asks for it, the
files must be those of a calm run.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import xarray as xr

import dse
import sweeps.nest.run
from dse import Study
from symbolic.errors import DseError
from tests.dse.killing import STUDY, cut_small, files
from tests.sweeps.without_model import without_model

#: Studies of a larger and of an earlier, smaller version of a store: a condition, a bound, one
#: value, text; cases and a long axis, of which only a hash is told.
SPECS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {**STUDY, "axes": {**STUDY["axes"], "mem_latency": list(range(100, 140))}},
        {"mem_latency": list(range(100, 120))},
    ),
    (
        {
            "model": "occupancy + mwp_cwp",
            "machine": "gtx280",
            "workload": "svm",
            "axes": {
                "threads_per_block": list(range(1, 9)),
                "core_clock": [5e8 + 1e5 * k for k in range(1100)],
            },
            "outputs": ["time", "case", "cpi"],
        },
        {"threads_per_block": list(range(1, 7))},
    ),
]

#: Ways to corrupt a store; to flip a bit is the commonest.
WAYS = [
    "flip",
    "flip",
    "cut",
    "remove",
    "longer",
    "zeros",
    "empty",
    "rename",
    "exchange",
    "earlier",
]
WAYS += ["earlier tile", "earlier folder", "foreign", "folder", "both"]

Asked = dict[str, Callable[[Path], Any]]


def questions(spec: dict[str, Any]) -> Asked:
    """Questions by their names; each gives something that can be compared."""
    goal = spec["outputs"][0]
    axis = next(iter(spec["axes"]))

    def open_loaded(path: Path) -> xr.Dataset:
        with dse.open(path) as result:
            return result.load()

    def export_bytes(path: Path) -> bytes:
        out = path.with_suffix(".csv")
        try:
            with dse.open(path) as result:
                return dse.export(result, out).read_bytes()
        finally:
            out.unlink(missing_ok=True)

    def scan_all(path: Path) -> xr.Dataset:
        with without_model():
            return dse.optimum(path, maximize=goal, where=f"{axis} <= 5", top=3)

    return {
        "scan": scan_all,
        "optimum": lambda path: dse.optimum(path, maximize=goal, where=f"{axis} <= 5", top=3),
        "best": lambda path: dse.optimum(path, minimize=f"{goal} * {axis}", per=axis),
        "pareto": lambda path: dse.pareto(path, minimize=axis, maximize=goal),
        "count": lambda path: dse.count(path, where=f"{axis} <= 5"),
        "open": open_loaded,
        "export": export_bytes,
    }


def corrupt(path: Path, earlier: Path, draw: random.Random) -> str:
    """Do something bad to a store; gives what, or nothing where nothing was."""
    here = sorted(key for key in files(path) if not key.endswith("/lock"))
    key = draw.choice(here)
    file = path / key
    data = bytearray(file.read_bytes())
    what = draw.choice(WAYS)
    place = draw.randrange(len(data) or 1)
    if what == "flip":
        data[place] ^= 1 << draw.randrange(8)
    elif what == "cut":
        del data[place:]
    elif what == "zeros":
        data[place:] = bytes(len(data) - place)
    elif what == "longer":
        data += bytes([draw.randrange(256)])
    elif what == "empty":
        data.clear()
    elif what == "remove":
        file.unlink()
        return f"{what} {key}"
    elif what in ("rename", "exchange"):
        siblings = [k for k in here if k.split("/")[:-1] == key.split("/")[:-1]]
        other = path / draw.choice(siblings if draw.random() < 0.7 else here)
        theirs = other.read_bytes()
        other.write_bytes(data)
        file.unlink()
        if what == "exchange":
            file.write_bytes(theirs)
        return f"{what} {key} {other.relative_to(path)}"
    elif what == "earlier":
        there = earlier / key
        data = bytearray(there.read_bytes() if there.is_file() else data)
    elif what == "earlier tile":  # its shards and its record, as of a backup
        tiles = sorted(p.name for p in (earlier / ".simt-dse" / "tiles").iterdir())
        part, _, at = draw.choice(tiles).partition(".")
        name = ".".join(["c", *([at] if at else [])])
        for chunk in earlier.glob(f"*/{name}"):
            known = json.loads((earlier / f".simt-dse/tiles/{part}{at and '.'}{at}").read_bytes())
            if chunk.parent.name in known["shards"]:
                shutil.copy(chunk, path / chunk.parent.name / name)
        record = f".simt-dse/tiles/{part}{at and '.'}{at}"
        shutil.copy(earlier / record, path / record)
        return f"{what} {part} {at}"
    elif what == "earlier folder":
        there = earlier / draw.choice([".simt-dse", ".simt-dse/tiles", key.split("/")[0]])
        if there.is_dir():
            shutil.copytree(there, path / there.relative_to(earlier), dirs_exist_ok=True)
        return f"{what} {there.name}"
    elif what == "foreign":
        name = draw.choice(["notes.txt", "c.9.9", ".x.part", ".simt-dse/more", "zarr.json.bak"])
        file = draw.choice([path, file.parent]) / name
        data = bytearray(b"foreign")
    elif what == "folder":
        file.unlink()
        (file / "within").mkdir(parents=True)
        (file / "within" / "x").write_bytes(b"foreign")
        return f"{what} {key}"
    elif what == "both":  # whatever tells whose store it is
        for name in ("zarr.json", ".simt-dse/manifest"):
            (path / name).write_bytes((path / name).read_bytes()[:-3])
        return what
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(bytes(data))
    return f"{what} {key}"


def same(answer: Any, right: Any) -> bool:
    if isinstance(answer, xr.Dataset):
        answer, right = (
            each.drop_attrs() if "question" in each.attrs else each for each in (answer, right)
        )
        return bool(answer.identical(right))
    return bool(answer == right)


def faults(path: Path, study: Study, queries: Asked, right: dict[str, Any], calm: Any) -> list[str]:
    """Return what is wrong with the answers of a corrupted store, and with its repair."""
    result = []
    for name, ask in queries.items():
        try:
            if not same(ask(path), right[name]):
                result.append(f"{name} answers wrongly")
        except DseError:
            pass
        except Exception:
            result.append(f"{name}: {traceback.format_exc()}")
    repaired = False
    for given in (None, study):
        try:
            if given is None and not dse.verify(path).damages:
                result.append("verify finds nothing")
            repaired = repaired or dse.verify(path, repair=True, study=given).is_repaired
        except DseError as error:
            if given is not None and not repaired:
                result.append(f"no repair: {error}")
        except Exception:
            result.append(f"verify: {traceback.format_exc()}")
    if not result and content_of(path) != calm:
        result.append("not repaired")
    if not result and dse.verify(path).damages:
        result.append("damaged after the repair")
    return result


def content_of(path: Path) -> dict[str, bytes]:
    return {key: data for key, data in files(path).items() if not key.endswith("/lock")}


def main(count: int, seed: int) -> dict[str, Any]:
    cut_small(1 << 9)
    sweeps.nest.run.NUMPY_POINTS = 1 << 30  # nothing is compiled
    draw, folder, began = random.Random(seed), Path(tempfile.mkdtemp()), time.monotonic()

    @cache
    def make_store(number: int, kind: str) -> Any:
        """A store, an earlier one, its study, questions and answers; its files."""
        spec, fewer = SPECS[number]
        calm, earlier = (folder / f"{name}-{number}-{kind}.zarr" for name in ("a", "b"))
        study = Study(**spec)
        study.run(store=calm, compression=kind).close()
        small = Study(**{**spec, "axes": {**spec["axes"], **fewer}})
        small.run(store=earlier, compression=kind).close()
        queries = questions(spec)
        right = {name: ask(calm) for name, ask in queries.items()}
        return calm, earlier, study, queries, right, content_of(calm)

    stores = [(number, kind) for number in range(len(SPECS)) for kind in ("lz4", "none")]
    kinds: Counter[str] = Counter()
    wrong: list[str] = []
    number = 0
    while sum(kinds.values()) < count:
        calm, earlier, study, queries, right, whole = make_store(*draw.choice(stores))
        number += 1
        path = folder / f"{number}.zarr"
        shutil.copytree(calm, path)
        what = corrupt(path, earlier, draw)
        if content_of(path) != whole:
            kinds[what.split(" ")[0]] += 1
            for fault in faults(path, study, queries, right, whole):
                wrong.append(f"{calm.name}: {what}: {fault}")
                print(wrong[-1], file=sys.stderr, flush=True)
        for left in folder.glob(f"{number}.*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    shutil.rmtree(folder)
    summary = {"corruptions": sum(kinds.values()), "seed": seed, "wrong": len(wrong)}
    return summary | {"kinds": dict(kinds), "seconds": round(time.monotonic() - began, 1)}


if __name__ == "__main__":
    status = main(int(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps(status))
    sys.exit(1 if status["wrong"] else 0)
