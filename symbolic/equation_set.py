"""A named set of equations, with the quantities it adds, its main outputs and regimes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from symbolic.equation import Equation
from symbolic.errors import UnknownNameError, nearest
from symbolic.quantity import Quantity
from symbolic.statistic import StatisticName

__all__ = ["EquationSet", "Family", "Guide", "Validity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Regimes that exclude one another, told apart by which of several terms is the extreme one.

    ``terms`` maps the regime's name to the quantity whose value decides; ``of`` is the quantity
    that equals the smallest term, or the largest where ``largest`` says so (throughputs are the
    smallest of several, times the largest). A *border* between two regimes is where their terms
    are equal.

    A model file declares its families as ``FAMILIES``. Others its equations tell: each main output
    that is the ``minimum`` or ``maximum`` of names alone, at least one of which it yields, is a
    family by these names.
    """

    of: str
    terms: Mapping[str, str]
    largest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """What helps in each bound or case of a model; a model file declares it as ``ADVICE``.

    Several make a tuple. Of a model that declares none, each family is advised on: its terms name
    the bound, every input behind them may help, and what is the smallest of several should rise,
    the largest fall.

    Parameters
    ----------
    state : str
        The quantity with flags that names the bound or case, or ``limits``: its terms name it.
    goal : str
        What should improve; ``maximize`` says whether it should rise.
    limits : str
        The quantity that equals the smallest (or largest) of several terms; a border is where
        another term becomes the smallest (or largest). The ``goal`` where nothing competes.
    helps : str or mapping of str to str
        The moves, for all states or by the label of each, with commas between: quantities moved
        one at a time, or several joined by ``+`` that move together by one factor.
    tied : mapping of str to tuple of str
        The terms, by their labels in the model's families, that bind in a state; the one of the
        state's own label where it is not named.
    follow : bool
        Whether moves that reach a border are told even where they do not help.
    show : tuple of str
        Quantities told with the state.
    along : tuple of str
        Quantities of which each move tells the factor by which they change.
    fixed : frozenset of str
        Quantities never advised, though a quantity that helps may depend on them.
    notes : mapping of str to str
        What to say under a switch, by ``"name=label"``.
    suggests : mapping of str to str
        Quantities that say in closed form what an input should be, and that input; those that the
        model, or a model it is joined with, yields are told.
    remedies : mapping of str to str
        Quantities that say what the goal would be if something else were done, and the number or
        label that says what.
    """

    state: str
    goal: str
    limits: str
    helps: str | Mapping[str, str]
    maximize: bool = False
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    follow: bool = False
    show: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    fixed: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)
    suggests: Mapping[str, str] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)

    def moves(self, label: str) -> tuple[tuple[str, ...], ...]:
        """The moves of a state, each as the quantities that move together.

        >>> guide = Guide(state="b", goal="t", limits="r", helps={"memory": "z, m + r"})
        >>> guide.moves("memory")
        (('z',), ('m', 'r'))
        """
        text = self.helps if isinstance(self.helps, str) else self.helps.get(label, "")
        moves = (tuple(name.strip() for name in move.split("+")) for move in text.split(","))
        return tuple(move for move in moves if move != ("",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Validity:
    """Where a model holds; a model file declares it, or a tuple of several, as ``VALIDITY``.

    Parameters
    ----------
    says : str
        What a study is told whose machine is beyond it; without ``of``, why none is.
    of : str
        A quantity that a machine's file tells, such as its levels of cache or its year.
    least, most : float
        Between which values the model is meant.
    """

    says: str
    of: str = ""
    least: float = -math.inf
    most: float = math.inf

    def holds(self, value: float) -> bool:
        """Whether the model is meant for such a machine."""
        return self.least <= value <= self.most


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
