"""A notebook of every object that shows itself, run by nbconvert and looked at in Chromium.

``python -m tests.dse.notebook OUT`` writes ``OUT/notebook.html`` and pictures of it, light and
dark, and fails where a cell shows plain text alone. It needs nbconvert and ipykernel.
"""

from __future__ import annotations

import sys
from pathlib import Path

#: What each cell shows last: ``html`` or a picture; ``nothing`` where progress has gone.
CELLS = {
    "import dse\nfrom dse import plots\n\nstudy = dse.Study(model='occupancy + mwp_cwp',"
    " workload='svm', machine='gtx280',\n    axes={'threads_per_block': range(32, 513, 32),"
    " 'core_clock': ['1.0 GHz', '1.3 GHz']})\nstudy": "html",
    "study.plan()": "html",
    "study.run()": "html",
    "dse.table(study.optimum(minimize='time', top=5))": "html",
    "study.explain(threads_per_block=128)": "html",
    "study.advise(threads_per_block=128)": "html",
    "dse.Study(model=['mwp_cwp + occupancy', 'occupancy + transit + transit_time'],"
    " workload='svm', machine='gtx280',\n    axes={'threads_per_block': [64, 128]})": "html",
    "dse.model('transit')": "html",
    "dse.models()": "html",
    "dse.machine('gtx280')": "html",
    "dse.machines()": "html",
    "dse.workload('svm')": "html",
    "dse.quantities('clock')": "html",
    "rows = {'threads_in_ms': [64, 128, 512, 1024], 'attained_bandwidth [GB/s]': [1, 2, 8, 8]}\n"
    "dse.fit('transit_supply', rows, free=['ms_peak_bandwidth', 'ms_transition'])": "html",
    "dse.validate('transit_supply', rows, leave_out='row', free=['ms_peak_bandwidth'],"
    " set={'ms_transition': 512})": "html",
    "dse.calibrate(rows, model='transit_supply', to='attained_bandwidth',"
    " free=['ms_peak_bandwidth', 'ms_transition'])": "html",
    "dse.kernel('examples/strided-sum.ptx', set={'steps': 100})": "text",
    "plots.lines(study, 'time', minimize='time')": "png",
    "plots.lines(study, 'time').figure": "png",
    "import time\nfrom dse.progress import shown\nwith shown(True, 'searching'):\n"
    "    time.sleep(2)": "nothing",
}


def execute(folder: Path) -> list[str]:
    """Run the notebook into a folder; what is wrong with it."""
    import nbformat
    from nbconvert import HTMLExporter
    from nbconvert.preprocessors import ExecutePreprocessor

    folder.mkdir(parents=True, exist_ok=True)
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
    ExecutePreprocessor(timeout=600, kernel_name="python3").preprocess(book, {})
    text, _ = HTMLExporter(embed_images=True).from_notebook_node(book)
    (folder / "notebook.html").write_text(text, encoding="utf-8")
    kinds = {"html": "text/html", "png": "image/png", "text": "text/plain"}
    wrong = []
    for cell, (source, wanted) in zip(book.cells, CELLS.items(), strict=True):
        outputs = [out for out in cell.outputs if "data" in out]
        plain = [out["data"].get("text/plain", "") for out in outputs]
        is_shown = any(kinds.get(wanted) in out["data"] for out in outputs)
        if wanted == "nothing":
            is_shown = "".join(plain) == ""
        streams = [out["text"] for out in cell.outputs if out.output_type == "stream"]
        if not is_shown or streams or any(len(each) > 4000 for each in plain):
            wrong.append(f"{source!r} shows {[*plain, *streams]}"[:400])
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
    print(
        "\n".join(problems) or f"{len(CELLS)} cells show what they should: {out / 'notebook.html'}"
    )
    sys.exit(bool(problems))
