"""A model: a named set of equations, with the quantities it adds, its main outputs and regimes."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from symbolic.equation import Equation, label_text
from symbolic.errors import DseError, GraphError, UnknownNameError, nearest
from symbolic.ops import references
from symbolic.quantities import RULES, TABLE, Domain, Quantity

if TYPE_CHECKING:
    from symbolic.graph import Graph
    from symbolic.regimes import Regime

__all__ = ["Family", "Model", "available_models", "iterate_models", "load_model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Regimes that exclude one another, told apart by which of several terms is the smallest.

    ``terms`` maps the regime's name to the quantity whose value decides; ``of`` is the quantity
    that equals the smallest term. A *border* between two regimes is where their terms are equal.
    """

    of: str
    terms: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A named set of equations; see :func:`load_model`.

    Switches are keyword arguments of its methods, with their labels or truth values:
    ``model.closed_form("mwp", printed=True)``. Those not named keep their default.
    """

    name: str
    equations: tuple[Equation, ...]
    quantities: Mapping[str, Quantity]
    rules: tuple[str, ...] = RULES
    outputs: tuple[str, ...] = ()
    families: tuple[Family, ...] = ()
    summary: str = ""

    def quantity(self, name: str) -> Quantity:
        """The row of a quantity, or an error that names the nearest."""
        found = self.quantities.get(name)
        if found is None:
            raise UnknownNameError(
                f"{name!r} is no quantity of the model {self.name}{nearest(name, self.quantities)}"
            )
        return found

    def variants(self, name: str) -> tuple[Equation, ...]:
        """The equations that can yield a quantity, whatever the switches."""
        return tuple(eq for eq in self.equations if eq.name == name)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The quantities its equations need and none yields, under the default switches."""
        return self.needs()

    @property
    def yields(self) -> tuple[str, ...]:
        """The quantities it has an equation for, in the order of the paper."""
        return tuple(dict.fromkeys(eq.name for eq in self.equations))

    @property
    def citations(self) -> tuple[str, ...]:
        """The distinct sources of its equations, in the order of the paper."""
        return tuple(dict.fromkeys(eq.source for eq in self.equations if eq.source))

    def graph(self, **switches: object) -> Graph:
        """Its equations joined under the given switches, with every input left open."""
        from symbolic.graph import resolve

        for name in switches:
            if not self.quantity(name).is_switch:
                used = dict.fromkeys(switch for eq in self.equations for switch in eq.when)
                raise DseError(
                    f"{name} is no switch of the model {self.name}"
                    f"{nearest(name, used)}; its switches are: {', '.join(used) or 'none'}"
                )
        bare = replace(self, rules=())
        labels = {name: label_text(value) for name, value in switches.items()}
        chosen = resolve(bare, given={}, switches=labels, outputs=()).switches
        held = [
            eq
            for eq in self.equations
            if all(chosen[switch] == label for switch, label in eq.when.items())
        ]
        yielded = dict.fromkeys(eq.name for eq in held)
        needed = [need for eq in held for need in (eq.inputs if eq.table else references(eq.node))]
        inputs: dict[str, None] = {need: None for need in needed if need not in yielded}
        return resolve(bare, given=inputs, switches=chosen, outputs=[*inputs, *yielded])

    def needs(self, *outputs: str, **switches: object) -> tuple[str, ...]:
        """The inputs behind the given outputs, or behind all equations where none is named.

        >>> load_model("transit").needs("cs_transition")
        ('lanes_width',)
        """
        graph = self.graph(**switches)
        for name in outputs:
            if name not in graph.definitions:
                self.quantity(name)
                raise DseError(
                    f"the model {self.name} does not hold {name}: it yields "
                    f"{', '.join(self.yields)}"
                )
        behind = graph.ancestors(outputs or graph.definitions)
        return tuple(
            name
            for name, definition in graph.definitions.items()
            if name in behind and definition.kind == "given"
        )

    def symbol(self, name: str) -> Any:
        """The SymPy symbol of a quantity, as it stands in closed forms.

        >>> load_model("transit").symbol("threads").is_positive
        True
        """
        from symbolic.closed_form import symbol

        return symbol(self.quantity(name))

    def closed_form(
        self, name: str, *, expand: bool | str | Iterable[str] = False, **switches: object
    ) -> Any:
        """The equation of a quantity as a SymPy expression, stopping at named intermediates.

        Parameters
        ----------
        name : str
            A quantity the model yields.
        expand : bool or names
            True substitutes intermediates down to the inputs; names substitute only those.
        **switches
            Labels of switches.

        >>> load_model("transit").closed_form("cs_throughput")
        intensity*ms_throughput
        """
        from symbolic.closed_form import closed_form

        return closed_form(self, name, expand, switches)

    def regimes(
        self, family: str | None = None, *, expand: bool = False, **switches: object
    ) -> tuple[Regime, ...]:
        """The regimes of the model, each with its condition and the main outputs within it.

        Parameters
        ----------
        family : str, optional
            The quantity whose regimes are meant, where the model has several families: one that
            equals the smallest of several terms, or a case or bound.
        expand : bool
            Whether to substitute down to the inputs; intermediates untouched by the regime keep
            their names otherwise.
        **switches
            Labels of switches.

        >>> print(load_model("transit").regimes("ms_throughput")[0].label)
        thread
        """
        from symbolic.regimes import regimes

        return regimes(self, family, expand, switches)

    def border(self, a: str, b: str, *, solve_for: str, **switches: object) -> Any:
        """Where the terms of two regimes are equal, solved for a quantity.

        Parameters
        ----------
        a, b : str
            Labels of two regimes of one family.
        solve_for : str
            The quantity that is moved until the two terms are equal.
        **switches
            Labels of switches.

        Returns
        -------
        sympy.Expr or list of sympy.Expr
            One expression, or a list where there are branches. An expression that holds only on
            a condition is a ``Piecewise`` of that one piece.

        >>> load_model("transit").border("memory", "thread", solve_for="threads")
        ms_peak*(intensity + mem_latency)
        """
        from symbolic.borders import border

        return border(self, a, b, solve_for, switches)

    def latex(self, name: str | None = None, **switches: object) -> str:
        r"""Equations as LaTeX with the paper's symbols, each with its source, one a line.

        All variants where neither a name nor a switch is given; otherwise those that hold.

        >>> print(load_model("transit").latex("cs_transition"))
        \pi = \mathrm{lanes\_width} \quad \text{(Li 2015, Eq. 1)}
        """
        from symbolic.closed_form import latex

        return latex(self, name, switches)


