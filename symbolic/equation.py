"""An equation: a function whose name is the quantity it yields and whose parameters it needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from symbolic.errors import GraphError, UnknownNameError, nearest
from symbolic.guides import Family, Guide, Validity
from symbolic.ops import Node, constant, reference
from symbolic.quantity import Quantity
from symbolic.statistic import StatisticName


@dataclass(frozen=True, kw_only=True)
class Equation:
    """One published formula. Calling it calls the function it was made from.

    Attributes
    ----------
    name : str
        The quantity it yields.
    inputs : tuple of str
        The quantities it needs, in the order of its parameters.
    source : str
        Paper and equation number.
    when : mapping of str to str
        The switches under which it holds; empty where it always does.
    flags : mapping of int to str
        Meanings of the values, where the quantity is a case or a bound.
    symbol : str
        The paper's own symbol, as LaTeX.
    table : bool
        Whether it is evaluated once per distinct input, before the grid; its inputs may be labels.
    unit, meaning, domain : str
        Of the quantity, where the table of quantities does not hold it.
    formula : str
        What the function computes besides its own text, where it was made of a formula.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[str, ...]
    source: str = ""
    when: Mapping[str, str]
    flags: Mapping[int, str]
    symbol: str = ""
    table: bool = False
    unit: str = ""
    meaning: str = ""
    domain: str = "[-inf, inf]"
    formula: str = ""

    def of(self, name: str, *inputs: str, **changes: Any) -> Equation:
        """The same formula of other quantities: another name, inputs, source, symbol or switch."""
        if "when" in changes:
            changes["when"] = _labels(changes["when"])
        return replace(self, name=name, inputs=inputs, **changes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function, at the given values, by place or by the names of its inputs."""
        rest = self.inputs[len(args) :]
        if kwargs and kwargs.keys() == set(rest):  # the formula may be that of other quantities
            return self.function(*args, *(kwargs[name] for name in rest))
        return self.function(*args, **kwargs)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @cached_property
    def node(self) -> Node:
        """The equation as a tree over the names of its inputs."""
        try:
            return constant(self.function(*map(reference, self.inputs)))
        except (TypeError, ArithmeticError, AttributeError, LookupError, NameError) as error:
            raise GraphError(
                f"the equation {self.describe()} cannot be recorded: {error}"
            ) from None

    @property
    def switches(self) -> str:
        """The switches under which it holds, as text."""
        return ", ".join(f"{name}={label}" for name, label in self.when.items())

    def describe(self) -> str:
        """Name, switches, source and module, for messages."""
        switches = f" [{self.switches}]" if self.when else ""
        source = f" ({self.source})" if self.source else ""
        return f"{self.name}{switches}{source} of {self.function.__module__}"

    @property
    def doc(self) -> str:
        """The docstring."""
        return inspect.getdoc(self.function) or ""


def label_text(value: object) -> str:
    """The label of a switch as text; truth values are ``true`` and ``false``."""
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _labels(when: Mapping[str, object]) -> dict[str, str]:
    return {name: label_text(label) for name, label in when.items()}


def equation(
    function: Callable[..., Any] | None = None,
    *,
    source: str = "",
    when: Mapping[str, object] | None = None,
    flags: Mapping[int, str] | None = None,
    symbol: str = "",
    table: bool = False,
    unit: str = "",
    meaning: str = "",
    domain: str = "[-inf, inf]",
    name: str = "",
    inputs: Sequence[str] = (),
) -> Any:
    """Make an :class:`Equation`: the function's name is the quantity, its parameters the inputs.

    Parameters
    ----------
    source : str
        Paper and equation number.
    when : mapping, optional
        Switches under which this equation is chosen, e.g. ``{"printed": True}``.
    flags : mapping of int to str, optional
        Meanings of the values of a case or bound.
    symbol : str
        LaTeX of the paper's symbol.
    table : bool
        Evaluate once per distinct input before the grid.
    unit, meaning, domain : str
        Of the yielded quantity, where it is not in the table of quantities.
    name : str
        The quantity, where the function must be called otherwise (variants in one file).
    inputs : sequence of str
        The quantities, where the function takes any number of values (``*values``).

    >>> @equation(source="textbook", unit="J")
    ... def kinetic_energy(mass, speed):
    ...     return mass * speed * speed / 2
    >>> kinetic_energy(2.0, 3.0), kinetic_energy.inputs
    (9.0, ('mass', 'speed'))
    """

    def wrap(function: Callable[..., Any]) -> Equation:
        parameters = inspect.signature(function).parameters.values()
        for parameter in () if inputs else parameters:
            plain = parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            if not plain or parameter.default is not parameter.empty:
                raise GraphError(
                    f"the equation {function.__name__} has the parameter {parameter}: "
                    "parameters are names of quantities, without defaults, * or keywords "
                    "(a default belongs to the quantity; inputs= names those of *values)"
                )
        return Equation(
            name=name or function.__name__,
            function=function,
            inputs=tuple(inputs or (parameter.name for parameter in parameters)),
            source=source,
            when=_labels(when or {}),
            flags=dict(flags or {}),
            symbol=symbol,
            table=table,
            unit=unit,
            meaning=meaning,
            domain=domain,
        )

    return wrap if function is None else wrap(function)


def equations_of(module: ModuleType) -> tuple[Equation, ...]:
    """Return the equations that a module defines, in its order."""
    return tuple(value for value in vars(module).values() if isinstance(value, Equation))


# --- A named set of equations, with the quantities it adds, its main outputs and regimes


@dataclass(frozen=True, slots=True, kw_only=True)
class EquationSet:
    """What a model is made of: graphs are joined of it, and :class:`symbolic.model.Model` asks.

    ``symbols`` are the papers' own of inputs, by quantity; a model file declares them, as LaTeX, as
    ``SYMBOLS``. ``files`` are those of the user of which it is made, each with its name and the
    SHA-256 of its bytes.
    """

    name: str
    equations: tuple[Equation, ...]
    quantities: Mapping[str, Quantity]
    rules: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    families: tuple[Family, ...] = ()
    guides: tuple[Guide, ...] = ()
    validity: tuple[Validity, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    symbols: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""

    @property
    def regime_families(self) -> tuple[Family, ...]:
        """The families that are declared, and those that its equations tell."""
        found = {family.of: family for family in self.families}
        yielded = {eq.name for eq in self.equations}
        for eq in self.equations:
            if eq.name not in self.outputs or eq.name in found or eq.table:
                continue
            if (node := eq.node).op not in ("minimum", "maximum"):
                continue
            terms = {arg.args[0]: arg.args[0] for arg in node.args if arg.op == "reference"}
            if len(terms) == len(node.args) and not yielded.isdisjoint(terms):
                found[eq.name] = Family(of=eq.name, terms=terms, largest=node.op == "maximum")
        return tuple(found.values())

    def quantity(self, name: str) -> Quantity:
        """The row of a quantity or statistic, or an error that names the nearest."""
        if isinstance(name, StatisticName):
            return name.row
        found = self.quantities.get(name)
        if found is None:
            raise UnknownNameError(
                f"{name!r} is no quantity of the model {self.name}{nearest(name, self.quantities)}"
            )
        return found

    def meant(self, name: str) -> str:
        """The quantity of which a name is the papers' symbol; the name itself where it is none.

        >>> from symbolic.library import load_model
        >>> load_model("transit").meant("n"), load_model("transit").meant("threads")
        ('threads', 'threads')
        """
        if name in self.quantities:
            return name
        known = {**{eq.name: eq.symbol for eq in self.equations}, **self.symbols}
        found = [quantity for quantity, symbol in known.items() if symbol == name]
        return found[0] if len(found) == 1 else name

    def variants(self, name: str) -> tuple[Equation, ...]:
        """The equations that can yield a quantity, whatever the switches."""
        return tuple(eq for eq in self.equations if eq.name == name)

    @property
    def yields(self) -> tuple[str, ...]:
        """The quantities it has an equation for, in the order of the paper."""
        return tuple(dict.fromkeys(eq.name for eq in self.equations))

    @property
    def citations(self) -> tuple[str, ...]:
        """The distinct sources of its equations, in the order of the paper."""
        return tuple(dict.fromkeys(eq.source for eq in self.equations if eq.source))
