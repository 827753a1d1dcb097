"""A tree as the text of a formula, as a study's ``set`` would read it."""

from __future__ import annotations

from symbolic.ops import Node, walk

#: How strongly an operator binds, and its sign; what is none stands as a call.
_SIGNS = {
    "either": (1, "or"),
    "both": (2, "and"),
    "equal": (4, "=="),
    "less": (4, "<"),
    "less_equal": (4, "<="),
    "add": (5, "+"),
    "sub": (5, "-"),
    "mul": (6, "*"),
    "div": (6, "/"),
}
_ATOM = 9


def formula_text(root: Node) -> str:
    """The formula, with no more brackets than it takes.

    >>> from symbolic.ops import minimum, reference
    >>> a, b = reference("a"), reference("b")
    >>> formula_text(minimum(a - (b - 1), 2.0 * (a + b)) / -a)
    'minimum(a - (b - 1), 2 * (a + b)) / (-a)'
    """
    told: dict[int, tuple[str, int]] = {}
    for node in walk((root,)):
        told[id(node)] = _written(node, [told[id(a)] for a in node.args if isinstance(a, Node)])
    return told[id(root)][0]


def _written(node: Node, parts: list[tuple[str, int]]) -> tuple[str, int]:
    """The text of a step, and how strongly it binds."""
    if node.op == "reference":
        return str(node.args[0]), _ATOM
    if node.op == "constant":
        value = node.args[0]
        whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
        text = (
            str(value).lower() if isinstance(value, bool) else f"{int(value) if whole else value}"
        )
        return text, 0 if text.startswith("-") else _ATOM
    if node.op == "mul" and node.args[0].op == "constant" and node.args[0].args[0] == -1:
        return f"-{_within(parts[1], 6)}", 0
    if node.op == "negate":
        return f"not {_within(parts[0], 3)}", 3
    if node.op not in _SIGNS:
        return f"{node.op.replace('pow', 'power')}({', '.join(text for text, _ in parts)})", _ATOM
    binds, sign = _SIGNS[node.op]
    right = binds + (node.op in ("sub", "div", "equal", "less", "less_equal"))
    left = binds + (binds == 4)
    return f"{_within(parts[0], left)} {sign} {_within(parts[1], right)}", binds


def _within(part: tuple[str, int], binds: int) -> str:
    text, own = part
    return text if own >= binds else f"({text})"
