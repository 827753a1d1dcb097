"""List what breaks the rules of docs/style.md that a program can check.

python -m tests.architecture.style [PATH ...]

prints one line for each place in the Python files of some folders (default: the whole tree). The
exit status is 1 if there is one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("dse", "symbolic", "stochastic", "sweeps", "tests")
#: Words that say nothing of what a name stands for.
NOT_NAMES = frozenset({"found", "told", "said", "asked", "held", "kept", "beside", "alike"})
#: First words with which a docstring is a riddle rather than a sentence.
OPENINGS = frozenset(
    ("As", "Between", "By", "Beside", "How", "Of", "That", "Those", "What", "When", "Where")
) | {"Whether", "Which", "Who", "Whose", "With"}
#: Verbs and nouns that look like participles.
_NOT_PARTICIPLES = frozenset(
    {"bleed", "breed", "embed", "exceed", "feed", "heed", "indeed", "need", "proceed", "seed"}
) | {"shed", "speed", "succeed", "weed", "bed", "red", "hundred", "kindred", "shared"}
_IRREGULAR = {
    *("begun", "bought", "brought", "built", "caught", "chosen", "done", "drawn", "found"),
    *("given", "gone", "got", "grown", "held", "hidden", "kept", "known", "laid", "left"),
    *("lost", "made", "meant", "met", "paid", "said", "seen", "sent", "shown", "sought"),
    *("spent", "spoken", "sunk", "taken", "taught", "thought", "told", "understood", "won"),
    *("worn", "written"),
}
_PREPOSITIONS = {
    *("above", "along", "among", "apart", "around", "at", "before", "behind", "below"),
    *("beneath", "beside", "between", "beyond", "in", "into", "near", "of", "off", "on"),
    *("onto", "over", "past", "since", "through", "together", "toward", "towards", "under"),
    *("upon", "upto", "within"),
}
#: Names that follow a protocol of Python or of a library, by their last part.
PROTOCOLS = frozenset({"filtered"})


def is_bare_participle(name: str) -> bool:
    """True if a function's name is one word that is a past participle or a preposition."""
    word = name.strip("_")
    if word in _IRREGULAR | _PREPOSITIONS:
        return True
    return bool(re.fullmatch(r"[a-z]+ed", word)) and word not in _NOT_PARTICIPLES


def _targets(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that a node binds, with its line."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.lineno
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr, node.lineno
    elif isinstance(node, ast.alias) and node.asname:
        yield node.asname, node.lineno
    elif (isinstance(node, ast.ExceptHandler) and node.name) or (
        isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name
    ):
        yield node.name, node.lineno


def python_files(paths: Iterable[str | Path] = FOLDERS) -> Iterator[Path]:
    """Yield the Python files in some folders of the tree, in order."""
    for path in paths:
        place = ROOT / path
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def violations(path: Path) -> Iterator[str]:
    """Yield ``file:line: rule: name`` for each place where a file breaks a rule."""
    name = path.relative_to(ROOT)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if path.stem.strip("_") in NOT_NAMES:
        yield f"{name}:1: no name: {path.stem}"
    for node in ast.walk(tree):
        for bound, line in _targets(node):
            if bound.strip("_") in NOT_NAMES:
                yield f"{name}:{line}: no name: {bound}"
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_bare_participle(
            node.name
        ):
            yield f"{name}:{node.lineno}: function named by a participle: {node.name}"
        documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            first = re.match(r"\W*(\w+)", text)
            if first and first[1] in OPENINGS:
                line = getattr(node, "lineno", 1)
                yield f"{name}:{line}: docstring opens with {first[1]}: {text.splitlines()[0]}"


if __name__ == "__main__":
    lines = [line for path in python_files(sys.argv[1:] or FOLDERS) for line in violations(path)]
    print("\n".join(lines))
    sys.exit(bool(lines))
