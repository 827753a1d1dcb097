"""The command `dse plot`: a figure of a model or of a study."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.canvas import canvas, save, say, told
from dse.cli.described import described
from dse.cli.ends import reading
from dse.cli.frame import command, read_source
from dse.cli.named import Source
from dse.cli.options import drawn, entries, names, values, where
from dse.cli.papers import paper
from dse.cli.unsaid import ANY, completed

if TYPE_CHECKING:
    import xarray as xr

    from dse.study.data import StudyData

__all__ = ["KINDS", "Kind", "plot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A figure: what it shows, and the model and outputs of a study that only options describe."""

    shows: str
    model: str = ""
    outputs: tuple[str, ...] = ()


KINDS: Mapping[str, Kind] = {
    "transit": Kind(shows="supply and demand of memory, where advice leads", model="transit"),
    "kernels": Kind(shows="transit figures by a profiler's counters, with what was measured"),
    "zigzag": Kind(shows="slowdown by passes not full", model="tmm", outputs=("sched_factor",)),
    "runtime": Kind(
        shows="run time over blocks and threads",
        model="apsp + tmm_calibrated",
        outputs=("memory_bound_time",),
    ),
    "mwp": Kind(shows="MWP and what limits it", model="mwp_cwp", outputs=("mwp",)),
    "sms": Kind(
        shows="performance, power and both over SMs", model="ipp", outputs=("perf_per_watt",)
    ),
    "power-shares": Kind(shows="who draws the power", model="ipp", outputs=("standing_power",)),
    "temperature": Kind(
        shows="heating and cooling", model="ipp + temperature", outputs=("temperature",)
    ),
    "levels": Kind(shows="levels of performance", model="throughput", outputs=("flops",)),
    "categories": Kind(
        shows="what bounds over two axes", model="throughput", outputs=("category",)
    ),
    "efficiency": Kind(
        shows="speed-up over energy efficiency",
        model="energy_speedup",
        outputs=("energy_efficiency",),
    ),
    **{
        name: Kind(shows=shows, model="launch", outputs=("launch_time_mean",))
        for name, shows in {
            "tail": "how rarely a launch lasts longer",
            "bands": "quantiles of the time of a launch over an axis",
            "lost": "where the time of all slots goes",
        }.items()
    },
    "slots": Kind(shows="the blocks of each slot in one simulated launch"),
    "regimes": Kind(shows="which case holds over two axes, and its borders"),
    "law": Kind(shows="what lockstep costs: --set distribution=geometric:0.05"),
    "parallel": Kind(shows="configurations as lines across all axes"),
    "heatmap": Kind(shows="a quantity over two axes"),
    "lines": Kind(shows="a quantity over one axis, a line a category"),
    "bars": Kind(shows="quantities of labels, side by side"),
    "pareto": Kind(shows="what no other configuration beats in two goals"),
    "tornado": Kind(shows="how far each axis moves the mean of a quantity"),
    "importance": Kind(shows="by how much each input moves a quantity at one configuration"),
    "chances": Kind(shows="how likely each configuration is the best, where inputs are random"),
    "worth": Kind(shows="what knowing each random input is worth"),
    "fan": Kind(shows="quantiles of an output over an axis, where inputs are random"),
    "outcome": Kind(shows="the law of an output at one configuration, where inputs are random"),
}

_LISTED = "\n".join(f"  {name:<13} {kind.shows}" for name, kind in KINDS.items())
_LISTED += "\n  paper         a figure of a paper: dse plot paper --help"


class _Plot(click.Command):
    """A command of kinds, of which ``paper`` takes options of its own."""

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **more: Any) -> Any:
        if args[:1] == ["paper"]:
            return paper.make_context(f"{info_name} paper", args[1:], parent, **more)
        return super().make_context(info_name, args, parent, **more)


@command(
    "dse plot lines study.toml --quantity time --over active_sms --out time.png",
    "dse plot heatmap study.toml --quantity energy --minimize energy --out map.svg",
    "dse plot parallel study.toml --minimize time --out lines.png",
    "dse plot pareto out.zarr --minimize time,power --out front.pdf",
    "dse plot sms --machine gtx280 --workload svm --set threads_per_block=256 "
    "--axis active_sms=1:30 --out sms.png",
    "dse plot transit --machine c2075 --set threads=1024 --set intensity=500 --move threads "
    "--out transit.png",
    "dse plot kernels counters.csv --machine c2075 --out kernels.png",
    "dse plot paper hong2012 --figure 50 --out fig50.png",
    before=f"\b\nKinds:\n{_LISTED}\n\n",
    kind=_Plot,
)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("source", metavar="[STUDY_OR_STORE]", required=False, type=Source(exists=True))
@drawn("--out", required=True)
@click.option("--model", help="Of a study that the options describe. [that of the kind]")
@entries
@described
@where("A constraint; repeatable.")
@names("--quantity", metavar="Q", help="What is drawn.")
@click.option("--over", metavar="AXIS", help="The axis across.")
@click.option("--by", metavar="AXIS", help="The axis upwards, of a map.")
@click.option("--x", metavar="Q", help="The quantity across, where it is no axis.")
@values("--at", metavar="AXIS=VALUE", help="One value of an axis; repeatable.")
@names("--minimize", metavar="Q", help="To be small: a star, or a front.")
@names("--maximize", metavar="Q", help="To be large: a star, or a front.")
@click.option("--borders", metavar="Q", help="Of a map: a case whose borders are drawn.")
@click.option("--move", metavar="Q", help="Of transit: where the advice on a quantity leads.")
@click.option("--relative", is_flag=True, help="Each line, or group of bars, by its largest.")
@click.option("--size", metavar="WxH", help="Of the figure, in inches.")
def plot(kind: str, source: str | None, out: Path, size: str | None, **options: Any) -> Any:
    """Draw a figure of a model or of a study.

    Most kinds draw a study: a file, a stored dataset, or what --machine, --workload, --axis and
    --set describe. What is drawn is computed by the model, whatever outputs the study names. What
    is not said is by the question of the study, its [best]: the quantity, the goal, and where axes
    stand that a kind does not show.
    """
    from dse import plots

    with reading():
        draw = getattr(plots, kind.replace("-", "_"))
        arguments, added = _arguments(kind, draw, source, options)
        arguments["ax"] = canvas(size)
    ax = draw(**arguments)
    if added:
        say(ax.figure, added)
    save(ax.figure, out, size is not None)
    data = {"kind": kind, "figure": out, "bytes": out.stat().st_size}
    said = "; ".join(f"{name} {told(value)}" for name, value in added.items())
    data |= {"chosen": added} if added else {}
    return data, f"{out} ({kind}: {KINDS[kind].shows}{'; ' * bool(said)}{said})"


