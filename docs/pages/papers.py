"""The page of the figures of the papers, drawn as ``dse plot paper`` draws them."""

from dse.plots.papers import number_ranges, paper_figure, read_papers
from pages.rst import heading, paragraphs, plain, table

FIRST = """\
Every figure of the four papers that takes no hardware of theirs, drawn by the models, and why each
other is not. ``dse plot paper hong2012 --figure 50`` draws one, ``--figure all`` those of a paper.
Below each stands what to see, what of it is printed in the paper, and what the model yields.
"""


def figures():
    """The page."""
    parts = [heading("Figures of the papers", "="), FIRST]
    for paper in read_papers().values():
        parts.append(heading(f"{plain(paper.cited)}: {plain(paper.title)}", "-"))
        parts += [shown(paper, row) for row in paper.figures.values() if not row.why]
        reasons = {}
        for row in paper.figures.values():
            if row.why:
                reasons.setdefault((row.shows, row.why), []).append(row.number)
        rows = [
            [", ".join(number_ranges(numbers)), plain(shows), plain(why)]
            for (shows, why), numbers in reasons.items()
        ]
        parts.append(table(["not drawn", "shows", "why"], rows, "12 44 44") if rows else "")
    yield "papers.rst", paragraphs(*parts)


def shown(paper, row):
    """A figure and its line."""
    image = f".. figure:: papers/{paper.key}-{row.number}.png\n   :alt: {plain(row.shows)}"
    return f"{image}\n\n   **Fig. {row.number}.** {plain(row.caption)}"


def draw(folder):
    """Draw them all into a folder."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcdefaults()
    folder.mkdir(parents=True, exist_ok=True)
    for paper in read_papers().values():
        for row in paper.figures.values():
            if not row.why:
                figure = paper_figure(paper.key, row.number, caption=False)
                figure.savefig(folder / f"{paper.key}-{row.number}.png", dpi=130)