def _from_module(module: ModuleType, name: str) -> Model:
    equations: list[Equation] = []
    quantities: dict[str, Quantity] = dict(TABLE)
    for value in vars(module).values():
        if isinstance(value, Equation) and value not in equations:
            equations.append(value)
        elif isinstance(value, Quantity):
            if value.name in TABLE and TABLE[value.name] != value:
                raise GraphError(
                    f"{name} declares {value.name} again, which the table of quantities holds "
                    f"as {TABLE[value.name].meaning!r}: use another name"
                )
            quantities[value.name] = value
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], Equation):
            equations.extend(eq for eq in value if eq not in equations)
    for eq in equations:
        if eq.name not in quantities:
            quantities[eq.name] = Quantity(
                name=eq.name, unit=eq.unit, domain=Domain.parse(eq.domain), meaning=eq.meaning
            )
    for eq in equations:
        for needed in eq.inputs:
            if needed not in quantities:
                raise UnknownNameError(
                    f"the equation {eq.describe()} needs {needed!r}, which is no known quantity"
                    f"{nearest(needed, quantities)} (a new input is declared with "
                    f"dse.quantity({needed!r}, unit=..., meaning=...))"
                )
    if not equations:
        raise GraphError(f"{name} holds no equation: decorate a function with @dse.equation")
    yielded = tuple(dict.fromkeys(eq.name for eq in equations))
    doc = (module.__doc__ or "").strip().splitlines()
    outputs = tuple(getattr(module, "OUTPUTS", ())) or yielded
    for output in outputs:
        if output not in yielded:
            raise UnknownNameError(
                f"{name} lists {output!r} in OUTPUTS, which no equation yields"
                f"{nearest(output, yielded)}"
            )
    return Model(
        name=name,
        equations=tuple(equations),
        quantities=quantities,
        rules=RULES + tuple(getattr(module, "RULES", ())),
        outputs=outputs,
        families=tuple(getattr(module, "FAMILIES", ())),
        summary=doc[0] if doc else "",
    )


