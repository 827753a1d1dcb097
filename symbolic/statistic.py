"""Statistics over axes in formulas: ``mean(time)``, ``quantile(time, 0.99)``, ``worst(power)``.

A statistic is a number made of all values of a formula along some axes, so it is no primitive: it
stands in formulas as a quantity does, by a name that tells what it is made of
(:class:`StatisticName`), and is computed before whatever uses it. What is *worst*, *best* or the
tail of *cvar* depends on whether a formula should be small or large; :func:`sensed` settles it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from symbolic.errors import DseError
from symbolic.node import Node, reference, substitute, walk
from symbolic.quantity import Domain, Quantity

#: The axis of what is random, that of repeated runs, and all axes but these and those around.
DRAW, RUN, DESIGN = "draw", "run", "design"
#: Statistics by name, and whether a level follows the formula.
STATISTICS = {
    **dict.fromkeys(("mean", "std", "geomean", "chance", "error"), False),
    **dict.fromkeys(("worst", "worst_high", "worst_low", "best", "best_high", "best_low"), False),
    **dict.fromkeys(("quantile", "cvar", "cvar_high", "cvar_low"), True),
}
#: What is high where a formula should be small; the best is then low.
_BY_SENSE = {"worst": ("worst_high", "worst_low"), "cvar": ("cvar_high", "cvar_low")}
_BY_SENSE["best"] = ("best_low", "best_high")
_ASKED = {"worst": "worst", "best": "best", "cvar": "the worse tail"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statistic:
    """What a statistic is made of.

    Attributes
    ----------
    kind : str
        Which one, of :data:`STATISTICS`.
    argument : Node
        The formula; a condition for a chance, the statistic itself for its error.
    text : str
        The formula as it was written.
    axes : tuple of str
        Along which axes; ``draw`` where none was written.
    level : Fraction, optional
        Of a quantile and of a tail; ``said`` is how it was written.
    around : tuple of str
        Axes of the statistics around it, which ``design`` leaves out.
    unit : str
        The unit of its values.
    """

    kind: str
    argument: Node
    text: str
    axes: tuple[str, ...]
    level: Fraction | None = None
    said: str = ""
    around: tuple[str, ...] = ()
    unit: str = ""

    @property
    def written(self) -> str:
        """As it stands in formulas."""
        parts = [self.text, *([self.said] if self.said else [])]
        if self.axes != (DRAW,) and self.kind != "error":
            parts += self.axes
        return f"{self.kind}({', '.join(parts)})"


class StatisticName(str):
    """The name under which a statistic stands in formulas, and the statistic."""

    __slots__ = ("statistic",)

    statistic: Statistic

    def __new__(cls, text: str, statistic: Statistic) -> StatisticName:
        """The name of a statistic; see :func:`named`."""
        found = super().__new__(cls, text)
        found.statistic = statistic
        return found

    def __getnewargs__(self) -> Any:
        return str(self), self.statistic

    @property
    def row(self) -> Quantity:
        """It as a quantity."""
        about = self.statistic
        return Quantity(name=self, unit=about.unit, domain=_ANY, meaning=about.written)


_ANY = Domain.parse("[-inf, inf]")


def named(statistic: Statistic) -> StatisticName:
    """The name by which a statistic is told from all others."""
    but = f" without {', '.join(statistic.around)}" if statistic.around else ""
    return StatisticName(statistic.written + but, statistic)


def statistics_of(roots: Iterable[Node]) -> list[StatisticName]:
    """The statistics that stand in some formulas; not those within others."""
    names = (node.args[0] for node in walk(roots) if node.op == "reference")
    return list(dict.fromkeys(name for name in names if isinstance(name, StatisticName)))


def sensed(root: Node, low: bool) -> Node:
    """A formula that should be ``low``, or high: its worst, best and tails are settled by that."""
    done: dict[str, Node] = {}
    for name in statistics_of([root]):
        about = name.statistic
        if about.kind == "chance":  # its comparison has settled what stands there
            continue
        known = replaced(about, sensed(about.argument, low))
        if about.kind in _BY_SENSE:
            known = replace(known, kind=_BY_SENSE[about.kind][0 if low else 1])
        if known is not about:
            done[name] = reference(named(known))
    return substitute(root, done) if done else root


def unsensed(root: Node) -> list[StatisticName]:
    """The statistics of a formula, within others too, that do not tell what is worst or best."""
    found = []
    for name in statistics_of([root]):
        found += [name] if name.statistic.kind in _BY_SENSE else []
        found += unsensed(name.statistic.argument)
    return found


def check_sense(name: StatisticName) -> None:
    """Raise where a statistic does not tell what is worst or best."""
    for one in unsensed(reference(name)):
        kind = one.statistic.kind
        low, high = (one.replace(f"{kind}(", f"{word}(", 1) for word in _BY_SENSE[kind][::-1])
        raise DseError(
            f"{one}: it is neither to be small nor large, so that what is {_ASKED[kind]} is open: "
            f"write {low} or {high}"
        )


def replaced(statistic: Statistic, argument: Node) -> Statistic:
    """A statistic of the same formula, in which other statistics stand for those that did."""
    if argument is statistic.argument:
        return statistic
    text = statistic.text
    old, new = statistics_of([statistic.argument]), statistics_of([argument])
    for before, after in zip(old, new, strict=True):
        text = text.replace(before.statistic.written, after.statistic.written)
    return replace(statistic, argument=argument, text=text)


def surrounded(root: Node, axes: tuple[str, ...]) -> Node:
    """A formula within a statistic over some axes, which ``design`` in it leaves out."""
    done: dict[str, Node] = {}
    for name in statistics_of([root]):
        known = replaced(name.statistic, surrounded(name.statistic.argument, axes))
        if DESIGN in known.axes:
            known = replace(known, around=tuple(dict.fromkeys((*known.around, *axes))))
        if known is not name.statistic:
            done[name] = reference(named(known))
    return substitute(root, done) if done else root


def made(
    kind: str,
    argument: Node,
    text: str,
    axes: tuple[str, ...],
    *,
    level: Fraction | None,
    said: str,
    unit: str,
) -> StatisticName:
    """The name of a statistic as it was read."""
    along = axes or (DRAW,)
    inner = surrounded(argument, tuple(axis for axis in along if axis != DESIGN))
    about = Statistic(
        kind=kind, argument=inner, text=text, axes=along, level=level, said=said, unit=unit
    )
    return named(about)
