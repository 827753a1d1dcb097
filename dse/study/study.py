"""Represent a study as checked data: a model, a machine, a workload, axes and constraints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from json import dumps
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dse.display import warn_failures
from dse.inputs.merge import (
    StudyInputs,
    by_quantity_name,
    copy_nested,
    entry_name,
    merge_inputs,
    with_declared,
    workload_entries,
)
from dse.study.file import study_arguments
from dse.study.random import check_not_random, drop_axes, mean_and_error, statistic_axes
from sweeps.grid.axes import parse_axis
from sweeps.grid.goals import Goal, check_top, goals_in_order, texts_of
from sweeps.grid.grid import Grid
from symbolic.errors import DseError, check_name
from symbolic.expression import parse, parse_output
from symbolic.file_access import PathBase, base_folder
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import Node, references
from symbolic.statistics import DRAW

if TYPE_CHECKING:
    from dse.uncertain.draws import RandomInputs
    from sweeps.grid.axes import Axis


def compute_statistics(folding: Any) -> Any:
    """Import :func:`sweeps.nest.statistics.compute_statistics` when it is needed, and call it."""
    from sweeps.nest.statistics import compute_statistics

    return compute_statistics(folding)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyData:
    """The data of a :class:`dse.Study`; the subclass adds the queries."""

    model: str
    machine: str | None = None
    workload: str | None = None
    axes: Mapping[str, Any] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    where: str | Sequence[str] = ()
    outputs: Sequence[str] | None = None
    prefer: str | None = None
    best: Mapping[str, Any] | None = None
    random: Mapping[str, Any] = field(default_factory=dict)
    folder: PathBase = None
    fit: Any = None
    _cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, (str, PathLike)):
            raise DseError(f"model = {self.model!r}: expected a name, names joined by +, or a path")
        object.__setattr__(self, "model", fspath(self.model))
        object.__setattr__(self, "where", texts_of(self.where, "where"))
        if self.outputs is not None:
            object.__setattr__(self, "outputs", texts_of(self.outputs, "outputs"))
        for key in ("axes", "set", "random"):
            if not isinstance(getattr(self, key), Mapping):
                raise DseError(f"{key} = {getattr(self, key)!r}: expected a mapping from names")
        for key in ("machine", "workload"):
            value = entry_name(key, getattr(self, key))
            object.__setattr__(self, key, value)
            if value is not None and key in self.axes:
                raise DseError(f"{key} is given and is an axis: keep one of them")
        for key in ("axes", "set", "random"):  # a copy: the caller may change its mappings
            object.__setattr__(self, key, copy_nested(getattr(self, key)))
        if self.fit is not None:
            from dse.inputs.fit_file import read_fits

            object.__setattr__(self, "fit", read_fits(self.fit, self.folder))
        self._build_parts()
        self.grid()  # raises an error now if anything in the study is wrong
        if self.best is not None:
            self.check_best(read_best(self.best))

    @classmethod
    def from_toml(cls, path: str | Path, *, allow: Callable[[Path], bool] | None = None) -> Self:
        """Read a study file; relative paths in it are relative to its folder.

        If the model is a Python file, that file runs; ``dse.study.file.find_model_code`` lists such
        files without running them.

        Parameters:
            path (path): The TOML file.
            allow (callable, optional): Called with the path of each model file before the file
                runs; if it returns a false value, the file does not run and DseError is raised. It
                is not called for shipped models. Default: files below the folder of the study or in
                ``DSE_PATH`` may run.

        Raises:
            DseError: The file cannot be read, is not TOML, has an unknown key, or names a model
                file that may not run.
        """
        if not isinstance(path, (str, Path)):
            raise DseError(f"the study {path!r}: expected the path of a TOML file")
        return cls(**study_arguments(path, allow))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the constructor; unpickling loads the equations by name again."""
        arguments = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return partial(type(self), **arguments), ()

    @property
    def _parts(self) -> StudyInputs:
        return self._cache["parts"]

    def _build_parts(self) -> None:
        model = load_model(self.model, prefer=self.prefer, base=base_folder(self.folder))
        model = with_declared(model, self.workload or self.axes.get("workload"), self.folder)
        names = model.names_by_symbol
        for key in ("axes", "set", "where", "outputs", "random"):
            object.__setattr__(self, key, by_quantity_name(names, getattr(self, key)))
        if isinstance(self.best, Mapping):
            best = {key: by_quantity_name(names, each) for key, each in self.best.items()}
            object.__setattr__(self, "best", best)
        axes = [
            parse_axis(name, spec, model.quantities, self.folder)
            for name, spec in self.axes.items()
        ]
        self._cache["uncertain"] = None
        parts = self._merge(model, axes)
        if self.random:
            from dse.uncertain.assumed_draws import drawn_quantities, with_drawn
            from dse.uncertain.draws import read_random

            drawn: dict[tuple[str, str, str], str] = self._cache.setdefault("drawn", {})
            model, laws = self._with_model_error(model, parts, self._laws_with_assumed(parts))
            model = replace(model, quantities=drawn_quantities(model.quantities, drawn))
            uncertain = read_random(laws, model.quantities, self.folder)
            if uncertain is not None:
                if DRAW in self.axes:
                    raise DseError(f"{DRAW} is the axis of random draws: rename your axis")
                axes.append(uncertain.axis())
            self._cache["uncertain"] = uncertain
            parts = with_drawn(self._merge(model, axes), drawn)
        self._cache["parts"] = parts

    def _merge(self, model: Model, axes: Sequence[Axis]) -> StudyInputs:
        return merge_inputs(
            model,
            axes,
            entries={"machine": self.machine, "workload": self.workload},
            set_values=self.set,
            folder=self.folder,
            fit_inputs=self.fit,
        )

    def _laws_with_assumed(self, parts: StudyInputs) -> dict[str, Any]:
        """Return the laws of the study, and on request the laws of inputs that nobody published.

        Along an axis of machines, an input has a law for each machine that assumes it.
        """
        from dse.inputs.assumed import used_inputs
        from dse.uncertain.assumed_draws import name_for_label

        laws = dict(self.random)
        wanted = laws.pop("assumed", False)
        if not isinstance(wanted, bool):
            raise DseError(f"random: assumed = {wanted!r}, expected true or false")
        if not wanted:
            return laws
        names = parts.model.outputs if self.outputs is None else self.outputs
        grid = parts.build_grid(outputs=[parse_output(n, parts.model.quantities) for n in names])
        for each in used_inputs(grid, parts.assumed):
            name = each.name
            if each.kind in grid.axes and name not in laws:
                name = name_for_label(name, each.entry)
                self._cache["drawn"][each.kind, each.entry, each.name] = name
            laws.setdefault(name, each.law)
        if not laws.keys() - {"draws", "seed", "correlation"}:
            raise DseError("random: assumed = true, but no output depends on an assumed input")
        return laws

    def _with_model_error(
        self, model: Model, parts: StudyInputs, laws: dict[str, Any]
    ) -> tuple[Model, dict[str, Any]]:
        """Return the model and the laws, with the measured error in the time of a counted kernel.

        Along an axis of machines, each machine has an error of its own; along other axes that do
        not change the work of a kernel, its error is the same. With ``model_error = false`` in the
        table ``[random]``, there is no error.
        """
        from dse.catalog.entries import machine
        from dse.uncertain.assumed_draws import name_for_label
        from dse.uncertain.model_errors import LAUNCH_BYTES, with_model_error

        wanted = laws.pop("model_error", True)
        if not isinstance(wanted, bool):
            raise DseError(f"random: model_error = {wanted!r}, expected true or false")
        names = self.workload or self.axes.get("workload")
        entries = workload_entries(model, names, self.folder)
        values = [entry.values for entry in entries]
        if not wanted or not any(LAUNCH_BYTES & {*each} for each in values):
            return model, laws
        given = {name for each in (self.set, self.axes, *values) for name in each}
        labels = next((axis.labels for axis in parts.axes if axis.name == "machine"), ())
        work = parts.inputs_of({"machine", "workload", "elements", *LAUNCH_BYTES})
        work |= {row.name for entry in entries for row in entry.declared}
        free = [a for a in parts.axes if a.kind != "switch" and not work & {a.name, *a.columns}]
        choices = [axis.name for axis in free if not axis.name.endswith("_insts")]
        result = model
        guessed = any(each[n].assumed for each in values for n in LAUNCH_BYTES & {*each})
        for label in labels or (self.machine or "",):
            entry = machine(label, folder=self.folder) if label else None
            known = given.union(entry.values if entry else ()) - ({"l2_size"} if guessed else set())
            result, law = with_model_error(model, entry.name if entry else "", known, choices)
            if law is None:
                break
            if not labels:
                laws["model_error"] = law
                continue
            own = {name: name_for_label(name, label) for name in law.columns}
            self._cache["drawn"] |= {("machine", label, name): new for name, new in own.items()}
            columns = {own[name]: column for name, column in law.columns.items()}
            laws[name_for_label("model_error", label)] = replace(law, columns=columns)
        return result, laws

    def grid(
        self, outputs: Iterable[str] = (), where: Iterable[str] = (), draws: bool = False
    ) -> Grid:
        """Return the grid of the study, with additional outputs and constraints.

        Unless ``draws`` is True, random outputs are replaced by their statistics over the draws.
        """
        draws = draws or self.random_inputs is None
        known = set[str]()  # statistics among the outputs, whose tables queries can reuse
        if outputs and self.random_inputs:
            own, model = self._outputs(), self._parts.model
            names = {*own, *(n for name in own for n in mean_and_error(name, model))}
            known = {name for name in names if not name.isidentifier()}
        key = (tuple(name for name in outputs if name not in known), tuple(where), draws)
        if key not in self._cache:
            if draws:
                self._cache[key] = self._full_grid(*key[:2])
            else:
                self._cache[key] = self._drop_draws(self.grid(*key[:2], draws=True), key[0])
        return self._cache[key]

    @property
    def random_inputs(self) -> RandomInputs | None:
        """The random inputs of the study; None if no input is random."""
        return self._cache["uncertain"]

    @property
    def notes(self) -> list[str]:
        """Sentences on parts of laws that were cut off, and on the error of the model."""
        cut = {} if self.random_inputs is None else self.random_inputs.notes
        notes = [f"{name}: {text}" for name, text in cut.items()]
        if "model_error" in self._parts.model.quantities:
            notes.append(
                "time: with the measured error of the model for kernels of its class, which is the "
                "same in all configurations; leave it out by model_error = false in random"
            )
        return notes

    def _outputs(self) -> tuple[str, ...]:
        if self.outputs is None:
            return self._parts.model.outputs
        return tuple(parse_output(name, self._parts.model.quantities) for name in self.outputs)

    def _full_grid(self, more: Sequence[str], where: Sequence[str]) -> Grid:
        parts = self._parts
        names = tuple(dict.fromkeys([*self._outputs(), *more]))
        statistics: list[str] = []
        if self.random_inputs:
            statistics = [n for name in names for n in mean_and_error(name, parts.model)]
        grid = parts.build_grid(
            outputs=tuple(dict.fromkeys([*names, *statistics])),
            constraints=tuple(dict.fromkeys([*self.where, *where])),
            compute_statistics=compute_statistics,
        )
        return replace(grid, outputs=tuple(n for n in grid.outputs if n in names))

    def _drop_draws(self, grid: Grid, more: Sequence[str]) -> Grid:
        formulas = [(c.text, references(c.node)) for c in grid.conditions if not c.is_rule]
        formulas += [(name, (name,)) for name in self._outputs() if not name.isidentifier()]
        check_not_random(grid, formulas)
        outputs: list[str] = []
        for name in self._outputs():
            if not name.isidentifier() or DRAW in grid.dims(name):
                outputs += mean_and_error(name, self._parts.model)
            elif name in grid.outputs:  # an axis is a coordinate and not in grid.outputs
                outputs.append(name)
        for name in more:
            if not name.isidentifier():
                outputs += mean_and_error(name, self._parts.model)
            elif name in grid.outputs:
                outputs.append(name)
        return drop_axes(replace(grid, outputs=tuple(dict.fromkeys(outputs))), {DRAW})

    def check_outputs(self) -> None:
        """Raise DseError if a run cannot store an output, as it is a case that draws decide."""
        grid = self.grid(draws=True)
        for name in self._outputs() if self.outputs else ():
            if DRAW in grid.dims(name) and not mean_and_error(name, grid.model):
                label = next(iter(grid.flag_meanings(name).values()), "LABEL")
                raise DseError(
                    f"the output {name} is a case that differs from draw to draw, and cases have "
                    f"no mean: use a chance, such as chance({name} == '{label}'), or leave it out"
                )

    def text(self) -> str:
        """Return canonical JSON, which is equal for equal studies; draws are replaced by a hash."""
        parts, grid = self._parts, self.grid()
        names = {key: getattr(self, key) for key in ("machine", "workload", "prefer")}
        tree: dict[str, Any] = {"model": parts.model.name}
        tree |= {key: name for key, name in names.items() if name is not None}
        tree["axes"] = {name: _axis_json(axis) for name, axis in grid.axes.items()}
        tree["set"] = {n: parts.labels.get(n, _jsonable(value)) for n, value in self.set.items()}
        tree |= {"fit": self.fit.to_dict()} if self.fit is not None else {}
        if self.random:
            tree["random"] = {name: _jsonable(value) for name, value in self.random.items()}
            tree["draws"] = _hash_draws(parts)
        tree["where"] = list(self.where)
        tree["outputs"] = list(grid.outputs)
        return dumps(tree)

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of the study's Dataset: study, equations, defaults, version etc."""
        if "attributes" not in self._cache:
            from dse.inputs.provenance import provenance_attributes

            attributes = provenance_attributes(self.text(), self.grid(), self._parts)
            attributes |= {"notes": dumps(self.notes)} if self.notes else {}
            self._cache["attributes"] = attributes
        return self._cache["attributes"]

    def _query_grid(
        self, texts: Sequence[str | Goal], where: str | Sequence[str], per: Sequence[str] = ()
    ) -> Grid:
        """Return the grid for a query, and warn of points at which a formula fails.

        Axes that the query uses only inside statistics are removed. The axis of draws is removed
        unless it is in ``per``.
        """
        from sweeps.grid.failures import failures_of

        needed, conditions = self._needed_quantities(texts), texts_of(where, "where")
        grid = self.grid(needed, conditions, draws=DRAW in per)
        roots = [self._parse_formula(text) for text in texts]
        if DRAW not in per:
            whole = self.grid(needed, conditions, draws=True)
            formulas = zip(map(str, texts), map(references, roots), strict=True)
            check_not_random(whole, formulas)
        grid = drop_axes(grid, statistic_axes(grid, roots) - set(per))
        if failed := failures_of(grid, needed):
            warn_failures(failed)
        return grid

    def _parse_formula(self, text: str | Goal) -> Node:
        quantities = self.grid().model.quantities
        return text.formula(quantities) if isinstance(text, Goal) else parse(text, quantities)

    def _needed_quantities(self, texts: Sequence[str | Goal]) -> list[str]:
        return [name for text in texts for name in references(self._parse_formula(text))]

    def check_best(self, best: BestQuery) -> None:
        """Raise DseError if the study lacks a quantity or an axis of a query."""
        for name in best.per:
            message = f"per names {name!r}, which is no axis of the study"
            check_name(name, self.grid().axes, message, "its axes are")
        self.grid(self._needed_quantities(best.goals), best.where)


