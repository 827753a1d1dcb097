"""Generate the page with the figures of the papers."""

from dse.plots.papers import number_ranges, paper_figure, read_papers
from pages.rst import heading, paragraphs, plain, table

FIRST = """\
The models draw every figure of the four papers that needs no measurement on the authors' hardware.
Tables list the other figures with the reason. ``dse plot paper hong2012 --figure 50`` draws one
figure, ``--figure all`` all figures of a paper. The caption says what to see, which numbers are
printed in the paper, and which the model computes.
"""


def figures():
    """Yield the page of the figures."""
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
        parts.append(table(["not drawn", "content", "reason"], rows, "12 44 44") if rows else "")
    yield "papers.rst", paragraphs(*parts)


def shown(paper, row):
    """Return a figure with its caption."""
    image = f".. figure:: papers/{paper.key}-{row.number}.png\n   :alt: {plain(row.shows)}"
    return f"{image}\n\n   **Fig. {row.number}.** {plain(row.caption)}"


def draw(folder):
    """Draw all figures into a folder."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcdefaults()
    folder.mkdir(parents=True, exist_ok=True)
    for paper in read_papers().values():
        for row in paper.figures.values():
            if not row.why:
                figure = paper_figure(paper.key, row.number, caption=False)
                figure.savefig(folder / f"{paper.key}-{row.number}.png", dpi=130)
