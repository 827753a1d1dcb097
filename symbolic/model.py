"""A model: a named set of equations, with the quantities it adds, its main outputs and regimes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from symbolic.equation import Equation, label_text
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.ops import references
from symbolic.quantities import RULES, Quantity

if TYPE_CHECKING:
    from symbolic.graph import Graph
    from symbolic.regimes import Regime

__all__ = ["Family", "Guide", "Model"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Regimes that exclude one another, told apart by which of several terms is the extreme one.

    ``terms`` maps the regime's name to the quantity whose value decides; ``of`` is the quantity
    that equals the smallest term, or the largest where ``largest`` says so (throughputs are the
    smallest of several, times the largest). A *border* between two regimes is where their terms
    are equal.
    """

    of: str
    terms: Mapping[str, str]
    largest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Guide:
    """What helps in each bound or case of a model; a model file declares it as ``ADVICE``.

    Parameters
    ----------
    state : str
        The quantity with flags that names the bound or case.
    goal : str
        What should improve; ``maximize`` says whether it should rise.
    limits : str
        The quantity that equals the smallest of several terms; a border is where another term
        becomes the smallest.
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
    fixed : frozenset of str
        Quantities never advised, though a quantity that helps may depend on them.
    notes : mapping of str to str
        What to say under a switch, by ``"name=label"``.
    suggests : mapping of str to str
        Quantities that say in closed form what an input should be, and that input; those that the
        model, or a model it is joined with, yields are told.
    """

    state: str
    goal: str
    limits: str
    helps: str | Mapping[str, str]
    maximize: bool = False
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    follow: bool = False
    show: tuple[str, ...] = ()
    fixed: frozenset[str] = frozenset()
    notes: Mapping[str, str] = field(default_factory=dict)
    suggests: Mapping[str, str] = field(default_factory=dict)

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
class Model:
    """A named set of equations; made by :func:`symbolic.library.load_model`.

    Switches are keyword arguments of its methods, with their labels or truth values:
    ``model.closed_form("mwp", printed=True)``. Those not named keep their default. ``files`` are
    those of the user of which it is made, each with its name and the SHA-256 of its bytes.
    """

    name: str
    equations: tuple[Equation, ...]
    quantities: Mapping[str, Quantity]
    rules: tuple[str, ...] = RULES
    outputs: tuple[str, ...] = ()
    families: tuple[Family, ...] = ()
    guides: tuple[Guide, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    summary: str = ""

    def quantity(self, name: str) -> Quantity:
        """The row of a quantity, or an error that names the nearest."""
        found = self.quantities.get(name)
        if found is None:
            raise UnknownNameError(
                f"{name!r} is no quantity of the model {self.name}{nearest(name, self.quantities)}"
            )
        return found

    def variants(self, name: str) -> tuple[Equation, ...]:
        """The equations that can yield a quantity, whatever the switches."""
        return tuple(eq for eq in self.equations if eq.name == name)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The quantities its equations need and none yields, under the default switches."""
        return self.needs()

    @property
    def yields(self) -> tuple[str, ...]:
        """The quantities it has an equation for, in the order of the paper."""
        return tuple(dict.fromkeys(eq.name for eq in self.equations))

    @property
    def citations(self) -> tuple[str, ...]:
        """The distinct sources of its equations, in the order of the paper."""
        return tuple(dict.fromkeys(eq.source for eq in self.equations if eq.source))

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
        >>> load_model("transit").needs("cs_transition")
        ('lanes_width',)
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

        return closed_form(self, name, expand, switches)

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

        return regimes(self, family, expand, switches)

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
        ms_peak*(intensity + mem_latency)
        """
        from symbolic.borders import border

        return border(self, a, b, solve_for, switches)

    def latex(self, name: str | None = None, **switches: object) -> str:
        r"""Equations as LaTeX with the paper's symbols, each with its source, one a line.

        All variants where neither a name nor a switch is given; otherwise those that hold.

        >>> from symbolic.library import load_model
        >>> print(load_model("transit").latex("cs_transition"))
        \pi = \mathrm{lanes\_width} \quad \text{(Li 2015, Eq. 1)}
        """
        from symbolic.closed_form import latex

        return latex(self, name, switches)
