"""Write a rule as a Python function, as a C function, and as a table."""

import ast
import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dse.rules.problem import Choice, RuleProblem, RuleTree
from symbolic.node import Node, walk
from symbolic.primitives import PRIMITIVES


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language in which a rule can be written, as templates of its syntax.

    ``operations`` has only the primitives whose text differs from their text in loop nests. The
    template ``function`` takes a name, arguments and a body.
    """

    definitions: str
    operations: Mapping[str, str]
    function: str
    number: str
    end: str
    test: tuple[str, ...]
    least: str


PYTHON = Language(
    definitions="""import math
from math import exp, inf, log, log2, log10, nan, pow, sqrt


def minimum(a, b):
    return a if a < b else b


def maximum(a, b):
    return a if b < a else b


def floor(a):
    return float(math.floor(a))


def ceil(a):
    return float(math.ceil(a))


""",
    operations={
        "where": "({1} if {0} else {2})",
        "divide": "({2} if {1} == 0.0 else {0} / {1})",
        "absolute": "abs({0})",
        "both": "{0} and {1}",
        "either": "{0} or {1}",
    },
    function="def {0}({1}):\n{2}",
    number="",
    end="",
    test=("if {}:",),
    least="""candidates = ({candidates})
return min(candidates, key=lambda value: predicted({inputs}, value))""",
)
C = Language(
    definitions="""#include <math.h>
#define inf INFINITY
#define nan NAN

/* Compile with -ffp-contract=off, so that it rounds as Python does. */
static double minimum(double a, double b) { return a < b ? a : b; }
static double maximum(double a, double b) { return b < a ? a : b; }

""",
    operations={
        "where": "({0} ? {1} : {2})",
        "divide": "({1} == 0.0 ? {2} : {0} / {1})",
        "absolute": "fabs({0})",
        "both": "{0} && {1}",
        "either": "{0} || {1}",
        "negate": "!{0}",
    },
    function="double {0}({1}) {{\n{2}}}\n",
    number="double ",
    end=";",
    test=("if ({}) {{", "}"),
    least="""const double candidates[] = {{{candidates}}};
double best = candidates[0];
for (int k = 1; k < {count}; k++)
    if (predicted({inputs}, candidates[k]) < predicted({inputs}, best)) best = candidates[k];
return best;""",
)
SUFFIXES = {".py": PYTHON, ".c": C, ".csv": None}


def node_text(node: Node, language: Language = PYTHON, names: Mapping[Node, str] = {}) -> str:
    """Return a formula as text; ``names`` has the names of parts that are computed before.

    Numbers are written with a decimal point, because C would divide whole numbers as integers.
    """
    if node in names:
        return names[node]
    if node.op == "reference":
        return str(node.args[0])
    if node.op == "constant":
        return repr(float(node.args[0]))
    parts = [node_text(arg, language, names) for arg in node.args]
    if not _is_call(node, language):
        for place, arg in enumerate(node.args):
            if parts[place].startswith("-") or not (arg in names or _is_call(arg, language)):
                parts[place] = f"({parts[place]})"
    return language.operations.get(node.op, _nest(node)).format(*parts)


def _nest(node: Node) -> str:
    return PRIMITIVES[node.op].nest if node.op in PRIMITIVES else "("


def _is_call(node: Node, language: Language) -> bool:
    """True if a node is written as a call: neither the node nor its arguments need parentheses."""
    text = language.operations.get(node.op, _nest(node))
    return "(" in text.split("{")[0] and node.op != "divide"


def rule_text(problem: RuleProblem, tree: RuleTree, comment: str, suffix: str) -> str:
    """Return the text of a file with a comment and a rule; ``suffix`` chooses the format."""
    language = SUFFIXES[suffix]
    lines = "".join(f"{'//' if suffix == '.c' else '#'} {line}\n" for line in comment.splitlines())
    if language is None:
        out = io.StringIO()
        rows = [("if", problem.axis.name), *rule_rows(tree)]
        csv.writer(out, lineterminator="\n").writerows(rows)
        return lines + out.getvalue()
    body = "".join(f"    {line}\n" for line in _lines(problem, tree, language))
    text = _function(problem.axis.name, problem.inputs, body, language)
    if "predicted(" in body:
        text = f"{_prediction(problem, language)}\n\n{text}"
    return f"{lines}\n{language.definitions}{text}"


def python_definitions(problem: RuleProblem) -> list[ast.FunctionDef]:
    """Return the functions that a Python file of a rule may define besides the rule."""
    body = ast.parse(PYTHON.definitions + _prediction(problem, PYTHON)).body
    return [each for each in body if isinstance(each, ast.FunctionDef)]


def _function(name: str, arguments: tuple[str, ...], body: str, language: Language) -> str:
    typed = ", ".join(language.number + argument for argument in arguments)
    return language.function.format(name, typed, body)


def _prediction(problem: RuleProblem, language: Language) -> str:
    """Return the text of the function ``predicted``, in which repeated parts have names."""
    steps = [node for node in walk([problem.node]) if node.op in PRIMITIVES]
    uses = Counter(arg for node in steps for arg in node.args)
    names, body = dict[Node, str](), ""
    for node in steps:
        if uses[node] > 1 and not node.is_boolean:
            text = node_text(node, language, names)
            names[node] = f"part_{len(names) + 1}"
            body += f"    {language.number}{names[node]} = {text}{language.end}\n"
    body += f"    return {node_text(problem.node, language, names)}{language.end}\n"
    return _function("predicted", (*problem.inputs, problem.axis.name), body, language)


def _lines(problem: RuleProblem, tree: RuleTree, language: Language) -> Iterator[str]:
    if not isinstance(tree, Choice):
        first, *last = language.test
        yield first.format(node_text(tree.test, language))
        yield from (f"    {line}" for line in _lines(problem, tree.yes, language))
        yield from last
        yield from _lines(problem, tree.no, language)
        return
    texts = [node_text(formula, language) for formula in tree.formulas]
    if len(texts) == 1:
        yield f"return {texts[0]}{language.end}"
        return
    rows, inputs = "".join(f"\n    {text}," for text in texts) + "\n", ", ".join(problem.inputs)
    text = language.least.format(candidates=rows, inputs=inputs, count=len(texts))
    yield from text.splitlines()


def rule_rows(tree: RuleTree, tests: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """Return a row for each formula of a rule: the tests on its path, and the formula."""
    if not isinstance(tree, Choice):
        test = node_text(tree.test)
        yes = rule_rows(tree.yes, (*tests, test))
        return [*yes, *rule_rows(tree.no, (*tests, f"not ({test})"))]
    texts = [node_text(formula) for formula in tree.formulas]
    least = ["it has the least prediction"] if len(texts) > 1 else []
    return [(" and ".join([*tests, *least]) or "always", text) for text in texts]
