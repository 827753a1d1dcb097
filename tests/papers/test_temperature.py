"""Temperature and static power: Hong 2012, sections 3.1.2 and 3.2.6-3.2.7."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dse
from symbolic.models import leakage, temperature
from tests.long import draws
from tests.papers._solve import run_doctests, solve

TABLE_9 = {
    "temperature_per_watt": 0.120,
    "temperature_offset": 5.5,
    "temperature_per_intensity": 21.505,
    "heating_time_constant": 35,
    "cooling_time_constant": 60,
}
SVM = {"machine": "gtx280", "workload": "svm", "threads_per_block": 128}


def gtx280(**values: Any) -> dict[str, Any]:
    given_ = {**{name: float(value) for name, value in TABLE_9.items()}, "idle_temperature": 57.0}
    given_ |= {"leakage_per_degree": 10 / 22, "mem_insts": 0.0, "comp_insts": 100.0}
    return solve("temperature", **{**given_, **values})


# --- Eqs. 49-57


def test_the_machine_file_has_table_9() -> None:
    values = dse.machine("gtx280").values
    assert {name: values[name].value for name in TABLE_9} == TABLE_9
    ds = dse.evaluate(
        "temperature", machine="gtx280", power=0, temperature=79, outputs=["power_at"]
    )
    assert float(ds.power_at) == pytest.approx(10)  # σ = 10 / 22


def test_eq_53_is_a_rise_above_idle() -> None:
    """Printed as it is, a busy chip would be colder than an idle one (57 °C, §3.5.2)."""
    for watts in (20.0, 100.0, 150.0):
        right, printed = (gtx280(runtime_power=watts, printed=p) for p in (False, True))
        assert right["max_temperature"] == pytest.approx(57 + 0.12 * watts + 5.5)
        assert printed["max_temperature"] == pytest.approx(0.12 * watts + 5.5)
        assert printed["max_temperature"] < 57 < right["max_temperature"]


def test_the_range_of_section_3_5_2_is_reached() -> None:
    """68 °C for INT and 78 °C for SVM are what a GPU of 83 W idle draws 46 W and 116 W for."""
    int_, svm = (
        gtx280(runtime_power=45.83),
        gtx280(runtime_power=115.7, mem_insts=100 * 819 / 10871),
    )
    assert int_["max_temperature"] == pytest.approx(68, abs=0.01)
    assert svm["max_temperature"] == pytest.approx(78, abs=0.01)


def test_memory_accesses_heat() -> None:
    """Eq. 54: memory instructions over the others."""
    assert gtx280(mem_insts=25.0)["access_intensity"] == 0.25
    warm = gtx280(runtime_power=50.0, mem_insts=25.0)["max_temperature"]
    assert warm == gtx280(runtime_power=50.0)["max_temperature"] + 21.505 * 0.25


def test_it_saturates_within_600_seconds() -> None:
    """§3.5.2 and Fig. 45."""
    got = gtx280(runtime_power=100.0, elapsed=600.0)
    assert got["max_temperature"] - got["temperature"] < 1e-6
    early = gtx280(runtime_power=100.0, elapsed=35.0)
    rise = got["max_temperature"] - 57
    assert early["temperature"] == pytest.approx(57 + rise * (1 - math.exp(-1)))


def test_settling_time_is_when_it_is_within_a_degree() -> None:
    got = gtx280(runtime_power=100.0)
    then = gtx280(runtime_power=100.0, elapsed=got["settling_time"])
    assert got["max_temperature"] - then["temperature"] == pytest.approx(1)
    assert gtx280(runtime_power=100.0, settled_within=100.0)["settling_time"] == 0


def test_cooling_begins_at_the_steady_temperature_unless_said() -> None:
    model = dse.evaluate(
        "ipp + temperature",
        **SVM,
        elapsed=[0, 60, 1e9],
        outputs=["cooling_temperature", "max_temperature", "idle_temperature"],
    )
    assert float(model.cooling_temperature[0]) == float(model.max_temperature)
    rise = float(model.max_temperature) - 57
    assert float(model.cooling_temperature[1]) == pytest.approx(57 + rise / math.e)
    assert float(model.cooling_temperature[2]) == 57


def test_power_rises_with_the_temperature_of_the_run() -> None:
    """Fig. 40: from the power at the beginning, by σ for each degree (Eqs. 55-57)."""
    outputs = ["power_at", "temperature", "power", "steady_power"]
    times = np.array([0.0, 10, 100, 600])
    ds = dse.evaluate("ipp + temperature", **SVM, elapsed=times, outputs=outputs)
    expected = ds.power + 10 / 22 * (ds.temperature - 57)
    assert np.allclose(ds.power_at, expected)
    assert float(ds.power_at[0]) == float(ds.power)
    assert float(ds.power_at[-1]) == pytest.approx(float(ds.steady_power))


def test_a_workload_of_memory_alone_is_outside() -> None:
    with pytest.raises(dse.DseError, match="comp_insts > 0"):
        dse.evaluate("ipp + temperature", **SVM, comp_insts=0, elapsed=1)


@settings(max_examples=draws(100), deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "runtime_power": st.floats(0, 500),
            "elapsed": st.floats(0, 1e4),
            "idle_temperature": st.floats(-20, 80),
            "heating_time_constant": st.floats(0.1, 1e3),
            "cooling_time_constant": st.floats(0.1, 1e3),
            "mem_insts": st.floats(0, 1e3),
            "power": st.floats(0, 500),
        }
    ),
    st.floats(0, 1e3),
)
def test_temperature_lies_between_idle_and_steady(point: dict[str, float], later: float) -> None:
    got = gtx280(**point)
    idle, steady = got["idle_temperature"], got["max_temperature"]
    assert steady >= idle
    for name in ("temperature", "cooling_temperature"):
        assert idle - 1e-9 <= got[name] <= steady + 1e-9
    assert point["power"] - 1e-9 <= got["power_at"] <= got["steady_power"] + 1e-9
    after = gtx280(**{**point, "elapsed": point["elapsed"] + later})
    assert after["temperature"] >= got["temperature"] - 1e-9
    assert after["cooling_temperature"] <= got["cooling_temperature"] + 1e-9
    if got["elapsed"] >= got["settling_time"]:
        assert steady - got["temperature"] <= 1 + 1e-6


# --- leakage, Eqs. 33-34

CHIP = {
    "supply_voltage": 1.1,
    "nominal_supply_voltage": 1.0,
    "transistors": 1.4e9,
    "design_factor": 0.1,
    "leakage_scale": 1e-4,
    "voltage_leakage_slope": 1.5,
    "threshold_voltage": 0.3,
    "offset_voltage": 0.02,
    "subthreshold_swing": 1.4,
}


def static(celsius: float, reference: float = 57.0) -> dict[str, Any]:
    return solve("leakage", **CHIP, temperature=celsius, reference_temperature=reference)


def test_sympy_derives_the_line_from_eqs_33_and_34() -> None:
    """The slope in the graph is the derivative of the curve over its value, exactly."""
    model = dse.model("leakage")
    curve = model.closed_form("static_power", expand=True)
    warmth, reference = map(model.symbol, ("temperature", "reference_temperature"))
    derived = (sympy.diff(curve, warmth) / curve).subs(warmth, reference)
    slope = model.closed_form("leakage_slope", expand=True)
    values = {model.symbol(name): sympy.Rational(str(value)) for name, value in CHIP.items()}
    for celsius in (0, 57, 78, 120):
        at = {**values, reference: sympy.Integer(celsius)}
        assert abs(sympy.N(derived.subs(at) - slope.subs(at), 40)) < sympy.Float("1e-16")
    line = model.closed_form("linear_static_power", expand=True)
    assert sympy.diff(line, warmth, 2) == 0


def test_the_line_touches_the_curve() -> None:
    here = static(57.0)
    assert here["linear_static_power"] == pytest.approx(here["static_power"], rel=1e-14)
    step = 1e-3
    rise = (static(57 + step)["static_power"] - static(57 - step)["static_power"]) / (2 * step)
    assert rise / here["static_power"] == pytest.approx(here["leakage_slope"], rel=1e-6)


def test_the_line_is_good_in_the_range_of_an_operating_chip() -> None:
    """§3.1.2, [92]: from 57 °C to 78 °C, with the line drawn in the middle."""
    for celsius in np.linspace(57, 78, 22):
        got = static(float(celsius), reference=67.5)
        assert got["linear_static_power"] == pytest.approx(got["static_power"], rel=0.05)


def test_leakage_is_more_than_quadratic_in_absolute_temperature() -> None:
    """§3.1.2 calls v_t² dominant; the barrier of the threshold adds to its 2/T."""
    got = static(57.0)
    assert got["leakage_slope"] * 330.15 > 2
    flat = solve(
        "leakage",
        **{**CHIP, "threshold_voltage": 0.0, "offset_voltage": 0.0, "supply_voltage": 5.0},
        temperature=57.0,
        reference_temperature=57.0,
    )
    assert flat["leakage_slope"] * 330.15 == pytest.approx(2)


def test_leakage_joins_the_temperature_of_a_run() -> None:
    ds = dse.evaluate(
        "ipp + temperature + leakage",
        **SVM,
        **CHIP,
        reference_temperature=57,
        elapsed=np.array([0.0, 50, 600]),
        outputs=["static_power", "linear_static_power", "temperature"],
    )
    assert np.all(np.diff(ds.static_power.values) > 0)
    assert np.all(ds.static_power.values >= ds.linear_static_power.values * (1 - 1e-12))  # convex


@pytest.mark.parametrize("module", [temperature, leakage])
def test_docstrings(module: Any) -> None:
    failed, attempted = run_doctests(module)
    assert failed == 0
    assert attempted > 0
