"""Collect the data of a page: axes, values, equations, figures and the best configuration."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from dse.inputs.provenance import version
from dse.plots.kinds import KINDS
from dse.plots.style import meaning_of, style_of
from dse.study.study import BestQuery, StudyData, read_best
from dse.toml_text import toml_key, toml_value
from stochastic import sizes
from stochastic.checks import LawError
from sweeps.bounds.statistics_as_formulas import expand_statistics
from sweeps.grid.dataset import read_flag_meanings
from sweeps.grid.goals import Goal
from sweeps.grid.grid import FEASIBLE, Grid, Leaf
from symbolic.advice import LAUNCH, guides, move_directions
from symbolic.answer import BINARY_PREFIXES, PREFIXED_UNITS, PREFIXES
from symbolic.errors import DseError
from symbolic.expression import parse_condition
from symbolic.graph import Definition, Graph
from symbolic.javascript import Program, program
from symbolic.json_text import read_json
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import NEARLY_ALL, Node, constant, reference, references, walk
from symbolic.quantities import indexed_quantity, text_unit
from symbolic.statistics import StatisticName, statistics_of
from symbolic.units import UNITS, to_si_exact

if TYPE_CHECKING:
    import xarray as xr

    from stochastic import Pmf

Indices = np.ndarray[Any, np.dtype[np.int64]]
#: For each axis, the indices of the values that the page contains.
AxisIndices: TypeAlias = Mapping[str, Indices]
#: The data of a page or figure, and a mapping from names to the JavaScript functions that it calls.
PageParts: TypeAlias = tuple[dict[str, Any], dict[str, str]]
_TRANSIT_QUANTITIES = (
    *("threads", "intensity", "lanes_width", "ms_peak", "mem_latency", "arithmetic_latency"),
    *("ms_throughput", "cs_throughput", "bound", "cs_transition", "ms_transition"),
    *("threads_in_ms", "threads_in_ms_low", "threads_in_ms_high"),
)
_TILE_QUANTITIES = (
    *("gemm_tile_rows", "gemm_tile_columns", "gemm_splits", "gemm_waves", "gemm_last_wave_share"),
    "gemm_bound",
)
#: Quantities of the figures of a model that yields the quantity.
_FIGURE_QUANTITIES = {
    "ms_throughput": _TRANSIT_QUANTITIES,
    "launch_steps": ("launch_time_mean", "waves_time", "step_time"),
    "gemm_tile": _TILE_QUANTITIES,
}
#: Memory levels and ceilings in the roofline of a page: the same as in ``dse plot roofline``.
_ROOFLINE = KINDS["roofline"].row
_LEVELS = [each[key] for each in _ROOFLINE["levels"] for key in ("intensity", "bandwidth")]
#: Maximum numbers of laws of work and of laws of launches on a page.
_MAX_LAWS, _MAX_LAUNCHES = 24, 96
#: Number of points in all tails of a page.
_TAIL_POINTS = 6000
#: Smallest probability in the tail of a law of work, and in that of a law of launches.
_MIN_TAIL, _MIN_LAUNCH_TAIL = 1e-9, 1e-6
_TRACE_OUTPUTS = ("ms_throughput", "threads_in_ms", "threads_in_cs")
#: Maximum number of values of one axis on the page of a Dataset.
_MAX_STORED_AXIS = 1000
#: Maximum number of values, of all quantities together, on the page of a Dataset.
_MAX_STORED_VALUES = 60_000
_MAX_SEARCHED = sizes.PAGE_SEARCHED
#: Maximum number of values of one axis on the page of a study.
_MAX_AXIS_VALUES = 1000
#: Maximum total number of values in the tables of a page that have several axes.
_MAX_TABLE_VALUES = 10_000


def extra_quantities(model: Model) -> list[str]:
    """Return the quantities that the figures of a model and its advice need."""
    yields = set(model.yields)
    result = [name for guide in guides(model) for name in (guide.state, guide.goal, guide.limits)]
    for name, needed in _FIGURE_QUANTITIES.items():
        result += [each for each in needed if name in yields and each in yields]
    if "attainable_flops" in yields:
        result += ["attained_flops", "attainable_flops", *_LEVELS, *_ROOFLINE["ceilings"]]
    return list(dict.fromkeys(result))


def figure_data(grid: Grid, indices: AxisIndices) -> PageParts:
    """Return the data of the model-specific figures, and the JavaScript functions they call."""
    names = dict.fromkeys(name for graph in grid.graphs.values() for name in graph.definitions)
    data: dict[str, Any] = {"looks": {n: _line_style(n) for n in names if meaning_of(n)}}
    functions: dict[str, str] = {}
    if names.keys() >= set(_TRANSIT_QUANTITIES):
        data["transit"], functions["traced"] = _transit_data(grid)
    if names.keys() >= {"attainable_flops", *_LEVELS}:
        data["roofline"] = {
            "levels": [{**each, **_line_style(each["look"])} for each in _ROOFLINE["levels"]],
            "ceilings": [
                {"quantity": name, "name": text}
                for name, text in _ROOFLINE["ceilings"].items()
                if name in names
            ],
        }
    if names.keys() >= set(_TILE_QUANTITIES):
        data["tiles"] = True
    if names.keys() >= {"launch_steps", "step_time"}:
        data |= _launch_tails(grid, indices)
    elif names.keys() >= {"distribution", "lanes"}:
        data |= _work_tails(grid, indices)
    return data, functions


def _line_style(name: str) -> dict[str, Any]:
    look = style_of(name)
    dash = "" if look.line == "-" else " ".join(f"{length:g}" for length in look.line[1])
    return {"color": look.color, "dash": dash}


def _transit_data(grid: Grid) -> tuple[dict[str, Any], str]:
    labels = grid.model.quantity("supply").labels or ()
    graphs: dict[tuple[str, ...], Graph]
    graphs = {(label,): load_model("transit").graph(supply=label) for label in labels}
    compiled = program(graphs, _TRACE_OUTPUTS)
    data = {
        "inputs": list(compiled.inputs),
        "choices": compiled.choices,
        "supply": [labels.index(graph.switches["supply"]) for graph in grid.graphs.values()],
    }
    return data, compiled.source


def _work_tails(grid: Grid, indices: AxisIndices) -> dict[str, Any]:
    """Return the tails of the laws of work; return an empty dict if there are too many laws."""
    leaf = next(iter(grid.leaves.values()))["distribution"]
    laws = _part_of(leaf, indices).reshape(-1).tolist()
    if len(laws) > _MAX_LAWS or leaf.switch_axes or leaf.failures:
        return {}
    try:
        tails = [_work_tail(law.pmf, _TAIL_POINTS // len(laws)) for law in laws]
        return {"tails": {"axes": list(leaf.axes), "laws": tails}}
    except LawError:
        return {}


def _part_of(leaf: Leaf, indices: AxisIndices) -> np.ndarray[Any, Any]:
    index = np.ix_(*(indices[name] for name in leaf.axes)) if leaf.axes else ()
    return np.asarray(leaf.array[index], dtype=leaf.array.dtype)


def _launch_tails(grid: Grid, indices: AxisIndices) -> dict[str, Any]:
    leaves = [known["launch_steps"] for known in grid.leaves.values()]
    axes = leaves[0].axes
    if any(leaf.axes != axes or leaf.failures for leaf in leaves):
        return {}
    laws = [_part_of(leaf, indices).reshape(-1).tolist() for leaf in leaves]
    if sum(map(len, laws)) > _MAX_LAUNCHES:
        return {}
    most = _TAIL_POINTS // sum(map(len, laws))
    keys = [[_launch_tail(law, most) for law in each] for each in laws]
    return {"launches": {"axes": list(axes), "keys": keys}}


def _launch_tail(law: Any, most: int) -> dict[str, Any]:
    """Return points of the tail of a law of steps: P(more than n steps) for ``most`` numbers n."""
    below = np.asarray(law.cdf_values, dtype=float)
    first, last = np.searchsorted(below, [_MIN_LAUNCH_TAIL, 1 - _MIN_LAUNCH_TAIL])
    last = min(int(last), below.size - 1)
    half = most // 2
    levels = np.append(1 - np.geomspace(_MIN_LAUNCH_TAIL, 1, half), [0.5, 0.99, 0.9999])
    even = np.linspace(first, last, half).round()
    places = np.concatenate([even, np.searchsorted(below, levels)])
    places = np.unique(np.clip(places, first, last).astype(np.int64))
    steps, more = np.asarray(law.values)[places], np.maximum(1 - below[places], 0)
    steps, more = np.append(steps[0], steps), np.append(1.0, more)
    return {"steps": steps, "tail": [float(f"{share:.6g}") for share in more]}


def _work_tail(pmf: Pmf, most: int) -> dict[str, Any]:
    """Return the tail P(work > k): at every k, or at ``most`` evenly spaced k and probabilities."""
    first, last = pmf.low - 1, int(pmf.cut(_MIN_TAIL).high)
    if last - first < most:
        places = np.arange(first, last + 1)
    else:
        levels = pmf.quantile(1 - np.geomspace(_MIN_TAIL, 1, most // 2))
        places = np.unique([*np.linspace(first, last, most // 2).astype(np.int64), *levels])
    return {"work": places, "tail": [float(f"{share:.12g}") for share in pmf.sf(places).tolist()]}


def dataset_page_data(
    ds: xr.Dataset,
    title: str,
    note: str = "",
    part: Mapping[str, tuple[float, float]] | None = None,
) -> PageParts:
    """Return the data and JavaScript of a Dataset's page; ``part`` maps axes to ranges to show."""
    names = [str(name) for name, array in ds.data_vars.items() if array.dtype.kind in "biuf"]
    names = [name for name in names if name != FEASIBLE]
    if not names:
        raise DseError("the Dataset has no numbers to explore")
    inputs = [*names, *([FEASIBLE] if FEASIBLE in ds else [])]
    ends = part or {}
    cut = ds[inputs].isel({name: _indices_between(ds, name, *ends[name]) for name in ends})
    if empty := [str(dim) for dim, size in cut.sizes.items() if not size]:
        raise DseError(f"no values of {', '.join(empty)} are in this range")
    counts = {str(dim): min(size, _MAX_STORED_AXIS) for dim, size in cut.sizes.items()}
    dims = [list(map(str, array.dims)) for array in cut.data_vars.values()]
    halve_axes(counts, dims, _MAX_STORED_VALUES)
    sample = cut.isel({dim: even_indices(cut.sizes[dim], n) for dim, n in counts.items()}).load()
    leaves = {
        name: {
            "axes": list(map(str, sample[name].dims)),
            "values": sample[name].values.astype(float),
        }
        for name in inputs
    }
    rules = str(ds[FEASIBLE].attrs.get("conditions", "")) if FEASIBLE in ds else ""
    data = common_data(title, note) | {
        "model": str(ds.attrs.get("model", "")),
        "axes": [_dataset_axis(cut, sample, str(dim)) for dim in sample.sizes],
        "leaves": {name: {"variants": [leaf]} for name, leaf in leaves.items()},
        "quantities": _dataset_quantities(ds, names),
        "definitions": _dataset_definitions(ds, names),
        "conditions": [{"text": rules or "feasible", "of": "model"}] if FEASIBLE in ds else [],
        "outputs": names,
        "program": {"inputs": inputs, "outputs": names, "choices": {}},
        "stored": {"axes": {str(d): n for d, n in ds.sizes.items()}, "served": part is not None},
    }
    copied = "".join(f"  y[{k}] = x[{k}];\n" for k in range(len(inputs)))
    return json_ready(data), {"compute": f"(x, c, y) => {{\n{copied}}}"}


