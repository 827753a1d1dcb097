"""Laws of launches as labels: what a model's equations ask of them, computed when first asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from stochastic import Pmf
    from stochastic.scheduling.shared_rate import SharedLaunch, Sharing
    from stochastic.scheduling.times import Idle, Times


@dataclass(frozen=True, slots=True)
class Shape:
    """Blocks on slots, warps of a block and items side by side in a warp; who deals them out."""

    blocks: int
    slots: int
    lanes: int
    warps: int
    dispatch: str = "hardware"
    alike: float = 0.0
    sharing: Sharing | None = None

    def __post_init__(self) -> None:
        for name in ("blocks", "slots", "lanes", "warps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: a launch needs at least 1")


class LaunchLaw(str):
    """The text of a launch and its law; two of one text are of one law."""

    law: Pmf
    shape: Shape
    _text: str
    _lock: threading.Lock

    def __new__(cls, text: str, law: Pmf, shape: Shape) -> LaunchLaw:
        """The launch of items of a law, known by the text."""
        warp = f"{shape.warps} warps of {shape.lanes} items"
        told = f"{text}: {shape.blocks} blocks of {warp} on {shape.slots} slots, {shape.dispatch}"
        told += f", alike {shape.alike!r}" if shape.alike else ""
        told += f", {shape.sharing}" if shape.sharing else ""
        found = super().__new__(cls, told)
        found.law, found.shape, found._lock = law, shape, threading.Lock()
        found._text = text
        return found

    def __getnewargs__(self) -> Any:
        return self._text, self.law, self.shape

    def __getstate__(self) -> None:
        """What was computed is computed anew elsewhere."""

    @property
    def _answers(self) -> tuple[Times | SharedLaunch, Idle]:
        with self._lock:
            return self._found

    @cached_property
    def _found(self) -> tuple[Times | SharedLaunch, Idle]:
        return _found(self)

    @property
    def values(self) -> Any:
        """The steps that it can take, ascending."""
        return self._answers[0].values

    @property
    def below(self) -> Any:
        """The probability that it takes no more than each of these."""
        return np.asarray(self._answers[0].below, dtype=np.float64)

    @property
    def simulated(self) -> int:
        """Of how many simulated launches this is the law; 0 where it is exact."""
        found = self._answers[0]
        return 0 if getattr(found, "certain", False) else len(getattr(found, "times", ()))

    @property
    def mean(self) -> float:
        """Mean steps."""
        return float(self._answers[0].mean())

    @property
    def std(self) -> float:
        """Their standard deviation."""
        return self._answers[0].std()

    @property
    def idle(self) -> Idle:
        """Where the time of slots and lanes goes."""
        return self._answers[1]


@lru_cache(maxsize=1024)
def _found(launch: LaunchLaw) -> tuple[Times | SharedLaunch, Idle]:
    """Kept from one question of a study to the next, which builds its grid anew."""
    from stochastic import LawError
    from stochastic.scheduling.dispatch import launched, launched_sharing

    try:
        shape = launch.shape
        told = shape.blocks, shape.slots, shape.lanes, shape.warps, shape.dispatch, shape.alike
        sharing = shape.sharing
        if sharing is None or sharing.full >= sharing.resident * shape.warps:
            return launched(launch.law, *told)
        return launched_sharing(launch.law, *told, sharing)
    except LawError as error:  # of this launch; others of the sweep have their laws
        raise ValueError(str(error)) from error
