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
        stem = found[0].stem
        yield figure(f"/generated/gallery/{stem}.png", caption, f"../gallery/{stem}.html")
    if found[1:]:
        yield f"Other figures: {', '.join(links[1:])}."


def figure(image, caption, page):
    """A figure with a caption, which leads to a page."""
    return f".. figure:: {image}\n   :target: {page}\n\n   {caption}"


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


def questions():
    """The questions that order the gallery, each with its page and figures."""
    return tomllib.loads((HERE / "gallery" / "questions.toml").read_text(encoding="utf-8"))[
        "questions"
    ]


def commands_of(page):
    """The commands that a page shows, without options."""
    text = (HERE / f"{page}.md").read_text(encoding="utf-8")
    return list(dict.fromkeys(re.findall(r"^\$ (dse \w+(?:(?<=plot) [\w-]+)?)", text, re.M)))


def page_figures(page):
    """The figures of a page: what each shows, and its file."""
    text = (HERE / f"{page}.md").read_text(encoding="utf-8")
    folder = Path(page).parent.as_posix()
    for shown, file in re.findall(r"!\[([^\]]+)\]\(([^)/]+\.png)\)", text):
        yield f"/{folder}/{file}", shown


def gallery():
    """A page for each script, and one of all figures, by question."""
    names, shell, parts = [], commands(), []
    for each in questions():
        page, shown = each["page"], []
        for image, caption in page_figures(each["page"]):
            shown.append(figure(image, plain(caption), f"../../{page}.html"))
        for name in each["figures"]:
            script = HERE / "gallery" / f"{name}.py"
            title, rest = said(script)
            image = f".. image:: {name}.png\n   :alt: {plain(title)}\n   :width: 100%"
            command = " \\\n".join(shell[name]).replace("\n", "\n       ")
            command = f"In a shell (if there are several panels, one of them)::\n\n   $ {command}"
            answer = f"A figure for the question :doc:`{each['question']} </{page}>`"
            code = f".. literalinclude:: /gallery/{script.name}\n   :language: python"
            text = paragraphs(heading(title, "="), rest, image, command, code, answer)
            yield f"gallery/{name}.rst", text
            names.append(f"{name.replace('_', ' ').capitalize()} <{name}>")
            shown.append(figure(f"{name}.png", plain(title), f"{name}.html"))
        verbs = ", ".join(f"``{verb}``" for verb in commands_of(page))
        answer = f":doc:`The answer </{page}>`" + (f", with {verbs}." if verbs else ".")
        figures = textwrap.indent("\n\n".join(shown), "   ")
        box = [f".. container:: gallery\n\n{figures}"] if shown else []
        parts.append(paragraphs(heading(each["question"], "-"), answer, *box))
    first = (
        "Each question has a page with commands, their output, and how sure the answer is. A short "
        "script draws each other figure; ``dse plot`` draws the same from a shell."
    )
    kinds = heading("Kinds of plots", "-"), kinds_table()
    yield (
        "gallery/index.rst",
        paragraphs(heading("Gallery", "="), first, *parts, *kinds, tree(names)),
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
