"""Compare models of Hong 2012, chapters 3 and 5 and appendix A, with slow twins at random points.

The twins were written from the text of the thesis, without the equations of the models. ``python -m
tests.papers.test_energy_twins 100`` draws the points of 100 seeds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from symbolic.quantities import TABLE
from tests.oracles import hong_node, hong_power, hong_throughput
from tests.papers._solve import equations, solve

Point = dict[str, float]
#: Points of each model and each combination of its switches.
POINTS = 200
#: Very large values are the largest typical value times this factor.
LARGE = 1e6
#: Exponents are never very large, because powers would exceed the largest float.
EXPONENTS = ("clock_power_exponent", "power_growth")
#: Differences that lose digits, with the quantity to which their tolerance is relative.
CANCELLED = {
    "idle_mem_cycles": "overlapped_mem_cycles",
    "exposed_mem_ratio": "exposed_of",
    "sync_cycles": "total_cycles",
    "idle_fraction": "",
    "overhead_fraction": "",  # relative to 1
}
#: Ranges of quantities whose rows have no typical range.
RANGES = {
    "exec_cycles": (1e3, 1e9),
    "time": (1e-6, 1.0),
    "bw_per_warp": (1e7, 1e10),
    "mwp_without_bw_full": (0.5, 50.0),
    "cwp_full": (1.0, 50.0),
    "gpu_share": (0.0, 1.0),
    "scaling_offset": (1.0, 10.0),
}


def draw(name: str, rng: np.random.Generator) -> float:
    """Draw a value of a quantity from its typical range, or an edge value, which gives ties."""
    row = TABLE[name]
    low, high = RANGES.get(name) or row.typical or (0.0, 1.0)
    edges = [0.0, 1.0] if high < 1e5 else []  # a clock of 1 Hz is no edge
    edges += [low, high, (low + high) / 2]
    if row.unit != "degC" and "V" not in row.unit and name not in EXPONENTS:
        edges += [LARGE * high]
    edges = [edge for edge in edges if row.domain.contains(edge)]
    if rng.random() < 0.25:
        return float(rng.choice(edges))
    value = float(rng.uniform(low, high))
    return max(float(np.rint(value)), row.domain.low) if row.domain.whole else value


def draw_point(model: str, rng: np.random.Generator) -> Point:
    """Draw the quantities that no equation of a model yields, within the rules among them."""
    yielded = {eq.name for eq in equations(model)}
    needed = {name for eq in equations(model) for name in eq.inputs}
    at = {name: draw(name, rng) for name in sorted(needed - yielded) if not TABLE[name].labels}
    if "active_sms" in at and "n_sms" in at:
        at["active_sms"] = min(at["active_sms"], at["n_sms"])
    for name in {"warps_per_sm", "active_blocks_per_sm"} & at.keys():
        at[name] = max(1.0, at[name])  # a rule
    if "independent_insts" in at:
        share = rng.choice([0.0, 0.0, rng.random(), 1.0])
        at["independent_insts"] = share * (at["coalesced_insts"] + at["uncoalesced_insts"])
    if "l2_share" in at:
        at["l2_share"] = min(at["l2_share"], 1 - at["l1_share"])
    if "mwp_cwp" in model:  # a warp has instructions, and no sum of two counts is rounded
        counts = ("comp_insts", "coalesced_insts", "uncoalesced_insts", "independent_insts")
        at |= {name: float(math.ceil(at[name])) for name in counts}
        at["comp_insts"] += 1.0
        at["independent_insts"] = min(at["independent_insts"], at["coalesced_insts"])
    if model == "temperature":  # a rule
        at["comp_insts"] = max(at["comp_insts"], 1e-3)
    for name in {"exec_cycles", "time"} & at.keys():
        if rng.random() < 0.05:
            at[name] = float(rng.choice([0.0, math.inf]))
    return at


def power(at: Point, sm_scaling: str, power_gating: bool, printed: bool) -> Point:
    out = hong_power.power(at, sm_scaling, power_gating)
    out |= hong_power.efficiency(at, out["power"])
    return out | hong_power.optimal_sms(at, printed)


def throughput(at: Point, processor: str, printed: bool, saturation: str) -> Point:
    return hong_throughput.throughput(at, processor, printed, saturation == "requests")


def ipp(at: Point, sm_scaling: str, power_gating: bool, printed: bool) -> Point:
    """Return the power at the cycles that the twin of MWP-CWP predicts (Eq. 61)."""
    cases = pytest.importorskip("tests.oracles.mwp_cwp_cases")
    exact = {name: Fraction(value) for name, value in at.items()}
    cycles = cases.mwp_cwp(exact, printed, "continuous", "fractional")
    if not cycles["mem_insts"]:  # no request, no bandwidth
        cycles |= {"bw_per_warp": 0.0, "mwp_without_bw_full": math.inf, "cwp_full": 1.0}
    timed = {name: float(value) for name, value in cycles.items()}
    return timed | power(at | timed, sm_scaling, power_gating, printed)


BOTH = (False, True)
#: For each model: its twin, and the labels of its switches.
TWINS: dict[str, tuple[Callable[..., Point], dict[str, tuple[Any, ...]]]] = {
    "power": (
        power,
        {"sm_scaling": ("log", "linear"), "power_gating": BOTH, "printed": BOTH},
    ),
    "mwp_cwp + power": (
        ipp,
        {"sm_scaling": ("log", "linear"), "power_gating": BOTH, "printed": BOTH},
    ),
    "temperature": (hong_power.temperature, {"printed": BOTH}),
    "leakage": (hong_power.leakage, {}),
    "heterogeneous": (hong_node.heterogeneous, {}),
    "energy_speedup": (hong_node.energy_speedup, {"printed": BOTH}),
    "throughput": (
        throughput,
        {"processor": ("gpu", "cpu"), "printed": BOTH, "saturation": ("warps", "requests")},
    ),
}
CASES = [
    (model, dict(zip(labels, chosen, strict=True)))
    for model, (_, labels) in TWINS.items()
    for chosen in product(*labels.values())
]


def is_ill_conditioned(at: Point, row: Point) -> bool:
    """True if a point has no power, or rounding decides its power or best share."""
    if row.get("exec_cycles", 1.0) <= 0:  # by the print, MWP below 1 subtracts cycles
        return True
    units = [row.get(f"{unit}_unit_power", 0.0) for unit in hong_power.LOGARITHMIC]
    most = [at.get(f"max_power_{unit}", 0.0) for unit in hong_power.LOGARITHMIC]
    if any(0 < watts < 1e-3 * limit for watts, limit in zip(units, most, strict=True)):
        return True
    spent = sorted(row[name] for name in row if name.startswith("energy_of_share"))
    return bool(spent) and spent[1] < spent[0] * (1 + 1e-6)


def differences(model: str, switches: dict[str, Any], seed: int) -> dict[str, tuple[int, Any]]:
    """Return, per output that differs from the twin, the number of such points, and one point."""
    rng = np.random.default_rng(seed)
    points: list[Point] = []
    expected: list[Point] = []
    while len(points) < POINTS:
        at = draw_point(model, rng)
        if switches.get("processor") == "cpu":
            at |= {"warp_size": 1.0, "threads_per_block": 1.0, "active_blocks_per_sm": 1.0}
        row = TWINS[model][0](at, **switches)
        if not is_ill_conditioned(at, row):
            points.append(at)
            expected.append(row)
    columns = {name: np.array([at[name] for at in points]) for name in points[0]}
    with np.errstate(all="ignore"):
        got = solve(model, **{name: str(each) for name, each in switches.items()}, **columns)
    result: dict[str, tuple[int, Any]] = {}
    for name in sorted({eq.name for eq in equations(model)} - columns.keys()):
        if "+" in model and not all(name in row for row in expected):
            continue  # the twin of MWP-CWP has a test of its own
        values = np.broadcast_to(np.asarray(got[name], dtype=float), (POINTS,))
        right = np.array([row[name] for row in expected], dtype=float)
        allowed = 1e-12 * np.abs(right)
        if name in CANCELLED:
            allowed = 1e-12 * np.abs([row.get(CANCELLED[name], 1.0) for row in expected])
        with np.errstate(invalid="ignore"):
            near = (values == right) | (np.abs(values - right) <= allowed)
        near |= np.isnan(values) & np.isnan(right) & (name == "clock_reduction")
        if not near.all():
            index = int(np.argmin(near))
            result[name] = (int((~near).sum()), (values[index], right[index], points[index]))
    return result


@pytest.mark.parametrize(("model", "switches"), CASES)
def test_a_twin_from_the_text_gives_the_same(model: str, switches: dict[str, Any]) -> None:
    assert not differences(model, switches, seed=1)


if __name__ == "__main__":
    wrong = 0
    for model, switches in CASES:
        for seed in range(int(sys.argv[1])):
            for name, (count, (value, right, at)) in differences(model, switches, seed).items():
                wrong += 1
                print(model, *switches.values(), f"{name}: {value}, twin {right} ({count})")
                if len(sys.argv) > 2 and name == sys.argv[2]:
                    print(at)
    print(f"{wrong} differences")
    sys.exit(wrong > 0)
