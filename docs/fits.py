"""Print the page ``docs/fits.md``: models fitted to published measurements.

    python docs/fits.py ../shared/data > docs/fits.md

The folder holds ``bandwidth/`` (te42kyfo/gpu-benches, commit 1c36d50) and ``dvfs/``
(blackjack2015/NV-DVFS-Benchmark, commit 7622701), as their repositories publish them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dse

CARDS = {"v100": "V100", "a100_40": "A100 40 GB", "mi210": "MI210"}
CLOCKS = (607, 810, 1012, 1202, 1328)
KNEE = ["voltage_knee_clock", "voltage_slope"]
#: Of each curve of the voltage, what is fitted for all kernels, and what is given.
CURVES: dict[str, tuple[list[str], dict[str, str]]] = {
    "knee": (KNEE, {"nominal_clock": "1328 MHz", "voltage_curve": "knee"}),
    "cube": ([], {"nominal_clock": "1328 MHz", "voltage_curve": "proportional"}),
    "exponent": (
        ["clock_power_exponent"],
        {"nominal_clock": "1328 MHz", "voltage_curve": "proportional"},
    ),
}


# --- the two supply curves of Transit


@dataclass(frozen=True, kw_only=True)
class Supply:
    """Sharp and smooth supply curve fitted to one streaming kernel on one card."""

    card: str
    kernel: str
    sharp: Any
    smooth: Any


def supply_table(path: Path) -> dict[str, np.ndarray]:
    """Return threads and GB/s of each kernel, per multiprocessor."""
    head, *lines = path.read_text().splitlines()
    kernels = head.split("|")[1].split()
    numbers = np.array([[float(x) for x in re.findall(r"[\d.]+", line)] for line in lines])
    sms = numbers[0, 1] / numbers[0, 0]  # one block on each
    columns = dict(zip(kernels, numbers[:, 3:].T / sms, strict=True))
    return {"threads_in_ms": numbers[:, 1] / sms, **columns}


def supply(folder: Path) -> Iterator[Supply]:
    """Yield the fits of every card and kernel."""
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
    """Return rates and power of eight A100 at 43 intensities."""
    lines = (folder / "bandwidth" / "gpu-roofline__alex_a100_40.txt").read_text().splitlines()
    rows = [[float(x) for x in re.findall(r"[\d.]+", line)] for line in lines if line.strip()]
    names = ["gpu", "blocks", "its", "intensity", "GB/s", "GF/s", "MHz", "W", "degC"]
    return pd.DataFrame([row[:9] for row in rows], columns=names)


def roofline(table: pd.DataFrame) -> Any:
    """Fit P = P0 + e_B BW + e_F F to rows of the roofline table."""
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
    """Errors of a fit to part of the measurements; ``power`` has the shared values."""

    power: Any
    time_error: float
    power_error: float
    lost: pd.Series


def clocks_table(folder: Path) -> pd.DataFrame:
    """Return time and power of 30 kernels at five core clocks of a P100."""
    path = folder / "dvfs" / "p100-dvfs-real-Performance-Power.csv"
    table = pd.read_csv(path)[["appName", "coreF", "time/ms", "power/W"]]
    return table.sort_values(["appName", "coreF"], ignore_index=True)


def half(table: pd.DataFrame, first: int) -> np.ndarray:
    """Return the mask of three clocks of every other kernel, and two of the rest."""
    kernel = np.arange(len(table)) // len(CLOCKS)
    upper = table["coreF"].isin((607, 1202, 1328)).to_numpy()
    return upper == (kernel % 2 == first)


def every_other(table: pd.DataFrame) -> np.ndarray:
    """Return the mask of every other measurement, in turn 607, 1012, 1328 MHz and 810, 1202 MHz."""
    return np.arange(len(table)) % 2 == 0


def drawn(table: pd.DataFrame, seed: int, *, lowest: bool = False) -> np.ndarray:
    """Return the mask of a random half: three clocks of half of the kernels, two of the others.

    ``lowest``: of each kernel the lowest clock is one of them.
    """
    rng, kernels = np.random.default_rng(seed), len(table) // len(CLOCKS)
    used = np.zeros((kernels, len(CLOCKS)), dtype=bool)
    for kernel, place in enumerate(rng.permutation(kernels)):
        several = 3 if place < kernels // 2 else 2
        if lowest:
            used[kernel, [0, *(1 + rng.permutation(len(CLOCKS) - 1)[: several - 1])]] = True
        else:
            used[kernel, rng.permutation(len(CLOCKS))[:several]] = True
    return used.reshape(-1)


def at_clocks(table: pd.DataFrame, clocks: Sequence[int]) -> np.ndarray:
    """Return the mask of the measurements at some clocks."""
    return table["coreF"].isin(clocks).to_numpy()


def lost_at(table: pd.DataFrame, clock: int) -> pd.Series:
    """Return the share of energy that each kernel loses at one clock, against its best clock."""
    energy = (table["time/ms"] * table["power/W"]).to_numpy().reshape(-1, len(CLOCKS))
    kernels = table["appName"].to_numpy()[:: len(CLOCKS)]
    lost = energy[:, CLOCKS.index(clock)] / energy.min(axis=1) - 1
    return pd.Series(lost, kernels, name=clock)


@dataclass(frozen=True, eq=False)
class Design:
    """Fits to the measurements ``used``, each computed once."""

    table: pd.DataFrame
    used: np.ndarray

    def fit(self, to: str, column: str, own: Sequence[str], **options: Any) -> Any:
        """Fit time or power of all kernels; each kernel has its ``own`` values."""
        return dse.fit(
            "clock_scaling",
            self.table[self.used],
            to=to,
            per={"appName": own},
            columns={"core_clock": "coreF [MHz]", to: column},
            residuals="relative",
            left_out="hat",
            **options,
        )

    @cached_property
    def time(self) -> Any:
        """Return the fit to run times."""
        return self.fit("time", "time/ms [ms]", ["stall_time", "core_cycles"])

    @cache  # noqa: B019 - a program that ends
    def power(self, curve: str) -> Any:
        """Return the fit to power with one of ``CURVES``."""
        free, given = CURVES[curve]
        own = ["constant_power", "dynamic_power"]
        return self.fit("power", "power/W [W]", own, free=free, set=given)

    @cached_property
    def recommended(self) -> str:
        """Return the curve that the rule chooses from the used measurements alone.

        Of the curve with a knee and the cube, that of the smaller error of rows left out. The cube
        where there are fewer than four clocks, or the rows do not determine the knee: two values
        of each kernel show at two clocks below the knee, knee and slope at two above.
        """
        if self.why:
            return "cube"
        return min(("knee", "cube"), key=lambda curve: without(self.power(curve)))

    @cached_property
    def why(self) -> str:
        """Return the reason why the rule takes the cube without a comparison, or an empty text."""
        clocks = self.table["coreF"][self.used].nunique()
        if clocks < 4:
            return f"{clocks} clocks do not tell a knee"
        try:
            self.power("knee")
        except dse.DseError as error:
            if "do not determine voltage_knee_clock" not in str(error):
                raise
            return str(error)
        return ""

    def judged(self, curve: str) -> Clocks:
        """Choose the clock of least predicted energy for each kernel, with its loss."""
        table, unseen, draw = self.table, ~self.used, self.power(curve)
        fitted = [{**self.time.set_of(k), **draw.set_of(k)} for k in table["appName"]]
        rows = {name: np.array([values[name] for values in fitted]) for name in fitted[0]}
        rows["core_clock"] = table["coreF"].to_numpy() * 1e6
        ds = dse.evaluate("clock_scaling", **CURVES[curve][1], **rows)
        seconds, watts = table["time/ms"].to_numpy() / 1e3, table["power/W"].to_numpy()
        measured = table["coreF"][self.used]
        within = table["coreF"].between(measured.min(), measured.max()).to_numpy()
        predicted = np.where(within, ds["energy"].values, np.inf).reshape(-1, len(CLOCKS))
        energy = (seconds * watts).reshape(predicted.shape)
        at_best = energy[np.arange(len(energy)), predicted.argmin(axis=1)]
        kernels = table["appName"].to_numpy()[:: len(CLOCKS)]
        return Clocks(
            power=draw,
            time_error=float(np.abs(ds["time"].values / seconds - 1)[unseen].mean()),
            power_error=float(np.abs(ds["power"].values / watts - 1)[unseen].mean()),
            lost=pd.Series(at_best / energy.min(axis=1) - 1, kernels),
        )


def without(fit: Any) -> float:
    """Return the root mean square error of the rows left out."""
    return float(np.sqrt(np.nanmean(np.square(fit.left_out["power"]))))


# --- the procedure behind Table 8


UNITS = ("fp", "alu", "sfu", "int", "shared", "texture", "const", "global", "local")
MAXIMA = [f"max_power_{unit}" for unit in (*UNITS, "register", "fds", "const_sm")]


def micro_benchmarks() -> dict[str, np.ndarray]:
    """Return access rates of micro-benchmarks that each stress one unit.

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
    """Fit MaxPower of each unit to the power that Table 8 gives for the micro-benchmarks.

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
    """Return a row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


