"""Write a rule as a Python function, a C function and a table, and read it back."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

from dse.rules.sample import RuleProblem
from dse.rules.tree import (
    Choice,
    RuleTree,
    Threshold,
    choices,
    node_text,
    tree_from_json,
    tree_to_json,
)
from symbolic.errors import DseError
from symbolic.ops import Node

SUFFIXES = (".py", ".c", ".csv")
_RECORD = "rule as data: "
#: Definitions that make formulas mean the same in each language.
_PYTHON = """import math
from math import sqrt


def minimum(a, b):
    return a if a < b else b


def maximum(a, b):
    return b if a < b else a


def floor(a):
    return float(math.floor(a))


def ceil(a):
    return float(math.ceil(a))
"""
_C = """#include <math.h>

static double minimum(double a, double b) { return a < b ? a : b; }
static double maximum(double a, double b) { return a < b ? b : a; }
"""


def rule_text(problem: RuleProblem, tree: RuleTree, comment: str, suffix: str) -> str:
    """Return a rule in the format of a suffix, with a comment and the rule as data."""
    record = {"of": problem.axis.name, "minimize": problem.objective, "rule": tree_to_json(tree)}
    lines = [*comment.splitlines(), _RECORD + json.dumps(record)]
    if suffix == ".py":
        head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
        return f"{head}\n{_PYTHON}{_python(problem, tree)}"
    if suffix == ".c":
        # FMA contraction would round differently from Python
        head = "".join(f" * {line}".rstrip() + "\n" for line in lines).replace("*/", "* /")
        note = " * Compile with -ffp-contract=off, so that it rounds as Python does.\n"
        return f"/*\n{head}{note} */\n{_C}\n{_c(problem, tree)}"
    if suffix == ".csv":
        return "".join(f"# {line}\n" for line in lines) + _table(tree, problem.axis.name)
    raise DseError(f"expected a name that ends in {', '.join(SUFFIXES)}, was given {suffix!r}")


def _text(problem: RuleProblem, formula: str | Node) -> str:
    node = problem.parse(formula) if isinstance(formula, str) else formula
    return node_text(node, problem.constants)


def _needs_cost(tree: RuleTree) -> bool:
    return any(len(leaf.formulas) > 1 for leaf in choices(tree))


def _python(problem: RuleProblem, tree: RuleTree) -> str:
    arguments, axis = ", ".join(problem.inputs), problem.axis.name
    cost = _text(problem, problem.node)
    result = ""
    if _needs_cost(tree):
        result += f"\n\ndef predicted({arguments}, {axis}):\n    return {cost}\n"
    body = "\n".join(_python_lines(problem, tree, "    "))
    return f"{result}\n\ndef {axis}({arguments}):\n{body}\n"


def _python_lines(problem: RuleProblem, tree: RuleTree, indent: str) -> list[str]:
    if isinstance(tree, Threshold):
        test = f"{indent}if {_text(problem, tree.formula)} <= {tree.limit!r}:"
        yes = _python_lines(problem, tree.yes, indent + "    ")
        return [test, *yes, *_python_lines(problem, tree.no, indent)]
    texts = [_text(problem, formula) for formula in tree.formulas]
    if len(texts) == 1:
        return [f"{indent}return {texts[0]}"]
    arguments = ", ".join(problem.inputs)
    lines = [f"{indent}candidates = ("]
    lines += [f"{indent}    {text}," for text in texts]
    call = f"predicted({arguments}, value)"
    return [*lines, f"{indent})", f"{indent}return min(candidates, key=lambda value: {call})"]


def _c(problem: RuleProblem, tree: RuleTree) -> str:
    arguments = ", ".join(f"double {name}" for name in problem.inputs)
    axis, result = problem.axis.name, ""
    if _needs_cost(tree):
        cost = _text(problem, problem.node)
        result = (
            f"static double predicted({arguments}, double {axis}) {{\n    return {cost};\n}}\n\n"
        )
    body = "\n".join(_c_lines(problem, tree, "    "))
    return f"{result}double {axis}({arguments}) {{\n{body}\n}}\n"


def _c_lines(problem: RuleProblem, tree: RuleTree, indent: str) -> list[str]:
    if isinstance(tree, Threshold):
        test = f"{indent}if ({_text(problem, tree.formula)} <= {tree.limit!r}) {{"
        yes = _c_lines(problem, tree.yes, indent + "    ")
        return [test, *yes, f"{indent}}}", *_c_lines(problem, tree.no, indent)]
    texts = [_text(problem, formula) for formula in tree.formulas]
    if len(texts) == 1:
        return [f"{indent}return {texts[0]};"]
    arguments = ", ".join(problem.inputs)
    lines = [f"{indent}const double candidates[] = {{"]
    lines += [f"{indent}    {text}," for text in texts]
    lines += [f"{indent}}};", f"{indent}double best = candidates[0];"]
    lines += [f"{indent}for (int k = 1; k < {len(texts)}; k++)"]
    new, old = (f"predicted({arguments}, {each})" for each in ("candidates[k]", "best"))
    return [
        *lines,
        f"{indent}    if ({new} < {old}) best = candidates[k];",
        f"{indent}return best;",
    ]


def _table(tree: RuleTree, axis: str) -> str:
    """Return a row for each leaf: the tests on its path, and its formulas."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["if", axis])

    def rows(part: RuleTree, tests: tuple[str, ...]) -> None:
        if isinstance(part, Choice):
            writer.writerow([" and ".join(tests) or "always", " or ".join(part.formulas)])
        else:
            rows(part.yes, (*tests, f"{part.formula} <= {part.limit!r}"))
            rows(part.no, (*tests, f"{part.formula} > {part.limit!r}"))

    rows(tree, ())
    return out.getvalue()


def read_rule(path: str | Path) -> dict[str, Any]:
    """Return the record of a rule that `rule_text` wrote: ``of``, ``minimize`` and ``rule``."""
    text = Path(path).read_text(encoding="utf-8")
    match = re.search(rf"^[ #*]*{_RECORD}(\{{.*\}})$", text, re.MULTILINE)
    if match is None:
        raise DseError(f"{path} has no line {_RECORD!r}: expected a file that dse rule wrote")
    result: dict[str, Any] = json.loads(match[1])
    result["rule"] = tree_from_json(result["rule"])
    return result


def check_same_code(problem: RuleProblem, tree: RuleTree, path: str | Path) -> None:
    """Raise DseError if the code of a file is not that of its rule, because somebody changed it."""
    text = Path(path).read_text(encoding="utf-8")
    fresh = rule_text(problem, tree, "", Path(path).suffix)
    head, _, code = text.partition(_RECORD)
    is_comment = all(line.startswith(("#", "/*", " *")) for line in head.splitlines())
    if not is_comment or "*/" in head or code != fresh.partition(_RECORD)[2]:
        raise DseError(
            f"{path}: the code differs from the rule in its comment, so a proof of one says "
            "nothing of the other: write the rule again with --out"
        )
