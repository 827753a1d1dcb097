"""The law of an output, where inputs are random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dse.given import a_mapping
from dse.study.comparison import ComparisonData
from dse.study.uncertain import uncertain_of
from dse.verbs.query import with_reasons
from dse.verbs.sources import Askable, each_study, with_file_read
from symbolic.errors import DseError
from symbolic.statistic import DRAW

if TYPE_CHECKING:
    from dse.study.data import StudyData
    from dse.uncertain.output import OutputLaw

__all__ = ["law"]


@with_reasons
def law(source: Askable, quantity: str, at: Mapping[str, Any] | None = None) -> OutputLaw:
    """The law of an output at one configuration, where inputs are random.

    It is exact where laws are enumerated, and where one input alone is random in the output, along
    which enclosures prove it to go one way; else it is that of the draws, with errors.

    Parameters
    ----------
    source : Study, Dataset or path
        A study of one model with random inputs; of a Dataset or store the study that it tells.
    quantity : str
        A quantity or formula that has a value in each draw.
    at : mapping, optional
        A value for each axis along which it differs.

    Returns
    -------
    dse.uncertain.output.OutputLaw
        ``quantile(q)``, ``cdf(x)``, ``mean``, ``std``; ``error("quantile", q)`` and its like;
        ``way`` says how it was found; ``plot()`` draws it.

    Raises
    ------
    DseError
        An axis that has no value here, or that is none; nothing is random; nothing is feasible.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "normal: 600 cycles, 10 %"})
    >>> study.law("cs_throughput", at={"threads": 256})
    cs_throughput at threads = 256: 4.19672, 90 % within 3.61229 and 5.00676 (monotone)
    """
    from dse.uncertain.output import law_of
    from sweeps.grid.goals import Goal, texts_of

    of = with_file_read(source)
    if isinstance(of, ComparisonData):
        raise DseError(f"a law is that of one model: ask each of {', '.join(of.each)} by itself")
    texts = texts_of(quantity, "quantity")
    if len(texts) != 1:
        raise DseError(f"quantity = {quantity!r}: expected one quantity or formula")
    goal, place = Goal(text=texts[0], sign=1.0), a_mapping(at)

    def ask(study: StudyData) -> OutputLaw:
        about = uncertain_of(study)
        grid = study._question([goal], (), per=[DRAW])
        row = grid.model.quantities.get(goal.text)
        return law_of(grid, goal, about, place, row.unit if row is not None else "")

    found = each_study(of, ask, "law")
    assert not isinstance(found, dict)
    return found
