"""Make the provenance attributes of a Dataset, and hashes that tell which input changed."""

from __future__ import annotations

import ast
import copy
import hashlib
import importlib.util
import inspect
import json
import linecache
from collections.abc import Callable, Mapping
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from dse.inputs.assumed import assumed_json
from dse.inputs.validity import validity_warnings
from sweeps.grid.grid import Grid, Leaf
from symbolic.equation import Equation
from symbolic.errors import DseError
from symbolic.quantities import label_index_name

if TYPE_CHECKING:
    from dse.inputs.merge import StudyInputs


@cache
def version() -> str:
    """Return the version of the installed distribution."""
    try:
        return metadata.version("simt-dse")
    except metadata.PackageNotFoundError:
        return "unknown"


def provenance_attributes(study_text: str, grid: Grid, parts: StudyInputs) -> dict[str, Any]:
    """Return the attributes of a study's Dataset as text; lists and mappings are JSON."""
    model, files = parts.model.name, parts.model.files
    equations = []
    defaults: dict[str, Any] = {}
    for graph in grid.graphs.values():
        for name, definition in graph.definitions.items():
            if definition.equation is not None:
                eq = definition.equation
                row = {"name": name, "source": eq.source}
                if eq.when:
                    row["when"] = eq.switch_text
                if row not in equations:
                    equations.append(row)
            elif definition.kind == "default":
                defaults[name] = definition.node.args[0]
            elif definition.kind == "formula" and name not in parts.origins:
                defaults[name] = str(definition.node)
        compared = {name for name in graph.switches if label_index_name(name) in graph.definitions}
        for name in (graph.switches_of(grid.outputs) | compared) - set(grid.switch_axes):
            if name not in parts.switches:
                defaults[name] = graph.switches[name]
    used = {name for graph in grid.graphs.values() for name in graph.definitions}
    sources = {name: text for name, text in parts.origins.items() if name in used}
    assumptions = [t for t in parts.assumptions if t.split(" of ", 1)[0] in used]
    hashes = fingerprints(grid, parts, defaults)
    content = json.dumps([version(), study_text, hashes], sort_keys=True)
    identity = hashlib.sha256(content.encode()).hexdigest()
    beyond = validity_warnings(parts)
    fits = sorted({fit for name, fit in parts.shipped_fits.items() if name in used})
    return {
        "Conventions": "CF-1.11",
        "title": f"simt-dse sweep of {model}",
        "model": model,
        "axes": " ".join(grid.axes),
        "study": study_text,
        "equations": json.dumps(equations),
        "defaults": json.dumps(defaults, sort_keys=True),
        "sources": json.dumps(sources, sort_keys=True),
        "assumptions": json.dumps(assumptions),
        "simt_dse_version": version(),
        "identity": identity,
        **({"validity": json.dumps(beyond)} if beyond else {}),
        **({"fits": json.dumps(fits)} if fits else {}),
        **assumed_json(grid, parts.assumed),
        **({"model_files": json.dumps(files)} if files else {}),
    }


def syntax_text(function: Callable[..., Any]) -> str | None:
    """Return the syntax trees of a function and of the names that it uses in its file, as text.

    Return None if there is no source text.
    """
    # a user's model file may have changed since it was run: take the text that was run
    data = getattr(getattr(function, "__globals__", {}).get("__loader__"), "data", None)
    if isinstance(data, bytes):
        text = importlib.util.decode_source(data)
    else:
        try:
            path = inspect.getsourcefile(function) or ""
        except TypeError:
            return None
        linecache.checkcache(path)
        text = "".join(linecache.getlines(path))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    top: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _defined_names(statement):
            top.setdefault(name, []).append(statement)
    pending, texts = [function.__name__], {}
    while pending:
        name = pending.pop()
        if name in texts or name not in top:
            continue
        texts[name] = "; ".join(_dump(statement) for statement in top[name])
        for statement in top[name]:
            pending += sorted({n.id for n in ast.walk(statement) if isinstance(n, ast.Name)})
    if function.__name__ not in texts:  # a nested function: take the whole file
        return _dump(tree) if tree.body else None
    return "\n".join(f"{name} = {texts[name]}" for name in sorted(texts))


def _defined_names(statement: ast.stmt) -> list[str]:
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
    """A transformer of syntax trees that removes docstrings, decorators and return types."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        bare = copy.copy(node)
        bare.body = body or [ast.Pass()]
        bare.decorator_list, bare.returns = [], None
        return bare


def _dump(node: ast.AST) -> str:
    return ast.dump(_Bare().visit(node), annotate_fields=False)


def fingerprints(
    grid: Grid, parts: StudyInputs, defaults: Mapping[str, Any]
) -> dict[str, dict[str, str]]:
    """Return hashes of the equations, values and rules of a study, by kind and then by name."""
    equations = {
        f"{name} [{eq.switch_text}]" if eq.when else name: _digest(equation_text(eq))
        for graph in grid.graphs.values()
        for name, definition in graph.definitions.items()
        if (eq := definition.equation) is not None
    }
    given = (parts.values, parts.tables, parts.labels, parts.switches, parts.laws or {}, defaults)
    values = {
        name: _digest(repr([_stable_text(some[name]) for some in given if name in some]))
        for name in dict.fromkeys(name for some in given for name in some)
    }
    rules = {condition.text: _digest(condition.text) for condition in grid.conditions}
    return {"equations": equations, "values": values, "rules": rules}


def check_sources(grid: Grid) -> None:
    """Raise an error if a table equation has no source text, as its changes would go unnoticed."""
    for graph in grid.graphs.values():
        for definition in graph.definitions.values():
            eq = definition.equation
            if eq is not None and eq.table and syntax_text(eq.function) is None:
                raise DseError(
                    f"the equation {eq.describe()} has no source text, so later changes could "
                    "not be detected: it can be run, but not stored; define it in a file"
                )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def equation_text(equation: Equation) -> str:
    """Return the formula of an equation as text; for a table equation, its source or docstring."""
    if not equation.table:
        return repr(equation.node)
    return (syntax_text(equation.function) or equation.doc) + equation.formula


def _stable_text(value: Any) -> str:
    if isinstance(value, Leaf):
        return f"{value.axes}: {value.array.tolist()}"
    if isinstance(value, Mapping):
        return repr(sorted((name, _stable_text(each)) for name, each in value.items()))
    return repr(value)
