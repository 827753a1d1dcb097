"""The command `dse imbalance`: compute the cost of lockstep for random work, and remedies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, compile_in_background, input_errors
from dse.cli.options import choice_option, figure_option, option, parse_number
from dse.cli.plot import write_figure
from stochastic import sizes
from symbolic.answer import Answer, Table

if TYPE_CHECKING:
    from stochastic import Law
    from stochastic.labels import DatasetParts

QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
#: Program that compiles the functions that compute quantiles and bins.
_BACKGROUND_PROGRAM = """
from stochastic import Pmf, imbalance, partition
imbalance(Pmf.uniform(0, 50), 32).quantile(0.5)
partition(Pmf.uniform(1, 3), 2, 32)
"""
_MORE_BINS = "further bins gain more than 1 % each: try more (--bins)"


def trace_and_plot_options(function: Any) -> Any:
    """Add the options --trace and --plot."""
    text = "Also analyze the order of execution: LAW is a file of lengths in this order"
    plot = figure_option("--plot", "File for a figure of the distribution")
    return option("--trace", text, is_flag=True)(plot(function))


class _LawCommand(click.Command):
    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from stochastic.work.parse import LAW_SYNTAX

        self.help = str(self.help).replace("FAMILIES", ", ".join(map(str, LAW_SYNTAX.values())))
        super().format_help_text(ctx, formatter)


@command(
    "dse imbalance geometric:0.05 --lanes 32",
    "dse imbalance uniform:20,40 --lanes 8 --plot law.png",
    "dse imbalance steps.csv --lanes 32 --overhead 0.05 --json",
    command_class=_LawCommand,
)
@click.argument("law", metavar="LAW")
@option("--lanes N", "Number of items that run in lockstep", default="32")
@option("--tol", "Error of the mean that cutting an infinite law may cause", default=1e-09)
@option("--eps", "Cut an infinite law where its tail has less than this probability", type=float)
@choice_option(
    "--zero-work", "Loss of a group without work; 'drop' ignores the group", "one", "drop", "zero"
)
@option(
    "--groups", "Groups in a workload, for the standard deviation of its slowdown", default=1000
)
@option("--group", "Number of lanes in a group if several lanes share an item", default=32)
@option("--overhead", "Relative cost of each further lane that shares an item", default=0.0)
@option("--bins", "Largest number of bins to try when items are sorted by work", default=8)
@option("--seed", "Seed of the simulation", default=0)
@trace_and_plot_options
def imbalance(law: str, lanes: str, trace: bool, plot: Path | None, **options: Any) -> Any:
    """Compute the cost of lockstep, if the work of lanes is random.

    LAW is the distribution of the work of one item: FAMILIES, or the name of a CSV file of samples,
    counts or probabilities.
    """
    from stochastic import Pmf
    from stochastic import imbalance as law_of

    law_options = {name: options.pop(name) for name in ("tol", "eps", "zero_work")}
    seed = options.pop("seed")
    with input_errors(), compile_in_background(_BACKGROUND_PROGRAM) as wait:
        result = law_of(Pmf.parse(law), parse_number(lanes), **law_options)
        result.std()
        wait()
        data = imbalance_data(result, **options)
        if trace:
            data["trace"] = _trace(law, result.lanes, seed)
    if plot is not None:
        from dse.plots import law_figure

        write_figure(law_figure(result, seed=seed), plot)
        data["plot"] = plot
    return imbalance_answer(data)


def _trace(path: str, lanes: int, seed: int) -> dict[str, Any]:
    """Read item lengths from a file, and return the loss for several orders of the items."""
    from stochastic import measured

    check_trace_file(path)
    orders = {}
    for order in ("given", "blocked", "sorted", "shuffled"):
        losses = measured(path, lanes, order=order, seed=seed)
        names = ("loss", "loss_error", "slowdown", "loss_over_iid", "autocorrelation")
        orders[order] = {name: float(losses[name]) for name in names}
    return orders


def imbalance_data(
    law: Law, *, groups: int, group: int, overhead: float, bins: int
) -> dict[str, Any]:
    """Return the loss of a group, the slowdown of a workload and remedies, as data for JSON."""
    from stochastic import bounds
    from stochastic.remedies.cooperation import granularity_parts

    slowdown, error = law.slowdown(), law.error
    has_bounds = law.zero_work == "one" and law.error.met
    limits = bounds(law.source, law.lanes, law.tol) if has_bounds else None
    shared, sizes, _ = granularity_parts(law.source, group, overhead, tol=law.tol)
    (binned, counts, about), places = _best_partition(law, bins)
    quantiles, drawn = _quantiles(law)
    return {
        "law": repr(law.source),
        "lanes": law.lanes,
        "work": {
            "mean": law.source.mean(),
            "std": law.source.var() ** 0.5,
            "cut": error.cut,
            "missing": error.missing,
        },
        "mean": float(law.mean()),
        "std": law.std(),
        "quantiles": quantiles,
        "quantiles_simulated": drawn,
        "slowdown": {
            "value": slowdown.value,
            "difference": slowdown.difference,
            "groups": groups,
            "std": slowdown.std(groups),
        },
        "bounds": {"lower": limits.lower, "upper": limits.upper} if limits else None,
        "error": {"mean": error.mean, "cdf": error.cdf, "tol": error.tol, "met": error.met},
        "method": dict(law.method),
        "granularity": {
            "group": group,
            "overhead": overhead,
            "items_per_group": sizes["lanes"][1],
            "loss": shared["loss"][1],
            "cost": shared["cost"][1],
            "best": int(shared["best_lanes"][1]),
        },
        "binning": {
            "places": places,
            "bins": counts["bins"][1],
            "slowdown": binned["slowdown"][1],
            "gain": binned["gain"][1],
            "enough": None if about["more_pay"] else int(binned["enough"][1]),
        },
    }


def _best_partition(law: Law, bins: int) -> tuple[DatasetParts, int | None]:
    """Return the best bins, and the number of candidate edges (None if all edges were tried)."""
    from stochastic import LawError, partition

    try:
        return partition(law.source, bins, law.lanes, tol=law.tol).parts, None
    except LawError:
        if len(law.work.weights) <= sizes.LAW_PLACES:
            raise
        best = partition(law.source, bins, law.lanes, tol=law.tol, places=sizes.LAW_PLACES)
        return best.parts, sizes.LAW_PLACES


def _quantiles(law: Law) -> tuple[dict[str, float], int | None]:
    """Return quantiles, and the number of simulated groups (None if the quantiles are exact)."""
    if law.lanes >= sizes.LAW_FEW_LANES or len(law.work.weights) <= sizes.LAW_VALUES:
        return {str(q): float(law.quantile(q)) for q in QUANTILES}, None
    from stochastic import simulate

    drawn = simulate(
        law.source, law.lanes, sizes.LAW_GROUPS, quantiles=QUANTILES, zero_work=law.zero_work
    )
    values = drawn["loss_quantile"].values.tolist()
    return dict(zip(map(str, QUANTILES), values, strict=True)), sizes.LAW_GROUPS


def imbalance_answer(data: Mapping[str, Any]) -> Answer:
    """Return the answer that shows the result of :func:`imbalance_data`."""
    work, slowdown, bound, error = (data[k] for k in ("work", "slowdown", "bounds", "error"))
    groups = data["quantiles_simulated"]
    drawn = f", of {groups:,} simulated groups" if groups else ""
    beyond = f", cut above {work['cut']:,}" if work["missing"] else f", at most {work['cut']:,}"
    of_workload = (
        f"E[max] / E[W] of a workload; ± {slowdown['std']:.2g} over {slowdown['groups']:,} groups"
    )
    unmet = "" if error["met"] else f"; tol = {error['tol']:g} is NOT met"
    rows = [
        ["mean loss", f"{data['mean']:.11g}", "E[X] of a group, X = lanes · max / sum"],
        ["slowdown", f"{slowdown['value']:.11g}", of_workload],
        [
            "difference",
            f"{slowdown['difference']:+.3g}",
            "a workload weighs each group's loss by its work: Cov(X, sum) / E[sum]",
        ],
        ["spread", data["std"], "standard deviation of X from group to group"],
    ]
    for q, value in data["quantiles"].items():
        rows.append([f"{float(q):.4g} quantile", value, f"P(X <= x) >= {float(q):.4g}{drawn}"])
    if bound:
        rows.append(["bounds", bound["lower"], f"<= E[X] <= {bound['upper']:.6g}, from moments"])
    certain = "upper bound for the mean: the cut (rigorous) and the numerics"
    rows.append(["error", f"{error['mean']:.1e}", f"{certain}{unmet}"])
    law = f"{data['law']} in {data['lanes']} lanes: work of mean {work['mean']:.6g}"
    return Answer(
        kind="Imbalance",
        title=f"{law}, standard deviation {work['std']:.6g}{beyond}",
        tables=[
            Table(columns=("", "value", "meaning"), rows=rows, is_open=True),
            _granularity_table(data["granularity"]),
            _binning_table(data["binning"]),
            *([_orders_table(data["trace"])] if "trace" in data else []),
        ],
        notes=[
            *([] if data["binning"]["enough"] else [_MORE_BINS]),
            *([f"figure: {data['plot']}"] if "plot" in data else []),
        ],
        data=data,
    )


def _granularity_table(data: Mapping[str, Any]) -> Table:
    rows = []
    for n, loss, cost in zip(data["items_per_group"], data["loss"], data["cost"], strict=True):
        mark = "best" if int(n) == data["best"] else ""
        rows.append([str(n), str(data["group"] // int(n)), f"{loss:.4f}", f"{cost:.4f}", mark])
    title = (
        f"granularity: several lanes of a group of {data['group']} share an item; each further "
        f"lane costs {data['overhead']:g} of the item's work (--overhead)"
    )
    return Table(title=title, columns=("items", "lanes each", "loss", "cost", ""), rows=rows)


def _binning_table(data: Mapping[str, Any]) -> Table:
    rows = []
    for bins, slowdown, gain in zip(data["bins"], data["slowdown"], data["gain"], strict=True):
        mark = "enough" if bins == data["enough"] else ""
        rows.append([str(bins), f"{slowdown:.6f}", f"{gain:.4f}", mark])
    among = f" among {data['places']:,} candidates" if data["places"] else ""
    title = f"binning: items sorted into bins with the best edges{among}; groups within a bin"
    return Table(title=title, columns=("bins", "slowdown", "gain", ""), rows=rows)


def _orders_table(data: Mapping[str, Mapping[str, float]]) -> Table:
    names = ("loss", "slowdown", "loss_over_iid")
    title = (
        "the trace in its own order, sorted in blocks or as a whole, and shuffled; autocorrelation "
        f"of neighbours {data['given']['autocorrelation']:.3f}"
    )
    return Table(
        title=title,
        columns=("order", "loss", "slowdown", "loss over i.i.d."),
        rows=[[order, *(loss[name] for name in names)] for order, loss in data.items()],
    )


def check_trace_file(path: str) -> None:
    """Raise an error if the path of a trace is not a file."""
    if not Path(path).is_file():
        raise click.UsageError(f"--trace needs a file with the length of each item: {path} is none")
