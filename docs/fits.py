"""What the fits of models to published measurements come to; prints the page ``docs/fits.md``.

    python docs/fits.py ../shared/data > docs/fits.md

The folder holds ``bandwidth/`` (te42kyfo/gpu-benches, commit 1c36d50) and ``dvfs/``
(blackjack2015/NV-DVFS-Benchmark, commit 7622701), as their repositories publish them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dse

CARDS = {"v100": "V100", "a100_40": "A100 40 GB", "mi210": "MI210"}
CLOCKS = (607, 810, 1012, 1202, 1328)
KNEE = ["voltage_knee_clock", "voltage_slope"]


# --- the two supply curves of Transit


@dataclass(frozen=True, kw_only=True)
class Supply:
    """Both supply curves fitted to the bandwidth of one streaming kernel on one card."""

    card: str
    kernel: str
    sharp: Any
    smooth: Any


def supply_table(path: Path) -> dict[str, np.ndarray]:
    """Threads and GB/s for each kernel, per multiprocessor as Transit counts them."""
    head, *lines = path.read_text().splitlines()
    kernels = head.split("|")[1].split()
    numbers = np.array([[float(x) for x in re.findall(r"[\d.]+", line)] for line in lines])
    sms = numbers[0, 1] / numbers[0, 0]  # one block on each
    columns = dict(zip(kernels, numbers[:, 3:].T / sms, strict=True))
    return {"threads_in_ms": numbers[:, 1] / sms, **columns}


def supply(folder: Path) -> Iterator[Supply]:
    """Every card and kernel."""
    for card in CARDS:
        table = supply_table(folder / "bandwidth" / f"gpu-stream__{card}.txt")
        threads = table.pop("threads_in_ms")
        for kernel, bandwidth in table.items():
            rows = {"threads_in_ms": threads, "attained_bandwidth [GB/s]": bandwidth}
            curves = {
                curve: dse.fit(
                    "transit_supply",
                    rows,
                    free=["ms_peak_bandwidth", "ms_transition"],
                    set={"supply": curve},
                    residuals="relative",
                    left_out="hat",
                )
                for curve in ("sharp", "smooth")
            }
            yield Supply(card=CARDS[card], kernel=kernel, **curves)


# --- the roofline of power


def roofline_table(folder: Path) -> pd.DataFrame:
    """Rates and power of eight A100 at 43 intensities."""
    lines = (folder / "bandwidth" / "gpu-roofline__alex_a100_40.txt").read_text().splitlines()
    rows = [[float(x) for x in re.findall(r"[\d.]+", line)] for line in lines if line.strip()]
    names = ["gpu", "blocks", "its", "intensity", "GB/s", "GF/s", "MHz", "W", "degC"]
    return pd.DataFrame([row[:9] for row in rows], columns=names)


def roofline(table: pd.DataFrame) -> Any:
    """P = P0 + e_B BW + e_F F fitted to its rows."""
    return dse.fit(
        "energy_roofline",
        table,
        columns={
            "attained_bandwidth": "GB/s [GB/s]",
            "attained_flops": "GF/s [Gflop/s]",
            "power": "W [W]",
        },
        to="power",
        free=["constant_power", "energy_per_byte", "energy_per_flop"],
        residuals="relative",
    )


# --- time and power against clocks


@dataclass(frozen=True, kw_only=True)
class Clocks:
    """Fits to some measurements, judged by all; ``power`` has what all kernels share."""

    power: Any
    time_error: float
    power_error: float
    lost: pd.Series


def clocks_table(folder: Path) -> pd.DataFrame:
    """Time and power of 30 kernels at five core clocks of a P100."""
    path = folder / "dvfs" / "p100-dvfs-real-Performance-Power.csv"
    table = pd.read_csv(path)[["appName", "coreF", "time/ms", "power/W"]]
    return table.sort_values(["appName", "coreF"], ignore_index=True)


def half(table: pd.DataFrame, first: int) -> np.ndarray:
    """Half of the measurements: three clocks of every other kernel, the other two of the rest."""
    kernel = np.arange(len(table)) // len(CLOCKS)
    upper = table["coreF"].isin((607, 1202, 1328)).to_numpy()
    return upper == (kernel % 2 == first)


def every_other(table: pd.DataFrame) -> np.ndarray:
    """Every other measurement: 607, 1012, 1328 MHz of one kernel, 810, 1202 MHz of the next."""
    return np.arange(len(table)) % 2 == 0


def at_clocks(table: pd.DataFrame, clocks: Sequence[int]) -> np.ndarray:
    """The measurements at some clocks."""
    return table["coreF"].isin(clocks).to_numpy()


def lost_at(table: pd.DataFrame, clock: int) -> pd.Series:
    """The share of energy that each kernel loses at one clock, against its best clock."""
    energy = (table["time/ms"] * table["power/W"]).to_numpy().reshape(-1, len(CLOCKS))
    kernels = table["appName"].to_numpy()[:: len(CLOCKS)]
    return pd.Series(energy[:, CLOCKS.index(clock)] / energy.min(axis=1) - 1, kernels)


def clocks_fit(
    rows: pd.DataFrame,
    to: str,
    header: str,
    own: Sequence[str],
    shared: Sequence[str] = (),
    *,
    columns: dict[str, str],
    **said: Any,
) -> Any:
    """Time or power of all kernels; each has its ``own`` values."""
    columns = {**columns, to: header}
    return dse.fit(
        "clock_scaling", rows, to=to, free=shared, per={"appName": own}, columns=columns, **said
    )


def clocks(
    table: pd.DataFrame, used: np.ndarray, free: Sequence[str] = KNEE, curve: str = "knee"
) -> Clocks:
    """Fitted to the measurements ``used``; the least energy predicted chooses a kernel's clock."""
    given = {"nominal_clock": "1328 MHz", "voltage_curve": curve}
    said = {
        "columns": {"core_clock": "coreF [MHz]"},
        "set": given,
        "residuals": "relative",
        "left_out": "hat",
    }
    run = clocks_fit(table[used], "time", "time/ms [ms]", ["stall_time", "core_cycles"], **said)
    draw = clocks_fit(
        table[used], "power", "power/W [W]", ["constant_power", "dynamic_power"], free, **said
    )
    lost, errors = {}, []
    for kernel, rows in table.groupby("appName"):
        clock = rows["coreF"].to_numpy() * 1e6
        fitted = {**run.set_of(kernel), **draw.set_of(kernel)}
        ds = dse.evaluate("clock_scaling", core_clock=clock, **given, **fitted)
        seconds, watts = rows["time/ms"].to_numpy() / 1e3, rows["power/W"].to_numpy()
        energy = seconds * watts
        lost[kernel] = energy[int(np.argmin(ds["energy"].values))] / energy.min() - 1
        unseen = ~used[rows.index]
        errors.append(
            [
                np.abs(ds["time"].values / seconds - 1)[unseen].mean(),
                np.abs(ds["power"].values / watts - 1)[unseen].mean(),
            ]
        )
    time_error, power_error = np.mean(errors, axis=0)
    return Clocks(power=draw, time_error=time_error, power_error=power_error, lost=pd.Series(lost))


