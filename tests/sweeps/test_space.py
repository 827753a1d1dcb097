"""Axes: every form, what is refused, and with which words."""

from __future__ import annotations

import math
import tomllib
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeps.grid.axes import Axis, parse_axis
from symbolic.errors import DomainError, DseError, UnitError, UnknownNameError
from symbolic.quantities import TABLE
from symbolic.quantity import Domain, Quantity


def axis(spec: Any, name: str = "threads") -> Axis:
    return parse_axis(name, spec, TABLE)


def values(spec: Any, name: str = "threads") -> list[Any]:
    return list(axis(spec, name).coordinate.tolist())


# --- forms


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ([3, 1, 2], [3, 1, 2]),
        ((3, 1.5), [3.0, 1.5]),
        ([7], [7]),
        (range(1, 8, 3), [1, 4, 7]),
        (range(5, 1, -2), [5, 3]),
        (np.array([2, 1], dtype=np.int8), [2, 1]),
        (np.array([2, 1], dtype=np.uint64), [2, 1]),
        (np.array([0.5, 2], dtype=np.float32), [0.5, 2.0]),
        ([np.int64(4), np.float64(0.5)], [4.0, 0.5]),
        (["2", "3.5", 4], [2.0, 3.5, 4.0]),
        ({"start": 1, "stop": 7, "step": 3}, [1, 4, 7]),
        ({"start": 1, "stop": 6, "step": 3}, [1, 4]),
        ({"start": 1, "stop": 3}, [1, 2, 3]),
        ({"start": 5, "stop": 1, "step": -2}, [5, 3, 1]),
        ({"start": 2, "stop": 2}, [2]),
        ({"start": 0.5, "stop": 2}, [0.5, 1.5]),
        ({"linspace": [1, 2, 5]}, [1.0, 1.25, 1.5, 1.75, 2.0]),
        ({"linspace": [3, 3, 1]}, [3.0]),
        ({"geomspace": [1, 16, 5]}, [1.0, 2.0, 4.0, 8.0, 16.0]),
        ({"powers_of_two": [1, 16]}, [1, 2, 4, 8, 16]),
        ({"powers_of_two": [4, 31]}, [4, 8, 16]),
        ({"powers_of_two": [0.25, 1]}, [0.25, 0.5, 1.0]),
        ({"powers_of_two": [8, 8]}, [8]),
    ],
)
def test_forms(spec: Any, expected: list[Any]) -> None:
    result = axis(spec)
    assert result.coordinate.tolist() == pytest.approx(expected, rel=1e-15)
    assert result.coordinate.dtype in (np.int64, np.float64)
    whole = all(isinstance(value, int) for value in expected)
    assert result.coordinate.dtype == (np.int64 if whole else np.float64)
    assert result.values.dtype == np.float64
    assert result.values.tolist() == result.coordinate.astype(float).tolist()
    assert (result.kind, result.size, result.labels) == ("number", len(expected), ())


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (["1 GHz", 1.3e9, "700 MHz"], [1e9, 1.3e9, 7e8]),
        ({"start": "1 GHz", "stop": "1.4 GHz", "step": "200 MHz"}, [1e9, 1.2e9, 1.4e9]),
        ({"start": "1 GHz", "stop": 1.4e9, "step": 2e8}, [1e9, 1.2e9, 1.4e9]),
        ({"linspace": ["1 GHz", "2 GHz", 3]}, [1e9, 1.5e9, 2e9]),
        ({"geomspace": ["1 GHz", "4 GHz", 3]}, [1e9, 2e9, 4e9]),
    ],
)
def test_units_in_every_form(spec: Any, expected: list[float]) -> None:
    assert values(spec, "core_clock") == pytest.approx(expected, rel=1e-15)


def test_bytes_in_powers_of_two() -> None:
    spec = {"powers_of_two": ["1 KiB", "8 KiB"]}
    assert values(spec, "shared_mem_per_block") == [1024, 2048, 4096, 8192]


def test_whole_quantities_have_whole_coordinates() -> None:
    assert axis({"linspace": [32, 128, 4]}, "threads_per_block").coordinate.dtype == np.int64
    assert axis([32.0, 64.0], "threads_per_block").coordinate.dtype == np.int64


