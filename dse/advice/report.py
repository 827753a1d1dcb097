"""Advice as data and as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from symbolic.answer import Answer, DisplayMixin, Report, Table, common_prefix, value_text
from symbolic.errors import DseError
from symbolic.quantity import LEVERS

#: Explanation of a gain that arises only from the jump between the equations of two cases.
ARTEFACT = "gains only because the equations of two cases do not meet at their border"
#: Moves with a smaller gain are not shown.
_LEAST_GAIN = 1.001


def _gain_text(gain: float, as_limit: bool = False) -> str:
    if math.isinf(gain):
        return "gain without limit"
    return f"gain {'tends to ' * as_limit}{gain:.6g}"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Move(DisplayMixin):
    """One quantity moved in one direction, up to the first border.

    Attributes:
        quantity: The input to move; the inputs in ``together`` move with it, by the same factor.
        meaning: What the quantity is.
        direction: ``"raise"`` or ``"lower"``.
        value, until: Start and end of the move. It ends at the first of these: the next bound (the
            border itself, or the first whole number beyond); the last value that the domain and all
            rules allow; the value where the goal is best. ``until`` is NaN if the move has no end.
        next_bound, next_limiter: The bound or case after the move, and its limiting terms; None if
            no other bound follows. If only the limiting terms change, ``next_bound`` is the present
            bound.
        gain: Factor by which the goal improves, below 1 if it worsens: the ratio of the results of
            :func:`dse.evaluate` at ``until`` and ``value``, or its limit.
        along: Factors by which other quantities change, if the model's guide names any.
        helps, artefact: ``helps``: the goal improves. ``artefact``: it improves only because the
            equations of two cases do not meet at their border; ``helps`` is then False.
        lever: Who can make the move: ``"programmer"``, or ``"designer"`` of the machine.
        equation, source: The quantity whose equation decides the border, and its publication.
        limit: What ends the move if no bound does.
        end, end_gain, end_limit: ``until``, ``gain`` and ``limit``; if the goal improves by more
            than 1 % past the border: those of the place where the gain saturates.
        jump: Text with the two values of the goal where the next case begins, by the equations of
            this case and of the next; empty if the values are equal.
    """

    quantity: str
    meaning: str = ""
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
    jump: str = ""
    end: float
    end_gain: float
    end_limit: str

    def _answer(self) -> Answer:
        return Answer(kind="Move", title=str(self))

    def value_text(self, value: float) -> str:
        """Return a value as text, in the unit of the start of the move unless it is far away."""
        prefix = common_prefix([self.value], self.unit)
        is_near = 0.01 <= abs(value) / prefix[0] < 9999.5
        return value_text(value, self.unit, prefix if is_near else None)

    def __str__(self) -> str:
        name = self.quantity + (f" with {', '.join(self.together)}" if self.together else "")
        text = f"{self.direction} {name} from {self.value_text(self.value)}"
        if not math.isnan(self.until):
            text += f" to {self.value_text(self.until)}"
        if self.next_bound is None:
            endless = "and no limit is known" if self.direction == "raise" else "down towards 0"
            text += f": no other bound follows, {f'up to {self.limit}' if self.limit else endless}"
        else:
            named = self.next_limiter == (self.next_bound,)
            by = "" if named else f", limited by {' and '.join(self.next_limiter)}"
            text += f": then {self.next_bound}{by}"
        text += f"; {_gain_text(self.gain, math.isnan(self.until))}"
        text += f"; {self.jump}" * bool(self.jump)
        text += "".join(f", {name} x {factor:.6g}" for name, factor in self.along.items())
        if self.end_limit != self.limit:
            text += f"; {_gain_text(self.end_gain)} up to {self.value_text(self.end)}"
            text += f", {self.end_limit}"
        return f"{text}   [{self.equation}; {self.source}]"


def meanings_table(moves: Iterable[Move]) -> Table:
    """Return a table of what the quantities of moves are."""
    meanings = {move.quantity: move.meaning for move in moves if move.meaning}
    return Table(title="these quantities are", rows=[*meanings.items()])


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Suggestion(DisplayMixin):
    """A value that an equation of the model suggests for an input, or another remedy.

    Attributes:
        quantity, meaning, unit, source: The suggesting quantity, its meaning and unit, and the
            publication of its equation.
        of, of_unit: Name and unit of the input to set, or of the goal if the suggestion is a
            remedy.
        now: The current value of ``of``.
        gain: Factor by which the goal improves if the input takes this value; None if the input
            cannot be moved, or if the suggestion has another unit.
        artefact: See :class:`Move`.
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
    """The bound or case of a configuration, and the moves that leave it, most helpful first.

    Attributes:
        state, bound: ``state``: the quantity that names the bound or case. ``bound``: the value of
            ``state``, or the name of the goal if no terms compete.
        goal: The quantity that gains refer to.
        limiter: The smallest of ``terms`` (several at a tie).
        terms: The competing terms with their values.
        values, units: The goal and the quantities that give the state, with their units.
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
        """Return the first move of a quantity."""
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
        listed = [move for move in helpful if move.end_gain >= _LEAST_GAIN]
        parts: dict[str, list[Move] | tuple[Suggestion, ...]] = {}
        for lever in LEVERS:
            heading = f"what improves {self.goal}" + f", for the {lever}" * (lever != LEVERS[0])
            parts[heading] = [move for move in listed if move.lever == lever]
        parts[ARTEFACT] = [move for move in self.moves if move.artefact]
        parts["other borders"] = [m for m in self.moves if not (m.helps or m.artefact)]
        parts["in closed form"] = self.suggestions
        few = len(helpful) - len(listed)
        least = f"{100 * (_LEAST_GAIN - 1):.1g} %"
        hidden = f"{few} moves gain less than {least} each (--json lists them)"
        no_help = ([] if helpful else [f"no move improves {self.goal}"]) + [hidden] * (few > 0)
        return Answer(
            kind="Advice",
            title=title,
            facts={n: value_text(value, self.units[n]) for n, value in self.values.items()},
            tables=[
                Table(title=title, rows=[[str(entry)] for entry in each], is_open=place == 0)
                for place, (title, each) in enumerate(parts.items())
            ]
            + [meanings_table(listed)],
            notes=[*no_help, *self.notes],
        )
