"""The page on which a study is explored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.study.data import StudyData
from dse.verbs.query import resolve_values
from dse.verbs.sources import Askable
from sweeps.files.whole import write_whole
from symbolic.errors import DseError

__all__ = ["explore", "page_of"]


def explore(source: Askable, path: str | Path, *, title: str | None = None, note: str = "") -> Path:
    """Write one HTML page on which a study is explored, in a browser, without a network.

    The page holds the equations as JavaScript, a slider or list for every axis and value, figures
    that follow them, each step with its source, what would help, and the best configuration. Long
    axes are thinned, and the page tells so. What Python alone can compute stands as computed here.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        What is explored. Of a study the page holds the equations; of a Dataset or store, and of
        models compared, the values, thinned along long axes.
    path : path
        The page, ``"page.html"``; what stands there is replaced.
    title : str, optional
        The heading of the page; the models, machine and workload where None.
    note : str, optional
        What stands below it, such as what to try.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    DseError
        A name that does not end in .html; what can be neither asked nor opened.

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

    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm"):
        raise DseError(f"{str(path)!r} is no page: expected a name that ends in .html")
    return write_whole(place, page_text(*page_of(source, title, note)))


def page_of(
    source: Askable, title: str | None = None, note: str = ""
) -> tuple[dict[str, Any], dict[str, str]]:
    """What the page of a source is told, and the functions that it calls."""
    from dse.page.stored import told_of_values
    from dse.page.told import told

    asked = resolve_values(source)
    if not isinstance(asked, StudyData):
        named = Path(source).name if isinstance(source, (str, Path)) else ""
        heading = title or named or str(asked.attrs.get("title") or "a Dataset")
        return told_of_values(asked, heading, note)
    named = " on ".join(filter(None, [asked.workload, asked.machine]))
    return told(asked, title or asked.model + (f": {named}" if named else ""), note)
