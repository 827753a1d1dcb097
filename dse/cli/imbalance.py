"""The commands on a law of work, `dse imbalance` and `dse launch`: its cost, and what helps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, compile_in_background, input_errors
from dse.cli.options import choice_option, figure_option, parse_number
from dse.cli.plot import write_figure
from stochastic import sizes
from symbolic.answer import Answer, Table, value_text

if TYPE_CHECKING:
    from stochastic import Launch, Law, Pmf
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
    "--zero-work", "one", "drop", "zero", help="What a group without any work loses. [one]"
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


#: How much coarser the steps are by which remedies are compared, where steps are counted together.
_COARSER = 5


@command(
    "dse launch geometric:0.05 --blocks 1000 --slots 160 --warps 4 --deadline 850",
    "dse launch uniform:1,1000 --lanes 1 --blocks 4096 --slots 864 --step 2ns --plot law.png",
    "dse launch steps.csv --trace --slots 80 --warps 8 --json",
)
@click.argument("law", metavar="LAW")
@click.option("--blocks", type=int, metavar="N", help="Blocks. [all of a trace]")
@click.option("--slots", type=int, metavar="N", required=True, help="Blocks that run at a time.")
@click.option("--lanes", default=32, metavar="N", help="Items in lockstep. [32]")
@click.option("--warps", default=1, metavar="N", help="Warps of a block. [1]")
@click.option("--alike", default=0.0, metavar="P", help="How often a lane repeats the next. [0]")
@click.option("--step", metavar="TIME", help="How long a step takes, such as 20ns. [in steps]")
@click.option("--deadline", metavar="TIME", help="Tell the chance of this, in steps or a time.")
@click.option("--working", default=0.0, metavar="W", help="Power of a slot that runs a block.")
@click.option("--on", default=0.0, metavar="W", help="Power of the rest while the launch runs.")
@click.option("--idling", default=0.0, metavar="W", help="Power of a slot that waits.")
@click.option("--cut-overhead", default=0, metavar="N", help="Steps a further piece adds. [0]")
@click.option("--share-overhead", default=0.0, help="Share a further lane adds. [0]")
@click.option("--advice/--no-advice", default=True, help="What would shorten it. [advice]")
@trace_and_plot_options
def launch(law: str, blocks: int | None, plot: Path | None, **options: Any) -> Any:
    """How long a launch takes where the work of its blocks is random.

    LAW is that of the work of one item, as for dse imbalance: geometric:P, uniform:LOW,HIGH, a CSV
    file, ... Blocks go to the first free slot; there are multiprocessors · resident blocks of them.
    """
    from stochastic import Pmf

    with input_errors():
        work = Pmf.parse(law)
        lengths = None
        if options["trace"]:
            from stochastic.remedies.traces import load_items

            check_trace_file(law)
            lengths = load_items(law)
        if blocks is None:
            if lengths is None:
                raise click.UsageError("--blocks is needed: how many blocks the launch has")
            blocks = -(-len(lengths) // (options["lanes"] * options["warps"]))
        result, data = launch_data(work, blocks=blocks, lengths=lengths, **options)
    if plot is not None:
        from dse.plots import launch_figure

        unit = data["rounding"]["steps"] if "rounding" in data else 1
        write_figure(launch_figure(result, step=unit * (data["step"] or 1.0)), plot)
        data["plot"] = plot
    return launch_answer(data)


def launch_data(
    work: Pmf, *, blocks: int, slots: int, lanes: int, warps: int, **options: Any
) -> tuple[Launch, dict[str, Any]]:
    """The law, and what the command tells: of time, of where it goes, of what would help."""
    from stochastic import launch as law_of
    from stochastic.launch_time.continuous import coarse_unit, round_durations

    shape: dict[str, Any] = {"blocks": blocks, "slots": slots, "lanes": lanes, "warps": warps}
    alike, step = options["alike"], _parse_seconds("step", options["step"])
    deadline = None if options["deadline"] is None else _deadline_steps(options["deadline"], step)
    unit = coarse_unit(work, **shape, correlation=alike)
    given = {"deadline": deadline, "step": step or 1.0, "alike": alike, **shape}
    given["powers"] = {name: options[name] for name in ("working", "on", "idling")}
    if unit == 1:
        result, data = _launch_law_data(work, 1, **given)
    else:
        text = f"{unit:,} steps are counted as one: durations are rounded down, then up"
        click.echo(text, err=True)
        (_, early), (result, late) = (
            _launch_law_data(one, unit, **given) for one in round_durations(work, unit)
        )
        data = _combine(early, late, lambda one, other: (one + other) / 2)
        names = ("mean", "quantiles", "cvar", *(["deadline"] if "deadline" in late else []))
        bounds = {name: late[name] for name in names}
        off = _combine(early, bounds, lambda one, other: abs(other - one) / 2)
        data["rounding"] = {"steps": unit, **off}
    data = {"law": repr(work), **shape, "alike": alike, "step": step, **data}
    if (lengths := options["lengths"]) is not None:
        from stochastic import stickiness
        from stochastic.remedies.launch import order_makespans

        orders = order_makespans(lengths, slots=slots, items=lanes * warps)
        data["trace"] = {name: time * (step or 1.0) for name, time in orders.items()}
        data["stickiness"] = stickiness(lengths).rho if len(set(lengths)) > 1 else 1.0
    if options["advice"]:
        more = {name: options[name] for name in ("cut_overhead", "share_overhead", "alike")}
        mean = data["mean"]
        if unit > 1:  # compared with a launch that is as coarse
            unit *= _COARSER
            work, more["cut_overhead"] = (
                round_durations(work, unit)[1],
                -(-more["cut_overhead"] // unit),
            )
            mean = float(law_of(work, alike=alike, **shape).mean()) * unit * (step or 1.0)
        data["advice"] = _advice(work, mean, unit * (step or 1.0), **shape, **more)
    return result, data


def _launch_law_data(
    work: Pmf,
    unit: int,
    *,
    deadline: float | None,
    step: float,
    powers: Mapping[str, float],
    correlation: float,
    **shape: Any,
) -> tuple[Launch, dict[str, Any]]:
    """Return the law of a launch, and its figures; ``unit`` steps are counted as one."""
    from stochastic import launch as law_of

    result = law_of(work, alike=correlation, **shape)
    blocks, slots, time = shape["blocks"], shape["slots"], unit * step
    spent, idle = result.energy(**powers), result.idle()
    data: dict[str, Any] = {
        "mean": float(result.mean()) * time,
        "std": result.std() * time,
        "quantiles": {str(q): float(result.quantile(q)) * time for q in QUANTILES},
        "cvar": {"0.95": float(result.cvar(0.95)) * time},
        "work_bound": float(result.total()) / slots * time,
        "waves": -(-blocks // slots) * float(result.total()) / blocks * time,
        "shares": {
            "working": idle.working_share,
            "lanes": idle.lane_share,
            "warps": idle.warp_share,
            "tail": idle.slot_share,
        },
        "idle_slot_time": idle.slot_time * time,
        "error": result.error,
        "method": result.method,
    }
    if deadline is not None:
        chance = float(result.chance(deadline / unit))
        data["deadline"] = {"time": deadline * step, "chance": chance}
    if any(powers.values()):
        parts = {name: getattr(spent, name) * time for name in powers}
        data["energy"] = {"mean": spent.mean * time, "std": spent.std * time, **parts}
    return result, data


def _combine(early: Any, late: Any, combine_numbers: Callable[[float, float], float]) -> Any:
    """Return each figure of ``late`` joined with that of ``early``; texts stay."""
    if isinstance(late, dict):
        return {name: _combine(early[name], one, combine_numbers) for name, one in late.items()}
    return late if isinstance(late, str) else combine_numbers(early, late)


def _advice(work: Pmf, mean: float, unit: float, **given: Any) -> list[dict[str, Any]]:
    from stochastic.remedies.launch import remedies

    return [
        {
            "remedy": one.name,
            "what": one.description,
            "mean": one.mean * unit,
            "0.99": one.quantile(0.99) * unit,
            "gain": mean / (one.mean * unit) if one.mean else 1.0,
        }
        for one in remedies(work, **given)
    ]


def _parse_seconds(option: str, text: str | None) -> float | None:
    from symbolic.expression import parse_value
    from symbolic.quantities import TABLE

    if text is None:
        return None
    value = parse_value(text, TABLE["step_time"], {})
    if not isinstance(value, float) or not value > 0:
        raise click.UsageError(f"--{option} {text!r}: expected a time above 0, such as 20ns")
    return value


def _deadline_steps(text: str, step: float | None) -> float:
    """A deadline in steps."""
    try:
        return float(text)
    except ValueError:
        if step is None:
            raise click.UsageError(
                f"--deadline {text!r}: a time needs --step, how long a step takes; without it give "
                "a number of steps"
            ) from None
    return (_parse_seconds("deadline", text) or 0.0) / step


def check_trace_file(path: str) -> None:
    if not Path(path).is_file():
        raise click.UsageError(f"--trace needs a file of lengths, one an item: {path} is none")


# --- for people
_TIME_SHARES = {
    "working": "lanes work",
    "lanes": "lanes wait for the longest of their warp",
    "warps": "warps wait for the longest of their block",
    "tail": "slots wait for the end of the launch",
}
_WAVES = "waves times the mean time of a block: the usual estimate"
_HELPS = (
    "what would help, by the law of each launch anew (--cut-overhead and --share-overhead say what "
    "pieces and shared items cost)"
)


def launch_answer(data: Mapping[str, Any]) -> Answer:
    """Return the law of a launch, where its time goes and what would help."""
    unit = "s" if data["step"] is not None else ""

    def time_text(time: float) -> str:
        return value_text(time, unit)

    rows = [
        ["mean", (data["mean"], unit), "E[C]"],
        ["standard deviation", (data["std"], unit), ""],
        *(
            [f"{float(q):g} quantile", (value, unit), f"P(C <= t) >= {float(q):g}"]
            for q, value in data["quantiles"].items()
        ),
        ["0.95 CVaR", (data["cvar"]["0.95"], unit), "mean of the slowest 5 % of launches"],
        ["waves", (data["waves"], unit), _WAVES],
        ["work bound", (data["work_bound"], unit), "no slot ever waits"],
    ]
    if "deadline" in data:
        by, chance = data["deadline"]["time"], data["deadline"]["chance"]
        rows.append(["chance", f"{chance:.6g}", f"P(C <= {time_text(by)}), the deadline"])
    if "energy" in data:
        spent = data["energy"]
        energy_unit = "J" if data["step"] else "W·step"
        each = ", ".join(f"{name} {spent[name]:.4g}" for name in ("working", "on", "idling"))
        text = f"{spent['mean']:.6g} {energy_unit}"
        rows.append(["energy", text, f"± {spent['std']:.2g}; {each}"])
    rows.append(["error", f"{data['error']:.1e}", "at most, of a probability"])
    if "rounding" in data:
        off = data["rounding"]
        most = max(off["mean"], off["cvar"]["0.95"], *off["quantiles"].values())
        what = f"at most, of mean, quantiles and CVaR: {off['steps']:,} steps are counted as one"
        rows.append(["rounding", f"± {time_text(most)}", what])
        if "deadline" in off:
            rows.append(["", f"± {off['deadline']['chance']:.2g}", "at most, of the chance"])
    shares = [[name, f"{data['shares'][name]:.1%}", text] for name, text in _TIME_SHARES.items()]
    orders = f"the items of the file, by their order; --alike {data.get('stickiness', 0):.2g} fits"
    helps = [
        [
            *(one["remedy"], (one["mean"], unit), (one["0.99"], unit), f"{one['gain']:.3f}"),
            one["what"] if one["gain"] > 1 else f"{one['what']}: does not help",
        ]
        for one in data.get("advice", ())
    ]
    shape = f"{data['blocks']:,} blocks of {data['warps']} · {data['lanes']} items"
    return Answer(
        kind="Launch",
        title=f"{data['law']}: {shape} on {data['slots']:,} slots",
        tables=[
            Table(columns=("", "value", "meaning"), rows=rows, is_open=True),
            Table(title="where the time of all slots goes", columns=("", "share", ""), rows=shares),
            Table(
                title=f"{orders} them",
                columns={"order": "", "time": unit},
                rows=[*data.get("trace", {}).items()],
            ),
            Table(
                title=_HELPS, columns=("remedy", "mean", "0.99 quantile", "gain", ""), rows=helps
            ),
        ],
        notes=[f"figure: {data['plot']}"] if "plot" in data else [],
        data=data,
    )
