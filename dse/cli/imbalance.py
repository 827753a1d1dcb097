"""The commands on a law of work, `dse imbalance` and `dse launch`: its cost, and what helps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, compile_in_background, input_errors
from dse.cli.options import choice_option, figure_option, parse_number
from dse.cli.plot import write_figure
from stochastic import sizes
from symbolic.answer import Answer, Table

if TYPE_CHECKING:
    from stochastic import Law
    from stochastic.labels import DatasetParts


QUANTILES = (0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
#: In few lanes quantiles of a law with more values take long exactly: they are simulated.
_FEW_LANES, _VALUES, _GROUPS = sizes.LAW_FEW_LANES, sizes.LAW_VALUES, sizes.LAW_GROUPS
#: Places where a bin may end, for laws of too many values to look at all.
_PLACES = sizes.LAW_PLACES
#: Whatever the law, quantiles and bins run the same compiled code.
_BACKGROUND_PROGRAM = """
from stochastic import Pmf, imbalance, partition
imbalance(Pmf.uniform(0, 50), 32).quantile(0.5)
partition(Pmf.uniform(1, 3), 2, 32)
"""


def trace_and_plot_options(function: Any) -> Any:
    """The options --trace and --plot."""
    text = "LAW is a file of lengths in order: as they lie, too."
    plot = figure_option("--plot", help="Draw the law here.")
    return click.option("--trace", is_flag=True, help=text)(plot(function))


class _LawCommand(click.Command):
    """A command whose help names the families of laws."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help, with the families in place of their word."""
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
@click.option("--lanes", default="32", metavar="N", help="Items in lockstep. [32]")
@click.option("--tol", default=1e-9, help="Tolerance on the mean. [1e-9]")
@click.option("--eps", type=float, help="Cut an infinite law where its tail is below this instead.")
@choice_option(
    "--zero-work", "one", "drop", "zero", text="What a group without any work loses. [one]"
)
@click.option("--groups", default=1000, help="Groups of a workload, for its spread. [1000]")
@click.option("--group", default=32, help="Lanes of a group, for granularity. [32]")
@click.option("--overhead", default=0.0, help="Cost of each further lane on one item. [0]")
@click.option("--bins", default=8, help="Most bins that items are sorted into. [8]")
@click.option("--seed", default=0, help="Of the simulation in the figure. [0]")
@trace_and_plot_options
def imbalance(law: str, lanes: str, trace: bool, plot: Path | None, **options: Any) -> Any:
    """What lockstep costs when the work of the lanes is random.

    LAW is that of the work of one item: FAMILIES, or a CSV file of samples, counts or
    probabilities.
    """
    from stochastic import Pmf
    from stochastic import imbalance as law_of

    of_law = {name: options.pop(name) for name in ("tol", "eps", "zero_work")}
    seed = options.pop("seed")
    with input_errors(), compile_in_background(_BACKGROUND_PROGRAM) as other:
        result = law_of(Pmf.parse(law), parse_number(lanes), **of_law)
        result.std()
        other()
        data = imbalance_data(result, **options)
        if trace:
            data["trace"] = _trace(law, result.lanes, seed)
    if plot is not None:
        from dse.plots import law_figure

        write_figure(law_figure(result, seed=seed), plot)
        data["plot"] = plot
    return imbalance_answer(data)


def _trace(path: str, lanes: int, seed: int) -> dict[str, Any]:
    """The loss of a file of lengths in several orders, beside independent items of its law."""
    from stochastic import measured

    check_trace_file(path)
    result = {}
    for order in ("given", "blocked", "sorted", "shuffled"):
        told = measured(path, lanes, order=order, seed=seed)
        names = ("loss", "loss_error", "slowdown", "loss_over_iid", "autocorrelation")
        result[order] = {name: float(told[name]) for name in names}
    return result


def imbalance_data(
    law: Law, *, groups: int, group: int, overhead: float, bins: int
) -> dict[str, Any]:
    """The loss of a group, what a workload pays, and what could be done about it."""
    from stochastic import bounds
    from stochastic.remedies.cooperation import granularity_parts

    slowdown, error = law.slowdown(), law.error
    as_given = law.zero_work == "one" and law.error.met  # what the bounds are about
    limits = bounds(law.source, law.lanes, law.tol) if as_given else None
    told, sizes, _ = granularity_parts(law.source, group, overhead, tol=law.tol)
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
            "loss": told["loss"][1],
            "cost": told["cost"][1],
            "best": int(told["best_lanes"][1]),
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
    """The best bins; of a law with too many values, of some places where a bin may end."""
    from stochastic import LawError, partition

    try:
        return partition(law.source, bins, law.lanes, tol=law.tol).parts, None
    except LawError:
        if len(law.work.weights) <= _PLACES:
            raise
        result = partition(law.source, bins, law.lanes, tol=law.tol, places=_PLACES)
        return result.parts, _PLACES


def _quantiles(law: Law) -> tuple[dict[str, float], int | None]:
    """Quantiles, and the number of groups where they are simulated."""
    if law.lanes >= _FEW_LANES or len(law.work.weights) <= _VALUES:
        return {str(q): float(law.quantile(q)) for q in QUANTILES}, None
    from stochastic import simulate

    drawn = simulate(law.source, law.lanes, _GROUPS, quantiles=QUANTILES, zero_work=law.zero_work)
    values = drawn["loss_quantile"].values.tolist()
    return dict(zip(map(str, QUANTILES), values, strict=True)), _GROUPS


def imbalance_answer(data: Mapping[str, Any]) -> Answer:
    """Return the loss of a group, what a workload pays, and what could be done about it."""
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
    certain = "at most, of the mean: the cut, rigorous, and the numerics"
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


_MORE_BINS = "further bins gain more than 1 % each: ask for more (--bins)"


def _granularity_table(data: Mapping[str, Any]) -> Table:
    rows = []
    for n, loss, cost in zip(data["items_per_group"], data["loss"], data["cost"], strict=True):
        mark = "best" if int(n) == data["best"] else ""
        rows.append([str(n), str(data["group"] // int(n)), f"{loss:.4f}", f"{cost:.4f}", mark])
    title = (
        f"granularity: lanes of a group of {data['group']} that work on one item together, each "
        f"further lane costing {data['overhead']:g} of the item's work (--overhead)"
    )
    return Table(title=title, columns=("items", "lanes each", "loss", "cost", ""), rows=rows)


def _binning_table(data: Mapping[str, Any]) -> Table:
    rows = []
    for bins, slowdown, gain in zip(data["bins"], data["slowdown"], data["gain"], strict=True):
        mark = "enough" if bins == data["enough"] else ""
        rows.append([str(bins), f"{slowdown:.6f}", f"{gain:.4f}", mark])
    among = f" among {data['places']:,} places" if data["places"] else ""
    title = (
        f"binning: items sorted into bins with the best edges{among}, groups formed within a bin"
    )
    return Table(title=title, columns=("bins", "slowdown", "gain", ""), rows=rows)


def _orders_table(data: Mapping[str, Mapping[str, float]]) -> Table:
    names = ("loss", "slowdown", "loss_over_iid")
    title = (
        "the trace as it lies, its items sorted in blocks or whole, and at random; autocorrelation "
        f"of neighbours {data['given']['autocorrelation']:.3f}"
    )
    return Table(
        title=title,
        columns=("order", "loss", "slowdown", "loss over i.i.d."),
        rows=[[order, *(told[name] for name in names)] for order, told in data.items()],
    )


def check_trace_file(path: str) -> None:
    if not Path(path).is_file():
        raise click.UsageError(f"--trace needs a file of lengths, one an item: {path} is none")
