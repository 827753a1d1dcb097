"""Write reStructuredText, the format of the docstrings."""

import re
import textwrap


def plain(text):
    """Return a text with its special characters escaped."""
    return re.sub(r"([\\*`|_])", r"\\\1", " ".join(str(text).split()))


def paragraphs(*parts):
    """Join paragraphs to a page."""
    return "\n\n".join(part for part in parts if part) + "\n"


def heading(text, mark, label=""):
    """Return a heading, with a label for references if given."""
    lines = [text, mark * max(len(text), 4)]
    return "\n".join([f".. _{label}:\n", *lines] if label else lines)


def table(header, rows, widths="auto"):
    """Return a table; cells are reStructuredText of one line."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for row in [header, *rows]:
        lines += [f"   {'*' if at == 0 else ' '} - {cell}" for at, cell in enumerate(row)]
    return "\n".join(lines)


def listed(items):
    """Return a bullet list; items are reStructuredText."""
    return "\n".join(f"* {textwrap.indent(item, '  ').strip()}" for item in items)


def math(text):
    """Return a formula as a block."""
    return f".. math:: {text}"


def tree(names):
    """Return a hidden toctree of some pages."""
    return ".. toctree::\n   :hidden:\n\n" + textwrap.indent("\n".join(names), "   ")
