"""Advice as data and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from symbolic.answer import Answer, DisplayMixin, Report, Table, value_text
from symbolic.errors import DseError
from symbolic.quantity import LEVERS

#: What is said of a gain that the equations of no case give.
ARTEFACT = "gains only because the equations of two cases do not meet at their border"


def _gain_text(gain: float, as_limit: bool = False) -> str:
    if math.isinf(gain):
        return "gain without limit"
    return f"gain {'tends to ' * as_limit}{gain:.6g}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Move(DisplayMixin):
    """One quantity moved in one direction, until the first border on the way.

    Attributes
    ----------
    quantity : str
        The input to move; those of ``together`` move with it, by the same factor.
    direction : str
        ``"raise"`` or ``"lower"``.
    value, until : float
        Where it stands, and where the way ends: at the first next bound, which is the border itself
        or, for a whole quantity, the first number beyond; at the last value that the domain and
        every rule allow; or where the goal is best before either. NaN where nothing ends it.
    next_bound : str or None
        The bound or case beyond, None where none follows; the same as now where only the smallest
        term changes.
    next_limiter : tuple of str
        The smallest terms beyond.
    gain : float
        The factor by which the goal improves on the way, below 1 where it worsens: the ratio of
        what :func:`dse.evaluate` gives at ``until`` and at ``value``, or its limit.
    along : mapping of str to float
        The factors by which other quantities change on the way, where the guide names any.
    helps : bool
        Whether the goal improves, and not as an artefact.
    artefact : bool
        Whether there is a gain only because the equations of two cases do not meet at their border:
        those of neither case give one.
    lever : str
        Whose move it is, the ``"programmer"``'s or the ``"designer"``'s of the machine.
    equation, source : str
        The quantity whose equation decides the border, and where it is published.
    limit : str
        What ends the way where no bound does.
    """

    quantity: str
    together: tuple[str, ...] = ()
    unit: str
    direction: str
    value: float
    until: float
    next_bound: str | None
    next_limiter: tuple[str, ...]
    gain: float
    along: Mapping[str, float] = field(default_factory=dict)
    helps: bool
    artefact: bool = False
    lever: str
    equation: str
    source: str
    limit: str = ""

    def _answer(self) -> Answer:
        return Answer(kind="Move", title=str(self))

    def __str__(self) -> str:
        name = " with ".join(
            [self.quantity, *([", ".join(self.together)] if self.together else [])]
        )
        text = f"{self.direction} {name} from {value_text(self.value, self.unit)}"
        if not math.isnan(self.until):
            text += f" to {value_text(self.until, self.unit)}"
        if self.next_bound is None:
            endless = "and no limit is known" if self.direction == "raise" else "down towards 0"
            text += f": no other bound follows, {f'up to {self.limit}' if self.limit else endless}"
        else:
            named = self.next_limiter == (self.next_bound,)
            by = "" if named else f", limited by {' and '.join(self.next_limiter)}"
            text += f": then {self.next_bound}{by}"
        text += f"; {_gain_text(self.gain, math.isnan(self.until))}"
        text += "".join(f", {name} x {factor:.6g}" for name, factor in self.along.items())
        return f"{text}   [{self.equation}; {self.source}]"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Suggestion(DisplayMixin):
    """What an input should be by an equation of the model, or what else could be done.

    Attributes
    ----------
    quantity, meaning, unit, source : str
        What says it, what that means, its unit and where its equation is published.
    value : float or str
    of, of_unit : str
        The input it is for, or the goal, and its unit.
    now : float
        Where that stands.
    gain : float or None
        The factor by which the goal improves where the input takes the value alone; None where it
        cannot: it is computed from others, or the suggestion is a factor.
    artefact : bool
        As of a :class:`Move`.
    """

    quantity: str
    meaning: str
    unit: str
    value: float | str
    of: str
    of_unit: str
    now: float
    gain: float | None
    artefact: bool = False
    source: str

    def _answer(self) -> Answer:
        return Answer(kind="Suggestion", title=str(self))

    def __str__(self) -> str:
        value, now = value_text(self.value, self.unit), value_text(self.now, self.of_unit)
        gain = "" if self.gain is None else f"; {_gain_text(self.gain)}"
        gain += f", which {ARTEFACT}" * self.artefact
        text = f"{self.quantity} = {value} ({self.of} is {now}): {self.meaning}"
        return f"{text}{gain}   [{self.source}]"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Advice(Report):
    """The bound or case of a configuration, and the moves out of it, the most helpful first.

    Attributes
    ----------
    state, bound : str
        The quantity that names the bound or case, and what it says; of a model where nothing
        competes, the goal.
    goal : str
        What the gains are of.
    limiter : tuple of str
        The smallest of ``terms`` (several at a tie).
    terms : mapping of str to float
        What competes to be the smallest, with the values.
    values : mapping of str to float
        The goal and the quantities that tell the state.
    units : mapping of str to str
        Of the values.
    moves : tuple of Move
    suggestions : tuple of Suggestion
    notes : tuple of str
    """

    state: str
    bound: str
    goal: str
    limiter: tuple[str, ...]
    terms: Mapping[str, float]
    values: Mapping[str, float]
    units: Mapping[str, str]
    moves: tuple[Move, ...]
    suggestions: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()

    def __getitem__(self, quantity: str) -> Move:
        """The first move of a quantity."""
        for move in self.moves:
            if move.quantity == quantity:
                return move
        known = ", ".join(dict.fromkeys(move.quantity for move in self.moves)) or "none"
        raise DseError(f"no advice on {quantity!r} here; there is on: {known}")

    def _answer(self) -> Answer:
        title = self.goal if self.bound == self.goal else f"{self.state}: {self.bound}"
        if set(self.terms) != {self.goal}:
            terms = ", ".join(f"{name} {value:.6g}" for name, value in self.terms.items())
            title += f", limited by {' and '.join(self.limiter)} (of {terms})"
        helpful = [move for move in self.moves if move.helps]
        parts: dict[str, list[Move] | tuple[Suggestion, ...]] = {}
        for lever in LEVERS:
            heading = f"what improves {self.goal}" + f", for the {lever}" * (lever != LEVERS[0])
            parts[heading] = [move for move in helpful if move.lever == lever]
        parts[ARTEFACT] = [move for move in self.moves if move.artefact]
        parts["other borders"] = [m for m in self.moves if not (m.helps or m.artefact)]
        parts["in closed form"] = self.suggestions
        no_help = [] if helpful else [f"no move improves {self.goal}"]
        return Answer(
            kind="Advice",
            title=title,
            facts={n: value_text(value, self.units[n]) for n, value in self.values.items()},
            tables=[
                Table(title=title, rows=[[str(one)] for one in each], is_open=place == 0)
                for place, (title, each) in enumerate(parts.items())
            ],
            notes=[*no_help, *self.notes],
        )
