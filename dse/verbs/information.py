"""What it would be worth to know random inputs before a configuration is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dse.progress import Shown, shown
from dse.study.data import StudyData
from dse.study.uncertain import redrawn, uncertain_of
from dse.verbs.draws import drawn
from dse.verbs.query import identified
from dse.verbs.registry import verb
from dse.verbs.sources import Askable, one_answer
from symbolic.errors import DseError, check_known
from symbolic.statistic import DRAW

if TYPE_CHECKING:
    import xarray as xr

    from dse.uncertain.draws import Uncertain
    from sweeps.grid.grid import Grid


@verb
def information(
    source: Askable,
    *,
    minimize: str | None = None,
    maximize: str | None = None,
    where: str | Sequence[str] = (),
    sets: Sequence[Sequence[str]] = (),
    progress: Shown = False,
) -> xr.Dataset:
    """What it would be worth to know random inputs before choosing, and which to measure next.

    Now that configuration is chosen which is best on average. Who knew some inputs would choose for
    each of their values what is best on average then; by how much that is better on average is the
    worth of knowing them: EVPI of all inputs, EVPPI of some (Raiffa and Schlaifer 1961). Exact
    where all laws are enumerated; else from nested Sobol points, 16 replicates of them, of the
    configurations that are best on average in some cell of the draws.

    Parameters
    ----------
    source : Study, Comparison, Dataset or path
        A study with random inputs; of a Dataset or store the study that it tells.
    minimize, maximize : str
        A quantity or formula of which the mean should be small or large; a difference in it is
        what knowledge is worth.
    where : str or list of str
        Constraints besides those of the study: a configuration is chosen before a draw is known
        only if it meets them in all draws.
    sets : list of lists of str
        Inputs that become known together, besides each alone: random quantities, or the keys of
        joint laws, which are known together.
    progress : bool
        Tell on standard error, after a second, for how long the work goes on.

    Returns
    -------
    xarray.Dataset
        ``evpi`` and, along ``set``, ``evppi``, in the unit of the objective, with ``evpi_error``
        and ``evppi_error``, half the widths of 95 % intervals; it never falls as a set grows.
        ``changes``: the chance that another configuration is chosen then; ``then_<axis>``: the one
        chosen most often. The coordinates tell what is chosen now; the attribute ``next`` what to
        measure next: the input worth most, or ``none`` where none is worth more than its error.

    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1},
    ...               random={"mem_latency": "discrete: 300: 1, 600: 1, 1200: 2"})
    >>> found = study.information(maximize="cs_throughput - threads / 128")
    >>> round(found.evpi.item(), 3), found.threads.item(), found.attrs["next"]
    (0.18, 512, 'mem_latency')
    """
    from sweeps.ask.chances import information as information_of
    from sweeps.grid.goals import read_goals, texts_of

    goals, texts = read_goals(minimize, maximize), texts_of(where, "where")
    goal = goals[0]

    def ask(study: StudyData) -> xr.Dataset:
        about = uncertain_of(study)
        named = _sets(about, sets)
        inner = 1 << ((about.draws.bit_length() + 1) // 2)
        outer = 4 * about.draws // inner

        def nested(name: str) -> tuple[Grid, int, int]:
            axis = about.nested(named[name], outer, inner)
            return redrawn(study, axis)._question([goal], texts, per=[DRAW]), outer, inner

        of = {name: [q for key in keys for q in about.inputs[key]] for name, keys in named.items()}
        return identified(information_of(drawn(study, goal, texts), goal, of, nested), study)

    with shown(progress, "looking at every draw"):
        return one_answer("information", source, ask, objectives=len(goals) > 1)


def _sets(about: Uncertain, given: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Each input alone, and the sets that are asked, by their names."""
    inputs = about.inputs
    if isinstance(given, str):
        raise DseError(f"sets = {given!r}: expected lists of inputs, such as [['a', 'b']]")
    found: dict[str, tuple[str, ...]] = {name: (name,) for name in inputs}
    for one in given:
        names = (one,) if isinstance(one, str) else tuple(one)
        for name in names:
            said = f"sets names {name!r}, which is no random input"
            check_known(name, inputs, said, "these are")
        if not names:
            raise DseError("sets holds a set of nothing: name inputs that become known together")
        found[", ".join(names)] = tuple(dict.fromkeys(names))
    return found
