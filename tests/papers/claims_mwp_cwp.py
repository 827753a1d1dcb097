"""What Hong 2012 claims in numbers in chapter 2, against what is computed here."""

from __future__ import annotations

import math
from typing import Any

import dse
from tests.papers.claims import Claim


def example(name: str, **changed: Any) -> float:
    """A quantity of the worked example."""
    entry = "hong2009_example"
    ds = dse.evaluate("mwp_cwp", machine=entry, workload=entry, outputs=[name], **changed)
    return float(ds[name])


def svm(machine: str, name: str = "mwp", *, coalesced: bool = True) -> float:
    """A quantity of SVM with 128 threads a block, its accesses all of one kind."""
    counts = {"coalesced_insts": 819, "uncoalesced_insts": 0}
    if not coalesced:
        counts = {"coalesced_insts": 0, "uncoalesced_insts": 819}
    given: dict[str, Any] = {"threads_per_block": 128, "outputs": [name], **counts}
    ds = dse.evaluate("occupancy + mwp_cwp", machine=machine, workload="svm", **given)
    return float(ds[name])


MEASURED = "hardware: the measured run times are only drawn"

CLAIMS = [
    *(
        Claim(
            claim=f"worked example: {what}",
            source=source,
            printed=math.nan,
            worked=worked,
            within=5e-5,
            computed=lambda name=name: example(name),
        )
        for what, source, name, worked in (
            ("latency of a memory instruction [cycles]", "Eqs. 12-14", "mem_latency", 730.0),
            ("departure delay [cycles]", "Eq. 15", "departure_delay", 320.0),
            ("MWP", "Eqs. 5 and 16", "mwp", 2.28125),
            ("MWP_peak_BW", "Eq. 6", "mwp_peak_bw", 28.515625),
            ("CWP_full", "Eq. 8", "cwp_full", 34.1818),
            ("CWP", "Eq. 9", "cwp", 20.0),
            ("cycles without synchronisation", "Eq. 22", "exec_cycles", 38428.1875),
            ("cycles of synchronisation", "Eq. 25", "sync_cycles", 12300.0),
            ("cycles per instruction", "Eq. 24", "cpi", 58.2245),
        )
    ),
    Claim(
        claim="worked example: all cycles",
        source="Eq. 27, in the article of 2009",
        printed=50738,
        within=0.5,
        computed=lambda: example("total_cycles"),
        differs="printed from an MWP rounded to 2.28",
    ),
    Claim(
        claim="MWP of SVM on FX5600, coalesced",
        source="Fig. 23",
        printed=12,
        within=0.5,
        computed=lambda: svm("fx5600"),
    ),
    Claim(
        claim="MWP of SVM on FX5600, coalesced",
        source="text after Fig. 23",
        printed=40,
        within=0.5,
        computed=lambda: svm("fx5600"),
        differs="contradicts the 12 of its own figure, which Eq. 6 gives",
    ),
    Claim(
        claim="MWP of naive SVM on FX5600, uncoalesced",
        source="Fig. 24",
        printed=math.nan,
        worked=2.28125,
        computed=lambda: svm("fx5600", coalesced=False),
    ),
    Claim(
        claim="MWP where all is coalesced, up to (8800GT)",
        source="Fig. 21",
        printed=9,
        within=0.5,
        computed=lambda: svm("8800gt"),
    ),
    *(
        Claim(
            claim=f"MWP_peak_BW where all is coalesced, {machine}",
            source="Eq. 6 and Table 5",
            printed=math.nan,
            worked=worked,
            within=5e-4,
            computed=lambda machine=machine: svm(machine, "mwp_peak_bw"),
        )
        for machine, worked in (("8800gtx", 13.25), ("gtx280", 12.887))
    ),
    *(
        Claim(
            claim=f"geometric mean error of CPI, {what}",
            source=source,
            printed=printed,
            computed=lambda: math.nan,
            differs=MEASURED,
        )
        for what, source, printed in (
            ("micro-benchmarks", "section 2.5.1", 0.054),
            ("Merge benchmarks", "section 2.5.2", 0.133),
        )
    ),
]
