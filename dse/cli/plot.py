"""The command `dse plot`: draw a plot of a model or study, or a figure of a paper."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.command import UNPROVEN, command, input_errors, read_source, set_exit_status
from dse.cli.optimum import parse_share, search_limit_option, search_limits
from dse.cli.options import (
    SourcePath,
    at_option,
    axis_and_set_options,
    check_figure_path,
    echo,
    entry_options,
    figure_option,
    names_option,
    option,
    parse_number,
    split_list,
    where_option,
)
from symbolic.answer import Answer, Table, value_text
from symbolic.quantities import TABLE

if TYPE_CHECKING:
    from dse.plots.kinds import PlotKind
    from dse.plots.papers import Paper
    from dse.study.study import StudyData

#: Options that are passed to the function that draws a kind of figure.
_KIND_OPTIONS = (
    *("quantity", "over", "by", "x", "at", "where", "minimize", "maximize"),
    *("borders", "move", "relative", "epsilon", "time_limit"),
)
_SIDES = ("x", "y", "xy")
#: Default resolution in dots per inch.
_DPI = 110
#: Upper limit on the width and on the height of a figure in pixels.
_MAX_PIXELS = 20_000
_OUT = "File for one figure (default: PAPER-N.png), or folder for all figures (PAPER)"
#: Minimum width and minimum height of a figure. [inch]
_LEAST = (4.0, 3.0)
#: Maximum width, and maximum height, of a figure. [inch]
_MOST = 40.0


def _kinds() -> Mapping[str, PlotKind]:
    from dse.plots.kinds import KINDS

    return {name: kind for name, kind in KINDS.items() if kind.source != "values"}


class _Plot(click.Command):
    """Command that lists the kinds of figures in its help; ``paper`` is a separate command."""

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **more: Any) -> Any:
        if args[:1] == ["paper"]:
            return _paper.make_context(f"{info_name} paper", args[1:], parent, **more)
        return super().make_context(info_name, args, parent, **more)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shows = {name: kind.shows for name, kind in _kinds().items()}
        shows["paper"] = "a figure of a paper: dse plot paper --help"
        with formatter.section("Kinds"):
            formatter.write_dl(list(shows.items()))
        super().format_epilog(ctx, formatter)


def _read_kind(ctx: click.Context, argument: click.Parameter, name: str) -> PlotKind:
    return _kinds()[click.Choice(list(_kinds())).convert(name, argument, ctx)]


def _complete_kind(_ctx: click.Context, _argument: click.Parameter, begins: str) -> list[str]:
    return [name for name in (*_kinds(), "paper") if name.startswith(begins)]


@command(
    "dse plot lines study.toml --quantity time --over active_sms --out time.png",
    "dse plot heatmap study.toml --quantity energy --minimize energy --out map.svg",
    "dse plot parallel study.toml --minimize time --out lines.png",
    "dse plot pareto out.zarr --minimize time,power --epsilon 5% --out front.pdf",
    "dse plot sms --machine gtx280 --workload svm --set threads_per_block=256 "
    "--axis active_sms=1:30 --out sms.png",
    "dse plot transit --machine c2075 --set threads=1024 --set intensity=500 --move threads "
    "--out transit.png",
    "dse plot kernels counters.csv --machine c2075 --out kernels.png",
    "dse plot roofline examples/kernels/gemm.cu examples/kernels/triad.toml "
    "--machine h100_sxm,a100_80 --out roofline.png",
    "dse plot paper hong2012 --figure 50 --out fig50.png",
    command_class=_Plot,
)
@click.argument("kind", metavar="KIND", callback=_read_kind, shell_complete=_complete_kind)
@click.argument("sources", metavar="[STUDY_OR_STORE|KERNEL...]", nargs=-1)
@figure_option("--out", "File for the figure", required=True)
@option("--model", "Model to draw, if no study or store is given")
@entry_options
@axis_and_set_options
@where_option()
@names_option("--quantity Q", "Quantity to draw")
@option("--over AXIS", "Axis of the study that is drawn horizontally")
@option("--by AXIS", "Axis of the study that is drawn vertically in a map")
@option("--x Q", "Quantity that is drawn horizontally, if it is not an axis of the study")
@at_option
@names_option("--minimize Q", "Quantity whose minimum gets a star, or objective of a Pareto front")
@names_option("--maximize Q", "Quantity whose maximum gets a star, or objective of a Pareto front")
@option("--borders Q", "Case or bound whose borders are drawn on a map")
@option("--move Q", "Input that is changed as dse advise suggests (transit figure)")
@option("--relative", "Divide each line or group of bars by its largest value", is_flag=True)
@option(
    "--epsilon X%",
    "Draw configurations that cover a Pareto front within this fraction",
    callback=parse_share,
)
@search_limit_option
@option("--log x|y|xy", "Sides of the figure with a logarithmic scale", type=click.Choice(_SIDES))
@option("--title TEXT", "Title of the figure; with an empty one, none")
@option("--size WxH", "Size of the figure in inches, such as 6.4x4.2")
@option("--dpi N", "Dots per inch of a PNG", type=click.IntRange(20, 1200), default=_DPI)
def plot(
    kind: PlotKind, sources: tuple[str, ...], out: Path, size: str | None, dpi: int, **options: Any
) -> Any:
    """Draw a figure of a study or model.

    Most kinds of figures show a study: a study file, a stored dataset, or the study that the
    options --machine, --workload, --axis and --set describe. You can draw any quantity of the
    model, not only outputs of the study. The study's [best] gives defaults for the quantity, the
    objective, and the values of axes that the figure does not show.
    """
    from dse import plots
    from dse.plots.axes import fold
    from dse.plots.roofline_plots import faults_of
    from dse.progress import show_progress

    with input_errors():
        chosen: dict[str, Any] = {}
        if kind.source == "kernels":
            arguments = _kernel_arguments(kind, sources, options)
        else:
            arguments, chosen = _arguments(kind, _only_source(kind, sources), options)
        arguments["ax"] = new_axes(size)
    with show_progress("time_limit" in kind.option_names, "searching"):
        ax = getattr(plots, kind.function.__name__)(**arguments)
    if "at" in chosen and not re.search(r"\bat ", ax.figure.axes[0].get_title()):
        ax.figure.suptitle(fold(f"at {_text(chosen['at'])}", 72), fontsize="medium")
    faults = faults_of(ax) if kind.source == "kernels" else ()  # a --title replaces them
    with input_errors():
        _finish(ax, options["log"], options["title"])
    save_figure(ax.figure, out, size is not None, dpi)
    if late := [text for text in ax.get_legend_handles_labels()[1] if "not proven" in text]:
        faults = [f"the time was up, {late[0]}"]
        set_exit_status(UNPROVEN)
    for fault in faults:
        echo(f"warning: {fault}", err=True)
    data = {"kind": kind.name, "figure": out, "bytes": out.stat().st_size}
    data |= {"chosen": chosen} if chosen else {}
    texts = [kind.shows, "; ".join(f"{name} {_text(value)}" for name, value in chosen.items())]
    return Answer(title=f"{out} ({kind.name}: {'; '.join(filter(None, texts))})", data=data)


def _only_source(kind: PlotKind, sources: tuple[str, ...]) -> str | None:
    if len(sources) > 1:
        raise click.UsageError(f"{kind.name} draws one source, was given {', '.join(sources)}")
    ctx = click.get_current_context()
    parameter = next(each for each in ctx.command.params if each.name == "sources")
    is_path = SourcePath(exists=True)
    return next((str(is_path.convert(each, parameter, ctx)) for each in sources), None)


def _kernel_arguments(
    kind: PlotKind, sources: tuple[str, ...], options: Mapping[str, Any]
) -> dict[str, Any]:
    taken = {"machine": "--machine", "set_values": "--set", "log": "--log", "title": "--title"}
    for name, value in options.items():
        if value and name not in taken:
            option = {"axes": "axis"}.get(name, name).replace("_", "-")
            raise click.UsageError(
                f"{kind.name} does not take --{option}; it takes kernels, workloads, answers of "
                f"dse analyze --json and profiles, with {', '.join(taken.values())}"
            )
    values = {name: parse_number(text) for name, text in options["set_values"].items()}
    machines = split_list([options["machine"]]) if options["machine"] else []
    return {"sources": list(sources), "machines": machines, "set": values}


def _finish(ax: Any, log: str | None, title: str | None) -> None:
    from dse.plots.axes import LINEAR, set_title, use_log_scale

    panels = [each for each in ax.figure.axes if each.get_label() != "<colorbar>"]
    for each in panels if log else ():
        if each.get_label() != LINEAR:
            use_log_scale(each, log or "")
    if title == "" or (title and len(panels) > 1):
        ax.figure.suptitle(title)
    for each in panels if title == "" or (title and len(panels) == 1) else ():
        set_title(each, title or "")


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        units = {name: TABLE[name].unit if name in TABLE else "" for name in value}
        return ", ".join(
            f"{name}={value_text(each, units[name]) if units[name] else _text(each)}"
            for name, each in value.items()
        )
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _arguments(
    kind: PlotKind, source: str | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the function that draws a figure, and those taken from defaults."""
    from dse.plots.data import GENERAL_KINDS, complete_options
    from dse.study.study import StudyData
    from dse.verbs.sources import with_quantity_names

    given = {name: options[name] for name in _KIND_OPTIONS if options[name]}
    given |= search_limits(options)
    if "where" not in kind.option_names:
        given.pop("where", None)
    for name in ("quantity", "minimize", "maximize"):
        if name in given and name not in kind.list_options:
            if len(given[name]) > 1:
                texts = ", ".join(given[name])
                raise click.UsageError(f"{kind.name} takes one --{name}, was given {texts}")
            given[name] = given[name][0]
    for name in given:
        if name not in kind.option_names:
            known = ", ".join(f"--{each}" for each in kind.option_names if each in _KIND_OPTIONS)
            text = f"{kind.name} does not take --{name}; it takes {known}"
            raise click.UsageError(text.replace("_", "-"))
    if kind.is_of_study:
        if source is None:
            _check_needed(kind, given)
            return given | {"source": _study(kind, options, given)}, {}
        describing = {"model": "--model", "machine": "--machine", "workload": "--workload"}
        describing |= {"axes": "--axis", "set_values": "--set"}
        for name, option in describing.items():
            if options[name]:
                raise click.UsageError(f"{option} describes a study, and {source} is one already")
        read = read_source(source, values=True)
        given = with_quantity_names(read, given)
        if options["where"] and "where" not in given:
            if not isinstance(read, StudyData):
                raise click.UsageError(
                    f"{kind.name} takes --where with the file of a study of one model, not with "
                    f"{source}: give that file, or draw a heatmap, which tests any values"
                )
            read = replace(read, where=[*read.where, *options["where"]])
        whole = complete_options(kind, given, read)
        if "quantity" in kind.list_options and isinstance(whole.get("quantity"), str):
            whole["quantity"] = [whole["quantity"]]
        _check_needed(kind, whole)
        chosen = {name: value for name, value in whole.items() if given.get(name) != value}
        return whole | {"source": read}, chosen
    if kind.source == "counters":
        if source is None:
            raise click.UsageError(f"{kind.name} draws a table of counters: name its CSV file")
        given["counters"], source = source, None
    if source is not None or options["axes"] or options["where"]:
        raise click.UsageError(
            f"{kind.name} draws one configuration: give it with --machine and --set; of a study "
            f"take {GENERAL_KINDS}"
        )
    point = {name: options[name] for name in ("model", "machine", "workload") if options[name]}
    if "distribution" in kind.option_names and point:
        raise click.UsageError(
            f"{kind.name} takes --set distribution and lanes, and no --{min(point)}"
        )
    return given | point | options["set_values"], {}