def _indices_between(ds: xr.Dataset, name: str, low: float, high: float) -> np.ndarray[Any, Any]:
    if name not in ds.dims or (name in ds.coords and ds[name].dtype.kind not in "iuf"):
        raise DseError(f"{name} is no axis of numbers: axes are {', '.join(map(str, ds.dims))}")
    values = ds[name].values if name in ds.coords else np.arange(ds.sizes[name])
    return np.flatnonzero((values >= low) & (values <= high))


def _dataset_axis(cut: xr.Dataset, sample: xr.Dataset, dim: str) -> dict[str, Any]:
    axis: dict[str, Any] = {"name": dim, "kind": "zip", "columns": [], "size": cut.sizes[dim]}
    values = sample[dim].values if dim in sample.coords else np.arange(sample.sizes[dim])
    if values.dtype.kind in "iuf":
        return axis | {"values": values.astype(float)}
    return axis | {"labels": [str(value) for value in values.tolist()]}


def _dataset_quantities(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
    result = {}
    for name in [*names, *map(str, ds.sizes)]:
        attrs = ds[name].attrs if name in ds.variables else {}
        unit = text_unit(name, str(attrs.get("units", "")))
        row: dict[str, Any] = {"unit": unit if unit != "1" else ""}
        row["meaning"] = str(attrs.get("long_name", ""))
        if name in names and (flags := read_flag_meanings(attrs)):
            row["flags"] = {str(value): word for value, word in flags.items()}
        result[name] = row
    return result


def _dataset_definitions(ds: xr.Dataset, names: list[str]) -> dict[str, Any]:
    sources: dict[str, str] = {}
    try:
        equations = read_json(ds.attrs.get("equations", "[]"))
    except ValueError:  # other programs may use this attribute
        equations = []
    for row in equations if isinstance(equations, list) else ():  # a dict for several models
        if isinstance(row, dict) and {"name", "source"} <= row.keys():
            sources.setdefault(str(row["name"]), str(row["source"]))
    stored = {"kind": "stored", "needs": []}
    rows = {name: {**stored, "source": sources.get(name) or "as stored"} for name in names}
    return {name: {"which": [0], "variants": [row]} for name, row in rows.items()}


def common_data(title: str, note: str) -> dict[str, Any]:
    """Return the data that every page needs, with empty entries for data that only studies have."""
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
        # each unit as a factor, a power of ten, and the exponents of base units
        "units": {name: _unit(name) for name in sorted(UNITS)},
        "prefixes": {"units": PREFIXED_UNITS, "decimal": PREFIXES, "binary": BINARY_PREFIXES},
        "study": None,
    }


