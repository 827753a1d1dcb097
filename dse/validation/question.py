"""What a validation is asked, and what is given for all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.fitting.columns import Named
from dse.fitting.rows import Rows
from dse.inputs import Parts, read_parts
from symbolic.errors import DseError
from symbolic.model import Model

#: Left out by itself where ``leave_out`` says so.
ROW = "row"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What :func:`dse.validate` is asked; its parameters say what each is."""

    model: str | Model
    data: Any
    to: str | None
    columns: Named
    entries: Mapping[str, str | None]
    given: Mapping[str, Any]
    free: Sequence[str]
    own: Mapping[str, Sequence[str]]
    start: Mapping[str, Any] | None
    bounds: Mapping[str, Sequence[Any]] | None
    residuals: str
    leave_out: Sequence[str]
    per: Sequence[str]
    folds: int
    within: Sequence[str]
    choose: Sequence[str]
    draws: tuple[int, int] | None
    budget: int
    along: str | None
    baselines: Mapping[str, str]
    orders: Mapping[str, str]
    interval: float
    prefer: str | None

    def __post_init__(self) -> None:
        if self.orders and not (self.within or self.draws):
            raise DseError(
                f"{', '.join(self.orders)} would choose a configuration: say with within= among "
                "which rows"
            )
        if len(self.own) > 1:
            raise DseError(f"own names the columns {', '.join(self.own)}: expected one")
        if self.fitted and not self.leave_out:
            raise DseError(
                f"{', '.join(self.fitted)} would be fitted to the rows that are predicted: say "
                "with leave_out= which rows are left out together, a column, or 'row'"
            )
        if not 0 < self.interval < 1:
            raise DseError(f"interval = {self.interval}: expected a share between 0 and 1")
        for name, least in (("folds", 2), ("budget", 1)):
            if getattr(self, name) < least:
                raise DseError(f"{name} = {getattr(self, name)}: expected {least} or more")
        if self.draws is not None and min(self.draws) < 1:
            raise DseError(f"draws = {self.draws}: expected how many, and rows of each")

    @property
    def owned(self) -> tuple[str, Sequence[str]]:
        """The column whose labels have values of their own, and of which quantities."""
        return next(iter(self.own.items()))

    @property
    def fitted(self) -> tuple[str, ...]:
        """All quantities that are fitted."""
        return (*self.free, *(name for names in self.own.values() for name in names))

    @property
    def how(self) -> str:
        """What is known of rows when they are predicted."""
        if not self.leave_out:
            return "nothing learnt from rows"
        what = " and ".join(self.leave_out)
        names = ", ".join(self.free)
        for column, own in self.own.items():
            names += f"{', ' if names else ''}{', '.join(own)} of each {column}"
        return f"each {what} left out, {f'{names} fitted to the others' if names else 'as given'}"


def parts_of(question: Question, model: Model, rows: Rows, free: Sequence[str] = ()) -> Parts:
    """What is given for all rows, besides their columns and what is free."""
    for name in question.given:
        if name in rows.inputs or name in rows.measured:
            raise DseError(f"{name} is a column and set: keep one of them")
    return read_parts(
        model,
        [rows.axis] if rows.workloads else (),
        entries=question.entries,
        given=question.given,
        replaced=(*rows.inputs, *rows.measured, *free),
    )
