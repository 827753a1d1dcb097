"""Read a rule from a Python file: a function of nested ``if`` that returns formulas."""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from dse.rules.problem import BoxCosts, Choice, RuleProblem, RuleTree, Threshold, formulas_of
from dse.rules.write import node_text, python_definitions
from stochastic import sizes
from sweeps.grid.replaced_axes import is_whole
from symbolic.errors import DseError
from symbolic.expression import parse, parse_condition
from symbolic.node import Node, walk

#: Up to this limit, whole floats and Python's integers give the same results.
_EXACT = 2.0**52
_FUNCTIONS = ("min", "max", "minimum", "maximum", "abs", "floor", "ceil", "sqrt")
_IMPORT = r"import (math)|from (?:math|__future__) import (\w+(?:, \w+)*)"
#: Syntax that is the same in Python and in formulas.
_SAME = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Tuple, ast.Constant, ast.expr_context, ast.cmpop,
         ast.boolop, ast.unaryop)  # fmt: skip


def read_statements(path: str | Path) -> list[ast.stmt]:
    """Return the statements of a Python file."""
    if Path(path).suffix != ".py":
        raise DseError(f"{path}: expected a Python file (.py) with the rule as a function")
    try:
        return ast.parse(Path(path).read_text(encoding="utf-8")).body
    except (SyntaxError, ValueError, RecursionError) as error:
        raise DseError(f"{path} is no Python file that can be read: {error}") from None


def read_rule(problem: RuleProblem, path: str | Path) -> RuleTree:
    """Return the rule of a Python file: the function that has the name of the axis.

    Raises:
        DseError: The function has statements besides ``if``, assignments and ``return``. Or a
            formula may be undefined, or too large for exact integers, at a point of the study.
    """
    known = {each.name: ast.dump(each) for each in python_definitions(problem)}
    rules, reader = list[ast.FunctionDef](), _Reader(problem, path)
    for each in read_statements(path):
        text = ast.unparse(each).splitlines()[0]
        if isinstance(each, ast.FunctionDef) and each.name == problem.axis.name and not rules:
            rules.append(each)
        elif isinstance(each, ast.FunctionDef):
            if ast.dump(each) != known.get(each.name):
                reader.fail(each, f"{each.name} is not as dse rule writes it for this study")
            reader.functions.add(each.name)
        elif imported := re.fullmatch(_IMPORT, text):
            reader.functions.update(re.split(", ", imported[2] or imported[1]))
        elif not _is_text(each):
            reader.fail(each, f"{text!r} is no part of a rule")
    if not rules:
        raise DseError(f"{path} has no function {problem.axis.name}: name the rule after its axis")
    names = {each.arg: ast.Name(each.arg) for each in rules[0].args.args}
    for argument in rules[0].args.args:
        argument.annotation = None
    if rules[0].decorator_list or ast.unparse(rules[0].args) != ", ".join(names):
        reader.fail(rules[0], "expected plain arguments, without defaults or decorators")
    for name in names:
        problem.parse(f"({name})")
    try:
        tree = reader.run([*rules[0].body, ast.Pass()], names)
    except RecursionError:
        raise DseError(f"{path}: the rule is too long, or nested too deeply: shorten it") from None
    _check_defined(problem, tree, path)
    return tree


def _is_text(each: ast.stmt) -> bool:
    return isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)


def _check_defined(problem: RuleProblem, tree: RuleTree, path: str | Path) -> None:
    """Raise DseError if Python may fail on a formula, or compute another value."""
    whole = BoxCosts(problem, problem.whole_box)
    for node in walk(formulas_of(tree)):
        if node.is_boolean or node.op == "constant":
            continue
        box = whole.enclose(node)
        limit = _EXACT if is_whole(node, problem.has_whole_values) else np.finfo(float).max
        if np.any(box.may_be_nan) or not np.all(np.maximum(-box.lo, box.hi) <= limit):
            raise DseError(
                f"{path}: {node_text(node)} may be undefined or above {limit:.3g} in the study, so "
                "a proof of the formula is no proof of the Python function: shorten the axes, or "
                "write a formula that is defined for all their values"
            )