def page_data(study: StudyData, title: str, note: str = "") -> PageParts:
    """Return the data of the page of a study, and the JavaScript functions that it calls."""
    best = None if study.best is None else read_best(study.best)
    grid = _page_grid(study, best)
    grid = expand_statistics(grid, inputs_move=True)
    _check_conditions(grid)
    goals = () if best is None else best.goals
    graphs = add_goals(grid.graphs, goals, grid.model.quantities)
    compiled = compile_program(graphs, grid, [goal.text for goal in goals])
    indices = thin_axes(grid)
    figures, functions = figure_data(grid, indices)
    sources = {}
    for name, origin in study._parts.origins.items():
        texts = origin.values() if isinstance(origin, Mapping) else [origin]
        sources[name] = " | ".join(dict.fromkeys(texts))
    data = common_data(title, note) | {
        "model": study.model,
        "machine": study.machine,
        "workload": study.workload,
        "axes": axis_data(grid, indices),
        "switches": list(grid.switch_axes),
        "leaves": leaf_data(grid, indices),
        "quantities": quantity_data(grid, graphs),
        "definitions": definition_data(graphs, sources),
        "conditions": _conditions(grid, study, best),
        "outputs": [name for name in study.grid().outputs if name in compiled.outputs],
        "program": {
            "inputs": list(compiled.inputs),
            "outputs": list(compiled.outputs[: len(compiled.outputs) - len(grid.conditions)]),
            "choices": compiled.choices,
        },
        "families": [
            {"of": family.of, "terms": dict(family.terms), "largest": family.largest}
            for family in grid.model.regime_families
            if {family.of, *family.terms.values()} <= set(compiled.outputs)
        ],
        "guides": _guides(grid, compiled, study._parts.counted_for),
        "figures": figures,
        "best": None if best is None else _best_data(study, grid, indices, best),
        "study": _study_toml(study),
    }
    return json_ready(data), {"compute": compiled.source, **functions}


