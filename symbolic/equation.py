"""Equations, sets of equations, and what a model file declares: regimes, advice and validity."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from symbolic.errors import GraphError, UnknownNameError, nearest_hint
from symbolic.ops import Node, constant, reference
from symbolic.quantity import Quantity
from symbolic.statistics import StatisticName


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Regimes that exclude one another: the regime with the smallest (or largest) term holds.

    ``terms`` maps the name of each regime to a quantity, its term. ``of`` is the quantity that
    equals the smallest term, or the largest term if ``largest`` is set. (A throughput is usually
    the smallest of several limits, a time the largest.) At a *border* of two regimes, their terms
    are equal.

    A model file declares its families as ``FAMILIES``. A main output also has a family if its
    equation is a ``minimum`` or ``maximum`` of quantities, and the model yields at least one of
    them.
    """

    of: str
    terms: Mapping[str, str]
    largest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """The changes of inputs that may improve a goal, for each state (bound or case) of a model.

    A model file declares one guide, or a tuple of guides, as ``ADVICE``. If it declares none, each
    family becomes a guide: the terms of the family are the bounds, and every input on which they
    depend may help. The goal is to increase ``of``, or to decrease it if the family is ``largest``.
    A model that yields ``time`` and has no guide to the time gets one.

    Parameters:
        state (str): The quantity with flags that names the bound or case. If it is equal to
            ``limits``, the labels of the terms name the state.
        goal (str): The quantity to improve: it should rise if ``maximize`` is set, otherwise fall.
        limits (str): The quantity that equals the smallest (or largest) of several terms. At a
            border, another term becomes the smallest (or largest). Without terms, ``limits`` is
            ``goal``.
        helps (str or mapping of str to str): The moves, separated by commas, or a mapping from the
            label of each state to its moves. A move is a quantity, or several quantities joined by
            ``+`` that get the same factor.
        tied (mapping of str to tuple of str): Maps the label of a state to the labels (in the
            model's families) of the terms that bind in this state. Default: the term with the label
            of the state.
        follow (bool): Whether moves that reach a border are listed even if they do not help.
        same_work (bool): Whether a move must keep the number of elements (one per thread):
            ``blocks`` times ``threads_per_block``, up to a partial block. Counts of instructions
            are per thread.
        conditions (tuple of str): Conditions that a move may not break, such as ``launch_bytes <=
            l1_bytes``. A condition with an unknown quantity, or one that is broken already, is
            ignored.
        show (tuple of str): Quantities shown with the state.
        along (tuple of str): Quantities whose factor of change is shown for each move.
        fixed (frozenset of str): Quantities that no move may change, even if a quantity that helps
            depends on them.
        notes (mapping of str to str): Maps ``"switch=label"`` to a note that is shown if the switch
            has this label.
        suggests (mapping of str to str): Maps a quantity to the input whose best value it computes.
            A suggestion is shown if the model, or a model joined with it, yields the quantity.
        remedies (mapping of str to str): Maps a quantity, which computes the goal after some other
            change, to a number or label that describes this change.
    """

    state: str
    goal: str
    limits: str
    helps: str | Mapping[str, str]
    maximize: bool = False
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    follow: bool = False
    same_work: bool = False
    conditions: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    fixed: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)
    suggests: Mapping[str, str] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)

    def moves(self, label: str) -> tuple[tuple[str, ...], ...]:
        """Return the moves of a state: each is a tuple of quantities that are changed together.

        >>> guide = Guide(state="b", goal="t", limits="r", helps={"memory": "z, m + r"})
        >>> guide.moves("memory")
        (('z',), ('m', 'r'))
        """
        text = self.helps if isinstance(self.helps, str) else self.helps.get(label, "")
        moves = (tuple(name.strip() for name in move.split("+")) for move in text.split(","))
        return tuple(move for move in moves if move != ("",))


#: Former names of the fields of :class:`Validity`; users' model files may still use them.
_FORMER_FIELDS = {"says": "statement", "of": "quantity", "least": "minimum", "most": "maximum"}


class _FormerFields(type):
    def __call__(cls, *args: Any, **fields: Any) -> Any:
        fields = {_FORMER_FIELDS.get(name, name): value for name, value in fields.items()}
        return super().__call__(*args, **fields)


@dataclass(frozen=True, slots=True)
class Validity(metaclass=_FormerFields):
    """The range of machines for which a model is valid.

    A model file declares one range, or a tuple of ranges, as ``VALIDITY``.

    Parameters:
        statement (str): The warning for a machine outside the range. If there is no ``quantity``,
            the reason why the model has no range.
        quantity (str): A quantity of machine files, such as the levels of cache or the release
            year.
        minimum, maximum (float): The range of valid values.
    """

    statement: str
    quantity: str = ""
    minimum: float = -math.inf
    maximum: float = math.inf

    def is_valid_for(self, value: float) -> bool:
        """True if the model is valid for a machine with this value of ``quantity``."""
        return self.minimum <= value <= self.maximum


