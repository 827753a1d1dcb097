"""The generated pages: models, gallery, papers, machines and the like; ``conf.py`` writes them."""

import dse
from pages.catalogue import catalogue, commands, limits
from pages.gallery import gallery
from pages.models import model_page
from pages.papers import figures
from pages.rst import heading, paragraphs, table, tree

HOW = """\
Each page is made from the equations that are evaluated, compiled and swept. An equation is shown as
it is computed, in the symbols of the paper where it has one for a quantity and in the names of
quantities otherwise; a formula in the text below it is the paper's own. Models join by the names of
quantities: ``"occupancy + mwp_cwp"``.
"""

ORIGINS = """\
Every number has its source, or says why it was assumed. A value is a number with its unit, or a
formula in other quantities. One of your own is a TOML file of the same form, named by its path.
"""


def pages():
    """Every generated page by its place."""
    for name, model in dse.models().items():
        yield f"models/{name}.rst", model_page(model)
    rows = [[f":doc:`{name}`", model.summary] for name, model in dse.models().items()]
    summary = table(["model", "what it says"], rows, "20 80")
    yield "models/index.rst", paragraphs(heading("Models", "="), HOW, summary, tree(dse.models()))
    shipped = {n: e for n, e in dse.machines().items() if not n.startswith("cc")}
    for kind, entries in {"machine": shipped, "workload": dse.workloads()}.items():
        last = limits() if kind == "machine" else ()
        title = heading(f"{kind.title()}s", "=")
        yield f"{kind}s.rst", paragraphs(title, ORIGINS, *catalogue(kind, entries), *last)
    yield "commands.rst", paragraphs(*commands())
    yield from gallery()
    yield from figures()


def write(folder):
    """Write all pages, and none that is not made any more."""
    made = {folder / place: text for place, text in pages()}
    for old in folder.rglob("*.rst"):
        if old not in made:
            old.unlink()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