@given(
    start=st.integers(-1000, 1000),
    count=st.integers(1, 300),
    step=st.sampled_from([0.1, 0.01, 0.3, 0.7, 1e-3, 1 / 3, 1 / 49, 2.5]),
    sign=st.sampled_from([1, -1]),
)
def test_a_range_of_floats_reaches_its_stop_and_never_passes_it(
    start: int, count: int, step: float, sign: int
) -> None:
    from sweeps.grid.axes import parse_numbers
    from symbolic.quantities import Quantity

    stop = start + sign * step * (count - 1)
    spec = {"start": start, "stop": stop, "step": sign * step}
    result = parse_numbers(spec, Quantity(name="x"), "the axis x")
    assert len(result) == count
    assert result[-1] == pytest.approx(stop, rel=1e-12)
    assert (result <= stop).all() if sign > 0 else (result >= stop).all()
    assert result[0] == start


def test_a_share_ends_exactly_at_one() -> None:
    for parts in range(1, 200):
        spec = {"start": 0, "stop": 1, "step": 1 / parts}
        assert values(spec, "path_probability")[-1] == 1.0


def test_values_are_copied() -> None:
    given_ = np.array([1.0, 2.0])
    result = axis(given_)
    given_[0] = 99
    assert result.coordinate.tolist() == result.values.tolist() == [1.0, 2.0]


# --- categories, switches, zips


def test_labels() -> None:
    machines = axis(["gtx280", "cc8.0"], "machine")
    assert (machines.kind, machines.labels) == ("label", ("gtx280", "cc8.0"))
    assert machines.coordinate.tolist() == ["gtx280", "cc8.0"]
    assert machines.values.tolist() == [0.0, 1.0]
    switch = axis(["whole", "continuous"], "rounding")
    assert (switch.kind, switch.labels) == ("switch", ("whole", "continuous"))
    assert axis([True, False], "printed").labels == ("true", "false")
    assert axis(["0.5: 1, 0.5: 2", "1: 3"], "paths").kind == "label"


def test_zip() -> None:
    spec = {"zip": {"threads": [1, 2, 2], "core_clock": ["1 GHz", "1 GHz", "2 GHz"]}}
    result = axis(spec, "pair")
    assert (result.kind, result.size) == ("zip", 3)
    assert result.coordinate.tolist() == [0, 1, 2]
    assert {n: a.tolist() for n, a in result.columns.items()} == {
        "threads": [1, 2, 2],
        "core_clock": [1e9, 1e9, 2e9],
    }


def test_a_zip_may_bear_the_name_of_one_of_its_columns() -> None:
    result = axis({"zip": {"threads": [100, 200], "intensity": [1, 2]}}, "threads")
    assert result.coordinate.tolist() == [100, 200]
    assert result.position(200, TABLE) == 1


# --- finding a value


def test_position() -> None:
    clocks = axis(["1 GHz", "1.3 GHz"], "core_clock")
    assert clocks.position("1300 MHz", TABLE) == clocks.position(1.3e9, TABLE) == 1
    assert axis([0, 1], "mem_latency").position(0, TABLE) == 0
    assert axis(["svm", "sepia"], "workload").position("sepia", TABLE) == 1
    assert axis([True, False], "printed").position(False, TABLE) == 1


@pytest.mark.parametrize(
    ("name", "spec", "value", "message"),
    [
        ("threads", [100, 200], 150, r"threads = 150 is not on its axis; the nearest value is 100"),
        ("threads", [100, 200], math.nan, "threads = nan is not on its axis"),
        ("threads", [100, 200], [1], r"\[1\] is no value of the axis threads"),
        ("workload", ["svm", "sepia"], "sepa", "'sepa' is not on the axis workload; did you mean"),
        ("threads", range(1, 20), 99, r"holds 1, 2, 3, 4, 5, 6, 7, 8, \.\.\. \(19 in all\)"),
    ],
)
def test_a_value_off_the_axis(name: str, spec: Any, value: Any, message: str) -> None:
    with pytest.raises(DseError, match=message):
        axis(spec, name).position(value, TABLE)


# --- refusals

