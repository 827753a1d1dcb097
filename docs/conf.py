"""Configuration of ``sphinx-build -aEW docs build/docs``."""

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from docutils.utils.math.latex2mathml import tex2mathml

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from pages import explorers, papers, write  # noqa: E402
from pages.gallery import draw  # noqa: E402

EXTRA = HERE / "generated" / "extra"
EXTRA.mkdir(parents=True, exist_ok=True)  # Sphinx looks for it before it is filled

project = author = "simt-dse"
project_copyright = "the simt-dse authors, Apache-2.0"
release = version = version_of("simt-dse")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # not the whole table of quantities
autodoc_typehints = "none"
napoleon_use_ivar = True
napoleon_use_rtype = False
html_theme = "furo"
html_title = "simt-dse"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_extra_path = ["generated/extra"]  # as they stand
html_copy_source = False
html_math_renderer = "mathml"

#: What has braces of its own, any other command, and words, which are no products of their letters.
WORD = re.compile(
    r"(\\(?:mathrm|text|operatorname|begin|end)\{[^}]*\}|\\[A-Za-z]+)"
    r"|((?:[A-Za-z]|\\_){3,})"
)


def formula(writer, node, *, block=False):
    """Write a formula as MathML, which browsers show without a script or a network."""
    import docutils.nodes

    for part in node.astext().split("\n\n"):
        text = WORD.sub(lambda found: found[1] or rf"\mathrm{{{found[2]}}}", " ".join(part.split()))
        writer.body.append(tex2mathml(text, as_block=block))
    raise docutils.nodes.SkipNode


def set_apart(app, what, name, obj, options, lines):
    """Add a heading to the examples of a docstring, to end the section above.

    A colon in the sentence of a property is none after a type.
    """
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", " – ")
    first = next((at for at, line in enumerate(lines) if line.startswith(">>>")), 0)
    underlined = [at for at, line in enumerate(lines[:first]) if re.fullmatch("-{3,}", line)]
    if underlined and lines[underlined[-1] - 1] != "Examples":
        lines[first:first] = ["Examples", "--------"]
    elif any(re.fullmatch(r"\w+:", line) for line in lines[:first]):
        lines[first:first] = [".. rubric:: Examples", ""]


def generate(app):
    """Write the generated pages and draw the gallery before Sphinx looks for its sources."""
    write(HERE / "generated")
    draw(HERE / "generated" / "gallery")
    papers.draw(HERE / "generated" / "papers")
    explorers.write(EXTRA / "explore")


def setup(app):
    """Register the MathML renderer and the generated pages."""
    app.add_html_math_renderer(
        "mathml", (formula, None), (lambda *of: formula(*of, block=True), None)
    )
    app.connect("builder-inited", generate)
    app.connect("autodoc-process-docstring", set_apart, priority=400)  # before napoleon reads them
