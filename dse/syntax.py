"""What a function computes, as text in which comments, documentation and layout do not count."""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
from collections.abc import Callable
from typing import Any


def syntax(function: Callable[..., Any]) -> str | None:
    """The normalised syntax tree of a function and of what it uses from its own file.

    None where there is no source text: the function was typed at a prompt, or made by a program.
    """
    try:
        path = inspect.getsourcefile(function)
    except TypeError:
        return None
    linecache.checkcache(path)
    lines = linecache.getlines(path) if path is not None else []
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    top: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _defined(statement):
            top.setdefault(name, []).append(statement)
    pending, found = [function.__name__], {}
    while pending:
        name = pending.pop()
        if name in found or name not in top:
            continue
        found[name] = "; ".join(_dump(statement) for statement in top[name])
        for statement in top[name]:
            pending += sorted({n.id for n in ast.walk(statement) if isinstance(n, ast.Name)})
    if function.__name__ not in found:  # it stands within something else: take that whole file
        return _dump(tree) if tree.body else None
    return "\n".join(f"{name} = {found[name]}" for name in sorted(found))


def _defined(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a file gives a meaning."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        targets = [statement.target]
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


class _Bare(ast.NodeTransformer):
    """Without documentation, decorators and the type of the result."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        bare = copy.copy(node)
        bare.body = body or [ast.Pass()]
        bare.decorator_list, bare.returns = [], None
        return bare


def _dump(node: ast.AST) -> str:
    return ast.dump(_Bare().visit(node), annotate_fields=False)
