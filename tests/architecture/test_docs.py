"""The generated pages hold every model, equation, source, machine, workload and figure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.plots.papers import read_papers
from symbolic.quantities import RULES
from tests.long import long

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SHIPPED = sorted(
    path.stem
    for path in (ROOT / "symbolic" / "models").glob("*.py")
    if not path.stem.startswith("_")
)


@pytest.fixture(scope="module")
def generator() -> Iterator[Any]:
    """The package that makes the pages, which lies in no installed place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        patch.delenv("DSE_PATH", raising=False)
        import pages  # type: ignore[import-not-found]

        yield pages
    for name in [name for name in sys.modules if name.split(".")[0] == "pages"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def written_pages(generator: Any) -> dict[str, str]:
    return dict(generator.pages())


def words(text: str) -> str:
    """A text as it is read: on one line, without the marks that keep it from being a mark."""
    return " ".join(re.sub(r"\\(.)", r"\1", text).split())


@long
@pytest.mark.parametrize("name", SHIPPED)
def test_a_page_holds_every_equation_and_its_source(
    name: str, written_pages: dict[str, str]
) -> None:
    model, page = dse.model(name), written_pages[f"models/{name}.rst"]
    body = page.partition("\nEquations\n")[2]
    starts = [match.start() for match in re.finditer(r"^\.\. _[\w-]+-[\w=, ]*:$", body, re.M)]
    pieces = dict.fromkeys(zip(starts, [*starts[1:], len(body)], strict=True))
    shown = [body[a:b] for a, b in pieces if "~~~" in body[a:b]]
    formulas = [line.split(r" \quad ")[0] for line in model.latex().splitlines()]
    assert len(shown) == len(model.equations) == len(formulas)
    for piece, eq, formula in zip(shown, model.equations, formulas, strict=True):
        row = model.quantity(eq.name)
        assert re.search(rf"^{eq.name}\b.*\n~~~~", piece, re.M)
        assert words(eq.source) in words(piece)
        assert eq.doc in piece
        assert all(f"{switch}={label}" in piece for switch, label in eq.when.items())
        assert words(row.meaning) in words(piece)
        assert f"[{row.unit}]" in piece or not row.unit
        assert all(f"{value} {meaning}" in words(piece) for value, meaning in eq.flags.items())
        if eq.table:
            assert all(need in piece.partition("A table")[2] for need in eq.inputs)
        else:
            assert f".. math:: {formula}\n" in piece


@long
@pytest.mark.parametrize("name", SHIPPED)
def test_a_page_holds_every_input_switch_rule_and_guide(
    name: str, written_pages: dict[str, str]
) -> None:
    model, page = dse.model(name), written_pages[f"models/{name}.rst"]
    head = words(page.partition("\nEquations\n")[0])
    for need in model.inputs:
        row = model.quantity(need)
        # an input that an equation yields in other cases links to this equation
        assert f"``{need}``" in head or f"<{name}-{need}>`" in head
        assert words(row.meaning) in head
        assert row.is_label or str(row.domain).replace("inf", "∞") in head
    for switch in {switch for eq in model.equations for switch in eq.when}:
        assert f"**{switch}**" in head
    own = [rule for rule in model.rules if rule not in RULES]
    assert all(f"``{rule}``" in head for rule in own)
    for guide in model.guides:
        moves = [guide.helps] if isinstance(guide.helps, str) else guide.helps.values()
        text = head.partition(" Advice ")[2]
        assert all(words(note) in text for note in guide.notes.values())
        assert all(move in text for text in moves for move in re.findall(r"\w+", text))


def test_a_model_of_ones_own_gets_its_page(
    generator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (ROOT / "examples" / "my_model.py").read_text()
    (tmp_path / "stencil.py").write_text(text)
    monkeypatch.setenv("DSE_PATH", str(tmp_path))
    page = generator.model_page(dse.models()["stencil"])
    assert text.removeprefix('"""').partition(",")[0] in page
    assert ":ref:`halo_factor <stencil-halo_factor>`" in page
    assert page.count(".. math::") == len(dse.models()["stencil"].equations)


@long
def test_corrections_of_the_print_are_told(written_pages: dict[str, str]) -> None:
    text = words(written_pages["models/mwp_cwp.rst"]).partition(
        "``true`` gives the printed equations"
    )
    assert "case 3 holds if computation takes longer than memory" in text[2]
    assert (
        words(written_pages["models/mwp_cwp.rst"]).count("Correction (a)") >= 2
    )  # here and at its equation


@long
def test_regimes_and_borders_are_told(written_pages: dict[str, str]) -> None:
    page = written_pages["models/transit.rst"]
    assert r"n = R \cdot \left(l \cdot Z + L\right)" in page
    assert "*memory* where" in page


@long
@pytest.mark.parametrize("kind", ["machine", "workload"])
def test_every_value_of_the_catalogue_has_its_source(
    kind: str, written_pages: dict[str, str]
) -> None:
    place = re.compile(rf"{kind}s(/\w+)?\.rst")
    page = words("\n".join(text for path, text in written_pages.items() if place.fullmatch(path)))
    entries = getattr(dse, f"{kind}s")()
    assert len(entries) > 10
    for name, entry in entries.items():
        assert name.removeprefix("cc") in page
        for quantity, value in entry.values.items():
            origin = words(f"**assumed**: {value.assumed}" if value.assumed else value.source)
            assert f"``{quantity}``" in page
            assert origin in page


def test_each_machine_has_a_page_that_the_table_links(generator: Any) -> None:
    written = dict(generator.machines())
    for name in dse.machines():
        assert (f"machines/{name}.rst" in written) is not name.startswith("cc")
        assert (f":doc:`{name} <machines/{name}>`" in written["machines.rst"]) is (
            f"machines/{name}.rst" in written
        )
    page = words(written["machines/a100_80.rst"])
    assert "Models that need further inputs" in page
    assert ":doc:`/generated/models/ipp`" in page


@long
def test_every_figure_has_its_page_and_shows_its_models(written_pages: dict[str, str]) -> None:
    scripts = [path.stem for path in (DOCS / "gallery").glob("*.py")]
    assert {f"gallery/{name}.rst" for name in scripts} < set(written_pages)
    for name in scripts:
        assert f"image:: {name}.png" in written_pages[f"gallery/{name}.rst"]
        assert f"figure:: {name}.png" in written_pages["gallery/index.rst"]
        assert (
            any(f"/{name}" in written_pages[f"models/{model}.rst"] for model in SHIPPED)
            or name == "law"
        )
    assert "/generated/gallery/transit.png" in written_pages["models/transit.rst"]


def test_the_gallery_answers_questions(generator: Any) -> None:
    rows = sys.modules["pages.gallery"].questions()
    scripts = sorted(path.stem for path in (DOCS / "gallery").glob("*.py"))
    assert sorted(name for each in rows for name in each["figures"]) == scripts
    pages = {each["page"] for each in rows}
    assert {f"ask/{path.stem}" for path in (DOCS / "ask").glob("*.md")} <= pages
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    shown = words(dict(generator.gallery())["gallery/index.rst"])
    places = [shown.index(f" {each['question']} ----") for each in rows]
    assert places == sorted(places)
    for each in rows:
        page = (DOCS / f"{each['page']}.md").read_text(encoding="utf-8")
        assert f":doc:`The answer </{each['page']}>`, with ``dse" in shown
        assert "\n$ dse " in page
        if each["page"].startswith("ask/"):
            assert f"]({each['page']}.md)" in index
            assert f"<{each['page']}>" in index
            assert all(f"/ask/{path}" in shown for path in re.findall(r"\]\((\S+\.png)\)", page))
            assert "## How sure is it?" in page or page.startswith("# How sure is it?")


@long
def test_every_figure_of_the_papers_is_shown_or_told_why_not(written_pages: dict[str, str]) -> None:
    page, text = written_pages["papers.rst"], words(written_pages["papers.rst"])
    for key, paper in read_papers().items():
        for number, row in paper.figures.items():
            drawn = f".. figure:: papers/{key}-{number}.png\n" in page
            assert drawn is not bool(row.why), (key, number)
            assert words(row.why or f"**Fig. {number}.** {row.caption}") in text


@long
def test_a_page_of_what_is_gone_goes(
    generator: Any, written_pages: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(generator, "pages", written_pages.items)
    old = tmp_path / "models" / "gone.rst"
    old.parent.mkdir()
    old.write_text("gone")
    generator.write(tmp_path)
    assert not old.exists()
    assert (tmp_path / "models" / "transit.rst").read_text().startswith(".. _model-transit:")


def test_the_command_is_named() -> None:
    assert "sphinx-build -aEW docs build/docs" in (ROOT / "README.md").read_text()
    assert "/docs/generated/\n" in (ROOT / ".gitignore").read_text()
