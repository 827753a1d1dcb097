"""The page on which a study is explored."""

from __future__ import annotations

from pathlib import Path

from dse.study.comparison import ComparisonData
from dse.study.data import StudyData
from dse.verbs.sources import Askable, each_study
from symbolic.errors import DseError

__all__ = ["explore"]


def explore(source: Askable, path: str | Path, *, title: str | None = None) -> Path:
    """Write one HTML page on which a study is explored, in a browser, without a network.

    The page holds the equations as JavaScript, a slider or list for every axis and value, figures
    that follow them, each step with its source, what would help, and the best configuration. Long
    axes are thinned, and the page tells so. What Python alone can compute stands as computed here.

    Parameters
    ----------
    source : Study, Dataset or path
        What is explored; of a Dataset or store the study that it tells.
    path : path
        The page, ``"page.html"``; what stands there is replaced.
    title : str, optional
        The heading of the page; the models, machine and workload where None.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DseError
        Several models at once, a name that does not end in .html, or no study.

    >>> import tempfile
    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = explore(study, folder + "/transit.html")
    ...     page.name, "ms_throughput" in page.read_text()
    ('transit.html', True)
    """
    from dse.page.template import page_text
    from dse.page.told import told

    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm"):
        raise DseError(f"{str(path)!r} is no page: expected a name that ends in .html")

    def ask(study: StudyData) -> str:
        named = " on ".join(filter(None, [study.workload, study.machine]))
        heading = title or study.model + (f": {named}" if named else "")
        return page_text(*told(study, heading))

    if isinstance(source, ComparisonData):
        raise DseError("a page explores one model: give one of them, such as study.each[...]")
    found = each_study(source, ask)
    if isinstance(found, dict):
        raise DseError(f"a page explores one model: name one of {', '.join(found)}")
    place.write_text(found, encoding="utf-8")
    return place
