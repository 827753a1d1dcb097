"""Compute Table I and Figure 2 of Swatman et al. (MASCOTS 2022).

    python examples/swatman_2022.py                      # the table
    python examples/swatman_2022.py figure-2.png         # and the figure (needs matplotlib)

Columns for each law of work and number of lanes: the mean loss, with infinite laws cut at 1e-6 as
in the paper; the paper's values (model, simulation, measurement on an A100); our simulation; the
mean without the cut; and the slowdown of a whole workload, which the paper equates with the mean
loss.
"""

from __future__ import annotations

import sys

from stochastic import Law, Pmf, imbalance, simulate

LANES = (2, 4, 8, 16, 32)
#: Law, and the printed means: modelled, simulated, measured, at each number of lanes.
TABLE_1 = {
    "B(40, 0.5)": (
        Pmf.binomial(40, 0.5),
        (1.090, 1.163, 1.225, 1.278, 1.325),
        (1.090, 1.163, 1.225, 1.278, 1.325),
        (1.099, 1.173, 1.236, 1.287, 1.326),
    ),
    "Geo(0.05)": (
        Pmf.geometric(0.05),
        (1.476, 2.047, 2.668, 3.317, 3.979),
        (1.477, 2.047, 2.668, 3.317, 3.979),
        (1.497, 2.065, 2.689, 3.321, 3.915),
    ),
    "Pois(30)": (
        Pmf.poisson(30),
        (1.104, 1.191, 1.268, 1.335, 1.397),
        (1.104, 1.191, 1.268, 1.335, 1.397),
        (1.110, 1.198, 1.275, 1.341, 1.393),
    ),
    "U(20, 40)": (
        Pmf.uniform(20, 40),
        (1.118, 1.213, 1.275, 1.309, 1.326),
        (1.118, 1.213, 1.275, 1.309, 1.326),
        (1.124, 1.220, 1.282, 1.316, 1.328),
    ),
    "NB(5, 0.3)": (
        Pmf.negative_binomial(5, 0.3),
        (1.301, 1.587, 1.860, 2.123, 2.375),
        (1.301, 1.586, 1.860, 2.124, 2.375),
        (1.323, 1.608, 1.885, 2.142, 2.358),
    ),
}
#: Panels of the figure: law and number of lanes.
SHOWN = (("B(40, 0.5)", 4), ("Geo(0.05)", 8), ("Pois(30)", 8), ("U(20, 40)", 8), ("NB(5, 0.3)", 16))
GROUPS = 2**18


def table(groups: int = GROUPS) -> list[str]:
    """Return the rows of Table I as text."""
    head = ("law", "n", "model", "paper", "simulated", "paper", "measured", "uncut", "slowdown")
    lines = ["{:11} {:>3} {:>8} {:>7} {:>16} {:>7} {:>9} {:>10} {:>10}".format(*head)]
    for name, (pmf, modelled, simulated, measured) in TABLE_1.items():
        for place, lanes in enumerate(LANES):
            as_printed = imbalance(pmf, lanes, eps=1e-6).mean()
            drawn = simulate(pmf, lanes, groups=groups, seed=place)
            uncut = imbalance(pmf, lanes)
            mean, error = float(drawn["loss"]), float(drawn["loss_error"])
            lines.append(
                f"{name:11} {lanes:3} {as_printed:8.3f} {modelled[place]:7.3f} "
                f"{mean:8.4f} ±{error:.4f} {simulated[place]:7.3f} "
                f"{measured[place]:9.3f} {uncut.mean():10.7f} {float(uncut.slowdown()):10.7f}"
            )
    return lines


def draw(picture: str) -> None:
    """Draw Figure 2: exact mass in bins and the simulated histogram."""
    import numpy as np
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 3), layout="constrained")
    for panel, (name, lanes) in zip(figure.subplots(1, len(SHOWN)), SHOWN, strict=True):
        law: Law = imbalance(TABLE_1[name][0], lanes)
        low, high = (float(law.quantile(q)) for q in (0.0005, 0.9995))
        edges = np.linspace(low, high, 41)
        exact = np.diff(np.asarray(law.cdf(edges)))
        counted, _ = np.histogram(law.sample(GROUPS, seed=1), edges)
        panel.stairs(exact, edges, fill=True, color="#0072b2", alpha=0.35, label="modelled")
        panel.stairs(counted / GROUPS, edges, color="#e69f00", lw=1.3, label="simulated")
        panel.axvline(law.mean(), color="black", lw=0.9, ls="--", label="mean")
        panel.set_title(f"{name}, {lanes} lanes", fontsize=10)
        panel.set_xlabel("loss of a group")
        panel.set_yticks([])
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    print("\n".join(table()))
    for path in sys.argv[1:]:
        draw(path)
