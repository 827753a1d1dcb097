"""All that the page of a study is given: its axes, values, equations, figures and best."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.inputs.provenance import version
from dse.plots.style import meaning_of, style_of
from dse.study.study import BestQuery, StudyData, read_best
from dse.toml_text import toml_key, toml_value
from stochastic import sizes
from stochastic.errors import LawError
from sweeps.grid.dataset import read_flag_meanings
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE, Grid, Leaf
from symbolic.advice import guides
from symbolic.errors import DseError
from symbolic.graph import Definition, Graph
from symbolic.javascript import Program, program
from symbolic.json_text import read_json
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import Node, reference, references, walk
from symbolic.quantities import indexed_quantity
from symbolic.statistics import statistics_of
from symbolic.units import UNITS, to_si_exact

if TYPE_CHECKING:
    import xarray as xr

    from stochastic import Pmf


# --- What the figures of a page need beside the equations of the study: looks, curves, laws


#: What the transit figure reads of a study, and of the model alone along its curves.
_TRANSIT_QUANTITIES = (
    *("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency"),
    *("ms_throughput", "cs_throughput", "bound", "cs_transition", "ms_transition"),
    *("threads_in_ms", "threads_in_ms_low", "threads_in_ms_high"),
)
#: What the figure of a launch reads besides its law.
_LAUNCH_QUANTITIES = ("launch_time_mean", "waves_time", "step_time")
#: Laws of which a page holds the tails, places along each, and how far down they go.
_MAX_LAWS, _TAIL_POINTS, _MIN_TAIL = 24, 120, 1e-9
#: Laws of launches of which a page holds the tails, places along each, the rarest that is shown.
_MAX_LAUNCHES, _LAUNCH_POINTS, _MIN_LAUNCH_TAIL = 96, 64, 1e-6
_TRACE_OUTPUTS = ("ms_throughput", "threads_in_ms", "threads_in_cs")


def extra_quantities(model: Model) -> list[str]:
    """Quantities of a model that its figures and its advice show beside the outputs of a study."""
    yields = set(model.yields)
    result = [name for guide in guides(model) for name in (guide.state, guide.goal, guide.limits)]
    if "ms_throughput" in yields:
        result += [name for name in _TRANSIT_QUANTITIES if name in yields]
    if "launch_steps" in yields:
        result += [name for name in _LAUNCH_QUANTITIES if name in yields]
    return list(dict.fromkeys(result))


def figure_data(
    grid: Grid, indices: Mapping[str, Indices]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The figures of the model's own and how its terms look; the functions these call."""
    names = dict.fromkeys(name for graph in grid.graphs.values() for name in graph.definitions)
    told: dict[str, Any] = {
        "looks": {name: _line_style(name) for name in names if meaning_of(name)}
    }
    functions: dict[str, str] = {}
    if names.keys() >= set(_TRANSIT_QUANTITIES):
        told["transit"], functions["traced"] = _transit_data(grid)
    if names.keys() >= {"launch_steps", "step_time"}:
        told |= _launch_tails(grid, indices)
    elif names.keys() >= {"distribution", "lanes"}:
        told |= _work_tails(grid, indices)
    return told, functions


def _line_style(name: str) -> dict[str, Any]:
    look = style_of(name)
    dash = "" if look.line == "-" else " ".join(f"{length:g}" for length in look.line[1])
    return {"color": look.color, "dash": dash}


def _transit_data(grid: Grid) -> tuple[dict[str, Any], str]:
    """The model alone, under each of its supply curves, and which of them a study takes."""
    labels = grid.model.quantity("supply").labels or ()
    graphs: dict[tuple[str, ...], Graph]
    graphs = {(label,): load_model("transit").graph(supply=label) for label in labels}
    made = program(graphs, _TRACE_OUTPUTS)
    told = {
        "inputs": list(made.inputs),
        "choices": made.choices,
        "labels": list(labels),
        "supply": [labels.index(graph.switches["supply"]) for graph in grid.graphs.values()],
    }
    return told, made.source


def _work_tails(grid: Grid, indices: Mapping[str, Indices]) -> dict[str, Any]:
    """The tail of the work of one item under each law: more than so much, and how likely."""
    leaf = next(iter(grid.leaves.values()))["distribution"]
    index = np.ix_(*(indices[name] for name in leaf.axes)) if leaf.axes else ()
    laws = np.asarray(leaf.array[index], dtype=object).reshape(-1).tolist()
    if len(laws) > _MAX_LAWS or leaf.switch_axes or leaf.failures:
        return {}
    try:
        return {"tails": {"axes": list(leaf.axes), "laws": [_work_tail(law.pmf) for law in laws]}}
    except LawError:  # one without a mean
        return {}