def _page_grid(study: StudyData, best: BestQuery | None) -> Grid:
    needed = [] if best is None else study._needed_quantities(best.goals)
    where = () if best is None else best.where
    grid = study.grid(needed, where)
    for name in extra_quantities(grid.model):
        if name in grid.graph.definitions:
            continue
        try:
            grid = study.grid([*needed, name], where)
        except DseError:
            continue
        needed = [*needed, name]
    return grid


def _check_conditions(grid: Grid) -> None:
    flat = ((c, g.flat_condition(c)) for g in grid.graphs.values() for c in g.conditions)
    for condition, node in flat:
        if result := statistics_of([node]):
            raise DseError(
                f"a page cannot evaluate the constraint {condition.text!r}: {result[0]} is "
                "computed in Python for the values of the study; leave the constraint out, or "
                "explore a run: dse run STUDY --store OUT.zarr, dse explore OUT.zarr"
            )


def _conditions(grid: Grid, study: StudyData, best: BestQuery | None) -> list[dict[str, Any]]:
    own = {condition.text for condition in study.grid().conditions}
    return [
        {"text": c.text, "of": "model" if c.is_rule else "study" if c.text in own else "best"}
        for c in grid.conditions
    ]


def _guides(grid: Grid, js_program: Program, counted_for: Iterable[str]) -> list[dict[str, Any]]:
    """Return the guides whose quantities are on the page, as data for JSON."""
    outputs = set(js_program.outputs)
    result = []
    for guide in guides(grid.model):
        if not {guide.state, guide.goal, guide.limits} <= outputs:
            continue
        labels = [*grid.flag_meanings(guide.state).values()] or [
            label for f in grid.model.regime_families if f.of == guide.limits for label in f.terms
        ]
        conditions = [parse_condition(text, grid.model.quantities) for text in guide.conditions]
        directions = move_directions(next(iter(grid.graphs.values())), guide.goal)
        helps = {label: [list(move) for move in guide.moves(label)] for label in labels or [""]}
        result.append(
            {
                "state": guide.state,
                "goal": guide.goal,
                "maximize": guide.maximize,
                "limits": guide.limits,
                "helps": helps,
                "fixed": sorted({*guide.fixed, *counted_for}),
                "directions": {n: way for n, way in directions.items() if way != "both"},
                "same_work": guide.same_work and outputs >= set(LAUNCH),
                "conditions": [
                    formula_tree(node)
                    for node in conditions
                    if outputs >= set(references(node)) and _is_of_sums(node)
                ],
            }
        )
    return result


