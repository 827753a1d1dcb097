"""All that the page of a study is given: its axes, values, equations, figures and best."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dse.page.axes import Kept, axes_told, leaves_told, plain, thinned
from dse.page.drawings import extra_names, figures_told
from dse.page.equations import compiled, definitions_told, quantities_told, with_goals
from dse.provenance import version
from dse.study.best import Best, read_best
from dse.study.data import StudyData
from dse.toml_text import toml_key, toml_value
from stochastic import sizes
from sweeps.grid.grid import Grid
from symbolic.advice import guides
from symbolic.errors import DseError
from symbolic.javascript import Program
from symbolic.statistic import statistics_of
from symbolic.units import UNITS, exact

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
        "units": _units(),
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
        "program": _program(made, len(grid.conditions)),
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


def _program(made: Program, conditions: int) -> dict[str, Any]:
    return {
        "inputs": list(made.inputs),
        "outputs": list(made.outputs[: len(made.outputs) - conditions]),
        "choices": made.choices,
    }


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


def _best(study: StudyData, grid: Grid, kept: Mapping[str, Kept], best: Best) -> dict[str, Any]:
    """The question of the study; its answer where the page cannot look through its grid."""
    told: dict[str, Any] = {
        "goals": [{"name": goal.text, "maximize": goal.sign < 0} for goal in best.goals],
        "where": list(best.where),
        "per": list(best.per),
    }
    small = grid.points <= _SEARCHED and all(one.is_whole for one in kept.values())
    if not small:
        told["found"] = _answer(study, kept, best)
    return told


def _answer(study: StudyData, kept: Mapping[str, Kept], best: Best) -> dict[str, Any]:
    """The best configurations by exact search: each axis and goal, along the axes of ``per``."""
    import xarray as xr

    from dse.verbs.chosen import optimum

    found = optimum(study, **best.as_asked() | {"top": 1})
    found = found.isel({name: kept[name].places for name in best.per})
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


def _units() -> dict[str, Any]:
    """Each unit as its factor and the exponents of the base units in it."""
    return {name: _unit(name) for name in sorted(UNITS)}


def _unit(name: str) -> list[Any]:
    factor, kind = exact(1, name)
    power = 0
    while factor.denominator != 1:
        factor, power = factor * 10, power - 1
    while factor.numerator % 10 == 0:
        factor, power = factor / 10, power + 1
    return [factor.numerator, power, {base: int(exponent) for base, exponent in kind.exponents}]