def header(*cells: str) -> list[str]:
    """Return the head of a table."""
    return [row(*cells), "|" + "---|" * len(cells)]


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, as text."""
    return f"{100 * share:.{digits}f} %"


def supply_page(found: Sequence[Supply]) -> list[str]:
    """Return the section about supply curves."""
    lines = [
        "## Supply curves of Transit",
        "",
        "Transit has a sharp and a smooth supply curve. Each gives the attained bandwidth against",
        "the number of resident threads, both per multiprocessor. The curves are fitted to",
        "streaming kernels (`data/bandwidth`). The free quantities are `ms_transition` (the",
        "corner δ) and `ms_peak_bandwidth`. Errors are means of |predicted − measured| / measured.",
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
        lines += ["", f"Error of the {curve} curve: {reach}; expected on these cards: {stated}."]
    return lines


def roofline_page(table: pd.DataFrame) -> list[str]:
    """Return the section about the power roofline."""
    together = roofline(table)
    lines = [
        "## Power roofline",
        "",
        "P = P₀ + e_B · BW + e_F · F is fitted to eight A100 (`data/bandwidth`), with 43",
        "intensities for each.",
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
        "Expected error for all together: 2.5 %. Most of it is the difference between the eight",
        "GPUs, as the separate fits show. ± is the standard error.",
    ]


def designs(table: pd.DataFrame) -> dict[str, list[tuple[str, np.ndarray]]]:
    """Return the fitted measurements of each design, in groups."""
    threes = combinations(CLOCKS, 3)
    return {
        "three clocks of five, all kernels": [
            (f"{', '.join(map(str, three))} MHz", at_clocks(table, three)) for three in threes
        ],
        "selected halves": [
            ("607, 1202, 1328 MHz or 810, 1012 MHz in turn", half(table, 0)),
            ("the other half", half(table, 1)),
            ("607, 1012, 1328 MHz or 810, 1202 MHz in turn", every_other(table)),
        ],
        "random halves": [(f"random half {seed}", drawn(table, seed)) for seed in range(10)],
        "random halves with the lowest clock of each kernel": [
            (f"random half {seed}, lowest clock of each", drawn(table, seed, lowest=True))
            for seed in range(10)
        ],
    }


def clocks_page(table: pd.DataFrame) -> list[str]:
    """Return the section about core clocks."""
    base = min((lost_at(table, clock) for clock in CLOCKS), key=lambda lost: float(lost.mean()))
    lines, summary = [], []
    for group, several in designs(table).items():
        losses: dict[str, list[float]] = {name: [] for name in (*CURVES, "rule")}
        for title, used in several:
            design = Design(table, used)
            cells = []
            for curve in CURVES:
                try:
                    loss = float(design.judged(curve).lost.mean())
                except dse.DseError as error:
                    if "do not determine voltage_knee_clock" not in str(error):
                        raise
                    cells.append("not determined")
                    continue
                losses[curve].append(loss)
                cells.append(percent(loss, 2))
            found = design.judged(design.recommended)
            losses["rule"].append(float(found.lost.mean()))
            errors = percent(found.time_error), percent(found.power_error)
            chosen = design.recommended, percent(losses["rule"][-1], 2), percent(found.lost.max())
            lines.append(row(title, *cells, *chosen, *errors))
        for curve, each in losses.items():
            better = sum(loss <= base.mean() for loss in each)
            figures = percent(float(np.median(each)), 2), percent(max(each), 2)
            name = "**by the rule**" if curve == "rule" else curve
            summary.append(row(group, name, *figures, f"{better} of {len(each)}"))
    whole = Design(table, np.ones(len(table), dtype=bool)).power("knee")
    knee, slope = (whole[name] for name in KNEE)
    errors = [whole.standard_errors[name] for name in KNEE]
    return [
        "## Time and power against the core clock",
        "",
        "30 kernels were measured on a P100 at five core clocks (`data/dvfs`). For each kernel,",
        "four numbers are fitted: two for its time and two for its power. The voltage curve",
        "belongs to the card and is the same for all kernels. There are three curves:",
        "",
        "* *knee*: the voltage is constant up to a certain clock, the knee, and rises linearly",
        "  from there (two more numbers for the card);",
        "* *cube*: the voltage is proportional to the clock, so dynamic power grows with the cube",
        "  of the clock (no further number);",
        "* *exponent*: like *cube*, but the exponent of the power is fitted (one more number).",
        "",
        "For each kernel, the clock with the least predicted energy is chosen, between the",
        "lowest and the highest measured clock. The energy loss is the energy at the chosen clock",
        "minus the energy at the kernel's best measured clock, as a fraction of the latter. The",
        "tables give the mean over the kernels.",
        "",
        f"Always taking {base.name} MHz, the best single clock, loses {percent(base.mean(), 2)} "
        f"({percent(base.max())} for one kernel).",
        "To find this clock, one needs all measurements.",
        "",
        "The following rule uses only the measurements that were fitted:",
        "",
        "1. Measure each kernel at the lowest clock and at one or two more, so that all kernels",
        "   together cover at least four clocks.",
        "2. Fit time, then power with the knee and with the cube:",
        "",
        "   ```python",
        '   options = {"columns": columns, "residuals": "relative"}',
        "   time = dse.fit(",
        '       "clock_scaling", rows, to="time", '
        'per={"kernel": ["stall_time", "core_cycles"]}, **options',
        "   )",
        '   options["per"] = {"kernel": ["constant_power", "dynamic_power"]}',
        '   nominal = {"nominal_clock": "1328 MHz"}',
        '   cube = dse.fit("clock_scaling", rows, to="power", set=nominal, **options)',
        "   knee = dse.fit(",
        '       "clock_scaling",',
        "       rows,",
        '       to="power",',
        "       **options,",
        '       free=["voltage_knee_clock", "voltage_slope"],',
        '       set={**nominal, "voltage_curve": "knee"},',
        "   )",
        "   ```",
        "",
        "   Choose the curve with the smaller error on left-out rows:",
        '   `np.nanmean(fit.left_out["power"] ** 2)`. Take the cube if there are fewer than four',
        "   clocks, or if `dse.fit` reports that the rows do not determine the knee.",
        "3. Make a `dse.Study` with the given values and those of a kernel (`set_of`) as",
        "   `set=`, and with `core_clock` from the lowest to the highest measured clock as an",
        "   axis. Then call",
        '   `optimum(minimize="energy")`.',
        "",
        *header(
            *("fitted to", "voltage", "median lost", "worst"),
            "no worse than the best single clock",
        ),
        *summary,
        "",
        "Three clocks cannot determine a knee: the two numbers of a kernel need two clocks below",
        "the knee, and the knee and the slope need two clocks above it. The worst random halves",
        "contain kernels that were measured only at the two highest clocks; this is why step 1",
        "asks for the lowest clock. The next table shows all designs; the columns after *rule*",
        "belong to the curve that the rule chose:",
        "",
        *header(
            *("fitted to", *CURVES, "rule", "lost", "worst kernel"),
            *("time error", "power error"),
        ),
        *lines,
        "",
        "The errors are those of the measurements that were not fitted. A fit to all measurements",
        "gives a knee at",
        f"{knee / 1e6:.0f} ± {errors[0] / 1e6:.0f} MHz, and the voltage rises by "
        f"{slope * 1e10:.1f} ± {errors[1] * 1e10:.1f} % per 100 MHz above it.",
        "",
        "The rule was developed with these designs, on this card. On another card, measure one",
        "more clock and check the rule with it. On the V100 of the same repository",
        "(`data/v100-dvfs-real.csv` at commit f189504), the clocks chosen by both curves are worse",
        "than the best single clock, even if the curves are fitted to all clocks.",
    ]


def table_8_page() -> list[str]:
    """Return the section about Table 8."""
    exact, noisy = table_8(0.0), table_8(1.0)
    lines = [
        "## Power parameters from micro-benchmarks",
        "",
        "Hong 2012, section 3.2.4, measures micro-benchmarks that stress one unit each, and",
        "fits the power parameters to them. The measured powers are not published, so only the",
        "procedure can be checked. The power of ninety micro-benchmarks is computed with the",
        "parameters of Table 8, and the parameters are fitted to these powers again: once without",
        "noise, and once with 1 W of noise on each power.",
        "",
        *header("quantity", "Table 8 [W]", "fitted", "fitted with 1 W of noise"),
    ]
    machine = dse.machine("gtx280")
    for name in MAXIMA:
        printed = float(machine.values[name].value.removesuffix(" W"))
        found = f"{noisy[name]:.3f} ± {noisy.standard_errors[name]:.3f}"
        lines.append(row(f"`{name}`", f"{printed:g}", f"{exact[name]:.6f}", found))
    return [
        *lines,
        "",
        "Every instruction uses fetch, decode and schedule (`fds`), and nearly every instruction",
        "uses registers. Only micro-benchmarks in which some instructions do not use registers can",
        "separate these two powers; this explains the large standard errors.",
    ]


def page(folder: Path) -> str:
    """Return the whole page."""
    lines = [
        "# Fits to published measurements",
        "",
        "**In a minute.** Models with free quantities are fitted to measurements that others",
        "published:",
        "",
        "* [Supply curves of Transit](#supply-curves-of-transit): bandwidth against threads on",
        "  three cards; the two curves err by 0.6 to 12 %.",
        "* [Power roofline](#power-roofline): power of eight A100 against traffic and flops;",
        "  one fit for all cards errs by 2.4 %, a fit per card by about 1 %.",
        "* [Time and power against the core clock](#time-and-power-against-the-core-clock): 30",
        "  kernels on a P100. A simple rule chooses clocks that lose 0.1 to 0.6 % of the energy",
        "  in the median; the best single clock loses 0.8 %.",
        "* [Power parameters from micro-benchmarks](#power-parameters-from-micro-benchmarks):",
        "  the procedure of Hong 2012 recovers its parameters.",
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