def _is_of_sums(node: Node) -> bool:
    ops = {each.op for side in node.args for each in walk([side])}
    return node.op == "less_equal" and ops <= {"add", "mul", "reference"}


def _best_data(study: StudyData, grid: Grid, index: AxisIndices, best: BestQuery) -> dict[str, Any]:
    query: dict[str, Any] = {
        "goals": [{"name": goal.text, "maximize": goal.sign < 0} for goal in best.goals],
        "per": list(best.per),
    }
    whole = all(len(index[name]) == axis.size for name, axis in grid.axes.items())
    if grid.points > _MAX_SEARCHED or not whole:
        query["found"] = _search_best(study, index, best)
    return query


def _search_best(study: StudyData, indices: AxisIndices, best: BestQuery) -> dict[str, Any]:
    import xarray as xr

    from dse.verbs.optimum import optimum

    result = optimum(study, **best.as_keywords() | {"top": 1})
    result = result.isel({name: indices[name] for name in best.per})
    if "rank" in result.sizes:
        result = result.isel(rank=0)
    arrays = xr.broadcast(*(result[name] for name in result.variables))
    return {str(a.name): a.transpose(*best.per).values.reshape(-1).tolist() for a in arrays}


def _study_toml(study: StudyData) -> dict[str, Any]:
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


