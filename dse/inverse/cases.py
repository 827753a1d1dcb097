"""What a border is of: a case or bound, the regimes of a quantity, a condition."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sweeps.grid.grid import FEASIBLE, Grid
from symbolic.errors import DseError, UnknownNameError, nearest
from symbolic.expression import parse_condition
from symbolic.ops import (
    Node,
    both,
    constant,
    maximum,
    minimum,
    reference,
    where,
)

if TYPE_CHECKING:
    from dse.study.data import StudyData
    from symbolic.model import Family

#: The case where a rule or constraint is broken.
BROKEN = -1
_MET = {0: "broken", 1: "met"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What tells regions apart: numbers with meanings, by a node over quantities.

    ``name`` is that of the variable of a Dataset; ``family`` the regimes it names, if it does.
    """

    name: str
    text: str
    node: Node
    flags: Mapping[int, str]
    family: Family | None = None

    def root(self, grid: Grid, key: tuple[str, ...]) -> Node:
        """The case over the leaves, and -1 where a rule or constraint is broken."""
        if self.text == FEASIBLE:
            return constant(where(grid.feasible_node(key), 1.0, 0.0))
        graph = grid.graphs[key]
        node = graph.flattened(self.node)
        node = constant(where(node, 1.0, 0.0)) if node.is_boolean else node
        known = both(node > -math.inf, node < math.inf)
        held = both(grid.feasible_node(key), known) if graph.conditions else known
        return constant(where(held, node, float(BROKEN)))


def read_case(study: StudyData, text: str | None) -> Case:
    """Read what borders are asked of; the first case or bound of the study where None."""
    model = study.grid().model
    flags = {eq.name: eq.flags for eq in model.equations if eq.flags}
    families = {family.of: family for family in model.regime_families}
    if text is None:
        grid = study.grid()
        known = [name for name in grid.outputs if grid.flags(name)] or list(flags)
        if not known:
            raise DseError(
                f"the model {model.name} tells no cases: name a condition, such as "
                'quantity="time <= 1 ms"'
            )
        text = known[0]
    if not isinstance(text, str):
        raise DseError(f"quantity = {text!r}: expected one name or condition, as text")
    if text == FEASIBLE:
        return Case(name=FEASIBLE, text=text, node=constant(True), flags=_MET)
    if text in flags:
        family = next(
            (f for f in model.regime_families if set(f.terms) <= set(flags[text].values())), None
        )
        return Case(name=text, text=text, node=reference(text), flags=flags[text], family=family)
    if text in families:
        return _regimes(families[text])
    if text.isidentifier():
        row = model.quantities.get(text)
        kind = "a number" if row is not None else "no quantity"
        known = [*flags, *families, FEASIBLE]
        error = DseError if row is not None else UnknownNameError
        raise error(
            f"{text} is {kind}{'' if row else nearest(text, known)}: expected what tells cases "
            f"apart ({', '.join(known)}), or a condition such as '{text} <= 1'"
        )
    node = parse_condition(text, model.quantities)
    return Case(name="condition", text=text, node=node, flags=_MET)


def _regimes(family: Family) -> Case:
    """Which term is the extreme one; of equal ones the first."""
    labels, terms = list(family.terms), [reference(name) for name in family.terms.values()]
    node: Node = constant(float(len(terms) - 1))
    for place in reversed(range(len(terms) - 1)):
        term, rest = terms[place], terms[place + 1 :]
        first = term >= maximum(*rest) if family.largest else term <= minimum(*rest)
        node = constant(where(first, float(place), node))
    name = f"{family.of}_regime"
    return Case(name=name, text=family.of, node=node, flags=dict(enumerate(labels)), family=family)
