"""The classes of quantities and their domains, and functions that declare quantities."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np

from symbolic.errors import DomainError


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The possible values of a quantity: an interval of real or of whole numbers."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = True
    high_open: bool = True
    whole: bool = False

    @classmethod
    @cache
    def parse(cls, text: str) -> Domain:
        """Parse a domain that is written as ``"[0, inf)"`` or ``"whole [1, inf)"``."""
        body = text.removeprefix("whole").strip()
        try:
            low, high = (float(part) for part in body[1:-1].split(","))
            if body[0] not in "[(" or body[-1] not in "])" or not low <= high:
                raise ValueError(text)
        except (ValueError, IndexError):
            raise DomainError(
                f"{text!r} is no domain: expected an interval such as '[0, inf)', '(0, 1]' "
                "or 'whole [1, inf)'"
            ) from None
        return cls(
            low=low,
            high=high,
            low_open=body[0] == "(",
            high_open=body[-1] == ")",
            whole=text.startswith("whole"),
        )

    def is_inside(self, values: Any) -> Any:
        """Return a mask of the values inside the domain; it is False for NaN."""
        array = values if isinstance(values, float) else np.asarray(values, dtype=float)
        above = array > self.low if self.low_open else array >= self.low
        below = array < self.high if self.high_open else array <= self.high
        inside = above & below
        if self.whole:
            inside &= (np.floor(array) == array) | np.isinf(array)
        return inside

    def contains(self, value: float) -> bool:
        """True if a value lies inside the domain."""
        return bool(self.is_inside(value))

    def __str__(self) -> str:
        left, right = "[("[self.low_open], "])"[self.high_open]
        return f"{'whole ' if self.whole else ''}{left}{self.low:g}, {self.high:g}{right}"


LEVERS = ("programmer", "designer")
#: Directions in which advice may change a quantity. "up" is for a resource: more of it never costs
#: time. "down" is for a latency or another cost. "none" is for a size of the problem, a
#: condition of measurements, a fitted number, or an allocation unit: one that divides no size
#: would only lower the occupancy.
DIRECTIONS = ("both", "up", "down", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A quantity: one row of the table of quantities.

    ``labels`` is None for a number. A tuple of labels makes the quantity a *switch*, which chooses
    among equations while the graph is built; an empty tuple admits any label (such quantities are
    inputs of table equations only). ``default`` is a number, a label, or the name of another
    quantity. ``axis_labels`` are the labels of a study's axis, in order, for use in conditions. For
    a case or bound, ``flags`` maps each value to its meaning. ``lever`` says who can change the
    quantity, the ``programmer`` or the ``designer`` of the machine; ``direction`` is one of
    ``DIRECTIONS``. If ``is_law``, the values are probability laws: a formula of the quantity has no
    single value, but it has statistics. ``text_unit`` is the unit in texts, such as FLOP/s for
    values in 1/s. Advice gives multiples of the quantity ``step``.

    The first label of a switch may be ``auto``. It means the last label if all quantities in
    ``settled_by`` are given, and otherwise the label before the last; this is decided separately
    for each label of a categorical axis.
    """

    name: str
    unit: str = ""
    domain: Domain = field(default_factory=Domain)
    default: float | str | None = None
    typical: tuple[float, float] | None = None
    meaning: str = ""
    labels: tuple[str, ...] | None = None
    settled_by: tuple[str, ...] = ()
    axis_labels: tuple[str, ...] = ()
    flags: tuple[tuple[int, str], ...] = ()
    lever: str = "programmer"
    direction: str = "both"
    is_law: bool = False
    text_unit: str = ""
    step: str = ""

    @property
    def is_switch(self) -> bool:
        """True if the quantity chooses among equations."""
        return bool(self.labels)

    @property
    def is_label(self) -> bool:
        """True if the values of the quantity are labels, not numbers."""
        return self.labels is not None

    def check(self, values: Any, origin: str) -> None:
        """Raise a :class:`DomainError` that names the first value outside the domain, if any.

        The message says that the values come from ``origin``.
        """
        inside = self.domain.is_inside(values)
        if inside is True or np.all(inside):
            return
        array = np.asarray(values, dtype=float)
        place = np.argwhere(~np.atleast_1d(inside))[0]
        value = np.atleast_1d(array)[tuple(place)]
        where = f" at index {', '.join(map(str, place))}" if array.ndim else ""
        unit = f" {self.unit}" if self.unit else ""
        raise DomainError(
            f"{self.name} = {value:g}{unit}{where} ({origin}) is outside its domain "
            f"{self.domain}{unit}: give a value inside it"
        )


