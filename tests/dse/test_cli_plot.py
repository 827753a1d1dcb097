"""The command `dse plot`: each kind draws, and what it cannot draw is said."""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from matplotlib import rc_context, rcParams
from matplotlib.figure import Figure
from matplotlib.text import Text

import dse
from dse import plots
from dse.cli import main
from dse.cli import plot as plot_command
from dse.plots.kinds import KINDS, read_kinds
from stochastic import Pmf, imbalance
from tests.long import long, mostly_long

Run = Callable[..., Result]

DRAWN = {
    "transit": "--machine c2075 --set threads=1024 --set intensity=500 --move threads",
    "kernels": "counters.csv --machine c2075",
    "roofline": "--machine a100_80,p100",
    "zigzag": "--machine gtx480 --set active_blocks_per_sm=1 --axis blocks=15:60",
    "runtime": "--machine gtx480 --workload apsp --axis tile_dim=16,32 "
    "--axis threads_per_core=1,8,32 --x blocks",
    "mwp": "--machine gtx280 --workload mb4_c --set threads_per_block=32 --axis warps_per_sm=1:16",
    "sms": "--machine gtx280 --workload svm --set threads_per_block=256 --axis active_sms=1:30",
    "power-shares": "--machine gtx280 --axis workload=svm,sepia --set threads_per_block=256",
    "temperature": "--machine gtx280 --workload svm --set threads_per_block=256 "
    "--axis elapsed=0:100:10",
    "levels": "--machine gtx580 --axis workload=cmem,dotp --set warps_per_sm=48",
    "categories": "--machine gtx580 --workload dmadd --axis active_sms=1:16 "
    "--axis warps_per_sm=8,16,32",
    "efficiency": "--machine hong2012_node --axis benchmark_series=1:16 --axis gpu_share=0:1:0.25",
    "heatmap": "study.toml --quantity time --minimize time --where active_sms<=16",
    "regimes": "--model transit --axis threads=100:1000:100 --axis intensity=10:300:10 "
    "--set lanes_width=32 --set ms_peak=1 --set mem_latency=600",
    "law": "--set distribution=uniform:2,9 --set lanes=4",
    "parallel": "study.toml --quantity occupancy --minimize time",
    "lines": "study.toml --quantity time --over active_sms --minimize time",
    "bars": "--model occupancy+mwp_cwp --machine gtx280 --axis workload=svm,sepia "
    "--set threads_per_block=256 --quantity mwp,cwp",
    "pareto": "study.toml --minimize time,active_sms",
    "tornado": "study.toml --quantity time --at active_sms=16 --where occupancy>=0.5",
    **dict.fromkeys(
        ("tail", "bands", "lost"),
        "--model launch --set slots=4 --set lanes=4 --set warps_per_block=2 --set step_time=1 "
        "--set distribution=uniform:2,9 --axis blocks=6,10",
    ),
    "importance": "study.toml --quantity time --at active_sms=16,threads_per_block=128",
    "slots": "--set slots=4 --set lanes=4 --set warps_per_block=2 --set blocks=6 "
    "--set step_time=1 --set distribution=uniform:2,9",
    "chances": "uncertain.toml --maximize cs_throughput-threads/128",
    "worth": "uncertain.toml --maximize cs_throughput-threads/128",
    "fan": "uncertain.toml --quantity cs_throughput --over threads",
    "outcome": "uncertain.toml --quantity cs_throughput --at threads=256",
}


def test_every_kind_is_a_function_and_has_a_command() -> None:
    figures = {"launch_figure", "law_figure", "paper_figure"}
    assert {name.replace("-", "_") for name in KINDS} == set(plots.__all__) - figures
    assert set(DRAWN) == {name for name, kind in KINDS.items() if kind.source != "values"}
    modules = {path.stem for path in Path(plots.__file__).parent.glob("*.py")}
    assert not modules & set(plots.__all__)  # a module would hide the function


def test_help_lists_the_kinds(run: Run) -> None:
    text = " ".join(run("plot", "--help").stdout.split())
    for name in DRAWN:
        assert f" {name} {KINDS[name].shows} " in text


#: A plot kind is a table: it needs no change of any program.
ADDED = """
[clock-map]
shows = "energy over clock and multiprocessors"
draw = "maps.heatmap"
takes = ["where", "at"]
axes = 2
model = "ipp"
outputs = ["energy"]
options = { quantity = "energy", minimize = "energy" }
"""


