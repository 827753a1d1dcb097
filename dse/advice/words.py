"""Advice as data and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dse.wording import value_text
from symbolic.errors import DseError

__all__ = ["Advice", "Move", "Suggestion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One quantity moved in one direction, until the first border on the way.

    Attributes
    ----------
    quantity : str
        The input to move; those of ``together`` move with it, by the same factor.
    direction : str
        ``"raise"`` or ``"lower"``.
    value, until : float
        Where it stands, and where the first next bound is reached: the border itself, or for a
        whole quantity the first number beyond. Where no bound follows, the end of the way: that of
        the domain (maybe infinite), or the last value that breaks no rule.
    next_bound : str or None
        The bound or case beyond, None where none follows; the same as now where only the smallest
        term changes.
    next_limiter : tuple of str
        The smallest terms beyond.
    gain : float
        The factor by which the goal improves on the way, below 1 where it worsens: the ratio of
        what :func:`dse.evaluate` gives at ``until`` and at ``value``, or its limit.
    helps : bool
        Whether the goal improves.
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
    helps: bool
    equation: str
    source: str
    limit: str = ""

    def __str__(self) -> str:
        name = " with ".join(
            [self.quantity, *([", ".join(self.together)] if self.together else [])]
        )
        start, until = value_text(self.value, self.unit), value_text(self.until, self.unit)
        text = f"{self.direction} {name} from {start} to {until}"
        if self.next_bound is None:
            text += f": no other bound follows{f', up to {self.limit}' if self.limit else ''}"
        else:
            named = self.next_limiter == (self.next_bound,)
            by = "" if named else f", limited by {' and '.join(self.next_limiter)}"
            text += f": then {self.next_bound}{by}"
        return f"{text}; gain {self.gain:.6g}   [{self.equation}; {self.source}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """What an input should be by an equation of the model, in closed form.

    Attributes
    ----------
    quantity, meaning, unit, source : str
        What says it, what that means, its unit and where its equation is published.
    value : float
    of, of_unit : str
        The input it is for, and its unit.
    now : float
        Where that input stands.
    gain : float or None
        The factor by which the goal improves where the input takes the value alone; None where it
        cannot: it is computed from others, or the suggestion is a factor.
    """

    quantity: str
    meaning: str
    unit: str
    value: float
    of: str
    of_unit: str
    now: float
    gain: float | None
    source: str

    def __str__(self) -> str:
        value, now = value_text(self.value, self.unit), value_text(self.now, self.of_unit)
        gain = "" if self.gain is None else f"; gain {self.gain:.6g}"
        text = f"{self.quantity} = {value} ({self.of} is {now}): {self.meaning}"
        return f"{text}{gain}   [{self.source}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """The bound or case of a configuration, and the moves out of it, the most helpful first.

    Attributes
    ----------
    state, bound : str
        The quantity that names the bound or case, and what it says.
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

    def to_dict(self) -> dict[str, Any]:
        """The advice as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.state}: {self.bound}"]
        terms = ", ".join(f"{name} {value:.6g}" for name, value in self.terms.items())
        values = (f"{name} = {value_text(v, self.units[name])}" for name, v in self.values.items())
        lines.append(f"  limited by {' and '.join(self.limiter)} (of {terms})")
        lines.append("  " + ", ".join(values))
        helpful = [str(move) for move in self.moves if move.helps]
        lines.append(f"what improves {self.goal}:" if helpful else f"nothing improves {self.goal}")
        lines += [f"  {text}" for text in helpful]
        others = [str(move) for move in self.moves if not move.helps]
        lines += ["other borders:", *(f"  {text}" for text in others)] if others else []
        told = [str(suggestion) for suggestion in self.suggestions]
        lines += ["in closed form:", *(f"  {text}" for text in told)] if told else []
        return "\n".join([*lines, *self.notes])
