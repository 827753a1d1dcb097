"""Table equations: once for each distinct input, together, in threads, errors with their inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
import sweeps.grid.build
from dse import DseError, Study
from stochastic.threads import cpu_count
from symbolic.library import load_model

MODEL = '''
"""A model whose table equations remember who asked."""
import math
import threading
import time

import dse

CALLS = []
mood = dse.quantity("mood", labels=())
amount = dse.quantity("amount", domain="[0, inf)")
style = dse.quantity("style", labels=("given", "made"), default="given")
OUTPUTS = ("length", "double")


def note(name, *inputs):
    CALLS.append((name, inputs, threading.get_ident()))
    time.sleep(1e-5)  # another thread takes its turn, on a busy machine too


@dse.equation(name="mood", source="here", table=True, when={"style": "made"})
def made(amount):
    note("mood", amount)
    return "x" * int(amount)


@dse.equation(source="here", table=True)
def length(mood, amount):
    note("length", mood, amount)
    if amount == 13:
        raise ValueError("unlucky")
    return len(mood) + amount


@dse.equation(source="here", table=True)
def double(mood, amount):
    note("double", mood, amount)
    return 2 * (len(mood) + amount)


@dse.equation(source="here", table=True)
def root(amount):
    note("root", amount)
    return math.sqrt(amount)
'''

Calls = Callable[[], list[tuple[str, tuple[Any, ...], int]]]


@pytest.fixture
def remembering(tmp_path: Path) -> tuple[str, Calls]:
    path = tmp_path / "remembering.py"
    path.write_text(MODEL)
    model = load_model(str(path))
    calls: list[Any] = model.variants("root")[0].function.__globals__["CALLS"]
    calls.clear()
    return str(path), lambda: calls


def test_once_for_each_distinct_input_and_together(remembering: tuple[str, Calls]) -> None:
    model, calls = remembering
    study = Study(
        model=model,
        axes={"mood": ["sad", "merry"], "amount": [1, 2, 3], "threads": [1, 2]},
    )
    inputs_of = [(name, inputs) for name, inputs, _ in calls()]
    pairs = [(mood, float(amount)) for mood in ("sad", "merry") for amount in (1, 2, 3)]
    assert inputs_of == [(name, pair) for pair in pairs for name in ("length", "double")]
    ds = study.run()
    assert ds.length.dims == ("mood", "amount")
    assert ds.length.values.tolist() == [[4, 5, 6], [6, 7, 8]]
    assert np.array_equal(ds.double, 2 * ds.length)
    assert len(calls()) == len(inputs_of)  # a run asks nothing anew


def test_formulas_with_few_values_ask_for_these_alone(remembering: tuple[str, Calls]) -> None:
    model, calls = remembering
    study = Study(
        model=model,
        axes={"threads": range(1, 101)},
        set={"mood": "sad", "amount": "minimum(threads, 3)"},
        outputs=["length", "root"],
    )
    assert [inputs for name, inputs, _ in calls() if name == "root"] == [(1.0,), (2.0,), (3.0,)]
    assert study.run().length.values[[0, 1, 50]].tolist() == [4, 5, 6]


def test_labels_that_an_equation_yields(remembering: tuple[str, Calls]) -> None:
    model, calls = remembering
    ds = Study(model=model, axes={"amount": [1, 2]}, set={"style": "made"}).run()
    assert ds.length.values.tolist() == [2, 4]
    assert [name for name, _, _ in calls()] == ["mood", "mood", *("length", "double") * 2]
    with pytest.raises(DseError, match="mood has labels for values and cannot be an output"):
        Study(model=model, axes={"amount": [1, 2]}, set={"style": "made"}, outputs=["mood"])
    both = Study(model=model, axes={"style": ["given", "made"], "amount": [3]}, set={"mood": "a"})
    assert both.run().length.dims == ("amount",)  # what is given goes first
    assert both.run().length.values.tolist() == [4.0]


def test_threads_find_the_same(
    remembering: tuple[str, Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, calls = remembering
    axes = {"mood": ["sad", "merry", ""], "amount": np.arange(100) / 8}
    monkeypatch.setattr(sweeps.grid.build, "_SERIAL_SECONDS", 1e9)  # on a busy machine as well
    alone = Study(model=model, axes=axes, outputs=["length", "double"]).run()
    assert len({thread for *_, thread in calls()}) == 1
    calls().clear()
    monkeypatch.setattr(sweeps.grid.build, "_SERIAL_SECONDS", 0.0)
    shared = Study(model=model, axes=axes, outputs=["length", "double"]).run()
    assert shared.identical(alone)
    assert len(calls()) == 600
    assert {name for name, *_ in calls()} == {"length", "double"}
    if cpu_count() > 1:
        assert len({thread for *_, thread in calls()}) > 1


def test_what_fails_at_every_input_is_told_with_the_first(remembering: tuple[str, Calls]) -> None:
    message = r"^length at mood = sad, amount = 13\.0: ValueError: unlucky$"
    with pytest.raises(DseError, match=message):
        Study(model=remembering[0], axes={"threads": [1, 2]}, set={"mood": "sad", "amount": 13})


@pytest.mark.parametrize("patience", [0.0, 1e9])
def test_what_fails_at_some_is_no_value_there(
    remembering: tuple[str, Calls], monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr(sweeps.grid.build, "_SERIAL_SECONDS", patience)
    study = Study(model=remembering[0], axes={"amount": np.arange(20)}, set={"mood": "sad"})
    with pytest.warns(UserWarning, match="failed: 1 points.* amount = 13: length: ValueError: unl"):
        ds = study.run()
    assert np.flatnonzero(np.isnan(ds.length)).tolist() == [13]
    assert ds.double.values.tolist() == [2.0 * (3 + amount) for amount in range(20)]


def test_an_equation_without_inputs(tmp_path: Path) -> None:
    path = tmp_path / "constant.py"
    path.write_text(
        '"""One constant."""\nimport dse\n'
        '@dse.equation(source="here", table=True)\ndef answer():\n    return 42\n'
    )
    assert float(dse.evaluate(str(path)).answer) == 42