# --- the procedure behind Table 8


UNITS = ("fp", "alu", "sfu", "int", "shared", "texture", "const", "global", "local")
MAXIMA = [f"max_power_{unit}" for unit in (*UNITS, "register", "fds", "const_sm")]


def micro_benchmarks() -> dict[str, np.ndarray]:
    """Access rates of micro-benchmarks that stress one unit each, in a loop of logic instructions.

    Of each, one whose instructions all use registers, and one in which 60 % do.
    """
    rows = []
    for unit in UNITS:
        for rate in (0.02, 0.1, 0.3, 0.6, 0.9):
            row = dict.fromkeys((f"{name}_insts" for name in UNITS), 0.0)
            row["alu_insts"] = min(0.05, rate)
            row[f"{unit}_insts"] = rate
            row["total_insts"] = sum(row.values())
            rows += [{**row, "register_insts": r * row["total_insts"]} for r in (1.0, 0.6)]
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def table_8(noise: float, seed: int = 0) -> Any:
    """MaxPower of each unit, from the power that Table 8 itself gives the micro-benchmarks.

    ``noise`` [W] is the standard deviation of what a meter would add.
    """
    rates, given = micro_benchmarks(), {"issue_rate": 1, "busy_sms": 30}
    power = dse.evaluate("power", machine="gtx280", outputs="power", **rates, **given)["power"]
    measured = power.values + noise * np.random.default_rng(seed).normal(size=power.size)
    return dse.fit(
        "power",
        {**rates, "power": measured},
        machine="gtx280",
        set=given,
        to="power",
        free=MAXIMA,
        left_out="hat",
    )