def _check_needed(kind: PlotKind, options: Mapping[str, Any]) -> None:
    for name in kind.required_options:
        if name not in options:
            raise click.UsageError(f"{kind.name} needs --{name}: give it a name")


def _study(kind: PlotKind, options: Mapping[str, Any], explicit: Mapping[str, Any]) -> StudyData:
    from dse.study.study import StudyData

    model = options["model"] or kind.model
    if not model:
        raise click.UsageError(f"{kind.name} draws a study: name its file, a store, or a --model")
    wanted = [name for key in ("quantity", "minimize", "maximize") for name in options[key]]
    outputs = [name for name in wanted if name.isidentifier()] or kind.outputs
    return StudyData(
        model=model,
        machine=options["machine"],
        workload=options["workload"],
        axes=options["axes"],
        set=options["set_values"],
        where=() if "where" in explicit else options["where"],
        outputs=list(dict.fromkeys(outputs)) or None,
    )


@command(
    "dse plot paper",
    "dse plot paper hong2012",
    "dse plot paper hong2012 --figure 50 --out fig50.png",
    "dse plot paper transit --figure all --out figures",
    name="paper",
)
@click.argument("name", metavar="[PAPER]", required=False)
@option("--figure N|all", "Number of the figure to draw, or all")
@option("--out OUT.png|.svg|.pdf", _OUT, type=click.Path())
def _paper(name: str | None, figure: str | None, out: str | None) -> Any:
    """Draw a figure of a paper from the models.

    The caption says which data are from the paper and which values are from the model. Without
    --figure, the command lists the figures of PAPER, and gives the reason if a figure cannot be
    drawn. Without PAPER, it lists the papers.
    """
    from dse.plots import papers

    if name is None:
        if figure or out:
            raise click.UsageError("name the paper: dse plot paper lists them")
        data = [_paper_data(paper) for paper in papers.read_papers().values()]
        rows = []
        for each in data:
            title = f"{each['title']} ({', '.join(each['aliases'])})"
            rows.append(
                [each["paper"], title, f"{each['drawn']} of {each['of']} figures are drawn"]
            )
        table = Table(columns=("paper", "title", ""), rows=rows)
        return Answer(kind="Papers", title="", tables=[table], data=data)
    with input_errors():
        paper = papers.find_paper(name)
    if figure is None:
        if out is not None:
            raise click.UsageError("--out needs --figure: a number, or all")
        figures = [
            {"figure": row.number, "shows": row.shows, "kind": row.kind, "not_drawn": row.why}
            for row in paper.figures.values()
        ]
        return Answer(title=_figure_list(paper), data={**_paper_data(paper), "figures": figures})
    if figure != "all":
        with input_errors():
            numbers = [paper.figure(figure).number]
        paths = [Path(out or f"{paper.key}-{numbers[0]}.png")]
        check_figure_path(str(paths[0]), "--out")
    else:
        folder = Path(out or paper.key)
        if folder.is_file() or folder.suffix in (".png", ".svg", ".pdf"):
            raise click.UsageError(f"--out {folder}: all figures go into a folder, name one")
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [number for number, row in paper.figures.items() if not row.why]
        paths = [folder / f"{paper.key}-{number}.png" for number in numbers]
    data = []
    for number, path in zip(numbers, paths, strict=True):
        with input_errors():
            image = papers.paper_figure(paper.key, number)
        write_figure(image, path)
        data.append({"figure": number, "path": path, "caption": paper.figure(number).caption})
    title = "\n".join(f"{each['path']} ({each['caption']})" for each in data)
    return Answer(title=title, data=data)


