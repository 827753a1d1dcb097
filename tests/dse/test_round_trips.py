"""Files that the product writes can be read back: hostile names, texts and numbers."""

from __future__ import annotations

import json
import math
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import dse
from dse import DseError, Study
from dse.catalog.entry_file import SourceText, parse_entry, write_entry_file
from dse.cli.new import entry_lines
from dse.cuda.instruction_counts import KernelCounts
from dse.gpu import dataset_of
from dse.importers.workload import workload_text
from dse.inputs.fit_file import SavedFit, load_fit
from dse.page.page import page_content, page_text
from dse.toml_text import printable_line, read_toml, toml_key, toml_number, toml_value
from tests.sweeps.exporting import FLOATS, TEXTS, WHOLE, difference

#: Texts that any file can hold; those of control characters are escaped.
HOSTILE = (
    *TEXTS,
    "# a",
    "a = 1",
    "[values]",
    "'''",
    '"""',
    "\\u0000",
    "x" * 300,
    "\u0085",
    "é\n# b",
)
BAD = ("a\0b", "\ud800")
NUMBERS = (*FLOATS, *(float(number) for number in WHOLE), 5e-324, -1e-300, sys.float_info.max)

_texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"])))
_values = st.recursive(
    st.one_of(_texts, st.booleans(), st.integers(-(2**70), 2**70), st.floats()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_texts, inner, max_size=3)
    ),
    max_leaves=6,
)


