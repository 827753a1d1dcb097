"""A notebook of every object that shows itself, run by nbconvert and looked at in Chromium.

``python -m tests.dse.notebook OUT`` writes ``OUT/notebook.html`` and pictures of it, light and
dark, and fails where a cell shows plain text alone. It needs nbconvert and ipykernel.
"""

from __future__ import annotations

import sys
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"
#: A cell whose progress line has gone at the end.
PROGRESS = """import time
from dse.progress import shown
with shown(True, 'searching'):
    time.sleep(2)"""


def execute(folder: Path) -> list[str]:
    """Run the notebook into a folder; what is wrong with it."""
    import nbformat
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import ExecutePreprocessor

    folder.mkdir(parents=True, exist_ok=True)
    book = nbformat.read(NOTEBOOKS / "objects.ipynb", as_version=4)
    book.cells.append(nbformat.v4.new_code_cell(PROGRESS))
    where = {"metadata": {"path": str(NOTEBOOKS)}}
    ExecutePreprocessor(timeout=600, kernel_name="python3").preprocess(book, where)
    text, _ = HTMLExporter(embed_images=True).from_notebook_node(book)
    (folder / "notebook.html").write_text(text, encoding="utf-8")
    wrong = []
    for cell in book.cells:
        outputs = [out["data"] for out in cell.get("outputs", ()) if "data" in out]
        plain = [data.get("text/plain", "") for data in outputs]
        is_rich = all({"text/html", "image/png"} & data.keys() for data in outputs)
        is_right = is_rich and all(len(text) <= 4000 for text in plain)
        if not is_right if cell.source != PROGRESS else any(plain):
            wrong.append(f"{cell.source!r} shows {plain}"[:400])
    return wrong


def take_pictures(folder: Path) -> None:
    """Pictures of the page, light and dark."""
    from tests.browser import browser

    with browser() as page:
        for dark in (False, True):
            page.size(1000, 900, dark=dark)
            page.open((folder / "notebook.html").resolve().as_uri())
            page.picture(folder / f"notebook-{'dark' if dark else 'light'}.png")


if __name__ == "__main__":
    out = Path(sys.argv[1])
    problems = execute(out)
    take_pictures(out)
    print("\n".join(problems) or f"every cell shows what it should: {out / 'notebook.html'}")
    sys.exit(bool(problems))
