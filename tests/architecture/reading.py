"""Draw texts for somebody who has not seen the code, who marks what had to be read twice.

python -m tests.architecture.reading SEED > sample.txt

prints 120 docstrings, 60 comments, 60 lines of help and 60 sentences of the docs, numbered.
"""

from __future__ import annotations

import ast
import io
import random
import re
import sys
import tokenize
from collections.abc import Iterator

import click

from dse.cli import main
from tests.architecture.style import FOLDERS, ROOT, python_files

#: How many texts of each kind are drawn.
COUNTS = {"docstring": 120, "comment": 60, "help": 60, "documentation": 60}


def docstrings() -> Iterator[str]:
    """Yield the docstrings of the product, each with its place."""
    for path in python_files(FOLDERS[:-1]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text, name = ast.get_docstring(node), getattr(node, "name", "module")
                if text:
                    yield f"{path.relative_to(ROOT)}, {name}: {text}"


def comments() -> Iterator[str]:
    """Yield the comments of the product; lines that follow each other are one."""
    for path in python_files(FOLDERS[:-1]):
        block, last = "", -1
        for token in tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline):
            if token.type != tokenize.COMMENT or not re.search(r"[a-z]{3}", token.string):
                continue
            if block and token.start[0] != last + 1:
                yield f"{path.relative_to(ROOT)}: {block}"
                block = ""
            block, last = f"{block} {token.string.lstrip('#: ')}".strip(), token.start[0]
        if block:
            yield f"{path.relative_to(ROOT)}: {block}"


def help_lines() -> Iterator[str]:
    """Yield the help of each command and option."""
    for name in main.list_commands(click.Context(main)):
        command = main.get_command(click.Context(main), name)
        assert command is not None
        yield f"dse {name}: {command.get_short_help_str(500)}"
        for param in command.params:
            if isinstance(param, click.Option) and param.help:
                yield f"dse {name} {param.opts[0]}: {param.help}"


def sentences() -> Iterator[str]:
    """Yield the sentences of README.md and of the pages of docs, without code and tables."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = re.sub(r"^(```|~~~).*?^\1", "", path.read_text("utf-8"), flags=re.M | re.S)
        for paragraph in re.split(r"\n\s*\n", text):
            words = " ".join(paragraph.split())
            if not re.match(r"[#|>{:\[(]|\d+$", words):
                for sentence in re.split(r"(?<=[a-z).])[.:] (?=[A-Z])", words):
                    if len(sentence.split()) > 3:
                        yield f"{path.relative_to(ROOT)}: {sentence}"


if __name__ == "__main__":
    rng = random.Random(int(sys.argv[1]))
    texts = zip(COUNTS.items(), (docstrings(), comments(), help_lines(), sentences()), strict=True)
    for (kind, count), source in texts:
        for number, one in enumerate(rng.sample(list(source), count), start=1):
            print(f"--- {kind} {number}\n{one}\n")
