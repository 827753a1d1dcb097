"""What a set of equations says of its use: families of figures, advice, where it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


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