def test_a_kind_is_added_by_a_table(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It draws from the command line and from Python, and the lists of kinds show it."""
    monkeypatch.syspath_prepend(str(Path(dse.__file__).parents[1] / "docs"))
    gallery = importlib.import_module("pages.gallery")
    (kind,) = read_kinds(tomllib.loads(ADDED)).values()
    monkeypatch.setitem(KINDS, kind.name, kind)
    options = ("--axis", "core_clock=0.5 GHz,1 GHz", "--axis", "active_sms=1:30")
    options += ("--machine", "gtx280", "--workload", "svm", "--set", "threads_per_block=256")
    output = run("plot", "clock-map", *options, "--out", "a.png").stdout
    assert output == f"a.png (clock-map: {kind.shows})\n"
    assert kind.shows in " ".join(run("plot", "--help").stdout.split())
    study = dse.Study(
        model="ipp",
        machine="gtx280",
        workload="svm",
        axes={"core_clock": ["0.5 GHz", "1 GHz"], "active_sms": range(1, 31)},
        set={"threads_per_block": 256},
    )
    ax = plots.clock_map(study)
    assert [line.get_label() for line in ax.get_lines()] == ["minimum of energy"]
    assert kind.shows in str(plots.clock_map.__doc__)
    assert kind.shows in gallery.kinds_table()


def test_a_call_with_other_options_names_those_that_exist() -> None:
    with pytest.raises(TypeError, match=r"zigzag\(source, \*, over='blocks'.*'colour'"):
        plots.zigzag(None, colour=3)


QUESTION = """model = "occupancy + mwp_cwp"
machine = "gtx280"
outputs = ["time", "case"]
axes = { workload = ["sepia", "svm"], threads_per_block = [64, 128], active_sms = [8, 20] }
best = { minimize = "time" }
"""
UNCERTAIN = """model = "transit"
axes = { threads = [256, 512, 1024] }
set = { intensity = 10, lanes_width = 32, ms_peak = 1 }
random = { mem_latency = "normal: 600 cycles, 20 %", draws = 64 }
"""
COUNTERS = """kernel,occupancy,issued_insts,dram_reads,dram_writes,kernel_time [us]
short of threads,0.5,2e6,6e4,2e4,200
full of work,1.0,9e6,1e3,1e3,330
"""


@pytest.mark.parametrize("kind", mostly_long(DRAWN, lambda k, _: k % 4 == 0))
def test_each_kind_draws(run: Run, kind: str) -> None:
    Path("counters.csv").write_text(COUNTERS)
    Path("uncertain.toml").write_text(UNCERTAIN)
    output = run("plot", kind, *DRAWN[kind].split(" "), "--out", "out.svg", "--size", "10x5").stdout
    assert output == f"out.svg ({kind}: {KINDS[kind].shows})\n"
    assert Path("out.svg").read_text().startswith("<?xml")


def test_a_front_that_is_not_proven_in_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["plot", "pareto", "study.toml", "--minimize", "time,active_sms", "--out", "a.svg"]
    given: list[dict[str, Any]] = []

    def front_of(source: Any, **query: Any) -> Any:
        given.append(query)
        return dse.pareto(source, **query | {"time_limit": None}).assign_attrs(complete=0)

    monkeypatch.setattr("dse.plots.pareto_plots._MAX_RUN", 0)
    monkeypatch.setattr("dse.plots.pareto_plots.front_of", front_of)
    monkeypatch.setattr("dse.cli.optimum.time_left", lambda seconds: 0.25 * seconds)
    done = CliRunner().invoke(main, [*command, "--time-limit", "8"], prog_name="dse")
    assert done.exit_code == 3
    assert given[0]["time_limit"] == 2.0
    assert "the time was up, not proven: Pareto front" in done.stderr
    assert "not proven: Pareto front" in Path("a.svg").read_text()
    refused = run("plot", "lines", "study.toml", "--time-limit", "1", "--out", "a.svg", status=2)
    assert "lines does not take --time-limit" in refused.stderr


@long
def test_formats_and_stores(run: Run) -> None:
    run("run", "study.toml", "--store", "out.zarr")
    for name, begins in (("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.SVG", b"<?xml")):
        text = run(
            "plot", "pareto", "out.zarr", *DRAWN["pareto"].split()[1:], "--out", name, "--json"
        )
        output = json.loads(text.stdout)
        assert output == {"kind": "pareto", "figure": name, "bytes": Path(name).stat().st_size}
        assert Path(name).read_bytes().startswith(begins)


def test_axes_of_options_are_those_of_a_study(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[dse.Study] = []
    draw = plots.lines

    def lines(source: dse.Study, quantity: str, *, over: str = "", ax: object = None) -> object:
        given.append(source)
        return draw(source, quantity, over=over)

    monkeypatch.setattr(plots, "lines", lines)
    run(
        *("plot", "lines", "--model", "ipp", "--machine", "gtx280", "--workload", "svm"),
        *("--axis", "core_clock=0.4 GHz:1.6 GHz:400 MHz", "--axis", "threads_per_block=64,128"),
        *("--quantity", "energy", "--over", "core_clock", "--out", "a.png"),
    )
    (study,) = given
    assert study.outputs == ("energy",)
    assert study.grid().axes["core_clock"].values.tolist() == [4e8, 8e8, 1.2e9, 1.6e9]
    assert study.grid().axes["threads_per_block"].values.tolist() == [64, 128]


def test_what_is_drawn_needs_only_what_it_needs(run: Run) -> None:
    """--quantity takes the place of what a kind draws else, which the model may not yield."""
    cases = ("--model", "occupancy + mwp_cwp", "--machine", "gtx280", "--workload", "svm")
    axes = ("--axis", "threads_per_block=32:512:32", "--axis", "active_sms=1:30")
    run("plot", "categories", *cases, *axes, "--quantity", "case", "--out", "a.png")
    both = ("--model", "occupancy + throughput + power", "--machine", "gtx580")
    point = ("--workload", "dmadd", "--set", "threads_per_block=192", "--axis", "active_sms=1:16")
    run("plot", "sms", *both, *point, "--quantity", "flops", "--out", "b.png")
    assert Path("a.png").exists()
    assert Path("b.png").exists()


@long
def test_what_is_not_said_is_by_the_question_of_the_study(run: Run) -> None:
    """A quantity is the goal, axes that are not shown stand at its answer."""
    Path("study.toml").write_text(QUESTION)
    plain = run("plot", "heatmap", "study.toml", "--out", "a.png", "--json").stdout
    assert json.loads(plain)["chosen"] == {"quantity": "time", "at": {"workload": "sepia"}}
    run("run", "study.toml", "--store", "out.zarr")
    text = run("plot", "bars", "out.zarr", "--out", "a.png", "--json").stdout
    chosen = json.loads(text)["chosen"]
    assert chosen["quantity"] == ["time"]
    assert list(chosen["at"]) == ["threads_per_block"]
    for kind in ("regimes", "importance"):
        run("plot", kind, "study.toml", "--out", f"{kind}.png")
        assert Path(f"{kind}.png").exists()


#: Kinds that take values, with the name of the function and its arguments.
VALUES: list[tuple[str, dict[str, Any]]] = [
    ("scatter", {"points": [(1, 2, "one"), (3, 4, "two")], "across": "x", "up": "y"}),
    ("timeline", {"warps": 4, "comp": 1, "memory": 3, "by_equations": True}),
    ("lockstep", {"work": [4, 2, 7]}),
    ("law_figure", {"law": imbalance(Pmf.parse("uniform:2,9"), lanes=4), "groups": 100}),
    ("paper_figure", {"name": "hong2012", "number": 50}),
]


def check_font_sizes(figure: Figure) -> None:
    """No text of a figure is smaller than 0.7 of the font size of its style."""
    figure.draw_without_rendering()
    small = {
        text.get_text(): text.get_fontsize()
        for text in figure.findobj(Text)
        if isinstance(text, Text)
        and text.get_text()
        and text.get_fontsize() < 0.7 * rcParams["font.size"]
    }
    assert not small, small


@pytest.mark.parametrize("kind", mostly_long(DRAWN, lambda k, _: k % 4 == 1))
def test_a_style_scales_every_text(run: Run, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("counters.csv").write_text(COUNTERS)
    Path("uncertain.toml").write_text(UNCERTAIN)
    figures: list[Figure] = []

    def check(figure: Figure, *_: Any) -> None:
        assert rcParams["font.size"] == 18
        check_font_sizes(figure)
        figures.append(figure)
        write(figure, *_)

    write = plot_command.write_figure
    monkeypatch.setattr(plot_command, "write_figure", check)
    Path("own.mplstyle").write_text("font.size: 18\n")
    options = [*DRAWN[kind].split(" "), "--style", "own.mplstyle", "--out", "out.png"]
    run("plot", kind, *options)
    assert len(figures) == 1


@pytest.mark.parametrize(("name", "arguments"), VALUES, ids=[name for name, _ in VALUES])
def test_a_style_scales_figures_of_values(name: str, arguments: dict[str, Any]) -> None:
    with rc_context({"font.size": 18}):
        drawn = getattr(plots, name)(**arguments)
        check_font_sizes(getattr(drawn, "figure", drawn))


def test_the_style_for_slides_is_shipped(run: Run) -> None:
    draw = ("plot", "lines", "study.toml", "--quantity", "time")
    run(*draw, "--style", "slides", "--out", "a.svg")
    run(*draw, "--out", "b.svg")
    assert Path("a.svg").read_bytes() != Path("b.svg").read_bytes()
    wrong = run(*draw, "--style", "slide", "--out", "c.svg", status=2).stderr
    assert "did you mean 'slides'" in wrong
    for command in ("imbalance geometric:0.1 --lanes 4", "sensitivity study.toml --output time"):
        run(*command.split(), "--plot", "d.svg", "--style", "slides")
        run(*command.split(), "--plot", "e.svg")
        assert Path("d.svg").read_bytes() != Path("e.svg").read_bytes()
        assert "no such style" in run(*command.split(), "--style", "slide", status=2).stderr


def test_a_narrow_regime_of_transit_has_its_whole_name() -> None:
    point = {"threads": 768, "intensity": 20, "move": "threads"}
    texts = {text.get_text() for text in plots.transit(machine="c2075", **point).texts}
    assert texts >= {"computation bound", "thread\nbound"}


MISUSED = [
    ("pie study.toml --out a.png", "'pie' is not one of"),
    ("lines study.toml --quantity time", "Missing option '--out'"),
    ("lines --model transit --set threads=3 --out a.png", "lines needs --quantity"),
    (
        "zigzag study.toml --out a.png",
        "needs sched_factor, which the study lacks: use",
    ),
    ("fan study.toml --out a.png", "needs random inputs: give some a law, as in"),
    ("pareto study.toml --out a.png", "two goals, but the study has"),
    ("lines study.toml --quantity time --out a.gif", "ends in .png, .pdf, .svg"),
    ("lines study.toml --quantity time --out nowhere/a.png", "in a folder that exists"),
    ("lines study.toml --quantity time,case --out a.png", "lines takes one --quantity"),
    ("lines study.toml --quantity tim --out a.png", "did you mean 'time'?"),
    ("lines study.toml --quantity time --move x --out a.png", "lines does not take --move"),
    ("lines study.toml --quantity time --over tim --out a.png", "time varies over"),
    ("lines study.toml --quantity time --at x --out a.png", "expected QUANTITY=VALUE"),
    ("lines study.toml --quantity time --at active_sms=99 --out a.png", "is not on its axis"),
    ("lines study.toml --quantity time --machine gtx280 --out a.png", "is one already"),
    ("lines --quantity time --out a.png", "name its file, a store, or a --model"),
    ("lines nowhere.toml --quantity time --out a.png", "does not exist"),
    ("lines study.toml --quantity time --size 5 --out a.png", "--size '5': expected inches"),
    ("lines study.toml --quantity time --size 1x1 --out a.png", "expected at least 4x3 inches"),
    (
        "lines study.toml --quantity time --size 6xnan --out a.png",
        "--size '6xnan': expected inches",
    ),
    (
        f"transit {DRAWN['transit']} --size 4x3 --out a.png",
        "do not fit in 4x3 inches: give a larger --size",
    ),
    (
        "levels --machine gtx580 --workload dmadd --axis warps_per_sm=1:48 --out a.png",
        "bars for 48 values of warps_per_sm are too many (at most 16)",
    ),
    ("lines --model transit --quantity threads --set threads=3 --out a.png", "over no axis"),
    (
        "pareto study.toml --minimize time --out a.png",
        "two goals, not time: name two, as in --minimize time,power",
    ),
    ("sms --machine gtx280 --axis active_sms=1:2:3:4 --out a.png", "expected START:STOP"),
    ("kernels --machine c2075 --out a.png", "draws a table of counters: name its CSV file"),
    ("transit study.toml --out a.png", "transit draws one configuration"),
    ("transit --set threads=1 --set threads=2 --out a.png", "gives threads twice"),
    ("transit --machine c2075 --out a.png", "threads"),
]


@pytest.mark.parametrize(("command", "message"), MISUSED, ids=[command for command, _ in MISUSED])
def test_misuse_is_2(run: Run, command: str, message: str) -> None:
    assert message in run("plot", *command.split(" "), status=2).stderr
    assert not Path("a.png").exists()


def test_nothing_feasible_is_1(run: Run) -> None:
    where = ("--where", "time <= 1 ns")
    failed = run(
        "plot", "heatmap", "study.toml", "--quantity", "time", *where, "--out", "a.png", status=1
    )
    assert "no finite value where all constraints hold" in failed.stderr


def test_a_constraint_of_the_command_line_is_one_of_the_study(run: Run) -> None:
    condition = "active_sms <= 15"
    text = "\n".join(
        line for line in Path("study.toml").read_text().splitlines() if line[:5] != "where"
    )
    Path("free.toml").write_text(text)
    Path("few.toml").write_text(f'where = ["{condition}"]\n{text}')
    draw = ("plot", "lines", "free.toml", "--quantity", "time")
    run(*draw, "--out", "free.png")
    run(*draw, "--where", condition, "--out", "a.png")
    run("plot", "lines", "few.toml", "--quantity", "time", "--out", "b.png")
    assert Path("a.png").read_bytes() == Path("b.png").read_bytes()
    assert Path("a.png").read_bytes() != Path("free.png").read_bytes()
    run("run", "free.toml", "--store", "free.zarr")
    stored = ("plot", "lines", "free.zarr", "--where", condition, "--out", "c.png")
    assert "lines takes --where with the file of a study" in run(*stored, status=2).stderr


def test_a_style_changes_a_figure_and_no_other(run: Run) -> None:
    draw = ("plot", "lines", "study.toml", "--quantity", "time")
    Path("own.mplstyle").write_text("font.size: 16\n")
    run(*draw, "--out", "a.png")
    run(*draw, "--style", "own.mplstyle", "--out", "b.png")
    run(*draw, "--out", "c.png")
    assert Path("a.png").read_bytes() != Path("b.png").read_bytes()
    assert Path("a.png").read_bytes() == Path("c.png").read_bytes()
    assert "did you mean 'grayscale'" in run(
        *draw, "--style", "greyscale", "--out", "e.png", status=2
    ).stderr  # fmt: skip


def test_a_column_of_rows_becomes_an_axis_by_the_command_of_the_error(
    run: Run, tmp_path: Path
) -> None:
    rows = [f"{m},{size},{(m + 1) * size}e-6" for m in range(2) for size in (32, 64)]
    (tmp_path / "rows.csv").write_text("\n".join(["machine,threads_per_block,time [s]", *rows]))
    words = ("plot", "lines", "--quantity", "time", "--over", "threads_per_block", "--out")
    error = " ".join(run(*words, "a.png", "rows.csv", status=2).stderr.split())
    command = error.partition("(dse ")[2].partition(")")[0]
    assert command == "import ROWS.csv GRID.zarr --shape grid --axes machine,threads_per_block"
    run(*command.replace("ROWS", "rows").split())
    run(*words, "b.png", "GRID.zarr")
    assert (tmp_path / "b.png").is_file()


@pytest.mark.parametrize("style", [(), ("--style", "slides")])
def test_a_figure_without_matplotlib_names_the_extra(
    run: Run, monkeypatch: pytest.MonkeyPatch, style: tuple[str, ...]
) -> None:
    for name in [n for n in sys.modules if n.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    arguments = ("plot", "lines", "study.toml", "--quantity", "time", "--out", "a.png", *style)
    assert "a figure needs matplotlib: pip install matplotlib" in run(*arguments, status=2).stderr
