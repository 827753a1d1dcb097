"""What lockstep costs on the GPU at hand: the benchmark of Swatman 2022, Algorithm 1, as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stochastic import Pmf, imbalance
from stochastic.validation import losses
from symbolic.errors import DseError

#: The 25 cases of Table I: each law with each number of lanes.
LAWS = (
    "binomial:40,0.5",
    "geometric:0.05",
    "poisson:30",
    "uniform:20,40",
    "negative_binomial:5,0.3",
)
LANES = (2, 4, 8, 16, 32)


def lockstep(
    laws: Sequence[str] = LAWS,
    lanes: Sequence[int] = LANES,
    *,
    groups: int = 2**18,
    each: bool = False,
    size: int = 16,
    threads: int = 256,
    seed: int = 1,
) -> dict[str, NDArray[Any]]:
    """Losses of groups in lockstep by their clocks, beside those of the work that was drawn.

    Parameters
    ----------
    laws : sequence of str
        Of the iterations of a lane, as :meth:`stochastic.Pmf.parse` reads them.
    lanes : sequence of int
        Of a group, 1 to 32.
    groups : int
        To be drawn for each law and number of lanes; the paper has 2**18.
    each : bool
        A row for each group, as :func:`stochastic.fit_timing` takes them, in place of means.
    size, threads, seed : int
        Rows of the matrices, threads of a block, seed of the draws;
        see :func:`stochastic.validation.time_powers`.

    Returns
    -------
    dict
        ``distribution``, ``lanes``, ``imbalance_loss`` as timed, ``unsynchronised_loss`` without
        synchronisation, ``drawn_loss`` of the work itself; of means also the standard deviations
        over groups, ``imbalance_loss_std`` and ``drawn_loss_std``, the exact law's mean,
        ``modelled_loss``, and ``groups``. For :func:`dse.validate` of the model ``imbalance``.

    Raises
    ------
    LawError
        Where numba-cuda or a GPU is missing, for a text that is no law, or lanes beyond a warp.
    DseError
        Where no case is named.
    """
    cases = [(text, Pmf.parse(text), count) for text in laws for count in lanes]
    if not cases:
        raise DseError("laws and lanes: expected at least one of each")
    if wrong := [count for count in lanes if not 1 <= count <= 32]:
        raise DseError(f"lanes = {wrong[0]}: expected 1 to 32, the lanes of one warp")
    parts: list[dict[str, Any]] = []
    for text, law, count in cases:
        drawn, timed, apart = losses(
            law, count, groups=groups, size=size, threads=threads, seed=seed
        )
        named = {"imbalance_loss": timed, "unsynchronised_loss": apart, "drawn_loss": drawn}
        if each:
            own = {"distribution": [text] * groups, "lanes": np.full(groups, count)}
            parts.append(own | named)
            continue
        row: dict[str, Any] = {"distribution": text, "lanes": count}
        row |= {name: values.mean() for name, values in named.items()}
        row |= {"imbalance_loss_std": timed.std(), "drawn_loss_std": drawn.std()}
        row |= {"modelled_loss": float(imbalance(law, count).mean()), "groups": groups}
        parts.append({name: [value] for name, value in row.items()})
    return {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}
