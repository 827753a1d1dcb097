"""Laws of work as labels: text to everybody, a law to those who ask."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from stochastic import Pmf
from sweeps.grid.axes import parse_axis
from sweeps.grid.work_laws import WorkLaw, contents, read_label, read_law
from symbolic.errors import DseError
from symbolic.quantities import TABLE


def test_the_text_of_a_family() -> None:
    law = read_law("geometric:0.05")
    assert law == "geometric:0.05"
    assert law.pmf == Pmf.geometric(0.05)
    assert law.content == ""  # the text says all
    assert read_law(law) is law


def test_a_law_of_ones_own_has_a_text_of_its_own() -> None:
    few = Pmf.from_weights([0.25, 0.75])
    assert read_law(few) == repr(few)
    long = [Pmf.from_samples([*range(100), extra]) for extra in (48, 49)]
    first, second = map(read_law, long)
    assert first != second  # though both may print alike
    assert first.content != second.content
    assert "sha256" in first.content
    again = Pmf.from_samples(np.array([*range(100), 48]))
    assert read_law(again) == first
    assert read_law(again).content == first.content
    endless = read_law(Pmf.geometric(0.3).shift(2))
    assert endless == "Pmf.geometric(0.3).shift(2)"
    assert contents([first, endless, read_law("poisson:3"), "gtx280"]) == {
        first: first.content,
        endless: endless.content,
    }


def test_a_file_is_read_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "steps.csv").write_text("3\n4\n4\n9\n")
    law = read_law("steps.csv", tmp_path)
    assert law == "steps.csv"
    assert law.pmf.mean() == 5
    assert law.content.startswith("7 values from 3, sha256 ")
    (tmp_path / "steps.csv").write_text("3\n4\n4\n5\n")
    assert read_law("steps.csv", tmp_path).content != law.content
    with pytest.raises(DseError, match=r"the axis distribution holds 'stops\.csv'"):
        parse_axis("distribution", ["stops.csv"], TABLE, tmp_path)


def test_it_survives_copies_and_pickles() -> None:
    law = read_law(Pmf.from_samples([1, 2, 2, 40]))
    for twin in (copy.copy(law), copy.deepcopy(law), pickle.loads(pickle.dumps(law))):
        assert isinstance(twin, WorkLaw)
        assert (twin, twin.pmf, twin.content) == (law, law.pmf, law.content)


def test_an_axis_of_laws() -> None:
    own = Pmf.from_samples([1, 2, 2, 40] * 5)
    axis = parse_axis("distribution", ["poisson:30", own, "uniform:20,40"], TABLE)
    assert axis.kind == "label"
    assert [law.pmf.mean() for law in axis.labels if isinstance(law, WorkLaw)] == [30, 11.25, 30]
    assert axis.coordinate.dtype.kind == "U"
    assert axis.position("uniform:20,40", TABLE) == 2
    assert axis.position(own, TABLE) == 1
    with pytest.raises(DseError, match="'poisson:3' is not on the axis distribution"):
        axis.position("poisson:3", TABLE)
    with pytest.raises(DseError, match="the axis distribution holds poisson:3 twice"):
        parse_axis("distribution", ["poisson:3", "poisson:3"], TABLE)


def test_other_labels_stay_text() -> None:
    assert read_label("supply", "sharp") == "sharp"
    assert read_label("printed", True) == "true"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("geomtric:0.05", "distribution = 'geomtric:0.05': .*names no family"),
        ("geometric:2", "distribution = 'geometric:2': p = 2"),
        ("uniform:9,3", "low = 9 is above high = 3"),
        (0.05, r"distribution = 0\.05: expected a law as text, or a Pmf"),
        (None, "expected a law as text"),
    ],
)
def test_what_is_no_law(value: object, message: str) -> None:
    with pytest.raises(DseError, match=message):
        read_law(value)


def test_parts_of_one_law_are_computed_once() -> None:
    law = read_law("uniform:1,50")
    assert law.imbalance(32.0) is law.imbalance(32)
    assert law.bounds(32.0) is law.bounds(32)
    assert law.imbalance(16) is not law.imbalance(32)
    assert law.order_statistics(32).mean == 25.5
