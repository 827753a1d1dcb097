"""The class of models: named sets of equations, with methods for closed forms and regimes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from symbolic.answer import Answer, DisplayMixin, Table
from symbolic.equation import EquationSet, Family, Guide, Validity, label_text
from symbolic.errors import DseError, nearest_hint
from symbolic.ops import references

if TYPE_CHECKING:
    from symbolic.graph import Graph
    from symbolic.regimes import Regime

__all__ = ["Family", "Guide", "Model", "Validity"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Model(DisplayMixin, EquationSet):
    """A named set of equations, as returned by :func:`symbolic.library.load_model`.

    Its methods take labels of switches (text or truth values) as keyword arguments:
    ``model.closed_form("mwp", printed=True)``. The other switches keep their defaults.
    """

    def _answer(self) -> Answer:
        data = self._data()
        tables = []
        for title in ("inputs", "switches", "outputs"):
            rows = []
            for q in data[title]:
                default = (q["default"], q["unit"]) if "default" in q else None
                labels = f" ({', '.join(q['labels'])})" if "labels" in q else ""
                rows.append([q["name"], q["symbol"], q["unit"], default, q["meaning"] + labels])
            head = ("quantity", "symbol", "unit", "default", "meaning")
            tables.append(Table(title=title, columns=head, rows=rows))
        rows = []
        for eq in data["equations"]:
            when = ", ".join(f"{name} = {label}" for name, label in eq["when"].items())
            needs = ", ".join(eq["needs"]) + f" [{when}]" * bool(when)
            rows.append([eq["name"], eq["symbol"], eq["source"], needs])
        columns = ("equation", "symbol", "source", "needs")
        tables.append(Table(title="equations", columns=columns, rows=rows))
        title = f"{self.name}: {self.summary}" if self.summary else self.name
        return Answer(kind="Model", title=title, tables=tables, data=data)

    def _data(self) -> dict[str, Any]:
        plain = {n: re.sub(r"\\(?=[_#]|[a-z]+$)", "", s) for n, s in self.symbols_by_name.items()}
        symbols = {name: text for name, text in plain.items() if "\\" not in text}

        def row(name: str) -> dict[str, Any]:
            about = self.quantity(name)
            result: dict[str, Any] = {"name": name, "unit": about.unit, "meaning": about.meaning}
            result["symbol"] = symbols.get(name, "")
            result |= {"labels": list(about.labels)} if about.labels else {}
            return result | ({} if about.default is None else {"default": about.default})

        switches = dict.fromkeys(switch for eq in self.equations for switch in eq.when)
        return {
            "name": self.name,
            "summary": self.summary,
            "inputs": [row(name) for name in self.inputs],
            "switches": [row(name) for name in switches],
            "outputs": [row(name) for name in self.outputs],
            "equations": [
                {
                    "name": eq.name,
                    "needs": list(eq.inputs),
                    "source": eq.source,
                    "when": dict(eq.when),
                    "unit": self.quantity(eq.name).unit,
                    "meaning": self.quantity(eq.name).meaning,
                    "flags": {str(value): meaning for value, meaning in eq.flags.items()},
                    "symbol": symbols.get(eq.name, ""),
                }
                for eq in self.equations
            ],
            "citations": list(self.citations),
        }

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the quantities that equations need but none yields (under default switches)."""
        return self.needs()

    def graph(self, **switches: object) -> Graph:
        """Return the graph of all equations used under the given switches, without input values."""
        from symbolic.resolve import resolve

        for name in switches:
            if not self.quantity(name).is_switch:
                used = dict.fromkeys(switch for eq in self.equations for switch in eq.when)
                raise DseError(
                    f"{name} is no switch of the model {self.name}"
                    f"{nearest_hint(name, used)}; its switches are: {', '.join(used) or 'none'}"
                )
        bare = replace(self, rules=())
        labels = {name: label_text(value) for name, value in switches.items()}
        chosen = resolve(bare, values={}, switches=labels, outputs=()).switches
        chosen_equations = [
            eq
            for eq in self.equations
            if all(chosen[switch] == label for switch, label in eq.when.items())
        ]
        yielded = dict.fromkeys(eq.name for eq in chosen_equations)
        inputs: dict[str, None] = {
            need: None
            for eq in chosen_equations
            for need in (eq.inputs if eq.table else references(eq.node))
            if need not in yielded
        }
        return resolve(bare, values=inputs, switches=chosen, outputs=[*inputs, *yielded])

    def needs(self, *outputs: str, **switches: object) -> tuple[str, ...]:
        """Return the inputs on which some outputs (default: all equations) depend.

        >>> from symbolic.library import load_model
        >>> load_model("transit").needs("ms_transition")
        ('mem_latency', 'ms_peak')
        """
        graph = self.graph(**switches)
        for name in outputs:
            if name not in graph.definitions:
                self.quantity(name)
                raise DseError(
                    f"the model {self.name} does not contain {name}: it yields "
                    f"{', '.join(self.yields)}"
                )
        behind = graph.ancestors(outputs or graph.definitions)
        return tuple(n for n, d in graph.definitions.items() if n in behind and d.kind == "given")

    def symbol(self, name: str) -> Any:
        """Return the SymPy symbol by which closed forms represent a quantity.

        >>> from symbolic.library import load_model
        >>> load_model("transit").symbol("threads").is_positive
        True
        """
        from symbolic.closed_form import symbol

        return symbol(self.quantity(name))

    def closed_form(
        self, name: str, *, expand: bool | str | Iterable[str] = False, **switches: object
    ) -> Any:
        """Return the equation of a quantity as a SymPy expression.

        Parameters:
            name (str): A quantity the model yields.
            expand (bool or names): True substitutes all intermediate quantities down to the inputs;
                names substitute only the named quantities.

        >>> from symbolic.library import load_model
        >>> load_model("transit").closed_form("cs_throughput")
        intensity*ms_throughput
        """
        from symbolic.closed_form import closed_form

        return closed_form(self.graph(**switches), name, expand)

    def regimes(
        self, family: str | None = None, *, expand: bool = False, **switches: object
    ) -> tuple[Regime, ...]:
        """Return the regimes of the model, each with its condition and the main outputs within it.

        Parameters:
            family (str, optional): The quantity whose regimes are returned. It must be a minimum or
                maximum of several terms, a case or a bound. Default: all such quantities.
            expand (bool): Substitute down to the inputs. Otherwise intermediate quantities that do
                not depend on the regime keep their names.

        >>> from symbolic.library import load_model
        >>> print(load_model("transit").regimes("ms_throughput")[0].label)
        thread
        """
        from symbolic.regimes import regimes

        return regimes(self.graph(**switches), family, expand)

    def border(self, a: str, b: str, *, solve_for: str, **switches: object) -> Any:
        """Return the value of a quantity at which the terms of two regimes are equal.

        Parameters:
            a, b (str): Labels of two regimes of one family.
            solve_for (str): The quantity whose value is returned.

        Returns:
            sympy.Expr or list of sympy.Expr: One expression, or a list if there are several
            branches. An expression that holds only under a condition is a ``Piecewise`` with one
            piece.

        >>> from symbolic.library import load_model
        >>> load_model("transit").border("memory", "thread", solve_for="threads")
        ms_peak*(arithmetic_latency*intensity + mem_latency)
        """
        from symbolic.regimes import border

        return border(self.graph(**switches), a, b, solve_for)

    def latex(self, name: str | None = None, **switches: object) -> str:
        r"""Return equations as LaTeX in the paper's symbols, with sources; one equation per line.

        Without a name and switches, the text has all variants of all equations. Otherwise it has
        the equation of ``name`` (default: of each quantity) that is used under the switches.

        >>> from symbolic.library import load_model
        >>> print(load_model("transit").latex("computation_limit"))
        \mathrm{computation\_limit} = \frac{M}{Z} \quad \text{(Li 2015, Eq. 2)}
        """
        from symbolic.closed_form import latex

        graph = self.graph(**switches) if switches or name is not None else None
        return latex(self, graph, name)
