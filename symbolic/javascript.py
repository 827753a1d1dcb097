"""Translate equations to JavaScript, for a page in a browser.

The program has one line for each step. The constant of a quantity is named ``$`` and the name of
the quantity. (The names of statistics are no identifiers, so statistics are numbered.) Numbers are
doubles as in the other backends; results of ``Math.exp``, ``Math.log`` and ``Math.pow`` may differ
by an ulp or two from those of another library.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from symbolic.errors import GraphError
from symbolic.graph import Graph
from symbolic.node import Node, reference, references, walk
from symbolic.primitives import PRIMITIVES


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A JavaScript function that computes the quantities of some graphs.

    ``source`` is an arrow function ``(x, c, y) => {...}``: the array ``x`` contains the values of
    ``inputs``, and ``y`` receives the values of ``outputs`` (a condition as 0 or 1). The quantities
    in ``choices`` have several definitions; the array ``c`` contains the index of the definition to
    use for each of them. ``choices`` lists, for each quantity, the index that each graph needs.
    ``keys`` are the switch labels of the graphs, in the same order.
    """

    source: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    choices: Mapping[str, Sequence[int]]


def literal(value: Any) -> str:
    """Return a number or truth value as JavaScript."""
    if isinstance(value, bool):
        return "true" if value else "false"
    number = float(value)
    if math.isnan(number):
        return "NaN"
    text = "Infinity" if math.isinf(number) else repr(abs(number))
    return text if math.copysign(1, number) > 0 else f"(-{text})"


def program(
    graphs: Mapping[tuple[str, ...], Graph], outputs: Sequence[str], conditions: Sequence[str] = ()
) -> Program:
    """Return one JavaScript function that computes ``outputs`` for several graphs of a model.

    The graphs differ by the labels of their switches, which are the keys of ``graphs``. An output
    that a graph lacks is NaN for that graph. ``conditions`` are texts of conditions, which become
    further outputs; a condition that a graph lacks is true. Raise a :class:`GraphError` if no order
    of the quantities suits all graphs.

    >>> from symbolic.library import load_model
    >>> graphs = {(): load_model("transit").graph()}
    >>> print(program(graphs, ["computation_limit"]).source)
    (x, c, y) => {
      const $lanes_width = x[0];
      const $intensity = x[1];
      const $computation_limit = $lanes_width / $intensity;
      y[0] = $computation_limit;
    }
    """
    keys = tuple(graphs)
    known = {condition.text for graph in graphs.values() for condition in graph.conditions}
    names = {text: f"condition{k}" for k, text in enumerate(conditions) if text in known}
    variants = _variants(graphs, names)
    order = _order(variants, [*outputs, *names.values()])
    body = _FunctionBody()
    choices: dict[str, Sequence[int]] = {}
    for name in order:
        nodes, which = variants[name]
        if len(nodes) == 1 and nodes[0] is reference(name):
            body.add_input(name)
        elif len(nodes) == 1:
            body.define(name, body.expression_text(nodes[0]))
            body.operand_texts.setdefault(id(nodes[0]), body.name(name))
        else:
            place = len(choices)
            choices[name] = which
            texts = [
                body.add_input(name, f"given{body.name(name)}")
                if node is reference(name)
                else body.expression_text(node)
                for node in nodes
            ]
            tests = "".join(f"c[{place}] === {k} ? {t} : " for k, t in enumerate(texts[:-1]))
            body.define(name, tests + texts[-1])
    wanted = (*outputs, *conditions)
    for place, name in enumerate(wanted):
        inside = names.get(name) if place >= len(outputs) else name
        missing = "NaN" if place < len(outputs) else "true"
        text = body.name(inside) if inside in variants else missing
        body.lines.append(f"y[{place}] = {text};")
    lines = "".join(f"  {line}\n" for line in body.lines)
    return Program(
        source=f"(x, c, y) => {{\n{lines}}}",
        inputs=tuple(body.inputs),
        outputs=wanted,
        keys=keys,
        choices=choices,
    )


class _FunctionBody:
    """The statements of a JavaScript function under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.inputs: list[str] = []
        self.operand_texts: dict[int, str] = {}
        self._other_names: dict[str, str] = {}

    def name(self, name: str) -> str:
        if name.isidentifier():
            return f"${name}"
        return self._other_names.setdefault(name, f"other{len(self._other_names)}")

    def add_input(self, name: str, constant: str = "") -> str:
        """Add the statement that reads an input; return the name of the input's constant."""
        constant = constant or self.name(name)
        self.lines.append(f"const {constant} = x[{len(self.inputs)}];")
        self.inputs.append(name)
        return constant

    def define(self, name: str, text: str) -> None:
        self.lines.append(f"const {self.name(name)} = {text};")

    def expression_text(self, root: Node) -> str:
        """Add the statements that compute a node's arguments, and return the node's expression."""
        for node in walk((root,)):
            if id(node) not in self.operand_texts and node is not root:
                self.operand_texts[id(node)] = self._operand(node)
        return self.operand_texts.get(id(root)) or self._expression(root)

    def _expression(self, node: Node) -> str:
        if node.op == "constant":
            return literal(node.args[0])
        if node.op == "reference":
            return self.name(node.args[0])
        return PRIMITIVES[node.op].js.format(*(self.operand_texts[id(arg)] for arg in node.args))

    def _operand(self, node: Node) -> str:
        text = self._expression(node)
        if node.op in ("constant", "reference"):
            return text
        name = f"t{len(self.operand_texts)}"
        self.lines.append(f"const {name} = {text};")
        return name


def _variants(
    graphs: Mapping[tuple[str, ...], Graph], condition_names: Mapping[str, str]
) -> dict[str, tuple[list[Node], list[int]]]:
    """Return, for each quantity and condition, its distinct definitions and an index per graph.

    The index is that of the definition that the graph uses; it is 0 if the graph has no definition.
    """
    result: dict[str, tuple[list[Node], list[int]]] = {}
    for place, graph in enumerate(graphs.values()):
        nodes = {name: definition.node for name, definition in graph.definitions.items()}
        for c in graph.conditions:
            if c.text in condition_names:
                nodes[condition_names[c.text]] = c.node
        for name, node in nodes.items():
            listed, which = result.setdefault(name, ([], []))
            if not any(node is known for known in listed):
                listed.append(node)
            which += [0] * (place - len(which))
            which.append(next(k for k, known in enumerate(listed) if known is node))
    for _, which in result.values():
        which += [0] * (len(graphs) - len(which))
    return result


def _order(cases: Mapping[str, tuple[list[Node], list[int]]], outputs: Sequence[str]) -> list[str]:
    """Return the quantities behind the outputs, each after the quantities in its definitions."""
    needs = {n: [x for x in references(*nodes) if x != n] for n, (nodes, _) in cases.items()}
    behind: dict[str, list[str]] = {}
    stack = [name for name in outputs if name in needs]
    while stack:
        name = stack.pop()
        if name not in behind:
            behind[name] = needs[name]
            stack.extend(needs[name])
    try:
        return list(TopologicalSorter(behind).static_order())
    except CycleError as error:
        cycle = " -> ".join(error.args[1])
        raise GraphError(
            "these quantities need each other in different orders under different labels of the "
            f"switches: {cycle}; fix one of the switches"
        ) from None