def same(one: Any, other: Any) -> bool:
    """True if two values are the same, also NaN, the sign of zero, and the type."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and repr(one) == repr(other)


def holds_nul(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(holds_nul, [*value, *value.values()]))
    return any(map(holds_nul, value)) if isinstance(value, list) else "\0" in str(value)


# --- TOML
@given(_texts, _values)
def test_a_value_in_toml_is_read_back_or_refused(name: str, value: Any) -> None:
    if holds_nul([name, value]):
        with pytest.raises(DseError, match="which no TOML file can hold"):
            toml_value({name: value})
        return
    line = f"{toml_key(name)} = {toml_value(value)}"
    assert "\n" not in line
    assert printable_line(line) == line
    assert same(read_toml(line), {name: value})


@pytest.mark.parametrize("value", [None, object(), b"a", {1, 2}, "a\0", "\ud800", {"a\0": 1}])
def test_what_toml_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(DseError, match="TOML file"):
        toml_value(value)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_in_toml_keeps_every_bit(number: float) -> None:
    for kind in (float, np.float64):
        result = float(tomllib.loads(f"x = {toml_number(kind(number))}")["x"])
        assert repr(result) == repr(float(number))
    assert same(tomllib.loads(f"x = {toml_value(np.int64(7))}"), {"x": 7})


# --- machine and workload files
def entry(text: str, name: str = "own.toml", kind: str = "workload") -> Any:
    return parse_entry(SourceText(Path(name), text), kind)


@pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip()])
def test_a_counted_kernel_is_a_workload_file_again(text: str, tmp_path: Path) -> None:
    """Numbers had 12 digits, names stood bare, and comments went over several lines."""
    counted = KernelCounts(
        quantities={"comp_insts": 2.0**53 - 1, "coalesced_insts": 1 / 3, "sync_insts": 0.0},
        formulas={},
        declared={"n": ("an argument", 64.0), "size_2": (f"an argument {text}", 0.1)},
        numbers={},
        origin=f"a {text}",
        assumed={"coalesced_insts": f"why {text}"},
        left_out=[text, f"x{text}y"],
    )
    path = write_entry_file(tmp_path / "own.toml", counted.toml(), "workload")
    result = dse.workload(str(path))
    assert {name: result.values[name].value for name in counted} == dict(counted)
    assert result.values["n"].value == 64
    assert result.values["size_2"].value == 0.1
    assert result.title == f"a {text}".strip()
    assert result.values["coalesced_insts"].assumed == f"why {text}"
    assert [row.meaning for row in result.declared] == ["an argument", f"an argument {text}"]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("kind", ["machine", "workload"])
def test_a_file_to_start_from_is_its_base(kind: str, text: str, tmp_path: Path) -> None:
    """Also with every comment in force; a source of two lines ended the comment."""
    name = {"machine": "mem_latency_nominal", "workload": "comp_insts"}[kind]
    base = tmp_path / "base.toml"
    base.write_text(
        f"title = {toml_value(f'x{text}')}\n[values]\n"
        f"{name} = {{ value = 0.1, source = {toml_value(f'a {text}')} }}\n"
    )
    of = (dse.machine if kind == "machine" else dse.workload)(str(base))
    path = tmp_path / "new.toml"
    lines = list(entry_lines(kind, path, of, str(base), of))
    assert all(printable_line(line) == line for line in lines)
    started = entry("\n".join(lines), kind=kind)
    assert (started.base, started.title) == (str(base), f"new, from {of.title}".strip())
    lines = [re.sub(r"^# (?=\w+ = \{)", "", line) for line in lines]
    assert entry("\n".join(lines), kind=kind).values == of.values


@pytest.mark.parametrize("text", [*HOSTILE, "a\0b"])
def test_a_row_of_a_profile_is_a_workload_file(text: str) -> None:
    ds = xr.Dataset(
        {
            "blocks": ("configuration", [2.0**53 - 1], {"source": text}),
            "comp_insts": ("configuration", [1 / 3], {"source": text}),
            "feasible": ("configuration", [True]),
            "kernel": ("configuration", np.array([text], dtype=object)),
        },
        attrs={"study": json.dumps({"measured": text}), "notes": json.dumps([text])},
    )
    result = entry(workload_text(ds))
    assert result.values["blocks"].value == 2**53 - 1
    assert result.values["comp_insts"].value == 1 / 3


def test_a_file_that_would_be_refused_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("old")
    text = 'title = "x"\n[values]\ncomp_insts = { value = "2 * M", source = "a" }\n'
    with pytest.raises(DseError, match=r"not written, as it could not be read back: .*'M'"):
        write_entry_file(path, text, "workload")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


# --- fits
@pytest.mark.parametrize("text", [*HOSTILE, *BAD])
def test_a_fit_is_read_back(text: str, tmp_path: Path) -> None:
    values = {f"n{number}": value for number, value in enumerate(NUMBERS) if math.isfinite(value)}
    count = len(values)
    fit = SavedFit(
        model=text,
        to=(text,),
        machine=text,
        workload=text,
        set_values={text: text, "number": 0.1},
        values=values | {f"stall_time[{text}]": -0.0},
        units=dict.fromkeys([*values, f"stall_time[{text}]"], text),
        standard_errors=dict.fromkeys([*values, f"stall_time[{text}]"], math.nan),
        covariance=np.full((count + 1, count + 1), math.nan),
        column=text,
        per=("stall_time",),
        labels=(text,),
        rows={text: [text]},
        errors={"mean": 1 / 3},
        tried=({"set": {text: 1}},),
    )
    path = tmp_path / "a.fit.json"
    if text == "\ud800":
        with pytest.raises(DseError, match="half of a character"):
            fit.save(path)
        assert list(tmp_path.iterdir()) == []
        return
    result = load_fit(fit.save(path))
    assert same(result.to_dict(), fit.to_dict())
    assert result.values == fit.values


# --- measurements
@pytest.mark.parametrize("ending", [".csv", ".nc", ".parquet", ".zarr"])
def test_what_was_measured_is_read_back(ending: str, tmp_path: Path) -> None:
    rows = {"threads": [32, 64, 96], "time": [5e-324, 1 / 3, math.inf]}
    rows["status_text"] = ["a", "é\n", '"']
    recorded = {f"told_{number}": text for number, text in enumerate(HOSTILE)}
    ds = dataset_of("supply", rows, {"measured": "supply", **recorded})
    with dse.open(dse.export(ds, tmp_path / f"rows{ending}")) as result:
        assert difference(result.load(), ds) == ""


# --- pages
@pytest.mark.parametrize("text", [*HOSTILE, "\0", "</script>", "<!--", "{{data}}", "]]>"])
def test_a_page_holds_its_study(text: str) -> None:
    study = Study(
        model="transit",
        axes={"threads": [1e-300, 0.1, 2.0**53, 1e300]},
        set={"intensity": 1 / 3, "lanes_width": 32, "ms_peak": 1, "mem_latency": 2.0**53 - 1},
        best={"maximize": "ms_throughput", "where": "threads >= 1e-5"},
    )
    data, functions = page_content(study, text, text)
    page = page_text(data, functions)
    values = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert values is not None
    assert json.loads(values[1]) == data
    recorded = data["study"]
    lines = [*recorded["head"]]
    for table in ("axes", "set", "best"):
        lines += [f"[{table}]", *(f"{toml_key(k)} = {v}" for k, v in recorded[table].items() if v)]
    tree = read_toml("\n".join(lines))
    given = {key: tree[key] for key in ("model", "axes", "set", "best")}
    assert Study(**given).text() == study.text()


# --- stores
def test_a_store_holds_the_names_of_files_and_columns(tmp_path: Path) -> None:
    """Machines are labels by the names of their files, zips by any identifier."""
    names = ["A", "é", "a.b", "a b", "true", "nan", "x" * 100]
    for name in names:
        base = 'title = "x"\nbase = "gtx280"\n[values]\nn_sms = { value = 4, source = "a" }\n'
        (tmp_path / f"{name}.toml").write_text(base)
    study = Study(
        model="occupancy + mwp_cwp",
        workload="svm",
        axes={
            "machine": [str(tmp_path / f"{name}.toml") for name in names],
            "Pair_É": {"zip": {"threads_per_block": [64, 128], "active_sms": [1, 2]}},
            "core_clock": [1e9 / 3, 2.0**53, 5e8],
        },
        outputs=["time", "case"],
    )
    ds = study.run()
    with dse.open(tmp_path / "s.zarr") if study.run(store=tmp_path / "s.zarr") else ds as result:
        assert difference(result.load(), ds) == ""
    for ending in (".csv", ".nc", ".parquet", ".zarr"):
        with dse.open(dse.export(ds, tmp_path / f"copy{ending}")) as result:
            assert difference(result.load(), ds) == ""
