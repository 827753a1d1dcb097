"""The command `dse plot paper`: the figures of the papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.canvas import write_figure
from dse.cli.ends import reading
from dse.cli.frame import command
from dse.cli.options import picture

if TYPE_CHECKING:
    from dse.plots.papers import Paper

__all__ = ["paper"]


@command(
    "dse plot paper",
    "dse plot paper hong2012",
    "dse plot paper hong2012 --figure 50 --out fig50.png",
    "dse plot paper transit --figure all --out figures",
)
@click.argument("name", metavar="[PAPER]", required=False)
@click.option("--figure", metavar="N|all", help="Draw this figure, or all that can be.")
@click.option(
    "--out",
    metavar="OUT.png|.svg|.pdf",
    type=click.Path(),
    help="Of one figure a file, of all a folder. [PAPER-N.png, PAPER]",
)
def paper(name: str | None, figure: str | None, out: str | None) -> Any:
    """Draw a figure of a paper, as the models yield it.

    Below it stands what of it is the paper's data and what the model's. Without --figure the
    figures of a paper are listed, those that are not drawn with the reason; without PAPER the
    papers.
    """
    from dse.plots import papers

    if name is None:
        if figure or out:
            raise click.UsageError("name the paper: dse plot paper lists them")
        return [_about(one) for one in papers.papers().values()], _all_papers
    with reading():
        found = papers.paper(name)
    if figure is None:
        if out is not None:
            raise click.UsageError("--out needs --figure: a number, or all")
        return {**_about(found), "figures": _rows(found)}, lambda: _all_figures(found)
    numbers = [n for n, row in found.figures.items() if not row.why]
    if figure != "all":
        with reading():
            numbers = [found.figure(figure).number]
        path = Path(out or f"{found.key}-{numbers[0]}.png")
        picture(path, "--out")
    else:
        path = Path(out or found.key)
        if path.is_file() or path.suffix in (".png", ".svg", ".pdf"):
            raise click.UsageError(f"--out {path}: all figures go into a folder, name one")
        path.mkdir(parents=True, exist_ok=True)
    data = []
    for number in numbers:
        to = path if figure != "all" else path / f"{found.key}-{number}.png"
        with reading():
            drawn = papers.paper_figure(found.key, number)
        write_figure(drawn, to)
        row = found.figure(number)
        data.append({"figure": row.number, "path": to, "caption": row.caption})
    return data, "\n".join(f"{one['path']} ({one['caption']})" for one in data)


def _about(one: Paper) -> dict[str, Any]:
    drawn = sum(not row.why for row in one.figures.values())
    return {
        "paper": one.key,
        "title": one.title,
        "aliases": list(one.aliases),
        "drawn": drawn,
        "of": len(one.figures),
    }


def _all_papers() -> str:
    from dse.plots.papers import papers

    lines = []
    for one in map(_about, papers().values()):
        names = ", ".join(one["aliases"])
        lines += [f"{one['paper']:<13} {one['title']} ({names})"]
        lines += [f"{'':<13} {one['drawn']} of {one['of']} figures are drawn"]
    return "\n".join(lines)


def _rows(one: Paper) -> list[dict[str, Any]]:
    return [
        {"figure": row.number, "shows": row.shows, "kind": row.kind, "not_drawn": row.why}
        for row in one.figures.values()
    ]


def _all_figures(one: Paper) -> str:
    from dse.plots.papers import spans

    alike: dict[str, list[str]] = {}
    for row in one.figures.values():
        said = f"not drawn: {row.why}" if row.why else row.kind.replace("_", "-")
        alike.setdefault(f"{row.shows} ({said})", []).append(row.number)
    lines = [f"{', '.join(spans(numbers)):>7}  {text}" for text, numbers in alike.items()]
    return "\n".join([f"{one.cited}: {one.title}", "", *lines])