_LABEL_INDEX = "PLACE_OF_"


def label_index_name(name: str) -> str:
    """Return the name that formulas use for the index of a quantity's label."""
    return _LABEL_INDEX + name


def indexed_quantity(name: str) -> str:
    """Return the quantity whose label index has this name; return any other name unchanged."""
    return name.removeprefix(_LABEL_INDEX)


def quantity(
    name: str,
    *,
    unit: str = "",
    domain: str = "(-inf, inf)",
    default: float | str | None = None,
    typical: tuple[float, float] | None = None,
    meaning: str = "",
    labels: tuple[str, ...] | None = None,
    lever: str = "programmer",
    direction: str = "both",
) -> Quantity:
    """Declare a quantity of a model that the table of quantities does not contain.

    Parameters:
        name (str): Lower-case name; the equation that yields the quantity, if any, has the same
            name.
        unit (str): The SI unit in which values are stored; ``""`` for counts and ratios. Texts show
            ``"FLOP/s"`` and ``"OP/s"``, stored in 1/s, and ``"FLOP/B"``, stored in 1/B.
        domain (str): An interval such as ``"(0, inf)"``, with ``whole`` in front for whole numbers.
        default (float or str, optional): The value if none is given: a number, a label, or another
            quantity's name.
        typical ((float, float), optional): A usual range, from which test inputs are drawn.
        meaning (str): A short description.
        labels (tuple of str, optional): Labels, which make the quantity a switch.
        lever (str): Who can change the quantity, for advice: ``"programmer"``, or ``"designer"`` of
            the machine.
        direction (str): Which way advice moves it: ``"both"``, ``"up"`` (more of it never costs
            time), ``"down"``, or ``"none"`` (a size of the problem).

    >>> quantity("base_power", unit="W", domain="[0, inf)").domain.contains(-1)
    False
    """
    if not name.isidentifier() or name != name.lower():
        raise DomainError(f"{name!r} is no quantity name: use lower-case letters, digits and _")
    if lever not in LEVERS:
        raise DomainError(f"lever={lever!r} of {name}: expected one of {', '.join(LEVERS)}")
    if direction not in DIRECTIONS:
        known = ", ".join(DIRECTIONS)
        raise DomainError(f"direction={direction!r} of {name}: expected one of {known}")
    return Quantity(
        name=name,
        unit={"FLOP/s": "1/s", "OP/s": "1/s", "FLOP/B": "1/B"}.get(unit, unit),
        text_unit=unit,
        domain=Domain.parse(domain),
        default=default,
        typical=typical,
        meaning=meaning,
        labels=labels,
        lever=lever,
        direction=direction,
    )


def row(
    name: str,
    unit: str,
    domain: str,
    meaning: str,
    typical: tuple[float, float] | None = None,
    default: float | str | None = None,
    lever: str = "programmer",
    direction: str = "both",
) -> Quantity:
    """Declare a numeric quantity of the shipped models; see :func:`quantity`."""
    fields: dict[str, Any] = {"unit": unit, "domain": domain, "meaning": meaning, "lever": lever}
    return quantity(name, default=default, typical=typical, direction=direction, **fields)


#: Declare a number that the designer of a machine sets: a resource or a measured property (Hong
#: 2012, Tables 1, 2 and 5). The programmer sets all other inputs, also the number of active SMs,
#: because a grid may leave SMs idle (section 3.1).
spec = partial(row, lever="designer")

#: ``resource`` declares a resource of a machine; ``cost`` declares its latencies and other costs.
resource, cost = partial(spec, direction="up"), partial(spec, direction="down")
#: ``fact`` declares a property of a machine that advice does not move, such as a printed clock;
#: ``fit`` declares a number that was fitted to measurements of a GPU: nobody can choose it.
fact = fit = partial(spec, direction="none")
#: ``less`` declares a count of a workload: a lower count never costs time. ``size`` declares a size
#: of the problem.
less, size = partial(row, direction="down"), partial(row, direction="none")


def switch(name: str, labels: str, meaning: str, settled_by: str = "") -> Quantity:
    """Declare a switch of the shipped models; ``labels`` are separated by blanks, default first."""
    names = tuple(labels.split())
    row = quantity(name, labels=names, default=names[0], meaning=meaning)
    return replace(row, settled_by=tuple(settled_by.split()))