def _union(models: list[Model], prefer: str | None) -> Model:
    names = [model.name for model in models]
    if prefer is not None and prefer not in names:
        raise UnknownNameError(
            f"prefer={prefer!r} is none of the joined models {', '.join(names)}"
            f"{nearest(prefer, names)}"
        )
    owner: dict[str, Model] = {}
    for model in sorted(models, key=lambda m: m.name != prefer):
        for name in model.yields:
            first = owner.setdefault(name, model)
            ours, theirs = first.variants(name), model.variants(name)
            if first.name == prefer or set(theirs) <= set(ours):
                continue
            if not set(ours) <= set(theirs):
                mine = next(eq for eq in ours if eq not in theirs)
                other = next(eq for eq in theirs if eq not in ours)
                raise GraphError(
                    f"{name} has two definitions: {mine.describe()} and {other.describe()}; "
                    f"say which to use with prefer={first.name!r} or prefer={model.name!r}"
                )
            owner[name] = model
    quantities: dict[str, Quantity] = {}
    for model in models:
        for name, row in model.quantities.items():
            if quantities.setdefault(name, row).unit != row.unit:
                raise GraphError(
                    f"{name} is in {quantities[name].unit!r} in one of the models "
                    f"{', '.join(names)} and in {row.unit!r} in {model.name}: rename one"
                )
    families: list[Family] = []
    for model in models:
        families += [family for family in model.families if family not in families]
    joined = (eq for model in models for eq in model.equations if owner[eq.name] is model)
    return Model(
        name=" + ".join(names),
        equations=tuple(dict.fromkeys(joined)),
        quantities=quantities,
        rules=tuple(dict.fromkeys(rule for model in models for rule in model.rules)),
        outputs=tuple(dict.fromkeys(name for model in models for name in model.outputs)),
        families=tuple(families),
        summary=" + ".join(model.summary for model in models),
    )


def _folders() -> list[Path]:
    return [Path(part) for part in os.environ.get("DSE_PATH", "").split(os.pathsep) if part]


def available_models() -> dict[str, Path]:
    """Names of the shipped models and of those in the folders of ``DSE_PATH``, with their files."""
    shipped = Path(__file__).parent / "models"
    found: dict[str, Path] = {}
    for folder in [shipped, *_folders()]:
        for path in sorted(folder.glob("*.py")) if folder.is_dir() else []:
            if not path.stem.startswith("_") and (
                folder == shipped or "equation" in path.read_text()
            ):
                found.setdefault(path.stem, path)
    return found


@lru_cache(maxsize=64)
def _from_file(path: Path, stamp: int) -> Model:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise DseError(f"{path} is no Python file: a model is a file of equations")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return _from_module(module, path.stem)


@lru_cache(maxsize=64)
def _shipped(name: str) -> Model:
    return _from_module(importlib.import_module(f"symbolic.models.{name}"), name)


def _single(name: str, base: Path | None) -> Model:
    if name.endswith(".py"):
        path = (base / name if base else Path(name)).resolve()
        if not path.is_file():
            raise DseError(f"the model file {name!r} does not exist (looked at {path})")
        return _from_file(path, path.stat().st_mtime_ns)
    found = available_models()
    if name not in found:
        raise UnknownNameError(
            f"{name!r} is no model{nearest(name, found)}; there are: {', '.join(sorted(found))} "
            "(give a model of your own as a path ending in .py, or put it in a folder of DSE_PATH)"
        )
    path = found[name]
    if path.parent == Path(__file__).parent / "models":
        return _shipped(name)
    return _from_file(path.resolve(), path.stat().st_mtime_ns)


def load_model(spec: str | Model, *, prefer: str | None = None, base: Path | None = None) -> Model:
    """The model of that name or file, or the union of several: ``"occupancy + mwp_cwp"``.

    Parameters
    ----------
    spec : str or Model
        Name of a shipped model, path of a file ending in ``.py``, or several joined by ``+``.
    prefer : str, optional
        The model whose equation is used where two define the same quantity.
    base : Path, optional
        The folder against which relative paths are read.
    """
    if isinstance(spec, Model):
        return spec
    parts = [part.strip() for part in spec.split("+")]
    models = [_single(part, base) for part in parts]
    return models[0] if len(models) == 1 else _union(models, prefer)


def iterate_models() -> Iterator[Model]:
    """Every shipped model."""
    for name, path in available_models().items():
        if path.parent == Path(__file__).parent / "models":
            yield _shipped(name)
