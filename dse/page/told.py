"""All that the page of a study is given: its axes, values, equations, figures and best."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.page.axes import Places, axes_told, even, halved, leaves_told, plain, thinned
from dse.page.equations import compiled, definitions_told, quantities_told, with_goals
from dse.plots.looks import look_of, meaning_of
from dse.provenance import version
from dse.study.best import Best, read_best
from dse.study.data import StudyData
from dse.toml_text import toml_key, toml_value
from stochastic import sizes
from stochastic.errors import LawError
from sweeps.grid.dataset import meanings_of
from sweeps.grid.grid import FEASIBLE, Grid
from symbolic.advice import guides
from symbolic.errors import DseError
from symbolic.graph import Graph
from symbolic.javascript import Program, program
from symbolic.json_text import read_json
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.statistic import statistics_of
from symbolic.units import UNITS, exact

if TYPE_CHECKING:
    import xarray as xr

    from stochastic import Pmf


# --- What the figures of a page need beside the equations of the study: looks, curves, laws


#: What the transit figure reads of a study, and of the model alone along its curves.
_TRANSIT = (
    *("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency"),
    *("ms_throughput", "cs_throughput", "bound", "cs_transition", "ms_transition"),
    *("threads_in_ms", "threads_in_ms_low", "threads_in_ms_high"),
)
#: What the figure of a launch reads besides its law.
_LAUNCH = ("launch_time_mean", "waves_time", "step_time")
#: Laws of which a page holds the tails, places along each, and how far down they go.
_LAWS, _PLACES, _RARE = 24, 120, 1e-9
#: Laws of launches of which a page holds the tails, places along each, the rarest that is shown.
_LAUNCHES, _STEPS, _RAREST = 96, 64, 1e-6
_TRACED = ("ms_throughput", "threads_in_ms", "threads_in_cs")


def extra_names(model: Model) -> list[str]:
    """Quantities of a model that its figures and its advice show beside the outputs of a study."""
    yields = set(model.yields)
    found = [name for guide in guides(model) for name in (guide.state, guide.goal, guide.limits)]
    if "ms_throughput" in yields:
        found += [name for name in _TRANSIT if name in yields]
    if "launch_steps" in yields:
        found += [name for name in _LAUNCH if name in yields]
    return list(dict.fromkeys(found))


def figures_told(grid: Grid, kept: Mapping[str, Places]) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures of the model's own and how its terms look; the functions these call."""
    names = dict.fromkeys(name for graph in grid.graphs.values() for name in graph.definitions)
    told: dict[str, Any] = {"looks": {name: _look(name) for name in names if meaning_of(name)}}
    functions: dict[str, str] = {}
    if names.keys() >= set(_TRANSIT):
        told["transit"], functions["traced"] = _transit(grid)
    if names.keys() >= {"launch_steps", "step_time"}:
        told |= _launches(grid, kept)
    elif names.keys() >= {"distribution", "lanes"}:
        told |= _tails(grid, kept)
    return told, functions


def _look(name: str) -> dict[str, Any]:
    look = look_of(name)
    dash = "" if look.line == "-" else " ".join(f"{length:g}" for length in look.line[1])
    return {"color": look.color, "dash": dash}


def _transit(grid: Grid) -> tuple[dict[str, Any], str]:
    """The model alone, under each of its supply curves, and which of them a study takes."""
    labels = grid.model.quantity("supply").labels or ()
    graphs: dict[tuple[str, ...], Graph]
    graphs = {(label,): load_model("transit").graph(supply=label) for label in labels}
    made = program(graphs, _TRACED)
    told = {
        "inputs": list(made.inputs),
        "choices": made.choices,
        "labels": list(labels),
        "supply": [labels.index(graph.switches["supply"]) for graph in grid.graphs.values()],
    }
    return told, made.source


def _tails(grid: Grid, kept: Mapping[str, Places]) -> dict[str, Any]:
    """The tail of the work of one item under each law: more than so much, and how likely."""
    leaf = next(iter(grid.leaves.values()))["distribution"]
    index = np.ix_(*(kept[name] for name in leaf.axes)) if leaf.axes else ()
    laws = np.asarray(leaf.array[index], dtype=object).reshape(-1).tolist()
    if len(laws) > _LAWS or leaf.switched or leaf.failed:
        return {}
    try:
        return {"tails": {"axes": list(leaf.axes), "laws": [_tail(law.pmf) for law in laws]}}
    except LawError:  # one without a mean
        return {}


