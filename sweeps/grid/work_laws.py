"""Laws of work as labels: values of the quantity ``distribution``, which table equations read."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stochastic import sizes
from sweeps.grid.routing_laws import RoutingLaw, read_routing
from symbolic.equation import label_text
from symbolic.errors import DseError
from symbolic.file_access import TABLE_LIMIT, PathBase, allowed_path

if TYPE_CHECKING:
    from stochastic import Law, Pmf
    from stochastic.launch_time.law import TimeBreakdown, TimeLaw
    from stochastic.launch_time.shared_rate import SharedLaunch, Sharing
    from stochastic.loss.bounds import Bounds
    from stochastic.loss.moments import OrderStatistics


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """The sizes of a launch (``lanes``: items per warp), and its dispatch."""

    blocks: int
    slots: int
    lanes: int
    warps: int
    dispatch: str = "hardware"
    correlation: float = 0.0
    sharing: Sharing | None = None

    def __post_init__(self) -> None:
        for name in ("blocks", "slots", "lanes", "warps"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: a launch needs at least 1")


class LaunchLaw(str):
    """A text that identifies a launch, with the law of the launch time (computed on first use)."""

    law: Pmf
    shape: LaunchShape
    _text: str
    _lock: threading.Lock

    def __new__(cls, text: str, law: Pmf, shape: LaunchShape) -> LaunchLaw:
        """Return the law of a launch whose items follow ``law``, which has the name ``text``."""
        warp = f"{shape.warps} warps of {shape.lanes} items"
        label = f"{text}: {shape.blocks} blocks of {warp} on {shape.slots} slots, {shape.dispatch}"
        label += f", alike {shape.correlation!r}" if shape.correlation else ""
        label += f", {shape.sharing}" if shape.sharing else ""
        result = super().__new__(cls, label)
        result.law, result.shape, result._lock = law, shape, threading.Lock()
        result._text = text
        return result

    def __getnewargs__(self) -> Any:
        return self._text, self.law, self.shape

    def __getstate__(self) -> None:
        """Return None as the state to pickle, so that a copy computes the law again."""

    @property
    def _times_and_idle(self) -> tuple[TimeLaw | SharedLaunch, TimeBreakdown]:
        with self._lock:
            return self._cached_result

    @cached_property
    def _cached_result(self) -> tuple[TimeLaw | SharedLaunch, TimeBreakdown]:
        return _launch_result(self)

    @property
    def values(self) -> Any:
        """Return the possible launch times in steps, ascending."""
        return self._times_and_idle[0].values

    @property
    def cdf_values(self) -> Any:
        """Return P(launch time <= value) for each of ``values``."""
        return np.asarray(self._times_and_idle[0].cdf_values, dtype=np.float64)

    @property
    def simulation_count(self) -> int:
        """Return the number of simulated launches behind the law; 0 if the law is exact."""
        result = self._times_and_idle[0]
        return 0 if getattr(result, "certain", False) else len(getattr(result, "times", ()))

    @property
    def mean(self) -> float:
        """Return the mean launch time in steps."""
        return float(self._times_and_idle[0].mean())

    @property
    def std(self) -> float:
        """Return the standard deviation of the launch time in steps."""
        return self._times_and_idle[0].std()

    @property
    def idle(self) -> TimeBreakdown:
        """Return the breakdown of the time of slots and lanes into work and idle time."""
        return self._times_and_idle[1]


@lru_cache(maxsize=1024)
def _launch_result(launch: LaunchLaw) -> tuple[TimeLaw | SharedLaunch, TimeBreakdown]:
    """Compute the law of a launch; the cache is shared by queries, which have different grids."""
    from stochastic import LawError
    from stochastic.launch_time.dispatch import dispatch_law

    try:
        s = launch.shape
        sizes = s.blocks, s.slots, s.lanes, s.warps
        return dispatch_law(launch.law, *sizes, s.dispatch, s.correlation, s.sharing)
    except LawError as error:  # a ValueError fails this launch, not the whole sweep
        raise ValueError(str(error)) from error


#: Quantity whose labels are laws of work.
LAW_QUANTITY = "distribution"
_TAIL_CUTOFF = 1e-17  # maximum probability that the law of the longest item may omit


_Answer = TypeVar("_Answer")


def _cached_by_law(answer: Callable[..., _Answer]) -> Callable[..., _Answer]:
    """Return a cached method with the law as key, because different laws may have the same text."""
    cached = lru_cache(maxsize=64)(answer)

    def method(self: WorkLaw, *given: Any) -> _Answer:
        return cached(self.pmf, *given)

    return method


def _binning(pmf: Pmf, lanes: float, bins: float) -> tuple[float, float]:
    from stochastic import partition

    result = partition(pmf, int(bins), int(lanes), places=sizes.LAW_BIN_ENDS).table
    enough = int(result["enough"])
    return float(enough), float(result["slowdown"].sel(bins=enough))


def _best_piece_length(pmf: Pmf, lanes: float, overhead: float) -> tuple[float, float]:
    from stochastic import split

    result = split(pmf, overhead=int(overhead), lanes=int(lanes)).table
    return float(result["best_threshold"]), float(result["best_total"])


def _best_granularity(pmf: Pmf, lanes: float, overhead: float) -> tuple[float, float]:
    from stochastic import granularity

    result = granularity(pmf, int(lanes), overhead, objective="slowdown")
    return float(result["best_lanes"]), float(result["best_cost"])


def _mean_max(pmf: Pmf, items: float, correlation: float) -> float:
    from stochastic.launch_time.settings import longest_item_law

    return float(longest_item_law(pmf, int(items), _TAIL_CUTOFF, correlation)[0].mean())


def _pieces(pmf: Pmf, length: float, overhead: float) -> tuple[Pmf, float]:
    from stochastic import split

    result = split(pmf, [int(length)], overhead=int(overhead), lanes=1)
    return result.law(int(length)), float(result["pieces"][0])


@lru_cache(maxsize=64)
def _imbalance(pmf: Pmf, lanes: float) -> Law:
    from stochastic import imbalance

    return imbalance(pmf, lanes=lanes)  # type: ignore[call-overload]  # a float


def _bounds(pmf: Pmf, lanes: float) -> Bounds:
    from stochastic import bounds

    return bounds(_imbalance(pmf, lanes).work, int(lanes))


class WorkLaw(str):
    """A law of work and its name. ``content`` distinguishes laws of the same name."""

    __slots__ = ("content", "pmf")

    pmf: Pmf
    content: str

    #: Law of the loss of a group. Argument: lanes.
    imbalance = _cached_by_law(_imbalance)
    #: Rigorous bounds on the mean loss. Argument: lanes.
    bounds = _cached_by_law(_bounds)
    #: Sufficient number of bins, and slowdown with sorted items. Arguments: lanes, bins.
    binning = _cached_by_law(_binning)
    #: Mean of the longest of several correlated items. Arguments: items, correlation.
    mean_max = _cached_by_law(_mean_max)
    #: Best length of a piece, and the cost of lockstep with it. Arguments: lanes, overhead.
    best_piece_length = _cached_by_law(_best_piece_length)
    #: Best number of items in lockstep, and its cost. Arguments: lanes, overhead.
    best_granularity = _cached_by_law(_best_granularity)
    _cached_piece_law = _cached_by_law(_pieces)

    def __new__(cls, text: str, pmf: Pmf, content: str = "") -> WorkLaw:
        """Return the text with its law."""
        result = super().__new__(cls, text)
        result.pmf, result.content = pmf, content
        return result

    def __getnewargs__(self) -> Any:
        return str(self), self.pmf, self.content

    def mean_of(self, function: Callable[[Any], Any]) -> float:
        """Return the mean of a function of the work; the function takes and returns arrays."""
        law = self.pmf.cut(_TAIL_CUTOFF)
        return float(law.weights @ function(float(law.low) + np.arange(len(law.weights))))

    def order_statistics(self, lanes: float) -> OrderStatistics:
        """Return the moments of a group's longest item and of a single item."""
        return self.imbalance(lanes).order_statistics()

    def pieces(self, length: float, overhead: float) -> tuple[WorkLaw, float]:
        """Return the law of the work of a piece, and the mean number of pieces per item.

        With ``length`` 0, items are not cut.
        """
        if length == 0:
            return self, 1.0
        pmf, count = self._cached_piece_law(length, overhead)
        text = f"{self}, in pieces of {length:.0f}" + (f" + {overhead:.0f}" if overhead else "")
        return WorkLaw(text, pmf, _content(pmf)), count

    def launch_law(
        self,
        dispatch: str,
        blocks: float,
        slots: float,
        lanes: float,
        warps: float,
        correlation: float,
        *rate: float,
    ) -> LaunchLaw:
        """Return the law of a launch; ``rate`` has the fields of :class:`Sharing`."""
        from stochastic import Sharing

        sharing = None
        if rate:
            full, resident, launches = rate
            sharing = Sharing(full=full, resident=int(resident), launches=int(launches))
        sizes = int(blocks), int(slots), int(lanes), int(warps)
        shape = LaunchShape(*sizes, dispatch, correlation, sharing)
        return LaunchLaw(f"{self} {self.content}".strip(), self.pmf, shape)


