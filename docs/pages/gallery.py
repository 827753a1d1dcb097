"""Generate the gallery: one short script for each figure, run during the build."""

import ast
import os
import re
import runpy
import textwrap
import tomllib
from pathlib import Path

import dse
from dse.plots.kinds import KINDS
from pages.rst import heading, paragraphs, plain, table, tree

HERE = Path(__file__).parents[1]


def scripts():
    """The scripts of the gallery."""
    return sorted((HERE / "gallery").glob("*.py"))


def said(script):
    """The first line of a script's docstring, and the rest."""
    text = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or script.stem
    first, _, rest = text.partition("\n")
    return first.rstrip("."), rest.strip()


def drawn(script):
    """The models that a script of the gallery draws, and the main outputs that its kind shows."""
    text = script.read_text(encoding="utf-8")
    names = set(re.findall(r"""model"?\s*[:=]\s*"([^"]+)\"""", text))
    outputs = set()
    for name in re.findall(r"plots\.(\w+)\(", text):
        kind = KINDS.get(name.replace("_", "-"))
        if kind is not None:
            outputs |= set(kind.outputs)
            names |= {kind.model} if kind.model and not names else set()
    return names, outputs


def figures_of(model):
    """The figure that shows most of a model, and links to the others in which it takes part."""
    ranked = []
    for script in scripts():
        names, outputs = drawn(script)
        named = any(model.name in re.split(r"\s*\+\s*", name) for name in names)
        parts = (set(dse.model(name).equations) for name in names)
        if named or any(set(model.equations) <= part for part in parts):
            shown = bool(outputs & set(model.outputs)) or script.stem.startswith(model.name)
            ranked.append((not named, not shown, script.stem, script))
    found = [script for *_, script in sorted(ranked)]
    links = [f":doc:`{script.stem} </generated/gallery/{script.stem}>`" for script in found]
    if found:
        caption = f"{plain(said(found[0])[0])}: {links[0]}."
        yield figure(found[0], caption, "/generated/gallery/", "../gallery/")
    if found[1:]:
        yield f"Other figures: {', '.join(links[1:])}."


def figure(script, caption, image, page):
    """The figure of a script, which leads to its page."""
    head = f".. figure:: {image}{script.stem}.png\n   :target: {page}{script.stem}.html"
    return f"{head}\n\n   {caption}"


def draw(folder):
    """Run the scripts of the gallery, each of which leaves its figure under its own name."""
    import matplotlib

    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    sharp = {"savefig.dpi": 180}
    here = Path.cwd()
    os.chdir(folder)
    try:
        for script in scripts():
            Path(f"{script.stem}.png").unlink(missing_ok=True)
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(sharp)
            runpy.run_path(str(script), run_name="__main__")
            if not Path(f"{script.stem}.png").is_file():
                raise FileNotFoundError(f"{script} did not draw {script.stem}.png")
    finally:
        os.chdir(here)


def commands():
    """The command for each figure, a part a line."""
    return tomllib.loads((HERE / "gallery" / "commands.toml").read_text(encoding="utf-8"))


def gallery():
    """A page for each script, and one of all figures."""
    shown, names, shell = [], [], commands()
    for script in scripts():
        title, rest = said(script)
        image = f".. image:: {script.stem}.png\n   :alt: {plain(title)}\n   :width: 100%"
        command = " \\\n".join(shell[script.stem]).replace("\n", "\n       ")
        command = f"In a shell (if there are several panels, one of them)::\n\n   $ {command}"
        code = f".. literalinclude:: /gallery/{script.name}\n   :language: python"
        text = paragraphs(heading(title, "="), rest, image, command, code)
        yield f"gallery/{script.stem}.rst", text
        words = script.stem.replace("_", " ").capitalize()
        names.append(f"{words} <{script.stem}>")
        shown.append(figure(script, plain(title), "", ""))
    figures = textwrap.indent("\n\n".join(shown), "   ")
    first = "A short script draws each figure; ``dse plot`` draws the same from a shell."
    shown = f".. container:: gallery\n\n{figures}"
    kinds = heading("Kinds of plots", "-"), kinds_table()
    yield (
        "gallery/index.rst",
        paragraphs(heading("Gallery", "="), first, shown, *kinds, tree(names)),
    )


def kinds_table():
    """Return the table of the kinds of plots: what each shows, and the options that it takes."""
    rows = [
        [
            f"``{name}``",
            plain(kind.shows),
            ", ".join(f"``{option}``" for option in kind.option_names),
        ]
        for name, kind in KINDS.items()
    ]
    return table(["kind", "shows", "options"], rows, "16 42 42")