def _hash_draws(parts: StudyInputs) -> str:
    result = hashlib.sha256()
    for axis in parts.axes:
        if axis.kind == DRAW:
            for name, column in axis.columns.items():
                result.update(name.encode() + np.ascontiguousarray(column).tobytes())
            result.update(b"" if axis.weights is None else axis.weights.tobytes())
    return result.hexdigest()


def _axis_json(axis: Axis) -> Any:
    if axis.weights is not None:
        plain = _axis_json(replace(axis, weights=None))
        values = plain if isinstance(plain, dict) and "zip" in plain else {"values": plain}
        return {**values, "weights": axis.weights.tolist()}
    if axis.labels:
        return list(axis.labels)
    if axis.columns:
        return {"zip": {name: array.tolist() for name, array in axis.columns.items()}}
    return _hash_if_long(axis.coordinate)


def _hash_if_long(array: np.ndarray[Any, Any]) -> Any:
    """Return a list of values, or a hash of more than 1000 values, so that the text stays short."""
    if array.size <= 1000:
        return array.tolist()
    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {
        "first": array.flat[0].item(),
        "last": array.flat[-1].item(),
        "count": int(array.size),
        "sha256": digest,
    }


def _jsonable(value: Any) -> Any:
    if hasattr(value, "dims"):
        labels = {
            str(dim): np.array(value.coords[dim].values.tolist())  # converts objects to texts
            for dim in value.dims
            if dim in value.coords
        }
        table: dict[str, Any] = {"dims": list(map(str, value.dims))}
        if labels:
            table["labels"] = {dim: _hash_if_long(array) for dim, array in labels.items()}
        return {**table, "values": _hash_if_long(np.asarray(value))}
    if isinstance(value, Mapping):
        return {str(name): _jsonable(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if not isinstance(value, (str, bool, int, float, np.generic)):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


_BEST_KEYS = ("minimize", "maximize", "per", "where", "top")


@dataclass(frozen=True, slots=True, kw_only=True)
class BestQuery:
    """The query in ``[best]``; its ``where`` is added to the constraints of the study."""

    minimize: str | tuple[str, ...] | None = None
    maximize: str | tuple[str, ...] | None = None
    per: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    top: int = 1

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The objectives in order of priority."""
        return goals_in_order(self.minimize, self.maximize)

    def as_keywords(self) -> dict[str, Any]:
        """Return the query as keyword arguments for :func:`dse.optimum`."""
        return asdict(self)


def read_best(tree: Any, *, origin: str = "best") -> BestQuery:
    """Check and convert the table ``[best]``; error messages begin with ``origin``."""
    if not isinstance(tree, Mapping):
        raise DseError(f'{origin} = {tree!r}: expected a table such as {{ minimize = "time" }}')
    for key in tree:
        check_name(key, _BEST_KEYS, f"{origin} has the unknown key {key!r}")
    goals = [key for key in ("minimize", "maximize") if tree.get(key) is not None]
    if len(goals) != 1:
        raise DseError(
            f"{origin} {'has both minimize and maximize' if goals else 'has no objective'}: give "
            "a quantity to either minimize or maximize"
        )
    goal = tree[goals[0]]
    texts = texts_of(goal, f"{origin}: {goals[0]}")
    top = tree.get("top", 1)
    check_top(top, f"{origin}: ")
    query = BestQuery(
        **{goals[0]: goal if isinstance(goal, str) else texts},
        per=texts_of(tree.get("per"), f"{origin}: per"),
        where=texts_of(tree.get("where"), f"{origin}: where"),
        top=top,
    )
    goals_in_order(query.minimize, query.maximize)
    return query