# --- the page


def row(*cells: object) -> str:
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def header(*cells: str) -> list[str]:
    """The head of a table."""
    return [row(*cells), "|" + "---|" * len(cells)]


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f} %"


def supply_page(found: Sequence[Supply]) -> list[str]:
    """The section of the supply curves."""
    lines = [
        "## Transit's two supply curves",
        "",
        "Attained bandwidth against resident threads, both per multiprocessor, of streaming",
        "kernels (`data/bandwidth`). Free: the point δ, `ms_transition` and `ms_peak_bandwidth`.",
        "Errors are means of |predicted − measured| / measured.",
        "",
        *header(
            *("card", "kernel", "δ sharp [threads, GB/s]", "error"),
            *("δ smooth [threads, GB/s]", "error"),
        ),
    ]
    for one in found:
        cells = []
        for fit in (one.sharp, one.smooth):
            delta = f"{fit['ms_transition']:.0f}, {fit['ms_peak_bandwidth'] / 1e9:.1f}"
            cells += [delta, percent(fit.mean_error)]
        lines.append(row(one.card, one.kernel, *cells))
    for curve in ("sharp", "smooth"):
        errors = [getattr(one, curve).mean_error for one in found]
        reach = f"{percent(min(errors))} to {percent(max(errors))}"
        stated = "0–8 %" if curve == "sharp" else "1–13 %"
        lines += ["", f"The {curve} curve errs by {reach}; known before: {stated} on these cards."]
    return lines


def roofline_page(table: pd.DataFrame) -> list[str]:
    """The section of the roofline of power."""
    together = roofline(table)
    lines = [
        "## The roofline of power",
        "",
        "P = P₀ + e_B · BW + e_F · F on eight A100 (`data/bandwidth`), 43 intensities each.",
        "",
        *header("GPU", "P₀ [W]", "e_B [pJ/B]", "e_F [pJ/flop]", "mean error", "largest", "r²"),
    ]
    fits = {"all": together} | {str(int(g)): roofline(t) for g, t in table.groupby("gpu")}
    for name, fit in fits.items():
        values = []
        for quantity, unit in (("constant_power", 1), ("energy_per_byte", 1e12)):
            error = fit.standard_errors[quantity] * unit
            values.append(f"{fit[quantity] * unit:.1f} ± {error:.1f}")
        flop, error = fit["energy_per_flop"] * 1e12, fit.standard_errors["energy_per_flop"] * 1e12
        values.append(f"{flop:.2f} ± {error:.2f}")
        errors = percent(fit.mean_error, 2), percent(fit.largest_error)
        lines.append(row(name, *values, *errors, f"{fit.r2:.3f}"))
    return [
        *lines,
        "",
        "Known before: 2.5 % for all together. Most of that is the difference between the eight",
        "GPUs, as each by itself shows. ± is the standard error.",
    ]


