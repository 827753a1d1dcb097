"""The import statements of a file: also within functions, and where only types are checked."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

Import = ast.Import | ast.ImportFrom


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Every statement of a tree; expressions, the most of it, hold none."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            below = getattr(node, part, None)
            waiting += below if isinstance(below, list) else []  # a lambda's body is an expression


@cache
def imports(path: Path) -> tuple[Import, ...]:
    """The import statements of a file, in the order of its lines; the rest of it is not kept."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    result = [node for node in statements(tree) if isinstance(node, Import)]
    return tuple(sorted(result, key=lambda node: node.lineno))
