"""A model: a set of equations, and what it is asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symbolic.equation import EquationSet, label_text
from symbolic.errors import DseError, nearest
from symbolic.ops import references
from symbolic.visible import Card, Fold, Visible

if TYPE_CHECKING:
    from symbolic.graph import Graph
    from symbolic.guides import Family, Guide, Validity
    from symbolic.regimes import Regime

__all__ = ["Family", "Guide", "Model", "Validity"]


def __getattr__(name: str) -> Any:
    """What models declare of their use, loaded where one declares it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from symbolic import guides

    return getattr(guides, name)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Model(Visible, EquationSet):
    """A named set of equations; made by :func:`symbolic.library.load_model`.

    Switches are keyword arguments of its methods, with their labels or truth values:
    ``model.closed_form("mwp", printed=True)``. Those not named keep their default.
    """

    def _card(self) -> Card:
        yielded, header = set(self.yields), ("quantity", "unit", "meaning")
        inputs = dict.fromkeys(n for eq in self.equations for n in eq.inputs if n not in yielded)
        named = {"outputs": self.outputs, "inputs": tuple(inputs)}
        told = {kind: [self.quantity(n) for n in names] for kind, names in named.items()}
        equations = [[eq.name, ", ".join(eq.inputs), eq.source] for eq in self.equations]
        return Card(
            kind="Model",
            line=f"{self.name}: {self.summary}" if self.summary else self.name,
            folds=[
                *(
                    Fold(title=kind, header=header, rows=[[r.name, r.unit, r.meaning] for r in of])
                    for kind, of in told.items()
                ),
                Fold(title="equations", header=("of", "from", "source"), rows=equations),
            ],
        )

    @property
    def inputs(self) -> tuple[str, ...]:
        """The quantities its equations need and none yields, under the default switches."""
        return self.needs()

    def graph(self, **switches: object) -> Graph:
        """Its equations joined under the given switches, with every input left open."""
        from symbolic.resolve import resolve

        for name in switches:
            if not self.quantity(name).is_switch:
                used = dict.fromkeys(switch for eq in self.equations for switch in eq.when)
                raise DseError(
                    f"{name} is no switch of the model {self.name}"
                    f"{nearest(name, used)}; its switches are: {', '.join(used) or 'none'}"
                )
        bare = replace(self, rules=())
        labels = {name: label_text(value) for name, value in switches.items()}
        chosen = resolve(bare, given={}, switches=labels, outputs=()).switches
        held = [
            eq
            for eq in self.equations
            if all(chosen[switch] == label for switch, label in eq.when.items())
        ]
        yielded = dict.fromkeys(eq.name for eq in held)
        needed = [need for eq in held for need in (eq.inputs if eq.table else references(eq.node))]
        inputs: dict[str, None] = {need: None for need in needed if need not in yielded}
        return resolve(bare, given=inputs, switches=chosen, outputs=[*inputs, *yielded])

    def needs(self, *outputs: str, **switches: object) -> tuple[str, ...]:
        """The inputs behind the given outputs, or behind all equations where none is named.

        >>> from symbolic.library import load_model
        >>> load_model("transit").needs("ms_transition")
        ('mem_latency', 'ms_peak')
        """
        graph = self.graph(**switches)
        for name in outputs:
            if name not in graph.definitions:
                self.quantity(name)
                raise DseError(
                    f"the model {self.name} does not hold {name}: it yields "
                    f"{', '.join(self.yields)}"
                )
        behind = graph.ancestors(outputs or graph.definitions)
        return tuple(
            name
            for name, definition in graph.definitions.items()
            if name in behind and definition.kind == "given"
        )

    def symbol(self, name: str) -> Any:
        """The SymPy symbol of a quantity, as it stands in closed forms.

        >>> from symbolic.library import load_model
        >>> load_model("transit").symbol("threads").is_positive
        True
        """
        from symbolic.closed_form import symbol

        return symbol(self.quantity(name))

    def closed_form(
        self, name: str, *, expand: bool | str | Iterable[str] = False, **switches: object
    ) -> Any:
        """The equation of a quantity as a SymPy expression, stopping at named intermediates.

        Parameters
        ----------
        name : str
            A quantity the model yields.
        expand : bool or names
            True substitutes intermediates down to the inputs; names substitute only those.
        **switches
            Labels of switches.

        >>> from symbolic.library import load_model
        >>> load_model("transit").closed_form("cs_throughput")
        intensity*ms_throughput
        """
        from symbolic.closed_form import closed_form

        return closed_form(self.graph(**switches), name, expand)

    def regimes(
        self, family: str | None = None, *, expand: bool = False, **switches: object
    ) -> tuple[Regime, ...]:
        """The regimes of the model, each with its condition and the main outputs within it.

        Parameters
        ----------
        family : str, optional
            The quantity whose regimes are meant, where the model has several families: one that
            equals the smallest or largest of several terms, or a case or bound.
        expand : bool
            Whether to substitute down to the inputs; intermediates untouched by the regime keep
            their names otherwise.
        **switches
            Labels of switches.

        >>> from symbolic.library import load_model
        >>> print(load_model("transit").regimes("ms_throughput")[0].label)
        thread
        """
        from symbolic.regimes import regimes

        return regimes(self.graph(**switches), family, expand)

    def border(self, a: str, b: str, *, solve_for: str, **switches: object) -> Any:
        """Where the terms of two regimes are equal, solved for a quantity.

        Parameters
        ----------
        a, b : str
            Labels of two regimes of one family.
        solve_for : str
            The quantity that is moved until the two terms are equal.
        **switches
            Labels of switches.

        Returns
        -------
        sympy.Expr or list of sympy.Expr
            One expression, or a list where there are branches. An expression that holds only on
            a condition is a ``Piecewise`` of that one piece.

        >>> from symbolic.library import load_model
        >>> load_model("transit").border("memory", "thread", solve_for="threads")
        ms_peak*(arithmetic_latency*intensity + mem_latency)
        """
        from symbolic.borders import border

        return border(self.graph(**switches), a, b, solve_for)

    def latex(self, name: str | None = None, **switches: object) -> str:
        r"""Equations as LaTeX with the paper's symbols, each with its source, one a line.

        All variants where neither a name nor a switch is given; otherwise those that hold.

        >>> from symbolic.library import load_model
        >>> print(load_model("transit").latex("computation_limit"))
        \mathrm{computation\_limit} = \frac{M}{Z} \quad \text{(Li 2015, Eq. 2)}
        """
        from symbolic.latex import latex

        graph = self.graph(**switches) if switches or name is not None else None
        return latex(self, graph, name)