def _launch_tails(grid: Grid, indices: Mapping[str, Indices]) -> dict[str, Any]:
    """How rarely a launch takes more than so many steps, for each key of the switches."""
    leaves = [known["launch_steps"] for known in grid.leaves.values()]
    axes = leaves[0].axes
    index = np.ix_(*(indices[name] for name in axes)) if axes else ()
    if any(leaf.axes != axes or leaf.failures for leaf in leaves):
        return {}
    laws = [np.asarray(leaf.array[index], dtype=object).reshape(-1) for leaf in leaves]
    if sum(one.size for one in laws) > _MAX_LAUNCHES:
        return {}
    keys = [[_launch_tail(law) for law in one.tolist()] for one in laws]
    return {"launches": {"axes": list(axes), "keys": keys}}


def _launch_tail(law: Any) -> dict[str, Any]:
    """Places of a law of steps, even in steps and in the chance of more."""
    below = np.asarray(law.below, dtype=float)
    first, last = np.searchsorted(below, [_MIN_LAUNCH_TAIL, 1 - _MIN_LAUNCH_TAIL])
    last = min(int(last), below.size - 1)
    levels = np.append(
        1 - np.geomspace(_MIN_LAUNCH_TAIL, 1, _LAUNCH_POINTS // 2), [0.5, 0.99, 0.9999]
    )
    places = np.concatenate(
        [np.linspace(first, last, _LAUNCH_POINTS // 2).round(), np.searchsorted(below, levels)]
    )
    places = np.unique(np.clip(places, first, last).astype(np.int64))
    steps, more = np.asarray(law.values)[places], np.maximum(1 - below[places], 0)
    steps, more = np.append(steps[0], steps), np.append(1.0, more)
    return {"steps": steps, "tail": [float(f"{share:.6g}") for share in more]}


def _work_tail(pmf: Pmf) -> dict[str, Any]:
    end = int(pmf.cut(_MIN_TAIL).high)
    places = np.unique(np.linspace(pmf.low - 1, end, _TAIL_POINTS).round().astype(np.int64))
    rarely = np.asarray([float(pmf.sf(int(k))) for k in places])
    return {"work": places, "tail": [float(f"{share:.9g}") for share in rarely]}


# --- All that the page of a Dataset is given: its values, as they are stored, along thinned axes


#: Values of an axis that a page holds, and of all quantities together.
_MAX_STORED_AXIS, _MAX_STORED_VALUES = 1000, 60_000


def dataset_page_data(
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
    cut = ds[held].isel(
        {name: _indices_between(ds, name, *ends) for name, ends in (part or {}).items()}
    )
    if any(size == 0 for size in cut.sizes.values()):
        raise DseError(
            f"nothing is left of {', '.join(str(d) for d, n in cut.sizes.items() if not n)}"
        )
    counts = {str(dim): min(size, _MAX_STORED_AXIS) for dim, size in cut.sizes.items()}
    halve_axes(
        counts, [list(map(str, array.dims)) for array in cut.data_vars.values()], _MAX_STORED_VALUES
    )
    kept = cut.isel(
        {dim: even_indices(cut.sizes[dim], count) for dim, count in counts.items()}
    ).load()
    rules = str(ds[FEASIBLE].attrs.get("conditions", "")) if FEASIBLE in ds else ""
    data = common_data(title, note) | {
        "model": str(ds.attrs.get("model", "")),
        "axes": [_dataset_axis(cut, kept, str(dim)) for dim in kept.sizes],
        "leaves": {name: _dataset_leaf(kept[name]) for name in held},
        "quantities": _dataset_quantities(ds, names),
        "definitions": _dataset_definitions(ds, names),
        "conditions": [{"text": rules or "feasible", "of": "model"}] if FEASIBLE in ds else [],
        "outputs": names,
        "program": {"inputs": held, "outputs": names, "choices": {}},
        "stored": {"axes": {str(d): n for d, n in ds.sizes.items()}, "served": part is not None},
    }
    copied = "".join(f"  y[{k}] = x[{k}];\n" for k in range(len(held)))
    return json_ready(data), {"compute": f"(x, c, y) => {{\n{copied}}}"}


def _indices_between(ds: xr.Dataset, name: str, low: float, high: float) -> np.ndarray[Any, Any]:
    """The places of an axis whose values lie between two."""
    if name not in ds.dims or (name in ds.coords and ds[name].dtype.kind not in "iuf"):
        raise DseError(f"{name} is no axis of numbers: there are {', '.join(map(str, ds.dims))}")
    values = ds[name].values if name in ds.coords else np.arange(ds.sizes[name])
    return np.flatnonzero((values >= low) & (values <= high))


def _dataset_axis(cut: xr.Dataset, sample: xr.Dataset, dim: str) -> dict[str, Any]:
    """One axis as the page has it, with how many values the part has that is shown."""
    told: dict[str, Any] = {"name": dim, "kind": "zip", "columns": [], "size": cut.sizes[dim]}
    values = sample[dim].values if dim in sample.coords else np.arange(sample.sizes[dim])
    if values.dtype.kind in "iuf":
        return told | {"values": values.astype(float)}
    return told | {"labels": [str(value) for value in values.tolist()]}


def _dataset_leaf(array: xr.DataArray) -> dict[str, Any]:
    told = {"axes": list(map(str, array.dims)), "values": array.values.astype(float)}
    return {"variants": [told]}


def _dataset_quantities(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
    """Unit, meaning and flags, as the Dataset tells them."""
    result = {}
    for name in [*names, *map(str, ds.sizes)]:
        attrs = ds[name].attrs if name in ds.variables else {}
        unit = str(attrs.get("units", ""))
        told: dict[str, Any] = {
            "unit": "" if unit == "1" else unit,
            "meaning": str(attrs.get("long_name", "")),
        }
        if name in names and (flags := read_flag_meanings(attrs)):
            told["flags"] = {str(value): word for value, word in flags.items()}
        result[name] = told
    return result


def _dataset_definitions(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
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


#: Configurations that the page itself looks through for the best.
_MAX_SEARCHED = sizes.PAGE_SEARCHED


def common_data(title: str, note: str) -> dict[str, Any]:
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
        "searched": _MAX_SEARCHED,
        # each as its factor and the exponents of the base units in it
        "units": {name: _unit(name) for name in sorted(UNITS)},
        "study": None,
    }


def page_data(
    study: StudyData, title: str, note: str = ""
) -> tuple[dict[str, Any], dict[str, str]]:
    """The data of a page, and the functions of JavaScript that it calls, by name."""
    best = None if study.best is None else read_best(study.best)
    grid = _page_grid(study, best)
    _check_conditions(grid)
    goals = () if best is None else best.goals
    graphs = add_goals(grid.graphs, goals, grid.model.quantities)
    made = compile_program(graphs, grid, [goal.text for goal in goals])
    kept = thin_axes(grid)
    figures, functions = figure_data(grid, kept)
    sources = {}  # of what an axis supplies, at each of its labels
    for name, said in study._parts.origins.items():
        texts = said.values() if isinstance(said, Mapping) else [said]
        sources[name] = " | ".join(dict.fromkeys(texts))
    data = common_data(title, note) | {
        "model": study.model,
        "machine": study.machine,
        "workload": study.workload,
        "axes": axis_data(grid, kept),
        "switches": list(grid.switch_axes),
        "leaves": leaf_data(grid, kept),
        "quantities": quantity_data(grid, graphs),
        "definitions": definition_data(graphs, sources),
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
        "best": None if best is None else _best_data(study, grid, kept, best),
        "study": _study_toml(study),
    }
    return json_ready(data), {"compute": made.source, **functions}


def _page_grid(study: StudyData, best: BestQuery | None) -> Grid:
    """The grid of the study, with what its best asks for and its figures draw."""
    needed = [] if best is None else study._needed_quantities(best.goals)
    where = () if best is None else best.where
    grid = study.grid(needed, where)
    for name in extra_quantities(grid.model):
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
        if result := statistics_of([condition.node]):
            raise DseError(
                f"a page cannot follow the constraint {condition.text!r}: {result[0]} is computed "
                "by Python for the values of the study alone; leave the constraint out, or show "
                "the values: dse run STUDY --store OUT.zarr, dse explore OUT.zarr"
            )


def _conditions(grid: Grid, study: StudyData, best: BestQuery | None) -> list[dict[str, Any]]:
    """The conditions in the order of the program, and whose each is."""
    own = {condition.text for condition in study.grid().conditions}
    return [
        {"text": c.text, "of": "model" if c.is_rule else "study" if c.text in own else "best"}
        for c in grid.conditions
    ]


def _families(grid: Grid, js_program: Program) -> list[dict[str, Any]]:
    """Of which terms a quantity is the smallest or the largest."""
    return [
        {"of": family.of, "terms": dict(family.terms), "largest": family.largest}
        for family in grid.model.regime_families
        if {family.of, *family.terms.values()} <= set(js_program.outputs)
    ]


def _guides(grid: Grid, js_program: Program) -> list[dict[str, Any]]:
    """What helps in each bound or case, as far as the page holds what it names."""
    held = set(js_program.outputs)
    result = []
    for guide in guides(grid.model):
        if not {guide.state, guide.goal, guide.limits} <= held:
            continue
        labels = [*grid.flag_meanings(guide.state).values()] or [
            label for f in grid.model.regime_families if f.of == guide.limits for label in f.terms
        ]
        helps = {label: [list(move) for move in guide.moves(label)] for label in labels}
        result.append(
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
    return result


def _best_data(
    study: StudyData, grid: Grid, indices: Mapping[str, Indices], best: BestQuery
) -> dict[str, Any]:
    """The question of the study; its answer where the page cannot look through its grid."""
    told: dict[str, Any] = {
        "goals": [{"name": goal.text, "maximize": goal.sign < 0} for goal in best.goals],
        "where": list(best.where),
        "per": list(best.per),
    }
    whole = all(len(indices[name]) == axis.size for name, axis in grid.axes.items())
    small = grid.points <= _MAX_SEARCHED and whole
    if not small:
        told["found"] = _search_best(study, indices, best)
    return told


def _search_best(
    study: StudyData, indices: Mapping[str, Indices], best: BestQuery
) -> dict[str, Any]:
    """The best configurations by exact search: each axis and goal, along the axes of ``per``."""
    import xarray as xr

    from dse.verbs.optimum import optimum

    result = optimum(study, **best.as_keywords() | {"top": 1})
    result = result.isel({name: indices[name] for name in best.per})
    if "rank" in result.sizes:
        result = result.isel(rank=0)
    each = xr.broadcast(*(result[name] for name in result.variables))
    return {
        str(array.name): array.transpose(*best.per).values.reshape(-1).tolist() for array in each
    }


def _study_toml(study: StudyData) -> dict[str, Any]:
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
    factor, kind = to_si_exact(1, name)
    power = 0
    while factor.denominator != 1:
        factor, power = factor * 10, power - 1
    while factor.numerator % 10 == 0:
        factor, power = factor / 10, power + 1
    return [factor.numerator, power, {base: int(exponent) for base, exponent in kind.exponents}]


# --- The axes and the values of a study, as the page holds them: long axes thinned, and told so
#: Values of an axis, and of all quantities over several axes, that a page holds at most.
_MAX_AXIS_VALUES, _MAX_TABLE_VALUES = 1000, 10_000


Indices = np.ndarray[Any, np.dtype[np.int64]]


def json_ready(value: Any) -> Any:
    """Numbers as JSON has them: what is not finite as text, what is whole without a point.

    >>> json_ready(np.array([1.0, 0.5, np.inf]))
    [1, 0.5, 'Infinity']
    """
    if isinstance(value, Mapping):
        return {name: json_ready(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        listed = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else value
        return [json_ready(one) for one in listed]
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        whole = value.is_integer() and abs(value) < 2**53 and math.copysign(1, value) > 0
        return int(value) if whole else value
    return value


def thin_axes(grid: Grid) -> dict[str, Indices]:
    """Return the places of the values that a page holds, of each axis of a grid."""
    counts = {name: min(axis.size, _MAX_AXIS_VALUES) for name, axis in grid.axes.items()}
    each = [(n, leaf.axes) for known in grid.leaves.values() for n, leaf in known.items()]
    tables = [axes for _, axes in dict.fromkeys(each) if len(axes) > 1 and set(axes) <= set(counts)]
    halve_axes(counts, tables, _MAX_TABLE_VALUES)
    return {name: even_indices(axis.size, counts[name]) for name, axis in grid.axes.items()}


def halve_axes(counts: dict[str, int], tables: Sequence[Sequence[str]], max_values: int) -> None:
    """Halve the longest axis until tables over some of them hold no more than so many values."""
    names = dict.fromkeys(name for axes in tables for name in axes)
    while sum(math.prod(counts[name] for name in axes) for axes in tables) > max_values:
        longest = max(names, key=counts.__getitem__)
        if counts[longest] == 1:
            break
        counts[longest] = (counts[longest] + 1) // 2


def even_indices(size: int, count: int) -> Indices:
    """So many of the places along an axis, evenly spread."""
    return np.linspace(0, size - 1, count).round().astype(np.int64)


def axis_data(grid: Grid, indices: Mapping[str, Indices]) -> list[dict[str, Any]]:
    """Each axis: its name, kind, values or labels, and how many there are in the study."""
    result = []
    for name, places in indices.items():
        axis = grid.axes[name]
        told: dict[str, Any] = {"name": name, "kind": axis.kind, "size": axis.size}
        if axis.labels:
            told["labels"] = [axis.labels[place] for place in places]
        else:
            told["values"] = json_ready(np.asarray(axis.coordinate, dtype=float)[places])
            told["columns"] = list(axis.columns)
        result.append(told)
    return result


def leaf_data(grid: Grid, indices: Mapping[str, Indices]) -> dict[str, Any]:
    """The values of each quantity that is given or computed before: over which axes, and which.

    ``which`` says, where switches choose among several, the one of each of their keys.
    """
    result: dict[str, dict[str, Any]] = {}
    for place, leaves in enumerate(grid.leaves.values()):
        for name, leaf in leaves.items():
            if leaf.array.dtype.kind == "O" or not set(leaf.axes) <= set(grid.axes):
                continue
            one = _leaf_values(leaf, indices)
            known = result.setdefault(name, {"which": [0] * len(grid.leaves), "variants": []})
            if one not in known["variants"]:
                known["variants"].append(one)
            known["which"][place] = known["variants"].index(one)
    for told in result.values():
        if len(told["variants"]) == 1:
            del told["which"]
    return result


def _leaf_values(leaf: Leaf, indices: Mapping[str, Indices]) -> dict[str, Any]:
    index = np.ix_(*(indices[name] for name in leaf.axes)) if leaf.axes else ()
    values = np.asarray(np.asarray(leaf.array, dtype=float)[index])
    told = {"axes": list(leaf.axes), "values": json_ready(values)}
    if leaf.switch_axes:
        told["switched"] = list(leaf.switch_axes)
    return told


# --- The equations of a study, compiled for its page, and what is told of each quantity
# --- A tree as the text of a formula, as a study's ``set`` would read it


#: How strongly an operator binds, and its sign; what is none stands as a call.
_OPERATORS = {
    "either": (1, "or"),
    "both": (2, "and"),
    "equal": (4, "=="),
    "less": (4, "<"),
    "less_equal": (4, "<="),
    "add": (5, "+"),
    "sub": (5, "-"),
    "mul": (6, "*"),
    "div": (6, "/"),
}
_ATOM = 9


def formula_text(root: Node) -> str:
    """The formula, with no more brackets than it takes.

    >>> from symbolic.ops import minimum, reference
    >>> a, b = reference("a"), reference("b")
    >>> formula_text(minimum(a - (b - 1), 2.0 * (a + b)) / -a)
    'minimum(a - (b - 1), 2 * (a + b)) / (-a)'
    """
    told: dict[int, tuple[str, int]] = {}
    for node in walk((root,)):
        told[id(node)] = _node_text(node, [told[id(a)] for a in node.args if isinstance(a, Node)])
    return told[id(root)][0]


def _node_text(node: Node, parts: list[tuple[str, int]]) -> tuple[str, int]:
    """The text of a step, and how strongly it binds."""
    if node.op == "reference":
        return str(node.args[0]), _ATOM
    if node.op == "constant":
        value = node.args[0]
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        text = (
            str(value).lower() if isinstance(value, bool) else f"{int(value) if whole else value}"
        )
        return text, 0 if text.startswith("-") else _ATOM
    if node.op == "mul" and node.args[0].op == "constant" and node.args[0].args[0] == -1:
        return f"-{_add_brackets(parts[1], 6)}", 0
    if node.op == "negate":
        return f"not {_add_brackets(parts[0], 3)}", 3
    if node.op not in _OPERATORS:
        return f"{node.op.replace('pow', 'power')}({', '.join(text for text, _ in parts)})", _ATOM
    binds, sign = _OPERATORS[node.op]
    right = binds + (node.op in ("sub", "div", "equal", "less", "less_equal"))
    left = binds + (binds == 4)
    return f"{_add_brackets(parts[0], left)} {sign} {_add_brackets(parts[1], right)}", binds


def _add_brackets(part: tuple[str, int], binds: int) -> str:
    text, own = part
    return text if own >= binds else f"({text})"


Graphs = Mapping[tuple[str, ...], Graph]


def add_goals(graphs: Graphs, goals: Iterable[Goal], quantities: Mapping[str, Any]) -> Graphs:
    """The graphs with each goal that is a formula as a quantity of its own, named by its text."""
    added = {g.text: g.formula(quantities) for g in goals if g.text not in quantities}
    held = {str(name) for graph in graphs.values() for name in graph.definitions}  # statistics
    added = {text: node for text, node in added.items() if text not in held}
    more = {
        text: Definition(name=text, kind="formula", node=node, needs=references(node))
        for text, node in added.items()
    }
    return {
        key: replace(graph, definitions={**graph.definitions, **more}, _flat_nodes={})
        for key, graph in graphs.items()
    }


def compile_program(graphs: Graphs, grid: Grid, goals: Iterable[str] = ()) -> Program:
    """All that the graphs hold as one function, and their conditions.

    Each graph stands twice: as it is, and with every formula that is no equation left open, so that
    a value may be given in its place.
    """

    def is_on_page(leaf: Leaf) -> bool:  # it has no labels, and no draws
        return leaf.array.dtype.kind != "O" and set(leaf.axes) <= set(grid.axes)

    doubled = {}
    for key, graph in graphs.items():
        doubled[*key, "computed"] = graph
        doubled[*key, "given"] = _formulas_as_inputs(graph, set(goals))
    names = dict.fromkeys(
        name
        for key, graph in graphs.items()
        for name in graph.definitions
        if all(is_on_page(grid.leaves[key][leaf]) for leaf in references(graph.flat(name)))
    )
    conditions = {c.text: None for graph in graphs.values() for c in graph.conditions}
    return program(doubled, list(names), list(conditions))


def _formulas_as_inputs(graph: Graph, exceptions: set[str]) -> Graph:
    """The graph with an input in place of each formula that is no equation."""
    definitions = {
        name: Definition(name=name, kind="given", node=reference(name), needs=())
        if definition.kind == "formula" and name not in exceptions
        else definition
        for name, definition in graph.definitions.items()
    }
    return replace(graph, definitions=definitions, _flat_nodes={})


def definition_data(graphs: Graphs, sources: Mapping[str, str]) -> dict[str, Any]:
    """How each quantity gets its value: kind, formula, what it needs, source; by key of switches.

    ``sources`` tells where values are from that no equation yields.
    """
    result: dict[str, dict[str, Any]] = {}
    for place, graph in enumerate(graphs.values()):
        for name, definition in graph.definitions.items():
            eq = definition.equation
            one = {"kind": definition.kind, "needs": list(definition.needs)}
            one["source"] = eq.source if eq is not None else sources.get(name, "")
            if not definition.is_leaf:
                one["text"] = formula_text(definition.node)
            if eq is not None and eq.when:
                one["when"] = eq.switch_text
            known = result.setdefault(name, {"which": [0] * len(graphs), "variants": []})
            if one not in known["variants"]:
                known["variants"].append(one)
            known["which"][place] = known["variants"].index(one)
    return result


def quantity_data(grid: Grid, graphs: Graphs) -> dict[str, Any]:
    """Unit, meaning, domain, usual range, flags and symbol of each quantity of the graphs."""
    symbols = {eq.name: eq.symbol for eq in grid.model.equations if eq.symbol}
    result = {}
    for name in dict.fromkeys(name for graph in graphs.values() for name in graph.definitions):
        row = grid.model.quantities.get(name)
        if row is None and indexed_quantity(name) == name and not hasattr(name, "row"):
            result[name] = {"meaning": "the goal of the study"}
            continue
        row = grid.model.quantity(name)
        domain = row.domain
        told: dict[str, Any] = {"unit": row.unit, "meaning": row.meaning}
        told["domain"] = [
            json_ready(domain.low),
            json_ready(domain.high),
            domain.low_open,
            domain.high_open,
        ]
        told["whole"] = domain.whole
        told["says"] = str(domain)
        if row.typical is not None:
            told["typical"] = [json_ready(float(end)) for end in row.typical]
        if flags := grid.flag_meanings(name):
            told["flags"] = {str(value): word for value, word in flags.items()}
        if row.is_label:
            told["labels"] = True
        if name in symbols:
            told["symbol"] = symbols[name]
        told["lever"] = row.lever
        result[name] = told
    return result
