"""The command `dse launch`: distribution of the duration of a launch, and remedies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, input_errors
from dse.cli.imbalance import QUANTILES, check_trace_file, trace_and_plot_options
from dse.cli.plot import write_figure
from symbolic.answer import Answer, Table, value_text

if TYPE_CHECKING:
    from stochastic import Launch, Pmf


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
