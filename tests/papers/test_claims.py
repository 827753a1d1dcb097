"""Every printed number stands in its table on the page, and nothing is set that the page hides."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import dse
from tests.long import long
from tests.papers.claims import KINDS, MET, RELATIONS, Claim, claims, outcomes, page

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]\d+)?(?![\w.]*\w)")
ROWS = claims()


@long
def test_a_claim_is_met_or_explained() -> None:
    """Met by the shipped files, or the row says why not; a choice only where one is needed."""
    for claim, result in zip(ROWS, outcomes(), strict=True):
        assert (result.kind in MET) is (not claim.why), (claim, result)
        assert not (result.kind in MET and claim.choice), (claim, result)


@long
def test_what_proves_little_is_counted_apart() -> None:
    """Little is proven by all SMs (Fig. 127), a name, arithmetic (1.6 Tflop/s), or assumed MB_A."""
    kinds = {o.claim.claim: o.kind for o in outcomes()}
    assert kinds["SMs suggested for cmem, N = 8"] == "all"
    assert kinds["kernel with the lowest CPI, gtx280"] == "relation"
    assert kinds["top of the range of Gflop/s on GTX580"] == "echo"
    fused = "performance with fused instructions over that without, MB_E0 over MB_A0"
    assert kinds[fused] == "assumed"
    assert kinds["threads of a core at which the run time flattens, S_D = 64"] == "assumed"
    assert kinds["series in the top-right quadrant at every share of the GPU"] == "assumed"
    assert kinds["mean loss of Geo(0.05), 32 lanes"] == "number"
    assert not any(o.echo and o.kind in ("number", "assumed") for o in outcomes())


def test_the_numbers_of_tables_are_all_there() -> None:
    """Table I has 75 means, Table 12 nine powers and temperatures, Fig. 147 56 shares."""
    count = Counter(claim.source for claim in ROWS)
    assert count["Table I"] == 75
    assert count["Table 12"] == 27
    assert count["§5.9, Fig. 147"] == 57


@long
def test_the_page_is_up_to_date() -> None:
    """Words alike; numbers to five digits, since the last of six may round either way."""
    remaining, made = PAGE.read_text(), page()
    assert NUMBER.sub("#", remaining) == NUMBER.sub("#", made)
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (remaining, made)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-5)


@long
def test_all_that_is_set_stands_on_the_page() -> None:
    """Return what a claim states under "Asked", what it leaves open as the choice of its row."""
    lines = page().splitlines()
    for claim in ROWS:
        (line, *_) = [
            text for text in lines if text.startswith(f"| {claim.claim} | {claim.source}")
        ]
        requested, why = line.split(" | ")[4:6]
        assert all(name in requested or str(value) in requested for name, value in claim.at.items())
        assert all(name in requested for name in {*claim.over} - {"machine", "workload"})
        assert all(name in why or str(value) in why for name, value in claim.choice.items())


@long
def test_disagreements_come_first() -> None:
    assert list(KINDS) == ["differs", "choice", "measured", "untold", *MET]
    titles = [line for line in page().splitlines() if line.startswith("## ")]
    assert titles == [f"## {title}" for title, _ in KINDS.values()]


#: What the page leaves out since it only repeats a file, by machine.
TABLES = {
    "gtx280": {  # Table 8
        "max_power_fp": 0.2,
        "max_power_register": 0.3,
        "max_power_alu": 0.2,
        "max_power_sfu": 0.5,
        "max_power_int": 0.25,
        "max_power_fds": 0.5,
        "max_power_shared": 1,
        "max_power_texture": 0.9,
        "max_power_const": 0.4,
        "max_power_const_sm": 0.813,
        "max_power_global": 52,
        "max_power_local": 52,
    },
    "gtx580": {  # Table 11
        "max_power_fp": 1.1,
        "max_power_int": 1.1,
        "max_power_register": 0.8,
        "max_power_fds": 0.6,
        "max_power_shared": 1.4,
        "max_power_const": 1,
        "max_power_activation": 64,
        "max_power_global": 28,
        "max_power_l1": 1.6,
        "max_power_l2": 12,
        "max_power_sfu": 0.6,
        "max_power_texture": 0.9,
    },
}
TABLE_14 = {"gtx580": (1.544e9, 450, 16, 32, 150e9), "e5645_x2": (2.4e9, 250, 12, 2, 50e9)}
OF_TABLE_14 = ("core_clock", "mem_latency_dram", "n_sms", "fp_units", "mem_bandwidth")


def test_tables_that_the_page_leaves_out_stand_in_the_files() -> None:
    for machine, table in TABLES.items():
        ds = dse.evaluate("power", machine=machine, outputs=list(table))
        assert {name: float(ds[name]) for name in table} == table
    for machine, row in TABLE_14.items():
        ds = dse.evaluate("throughput", machine=machine, outputs=list(OF_TABLE_14))
        assert tuple(float(ds[name]) for name in OF_TABLE_14) == pytest.approx(row, rel=1e-12)


@pytest.mark.parametrize(
    ("printed", "met", "missed"),
    [
        ("12", [12, 11.5, 12.5], [11.4, "12 to 13", "asks for machine"]),
        ("5.878", [5.8775, 5.8784], [5.875]),
        ("1.6E+3", [1581, 1650], [1540]),
        ("< 0", [-1.0], [0.0, 1.0, "-1 to 1"]),
        ("svm", ["svm"], ["svm / sepia", 1.0]),
    ],
)
def test_a_number_is_met_within_half_of_its_last_digit(printed, met, missed) -> None:  # type: ignore[no-untyped-def]
    claim = Claim(chapter="", claim="", source="", printed=printed)
    assert [claim.is_met(value) for value in (*met, *missed)] == [True] * len(met) + [False] * len(
        missed
    )


def test_a_row_may_be_one_of_many() -> None:
    """``each`` makes a row of every value; lists are what differs between them."""
    (first, second) = [row for row in ROWS if row.claim.startswith("clock of")]
    assert (first.printed, second.printed) == ("2.4", "1.544")
    assert (first.at["machine"], second.at["machine"]) == ("gtx580", "e5645_x2")
    assert set(RELATIONS) == {"<", "<=", ">", ">="}
