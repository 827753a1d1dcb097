"""A named set of equations, with the quantities it adds, its main outputs and regimes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symbolic.equation import Equation
from symbolic.errors import UnknownNameError, nearest
from symbolic.quantity import Quantity
from symbolic.statistic import StatisticName

if TYPE_CHECKING:
    from symbolic.guides import Family, Guide, Validity

__all__ = ["EquationSet"]


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
        from symbolic.guides import Family

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
