"""What Hong 2012 claims in numbers in chapter 4, against what is computed here."""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pandas as pd

import dse
from tests.papers.claims import Claim

#: Table 12: four active SMs of the 8800GT.
TABLE_12 = Path(__file__).parents[2] / "examples" / "hong_2012_table_12.csv"


@cache
def table_12() -> pd.DataFrame:
    return pd.read_csv(TABLE_12)


def active_tpcs(sms: str) -> float:
    ds = dse.evaluate("placement", machine="8800gt", lit_sms=sms, outputs=["active_tpcs"])
    return float(ds.active_tpcs)


@cache
def every_set() -> Any:
    """All sets of four of the 14 SMs."""
    sets = ["-".join(map(str, sms)) for sms in combinations(range(14), 4)]
    return dse.Study(model="placement", machine="8800gt", axes={"lit_sms": sets}).run()


def lighting(tpcs: int) -> float:
    return float((every_set().active_tpcs == tpcs).sum())


@cache
def on_tpcs() -> Any:
    """Least squares of power on TPCs."""
    return dse.fit(
        "placement",
        TABLE_12,
        to="placement_power",
        free=["placement_base_power", "power_per_tpc"],
        columns=["active_tpcs", "placement_power"],
    )


@cache
def on_temperature() -> Any:
    """Least squares of power on temperature: the line of Eq. 56, from 0 °C on."""
    return dse.fit(
        "temperature",
        TABLE_12,
        to="power_at",
        free=["power", "leakage_per_degree"],
        columns={"temperature": "temperature [degC]", "power_at": "placement_power [W]"},
        set={"idle_temperature": 0},
    )


def scatter_of(fit: Any) -> float:
    """The standard deviation of the residuals, for two coefficients."""
    rows = fit.dataset.sizes["row"]
    return float(fit.rms * math.sqrt(rows / (rows - 2)))


def error(name: str) -> float:
    return float(on_tpcs().standard_errors[name])


def ranked(column: str, most: bool) -> str:
    """The set of Table 12 with the least or most of a column."""
    column_of = table_12().set_index("lit_sms")[column]
    return str(column_of.idxmax() if most else column_of.idxmin())


def sms_of(machine: str) -> float:
    return float(dse.evaluate("placement", machine=machine, active_sms=1).n_sms)


CLAIMS = [
    *(
        Claim(
            claim=f"TPCs that SMs {sms} light",
            source="Table 12",
            printed=printed,
            computed=lambda sms=sms: active_tpcs(sms),
        )
        for sms, printed in (
            *(("0-7-1-8", 2), ("4-11-6-13", 2), ("2-9-5-12", 2), ("4-11-0-1", 3), ("3-10-5-6", 3)),
            *(("6-7-8-9", 4), ("10-11-12-13", 4), ("2-3-4-5", 4), ("0-1-2-3", 4)),
        )
    ),
    *(
        Claim(
            claim=f"sets of four SMs that light {tpcs} TPCs",
            source="section 4.5.2, all 1001 sets of the 8800GT",
            printed=math.nan,
            worked=worked,
            computed=lambda tpcs=tpcs: lighting(tpcs),
        )
        for tpcs, worked in ((2, 21), (3, 420), (4, 560))
    ),
    *(
        Claim(
            claim=f"power on TPCs, least squares: {what} [{unit}]",
            source="Table 12",
            printed=math.nan,
            worked=worked,
            within=within,
            computed=computed,
        )
        for what, unit, worked, within, computed in (
            ("level", "W", 245.834, 5e-4, lambda: on_tpcs()["placement_base_power"]),
            (
                "standard error of the level",
                "W",
                0.882,
                5e-4,
                lambda: error("placement_base_power"),
            ),
            ("slope", "W a TPC", 3.9276, 5e-5, lambda: on_tpcs()["power_per_tpc"]),
            ("standard error of the slope", "W a TPC", 0.273, 5e-4, lambda: error("power_per_tpc")),
            ("r²", "ratio", 0.9673, 5e-5, lambda: on_tpcs().r2),
            ("scatter", "W", 0.716, 5e-4, lambda: scatter_of(on_tpcs())),
        )
    ),
    *(
        Claim(
            claim=f"power on temperature, least squares: {what} [{unit}]",
            source="Table 12, Fig. 91",
            printed=math.nan,
            worked=worked,
            within=within,
            computed=computed,
        )
        for what, unit, worked, within, computed in (
            ("level at 0 °C", "W", 47.921, 5e-4, lambda: on_temperature()["power"]),
            ("slope", "W/°C", 2.6833, 5e-5, lambda: on_temperature()["leakage_per_degree"]),
            ("r²", "ratio", 0.9231, 5e-5, lambda: on_temperature().r2),
        )
    ),
    *(
        Claim(
            claim=f"set of four SMs with the {'most' if most else 'least'} {what}",
            source="section 4.6.2",
            printed="0-1-2-3" if most else "0-7-1-8",
            computed=lambda column=column, most=most: ranked(column, most),
            differs=differs,
        )
        for what, column, most, differs in (
            ("power", "placement_power [W]", False, ""),
            (
                "heat",
                "temperature [degC]",
                False,
                "by Table 12, 4-11-6-13 is cooler by 0.4 °C; both light two TPCs",
            ),
            ("power", "placement_power [W]", True, ""),
            ("heat", "temperature [degC]", True, ""),
        )
    ),
    Claim(
        claim="SMs of the 8800GT",
        source="section 4.6.3",
        printed=12,
        computed=lambda: sms_of("8800gt"),
        differs="Table 2 and section 4.5.2, which names SMs 0 to 13, have 14",
    ),
]