class _Reader(ast.NodeTransformer):
    """A translation of statements to a rule, and of expressions to formulas."""

    def __init__(self, problem: RuleProblem, path: str | Path) -> None:
        self.problem, self.path, self.leaves = problem, path, 0
        self.names: Mapping[str, Any] = {}
        self.functions = {"min", "max", "abs"}

    def fail(self, at: ast.AST, problem: str) -> NoReturn:
        raise DseError(
            f"{self.path}, line {getattr(at, 'lineno', 1)}: {problem}. A rule that can be checked "
            f"is a function {self.problem.axis.name} of axes, with if, else, assignments to names "
            f"and return, and formulas of + - * / // %, comparisons and {', '.join(_FUNCTIONS)}"
        )

    def run(self, statements: Sequence[ast.stmt], names: Mapping[str, Any]) -> RuleTree:
        """Return the rule that statements compute; ``names`` has the expressions of variables."""
        each, *rest = statements
        self.names = names
        if isinstance(each, ast.Return) and each.value is not None:
            self.leaves += 1
            if self.leaves > sizes.RULE_LEAVES:
                self.fail(each, f"there are more than {sizes.RULE_LEAVES} paths")
            return Choice(formulas=self.candidates(each.value))
        if isinstance(each, ast.If):
            test = self.formula(each.test, parse_condition)
            yes, no = (self.run([*part, *rest], names) for part in (each.body, each.orelse))
            return Threshold(test=test, yes=yes, no=no)
        if not rest:
            self.fail(each, "a path ends without a return")
        target = each.targets[0] if isinstance(each, ast.Assign) else None
        if isinstance(each, ast.Assign) and isinstance(target, ast.Name) and not each.targets[1:]:
            return self.run(rest, {**names, target.id: self.visit(each.value)})
        if _is_text(each) or isinstance(each, ast.Pass):
            return self.run(rest, names)
        return self.fail(each, f"{ast.unparse(each).splitlines()[0]!r} cannot be certified")

    def candidates(self, value: ast.expr) -> tuple[Node, ...]:
        """Return the formulas among which a ``return`` chooses by the least predicted objective."""
        arguments = ", ".join([*self.problem.inputs, "value"])
        call = f"min(candidates, key=lambda value: predicted({arguments}))"
        choice = self.names.get("candidates")
        is_plain = "predicted" in self.functions and not {"min", "predicted"} & self.names.keys()
        if is_plain and ast.unparse(value) == call and isinstance(choice, ast.Tuple):
            return tuple(self.formula(each, parse) for each in choice.elts)
        return (self.formula(value, parse),)

    def formula(self, each: ast.expr, read: Callable[..., Node]) -> Node:
        try:
            return self.problem.parse(ast.unparse(self.visit(each)), read)
        except DseError as error:
            self.fail(each, str(error))

    # --- names, operators and functions as formulas write them

    def visit_Name(self, each: ast.Name) -> ast.expr:
        if each.id not in self.names:
            self.fail(each, f"{each.id} is unknown")
        result: ast.expr = self.names[each.id]
        return result

    def visit_IfExp(self, each: ast.IfExp) -> ast.expr:
        parts = [self.visit(part) for part in (each.test, each.body, each.orelse)]
        return ast.Call(ast.Name("where"), parts, [])

    def visit_BinOp(self, each: ast.BinOp) -> ast.expr:
        """Write ``//`` and ``%`` of whole numbers with ``floor``."""
        a, b = self.visit(each.left), self.visit(each.right)
        if isinstance(each.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
            return ast.BinOp(a, each.op, b)
        sides = [self.problem.parse(ast.unparse(side)) for side in (a, b)]
        if not all(is_whole(side, self.problem.has_whole_values) for side in sides):
            self.fail(each, f"{ast.unparse(each)} may round twice, as its parts may not be whole")
        floored = ast.Call(ast.Name("floor"), [ast.BinOp(a, ast.Div(), b)], [])
        if isinstance(each.op, ast.Mod):
            return ast.BinOp(a, ast.Sub(), ast.BinOp(b, ast.Mult(), floored))
        return floored if isinstance(each.op, ast.FloorDiv) else self.generic_visit(each)

    def visit_Call(self, each: ast.Call) -> ast.expr:
        name = ast.unparse(each.func)
        is_known = name in self.functions - self.names.keys() and name in _FUNCTIONS
        if name.startswith("math.") and "math" in self.functions - self.names.keys():
            name = name.removeprefix("math.")
            is_known = name in _FUNCTIONS[-3:]
        if not is_known or each.keywords or (name in _FUNCTIONS[:4] and len(each.args) < 2):
            self.fail(each, f"{ast.unparse(each)} cannot be certified")
        called = ast.Name("absolute" if name == "abs" else name)
        return ast.Call(called, [self.visit(argument) for argument in each.args], [])

    def generic_visit(self, each: ast.AST) -> Any:
        """Raise an error for syntax that formulas do not have."""
        if not isinstance(each, _SAME):
            self.fail(each, f"{ast.unparse(each)} cannot be certified")
        return super().generic_visit(each)
