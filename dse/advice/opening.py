"""Reading the configuration that is advised on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from dse.advice.follow import follow
from dse.advice.site import Site, extreme
from dse.advice.words import Advice
from dse.given import places_of
from dse.inputs import declared, read_parts
from dse.study.data import StudyData
from sweeps.bounds.check import check
from sweeps.grid.build import build_grid
from sweeps.grid.grid import Grid, Leaf
from symbolic.advice import extreme_terms, guides
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.expression import parse_condition
from symbolic.library import load_model
from symbolic.model import Guide, Model
from symbolic.quantity import LEVERS
from symbolic.statistic import DRAW, statistics_of

# --- The advice on one configuration


def advice(
    what: str | Model | StudyData,
    entries: Mapping[str, str | None],
    prefer: str | None,
    point: Mapping[str, Any],
    goal: str | None = None,
    levers: str = "all",
) -> Advice:
    """See :func:`dse.advise`; ``entries`` are its machine and workload."""
    if levers not in (*LEVERS, "all"):
        raise DseError(f"levers = {levers!r}: expected one of {', '.join(LEVERS)}, all")
    wanted: Sequence[str] = ()
    where, folder = wanted, None
    given = dict(point)
    if isinstance(what, StudyData):
        if prefer is not None:
            raise DseError("prefer is part of a study: give it to dse.Study")
        named = {kind: name for kind, name in entries.items() if name is not None}
        entries, given = _of_study(what, {**point, **named})
        model, folder = what.grid().model, what.folder
        where = [text for text in what.where if _of_one(text, what, model)]
        wanted = what.outputs or ()
    else:
        model = declared(load_model(what, prefer=prefer), entries.get("workload"))
    guide = _guide(model, wanted, goal)
    parts = read_parts(model, (), entries=entries, given=given, folder=folder)

    def build(values: Mapping[str, Any], outputs: Sequence[str]) -> Grid:
        return build_grid(
            model,
            values=values,
            labels=parts.named,
            switches=parts.switches,
            outputs=outputs,
            constraints=where,
            refused=parts.refused,
        )

    outputs = list(dict.fromkeys([guide.goal, guide.state, guide.limits, *guide.show]))
    told = [name for name in guide.remedies.values() if not model.quantity(name).is_label]
    for name in (*guide.suggests, *guide.remedies, *told):
        with suppress(DseError):  # what only a suggestion needs may be missing
            build(parts.values, [name])
            outputs.append(name)
    grid = build(parts.values, outputs)
    check(grid)
    pins = {}  # inputs that stand at the value of others, unless the user has it so
    labels = [""] if isinstance(guide.helps, str) else list(guide.helps)
    moved = (name for label in labels for names in guide.moves(label) for name in names)
    for name in dict.fromkeys([*moved, *guide.suggests.values()]):
        definition = grid.graph.definitions.get(name)
        if definition is not None and definition.kind == "formula" and name not in given:
            pins[name] = float(grid.at({}, [name])[name])

    def again(held: Mapping[str, float]) -> Grid:
        return build({**parts.values, **held}, outputs)

    site = _site(grid, guide, levers, pins, again)
    found = [move for names in site.candidates() for move in follow(site, names)]
    unique = {(move.quantity, move.together, move.direction): move for move in found}
    return Advice(
        state=site.guide.state,
        bound=site.label(site.flag),
        goal=site.guide.goal,
        limiter=extreme(site.term_values(), site.largest),
        terms=site.term_values(),
        values=site.shown(),
        units={name: site.row(name).unit for name in site.shown()},
        moves=tuple(sorted(unique.values(), key=lambda move: (not move.helps, -move.gain))),
        suggestions=tuple(site.suggestions()),
        notes=site.notes(),
    )


def _site(
    grid: Grid,
    guide: Guide,
    levers: str,
    pins: Mapping[str, float],
    again: Callable[[Mapping[str, float]], Grid],
) -> Site:
    definition, stated = grid.graph.definitions[guide.state], guide.state != guide.limits
    flags = grid.flags(guide.state)
    if definition.equation is None or (stated and not flags):
        raise DseError(f"{guide.state} is given: leave it to its equation to be advised")
    known = {
        quantity: label
        for family in grid.model.regime_families
        if family.of == guide.limits
        for label, quantity in family.terms.items()
    }
    largest = grid.graph.definitions[guide.limits].node.op == "maximum"
    names = extreme_terms(grid.graph, guide.limits, "maximum" if largest else "minimum")
    terms = {name: known.get(name, name) for name in names}
    values = {name: float(value) for name, value in grid.at({}, names).items()}
    binding = extreme(values, largest)
    if stated:
        flag = int(float(grid.at({}, [guide.state])[guide.state]))
        bound = guide.tied.get(flags[flag], (flags[flag],))
        binding = tuple(n for n in names if terms[n] in bound) or binding
    else:
        flag = names.index(binding[0])
    return Site(
        grid=grid,
        guide=guide,
        flag=flag,
        terms=terms,
        binding=binding,
        told=not stated or set(terms.values()) <= set(flags.values()),
        stated=stated,
        levers=levers,
        pins=pins,
        again=again,
        largest=largest,
    )


def _guide(model: Model, wanted: Sequence[str], goal: str | None) -> Guide:
    found = guides(model)
    if not found:
        raise DseError(
            f"there is no advice on the model {model.name}: a model is advised on where one of its "
            "outputs is the minimum(...) or maximum(...) of others, each with a name, or where a "
            "dse.Guide named ADVICE stands beside its equations, as in transit and mwp_cwp"
        )
    if goal is None:
        return next((guide for guide in found if guide.state in wanted), found[0])
    for guide in found:
        if guide.goal == goal:
            return guide
    goals = list(dict.fromkeys(guide.goal for guide in found))
    raise UnknownNameError(
        f"goal = {goal!r}: the model {model.name} is advised on to improve {', '.join(goals)}"
        f"{nearest(goal, goals)}"
    )


def _of_one(text: str, study: StudyData, model: Model) -> bool:
    """Whether a condition speaks of one configuration, not of statistics along axes."""
    asked = statistics_of([parse_condition(text, model.quantities)])
    return not asked or (
        study.uncertain is None and all(one.statistic.axes == (DRAW,) for one in asked)
    )  # of a law of its own


def _of_study(
    study: StudyData, point: Mapping[str, Any]
) -> tuple[dict[str, str | None], dict[str, Any]]:
    """A configuration of a study as the entries and values of one point."""
    grid, parts = study.grid(draws=True), study._parts
    said = places_of(grid, point, word="")
    places = {name: said.get(name, axis.unsaid) for name, axis in grid.axes.items()}
    entries = {"machine": study.machine, "workload": study.workload}
    given: dict[str, Any] = {**(study.fit.values if study.fit else {}), **study.set}
    for name, value in given.items():
        leaf = parts.values.get(name)
        if hasattr(value, "dims") and isinstance(leaf, Leaf):
            given[name] = float(leaf.array[tuple(places[axis] for axis in leaf.axes)])
    for name, axis in grid.axes.items():
        place = places[name]
        if name in entries:
            entries[name] = axis.labels[place]
        elif axis.columns:
            given |= {column: float(array[place]) for column, array in axis.columns.items()}
        else:
            given[name] = axis.labels[place] if axis.labels else float(axis.values[place])
    return entries, given
