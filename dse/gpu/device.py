"""The GPU at hand: what runs the kernels, how long it takes, and whether the work was done."""

from __future__ import annotations

from typing import Any

from stochastic.trials.timing import describe
from symbolic.errors import DseError

#: Threads of a block, at most.
MOST_THREADS = 1024


def device() -> tuple[Any, int]:
    """The kernels and the multiprocessors of what runs them; the simulator counts as one."""
    facts = describe()
    from dse.gpu import kernels

    return kernels, int(facts.get("multiprocessors", 1))


def least(kernels: Any, run: Any) -> float:
    """The shortest of three runs, after one in which the kernel is compiled. [s]"""
    run()
    taken: float = min(kernels.seconds(run) for _ in range(3))
    return taken


def checked(right: bool) -> None:
    """The time of work that was not done is worth nothing."""
    if not right:
        raise DseError(
            "the threads did not do their work: GPU driver, CUDA toolkit and numba-cuda do not fit "
            "together; see `numba -s`"
        )
