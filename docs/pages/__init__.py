"""Generate the pages of models, gallery, papers and machines; ``conf.py`` writes them."""

import dse
from pages.catalogue import commands, machines, workloads
from pages.gallery import gallery
from pages.models import model_page
from pages.papers import figures
from pages.rst import heading, paragraphs, table, tree

HOW = """\
Each page is generated from the equations that simt-dse evaluates. An equation is shown as it is
computed. It uses the symbols of the paper if the paper has one for a quantity, and the name of the
quantity otherwise. A formula in the text below an equation is the one of the paper. Models join by
the names of quantities: ``"occupancy + mwp_cwp"``.
"""


def pages():
    """Yield the path and the text of every generated page."""
    for name, model in dse.models().items():
        yield f"models/{name}.rst", model_page(model)
    rows = [[f":doc:`{name}`", model.summary] for name, model in dse.models().items()]
    summary = table(["model", "summary"], rows, "20 80")
    yield "models/index.rst", paragraphs(heading("Models", "="), HOW, summary, tree(dse.models()))
    yield from machines()
    yield from workloads()
    yield "commands.rst", paragraphs(*commands())
    yield from gallery()
    yield from figures()


def write(folder):
    """Write all pages and remove outdated ones."""
    made = {folder / place: text for place, text in pages()}
    for old in folder.rglob("*.rst"):
        if old not in made:
            old.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
