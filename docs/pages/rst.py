"""What the generated pages are made of: reStructuredText, because docstrings are."""

import re
import textwrap


def plain(text):
    """Words as they are, whatever marks they hold."""
    return re.sub(r"([\\*`|_])", r"\\\1", " ".join(str(text).split()))


def paragraphs(*parts):
    """A page of these."""
    return "\n\n".join(part for part in parts if part) + "\n"


def heading(text, mark, label=""):
    """A heading, with a label by which other places refer to it."""
    lines = [text, mark * max(len(text), 4)]
    return "\n".join([f".. _{label}:\n", *lines] if label else lines)


def table(header, rows, widths="auto"):
    """A table; cells are reStructuredText of one line."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [header, *rows]:
        lines += [f"   {'*' if at == 0 else ' '} - {cell}" for at, cell in enumerate(row)]
    return "\n".join(lines)


def listed(items):
    """A list of points, each reStructuredText."""
    return "\n".join(f"* {textwrap.indent(item, '  ').strip()}" for item in items)


def math(text):
    """A formula on its own."""
    return f".. math:: {text}"


def tree(names):
    """What the pages at the side list under this page."""
    return ".. toctree::\n   :hidden:\n\n" + textwrap.indent("\n".join(names), "   ")
