"""The page of `dse explore`, in a browser: it computes, follows its sliders, and asks nobody.

``python -m tests.one_source.exploring 1000`` compares every output of every shipped model.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import re
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from click.testing import CliRunner

import dse
from dse import DseError, Study
from dse.catalog.entries import shipped_values
from dse.cli import main
from dse.page.data import figure_data, formula_tree
from dse.page.page import make_server, read_heading
from dse.plots.style import meaning_of
from stochastic import Pmf
from symbolic.answer import PREFIXED_UNITS, value_text
from symbolic.errors import InfeasibleError
from symbolic.expression import parse_value
from symbolic.library import available_models, load_model
from symbolic.node import is_readable
from symbolic.ops import NUMERIC, interpret_arrays, reference
from symbolic.quantities import TABLE
from tests.browser import Browser, needs_chromium
from tests.long import long
from tests.one_source.exploring import check, check_study
from tests.one_source.javascript import subjects

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "examples" / "transit-tour.toml"
#: The studies of the interactive pages in the documentation.
EXPLORERS = [*sorted((ROOT / "docs/explore").glob("*.toml")), ROOT / "examples/roofline.toml"]
#: Labels, a switch, a zip, formulas and a constraint in one study.
MIXED: dict[str, Any] = {
    "model": "occupancy + mwp_cwp",
    "workload": "svm",
    "axes": {
        "machine": ["gtx280", "8800gt"],
        "waves": ["whole", "fractional"],
        "threads_per_block": [64, 128, 768],
        "pair": {"zip": {"core_clock": ["1 GHz", "1.2 GHz"], "active_sms": [10, 20]}},
    },
    "set": {"mem_bandwidth": "100 GB/s", "sync_insts": "mem_insts / 2"},
    "where": "time <= 100 ms",
    "outputs": ["time", "case", "occupancy"],
    "best": {"minimize": ["time * core_clock", "threads_per_block"]},
}
#: All of them: ``python -m tests.one_source.exploring``.
SOME = subjects("transit", "mwp_cwp", "occupancy", "imbalance", "temperature")
#: As a page walks: each configuration of the axes, the last fastest.
WALK = """(names) => {
  const { Point, LEVERS, data } = explorer, point = new Point(), found = [];
  const walk = (k) => {
    if (k === data.axes.length) {
      point.run();
      found.push([...names.map((name) => String(point.get(name))), point.feasible]);
      return;
    }
    const lever = LEVERS.get(data.axes[k].name);
    for (const sample of lever.samples(1e6)) { lever.move(point, sample); walk(k + 1); }
  };
  walk(0);
  return found;
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of two studies."""
    folder = tmp_path_factory.mktemp("pages")
    tour = Study.from_toml(TOUR).explore(folder / "tour.html", title="A tour")
    return {"tour": tour, "mixed": Study(**MIXED).explore(folder / "mixed.html")}


@pytest.fixture
def tour(page: Browser, pages: dict[str, Path]) -> Iterator[Browser]:
    """The page of the tour through Transit; whatever is done with it, it neither errs nor asks."""
    path = pages["tour"]
    page.open(path.as_uri())
    yield page
    assert page.errors == []
    assert page.requests == [path.as_uri()]


def state(page: Browser, text: str) -> Any:
    return page.run(f"(() => {{ const {{ here, LEVERS, view, changed }} = explorer; {text} }})()")


@long
@needs_chromium
@pytest.mark.parametrize("subject", SOME, ids=lambda one: one.model.name)
def test_every_output_of_a_model(subject: Any, page: Browser, tmp_path: Path) -> None:
    assert check(subject, page, tmp_path, 40) > 100


@needs_chromium
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=long)])
@pytest.mark.parametrize("path", EXPLORERS, ids=lambda path: path.stem)
def test_every_output_of_an_explorer(path: Path, count: int, page: Browser, tmp_path: Path) -> None:
    assert check_study(path, page, tmp_path, count, seed=count) >= 5 * count
    assert page.errors == []
    assert page.requests == [(tmp_path / f"{path.stem}.html").as_uri()]


def values_of(study: Study, names: list[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Every configuration in order, as a run has them."""
    grid = study.grid()
    places = np.indices(grid.shape(grid.axes)).reshape(len(grid.axes), -1)
    return grid.outputs_at_points(dict(zip(grid.axes, places, strict=True)), names)


@needs_chromium
@pytest.mark.parametrize("spec", [MIXED, ROOT / "examples" / "uneven-work.toml"], ids=str)
def test_the_page_yields_what_a_run_does(spec: Any, page: Browser, tmp_path: Path) -> None:
    study = Study(**spec) if isinstance(spec, dict) else Study.from_toml(spec)
    page.open(study.explore(tmp_path / "page.html").as_uri())
    assert page.errors == []
    names = list(study.grid().outputs)
    result = page.run(f"({WALK})({json.dumps(names)})")
    wanted = values_of(study, [*names, "feasible"])
    feasible = wanted["feasible"]
    assert [row[-1] for row in result] == feasible.tolist()
    assert feasible.any()
    if "lanes" in page.run("Object.keys(explorer.data.quantities)"):
        page.run("explorer.LEVERS.get('lanes').put(explorer.here, 64), explorer.changed()")
        text = page.run("document.getElementById('feasible').textContent")
        assert "expected_max was computed in Python for the lanes of the study" in text
    for place, name in enumerate(names):
        got = np.array([float(row[place]) for row in result])
        np.testing.assert_allclose(got[feasible], wanted[name][feasible], rtol=1e-12)


@needs_chromium
def test_sliders_move_what_is_shown(tour: Browser) -> None:
    def read_shown() -> str:
        return str(tour.run('document.querySelector("dd[data-name=ms_throughput]").textContent'))

    def figure() -> str:
        return str(tour.run('document.getElementById("figure").innerHTML'))

    before = read_shown(), figure()
    for name in ("threads", "mem_latency"):
        tour.run(f'document.getElementById("lever-{name}").focus()')
        tour.press("ArrowLeft", 20)
        after = read_shown(), figure()
        assert after[0] != before[0]
        assert after[1] != before[1]
        before = after
    assert state(tour, "return here.get('threads')") == 416
    assert tour.run('document.getElementById("lever-threads").getAttribute("aria-valuetext")')


@needs_chromium
def test_typed_values_keep_units_and_whole_numbers(page: Browser, tmp_path: Path) -> None:
    Study(**MIXED).explore(tmp_path / "page.html")
    page.open((tmp_path / "page.html").as_uri())
    texts = {
        "core_clock": ["1.3 GHz", "1300 MHz", "1.3e9", "1410000 kHz", "1.35e3 MHz", "1/s"],
        "mem_bandwidth": ["141.7 GB/s", "120 GB / s", "0.1 B/ns", "64 KiB/us", "3", "GB/s"],
        "mem_latency_nominal": ["450 cycles", "450", "4.5e2", "4 s", "-3", "1e400"],
        "registers_per_thread": ["12", "12.5", "1e1", "12 warps", "0", "nan", "", "12 12"],
    }
    for name, listed in texts.items():
        row = TABLE[name]
        for text in listed:
            script = f"explorer.parsed({json.dumps(name)}, {json.dumps(text)})"
            try:
                wanted = float(parse_value(text, row, {}))
                row.check(wanted, "typed")
            except (DseError, TypeError):
                with pytest.raises(RuntimeError, match="Error"):
                    page.run(script)
            else:
                assert page.run(script) == wanted, (name, text)
    values = page.run(
        "(() => { const one = explorer.LEVERS.get('registers_per_thread'); one.bounds = { low: 1, "
        "high: 1e6, log: true }; return [0, 0.1, 0.5, 0.83, 1].map((at) => one.between(at)); })()"
    )
    assert values == [1, 4, 1000, round(1e6**0.83), 1000000]


@needs_chromium
@pytest.mark.parametrize("kind", ["transit", "limits", "lines", "map", "pareto"])
@pytest.mark.parametrize("size", [(390, 800, True), (1440, 900, False)], ids=str)
def test_each_figure_is_drawn(kind: str, size: tuple[int, int, bool], tour: Browser) -> None:
    wide, high, dark = size
    tour.size(wide, high, dark=dark)
    state(tour, f"view.kind = '{kind}'; explorer.settle(); changed();")
    svg = tour.run('document.getElementById("figure").innerHTML')
    assert svg.count("<path") > 3 or "<image" in svg
    assert "NaN" not in svg
    assert tour.run("document.documentElement.scrollWidth") <= wide
    drawn = tour.run(
        "explorer.pngOf(String(explorer.drawn({ width: 480, height: 300 })))"
        ".then((blob) => blob.size)"
    )
    assert drawn > 5_000


@needs_chromium
def test_a_link_keeps_the_state(tour: Browser) -> None:
    state(
        tour,
        "LEVERS.get('threads').put(here, 1000); LEVERS.get('intensity').move(here, 4);"
        "LEVERS.get('mem_latency').put(here, 433.25); view.kind = 'map';"
        "explorer.settle(); changed();",
    )
    link = tour.run("explorer.written()")
    values = tour.run("[...explorer.here.y].map(String)")
    state(tour, "explorer.read('#'); changed();")
    assert tour.run("[...explorer.here.y].map(String)") != values
    tour.run(f"explorer.read({json.dumps(link)}), explorer.changed()")
    assert tour.run("[...explorer.here.y].map(String)") == values
    assert tour.run("explorer.view.kind") == "map"
    tour.run("explorer.read('#threads=-4&nobody=3&mem_latency=x&.over=%3Cb%3E')")
    state(tour, "explorer.settle(); changed();")
    assert tour.run("[explorer.here.get('threads'), explorer.view.over]") == [1056, "threads"]


@needs_chromium
def test_the_study_that_is_taken_away_is_read_again(
    page: Browser, tmp_path: Path, pages: dict[str, Path]
) -> None:
    study = Study(**MIXED)
    page.open(pages["mixed"].as_uri())
    (tmp_path / "same.toml").write_text(page.run("explorer.studyFile(false)"))
    assert Study.from_toml(tmp_path / "same.toml").text() == study.text()
    page.run("explorer.LEVERS.get('mem_bandwidth').put(explorer.here, 90e9)")
    page.run("explorer.LEVERS.get('threads_per_block').move(explorer.here, 1)")
    (tmp_path / "one.toml").write_text(page.run("explorer.studyFile(true)"))
    one = Study.from_toml(tmp_path / "one.toml")
    shown = page.run("(explorer.here.run(), explorer.here.get('time'))")
    assert one.grid().points == 1
    assert one.run().time.item() == shown


@needs_chromium
def test_the_best_is_that_of_an_exact_search(page: Browser, pages: dict[str, Path]) -> None:
    study = Study(**MIXED)
    page.open(pages["mixed"].as_uri())
    result = page.run("explorer.search(explorer.data.best.goals, true, () => {})")
    names = ["time", "core_clock", "threads_per_block", "feasible"]
    took, clock, threads, feasible = values_of(study, names).values()
    ranked = np.lexsort((threads, np.where(feasible, took * clock, np.inf)))
    axes = study.grid().axes
    place = np.unravel_index(ranked[0], study.grid().shape(axes))
    assert [result["at"][name] for name in axes] == list(place)
    assert math.isclose(result["values"][0], (took * clock)[ranked[0]], rel_tol=1e-15)
    page.run("new Promise((done) => setTimeout(done, 300))")  # what the start has put off is done
    page.run("document.getElementById('best').open = true, document.getElementById('find').click()")
    text = "document.getElementById('found').textContent"
    page.run(
        f"new Promise((done) => {{ const look = () => {text} ? done() : setTimeout(look, 20);"
        "look(); })"
    )
    assert "go there" in page.run(text)


@needs_chromium
def test_the_best_is_that_at_what_it_is_asked_for_each_of(tour: Browser) -> None:
    study = Study.from_toml(TOUR)
    result = study.optimum(**study.best).threads.values.tolist()
    for place, threads in enumerate(result):
        state(tour, f"LEVERS.get('intensity').move(here, {place}); changed();")
        at = tour.run("explorer.search(explorer.data.best.goals, true, () => {})")["at"]
        assert (at["intensity"], 32 + 32 * at["threads"]) == (place, threads)


@needs_chromium
@pytest.mark.parametrize(
    ("stem", "output", "point"),
    [
        ("transit", "ms_throughput", {"threads": 1024, "intensity": 8}),
        ("transit", "cs_throughput", {"threads": 320, "intensity": 16}),
        (
            "mwp-cwp",
            "time",
            {"workload": "svm", "machine": "gtx280", "threads_per_block": 128} | {"active_sms": 20},
        ),
        ("energy", "energy", {"workload": "svm", "active_sms": 16, "core_clock": 1e9}),
        ("tensor", "gemm_flops", {"product_rows": 4096, "dtype": "bf16"}),  # at a step
        ("tensor", "gemm_flops", {"product_rows": 4160, "dtype": "fp8"}),
    ],
)
def test_what_moves_an_output_is_its_elasticity(
    stem: str, output: str, point: dict[str, Any], page: Browser, tmp_path: Path
) -> None:
    study = Study.from_toml(ROOT / f"docs/explore/{stem}.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    for name, value in point.items():
        to = json.dumps(value)
        move = (
            f"LEVERS.get('{name}').move(here, LEVERS.get('{name}').categories.indexOf({to}))"
            if isinstance(value, str)
            else f"LEVERS.get('{name}').put(here, {to})"
        )
        state(page, f"{move}; changed();")
    result = page.run(
        f"explorer.movers('{output}').map((one) => [one.lever.name, "
        "String(one.down.slope), String(one.up.slope)])"
    )
    at = page.run(
        "Object.fromEntries(explorer.data.axes.map(({ name, labels }) => "
        "[name, labels?.[explorer.here.at[name]] ?? explorer.LEVERS.get(name).now(explorer.here)]))"
    )
    ds = study.sensitivity(output=output, at=at)
    sides = np.stack([ds.elasticity_down.values.reshape(-1), ds.elasticity_up.values.reshape(-1)])
    known = dict(zip(ds.input.values.tolist(), sides.T.tolist(), strict=True))
    shown = {*page.run("[...explorer.LEVERS.keys()]")}  # a default is no input of a page
    moved = {n for n in shown & known.keys() if np.abs(np.nan_to_num(known[n])).max() > 1e-9}
    got = {name: [float(down), float(up)] for name, down, up in result}
    assert got.keys() >= moved
    assert got
    for name, both in got.items():
        if name not in known:  # it is a formula of the study, which Python replaces by its inputs
            assert page.run(f"explorer.data.definitions.{name}.variants[0].kind") == "formula"
            continue
        assert both == pytest.approx(known[name], rel=1e-6, abs=1e-7, nan_ok=True), name


@needs_chromium
def test_inputs_of_tables_have_no_elasticity_on_the_page(page: Browser, tmp_path: Path) -> None:
    """Python computed the tables; a page that holds them fixed would show a wrong elasticity."""
    study = Study.from_toml(ROOT / "docs/explore/skew.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    state(page, "LEVERS.get('tokens').put(here, 4096); changed();")
    names = set(page.run("explorer.movers('time').map((one) => one.lever.name)"))
    assert {"hidden", "mem_bandwidth"} <= names
    assert not {"topk", "experts", "tokens", "expert_parallel"} & names
    page.run("document.getElementById('advice').open = true")
    state(page, "document.getElementById('moved').value = 'time'; changed();")
    time.sleep(0.5)
    note = page.run("document.getElementById('moved-note').textContent")
    assert "topk" in note
    assert "use dse sensitivity" in note
    state(page, "view.kind = 'lines'; view.over = 'topk'; changed();")
    note = page.run("document.getElementById('figure-note').textContent")
    assert "moe_rank_tokens is that of the study along topk" in note


@needs_chromium
def test_numbers_are_written_as_on_the_command_line(tour: Browser) -> None:
    rng = np.random.default_rng(5)
    sizes = [0.0, 1.0, 999.95, 9999.5, 1024.0, 49152.0, 52428800.0, 52428801.0, 7.687e14]
    values = [*sizes, *10 ** rng.uniform(-14, 15, 300)]
    for unit in (*PREFIXED_UNITS, "cycle", ""):
        units = [value for value in values if unit in PREFIXED_UNITS or 1e-4 <= value < 1e6]
        shown = tour.run(f"{json.dumps(units)}.map((v) => explorer.valueText(v, '{unit}'))")
        wanted = [re.sub(r"e([+-])0?", r"e\1", value_text(value, unit)) for value in units]
        assert shown == [text.replace("e+", "e") for text in wanted]
    assert tour.run("explorer.valueText(7.687e14, 'FLOP/s')") == "768.7 TFLOP/s"
    assert tour.run("explorer.valueText(52428800, 'B')") == "50 MiB"


@needs_chromium
def test_the_moves_are_those_of_the_advice(tour: Browser) -> None:
    point = {"intensity": 10, "threads": 1024}
    state(
        tour,
        "LEVERS.get('intensity').put(here, 10), LEVERS.get('threads').put(here, 1024), changed();",
    )
    (result,) = tour.run(
        "[explorer.moves(explorer.data.guides[0]).filter(({ lever }) => lever.name === 'ms_peak')"
        ".map(({ to, gain, next }) => [to, gain, next])[0]]"
    )
    move = Study.from_toml(TOUR).advise(**point)["ms_peak"]
    assert result == [pytest.approx(move.until), pytest.approx(move.gain), move.next_bound]


@needs_chromium
def test_advice_shows_the_goal_in_its_unit_and_no_move_without_gain(
    page: Browser, tmp_path: Path
) -> None:
    spec = tomllib.loads((ROOT / "docs/explore/tensor.toml").read_text())
    study = Study(**spec | {"outputs": ["time", "energy", "edp"]})
    page.open(study.explore(tmp_path / "page.html").as_uri())
    lines = page.run(
        "new Promise((done) => { const part = document.getElementById('advice');"
        " part.addEventListener('toggle', () => done([...part.querySelectorAll('#guides > li > b')]"
        ".map((line) => line.textContent))); part.open = true; })"
    )
    goals, texts = zip(*(line.split(": ") for line in lines), strict=True)
    assert goals == ("time", "energy", "edp")
    assert [re.sub("[-+.0-9e]+ [µm]?", "", text) for text in texts] == ["s", "J", "J s"], texts
    gains = page.run("explorer.data.guides.flatMap((g) => explorer.moves(g)).map((m) => m.gain)")
    assert gains
    assert gains == [gain for gain in gains if gain >= 1.001]


@needs_chromium
def test_the_box_of_the_scale_names_its_sides(tour: Browser) -> None:
    for kind, label in {"lines": " log y", "pareto": " log x and y"}.items():
        text = tour.run(
            "(() => { const chooser = document.querySelector('#choices select');"
            f" chooser.value = '{kind}'; chooser.dispatchEvent(new Event('change'));"
            " return [...document.querySelectorAll('#choices label')].at(-1).textContent; })()"
        )
        assert text == label


@needs_chromium
@pytest.mark.parametrize("kernel", ["triad", "bodies"])
def test_moves_of_a_kernel_improve_its_time(kernel: str, page: Browser, tmp_path: Path) -> None:
    """More bandwidth helps, and the work is none of the inputs to move."""
    entries = {"machine": "h100_pcie", "workload": str(ROOT / f"examples/kernels/{kernel}.toml")}
    model = "occupancy + latency_roofline + footprint"
    axes = {"threads_per_block": [128, 256, 512]}
    study = Study(model=model, **entries, axes=axes, outputs=["time"])
    page.open(study.explore(tmp_path / "page.html").as_uri())
    assert page.errors == []
    state(page, "LEVERS.get('threads_per_block').put(here, 256); changed();")
    moves = page.run(
        "explorer.moves(explorer.data.guides.find(({ goal }) => goal === 'time'))"
        ".map(({ lever, up, to, gain }) => [lever.name, up, to, gain])"
    )
    ways = {name: up for name, up, *_ in moves}
    advice = study.advise(threads_per_block=256)
    known = {move.quantity: move.direction == "raise" for move in advice.moves}
    # advice ends at the extreme value of shipped machines; the page does not
    values = study.explain(threads_per_block=256)
    for name, up in ways.items() - known.items():
        here, shipped = values[name].value, shipped_values(name)
        assert here >= max(shipped) if up else here <= min(shipped), name
    assert ("mem_bandwidth" in ways) == (kernel == "triad")
    assert not {"elements", "blocks", "launch_bytes", "fp_insts"} & ways.keys()
    here = float(dse.evaluate(model, **entries, threads_per_block=256).time)
    for name, _, to, gain in moves:
        there = dse.evaluate(model, **entries, **{"threads_per_block": 256, name: to})
        assert here / float(there.time) == pytest.approx(gain, rel=1e-9)


@needs_chromium
def test_each_step_shows_its_equation_and_source(tour: Browser) -> None:
    tour.run("document.getElementById('steps').open = true")
    tour.run("new Promise((done) => setTimeout(done, 200))")
    text = tour.run("document.getElementById('tree').textContent")
    assert "cs_throughput=intensity·ms_throughput" in text
    assert "Li 2015, §2.2" in text
    assert tour.run("document.querySelectorAll('#tree math').length") > 1


@needs_chromium
@pytest.mark.parametrize("path", EXPLORERS, ids=lambda path: path.stem)
@pytest.mark.parametrize("wide", [390, pytest.param(1440, marks=long)])
def test_an_explorer_fits_the_screen(path: Path, wide: int, page: Browser, tmp_path: Path) -> None:
    """Nothing scrolls sideways, no text of a figure is cut, and cases have names."""
    page.size(wide, 850, dark=wide < 600)
    page.open(dse.explore(path, tmp_path / "page.html").as_uri())
    heading = path.read_text().splitlines()[0].removeprefix("# ")
    assert page.run("document.getElementById('title').textContent") == heading
    assert page.run("document.getElementById('note').textContent")
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    for kind in page.run("Object.keys(explorer.KINDS).filter((k) => explorer.KINDS[k].here())"):
        page.run(f"explorer.view.kind = '{kind}', explorer.settle(), explorer.changed()")
        assert page.run("document.documentElement.scrollWidth") <= wide, kind
        cut = page.run(
            """[...document.querySelectorAll('#figure svg > text')].filter((one) => {
              const box = one.getBoundingClientRect(), all = one.ownerSVGElement
                .getBoundingClientRect();
              return box.left < all.left - 2 || box.right > all.right + 2 || box.top < all.top - 2
                || box.bottom > all.bottom + 2;
            }).map((one) => one.textContent)"""
        )
        assert cut == [], kind
    page.run("new Promise((done) => setTimeout(done, 300))")
    assert page.run("document.documentElement.scrollWidth") <= wide
    again = page.run(
        "[...explorer.controls.values()].filter(({ lever, typed }) => typed && "
        "Number.isFinite(lever.now(explorer.here))).map(({ lever, typed }) => "
        "[lever.name, lever.now(explorer.here), explorer.parsed(lever.name, typed.value)])"
    )
    cut = page.run(
        "[...explorer.controls.values()].filter(({ typed }) => typed?.scrollWidth >"
        " typed?.clientWidth).map(({ typed }) => typed.value)"
    )
    assert cut == []
    for name, value, parsed in again:  # what a control shows can be typed
        assert parsed == pytest.approx(value, rel=1e-5), name
    texts = page.run(
        "[...document.querySelectorAll('dd[data-name], #figure text')].map((d) => d.textContent)"
    )
    assert not [text for text in texts if re.match(r"\d+: ", text)]
    assert page.errors == []


@needs_chromium
def test_a_map_names_its_regions(tour: Browser) -> None:
    for quantity in ("bound", "cs_throughput"):
        state(
            tour, f"view.kind = 'map'; view.quantity = '{quantity}'; explorer.settle(); changed();"
        )
        words = tour.run(
            "[...document.querySelectorAll('#figure g text')].map((one) => one.textContent)"
        )
        assert {"thread", "memory", "computation"} <= {*words}


@needs_chromium
@pytest.mark.parametrize("stem", ["mwp-cwp", "energy"])
def test_inputs_without_effect_are_apart(stem: str, page: Browser, tmp_path: Path) -> None:
    """Python sees no change over the study's grid either, and a change by many other inputs."""
    path = ROOT / f"docs/explore/{stem}.toml"
    page.open(dse.explore(path, tmp_path / "page.html").as_uri())
    result = page.run(
        "[...document.querySelectorAll('#controls > details')].slice(1).map((part) => "
        "[part.querySelector('summary').textContent, [...part.querySelectorAll('label b')]"
        ".map((one) => [one.textContent, explorer.LEVERS.get(one.textContent).bounds])])"
    )
    groups = {title.split(" (")[0]: rows for title, rows in result}
    spec = tomllib.loads(path.read_text())
    base = Study(**spec).run().time

    def has_effect(name: str, bounds: dict[str, float]) -> bool:
        domain, typical = TABLE[name].domain, (bounds["low"], bounds["high"])
        ends = [end for end in (domain.low, domain.high) if math.isfinite(end)]
        values = {*typical, *ends, 1000 * typical[1]}
        for value in filter(domain.contains, values):
            try:
                moved = Study(**spec | {"set": spec.get("set", {}) | {name: value}}).run().time
            except InfeasibleError:
                return True
            if not moved.equals(base):
                return True
        return False

    assert not [name for name, b in groups["No effect on the outputs"] if has_effect(name, b)]
    assert all(has_effect(name, b) for name, b in groups["Machine and others"][:4])


#: A kernel on two machines: what a lecturer compares.
TWO_MACHINES: dict[str, Any] = {
    "model": "occupancy + latency_roofline + footprint + roofline",
    "workload": str(ROOT / "examples/kernels/stencil.toml"),
    "axes": {"machine": ["h100_sxm", "l40s"]},
    "outputs": ["time", "attained_flops", "attainable_flops"],
}


@needs_chromium
def test_an_input_that_matters_below_its_slider_has_an_effect(
    page: Browser, tmp_path: Path
) -> None:
    """Warps of 31 threads take longer, and the slider begins at 32."""
    page.open(Study(**TWO_MACHINES).explore(tmp_path / "page.html").as_uri())
    assert page.run("explorer.LEVERS.get('warp_size').bounds.low") == 32
    names = page.run(
        "[...[...document.querySelectorAll('#controls > details')].find((part) =>"
        " part.textContent.startsWith('No effect')).querySelectorAll('label b')]"
        ".map((one) => one.textContent)"
    )
    assert names
    assert "warp_size" not in names
    for machine in (0, 1):
        state(page, f"LEVERS.get('machine').move(here, {machine}); changed();")
        moved = page.run("explorer.movers('time').map(({ lever }) => lever.name)")
        assert "warp_size" in moved
        assert not {*moved} & {*names}


@needs_chromium
@pytest.mark.parametrize(("stem", "count"), [("skew", 5), ("transit", 0)])
def test_the_footer_names_what_python_computed(
    stem: str, count: int, page: Browser, tmp_path: Path
) -> None:
    page.open(dse.explore(ROOT / f"docs/explore/{stem}.toml", tmp_path / "page.html").as_uri())
    text = page.run("document.getElementById('computed').textContent")
    assert ("computes everything itself" in text) == (count == 0)
    title = f"Computed in Python ({count})"
    assert page.run("document.getElementById('controls').textContent").count(title) == (count > 0)
    assert (f"the {count} inputs “Computed in Python”" in text) == (count > 0)


@needs_chromium
def test_each_limiting_term_has_a_look_and_a_name_at_its_end(page: Browser, tmp_path: Path) -> None:
    page.open(Study(**TWO_MACHINES).explore(tmp_path / "page.html").as_uri())
    state(page, "view.kind = 'limits'; view.over = 'mem_bandwidth'; explorer.settle(); changed();")
    family = page.run("explorer.data.families[explorer.view.family]")
    assert (family["of"], family["largest"]) == ("limiting_time", True)
    lines = page.run(
        """[...document.querySelectorAll("#figure g path")].filter((one) =>
        one.getAttribute("d").split("L").length > 3).map((one) =>
        [one.getAttribute("stroke"), one.getAttribute("stroke-dasharray")])"""
    )
    ends = page.run(
        """[...document.querySelectorAll("#figure text.end")].map((one) =>
        [one.textContent, one.getAttribute("fill")])"""
    )
    assert len({color for color, _ in lines}) == len(lines)
    assert dict(ends).keys() > {"limiting_time", "dram", "issue", "latency"}
    assert {color for _, color in ends} == {color for color, _ in lines}
    shown = {label for label, _ in ends} - {"limiting_time"}
    close = page.run(
        """(() => { const { LEVERS, Point, here, data, view } = explorer, point = new Point(here);
        const lever = LEVERS.get("mem_bandwidth"), { of, terms } = data.families[view.family];
        return Object.keys(terms).filter((key) => lever.samples(240, true).some((sample) => {
          lever.move(point, sample); point.run();
          return point.get(terms[key]) >= point.get(of) / 100; })); })()"""
    )
    assert shown == {*close} != {*family["terms"]}


@needs_chromium
@pytest.mark.parametrize("size", [(390, 844, True), (1440, 900, False)], ids=str)
def test_a_roofline_compares_the_machines(
    size: tuple[int, int, bool], page: Browser, tmp_path: Path
) -> None:
    wide, high, dark = size
    page.size(wide, high, dark=dark)
    page.open(Study(**TWO_MACHINES).explore(tmp_path / "page.html").as_uri())
    axes = "explorer.drawn({ width: 760, height: 460 })"
    seen = []
    for machine in (0, 1):
        state(page, f"LEVERS.get('machine').move(here, {machine}); changed();")
        seen.append(page.run(f"(({{ x, y }}) => [x.low, x.high, y.low, y.high])({axes})"))
        texts = page.run(
            "[...document.querySelectorAll('#figure text')].map((one) => one.textContent)"
        )
        assert ("l40s", "h100_sxm")[machine] in texts
        assert {"L1", "L2", "stencil"} <= {*texts}
        roofs = page.run(
            """[...document.querySelectorAll("#figure g path[stroke-width='1.2']")].length"""
        )
        assert roofs == 1
    assert seen[0] == seen[1]
    svg = page.run("document.getElementById('figure').innerHTML")
    assert ("#0072b2" in svg) != dark  # the blue of light pages is too dark
    sizes = page.run(
        """[...document.querySelectorAll("#figure text")].map((one) => one.getCTM().a *
        parseFloat(getComputedStyle(one).fontSize))"""
    )
    assert min(sizes) >= (14 if wide == 1440 else 12)


@needs_chromium
@pytest.mark.parametrize("wide", [390, 1440])
def test_a_roofline_compares_the_pipe_that_the_kernel_uses(
    wide: int, page: Browser, tmp_path: Path
) -> None:
    """The FP32 peak of the L40S is above that of the H100, its DRAM is slower."""
    options = TWO_MACHINES | {"workload": str(ROOT / "examples/kernels/options.toml")}
    page.size(wide, 900)
    page.open(Study(**options).explore(tmp_path / "page.html").as_uri())
    texts = page.run("[...document.querySelectorAll('#figure text')].map((one) => one.textContent)")
    assert {"h100_sxm: DRAM 3352 GB/s", "l40s: DRAM 864 GB/s, FP32 91.6"} <= {*texts}
    assert {"FP32 66.9", "options", "l40s"} <= {*texts}
    other, y, pipe = page.run(
        """(() => { const c = explorer.drawn({ width: 760, height: 460 });
        const thin = c.marks.find((one) =>
        one.includes('stroke-width="1.2"')); return [thin, c.up(91.6), c.up(66.9)]; })()"""
    )
    assert y < pipe
    assert float(re.findall(r" ([\d.]+)\"", other)[0]) == pytest.approx(y, abs=0.5)
    note = page.run("document.getElementById('figure-note').textContent")
    assert "Predicted by the model alone; dse analyze adds the measured error." in note
    assert "Thick: the peak of FP32" in note
    labels = page.run(
        """[...document.querySelectorAll("#figure g text")].map((one) => one.getBBox())
        .map(({ x, y, width, height }) => [x, y, x + width, y + height])"""
    )
    for (left, top, right, bottom), other_box in itertools.combinations(labels, 2):
        apart = right <= other_box[0] or other_box[2] <= left
        assert apart or bottom - 4 <= other_box[1] or other_box[3] - 4 <= top


@needs_chromium
@pytest.mark.parametrize(
    ("over", "by"), [("mem_bandwidth", "n_sms"), ("l2_latency", "bandwidth_share")]
)
def test_ticks_of_a_map_are_round(over: str, by: str, page: Browser, tmp_path: Path) -> None:
    page.open(Study(**TWO_MACHINES).explore(tmp_path / "page.html").as_uri())
    state(page, f"view.kind = 'map'; view.over = '{over}'; view.by = '{by}'; changed();")
    ticks = page.run(
        f"(({{ x, y }}) => [[x, '{over}'], [y, '{by}']].map(([side, name]) => side.ticks(7).map("
        "([place, text]) => { const lever = explorer.LEVERS.get(name), all = lever.samples(100);"
        " return [Number(text) * side.factor, lever.numberOf(all[Math.floor(place)]),"
        " lever.numberOf(all[Math.ceil(place)])]; })))(explorer.drawn({ width: 700, height: 500 }))"
    )
    for side in ticks:
        assert len(side) >= 2
        for value, below, above in side:
            assert len(f"{value:.6g}".replace(".", "").strip("0").split("e")[0]) <= 2, value
            assert below <= value * (1 + 1e-9)
            assert value <= above * (1 + 1e-9)


@needs_chromium
def test_a_meaning_has_room_on_a_phone(page: Browser, tmp_path: Path) -> None:
    page.size(390, 844)
    page.open(Study(**TWO_MACHINES).explore(tmp_path / "page.html").as_uri())
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    widths = page.run(
        "[...document.querySelectorAll('.control label span')].map((one) => one.offsetWidth)"
    )
    assert min(widths) > 120
    page.open(dse.explore(ROOT / "docs/explore/tensor.toml", tmp_path / "tensor.html").as_uri())
    assert page.run("document.getElementById('note').getClientRects()[0].height") < 120


@needs_chromium
def test_advice_on_the_time_names_what_it_gains(page: Browser, tmp_path: Path) -> None:
    """More blocks on a multiprocessor are no gain of time."""
    page.open(Study(**TWO_MACHINES).explore(tmp_path / "page.html").as_uri())
    guides = page.run("explorer.data.guides.map(({ goal }) => goal)")
    assert {*guides} > {"time", "active_blocks_per_sm"}
    lines = page.run(
        "new Promise((done) => { const part = document.getElementById('advice');"
        " part.addEventListener('toggle', () => done([...part.querySelectorAll('#guides > li')]"
        ".map((line) => [line.querySelector('b').textContent, ...[...line.querySelectorAll('li')]"
        ".map((move) => move.textContent)]))); part.open = true; })"
    )
    ((heading, *moves),) = lines
    assert heading == "time: power"  # a stencil on an H100
    assert moves
    assert all(re.search(r": time ÷ 1\.\d+", move) for move in moves)


@needs_chromium
def test_a_suite_opens_at_a_feasible_point_and_fits_a_phone(page: Browser, tmp_path: Path) -> None:
    """Long names of kernels, of which each has a line of its own."""
    text = (ROOT / "examples/kernels/triad.toml").read_text()
    names = [f"kernel_{k}_with_a_long_name_and_its_template_arguments" for k in range(10)]
    for name in names:
        (tmp_path / f"{name}.toml").write_text(text)
    spec: dict[str, Any] = {
        "model": "occupancy + latency_roofline + footprint",
        "outputs": ["time"],
        "axes": {
            "workload": [str(tmp_path / f"{name}.toml") for name in names],
            "machine": ["gtx280", "h100_sxm"],
            "threads_per_block": range(64, 1025, 64),
        },
    }
    page.size(390, 844)
    page.open(Study(**spec).explore(tmp_path / "page.html").as_uri())
    assert not page.run("(new explorer.Point().run(), new explorer.Point().feasible)")
    assert page.run("explorer.here.feasible")
    assert page.run("document.getElementById('feasible').textContent") == ""
    state(
        page,
        "view.kind = 'lines'; view.by = 'workload'; view.over = 'mem_bandwidth';"
        " explorer.settle(); changed();",
    )
    ends = page.run(
        """[...document.querySelectorAll("#figure text.end, #figure g text")].map((one) =>
        [one.textContent, one.getAttribute("fill")])"""
    )
    lines = [(name, color) for name, color in ends if "…" in name]
    assert len({color for _, color in lines}) == len(lines) == 10
    lefts = (
        "[...document.querySelectorAll('#figure text')].map((one) => one.getBoundingClientRect())"
    )
    assert page.run(f"Math.min(...{lefts}.map(({{ left }}) => left))") >= 15  # no title is cut
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    page.run("new Promise((done) => setTimeout(done, 300))")
    assert page.run("document.documentElement.scrollWidth") == 390
    assert page.errors == []


@needs_chromium
def test_a_goal_says_whether_it_is_maximized(page: Browser, tmp_path: Path) -> None:
    path = ROOT / "docs/explore/tensor.toml"
    page.open(dse.explore(path, tmp_path / "page.html").as_uri())
    chosen = "(id) => document.getElementById(id)"
    assert page.run(f"({chosen})('goal').selectedOptions[0].textContent") == (
        "maximize gemm_flops (the study)"
    )
    assert page.run(f"({chosen})('sense').hidden")
    for name, sense in {"time": "minimize", "gemm_efficiency": "maximize"}.items():
        page.run(f"({chosen})('goal').value = '{name}'")
        page.run(f"({chosen})('goal').dispatchEvent(new Event('change'))")
        assert page.run(f"(({chosen})('sense')).value") == sense
        assert not page.run(f"({chosen})('sense').hidden || ({chosen})('sense').disabled")


@needs_chromium
def test_everything_that_is_set_has_a_name(tour: Browser) -> None:
    bare = tour.run(
        """[...document.querySelectorAll("input, select, button")].filter((one) =>
        !(one.labels?.length || one.getAttribute("aria-label") || one.textContent.trim()))
        .map((one) => one.outerHTML)"""
    )
    assert bare == []
    assert tour.run("document.querySelector('#figure svg').getAttribute('aria-label')")
    assert tour.run("document.documentElement.lang") == "en"


@needs_chromium
def test_hostile_texts_stay_texts(page: Browser, tmp_path: Path) -> None:
    nasty = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 2'>{{data}}"
    (tmp_path / "nasty.py").write_text(
        "import dse\n\n"
        f"q = dse.quantity('load', domain='[0, inf)', meaning={nasty!r}, default=2)\n\n"
        f"@dse.equation(source={nasty!r}, meaning={nasty!r}, flags={{0: {nasty!r}, 1: 'no'}})\n"
        "def verdict(load):\n    return dse.where(load > 3, 1.0, 0.0)\n"
    )
    study = Study(model=str(tmp_path / "nasty.py"), axes={"load": [1, 2, 4]})
    page.open(study.explore(tmp_path / "nasty.html", title=nasty).as_uri())
    page.run("for (const one of document.querySelectorAll('details')) one.open = true")
    for kind in ("lines", "limits"):
        page.run(f"explorer.view.kind = '{kind}', explorer.settle(), explorer.changed()")
    page.run("new Promise((done) => setTimeout(done, 200))")
    assert page.errors == []
    assert page.run("window.hit ?? 0") == 0
    assert page.run("document.querySelectorAll('img, script').length") == 2
    assert page.run("document.title") == nasty


def test_a_page_of_statistics(tmp_path: Path) -> None:
    drawn = Study(
        model="transit",
        axes={"threads": [256, 512]},
        set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
        random={"mem_latency": "normal: 600 cycles, 5 %", "draws": 64},
        outputs=["mean(ms_throughput)"],
        best={"maximize": "mean(ms_throughput)"},
    )
    assert "mean(ms_throughput" in drawn.explore(tmp_path / "drawn.html").read_text()


@pytest.mark.parametrize("given", ["where", "best"])
def test_a_constraint_with_a_statistic_over_many_values_is_refused(
    given: str, tmp_path: Path
) -> None:
    where = "mean(cs_throughput, threads) < 8"
    study = Study(
        model="transit",
        axes={"threads": range(256, 512), "mem_latency": [100, 300, 500]},
        set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
        outputs=["cs_throughput"],
        **{"where": where} if given == "where" else {},
        best={"maximize": "cs_throughput"} | ({"where": where} if given == "best" else {}),
    )
    with pytest.raises(DseError, match=r"cannot evaluate the constraint .*mean.*leave the"):
        study.explore(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_long_axes_are_thinned_and_a_page_stays_small(tmp_path: Path) -> None:
    study = Study(
        model="transit",
        axes={"threads": range(1, 100_001), "intensity": range(1, 65)},
        set={"lanes_width": 32, "ms_peak": 1, "mem_latency": 600},
        best={"maximize": "cs_throughput", "per": "intensity"},
    )
    page = study.explore(tmp_path / "long.html")
    data = json.loads(page.read_text().split('id="data">')[1].split("</script>")[0])
    threads = data["axes"][0]
    assert (threads["size"], len(threads["values"])) == (100_000, 1000)
    assert (threads["values"][0], threads["values"][-1]) == (1, 100_000)
    assert data["best"]["found"]["threads"] == study.optimum(**study.best).threads.values.tolist()
    assert page.stat().st_size < 400_000


def test_the_tail_of_a_launch_is_that_of_its_law(tmp_path: Path) -> None:
    study = Study(
        model="launch",
        axes={"blocks": [6, 10], "dispatch": ["hardware", "queue"]},
        set={"slots": 4, "lanes": 4, "warps_per_block": 2, "step_time": 1e-6}
        | {"distribution": "uniform:2,9"},
    )
    page = study.explore(tmp_path / "launch.html").read_text()
    launches = json.loads(page.split('id="data">')[1].split("</script>")[0])["figures"]["launches"]
    assert launches["axes"] == ["blocks"]
    for key, leaves in zip(launches["keys"], study.grid().leaves.values(), strict=True):
        for one, law in zip(key, leaves["launch_steps"].array, strict=True):
            rarely = dict(zip(law.values.tolist(), 1 - law.cdf_values, strict=True))
            for step, share in list(zip(one["steps"], one["tail"], strict=True))[1:]:
                assert share == pytest.approx(max(rarely[step], 0), rel=1e-5)
            first = np.argmax(law.cdf_values >= 0.99)
            assert law.values[first] in one["steps"]


def test_the_command_writes_a_page_and_replaces_no_other(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    done = run(main, ["explore", str(TOUR), "--title", "Here", "--json"])
    assert done.exit_code == 0, done.output
    assert Path("transit-tour.html").stat().st_size == json.loads(done.stdout)["bytes"] < 400_000
    assert run(main, ["explore", str(TOUR)]).exit_code == 0
    Path("transit-tour.html").write_text("mine")
    refused = run(main, ["explore", str(TOUR)])
    assert refused.exit_code == 2
    assert "--out" in refused.output
    given = ["explore", "mwp_cwp", "--machine", "gtx280", "--workload", "svm"]
    done = run(main, [*given, "threads_per_block=64,128", "active_blocks_per_sm=2"])
    assert done.exit_code == 0, done.output
    assert Path("mwp_cwp.html").is_file()
    assert run(main, ["explore", str(TOUR), "threads=4"]).exit_code == 2
    plain = [f"{name}={value}" for name, value in PLAIN_ROOFLINE["set"].items()]
    done = run(main, ["explore", "roofline", "machine=h100_sxm,l40s", *plain[:-2], "work_flops=1e9",
                      "vector_flops=1e9", "vector_fp64_flops=0"])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "left out: attained_flops needs time: set it" in done.output
    assert '"roofline":{' in Path("roofline.html").read_text()
    Path("rows.csv").write_text("threads,time [ms]\n32,4\n64,2\n")
    assert run(main, ["explore", "rows.csv"]).exit_code == 0
    assert "time" in Path("rows.html").read_text()


def test_what_is_no_page_or_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DseError, match=r"ends in \.html"):
        Study.from_toml(TOUR).explore(tmp_path / "page.txt")
    with pytest.raises(DseError, match="expected a Study"):
        dse.explore(3, tmp_path / "a.html")  # type: ignore[arg-type]


@pytest.fixture
def rows() -> xr.Dataset:
    """Labels, flags, NaN and infeasible points, as a run has them."""
    values = np.arange(24.0).reshape(2, 3, 4)
    values[0, 1, 2] = np.nan
    flags = {"flag_values": [0, 1], "flag_meanings": "memory_bound thread"}
    attrs = {"units": "s", "long_name": "a </b>"}
    return xr.Dataset(
        {
            "time": (("machine", "threads", "clock"), values, attrs),
            "case": (("threads",), np.array([0, 1, 1], dtype=np.int8), flags),
            "feasible": (("threads", "clock"), values[1] != 15),
            "said": (("machine",), ["x", "y"]),
        },
        coords={
            "machine": ["one", "other"],
            "threads": [32, 64, 96],
            "clock": [1e9, 2e9, 3e9, 4e9],
        },
    )


@needs_chromium
def test_a_page_of_stored_values_holds_them(page: Browser, tmp_path: Path, rows: Any) -> None:
    page.open(dse.explore(rows, tmp_path / "rows.html").as_uri())
    result = page.run(f"({WALK})(['time', 'case'])")
    feasible = rows.feasible.broadcast_like(rows.time).transpose(*rows.time.dims).values.reshape(-1)
    assert [row[-1] for row in result] == feasible.tolist()
    times = [float(row[0]) for row in result]
    assert np.array_equal(times, rows.time.values.reshape(-1), equal_nan=True)
    for kind in ("lines", "map", "pareto"):
        page.run(f"explorer.view.kind = '{kind}', explorer.settle(), explorer.changed()")
    assert page.errors == []


@needs_chromium
def test_a_store_is_served_in_parts_to_this_machine_alone(page: Browser, rows: Any) -> None:
    server = make_server(rows, "rows")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/"
    try:
        page.open(url)
        page.run(
            "document.querySelector('[aria-label=\"threads from\"]').value = '64',"
            "document.querySelector('form button').click()"
        )
        shown: Any = None
        for _ in range(200):
            with contextlib.suppress(RuntimeError):  # while it goes there
                if (shown := page.run("explorer.data.axes[1].values")) == [64, 96]:
                    break
            time.sleep(0.05)
        assert shown == [64, 96]
        assert all(request.startswith(url) for request in page.requests)
        assert page.errors == []
        for path, host, status in (
            ("", "evil.example", 403),
            ("../etc/passwd", "", 404),
            ("?threads=1:2", "", 400),
            ("?machine=1:2", "", 400),
            ("?threads=x", "", 400),
        ):
            request = urllib.request.Request(url + path, headers={"Host": host} if host else {})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            assert refused.value.code == status
            refused.value.close()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_stored_values_are_thinned_evenly(tmp_path: Path) -> None:
    both = ("threads", "intensity")
    ds = xr.Dataset(
        {"a": (both, np.zeros((2000, 128))), "b": (both, np.ones((2000, 128)))},
        coords={"threads": np.arange(2000)},
    )
    page = dse.explore(ds, tmp_path / "long.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    sizes = [(axis["size"], len(axis["values"])) for axis in data["axes"]]
    assert sizes == [(2000, 125), (128, 128)]
    assert data["axes"][0]["values"][::124] == [0, 1999]


def value_of(tree: Any, values: dict[str, float]) -> Any:
    """The value of a formula as nested lists, the slow and obvious way."""
    if isinstance(tree, list):
        terms = [value_of(term, values) for term in tree[1:]]
        if tree[0] in ("minimum", "maximum"):
            return functools.reduce(NUMERIC[tree[0]], terms)
        return NUMERIC[tree[0]](*terms)
    return values[tree] if tree in values else tree if isinstance(tree, bool) else float(tree)


@pytest.mark.parametrize("name", sorted(available_models()))
def test_each_formula_is_what_its_equation_computes(name: str) -> None:
    rng = np.random.default_rng(3)
    shown = 0
    for eq in load_model(name).equations:
        tree = None if eq.table else formula_tree(eq.node)
        if tree is None:
            continue
        shown += 1
        for _ in range(5):
            values = {one: float(rng.uniform(0.5, 40)) for one in eq.inputs}
            with np.errstate(all="ignore"):
                wanted = float(interpret_arrays([eq.node], values)[0])
                result = float(value_of(tree, {k: np.float64(v) for k, v in values.items()}))
            assert result == pytest.approx(wanted, rel=1e-9, nan_ok=True), eq.name
    assert shown


def test_a_formula_that_nobody_reads_is_left_out() -> None:
    equations = {eq.switch_text: eq for eq in load_model("gemm").variants("product_cost")}
    assert [formula_tree(eq.node) for eq in equations.values()] == [None] * len(equations)
    deep = reference("a")
    for _ in range(200):  # 2**200 terms, if common terms were counted again and again
        deep = deep + deep
    assert formula_tree(deep) is None


def test_what_is_drawn_is_told_in_the_order_of_the_graph() -> None:
    grid = Study(**MIXED).grid()
    graphs = grid.graphs.values()
    looks = figure_data(grid, {})[0]["looks"]
    names = dict.fromkeys(name for graph in graphs for name in graph.definitions)
    assert list(looks) == [name for name in names if meaning_of(name)]
    assert len(looks) > 8  # a set would be in another order


@pytest.mark.parametrize(
    "law", ["geometric:0.05", "uniform:3,3", "negative_binomial:1,1/21", "geometric:0.00002"]
)
def test_the_tail_of_the_work_is_that_of_its_law(law: str, tmp_path: Path) -> None:
    """All whole numbers of a short tail; of a long one, steps of at most 1 % in probability."""
    study = Study(model="imbalance", axes={"distribution": [law, "poisson:20"], "lanes": [32]})
    text = study.explore(tmp_path / "page.html").read_text()
    tails = json.loads(text.split('id="data">')[1].split("</script>")[0])["figures"]["tails"]
    pmf = Pmf.parse(law)
    one = tails["laws"][0]
    work, tail = np.array(one["work"]), np.array(one["tail"])
    np.testing.assert_allclose(tail, pmf.sf(work), rtol=1e-11)
    assert work[0] == pmf.low - 1
    assert tail[-1] < 1e-9
    if law == "geometric:0.00002":
        assert len(work) < 3001
        assert (tail[:-1] - tail[1:]).max() < 0.02
        assert (tail[:-1] / np.maximum(tail[1:], 1e-9)).max() < 1.3
    else:
        assert work.tolist() == list(range(work[0], work[-1] + 1))


def test_a_formula_with_shared_steps_is_not_written() -> None:
    node: Any = reference("threads")
    for step in range(9):
        node = node * node + 1
        assert is_readable(node) == (step < 7)
    for _ in range(1000):
        node = node * node + 1
    assert not is_readable(node)


#: Shapes with one block, blocks that share sums, many waves, and more rows than any product has.
SHAPES = ((64, 32, 32), (64, 64, 65536), (3136, 4096, 4096), (6144, 65536, 4096), (1e9, 32, 64))


@needs_chromium
@pytest.mark.parametrize("size", [(390, 844, True), (1440, 900, False)], ids=str)
def test_tiles_and_waves_of_a_product(
    size: tuple[int, int, bool], page: Browser, tmp_path: Path
) -> None:
    study = Study.from_toml(ROOT / "docs/explore/tensor.toml")
    path = study.explore(tmp_path / "page.html")
    wide, high, dark = size
    page.size(wide, high, dark=dark)
    page.open(path.as_uri())
    assert path.stat().st_size < 400_000
    assert state(page, "return view.kind") == "tiles"
    names = ["product_rows", "product_columns", "product_depth"]
    outputs = [*(study.outputs or ()), "gemm_tile_rows", "gemm_rate", "gemm_dram_time"]
    for shape in SHAPES:
        given: dict[str, Any] = dict(zip(names, shape, strict=True))
        for name, value in given.items():
            state(page, f"LEVERS.get('{name}').put(here, {value})")
        state(page, "changed()")
        shown = page.run(f"{json.dumps(outputs)}.map((name) => explorer.here.get(name))")
        ds = dse.evaluate("gemm", machine="h100_sxm", dtype="bf16", **given, outputs=outputs)
        assert shown == pytest.approx([float(ds[name]) for name in outputs], rel=1e-12)
        svg = page.run("document.getElementById('figure').innerHTML")
        assert "NaN" not in svg
        assert "undefined" not in svg
        assert (
            svg.count('fill="#d55e00"') >= 4
        )  # the legend, a tile, the last wave, the longest part
        assert len(svg) < 300_000
        note = page.run("document.getElementById('figure-note').textContent")
        assert f"{float(ds.gemm_waves):.0f} wave" in note
        assert ("16 blocks share" in note) == (shape == SHAPES[1])
    assert page.errors == []
    assert page.requests == [path.as_uri()]
    assert page.run("document.documentElement.scrollWidth") <= wide


@needs_chromium
def test_the_tiles_of_the_last_wave_have_its_share_of_the_product(
    page: Browser, tmp_path: Path
) -> None:
    """The areas of the rectangles are the numbers of blocks."""
    page.size(1440, 900)
    study = Study.from_toml(ROOT / "docs/explore/tensor.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    for shape in SHAPES[:3]:
        for name, value in zip(("rows", "columns", "depth"), shape, strict=True):
            state(page, f"LEVERS.get('product_{name}').put(here, {value})")
        state(page, "changed()")
        area = """((color) => [...document.querySelector("#figure > svg > svg")
            .querySelectorAll("g rect")].filter((one) => color(one.getAttribute("fill")))
            .map((one) => one.getAttribute("width") * one.getAttribute("height"))
            .reduce((a, b) => a + b, 0))"""
        last, all_waves = (
            page.run(f"{area}((fill) => {test})") for test in ("fill === '#d55e00'", "true")
        )
        blocks, waves = (state(page, f"return here.get('gemm_{n}')") for n in ("blocks", "waves"))
        assert last / all_waves == pytest.approx(1 - (waves - 1) * 132 / blocks, abs=0.01)


@needs_chromium
@pytest.mark.parametrize("wide", [390, 1440])
def test_labels_of_the_roofline_do_not_overlap(wide: int, page: Browser, tmp_path: Path) -> None:
    page.size(wide, 900)
    study = Study.from_toml(ROOT / "examples/roofline.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    for machine in range(len(study.axes["machine"])):
        state(page, f"LEVERS.get('machine').move(here, {machine}); changed();")
        boxes = page.run(
            """[...document.querySelectorAll("#figure text.end")]
            .map((one) => one.getBoundingClientRect())
            .map(({ top, right, left }) => [top, right, left])"""
        )
        tops = sorted(top for top, *_ in boxes)
        assert len(tops) >= 2
        assert min(b - a for a, b in itertools.pairwise(tops)) >= 12
        frame = page.run(
            "[...document.querySelectorAll('#figure svg > rect')].at(-1)"
            ".getBoundingClientRect().right"
        )
        assert all(left >= frame for *_, left in boxes)  # labels erase no roof
        frame = page.run("document.querySelector('#figure svg').getBoundingClientRect().right")
        assert all(right <= frame for _, right, _ in boxes)
    text = page.run("document.getElementById('figure').textContent")
    assert "[TFLOP/s]" in text
    assert "[FLOP/byte]" in text
    assert "GB/s" in text


@needs_chromium
@pytest.mark.parametrize(("name", "lines"), [("skew", 5), ("rows", 3)])
def test_the_first_view_of_skew_shows_its_effect(
    name: str, lines: int, page: Browser, tmp_path: Path
) -> None:
    study = Study.from_toml(ROOT / f"docs/explore/{name}.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    paths = page.run(
        """[...document.querySelectorAll("#figure g path")].map((one) => one.getAttribute("d"))
        .filter((one) => one.split("L").length > 3)"""
    )
    assert len(set(paths)) == len(paths) == lines
    heights = [[float(point.split(" ")[1]) for point in path[1:].split("L")] for path in paths]
    ends = [max(line) - min(line) for line in heights]
    assert sorted(ends)[1] > 50  # only one line may be flat
    assert page.errors == []


#: A roofline without a time: its roofs meet between the values of the axis.
PLAIN_ROOFLINE: dict[str, Any] = {
    "model": "roofline",
    "machine": "h100_sxm",
    "outputs": ["attainable_flops"],
    "axes": {"work_flops": [1e9, 1e10, 1e11, 1e12]},
    "set": {"dram_bytes": 1e9, "l2_bytes": 1e9, "l1_moved_bytes": 1e9, "tensor_flops": 0}
    | {"vector_flops": "work_flops", "vector_fp64_flops": 0},
}


@needs_chromium
def test_curves_between_the_values_of_an_axis_are_those_of_the_model(
    page: Browser, tmp_path: Path
) -> None:
    """The smallest term and its sides have one place on the screen, also at the knee."""
    study = Study(**PLAIN_ROOFLINE)
    page.open(study.explore(tmp_path / "page.html").as_uri())
    assert page.run("explorer.view.kind") == "roofline"
    assert page.run("document.getElementById('figure-note').textContent").count("at most") == 1
    state(page, "view.kind = 'limits'; explorer.settle(); changed();")
    page.run(
        "(() => { const chooser = document.querySelector('#choices select'); chooser.value ="
        " 'limits'; chooser.dispatchEvent(new Event('change')); })()"
    )
    assert page.run("explorer.view.log")  # x is logarithmic, and the terms cover decades
    paths = page.run(
        """[...document.querySelectorAll("#figure g path")].map((one) => one.getAttribute("d"))
        .filter((one) => one.split("L").length > 3)"""
    )
    lines = [np.array([p.split(" ") for p in d[1:].split("L")], dtype=float) for d in paths]
    *terms, smallest = lines
    assert len(smallest) > 100
    grid = np.linspace(smallest[0, 0], smallest[-1, 0], 500)  # downwards: the lowest is largest
    lowest = np.max([np.interp(grid, *term.T) for term in terms], axis=0)
    np.testing.assert_allclose(np.interp(grid, *smallest.T), lowest, atol=1.0)
    sampled = page.run(
        "explorer.LEVERS.get('work_flops').samples(240, true)"
        ".map((k) => explorer.LEVERS.get('work_flops').numberOf(k))"
    )
    assert set(study.axes["work_flops"]) <= set(sampled)
    assert sampled == sorted(set(sampled))


@needs_chromium
def test_curves_of_whole_numbers_have_whole_values(page: Browser, tmp_path: Path) -> None:
    study = Study.from_toml(ROOT / "docs/explore/energy.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    assert page.run("explorer.data.quantities.active_sms.whole")
    for name in ("active_sms", "core_clock"):
        lever = f"explorer.LEVERS.get('{name}')"
        values = page.run(f"{lever}.samples(240, true).map((k) => {lever}.numberOf(k))")
        axis = page.run(f"{lever}.axis.values")
        assert values == (axis if name == "active_sms" else sorted(set(values)))
        assert {*axis} <= {*values}
    assert len(values) > 2 * len(axis)


@needs_chromium
@pytest.mark.parametrize("point", [{"threads": 1056, "intensity": 20}, {"threads": 300}])
def test_a_tried_move_reaches_the_regime_that_it_names(
    point: dict[str, Any], page: Browser, tmp_path: Path
) -> None:
    study = Study.from_toml(ROOT / "docs/explore/transit.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    for name, value in point.items():
        state(page, f"LEVERS.get('{name}').put(here, {value}); changed();")
    at: dict[str, Any] = {**study.set, "threads": 1040, "intensity": 24} | point
    advice = dse.advise("transit", **at)
    moves = page.run(
        "explorer.moves(explorer.data.guides[0]).map(({ lever, to, tried, next }) =>"
        " [lever.name, to, tried, next])"
    )
    assert moves
    for name, to, tried, following in moves:
        assert to == pytest.approx(advice[name].until, rel=1e-6), name
        assert following == (advice[name].next_bound or "")
        if not following:
            continue
        assert len(f"{tried:.12g}".replace(".", "").strip("0")) <= 4, tried
        assert tried == pytest.approx(to, rel=0.02)
        known = dse.evaluate("transit", **at | {name: tried}, outputs=["bound"])
        flags = known.bound.attrs
        meanings = dict(zip(flags["flag_values"], flags["flag_meanings"].split(), strict=True))
        assert meanings[int(known.bound)] == following


@needs_chromium
def test_parts_of_a_product_include_the_power_limit(page: Browser, tmp_path: Path) -> None:
    page.open(dse.explore(ROOT / "docs/explore/tensor.toml", tmp_path / "page.html").as_uri())
    assert "power limit" in page.run("document.getElementById('figure').textContent")
    note = page.run("document.getElementById('figure-note').textContent")
    match = re.search(
        r"power limit \(([\d.]+) µs\) and all other parts \(([\d.]+) µs\)", note, re.DOTALL
    )
    assert match
    limit, rest = map(float, match.groups())
    together = page.run("explorer.here.get('time')")
    assert (rest**4 + limit**4) ** 0.25 == pytest.approx(together * 1e6, rel=1e-3)


#: What the figure of a product calls each label of gemm_bound.
PARTS = {"start": "start", "tensor": "tensor cores", "memory": "DRAM", "tiles": "tiles, operands"}
PARTS |= {"output": "results, casts", "power": "power limit"}


@needs_chromium
def test_the_longest_part_of_a_product_is_its_bottleneck(page: Browser, tmp_path: Path) -> None:
    """The caption and the card agree, at the start and elsewhere."""
    page.open(dse.explore(ROOT / "docs/explore/tensor.toml", tmp_path / "page.html").as_uri())
    seen = set()
    axes = itertools.product(range(4), (0, 1), (None, *SHAPES))
    for machine, dtype, shape in axes:
        for name, value in zip(("rows", "columns", "depth"), shape or (), strict=False):
            state(page, f"LEVERS.get('product_{name}').put(here, {value})")
        state(
            page,
            f"LEVERS.get('machine').move(here, {machine});"
            f" LEVERS.get('dtype').move(here, {dtype}); changed();",
        )
        note = page.run("document.getElementById('figure-note').textContent")
        longest = re.search(r"Longest part: (.*?), [\d.e+-]+ .?s\.", note)
        card = page.run("document.querySelector('dd[data-name=gemm_bound]').textContent")
        assert longest
        assert longest[1] == PARTS[card], (machine, dtype, shape)
        seen.add(card)
        page.run("explorer.read('#'), explorer.changed()")
    assert page.run("document.querySelector('dd[data-name=gemm_bound]').textContent") == "power"
    assert seen >= {"power", "tensor", "start", "tiles"}


@needs_chromium
def test_advice_on_a_product_moves_no_fitted_number(page: Browser, tmp_path: Path) -> None:
    study = Study.from_toml(ROOT / "docs/explore/tensor.toml")
    page.open(study.explore(tmp_path / "page.html").as_uri())
    names = page.run("explorer.moves(explorer.data.guides[0]).map(({ lever }) => lever.name)")
    assert {"n_sms", "mem_bandwidth", "tensor_bf16_flops"} <= {*names}
    point: dict[str, Any] = {"machine": "h100_sxm", "dtype": "bf16", "product_rows": 3136}
    moves = [move.quantity for move in study.advise(**point).moves]
    assert {"n_sms", "mem_bandwidth", "tensor_bf16_flops"} <= {*moves}
    assert not [name for name in (*names, *moves) if name.startswith("gemm_")]


@needs_chromium
def test_powers_and_roots_are_typeset(page: Browser, tmp_path: Path) -> None:
    page.size(1440, 900)
    page.open(dse.explore(ROOT / "docs/explore/tensor.toml", tmp_path / "page.html").as_uri())
    page.run(
        "document.getElementById('explained').value = 'time',"
        " document.getElementById('steps').open = true"
    )
    page.run("new Promise((done) => setTimeout(done, 300))")
    text = page.run("document.querySelector('#tree .formula').textContent")
    assert text.count("gemm_start_time") == 1
    exponents = page.run(
        "[...document.querySelectorAll('#tree .formula msup')].map((one) =>"
        " one.lastChild.textContent)"
    )
    assert exponents == ["4", "4", "1/4"]


@needs_chromium
def test_conditions_show_no_tolerance_of_rounding(tour: Browser) -> None:
    tour.run(
        "document.getElementById('explained').value = 'bound',"
        " document.getElementById('steps').open = true"
    )
    tour.run("new Promise((done) => setTimeout(done, 300))")
    text = tour.run("document.querySelector('#tree .formula').textContent")
    assert "ms_peak≤ms_throughput" in text
    assert "1e12" not in text


@needs_chromium
@pytest.mark.parametrize(("name", "sticky"), [("tensor", False), ("transit", True)])
def test_a_figure_leaves_room_for_sliders(
    name: str, sticky: bool, page: Browser, tmp_path: Path
) -> None:
    page.size(390, 844)
    page.open(dse.explore(ROOT / f"docs/explore/{name}.toml", tmp_path / "page.html").as_uri())
    position, high = page.run(
        "((box) => [getComputedStyle(box).position, box.offsetHeight])"
        "(document.getElementById('figure'))"
    )
    assert (position == "sticky") == (high <= 0.45 * 844) == sticky


@needs_chromium
@pytest.mark.parametrize("click", ["#restore", "#guides button"])
def test_messages_vanish_with_the_value(click: str, tour: Browser) -> None:
    tour.run("document.getElementById('advice').open = true")
    tour.run("new Promise((done) => setTimeout(done, 300))")
    problem = "document.getElementById('lever-mem_latency-problem').textContent"
    tour.run(
        "(() => { const { typed } = explorer.controls.get('mem_latency'); typed.value = '-3';"
        " typed.dispatchEvent(new Event('change')); })()"
    )
    assert "outside" in tour.run(problem)
    tour.run(f"document.querySelector('{click}').click()")
    assert tour.run(problem) == ""


@needs_chromium
def test_labels_are_above_the_curves(tour: Browser) -> None:
    places = tour.run(
        "[...document.querySelector('#figure g').children].map(({ tagName }) => tagName)"
    )
    assert places.count("text") >= 3
    assert set(places[places.index("text") :]) == {"text"}
    texts = "[...document.querySelectorAll('#figure g text')]"
    assert tour.run(f"{texts}.every((one) => one.getAttribute('stroke') === '#ffffff')")


def test_each_linked_page_has_its_command() -> None:
    text = (ROOT / "docs/explore.md").read_text()
    links = re.findall(r'"explore/([\w-]+)\.html">.*\n +`dse explore ([\w/.-]+)`', text)
    assert {ROOT / file for _, file in links} == {*EXPLORERS}
    assert all(Path(file).stem == name for name, file in links)
    assert len(links) == text.count('.html"')


def test_the_first_comment_of_the_tour_is_a_title() -> None:
    title, note = read_heading(TOUR, None, "")
    assert title is not None
    assert title.startswith("How many threads")
    assert note
