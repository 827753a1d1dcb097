"""A study: a model, a machine, a workload, axes and constraints; what it plans, yields, answers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.catalog import Entry, machine, workload
from sweeps.build import build_grid
from sweeps.grid import Grid, Leaf
from sweeps.space import Axis, parse_axis
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.library import load_model
from symbolic.model import Model
from symbolic.ops import Node, references
from symbolic.quantities import Quantity

if TYPE_CHECKING:
    import xarray as xr

    from dse.explain import Explanation
    from dse.plan import Plan
    from sweeps.run import Progress

__all__ = ["Study"]

_KEYS = ("model", "machine", "workload", "axes", "set", "where", "outputs", "prefer", "best")
_ENTRIES = {"machine": machine, "workload": workload}


def _texts(value: str | Iterable[str] | None, key: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else list(value or ())
    for text in listed:
        if not isinstance(text, str):
            raise DseError(f"{key} holds {text!r}: expected text, or a list of texts")
    return tuple(listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A design space and a question frame over it.

    Parameters
    ----------
    model : str
        A shipped model, several joined by ``+``, or the path of a file of your own (``.py``).
    machine, workload : str, optional
        A name of :func:`dse.machines` / :func:`dse.workloads`, or the path of a TOML file.
    axes : mapping
        What varies, outermost first: quantities (lists, ranges, arrays, numbers with units, the
        forms of :func:`sweeps.space.parse_axis`), switches, ``machine``, ``workload``, or a zip.
    set : mapping
        Values of quantities: numbers, texts with units, formulas, labels of switches, or
        DataArrays over some of the axes.
    where : str or list of str
        Constraints; points that break one are marked in ``feasible``.
    outputs : list of str, optional
        The quantities wanted; the model's main outputs where None.
    prefer : str, optional
        Of joined models, the one whose equation is used where two define the same quantity.
    best : mapping, optional
        The question that ``dse run`` answers besides: ``minimize`` or ``maximize``, ``per``,
        ``where`` and ``top``, as for :meth:`optimum`. It changes nothing in what is computed.
    folder : Path, optional
        The folder against which relative paths are read.

    Raises
    ------
    DseError
        Whatever does not fit, naming what was given, what was expected and a way out.

    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> study.run().cs_throughput.values.round(3).tolist()
    [4.197, 8.393, 10.0]
    """

    model: str
    machine: str | None = None
    workload: str | None = None
    axes: Mapping[str, Any] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    where: str | Sequence[str] = ()
    outputs: Sequence[str] | None = None
    prefer: str | None = None
    best: Mapping[str, Any] | None = None
    folder: Path | None = None
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):
            raise DseError(f"model = {self.model!r}: expected a name, names joined by +, or a path")
        object.__setattr__(self, "where", _texts(self.where, "where"))
        if self.outputs is not None:
            object.__setattr__(self, "outputs", _texts(self.outputs, "outputs"))
        for key in ("axes", "set"):
            if not isinstance(getattr(self, key), Mapping):
                raise DseError(f"{key} = {getattr(self, key)!r}: expected a mapping from names")
        for key in ("machine", "workload"):
            value = getattr(self, key)
            if value is not None and not isinstance(value, str):
                raise DseError(f"{key} = {value!r}: expected a name or a path")
            if value is not None and key in self.axes:
                raise DseError(f"{key} is given and is an axis: keep one of them")
        self._read()
        self.grid()  # everything that can be wrong is found here, before any work
        if self.best is not None:
            from dse._best import read_best

            read_best(self.best).check(self)

    @classmethod
    def from_toml(cls, path: str | Path) -> Study:
        """Read a study file; relative paths in it are relative to its folder.

        Raises
        ------
        DseError
            A file that cannot be read, a line that is no TOML, or a key that is not known.
        """
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DseError(f"the study {str(path)!r} cannot be read: {error}") from error
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DseError(f"the study {path} is no TOML: {error}") from error
        for key in tree:
            if key not in _KEYS:
                hint = nearest(key, _KEYS)
                raise UnknownNameError(
                    f"the study {path} has the key {key!r}, which is none of {', '.join(_KEYS)}"
                    f"{hint}; a quantity belongs under [set] or [axes]"
                )
        if "model" not in tree:
            raise DseError(f'the study {path} names no model: begin it with model = "mwp_cwp"')
        return cls(**tree, folder=path.resolve().parent)

    # --- what it is made of
    @property
    def _parts(self) -> Parts:
        parts: Parts = self._kept["parts"]
        return parts

    def _read(self) -> None:
        model = load_model(self.model, prefer=self.prefer, base=self.folder)
        axes = [parse_axis(name, spec, model.quantities) for name, spec in self.axes.items()]
        self._kept["parts"] = read_parts(
            model,
            axes,
            entries={"machine": self.machine, "workload": self.workload},
            given=self.set,
            folder=self.folder,
        )

    def grid(self, outputs: Iterable[str] = (), where: Iterable[str] = ()) -> Grid:
        """The study's grid, with further outputs and constraints for a question."""
        key = (tuple(outputs), tuple(where))
        if key not in self._kept:
            parts = self._parts
            wanted = parts.model.outputs if self.outputs is None else tuple(self.outputs)
            self._kept[key] = build_grid(
                parts.model,
                axes=parts.axes,
                values=parts.values,
                labels=parts.labels,
                switches=parts.switches,
                tables=parts.tables,
                outputs=tuple(dict.fromkeys([*wanted, *key[0]])),
                constraints=tuple(dict.fromkeys([*self.where, *key[1]])),
            )
        grid: Grid = self._kept[key]
        return grid

    def text(self) -> str:
        """The study as canonical JSON: the same study always gives the same text."""
        tree: dict[str, Any] = {"model": self.model}
        for key in ("machine", "workload", "prefer"):
            if getattr(self, key) is not None:
                tree[key] = getattr(self, key)
        tree["axes"] = {axis.name: _plain(axis) for axis in self._parts.axes}
        tree["set"] = {name: _jsonable(value) for name, value in self.set.items()}
        tree["where"] = list(self.where)
        tree["outputs"] = list(self.grid().outputs)
        return json.dumps(tree, sort_keys=False)

    def attributes(self) -> dict[str, Any]:
        """What the Dataset says of itself: study, equations, defaults, assumptions, version."""
        if "attributes" not in self._kept:
            from dse.provenance import attributes

            self._kept["attributes"] = attributes(self.model, self.text(), self.grid(), self._parts)
        found: dict[str, Any] = self._kept["attributes"]
        return found

    # --- what it does
    def plan(self, *, expand: bool = False) -> Plan:
        """What a run would do, before any work: points, tiles, bytes, what depends on what."""
        from dse.plan import make_plan

        return make_plan(self, expand=expand)

    def run(
        self,
        *,
        store: str | Path | None = None,
        expand: bool = False,
        progress: bool | Callable[[Progress], None] = False,
        fresh: bool = False,
    ) -> xr.Dataset:
        """Compute every output over the axes on which it depends.

        Parameters
        ----------
        store : path, optional
            A zarr store to write. A finished store of this study is opened and nothing is done.
        expand : bool
            Store every output over all axes.
        progress : bool or callable
            True shows progress on standard error once a run takes longer than a second; a callable
            is given a :class:`sweeps.run.Progress` after each tile.
        fresh : bool
            With ``store``: keep an existing store aside and compute anew.

        Returns
        -------
        xarray.Dataset
            Each axis a dimension coordinate; cases as small integers with their meanings;
            ``feasible`` where a rule or constraint applies.
        """
        from dse.runner import run

        return run(self, store=store, expand=expand, progress=progress, fresh=fresh)

    def optimum(
        self,
        *,
        minimize: str | None = None,
        maximize: str | None = None,
        where: str | Sequence[str] = (),
        per: str | Sequence[str] | None = None,
        top: int = 1,
        method: str = "auto",
    ) -> xr.Dataset:
        """The best configurations, without storing the grid.

        Parameters
        ----------
        minimize, maximize : str
            One quantity or formula.
        where : str or list of str
            Constraints besides those of the study.
        per : str or list of str, optional
            Axes for each value of which a winner is wanted.
        top : int
            How many, best first (dimension ``rank``); ties go to the lowest index in axis order.
        method : {"auto", "scan"}
            How: a scan of the whole grid by a fused kernel.
        """
        from sweeps.answers import one_goal
        from sweeps.scan import grid_optimum

        if method not in ("auto", "scan"):
            raise DseError(f"method = {method!r}: expected 'auto' or 'scan'")
        goal = one_goal(minimize, maximize)
        grid = self._question([goal.text], where)
        return grid_optimum(grid, goal, per=per, top=top)

    def pareto(
        self,
        *,
        minimize: str | Sequence[str] | None = None,
        maximize: str | Sequence[str] | None = None,
        where: str | Sequence[str] = (),
    ) -> xr.Dataset:
        """The configurations that no other beats in every objective (dimension ``point``)."""
        from sweeps.answers import read_goals
        from sweeps.scan import grid_pareto

        goals = read_goals(minimize, maximize)
        return grid_pareto(self._question([goal.text for goal in goals], where), goals)

    def _question(self, texts: Sequence[str], where: str | Sequence[str]) -> Grid:
        from symbolic.expression import parse

        quantities = self._parts.model.quantities
        needed = [name for text in texts for name in references(parse(text, quantities))]
        return self.grid(needed, _texts(where, "where"))

    def explain(self, **point: Any) -> Explanation:
        """Every intermediate at one configuration: value, unit, equation, source.

        ``point`` gives a value for each axis; axes left out stand at their first value.
        """
        from dse.explain import explain

        return explain(self, point)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A study, read: what :func:`sweeps.grid.build_grid` takes, and where each value is from."""

    model: Model
    axes: tuple[Axis, ...]
    values: Mapping[str, float | Node | Leaf]
    labels: Mapping[str, str]
    switches: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Sequence[float | Node | None]]]
    origins: Mapping[str, str]
    assumptions: tuple[str, ...]


def read_parts(
    model: Model,
    axes: Sequence[Axis],
    *,
    entries: Mapping[str, str | None],
    given: Mapping[str, Any],
    folder: Path | None = None,
    replaced: Sequence[str] = (),
) -> Parts:
    """Gather the values of a study by precedence: set and axes, workload, machine.

    ``entries`` names the machine and the workload, unless they are axes; ``replaced`` names
    quantities that are given elsewhere, so that no file's value is taken.
    """
    varied = [name for axis in axes for name in {axis.name: None, **axis.columns}]
    for name in varied:
        if varied.count(name) > 1:
            raise DseError(f"{name} is given by two axes: keep one of them")
        if name in given:
            raise DseError(f"{name} is an axis and is set: keep one of them")
    values: dict[str, float | Node | Leaf] = {}
    labels: dict[str, str] = {}
    switches: dict[str, str] = {}
    tables: dict[str, dict[str, list[float | Node | None]]] = {}
    origins: dict[str, str] = dict.fromkeys(varied, "axis")
    assumptions: list[str] = []
    by_name = {axis.name: axis for axis in axes}
    for kind, load in _ENTRIES.items():
        single = entries.get(kind)
        names = by_name[kind].labels if kind in by_name else (single,) if single else ()
        loaded = [load(n, folder=folder, quantities=model.quantities) for n in names]
        supplied = dict.fromkeys(name for entry in loaded for name in entry.values)
        for name in supplied:
            if name in given or name in varied or name in replaced:
                continue
            row = model.quantities[name]
            for entry in loaded:
                value = entry.values.get(name)
                if value is not None and value.assumed:
                    assumptions.append(f"{name} of {entry.name}: {value.assumed}")
            if row.is_label:
                _entry_label(row, loaded, kind, by_name, labels, switches)
                origins[name] = _origin(loaded[0], name)
                continue
            column = [_entry_value(entry, row, model) for entry in loaded]
            if kind not in by_name:
                value_here = column[0]
                assert value_here is not None
                values[name] = value_here
                for table in tables.values():
                    table.pop(name, None)
                origins[name] = _origin(loaded[0], name)
                continue
            other = next((k for k, t in tables.items() if name in t), None)
            if other is not None:
                raise DseError(
                    f"{name} is given by both axes {other} and {kind}: set it, or take it out of "
                    "the files of one"
                )
            below = values.pop(name, None)
            if isinstance(below, (int, float, Node)):
                column = [below if value is None else value for value in column]
            tables.setdefault(kind, {})[name] = column
            origins[name] = f"{kind} axis"
    for name, value in given.items():
        _set_value(model.quantity(name), value, model, by_name, values, labels, switches)
        origins[name] = "set"
    return Parts(
        model=model,
        axes=tuple(axes),
        values=values,
        labels=labels,
        switches=switches,
        tables=tables,
        origins=origins,
        assumptions=tuple(dict.fromkeys(assumptions)),
    )


def _origin(entry: Entry, name: str) -> str:
    value = entry.values[name]
    return f"{entry.name}: {value.source or 'assumed, ' + value.assumed}"


def _entry_value(entry: Entry, row: Quantity, model: Model) -> float | Node | None:
    from symbolic.expression import parse_value

    value = entry.values.get(row.name)
    if value is None:
        return None
    if isinstance(value.value, str):
        return parse_value(value.value, row, model.quantities)
    return float(value.value)


def _entry_label(
    row: Quantity,
    entries: Sequence[Entry],
    kind: str,
    axes: Mapping[str, Axis],
    labels: dict[str, str],
    switches: dict[str, str],
) -> None:
    found = {str(e.values[row.name].value) if row.name in e.values else None for e in entries}
    if len(found) > 1:
        raise DseError(
            f"{row.name} differs along the axis {kind} and is a label: give it by set or as an axis"
        )
    (switches if row.is_switch else labels)[row.name] = str(found.pop())


def _set_value(
    row: Quantity,
    value: Any,
    model: Model,
    axes: Mapping[str, Axis],
    values: dict[str, float | Node | Leaf],
    labels: dict[str, str],
    switches: dict[str, str],
) -> None:
    from symbolic.expression import parse_value

    where = "set"
    if row.is_label:
        text = str(value).lower() if isinstance(value, bool) else value
        if not isinstance(text, str):
            raise DseError(f"{row.name} = {value!r}: expected a label")
        (switches if row.is_switch else labels)[row.name] = text
        return
    if isinstance(value, str):
        parsed = parse_value(value, row, model.quantities)
        if not isinstance(parsed, Node):
            row.check(parsed, where)
        values[row.name] = parsed
        return
    if hasattr(value, "dims") and hasattr(value, "coords"):
        values[row.name] = _table(row, value, axes)
        return
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise DseError(
            f"{row.name} = {value!r}: expected a number, a text with a unit, a formula, or a "
            "DataArray over axes of the study; several values belong in axes"
        )
    row.check(float(value), where)
    values[row.name] = float(value)


def _table(row: Quantity, array: xr.DataArray, axes: Mapping[str, Axis]) -> Leaf:
    """A labelled array over some axes, brought into the order of the axes."""
    for dim in array.dims:
        if dim not in axes:
            raise DseError(
                f"{row.name} is a table over {', '.join(map(str, array.dims))}, and {dim!r} is no "
                f"axis of the study{nearest(str(dim), axes)}"
            )
    for name in [axis for axis in axes if axis in array.dims]:
        axis = axes[name]
        if name not in array.coords:
            if array.sizes[name] != axis.size:
                raise DseError(
                    f"{row.name} has {array.sizes[name]} values along {name}, the axis has "
                    f"{axis.size}: give the table coordinates, or one value for each"
                )
            continue
        known = {value: place for place, value in enumerate(array.coords[name].values.tolist())}
        missing = [value for value in axis.coordinate.tolist() if value not in known]
        if missing:
            raise DseError(f"{row.name} has no value at {name} = {missing[0]}: extend the table")
        array = array.isel({name: [known[value] for value in axis.coordinate.tolist()]})
    order = [axis for axis in axes if axis in array.dims]
    found = np.ascontiguousarray(array.transpose(*order).values, dtype=np.float64)
    row.check(found, "a table in set")
    return Leaf(axes=tuple(order), array=found)


def _plain(axis: Axis) -> Any:
    if axis.labels:
        return list(axis.labels)
    if axis.columns:
        return {"zip": {name: array.tolist() for name, array in axis.columns.items()}}
    return _run_length(axis.coordinate)


def _run_length(array: np.ndarray[Any, Any]) -> Any:
    """A long axis as a hash of its values, so that the text of a study stays short."""
    if array.size <= 1000:
        return array.tolist()
    import hashlib

    digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return {
        "first": array[0].item(),
        "last": array[-1].item(),
        "count": int(array.size),
        "sha256": digest,
    }


def _jsonable(value: Any) -> Any:
    if hasattr(value, "dims"):
        return {"dims": list(map(str, value.dims)), "values": np.asarray(value).tolist()}
    return value.item() if isinstance(value, np.generic) else value
