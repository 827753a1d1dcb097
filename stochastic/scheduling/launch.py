"""The exact law of a launch: blocks of random work on slots, each block to the first free slot."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, overload

from stochastic import sizes
from stochastic.checks import choice, fraction, whole
from stochastic.errors import LawError
from stochastic.scheduling.blocks import from_zero, longest_of, setting_of, whole_weights
from stochastic.scheduling.engines import Numerically
from stochastic.scheduling.exactly import Certain, Exactly
from stochastic.scheduling.launched import Launch
from stochastic.scheduling.rational import RationalLaunch
from stochastic.scheduling.sharing import SharedLaunch, Sharing, simulated
from stochastic.work.pmf import Pmf, law_of_work

__all__ = ["launch"]

# steps of integer arithmetic up to which laws given in fractions stay so
_PRICE = sizes.EXACT_PRICE
_ASKED = sizes.EXACT_ASKED
_DIGITS = sizes.EXACT_DIGITS  # bits of all blocks together, up to which fractions stay quick


@overload
def launch(
    work: Pmf | Sequence[Pmf],
    *,
    blocks: int,
    slots: int | Sequence[int],
    lanes: int = ...,
    warps: int = ...,
    alike: Any = ...,
    sharing: None = ...,
    tol: float = ...,
    method: str = ...,
) -> Launch: ...
@overload
def launch(
    work: Pmf,
    *,
    blocks: int,
    slots: int,
    lanes: int = ...,
    warps: int = ...,
    alike: Any = ...,
    sharing: Sharing,
) -> SharedLaunch: ...


def launch(
    work: Pmf | Sequence[Pmf],
    *,
    blocks: int,
    slots: int | Sequence[int],
    lanes: int = 1,
    warps: int = 1,
    alike: Any = 0,
    sharing: Any = None,
    tol: float = 1e-13,
    method: str = "auto",
) -> Launch | SharedLaunch:
    """The exact law of the time of a launch, under the hardware's own dynamic scheduling.

    A block goes to the first slot that is free; it takes as long as its longest warp, and a warp as
    long as its longest lane. Slots do not slow each other down.

    Parameters
    ----------
    work : Pmf, or a sequence of them
        The law of the work of one item, in whole units of time; several where multiprocessors are
        unlike, one for each of ``slots``.
    blocks : int
        Blocks of the launch.
    slots : int, or a sequence of them
        Blocks that run at a time, multiprocessors · resident blocks. Of several kinds, the first
        named is served first where slots are free at the same moment.
    lanes, warps : int
        Items in lockstep, and warps of a block: independent items. With ``lanes = warps = 1``,
        ``work`` is that of a block.
    alike : number, matrix, pairs, or trace
        How the lanes of a block are alike, all of them in a row: a lane repeats its neighbour's
        work with this probability; P(next | this) of a finite law's values; of pairs
        (probability, law), one law for the whole block, ``work`` their mixture; or a trace, of
        which a block takes items in a row.
    sharing : Sharing, optional
        Warps that share the rate of their multiprocessor: simulated, with an interval; the answer
        then is a ``SharedLaunch``.
    tol : float
        Most by which the cut of an infinite law may move a probability.
    method : {"auto", "exact", "inversion"}
        ``exact`` answers in fractions, which needs a small law; ``auto`` does where laws are given
        in Fractions and that is quick.

    Raises
    ------
    LawError
        For what does not fit, and for a law too large to be exact, with what works instead.

    >>> law = launch(Pmf.geometric(0.05), lanes=32, warps=4, blocks=1000, slots=160)
    >>> round(law.mean(), 3), law.quantile(0.99), law.error < 1e-11
    (781.423, 860, True)
    """
    works, each = _kinds(work, slots)
    lanes = whole("lanes", lanes, least=1, example=32)
    warps = whole("warps", warps, least=1, example=8)
    blocks = whole("blocks", blocks, least=1, example=4096)
    tol = fraction("tol", tol, "1e-13")
    choice("method", method, ("auto", "exact", "inversion"))
    if sharing is not None:
        if len(works) > 1:
            raise LawError("sharing: expected multiprocessors that are alike, one law of work")
        return simulated(works[0], sharing, blocks, each[0], lanes, warps, alike)
    beyond = tol / (4.0 * blocks)
    longest = [longest_of(one, lanes * warps, beyond, alike) for one in works]
    missing = 2.0 * blocks * max(left for _, left in longest)
    served = [min(one, blocks) for one in each]  # slots beyond the blocks stay empty
    setting = setting_of([from_zero(block) for block, _ in longest], served, blocks)
    engine: Numerically | Exactly | Certain | None = None
    if setting is not None:
        engine = Numerically(setting=setting)
        exactly = _in_fractions(
            [block for block, _ in longest], served, blocks, setting.span, method
        )
        if exactly is not None:
            engine = Exactly(launch=exactly, setting=setting)
        elif setting.is_certain:
            engine = Certain(setting=setting)
    warps_of = [longest_of(one, lanes, beyond, alike)[0] for one in works]
    return Launch(
        works=tuple(works),
        lanes=lanes,
        warps=warps,
        blocks=blocks,
        slots=tuple(each),
        missing=missing,
        means=tuple((one.mean(), warp.mean()) for one, warp in zip(works, warps_of, strict=True)),
        _engine=engine,
    )


def _kinds(work: Any, slots: Any) -> tuple[list[Pmf], list[int]]:
    several = isinstance(work, list | tuple)
    works = [law_of_work(one) for one in (work if several else [work])]
    if several != isinstance(slots, list | tuple) or (several and len(work) != len(slots)):
        raise LawError(
            f"work = {work!r:.60} and slots = {slots!r:.60}: expected one law and one number, or, "
            "of multiprocessors that are unlike, as many laws as numbers"
        )
    if not works:
        raise LawError("work is empty: expected a law of work, such as Pmf.geometric(0.05)")
    each = [whole("slots", one, least=1, example=864) for one in (slots if several else [slots])]
    return works, each


def _in_fractions(
    laws: list[Pmf], slots: list[int], blocks: int, span: int, method: str
) -> RationalLaunch | None:
    if method == "inversion" or (method == "auto" and not all(one.given_exactly for one in laws)):
        return None
    high = max(int(one.high) for one in laws) // span
    exact = [weight for one in laws for weight in one.exact or ()]
    digits = max((weight.denominator.bit_length() for weight in exact), default=53)
    price = float(blocks * high) ** 2 * sum(slots) ** 2 * blocks * high
    price *= (1.0 + blocks * digits / _DIGITS) ** 1.5
    if price > (_PRICE if method == "auto" else _ASKED):
        if method == "auto":
            return None
        raise LawError(
            f"fractions of {blocks:,} blocks of up to {high:,} steps would take too long: leave "
            "out method='exact'; the answers then carry a bound of their error"
        )
    fractions = [_from_zero(one) for one in laws]
    idle = fractions[0][0]
    steps = [one[:1] + one[span::span] for one in fractions]
    weights = whole_weights(steps)
    return RationalLaunch(weights=weights, slots=tuple(slots), blocks=blocks, idle=idle)


def _from_zero(law: Pmf) -> tuple[Fraction, ...]:
    known = law.exact or tuple(Fraction(float(one)) for one in law.weights)
    total = sum(known, Fraction(0))
    return (*[Fraction(0)] * law.low, *(one / total for one in known))