@dataclass(frozen=True, kw_only=True)
class Equation:
    """One published formula. Calling it calls the function from which it was made.

    The fields are the parameters of :func:`equation`. If the function was built from a formula at
    run time, ``formula`` is a text that identifies it.
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

    def copy_as(self, name: str, *inputs: str, **changes: Any) -> Equation:
        """Return a copy that computes ``name`` from ``inputs``; ``changes`` sets further fields."""
        if "when" in changes:
            changes["when"] = _label_texts(changes["when"])
        return replace(self, name=name, inputs=inputs, **changes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the value of the function; inputs are given by position or by their names."""
        rest = self.inputs[len(args) :]
        if kwargs and kwargs.keys() == set(rest):  # the inputs of a copy differ from the parameters
            return self.function(*args, *(kwargs[name] for name in rest))
        return self.function(*args, **kwargs)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @cached_property
    def node(self) -> Node:
        """Return the equation as a tree over the names of its inputs."""
        try:
            return constant(self.function(*map(reference, self.inputs)))
        except (TypeError, ArithmeticError, AttributeError, LookupError, NameError) as error:
            raise GraphError(
                f"the equation {self.describe()} cannot be recorded: {error}"
            ) from None

    @property
    def switch_text(self) -> str:
        """Return the switch labels for which the equation is used, as text."""
        return ", ".join(f"{name}={label}" for name, label in self.when.items())

    def describe(self) -> str:
        """Return the name, switches, source and module of the equation, for messages."""
        switches = f" [{self.switch_text}]" if self.when else ""
        source = f" ({self.source})" if self.source else ""
        return f"{self.name}{switches}{source} of {self.function.__module__}"

    @property
    def doc(self) -> str:
        """Return the docstring of the function."""
        return inspect.getdoc(self.function) or ""


def label_text(value: object) -> str:
    """Return the label of a switch as text; truth values are ``true`` and ``false``."""
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _label_texts(when: Mapping[str, object]) -> dict[str, str]:
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

    Parameters:
        source (str): Paper and equation number.
        when (mapping, optional): Labels of switches for which this equation is used, e.g.
            ``{"printed": True}``.
        flags (mapping of int to str, optional): If the quantity is a case or bound: the meaning of
            each of its values.
        symbol (str): LaTeX of the paper's symbol.
        table (bool): Evaluate the function once for each distinct combination of inputs, before the
            grid.
        unit, meaning, domain (str): Unit, meaning and domain of the yielded quantity, if the table
            of quantities lacks it.
        name (str): The yielded quantity, if it is not the function's name (variants in one file).
        inputs (sequence of str): The input quantities, if the function takes any number of values
            (``*values``).

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
            when=_label_texts(when or {}),
            flags=dict(flags or {}),
            symbol=symbol,
            table=table,
            unit=unit,
            meaning=meaning,
            domain=domain,
        )

    return wrap if function is None else wrap(function)


def equations_of(module: ModuleType) -> tuple[Equation, ...]:
    """Return the equations that a module defines, in the order of their definition."""
    return tuple(value for value in vars(module).values() if isinstance(value, Equation))


@dataclass(frozen=True, slots=True, kw_only=True)
class EquationSet:
    """The content of a model: its equations, quantities, rules and declarations.

    ``symbols`` maps inputs to the LaTeX symbols of the papers; a model file declares them as
    ``SYMBOLS``. ``fitted`` are the inputs that a calibration fits by default, declared as
    ``FITTED``. ``files`` are the user's model files, as pairs of name and SHA-256 of the bytes.
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
    fitted: tuple[str, ...] = ()
    summary: str = ""

    @property
    def regime_families(self) -> tuple[Family, ...]:
        """Return the declared families, and those that follow from the outputs' equations."""
        result = {family.of: family for family in self.families}
        yielded = {eq.name for eq in self.equations}
        for eq in self.equations:
            if eq.name not in self.outputs or eq.name in result or eq.table:
                continue
            if (node := eq.node).op not in ("minimum", "maximum"):
                continue
            terms = {arg.args[0]: arg.args[0] for arg in node.args if arg.op == "reference"}
            if len(terms) == len(node.args) and not yielded.isdisjoint(terms):
                result[eq.name] = Family(of=eq.name, terms=terms, largest=node.op == "maximum")
        return tuple(result.values())

    def quantity(self, name: str) -> Quantity:
        """Return a quantity or statistic by name; an error for an unknown name suggests another."""
        if isinstance(name, StatisticName):
            return name.quantity
        result = self.quantities.get(name)
        if result is None:
            hint = nearest_hint(name, self.quantities)
            raise UnknownNameError(f"{name!r} is no quantity of the model {self.name}{hint}")
        return result

    @property
    def symbols_by_name(self) -> dict[str, str]:
        """Return the papers' symbols of inputs, and of the quantities that equations yield."""
        yielded = {eq.name: eq.symbol for eq in reversed(self.equations) if eq.symbol}
        return {**self.symbols, **yielded}

    @property
    def names_by_symbol(self) -> dict[str, str]:
        """Return the quantities by the symbols that stand for one quantity each, and are no name.

        >>> from symbolic.library import load_model
        >>> load_model("transit").names_by_symbol["n"]
        'threads'
        """
        symbols = self.symbols_by_name
        uses = Counter([*self.quantities, *symbols.values()])
        return {symbol: name for name, symbol in symbols.items() if uses[symbol] == 1}

    def variants(self, name: str) -> tuple[Equation, ...]:
        """Return the equations that yield a quantity under any labels of the switches."""
        return tuple(eq for eq in self.equations if eq.name == name)

    @property
    def yields(self) -> tuple[str, ...]:
        """Return the quantities for which there is an equation, in the order of the paper."""
        return tuple(dict.fromkeys(eq.name for eq in self.equations))

    @property
    def citations(self) -> tuple[str, ...]:
        """Return the distinct sources of the equations, in the order of the equations."""
        return tuple(dict.fromkeys(eq.source for eq in self.equations if eq.source))
