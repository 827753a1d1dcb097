"""The law of what lockstep costs, as it is asked for."""

from __future__ import annotations

from typing import Any, overload

from stochastic.checks import ZERO_WORK, choice, fraction, whole
from stochastic.errors import LawError
from stochastic.loss.alike import AlikeLaw
from stochastic.loss.answers import tail_for
from stochastic.loss.law import Law
from stochastic.loss.numeric import NumericLaw
from stochastic.loss.rational import RationalLaw, in_integers
from stochastic.work.alike import Sticky, alike_of
from stochastic.work.pmf import Pmf, law_of_work

__all__ = ["imbalance"]


@overload
def imbalance(
    pmf: Pmf,
    lanes: int,
    *,
    tol: float = ...,
    eps: float | None = ...,
    zero_work: str = ...,
    method: str = ...,
) -> Law: ...
@overload
def imbalance(
    pmf: Pmf, lanes: int, *, alike: Any, tol: float = ..., eps: float | None = ...
) -> AlikeLaw: ...


def imbalance(
    pmf: Pmf,
    lanes: int,
    *,
    alike: Any = None,
    tol: float = 1e-9,
    eps: float | None = None,
    zero_work: str = "one",
    method: str = "auto",
) -> Law | AlikeLaw:
    """The exact law of what lockstep costs a group: X = lanes · max / sum of independent items.

    Parameters
    ----------
    pmf : Pmf
        The law of the work of one item.
    lanes : int
        Items in lockstep, 1 or more.
    alike : number, matrix, pairs, or trace, optional
        Lanes that are not independent: a lane repeats its neighbour's work with this probability;
        P(next | this) of the values of a finite law; pairs (probability, law) of which one holds
        for all lanes, ``pmf`` their mixture; or a trace, of which lanes are items in a row from any
        one on. The answer then has ``mean()``, ``slowdown()``, ``longest``, and for a small law
        ``cdf``, ``quantile`` and ``table``.
    tol : float
        Tolerance on the mean: an infinite support is cut so far out that it moves the mean by less.
    eps : float, optional
        Cut where P(W > S) < eps instead, whatever that does to the error (the paper's 1e-6).
    zero_work : {"one", "drop", "zero"}
        What a group without any work loses: nothing (X = 1), 0, or it is not counted.
    method : {"auto", "exact", "sweep", "fft"}
        ``exact`` answers in fractions; the last two choose how atoms are computed.

    Raises
    ------
    LawError
        For lanes that are no whole number of 1 or more, an infinite mean, a support too large.

    Notes
    -----
    Swatman 2022, Eqs. 1-11, with the factor n that Algorithm 1 and the support of Eq. 11 omit.

    >>> law = imbalance(Pmf.geometric(0.05), lanes=32)
    >>> round(law.mean(), 8), law.error.met
    (3.9787746, True)
    """
    pmf = law_of_work(pmf)
    lanes = whole("lanes", lanes, least=1, example=32)
    tol = fraction("tol", tol, "1e-9")
    choice("zero_work", zero_work, ZERO_WORK)
    least = tail_for(tol, lanes, 1, pmf, zero_work)
    cut = least if eps is None else fraction("eps", eps, "1e-6")
    choice("method", method, ("auto", "exact", "sweep", "fft"))
    work = pmf.cut(cut)
    if alike is not None:
        if zero_work != "one" or method != "auto":
            raise LawError("alike lanes: expected zero_work='one' and method='auto'")
        how = alike_of(alike, pmf) or Sticky(0)
        return AlikeLaw(work=work, lanes=lanes, alike=how)
    if zero_work == "drop" and work.high == 0:
        raise LawError(f"{pmf!r} never has any work, and zero_work='drop' drops every group")
    engine: RationalLaw | NumericLaw | None = None
    if method in ("auto", "exact"):
        engine = in_integers(pmf, work, lanes, zero_work, asked=method == "exact")
    if engine is None:
        engine = NumericLaw(
            low=work.low, weights=work.weights, lanes=lanes, zero_work=zero_work, way=method
        )
    return Law(
        source=pmf,
        work=work,
        lanes=lanes,
        tol=tol,
        zero_work=zero_work,
        _eps=eps,
        _engine=engine,
    )