def json_ready(value: Any) -> Any:
    """Convert numbers for JSON: infinities and NaN to texts, integral floats to integers.

    >>> json_ready(np.array([1.0, 0.5, np.inf]))
    [1, 0.5, 'Infinity']
    """
    if isinstance(value, Mapping):
        return {name: json_ready(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        listed = value.reshape(-1).tolist() if isinstance(value, np.ndarray) else value
        return [json_ready(item) for item in listed]
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        whole = value.is_integer() and abs(value) < 2**53 and math.copysign(1, value) > 0
        return int(value) if whole else value
    return value


def thin_axes(grid: Grid) -> AxisIndices:
    """Return the indices of the axis values on the page, evenly spaced where there are many."""
    counts = {name: min(axis.size, _MAX_AXIS_VALUES) for name, axis in grid.axes.items()}
    each = [(n, leaf.axes) for known in grid.leaves.values() for n, leaf in known.items()]
    tables = [axes for _, axes in dict.fromkeys(each) if len(axes) > 1 and set(axes) <= set(counts)]
    halve_axes(counts, tables, _MAX_TABLE_VALUES)
    return {name: even_indices(axis.size, counts[name]) for name, axis in grid.axes.items()}


def halve_axes(counts: dict[str, int], tables: Sequence[Sequence[str]], max_values: int) -> None:
    """Halve the largest of ``counts`` until the tables have at most ``max_values`` values."""
    names = dict.fromkeys(name for axes in tables for name in axes)
    while sum(math.prod(counts[name] for name in axes) for axes in tables) > max_values:
        longest = max(names, key=counts.__getitem__)
        if counts[longest] == 1:
            break
        counts[longest] = (counts[longest] + 1) // 2


def even_indices(size: int, count: int) -> Indices:
    """Return ``count`` evenly spaced indices of an axis, which include its first and last index."""
    return np.linspace(0, size - 1, count).round().astype(np.int64)


def axis_data(grid: Grid, indices: AxisIndices) -> list[dict[str, Any]]:
    """Return the data of each axis: name, kind, values or labels, and the size in the study."""
    result = []
    for name, places in indices.items():
        axis = grid.axes[name]
        row: dict[str, Any] = {"name": name, "kind": axis.kind, "size": axis.size}
        if axis.labels:
            row["labels"] = [axis.labels[place] for place in places]
        else:
            row["values"] = json_ready(np.asarray(axis.coordinate, dtype=float)[places])
            row["columns"] = list(axis.columns)
        result.append(row)
    return result


def leaf_data(grid: Grid, indices: AxisIndices) -> dict[str, Any]:
    """Return the values of each input over its axes.

    If the values depend on switches, ``which`` has, for each combination of switches, the index of
    the variant to use.
    """
    result: dict[str, dict[str, Any]] = {}
    for place, leaves in enumerate(grid.leaves.values()):
        for name, leaf in leaves.items():
            if _is_on_page(leaf, grid):
                values = json_ready(_part_of(leaf, indices).astype(float))
                row = {"axes": list(leaf.axes), "values": values}
                _add_variant(result, name, row, place, len(grid.leaves))
    for entry in result.values():
        if len(entry["variants"]) == 1:
            del entry["which"]
    return result


def _is_on_page(leaf: Leaf, grid: Grid) -> bool:
    """True if the page can contain a leaf: its values are numbers and equal in all draws."""
    return leaf.array.dtype.kind != "O" and set(leaf.axes) <= set(grid.axes)


def _add_variant(result: dict[str, Any], name: str, row: Any, place: int, count: int) -> None:
    """Add a variant of a quantity for the combination of switches with the index ``place``."""
    entry = result.setdefault(name, {"which": [0] * count, "variants": []})
    if row not in entry["variants"]:
        entry["variants"].append(row)
    entry["which"][place] = entry["variants"].index(row)


#: Formulas with more names, numbers and operations than this are left out: nobody reads them.
_MAX_FORMULA = 120
#: Models compare ``x <= y + y / _TIE``: a smaller difference is due to rounding.
_TIE = 10**12


def formula_tree(root: Node) -> Any:
    """Return a formula as nested lists [operation, *terms] for JSON; None if it is too long.

    >>> from symbolic.ops import divide, minimum, reference
    >>> a, b = reference("a"), reference("b")
    >>> formula_tree(minimum(2.0 * a, divide(a, b, at_zero=0)))
    ['minimum', ['mul', 2, 'a'], ['divide', 'a', 'b', 0]]
    """
    trees: dict[int, tuple[Any, int]] = {}
    for node in walk((root,)):
        parts = [trees[id(each)] for each in node.args if isinstance(each, Node)]
        size = 1 + sum(count for _, count in parts)
        if size > _MAX_FORMULA:
            return None
        trees[id(node)] = _tree_of(node, [tree for tree, _ in parts]), size
    return trees[id(root)][0]


def _tree_of(node: Node, terms: list[Any]) -> Any:
    if node.op == "reference":
        return node.args[0]
    if node.op == "constant":
        return json_ready(node.args[0])
    if node.op == "mul" and node.args[1] is constant(NEARLY_ALL):  # it guards against rounding
        return terms[0]
    if node.op == "add" and terms[1] == ["div", terms[0], _TIE]:  # it accepts rounded equality
        return terms[0]
    if node.op in ("minimum", "maximum"):
        each = (t[1:] if isinstance(t, list) and t[0] == node.op else [t] for t in terms)
        return [node.op, *(term for one in each for term in one)]
    return [node.op, *terms]


Graphs = Mapping[tuple[str, ...], Graph]


def add_goals(graphs: Graphs, goals: Iterable[Goal], quantities: Mapping[str, Any]) -> Graphs:
    """Add each objective that is a formula to the graphs, as a quantity named after the formula."""
    statistics = {str(name) for graph in graphs.values() for name in graph.definitions}
    nodes = {g.text: g.formula(quantities) for g in goals if g.text not in quantities}
    more = {
        text: Definition(name=text, kind="formula", node=node, needs=references(node))
        for text, node in nodes.items()
        if text not in statistics
    }
    return {
        key: replace(graph, definitions={**graph.definitions, **more}, _flat_nodes={})
        for key, graph in graphs.items()
    }


def compile_program(graphs: Graphs, grid: Grid, goals: Iterable[str] = ()) -> Program:
    """Compile graphs and conditions to JavaScript twice: formulas are computed, or are inputs."""
    doubled = {}
    for key, graph in graphs.items():
        doubled[*key, "computed"] = graph
        doubled[*key, "given"] = _formulas_as_inputs(graph, set(goals))
    names = dict.fromkeys(
        name
        for key, graph in graphs.items()
        for name in graph.definitions
        if all(_is_on_page(grid.leaves[key][leaf], grid) for leaf in references(graph.flat(name)))
    )
    conditions = {c.text: None for graph in graphs.values() for c in graph.conditions}
    return program(doubled, list(names), list(conditions))


def _formulas_as_inputs(graph: Graph, exceptions: set[str]) -> Graph:
    definitions = {
        name: Definition(name=name, kind="given", node=reference(name), needs=())
        if definition.kind == "formula" and name not in exceptions
        else definition
        for name, definition in graph.definitions.items()
    }
    return replace(graph, definitions=definitions, _flat_nodes={})


def definition_data(graphs: Graphs, sources: Mapping[str, str]) -> dict[str, Any]:
    """Return the kind, formula, inputs and source of each quantity, by combination of switches."""
    result: dict[str, dict[str, Any]] = {}
    for place, graph in enumerate(graphs.values()):
        for name, definition in graph.definitions.items():
            eq = definition.equation
            row = {"kind": definition.kind, "needs": list(definition.needs)}
            row["source"] = eq.source if eq is not None else sources.get(name, "")
            if not definition.is_leaf:
                row["formula"] = formula_tree(definition.node)
            if eq is not None and eq.when:
                row["when"] = eq.switch_text
            _add_variant(result, name, row, place, len(graphs))
    return result


def quantity_data(grid: Grid, graphs: Graphs) -> dict[str, Any]:
    """Return the unit, meaning, domain, typical range and flags of each quantity."""
    result = {}
    for name in dict.fromkeys(name for graph in graphs.values() for name in graph.definitions):
        row = grid.model.quantities.get(name)
        is_formula = indexed_quantity(name) == name and not isinstance(name, StatisticName)
        if row is None and is_formula:
            result[name] = {"meaning": "the goal of the study"}
            continue
        row = grid.model.quantity(name)
        domain = row.domain
        unit = row.text_unit or row.unit
        entry: dict[str, Any] = {"unit": unit, "meaning": row.meaning}
        ends = [json_ready(domain.low), json_ready(domain.high)]
        entry["domain"] = [*ends, domain.low_open, domain.high_open]
        entry |= {"whole": domain.whole, "says": str(domain)}
        if row.typical is not None:
            entry["typical"] = [json_ready(float(end)) for end in row.typical]
        if flags := grid.flag_meanings(name):
            entry["flags"] = {str(value): word for value, word in flags.items()}
        result[name] = entry
    return result
