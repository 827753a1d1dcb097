"""Objects show themselves in a line and, in notebooks, as tables that fold out."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import dse
from symbolic.answer import HTML_ROWS, Answer, Table, to_html

ROWS_OF = {"threads_in_ms": [64, 128, 512, 1024], "attained_bandwidth [GB/s]": [1, 2, 8, 8]}
GIVEN = {"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600}
ONE = dse.Study(model="transit", axes={"threads": [256, 512]}, set=GIVEN, where="threads > 1")
MANY: dict[str, Any] = {
    "Study": lambda: ONE,
    "Comparison": lambda: dse.Study(
        model=["transit", "transit + transit_warps"],
        axes={"threads": [64]},
        set=GIVEN,
        outputs=["ms_throughput"],
    ),
    "Plan": ONE.plan,
    "Explanation": ONE.explain,
    "Advice": ONE.advise,
    "Move": lambda: ONE.advise().moves[0],
    "Model": lambda: dse.model("transit"),
    "Models": dse.models,
    "Machine": lambda: dse.machine("gtx280"),
    "Machines": dse.machines,
    "Workload": lambda: dse.workload("svm"),
    "Compute capability": lambda: dse.machine("cc8.0"),
    "Quantities": lambda: dse.quantities(model="transit"),
    "Fit": lambda: dse.fit("transit_supply", ROWS_OF, free=["ms_peak_bandwidth", "ms_transition"]),
    "Table": lambda: dse.table(ONE.optimum(maximize="cs_throughput", top=2)),
}


class Page(HTMLParser):
    """The tags of a part of a page, which must nest, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("kind", MANY)
def test_every_object_shows_itself(kind: str) -> None:
    one = MANY[kind]()
    line, page = repr(one), Page(one._repr_html_())
    assert line.startswith(f"<{kind}: ")
    assert len(line) < 250
    assert "\n" not in line
    assert page.words[0] == kind
    assert kind == "Move" or "table" in page.tags


def test_units_stand_beside_values() -> None:
    words = Page(dse.machine("gtx280")._repr_html_()).words
    assert words[words.index("mem_bandwidth") + 1] == "141.7 GB/s"
    study = dse.Study(
        model="mwp_cwp",
        machine="hong2009_example",
        workload="hong2009_example",
        axes={"core_clock": ["1.0 GHz", "1.3 GHz"]},
    )
    assert "1 GHz to 1.3 GHz" in Page(study._repr_html_()).words


def test_texts_are_escaped_and_long_tables_cut() -> None:
    evil = "<script>alert('x')</script> & \"y\""
    rows = [[evil, str(k)] for k in range(HTML_ROWS + 7)]
    tables = [Table(title=evil, columns=(evil,), rows=rows), Table(title="empty", rows=[])]
    text = to_html(Answer(kind=evil, title=evil, facts={evil: evil}, tables=tables))
    page = Page(text)
    assert "script" not in page.tags
    assert page.tags.count("tr") == 1 + 1 + HTML_ROWS + 1
    assert page.words.count(evil) == 5 + HTML_ROWS
    assert page.words[-1] == "and 7 more"
    assert "empty" not in page.words


def test_a_model_that_cannot_be_loaded_is_listed_with_the_reason(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_one.py").write_text("import dse\nraise ValueError('<no>')\n")
    monkeypatch.setenv("DSE_PATH", str(tmp_path))
    if "broken_one" not in dse.models():
        pytest.skip("a file that declares no model is not listed")
    assert "<no>" in "".join(Page(dse.models()._repr_html_()).words)


def test_figures_are_pictures_without_pyplot() -> None:
    plots = pytest.importorskip("dse.plots", exc_type=ImportError)
    pytest.importorskip("matplotlib")
    ax = plots.lines(ONE, "cs_throughput")
    for one in (ax, ax.figure):
        data, size = one._repr_png_()
        assert data.startswith(b"\x89PNG")
        assert int.from_bytes(data[16:20], "big") == 2 * size["width"]