#: Options that the functions of kinds take as they are.
_DRAWN = ("over", "by", "x", "move", "borders", "relative", "at")


def _arguments(
    kind: str, draw: Any, source: str | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the function of a kind is given, each option that it takes; what is chosen of it."""
    taken = inspect.signature(draw).parameters
    given: dict[str, Any] = {name: options[name] for name in _DRAWN}
    several = {name: options[name] for name in ("quantity", "minimize", "maximize")}
    for name, texts in several.items():
        many = name in taken and "Sequence" in str(taken[name].annotation)
        if len(texts) > 1 and not many:
            raise click.UsageError(f"{kind} takes one --{name}, was given {', '.join(texts)}")
        given[name] = texts if many else (texts[0] if texts else None)
    if "where" in taken:
        given["where"] = options["where"]
    given = {name: value for name, value in given.items() if value}
    for name in given:
        if name not in taken:
            can = [f"--{known}" for known in taken if known not in ("source", "ax", "point")]
            raise click.UsageError(f"{kind} does not take --{name}; it takes {', '.join(can)}")
    if "source" in taken and source is not None:
        read = _source(kind, source, options, given)
        defaults = {k: None if p.default is p.empty else p.default for k, p in taken.items()}
        whole = completed(kind, given, read, defaults, KINDS[kind].outputs)
        if isinstance(whole.get("quantity"), str) and "Sequence" in str(
            taken["quantity"].annotation
        ):
            whole["quantity"] = [whole["quantity"]]
        chosen = {name: value for name, value in whole.items() if given.get(name) != value}
        _complete(kind, taken, whole)
        return whole | {"source": read}, chosen
    if "counters" in taken and source is not None:
        given["counters"], source = source, None
    _complete(kind, taken, given)
    if "source" in taken:
        return given | {"source": _source(kind, source, options, given)}, {}
    if source is not None or options["axes"] or options["where"]:
        raise click.UsageError(
            f"{kind} draws one configuration: give it with --machine and --set; of a study take "
            f"{ANY}"
        )
    named = {name: options[name] for name in ("model", "machine", "workload") if options[name]}
    if kind == "law" and named:
        raise click.UsageError(f"law takes --set distribution and lanes, and no --{min(named)}")
    return given | named | options["given"], {}


def _complete(kind: str, taken: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Raise where an option that a kind needs is not given."""
    for name, parameter in taken.items():
        if parameter.default is not parameter.empty or name in given or name == "source":
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        if name == "counters":
            raise click.UsageError(f"{kind} draws a table of counters: name its CSV file")
        raise click.UsageError(f"{kind} needs --{name}: give it a name")


def _source(
    kind: str, source: str | None, options: Mapping[str, Any], drawn: Mapping[str, Any]
) -> StudyData | xr.Dataset:
    """The study or dataset named, or the study that the options describe."""
    from dse.study.data import StudyData

    own = {"model": "--model", "machine": "--machine", "workload": "--workload"}
    own |= {"axes": "--axis", "given": "--set"} | ({} if "where" in drawn else {"where": "--where"})
    if source is not None:
        for name, option in own.items():
            if options[name]:
                raise click.UsageError(f"{option} describes a study, and {source} is one already")
        return read_source(source)
    model = options["model"] or KINDS[kind].model
    if not model:
        raise click.UsageError(f"{kind} draws a study: name its file, a store, or a --model")
    wanted = _names(drawn) or KINDS[kind].outputs
    return StudyData(
        model=model,
        machine=options["machine"],
        workload=options["workload"],
        axes=options["axes"],
        set=options["given"],
        where=() if "where" in drawn else options["where"],
        outputs=list(dict.fromkeys(wanted)) or None,
    )


def _names(drawn: Mapping[str, Any]) -> Sequence[str]:
    """The quantities that the options name, of which the study is to be made."""
    found: list[str] = []
    for name in ("quantity", "minimize", "maximize"):
        value = drawn.get(name, [])
        found += [value] if isinstance(value, str) else value
    return [name for name in found if name.isidentifier()]
