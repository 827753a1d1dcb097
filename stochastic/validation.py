"""The laws against a GPU: groups are drawn, run in lockstep, timed (Swatman 2022, Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stochastic.arrays import Floats, Ints
from stochastic.checks import whole
from stochastic.errors import LawError
from stochastic.loss.law import imbalance
from stochastic.trials.timing import describe, exponents_of, time_powers
from stochastic.work.pmf import Pmf

__all__ = [
    "Comparison",
    "compare",
    "describe",
    "drawn_loss",
    "losses",
    "time_powers",
    "timed_loss",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A row of Table I: mean losses by the law, by simulation, by the clocks of a GPU. [ratio]

    Attributes
    ----------
    law : str
        The law of the work of one item.
    lanes, groups, seed : int
        Items in lockstep; how many groups were drawn, and from which seed.
    modelled : float
        Mean of the exact law.
    simulated : float
        Mean of lanes · max / sum over the groups drawn.
    standard_error : float
        Of ``simulated``.
    synchronised, unsynchronised : float
        Mean of C_SIMT / C_MIMD over the same groups, timed with and without warp synchronisation.
    """

    law: str
    lanes: int
    groups: int
    seed: int
    modelled: float
    simulated: float
    standard_error: float
    synchronised: float
    unsynchronised: float

    def row(self) -> dict[str, Any]:
        """All fields, and the relative errors of Table I and Figure 3."""
        model = self.modelled
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        return found | {
            "simulated_error": abs(self.simulated / model - 1.0),
            "synchronised_error": abs(self.synchronised / model - 1.0),
            "unsynchronised_error": abs(self.unsynchronised / model - 1.0),
            "scheduling_difference": abs(self.unsynchronised / self.synchronised - 1.0),
        }


def drawn_loss(exponents: npt.NDArray[np.int32]) -> Floats:
    """Loss of each group by its iterations (groups, lanes), lanes · max / sum; 1 without work.

    Eq. 4 of the paper; its Algorithm 1 omits the factor ``lanes``.

    >>> drawn_loss(np.array([[4, 2, 7, 1, 6, 4, 3, 6], [0] * 8])).tolist() == [56 / 33, 1.0]
    True
    """
    whole_group = exponents.max(axis=1).astype(np.float64) * exponents.shape[1]
    return _ratio(whole_group, exponents.sum(axis=1, dtype=np.float64))


def timed_loss(clocks: Ints) -> Floats:
    """Loss of each group by its clocks (3, groups, lanes), C_SIMT / C_MIMD; 1 without work.

    Every lane pays for the time until all lanes of its group are done, or for its own alone.

    >>> timed_loss(np.array([[[0, 0]], [[30, 10]], [[31, 31]]])).tolist()
    [1.55]
    """
    start, done, left = clocks
    if np.any(done < start) or np.any(left < done):
        raise LawError(
            "the clock of a lane ran backwards, so that the kernel was moved between "
            "multiprocessors: run it again where nothing else uses the GPU"
        )
    in_lockstep = (left.max(axis=1, keepdims=True) - start).sum(axis=1, dtype=np.float64)
    return _ratio(in_lockstep, (done - start).sum(axis=1, dtype=np.float64))


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.ones_like(above), where=below > 0)


def compare(
    law: Pmf,
    lanes: int,
    *,
    groups: int = 2**18,
    size: int = 16,
    threads: int = 256,
    seed: int = 0,
    name: str = "",
) -> Comparison:
    """Mean loss by the exact law, by simulation, and by the clocks of the GPU at hand.

    Parameters
    ----------
    law : Pmf
        The law of the iterations of one lane.
    lanes, groups : int
        Lanes of a group, 1 to 32; groups to draw, as many as the paper.
    size, threads, seed : int
        See :func:`time_powers`; the seed is that of the exponents too.
    name : str
        What to call the law, if not as it is written by itself.

    Raises
    ------
    LawError
        Where numba-cuda or a GPU is missing, or for lanes beyond a warp.
    """
    model = imbalance(law, lanes)
    drawn, *timed = losses(law, model.lanes, groups=groups, size=size, threads=threads, seed=seed)
    groups = len(drawn)
    synchronised, unsynchronised = (math.fsum(one.tolist()) / groups for one in timed)
    return Comparison(
        law=name or repr(law),
        lanes=model.lanes,
        groups=groups,
        seed=int(seed),
        modelled=float(model.mean()),
        simulated=float(drawn.mean()),
        standard_error=float(drawn.std() / math.sqrt(groups)),
        synchronised=synchronised,
        unsynchronised=unsynchronised,
    )


def losses(
    law: Pmf, lanes: int, *, groups: int, size: int = 16, threads: int = 256, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Loss of each group: as drawn, timed with synchronisation, and timed without.

    See :func:`compare`; :func:`stochastic.fit_timing` takes the first and one of the others.
    """
    groups = whole("groups", groups, least=1, example=2**18)
    seed = whole("seed", seed, least=0)
    exponents = exponents_of(law.sample((groups, lanes), seed))

    def timed(synchronised: bool) -> Floats:
        runs = time_powers(
            exponents, synchronised=synchronised, size=size, threads=threads, seed=seed
        )
        return np.concatenate([timed_loss(run.clocks) for run in runs])

    return drawn_loss(exponents), timed(True), timed(False)
