import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from timeit import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pint import UnitRegistry

from symbolic.errors import DseError, ExpressionError, UnitError
from symbolic.expression import parse_condition, parse_value
from symbolic.quantities import TABLE
from symbolic.terms import FormulaText
from symbolic.units import (
    _BASES,
    _COUNTS,
    _DERIVED,
    Dimension,
    _parse_name,
    dimension,
    is_unit,
    mismatch_message,
    nearest_unit_hint,
    spellings,
    to_si,
    to_si_exact,
)
from symbolic.units import _NAMES as NAMES

VALUES = [
    ("1.3", "GHz", 1.3e9, "1/s"),
    ("602", "MHz", 602e6, "1/s"),
    ("2.5", "kHz", 2500.0, "1/s"),
    ("60", "Hz", 60.0, "1/s"),
    ("141.7", "GB/s", 141.7e9, "B/s"),
    ("80", "GB/s", 80e9, "B/s"),
    ("1.555", "TB/s", 1.555e12, "B/s"),
    ("48", "KiB", 49152.0, "B"),
    ("1.5", "MiB", 1572864.0, "B"),
    ("40", "GiB", 42949672960.0, "B"),
    ("4", "kB", 4000.0, "B"),
    ("10", "ms", 0.01, "s"),
    ("0.3", "ms", 0.0003, "s"),
    ("7", "us", 7e-6, "s"),
    ("400", "ns", 4e-7, "s"),
    ("5", "min", 300.0, "s"),
    ("1.5", "h", 5400.0, "s"),
    ("150", "W", 150.0, "J/s"),
    ("35.7", "mW", 0.0357, "J/s"),
    ("1.2", "kW", 1200.0, "J/s"),
    ("20", "pJ/B", 2e-11, "J/B"),
    ("3", "kJ", 3000.0, "J"),
    ("0.1", "mJ", 0.0001, "J"),
    ("2", "J s", 2.0, "J s"),
    ("2", "J*s", 2.0, "J s"),
    ("2", "W s", 2.0, "J"),
    ("2", "mJ ms^2", 2e-9, "J s^2"),
    ("2", "J s**2", 2.0, "J s^2"),
    ("3", "1/ms", 3000.0, "1/s"),
    ("3", "/ms", None, ""),
    ("3", "ms^-1", 3000.0, "1/s"),
    ("85", "K", 85.0, "K"),
    ("1100", "mV", 1.1, "V"),
    ("50", "%", 0.5, ""),
    ("50", "percent", 0.5, ""),
    ("420", "cycle", 420.0, ""),
    ("420", "cycles", 420.0, ""),
    ("5", "B/cycle", 5.0, "B"),
    ("32", "lanes", 32.0, ""),
    ("19.5", "Tflop/s", 19.5e12, "1/s"),
    ("5.2", "pJ/flop", 5.2e-12, "J"),
    ("7", "", 7.0, ""),
    ("7", "  ", 7.0, ""),
]


@pytest.mark.parametrize(("number", "unit", "value", "kind"), VALUES)
def test_values_are_the_exact_decimal_product(number, unit, value, kind):
    if value is None:
        with pytest.raises(UnitError, match="a factor is missing before '/'"):
            to_si(float(number), unit)
        return
    assert to_si(float(number), unit) == (value, dimension(kind))
    assert dimension(unit).unit == kind


@given(st.floats(1e-3, 1e6), st.sampled_from(sorted(NAMES)))
def test_one_rounding_only(number, unit):
    factor = Fraction(to_si(1.0, unit)[0]).limit_denominator(10**15)
    assert to_si(number, unit)[0] == float(Fraction(repr(number)) * factor)


@pytest.mark.parametrize(
    "name",
    ["cycle", "thread", "warp", "block", "instruction", "request", "lane", "operation", "flop"],
)
def test_counts_are_plain_and_one(name):
    for spelling in (name, f"{name}s"):
        assert is_unit(spelling)
        assert to_si(420.0, spelling) == (420.0, Dimension())


def test_a_bandwidth_is_no_frequency_and_bytes_are_no_count():
    assert dimension("GB/s") != dimension("Hz")
    assert dimension("B") != dimension("")
    assert dimension("cycle/s") == dimension("Hz")


def test_every_unit_of_the_table_is_known_and_is_the_stored_one():
    for row in TABLE.values():
        assert to_si(1.0, row.unit)[0] == 1.0, row.name


REFUSED = [
    ("ghz", "did you mean 'GHz'"),
    ("GBs", "did you mean 'GB'"),
    ("Ws", "'Ws' is unknown"),
    ("kcycle", "did you mean 'cycle'"),
    ("meter", "'meter' is unknown"),
    ("GB/", "'/' cannot be read"),
    ("GB//s", "'//s' cannot be read"),
    ("*s", r"a factor is missing before '\*'"),
    ("1", "'1' cannot be read"),
    ("1/", "'/' cannot be read"),
    ("80 GB/s", "'80 GB/s' cannot be read"),
    ("s^99", "the exponent 99 is beyond 12"),
    ("s^9999999999999", "is beyond 12"),
    ("s^0.5", "cannot be read"),
    ("(s)", "cannot be read"),
    ("s" * 500, "longer than 200 characters"),
    ("__import__('os')", "'__import__' is unknown"),
    (None, "a unit is text"),
    (3, "a unit is text"),
]