NUMBERS = "expected a number, with or without a unit"
FORMS = "is no axis: expected a list, a range, an array"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([], "the axis threads is empty: give it at least one value"),
        (range(0), "the axis threads is empty"),
        (np.array([]), "the axis threads is empty"),
        ({"start": 2, "stop": 1}, "the axis threads is empty"),
        ({"start": 1, "stop": 2, "step": -1}, "the axis threads is empty"),
        ({"powers_of_two": [8, 4]}, "the axis threads is empty"),
        ({"powers_of_two": [8, -4]}, "the axis threads is empty"),
        ([1, 2, 1], r"the axis threads holds 1 twice, at 0 and 2: remove one"),
        ([1, 2, 2.0], r"the axis threads holds 2.0 twice, at 1 and 2: remove one"),
        (["1", 1], "twice, at 0 and 1"),
        (np.array([3.0, 1.0, 3.0]), "holds 3.0 twice, at 0 and 2"),
        ([2**60, 2**60 + 1], "twice"),  # the same float
        (5, f"the axis threads = 5 {FORMS}.*put one value under set"),
        ("1 to 5", FORMS),
        (None, FORMS),
        ({1, 2}, FORMS),
        (iter([1]), FORMS),
        ([[1, 2]], rf"holds \[1, 2\]: {NUMBERS}"),
        ([None], f"holds None: {NUMBERS}"),
        ([True], f"holds True: {NUMBERS}"),
        ([np.True_], f"holds .*True.*: {NUMBERS}"),
        ([1j], f"holds 1j: {NUMBERS}"),
        (["intensity"], f"holds 'intensity': {NUMBERS}"),
        (np.ones((2, 2)), r"an array of shape \(2, 2\) and type float64: expected one dimension"),
        (np.array(3.0), r"an array of shape \(\) and type float64: expected one dimension"),
        (np.array([1, 2], dtype=object), "type object: expected one dimension of numbers"),
        (np.array([True]), "type bool: expected one dimension of numbers"),
        (np.array(["1"]), "type <U1: expected one dimension of numbers"),
        ({"start": 1, "stop": 2, "step": 0}, "step 0 make no range.*a step other than 0"),
        ({"start": 1, "stop": math.inf}, "stop inf, step 1 make no range: expected finite"),
        ({"start": math.nan, "stop": 3}, "start nan, stop 3"),
        ({"start": 1}, r"= \{'start': 1\} is no axis; expected a list"),
        ({"start": 1, "stop": 2, "stepp": 1}, "'stepp' is no key of an axis; did you mean 'step'"),
        ({"linspace": [1, 2]}, r"linspace = \[1, 2\], expected \[start, stop, count\]"),
        ({"linspace": "123"}, "linspace = '123', expected"),
        ({"linspace": [1, 2, 0]}, "count of linspace is 0, expected a whole number >= 1"),
        ({"linspace": [1, 2, 2.0]}, "count of linspace is 2.0"),
        ({"linspace": [1, 2, True]}, "count of linspace is True"),
        ({"linspace": [1, math.inf, 3]}, "linspace of 1, inf: expected finite numbers"),
        ({"geomspace": [0, 2, 3]}, "geomspace needs positive ends, was given 0, 2"),
        ({"geomspace": [1, math.nan, 3]}, "geomspace of 1, nan: expected finite numbers"),
        ({"powers_of_two": [3, 8]}, "powers_of_two starts at 3, expected a power of two"),
        ({"powers_of_two": [0, 8]}, "powers_of_two starts at 0"),
        ({"powers_of_two": [1, math.inf]}, "powers_of_two of 1, inf: expected finite"),
        ({"powers_of_two": [1]}, r"powers_of_two = \[1\], expected \[start, stop\]"),
        ({"linspace": [1, 2, 2], "step": 1}, "is no axis"),
        ({"between": [1, 40]}, r"dense grid, such as threads = { linspace = \[1, 40, 1000001\] }"),
        ({"between": [1, 40], "step": 1}, r"threads = { linspace = \[1, 40, 1000001\] }"),
        ({"between": [1, 40], "weights": [1, 2]}, r"threads = { linspace = \[1, 40, 1000001\] }"),
        ({"between": "1 to 40"}, r"threads = { linspace = \[low, high, 1000001\] }"),
        ({"between": [1, 2, 3]}, r"threads = { linspace = \[low, high, 1000001\] }"),
        ({"between": None}, r"threads = { linspace = \[low, high, 1000001\] }"),
    ],
)
def test_refused(spec: Any, message: str) -> None:
    with pytest.raises(DseError, match=message):
        axis(spec)


