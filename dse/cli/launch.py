"""The command `dse launch`: compute the distribution of the duration of a launch, and remedies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import command, input_errors
from dse.cli.imbalance import QUANTILES, check_trace_file, trace_and_plot_options
from dse.cli.options import option
from dse.cli.plot import write_figure
from symbolic.answer import Answer, Table, value_text

if TYPE_CHECKING:
    from stochastic import Launch, Pmf

#: Factor by which the unit of durations is longer for remedies, if durations are rounded.
_COARSER = 5


@command(
    "dse launch geometric:0.05 --blocks 1000 --slots 160 --warps 4 --deadline 850",
    "dse launch uniform:1,1000 --lanes 1 --blocks 4096 --slots 864 --step 2ns --plot law.png",
    "dse launch steps.csv --trace --slots 80 --warps 8 --json",
)
@click.argument("law", metavar="LAW")
@option("--blocks N", "Number of blocks; default with --trace: enough for all items", type=int)
@option("--slots N", "Number of blocks that run at the same time", type=int, required=True)
@option("--lanes N", "Number of items that run in lockstep", default=32)
@option("--warps N", "Number of warps in a block", default=1)
@option("--alike P", "Probability that a lane repeats the work of its neighbour", default=0.0)
@option("--step TIME", "Duration of a step, such as 20ns; default: give times in steps")
@option("--deadline TIME", "Time or number of steps; the probability of finishing by then is given")
@option("--working W", "Power of a slot while it runs a block", default=0.0)
@option("--on W", "Power of the GPU apart from its slots during the launch", default=0.0)
@option("--idling W", "Power of a slot while it is idle", default=0.0)
@option("--cut-overhead N", "Steps that each piece adds if long items are cut", default=0)
@option("--share-overhead", "Relative cost of each further lane that shares an item", default=0.0)
@option("--advice/--no-advice", "List remedies and how much each helps; default: yes", default=True)
@trace_and_plot_options
def launch(law: str, blocks: int | None, plot: Path | None, **options: Any) -> Any:
    """Compute the time of a launch, if the work of its blocks is random.

    LAW is the distribution of the work of one item, as for dse imbalance: geometric:P,
    uniform:LOW,HIGH, a CSV file, ... Each block goes to the first free slot. The number of slots is
    the number of multiprocessors times the resident blocks of each.
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
    """Compute the law of a launch; also return its times, losses and remedies as JSON data."""
    from stochastic import launch as launch_law
    from stochastic.launch_time.continuous import coarse_unit, round_durations

    shape: dict[str, Any] = {"blocks": blocks, "slots": slots, "lanes": lanes, "warps": warps}
    correlation, step = options["alike"], _parse_seconds("step", options["step"])
    deadline = None if options["deadline"] is None else _deadline_steps(options["deadline"], step)
    unit = coarse_unit(work, **shape, correlation=correlation)
    about = {"deadline": deadline, "step": step or 1.0, "correlation": correlation, **shape}
    about["powers"] = {name: options[name] for name in ("working", "on", "idling")}
    if unit == 1:
        result, data = _launch_law_data(work, 1, **about)
    else:
        text = f"durations are rounded to {unit:,} steps, down and then up"
        click.echo(text, err=True)
        (_, early), (result, late) = (
            _launch_law_data(rounded, unit, **about) for rounded in round_durations(work, unit)
        )
        data = _combine(early, late, lambda a, b: (a + b) / 2)
        names = ("mean", "quantiles", "cvar", *(["deadline"] if "deadline" in late else []))
        bounds = {name: late[name] for name in names}
        off = _combine(early, bounds, lambda a, b: abs(b - a) / 2)
        data["rounding"] = {"steps": unit, **off}
    data = {"law": repr(work), **shape, "alike": correlation, "step": step, **data}
    if (lengths := options["lengths"]) is not None:
        from stochastic import stickiness
        from stochastic.remedies.launch import order_makespans

        orders = order_makespans(lengths, slots=slots, items=lanes * warps)
        data["trace"] = {name: time * (step or 1.0) for name, time in orders.items()}
        data["stickiness"] = stickiness(lengths).rho if len(set(lengths)) > 1 else 1.0
    if options["advice"]:
        more = {name: options[name] for name in ("cut_overhead", "share_overhead", "alike")}
        mean = data["mean"]
        # compare remedies with a launch whose durations are rounded in the same way
        if unit > 1:
            unit *= _COARSER
            work = round_durations(work, unit)[1]
            more["cut_overhead"] = -(-more["cut_overhead"] // unit)
            launched = launch_law(work, correlation=correlation, **shape)
            mean = float(launched.mean()) * unit * (step or 1.0)
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
    """Compute the law of a launch in units of ``unit`` steps; also return its statistics."""
    from stochastic import launch as launch_law

    result = launch_law(work, correlation=correlation, **shape)
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
    """Combine the numbers with equal keys in two nested dicts; texts are taken from ``late``."""
    if isinstance(late, dict):
        return {name: _combine(early[name], late[name], combine_numbers) for name in late}
    return late if isinstance(late, str) else combine_numbers(early, late)


def _advice(work: Pmf, mean: float, unit: float, **options: Any) -> list[dict[str, Any]]:
    from stochastic.remedies.launch import remedies

    return [
        {
            "remedy": each.name,
            "what": each.description,
            "mean": each.mean * unit,
            "0.99": each.quantile(0.99) * unit,
            "gain": mean / (each.mean * unit) if each.mean else 1.0,
        }
        for each in remedies(work, **options)
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
    """Convert a deadline, given as a number of steps or as a time, to steps."""
    try:
        return float(text)
    except ValueError:
        if step is None:
            raise click.UsageError(
                f"--deadline {text!r}: a time needs --step, the duration of a step; without it "
                "give a number of steps"
            ) from None
    return (_parse_seconds("deadline", text) or 0.0) / step


_TIME_SHARES = {
    "working": "lanes work",
    "lanes": "lanes wait for the longest lane of their warp",
    "warps": "warps wait for the longest warp of their block",
    "tail": "slots wait for the end of the launch (tail)",
}

_WAVES = "usual estimate: number of waves times the mean time of a block"

_HELPS = "remedies (--cut-overhead and --share-overhead are the costs of pieces and shared items)"


def launch_answer(data: Mapping[str, Any]) -> Answer:
    """Return the answer that shows the result of :func:`launch_data`."""
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
        ["work bound", (data["work_bound"], unit), "if no slot ever waits"],
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
    rows.append(["error", f"{data['error']:.1e}", "upper bound for probabilities"])
    if "rounding" in data:
        off = data["rounding"]
        most = max(off["mean"], off["cvar"]["0.95"], *off["quantiles"].values())
        what = f"upper bound for mean, quantiles and CVaR: rounded to {off['steps']:,} steps"
        rows.append(["rounding", f"± {time_text(most)}", what])
        if "deadline" in off:
            rows.append(["", f"± {off['deadline']['chance']:.2g}", "upper bound for the chance"])
    shares = [[name, f"{data['shares'][name]:.1%}", text] for name, text in _TIME_SHARES.items()]
    orders = f"the items of the file in several orders; --alike {data.get('stickiness', 0):.2g}"
    helps = [
        [
            *(each["remedy"], (each["mean"], unit), (each["0.99"], unit), f"{each['gain']:.3f}"),
            each["what"] if each["gain"] > 1 else f"{each['what']}: does not help",
        ]
        for each in data.get("advice", ())
    ]
    shape = f"{data['blocks']:,} blocks of {data['warps']} · {data['lanes']} items"
    return Answer(
        kind="Launch",
        title=f"{data['law']}: {shape} on {data['slots']:,} slots",
        tables=[
            Table(columns=("", "value", "meaning"), rows=rows, is_open=True),
            Table(title="time of all slots", columns=("", "share", ""), rows=shares),
            Table(
                title=f"{orders} fits them",
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