@pytest.mark.parametrize(("unit", "message"), REFUSED)
def test_refusals_say_why_and_what_is_expected(unit, message):
    for function in (dimension, lambda unit: to_si(1.0, unit)):
        with pytest.raises(UnitError, match=message) as caught:
            function(unit)
        assert "expected for example 'GHz'" in str(caught.value)


@given(st.text() | st.text("sBJWGHzKM/*^ 1-%²", max_size=30))
def test_any_text_is_a_unit_or_a_unit_error(unit):
    try:
        value, kind = to_si(1.0, unit)
    except UnitError:
        return
    assert math.isfinite(value)
    assert dimension(kind.unit) == kind


def test_what_is_not_finite():
    assert to_si(math.inf, "ms") == (math.inf, dimension("s"))
    assert math.isnan(to_si(math.nan, "ms")[0])
    with pytest.raises(UnitError, match="beyond the range of floats"):
        to_si(1e308, "GB")
    with pytest.raises(UnitError, match="beyond the range of floats"):
        to_si(10**5000, "GB")


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("GB/s", "a bandwidth [B/s]"),
        ("mW", "a power [W]"),
        ("ms", "a time [s]"),
        ("GHz", "a frequency [1/s]"),
        ("warps", "a plain number or count"),
        ("J s^2", "an energy-delay-squared product [J s^2]"),
        ("K/W", "a quantity [K s/J]"),
    ],
)
def test_dimensions_in_words(unit, words):
    assert str(dimension(unit)) == words


def test_dimensions_compute():
    assert dimension("J") / dimension("s") == dimension("W")
    assert dimension("W") * dimension("s") == dimension("J")
    assert dimension("s") ** -1 == dimension("Hz")
    assert dimension("s") ** Fraction(1, 2) ** 2 != dimension("s")
    assert (dimension("s") ** Fraction(1, 2)) ** 2 == dimension("s")
    assert (dimension("s") / dimension("s")).is_plain
    assert len({dimension("W"), dimension("J/s"), dimension("kW")}) == 1


def test_every_name_converts():
    for name in NAMES:
        assert is_unit(name), name
        assert name in spellings(name)
        assert {to_si(1.0, other) for other in spellings(name)} == {to_si(1.0, name)}, name
        assert to_si(1.0, name)[0] > 0, name


def test_the_nearest_unit():
    assert nearest_unit_hint("KIB") == "; did you mean 'KiB'?"
    assert nearest_unit_hint("zzzzz") == ""
    near = mismatch_message("'9 GHz'", dimension("GHz"), dimension("W"), "GHz")
    assert near == "'9 GHz' is a frequency [1/s], expected a power [W]; give a unit such as 'W'"
    plain = mismatch_message("'9 s'", dimension("s"), dimension(""))
    assert plain.endswith("expected a plain number or count; give it without a unit")
    odd = mismatch_message("'9 s'", dimension("s"), dimension("K/W"))
    assert odd.endswith("give a unit such as 'K s/J'")


def test_every_unit_is_what_pint_makes_of_its_definition():
    registry = UnitRegistry(None, non_int_type=Fraction, cache_folder=None, on_redefinition="raise")
    counts = {f"{count} {count}s": "[]" for count in _COUNTS.split()}
    for names, definition in (_BASES | counts | _DERIVED).items():
        symbol, *aliases = names.split()
        registry.define(" = ".join([symbol, definition, "_", *aliases]))
    symbols = {kind: names.split()[0] for names, kind in _BASES.items()}
    for name in NAMES:
        factor, _ = registry.get_root_units(name)
        kinds = registry.get_dimensionality(name)
        powers = sorted((symbols[kind], Fraction(exponent)) for kind, exponent in kinds.items())
        assert _parse_name(name) == (Fraction(factor), Dimension(tuple(powers)))


def test_threads_agree():
    code = (
        "from concurrent.futures import ThreadPoolExecutor as P; from symbolic.units import to_si\n"
        "with P(16) as pool: found = set(pool.map(lambda i: to_si(i % 3, 'GB/s')[0], range(99)))\n"
        "assert found == {0.0, 1e9, 2e9}, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    with ThreadPoolExecutor(8) as pool:
        result = pool.map(lambda unit: to_si(1.0, unit), sorted(NAMES) * 4)
        assert list(result) == [to_si(1.0, unit) for unit in sorted(NAMES) * 4]


def test_repeated_conversions_take_microseconds():
    to_si(1.3, "GHz")
    assert timeit(lambda: to_si(1.3, "GHz"), number=1000) < 0.2


def test_unit_errors_are_ours():
    assert issubclass(UnitError, DseError)


@pytest.mark.parametrize("micro", ["\u00b5", "\u03bc"])
def test_both_characters_for_micro_are_read_wherever_a_unit_is(micro: str) -> None:
    assert to_si_exact(1, f"{micro}s") == to_si_exact(1, "us")
    assert dimension(f"J/{micro}s") == dimension("W")
    assert is_unit(f"{micro}J")
    assert parse_value(f"200 {micro}s", TABLE["time"], TABLE) == 2e-4
    assert parse_condition(f"time <= 200{micro}s", TABLE) == parse_condition("time <= 200us", TABLE)
    assert micro in FormulaText(f"label == '{micro}s'").text
    with pytest.raises(ExpressionError, match="ASCII"):
        parse_value(f"{micro}", TABLE["time"], TABLE)