def read_law(value: Any, folder: PathBase = None, where: str = f"{LAW_QUANTITY} =") -> WorkLaw:
    """Return the label of a law: a Pmf, a text such as "geometric:0.05", or a CSV file.

    Relative paths start at ``folder``. Error messages begin with ``where``.
    """
    from stochastic import LawError, Pmf

    if isinstance(value, WorkLaw):
        return value
    if isinstance(value, Pmf):
        text, content = repr(value), _content(value)
        shortened = not text.startswith("Pmf.")  # no constructor: other laws may have this text
        return WorkLaw(f"{text} {content[-8:]}" if shortened else text, value, content)
    if not isinstance(value, (str, Path)):
        raise DseError(f"{where} {value!r}: expected a law as text, or a Pmf")
    text = str(value)
    is_path = text.lower().endswith((".csv", ".csv.gz"))
    try:
        pmf = Pmf.parse(str(allowed_path(text, folder, "law", TABLE_LIMIT)) if is_path else text)
    except LawError as error:
        raise DseError(f"{where} {text!r}: {error}") from error
    return WorkLaw(text, pmf, _content(pmf) if is_path else "")


def _content(pmf: Pmf) -> str:
    if not pmf.is_finite:
        return repr(pmf)
    digest = hashlib.sha256(f"{pmf.low} {pmf.missing!r} ".encode() + pmf.weights.tobytes())
    return f"{len(pmf.weights):,} values from {pmf.low}, sha256 {digest.hexdigest()}"


def contents(labels: Iterable[object]) -> dict[str, str]:
    """Return the ``content`` of each value that is a law from a file or a Pmf object."""
    return {t: t.content for t in labels if isinstance(t, (WorkLaw, RoutingLaw)) and t.content}


#: Functions that read the labels of quantities whose labels are laws.
LAW_READERS: dict[str, Callable[[Any, PathBase, str], str]] = {
    LAW_QUANTITY: read_law,
    "lengths": read_law,
    "routing": read_routing,
}


def read_label(name: str, value: Any, folder: PathBase = None, where: str = "") -> str:
    """Return the label of any quantity; if its labels are laws, parse the text of the law."""
    if name in LAW_READERS:
        return LAW_READERS[name](value, folder, where or f"{name} =")
    return label_text(value)