def test_a_formula_belongs_under_set() -> None:
    """An axis has one value for all machines; a formula has one for each."""
    way = r'of seconds_per_joule, .*: give it under \[set\] \(power_limit_share = "300 W'
    with pytest.raises(DseError, match=way):
        parse_axis("power_limit_share", ["300 W * seconds_per_joule", 1], TABLE)


@pytest.mark.parametrize(
    ("name", "ends", "dense"),
    [
        ("core_clock", ["0.5 GHz", "1.5 GHz"], '{ linspace = ["0.5 GHz", "1.5 GHz", 1000001] }'),
        (
            "core_clock",
            (5e8, np.float64(1.5e9)),
            "{ linspace = [500000000.0, 1500000000.0, 1000001] }",
        ),
        ("active_sms", [16, 32], "{ start = 16, stop = 32 }"),
        ("shared_mem_per_block", ["1 KiB", "8 KiB"], '{ start = "1 KiB", stop = "8 KiB" }'),
    ],
)
def test_an_interval_is_refused_with_the_dense_grid_to_write(
    name: str, ends: Any, dense: str
) -> None:
    with pytest.raises(DseError, match="between is for intervals, and an axis is a list") as raised:
        axis({"between": ends}, name)
    assert str(raised.value).endswith(f"such as {name} = {dense}")
    written = tomllib.loads(f"axis = {dense}")["axis"]
    result = values(written, name)
    assert [result[0], result[-1]] == values(list(ends), name)
    assert len(result) == (1_000_001 if "linspace" in dense else result[-1] - result[0] + 1)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([10**400], "beyond 1e308"),
        ({"start": 1, "stop": 10**400}, "beyond 1e308"),
        ({"powers_of_two": [1, 10**400]}, "beyond 1e308"),
        (range(10**400), "beyond 1e308"),
        (range(1, 10**30), r"would hold 1e\+30 values, and an axis may hold 67,108,864"),
        ({"start": 1, "stop": 1e300}, r"would hold 1e\+300 values"),
        ({"start": -1e308, "stop": 1e308}, "would hold over 1e308 values"),
        ({"start": 0, "stop": 1, "step": 5e-324}, "would hold over 1e308 values"),
        ({"start": 1e308, "stop": 2, "step": 0.001}, "is empty: .* leads away from stop 2"),
        ({"linspace": [1, 2, 10**9]}, "the axis threads would hold 1,000,000,000 values, and"),
        ({"linspace": [1, 2, 10**400]}, "would hold over 1e308 values"),
        ({"zip": {"threads": {"start": 1, "stop": 10**9}}}, "column threads, would hold 1,000,0"),
        ({"linspace": [1, 2, 2**31 + 1]}, r"would hold 2,147,483,649 values"),
    ],
)
def test_huge(spec: Any, message: str) -> None:
    with pytest.raises(DseError, match=message):
        axis(spec)


def test_an_axis_of_a_billion_values_is_refused_before_it_takes_memory() -> None:
    for spec in ({"linspace": [1, 2, 10**9]}, {"start": 1, "stop": 10**9}, range(1, 10**9)):
        tracemalloc.start()
        try:
            with pytest.raises(DseError, match="give a smaller count, a larger step, or a part"):
                axis(spec)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()


def test_values_between_ends_whose_distance_overflows() -> None:
    ends = [1e-300, 1.7e308]
    assert values({"linspace": [*ends, 3]}) == [1e-300, 8.5e307, 1.7e308]
    rows = {"skew": Quantity(name="skew", domain=Domain())}
    far = parse_axis("skew", {"linspace": [-1.7e308, 1.7e308, 3]}, rows)
    assert far.values.tolist() == [-1.7e308, 0.0, 1.7e308]


def test_whole_numbers_beyond_those_that_floats_hold() -> None:
    assert values([1, 2**63]) == [1.0, 2.0**63]
    assert values([2**63], "elements") == [2.0**63]
    assert values([1e20], "elements") == [1e20]
    assert values(np.array([2**63 + 5], dtype=np.uint64)) == [2.0**63]
    assert values(range(2**60, 2**60 + 1)) == [2.0**60]
    assert values({"powers_of_two": [1, 2**70]})[-1] == 2.0**70


