"""A study as data: a model, a machine, a workload, axes and constraints, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from dse.inputs import Parts, declared, own_copy, read_parts
from dse.study.best import Best, read_best
from dse.study.fits_given import read_fits
from dse.study_file import check_code, read_study_file
from dse.wording import warn_of
from sweeps.grid.build import build_grid
from sweeps.grid.goals import texts_of
from sweeps.grid.grid import Grid
from sweeps.grid.space import parse_axis
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.library import load_model
from symbolic.ops import references

__all__ = ["StudyData"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyData:
    """What a :class:`dse.Study` is made of, without what is asked of it."""

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
    fit: Any = None
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.model, str):
            raise DseError(f"model = {self.model!r}: expected a name, names joined by +, or a path")
        object.__setattr__(self, "where", texts_of(self.where, "where"))
        if self.outputs is not None:
            object.__setattr__(self, "outputs", texts_of(self.outputs, "outputs"))
        for key in ("axes", "set"):
            if not isinstance(getattr(self, key), Mapping):
                raise DseError(f"{key} = {getattr(self, key)!r}: expected a mapping from names")
        for key in ("machine", "workload"):
            value = getattr(self, key)
            if value is not None and not isinstance(value, str):
                raise DseError(f"{key} = {value!r}: expected a name or a path")
            if value is not None and key in self.axes:
                raise DseError(f"{key} is given and is an axis: keep one of them")
        for key in ("axes", "set"):  # what was given may change later
            object.__setattr__(self, key, own_copy(getattr(self, key)))
        object.__setattr__(self, "fit", read_fits(self.fit, self.folder))
        self._read()
        self.space()  # everything that can be wrong is found here, before any work
        if self.best is not None:
            self.check_best(read_best(self.best))

    @classmethod
    def from_toml(cls, path: str | Path, *, allow: Callable[[Path], bool] | None = None) -> Self:
        """Read a study file; relative paths in it are relative to its folder.

        A study whose model is a Python file runs that file: ``dse.study_file.code_of`` tells which
        it would run, and runs nothing.

        Parameters
        ----------
        path : path
            The file, in TOML.
        allow : callable, optional
            Asked of each model file, by its path, before it is run: one that it is not true of is
            refused. By default all are run; shipped models are not asked for.

        Raises
        ------
        DseError
            A file that cannot be read, a line that is no TOML, or a key that is not known; a model
            file that may not be run.
        """
        if not isinstance(path, (str, Path)):
            raise DseError(f"the study {path!r}: expected the path of a TOML file")
        path = Path(path)
        tree, folder = read_study_file(path), path.resolve().parent
        if allow is not None:
            check_code(tree, folder, allow)
        return cls(**tree, folder=folder)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as what was given: equations are functions, which are found again by name."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return _again, (type(self), given)

    # --- what it is made of
    @property
    def _parts(self) -> Parts:
        parts: Parts = self._kept["parts"]
        return parts

    def _read(self) -> None:
        model = load_model(self.model, prefer=self.prefer, base=self.folder)
        model = declared(model, self.workload or self.axes.get("workload"), self.folder)
        axes = [
            parse_axis(name, spec, model.quantities, self.folder)
            for name, spec in self.axes.items()
        ]
        self._kept["parts"] = read_parts(
            model,
            axes,
            entries={"machine": self.machine, "workload": self.workload},
            given=self.set,
            folder=self.folder,
            fitted=self.fit,
        )

    def grid(self, outputs: Iterable[str] = (), where: Iterable[str] = ()) -> Grid:
        """The study's grid, with further outputs and constraints for a question.

        Raises
        ------
        DseError
            An axis is a real interval, of which a grid has no points.
        """
        for axis in self._parts.axes:
            if axis.real:
                low, high = axis.values.tolist()
                raise DseError(
                    f"{axis.name} lies between two numbers, {low:g} and {high:g}: optimum answers "
                    "for every real between them; for anything else give it values, such as "
                    f"{axis.name} = {{ linspace = [{low:g}, {high:g}, 101] }}"
                )
        return self.space(outputs, where)

    def space(
        self,
        outputs: Iterable[str] = (),
        where: Iterable[str] = (),
        at: Mapping[str, float] | None = None,
    ) -> Grid:
        """As :meth:`grid`; real axes hold their two ends, or one value each, given by ``at``."""
        key = (tuple(outputs), tuple(where))
        if at is None and key in self._kept:
            known: Grid = self._kept[key]
            return known
        parts = self._parts
        wanted = parts.model.outputs if self.outputs is None else tuple(self.outputs)
        grid = build_grid(
            parts.model,
            axes=parts.axes if at is None else [axis.held(at) for axis in parts.axes],
            values=parts.values,
            labels=parts.named,
            switches=parts.switches,
            tables=parts.tables,
            outputs=tuple(dict.fromkeys([*wanted, *key[0]])),
            constraints=tuple(dict.fromkeys([*self.where, *key[1]])),
        )
        if at is None:
            self._kept[key] = grid
        return grid

    def text(self) -> str:
        """The study as canonical JSON: the same study always gives the same text."""
        from dse.provenance import study_text

        names = {key: getattr(self, key) for key in ("machine", "workload", "prefer")}
        told: dict[str, Any] = {"given": self.set, "where": self.where}
        told["fitted"] = None if self.fit is None else self.fit.to_dict()
        return study_text(self._parts, self.space(), names, **told)

    def attributes(self) -> dict[str, Any]:
        """What the Dataset says of itself: study, equations, defaults, assumptions, version."""
        if "attributes" not in self._kept:
            from dse.provenance import attributes

            self._kept["attributes"] = attributes(self.text(), self.grid(), self._parts)
        found: dict[str, Any] = self._kept["attributes"]
        return found

    # --- what a question takes
    def _question(self, texts: Sequence[str], where: str | Sequence[str]) -> Grid:
        """The grid of a question; warns of what its formulas cannot be computed of."""
        from sweeps.grid.failing import failures_of

        needed = self._needed(texts)
        grid = self.grid(needed, texts_of(where, "where"))
        if failed := failures_of(grid, needed):
            warn_of(failed)
        return grid

    def _needed(self, texts: Sequence[str]) -> list[str]:
        """The quantities of some formulas."""
        from symbolic.expression import parse

        quantities = self.space().model.quantities
        return [name for text in texts for name in references(parse(text, quantities))]

    def check_best(self, best: Best) -> None:
        """Raise where the study has no quantity or axis of a question; nothing is computed."""
        axes = self.space().axes
        for name in best.per:
            if name not in axes:
                raise UnknownNameError(
                    f"per names {name!r}, which is no axis of the study{nearest(name, axes)}; "
                    f"its axes are: {', '.join(axes) or 'none'}"
                )
        self.space(self._needed([goal.text for goal in best.goals]), best.where)


def _again(kind: type[StudyData], given: Mapping[str, Any]) -> StudyData:
    return kind(**given)