def _launches(grid: Grid, kept: Mapping[str, Places]) -> dict[str, Any]:
    """How rarely a launch takes more than so many steps, for each key of the switches."""
    leaves = [known["launch_steps"] for known in grid.leaves.values()]
    axes = leaves[0].axes
    index = np.ix_(*(kept[name] for name in axes)) if axes else ()
    if any(leaf.axes != axes or leaf.failed for leaf in leaves):
        return {}
    laws = [np.asarray(leaf.array[index], dtype=object).reshape(-1) for leaf in leaves]
    if sum(one.size for one in laws) > _LAUNCHES:
        return {}
    keys = [[_rarely(law) for law in one.tolist()] for one in laws]
    return {"launches": {"axes": list(axes), "keys": keys}}


def _rarely(law: Any) -> dict[str, Any]:
    """Places of a law of steps, even in steps and in the chance of more."""
    below = np.asarray(law.below, dtype=float)
    first, last = np.searchsorted(below, [_RAREST, 1 - _RAREST])
    last = min(int(last), below.size - 1)
    levels = np.append(1 - np.geomspace(_RAREST, 1, _STEPS // 2), [0.5, 0.99, 0.9999])
    places = np.concatenate(
        [np.linspace(first, last, _STEPS // 2).round(), np.searchsorted(below, levels)]
    )
    places = np.unique(np.clip(places, first, last).astype(np.int64))
    steps, more = np.asarray(law.values)[places], np.maximum(1 - below[places], 0)
    steps, more = np.append(steps[0], steps), np.append(1.0, more)
    return {"steps": steps, "tail": [float(f"{share:.6g}") for share in more]}


def _tail(pmf: Pmf) -> dict[str, Any]:
    end = int(pmf.cut(_RARE).high)
    places = np.unique(np.linspace(pmf.low - 1, end, _PLACES).round().astype(np.int64))
    rarely = np.asarray([float(pmf.sf(int(k))) for k in places])
    return {"work": places, "tail": [float(f"{share:.9g}") for share in rarely]}


# --- All that the page of a Dataset is given: its values, as they are stored, along thinned axes


#: Values of an axis that a page holds, and of all quantities together.
_LONGEST, _MOST = 1000, 60_000


def told_of_values(
    ds: xr.Dataset,
    title: str,
    note: str = "",
    part: Mapping[str, tuple[float, float]] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    """The data of a page, and the functions of JavaScript that it calls, by name.

    ``part`` cuts axes between the least and the most value; what is left is thinned evenly.

    Raises
    ------
    DseError
        No numbers, or axes of which nothing is left.
    """
    names = [str(name) for name, array in ds.data_vars.items() if array.dtype.kind in "biuf"]
    names = [name for name in names if name != FEASIBLE]
    if not names:
        raise DseError("the Dataset holds no numbers: there is nothing to explore")
    held = [*names, *([FEASIBLE] if FEASIBLE in ds else [])]
    cut = ds[held].isel({name: _within(ds, name, *ends) for name, ends in (part or {}).items()})
    if any(size == 0 for size in cut.sizes.values()):
        raise DseError(
            f"nothing is left of {', '.join(str(d) for d, n in cut.sizes.items() if not n)}"
        )
    counts = {str(dim): min(size, _LONGEST) for dim, size in cut.sizes.items()}
    halved(counts, [list(map(str, array.dims)) for array in cut.data_vars.values()], _MOST)
    kept = cut.isel({dim: even(cut.sizes[dim], count) for dim, count in counts.items()}).load()
    data = common(title, note) | {
        "model": str(ds.attrs.get("model", "")),
        "axes": [_axis(cut, kept, str(dim)) for dim in kept.sizes],
        "leaves": {name: _leaf(kept[name]) for name in held},
        "quantities": _quantities(ds, names),
        "definitions": _definitions(ds, names),
        "conditions": [{"text": _stored_conditions(ds), "of": "model"}] if FEASIBLE in ds else [],
        "outputs": names,
        "program": {"inputs": held, "outputs": names, "choices": {}},
        "stored": {"axes": {str(d): n for d, n in ds.sizes.items()}, "served": part is not None},
    }
    copied = "".join(f"  y[{k}] = x[{k}];\n" for k in range(len(held)))
    return plain(data), {"compute": f"(x, c, y) => {{\n{copied}}}"}


def _within(ds: xr.Dataset, name: str, low: float, high: float) -> np.ndarray[Any, Any]:
    """The places of an axis whose values lie between two."""
    if name not in ds.dims or (name in ds.coords and ds[name].dtype.kind not in "iuf"):
        raise DseError(f"{name} is no axis of numbers: there are {', '.join(map(str, ds.dims))}")
    values = ds[name].values if name in ds.coords else np.arange(ds.sizes[name])
    return np.flatnonzero((values >= low) & (values <= high))


def _axis(cut: xr.Dataset, kept: xr.Dataset, dim: str) -> dict[str, Any]:
    """One axis as the page has it, with how many values the part has that is shown."""
    told: dict[str, Any] = {"name": dim, "kind": "zip", "columns": [], "size": cut.sizes[dim]}
    values = kept[dim].values if dim in kept.coords else np.arange(kept.sizes[dim])
    if values.dtype.kind in "iuf":
        return told | {"values": values.astype(float)}
    return told | {"labels": [str(value) for value in values.tolist()]}


def _leaf(array: xr.DataArray) -> dict[str, Any]:
    told = {"axes": list(map(str, array.dims)), "values": array.values.astype(float)}
    return {"variants": [told]}


def _quantities(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
    """Unit, meaning and flags, as the Dataset tells them."""
    found = {}
    for name in [*names, *map(str, ds.sizes)]:
        attrs = ds[name].attrs if name in ds.variables else {}
        unit = str(attrs.get("units", ""))
        told: dict[str, Any] = {
            "unit": "" if unit == "1" else unit,
            "meaning": str(attrs.get("long_name", "")),
        }
        if name in names and (flags := meanings_of(attrs)):
            told["flags"] = {str(value): word for value, word in flags.items()}
        found[name] = told
    return found


def _definitions(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
    """Where each value is from: the equation that a run tells, else the file."""
    sources: dict[str, str] = {}
    try:
        equations = read_json(ds.attrs.get("equations", "[]"))
    except ValueError:  # of somebody else, who means something else by it
        equations = []
    for row in equations if isinstance(equations, list) else ():  # those of one model
        if isinstance(row, dict) and {"name", "source"} <= row.keys():
            sources.setdefault(str(row["name"]), str(row["source"]))
    return {
        name: {
            "which": [0],
            "variants": [
                {"kind": "stored", "needs": [], "source": sources.get(name) or "as stored"}
            ],
        }
        for name in names
    }


def _stored_conditions(ds: xr.Dataset) -> str:
    return str(ds[FEASIBLE].attrs.get("conditions", "")) or "feasible"


#: Configurations that the page itself looks through for the best.
_SEARCHED = sizes.PAGE_SEARCHED


def common(title: str, note: str) -> dict[str, Any]:
    """What every page is given; of a page without equations all that these would fill."""
    return {
        "title": title,
        "note": note,
        "version": version(),
        "machine": None,
        "workload": None,
        "switches": [],
        "families": [],
        "guides": [],
        "figures": {"looks": {}},
        "best": None,
        "searched": _SEARCHED,
        # each as its factor and the exponents of the base units in it
        "units": {name: _unit(name) for name in sorted(UNITS)},
        "study": None,
    }


def told(study: StudyData, title: str, note: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """The data of a page, and the functions of JavaScript that it calls, by name."""
    best = None if study.best is None else read_best(study.best)
    grid = _grid(study, best)
    _check_conditions(grid)
    goals = () if best is None else best.goals
    graphs = with_goals(grid.graphs, goals, grid.model.quantities)
    made = compiled(graphs, grid, [goal.text for goal in goals])
    kept = thinned(grid)
    figures, functions = figures_told(grid, kept)
    data = common(title, note) | {
        "model": study.model,
        "machine": study.machine,
        "workload": study.workload,
        "axes": axes_told(grid, kept),
        "switches": list(grid.switch_axes),
        "leaves": leaves_told(grid, kept),
        "quantities": quantities_told(grid, graphs),
        "definitions": definitions_told(graphs, _sources(study)),
        "conditions": _conditions(grid, study, best),
        "outputs": [name for name in study.grid().outputs if name in made.outputs],
        "program": {
            "inputs": list(made.inputs),
            "outputs": list(made.outputs[: len(made.outputs) - len(grid.conditions)]),
            "choices": made.choices,
        },
        "families": _families(grid, made),
        "guides": _guides(grid, made),
        "figures": figures,
        "best": None if best is None else _best(study, grid, kept, best),
        "study": _study_told(study),
    }
    return plain(data), {"compute": made.source, **functions}


def _grid(study: StudyData, best: Best | None) -> Grid:
    """The grid of the study, with what its best asks for and its figures draw."""
    needed = [] if best is None else study._needed(best.goals)
    where = () if best is None else best.where
    grid = study.grid(needed, where)
    for name in extra_names(grid.model):
        if name in grid.graph.definitions:
            continue
        try:
            grid = study.grid([*needed, name], where)
        except DseError:  # the study does not give what it takes
            continue
        needed = [*needed, name]
    return grid


def _check_conditions(grid: Grid) -> None:
    """Refuse a constraint that holds a statistic: the page could not follow it.

    Python computes a statistic for the values of the study; a page on which other values are given
    would tell what is feasible by the old ones.
    """
    for condition in grid.conditions:
        if found := statistics_of([condition.node]):
            raise DseError(
                f"a page cannot follow the constraint {condition.text!r}: {found[0]} is computed "
                "by Python for the values of the study alone; leave the constraint out, or show "
                "the values: dse run STUDY --store OUT.zarr, dse explore OUT.zarr"
            )


def _sources(study: StudyData) -> dict[str, str]:
    """Where values are from; of what an axis supplies, at each of its labels."""
    found = {}
    for name, said in study._parts.origins.items():
        texts = said.values() if isinstance(said, Mapping) else [said]
        found[name] = " | ".join(dict.fromkeys(texts))
    return found


def _conditions(grid: Grid, study: StudyData, best: Best | None) -> list[dict[str, Any]]:
    """The conditions in the order of the program, and whose each is."""
    own = {condition.text for condition in study.grid().conditions}
    return [
        {"text": c.text, "of": "model" if c.is_rule else "study" if c.text in own else "best"}
        for c in grid.conditions
    ]


def _families(grid: Grid, made: Program) -> list[dict[str, Any]]:
    """Of which terms a quantity is the smallest or the largest."""
    return [
        {"of": family.of, "terms": dict(family.terms), "largest": family.largest}
        for family in grid.model.regime_families
        if {family.of, *family.terms.values()} <= set(made.outputs)
    ]


def _guides(grid: Grid, made: Program) -> list[dict[str, Any]]:
    """What helps in each bound or case, as far as the page holds what it names."""
    held = set(made.outputs)
    found = []
    for guide in guides(grid.model):
        if not {guide.state, guide.goal, guide.limits} <= held:
            continue
        labels = [*grid.flags(guide.state).values()] or [
            label for f in grid.model.regime_families if f.of == guide.limits for label in f.terms
        ]
        helps = {label: [list(move) for move in guide.moves(label)] for label in labels}
        found.append(
            {
                "state": guide.state,
                "goal": guide.goal,
                "maximize": guide.maximize,
                "limits": guide.limits,
                "helps": helps,
                "fixed": sorted(guide.fixed),
                "notes": dict(guide.notes),
            }
        )
    return found


def _best(study: StudyData, grid: Grid, kept: Mapping[str, Places], best: Best) -> dict[str, Any]:
    """The question of the study; its answer where the page cannot look through its grid."""
    told: dict[str, Any] = {
        "goals": [{"name": goal.text, "maximize": goal.sign < 0} for goal in best.goals],
        "where": list(best.where),
        "per": list(best.per),
    }
    whole = all(len(kept[name]) == axis.size for name, axis in grid.axes.items())
    small = grid.points <= _SEARCHED and whole
    if not small:
        told["found"] = _answer(study, kept, best)
    return told


def _answer(study: StudyData, kept: Mapping[str, Places], best: Best) -> dict[str, Any]:
    """The best configurations by exact search: each axis and goal, along the axes of ``per``."""
    import xarray as xr

    from dse.verbs.optimum import optimum

    found = optimum(study, **best.as_asked() | {"top": 1})
    found = found.isel({name: kept[name] for name in best.per})
    if "rank" in found.sizes:
        found = found.isel(rank=0)
    each = xr.broadcast(*(found[name] for name in found.variables))
    return {
        str(array.name): array.transpose(*best.per).values.reshape(-1).tolist() for array in each
    }


def _study_told(study: StudyData) -> dict[str, Any]:
    """The study as lines of its file; an axis so long that its text tells no values has none."""
    tree: dict[str, Any] = json.loads(study.text()) | {"model": study.model}
    tables = {key: tree.pop(key) for key in ("axes", "set")} | {"best": study.best or {}}
    head = {key: value for key, value in tree.items() if key not in ("draws", "random")}
    return {
        "head": [f"{toml_key(key)} = {toml_value(value)}" for key, value in head.items()],
        "random": {name: toml_value(value) for name, value in tree.get("random", {}).items()},
        **{
            table: {
                name: None if "sha256" in text else text
                for name, value in values.items()
                if value is not None and (text := toml_value(value))
            }
            for table, values in tables.items()
        },
    }


def _unit(name: str) -> list[Any]:
    factor, kind = exact(1, name)
    power = 0
    while factor.denominator != 1:
        factor, power = factor * 10, power - 1
    while factor.numerator % 10 == 0:
        factor, power = factor / 10, power + 1
    return [factor.numerator, power, {base: int(exponent) for base, exponent in kind.exponents}]