def clocks_page(table: pd.DataFrame) -> list[str]:
    """The section of the clocks."""
    base = min((lost_at(table, clock) for clock in CLOCKS), key=lambda lost: float(lost.mean()))
    three = (607, 1012, 1328)
    designs = [
        ("607, 1202, 1328 MHz or 810, 1012 MHz in turn", half(table, 0), KNEE, "knee"),
        ("the other half", half(table, 1), KNEE, "knee"),
        ("607, 1012, 1328 MHz or 810, 1202 MHz in turn", every_other(table), KNEE, "knee"),
        ("607, 1012, 1328 MHz", at_clocks(table, three), KNEE, "knee"),
        ("607, 1202, 1328 MHz", at_clocks(table, (607, 1202, 1328)), KNEE, "knee"),
        ("607, 810, 1202 MHz", at_clocks(table, (607, 810, 1202)), KNEE, "knee"),
        ("607, 1012, 1328 MHz", at_clocks(table, three), ["clock_power_exponent"], "proportional"),
        ("607, 1012, 1328 MHz", at_clocks(table, three), [], "proportional"),
    ]
    lines = [
        "## Time and power against the core clock",
        "",
        "30 kernels on a P100 at five core clocks (`data/dvfs`). Of each kernel four numbers are",
        "fitted, two of its time and two of its power; the voltage curve is the card's, the same",
        "for all. Errors are those of the measurements not fitted. Energy lost: at the clock of",
        "least predicted energy, against the kernel's best measured clock; mean over the kernels.",
        "",
        *header(
            *("fitted to", "share", "voltage", "fitted for all kernels"),
            *("time error", "power error", "energy lost", "most"),
        ),
    ]
    names = {"knee": "knee", "proportional": "proportional to the clock"}
    for title, used, free, curve in designs:
        share = percent(used.mean(), 0)
        try:
            found = clocks(table, used, free, curve)
        except dse.DseError as error:
            if "do not determine voltage_knee_clock" not in str(error):
                raise
            lines.append(row(title, share, names[curve], "not determined", *["–"] * 4))
            continue
        if curve == "knee":
            knee, slope = (found.power[name] for name in KNEE)
            errors = (found.power.standard_errors[name] for name in KNEE)
            spread = [error * scale for error, scale in zip(errors, (1e-6, 1e10), strict=True)]
            shared = (
                f"knee {knee / 1e6:.0f} ± {spread[0]:.0f} MHz, "
                f"{slope * 1e10:.1f} ± {spread[1]:.1f} % for 100 MHz"
            )
        else:
            exponent = found.power[free[0]] if free else 3
            shared = f"exponent {exponent:.2f}" + ("" if free else " (not fitted)")
        errors = percent(found.time_error), percent(found.power_error)
        losses = percent(found.lost.mean(), 2), percent(found.lost.max())
        lines.append(row(title, share, names[curve], shared, *errors, *losses))
    losses = percent(base.mean(), 2), percent(base.max())
    lines.append(row("always 1012 MHz, the best one clock", "100 %", *["–"] * 4, *losses))
    return [
        *lines,
        "",
        "From half of the measurements the loss is an eighth of that of the best one clock, which",
        "knows them all. Where the voltage begins to rise shows in a kernel that is measured at",
        "two clocks above the knee and at one below. In the third design 1202 MHz comes with one",
        "other clock alone, so that the two values of those kernels take up what it says, and",
        "`dse.fit` refuses; in the fourth and sixth a single clock above the knee pulls it down.",
        "A voltage proportional to the clock does not suit a card that holds its lowest voltage up",
        "to a knee: its exponent comes out above 3.",
    ]


def table_8_page() -> list[str]:
    """The section of Table 8."""
    exact, noisy = table_8(0.0), table_8(1.0)
    lines = [
        "## Power parameters from micro-benchmarks",
        "",
        "Hong 2012, section 3.2.4: micro-benchmarks that stress one unit each, and the parameters",
        "that meet their measured power best. Those powers are not published, so that this checks",
        "the procedure: ninety micro-benchmarks of our own, their power computed with Table 8, and",
        "the parameters found from it again; then with 1 W of noise on each.",
        "",
        *header("quantity", "Table 8 [W]", "found", "with noise of 1 W"),
    ]
    machine = dse.machine("gtx280")
    for name in MAXIMA:
        printed = float(machine.values[name].value.removesuffix(" W"))
        found = f"{noisy[name]:.3f} ± {noisy.standard_errors[name]:.3f}"
        lines.append(row(f"`{name}`", f"{printed:g}", f"{exact[name]:.6f}", found))
    return [
        *lines,
        "",
        "Fetch, decode and schedule are accessed by every instruction and registers by nearly all:",
        "only micro-benchmarks in which they differ tell the two apart, as their errors show.",
    ]


def page(folder: Path) -> str:
    """The whole page."""
    lines = [
        "# Fits to published measurements",
        "",
        "Generated by `python docs/fits.py ../shared/data > docs/fits.md`, with `dse.fit`.",
        "Data: `bandwidth`, te42kyfo/gpu-benches at commit 1c36d50; `dvfs`,",
        "blackjack2015/NV-DVFS-Benchmark at commit 7622701. Neither is part of this project.",
        "",
        *supply_page(list(supply(folder))),
        "",
        *roofline_page(roofline_table(folder)),
        "",
        *clocks_page(clocks_table(folder)),
        "",
        *table_8_page(),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    print(page(Path(sys.argv[1])), end="")
