"""Kernels of HeCBench and of streams beside profiles: a few of ``python -m tests.dse.hecbench``."""

from __future__ import annotations

from pathlib import Path

import pytest

from symbolic.errors import DseError
from tests.dse.hecbench import DATA, count_entry, entry_of, measure, rows, table
from tests.dse.profiled import streams_beside
from tests.dse.test_kernel_source import compiling

with_data = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not beside the project")


@with_data
def test_everything_that_is_given_is_of_a_kernel_that_was_measured_and_says_where_from() -> None:
    assert table().keys() <= rows().keys()
    assert all(each["from"] and all(map(str.strip, each["from"])) for each in table().values())
    for each in table().values():
        for name in (*each.get("define", {}), *each.get("set", {})):
            assert any(name in text for text in each["from"]), (each["kernel"], name)


@compiling
@with_data
@pytest.mark.parametrize(
    ("program", "entry", "what"),
    [
        ("heat-cuda", "solve", "double"),  # an argument that the command of the program gives
        ("streamOrderedAllocation-cuda", "vectorAddGPU", "integer"),
        ("streamOrderedAllocation-cuda", "vectorAddGPU", "flops"),
        ("triad-cuda", "triad", "flops"),
    ],
)
def test_operations_from_the_text_are_those_of_the_profile(
    tmp_path: Path, program: str, entry: str, what: str
) -> None:
    (key,) = (key for key in rows() if key[0] == program and entry_of(key[1]) == entry)
    assert count_entry(tmp_path, key)[what] == pytest.approx(measure(rows()[key])[what], rel=2e-3)


@compiling
@with_data
def test_what_rests_on_data_is_not_guessed(tmp_path: Path) -> None:
    (key,) = (key for key in rows() if key[0] == "bsearch-cuda" and "kernel_BS<" in key[1])
    with pytest.raises(
        DseError,
        match=r"trips_line_14: mean trip count of the loop at line 14: while",
    ):
        count_entry(tmp_path, key)


@compiling
@with_data
def test_a_loop_of_an_argument_is_counted_where_guards_within_rest_on_data(tmp_path: Path) -> None:
    (key,) = (key for key in rows() if key[0] == "haccmk-cuda")  # left by a call that is a jump
    expected = measure(rows()[key])["flops"]
    assert count_entry(tmp_path, key)["flops"] == pytest.approx(expected, rel=0.2)


@compiling
@with_data
def test_streams_written_anew_load_and_store_as_those_that_were_measured() -> None:
    for each in streams_beside().values():
        assert each["loads"][0] == each["loads"][1]
        assert each["stores"][0] == each["stores"][1]
        assert each["instructions"][0] < each["instructions"][1] < 2 * each["instructions"][0]