@pytest.mark.parametrize(
    ("name", "spec", "message"),
    [
        ("threads", [1, math.nan], r"threads = nan at index 1 \(the axis threads\) is outside"),
        ("threads", [math.inf], r"threads = inf at index 0 .* outside its domain \(0, inf\)"),
        ("threads", [1, 0], r"threads = 0 at index 1 .*\(0, inf\): give a value inside it"),
        ("threads_per_block", [32, math.inf], r"threads_per_block = inf at index 1"),
        ("threads_per_block", [32, 2.5], r"threads_per_block = 2.5 .* domain whole \[1, inf\)"),
        ("core_clock", ["-1 GHz"], r"core_clock = -1e\+09 Hz at index 0"),
        ("path_probability", np.array([0.5, 1.5]), "path_probability = 1.5 at index 1"),
    ],
)
def test_outside_the_domain(name: str, spec: Any, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        axis(spec, name)


def test_units_that_do_not_fit() -> None:
    with pytest.raises(UnitError, match=r"the axis core_clock: .*core_clock \[Hz\].*80 GB/s"):
        axis(["1 GHz", "80 GB/s"], "core_clock")
    with pytest.raises(UnitError, match=r"core_clock \[Hz\]"):
        axis({"start": "1 GHz", "stop": "2 s", "step": 1}, "core_clock")


def test_unknown_names() -> None:
    with pytest.raises(
        DseError, match="the axis thread is no known quantity; did you mean 'threads'"
    ):
        axis([1], "thread")
    with pytest.raises(DseError, match=r"the axis machnie .* did you mean 'machine'"):
        axis(["gtx280"], "machnie")
    with pytest.raises(DseError, match="the axis 3 has no name"):
        axis([1], 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "spec", "message"),
    [
        ("rounding", ["whole", "hole"], "holds 'hole', which is none of continuous, whole; did"),
        ("rounding", "whole", "the axis rounding = 'whole': expected a list of labels"),
        ("rounding", ["whole", "whole"], "holds whole twice, at 0 and 1"),
        ("machine", [], "the axis machine is empty"),
        ("machine", ["gtx280", "gtx280"], "holds gtx280 twice"),
        ("machine", {"start": 1, "stop": 2}, "expected a list of labels"),
    ],
)
def test_labels_refused(name: str, spec: Any, message: str) -> None:
    with pytest.raises(DseError, match=message):
        axis(spec, name)


@pytest.mark.parametrize(
    ("name", "spec", "message"),
    [
        (
            "pair",
            {"threads": [1, 2], "intensity": [1]},
            "different lengths: threads has 2, intensity",
        ),
        ("pair", {"threads": [], "intensity": []}, "the axis pair is empty"),
        (
            "pair",
            {"threads": [1, 2, 1], "intensity": [3, 4, 3]},
            r"holds \(1, 3\) twice, at 0 and 2",
        ),
        (
            "pair",
            {"thread": [1]},
            "the axis pair zips 'thread', no quantity; did you mean 'threads'",
        ),
        ("pair", {"rounding": ["whole"]}, "the axis pair zips rounding, whose values are labels"),
        ("pair", {"threads": [0]}, r"threads = 0 at index 0 \(the axis pair, column threads\)"),
        ("pair", {"threads": 5}, "the axis pair, column threads, = 5 is no axis"),
        ("pair", {}, r"expected { zip = { name = list, \.\.\. } }"),
        ("pair", [1], "expected { zip"),
        ("intensity", {"threads": [1]}, "the axis intensity zips other quantities: give it a name"),
        ("a b", {"threads": [1]}, "its name must be one word"),
        ("x in (): pass\n", {"threads": [1]}, "its name must be one word"),
        ("feasible", {"threads": [1]}, "and none of feasible, machine, objective, point, rank"),
        ("rank", {"threads": [1]}, "and none of"),
        ("machine", {"threads": [1]}, "and none of"),
    ],
)
def test_zips_refused(name: str, spec: Any, message: str) -> None:
    with pytest.raises(DseError, match=message):
        axis({"zip": spec}, name)


def test_a_zip_has_no_other_key() -> None:
    with pytest.raises(DseError, match=r"expected \{ zip"):
        axis({"zip": {"threads": [1]}, "step": 1}, "pair")


def test_an_unknown_axis_is_an_unknown_name() -> None:
    with pytest.raises(UnknownNameError):
        axis([1], "thread")