def _paper_data(paper: Paper) -> dict[str, Any]:
    drawn = sum(not row.why for row in paper.figures.values())
    about = {"paper": paper.key, "title": paper.title, "aliases": list(paper.aliases)}
    return about | {"drawn": drawn, "of": len(paper.figures)}


def _figure_list(paper: Paper) -> str:
    from dse.plots.papers import number_ranges

    groups: dict[str, list[str]] = {}
    for row in paper.figures.values():
        how = f"not drawn: {row.why}" if row.why else row.kind
        groups.setdefault(f"{row.shows} ({how})", []).append(row.number)
    lines = [f"{', '.join(number_ranges(numbers)):>7}  {text}" for text, numbers in groups.items()]
    return "\n".join([f"{paper.cited}: {paper.title}", "", *lines])


def save_figure(figure: Any, path: Path, is_fixed_size: bool, dpi: int = _DPI) -> None:
    """Write a figure whose labels fit: enlarge it, or raise an error if its size is fixed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        for attempts_left in range(0 if is_fixed_size else 3, -1, -1):
            try:
                figure.draw_without_rendering()
                legends = [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]
                boxes = [legend.get_window_extent() for legend in legends]
                if is_fixed_size and any(b.x0 < -1 or b.x1 > figure.bbox.x1 + 1 for b in boxes):
                    raise UserWarning
                break
            except UserWarning:
                if not attempts_left:
                    width, height = figure.get_size_inches()
                    raise click.UsageError(
                        f"names and legend do not fit in {width:g}x{height:g} inches: "
                        "give a larger --size"
                    ) from None
                figure.set_size_inches(*(1.4 * figure.get_size_inches()))
    write_figure(figure, path, dpi)


def write_figure(figure: Any, path: Path, dpi: int = _DPI) -> None:
    """Write a figure in the format of the path's suffix; replace the file atomically."""
    longest = max(figure.get_size_inches())
    if longest * dpi > _MAX_PIXELS:
        raise click.UsageError(
            f"--dpi {dpi}: a side of {longest:g} inches has more than {_MAX_PIXELS:,} pixels: give "
            "fewer, or a smaller --size"
        )
    buffer = io.BytesIO()  # matplotlib does not report a full disk when it writes a PDF file
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=dpi)
    from sweeps.files.atomic_write import write_atomic

    write_atomic(path, buffer.getvalue())


def new_axes(size: str | None) -> Any:
    """Return the Axes of a new figure of a size such as 6.4x4.2 (inches); None without a size."""
    if size is None:
        return None
    from dse.plots.axes import new_figure

    wide, times, high = size.lower().partition("x")
    try:
        inches = float(wide), float(high)
        if not times or not all(math.isfinite(length) for length in inches):
            raise ValueError
    except ValueError:
        raise click.UsageError(f"--size {size!r}: expected inches, such as 6.4x4.2") from None
    if not (_LEAST[0] <= inches[0] <= _MOST and _LEAST[1] <= inches[1] <= _MOST):
        least = "x".join(f"{length:g}" for length in _LEAST)
        raise click.UsageError(
            f"--size {size!r}: expected at least {least} inches, and no side longer than {_MOST:g}"
        )
    (figure := new_figure()).set_size_inches(*inches)
    return figure.subplots()
