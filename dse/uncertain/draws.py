"""The axis of what is random: exact values with their chances, or points that fill the laws evenly.

Where all laws are discrete and few, every combination of their values stands once, with its
chance. Else points of a Sobol sequence do, scrambled anew for each of 16 replicates (Owen 1997):
the spread of what the replicates give tells the error of what all of them give.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.uncertain.joint import JointNormal, JointRows, read_correlations, read_joint_law
from dse.uncertain.laws import InputLaw, read_input_law
from stochastic import sizes
from stochastic.compile_cache import load, save
from sweeps.grid.axes import Axis
from symbolic.errors import DseError, UnknownNameError, nearest_hint
from symbolic.file_access import PathBase
from symbolic.quantities import Quantity
from symbolic.statistics import DRAW

Floats = NDArray[np.float64]
Span = tuple[float, float]

#: Words of the table that are no quantities; how many draws there are where it is not said, in
#: how many replicates.
_RESERVED_KEYS = ("correlation", "draws", "seed")
DRAWS, SEED, REPLICATES = 4096, 1, 16
#: Most draws; a coordinate of a point stays so far from 0 and 1.
_MAX_DRAWS, _MIN_LEVEL = sizes.DRAWS_MOST, 2.0**-40
_END_LEVELS = np.array([_MIN_LEVEL, 1 - _MIN_LEVEL])
#: How far the seed of fresh draws is off.
_FRESH_SEED_OFFSET = 1 << 32
#: Binary digits of a coordinate.
_BINARY_DIGITS = 52
#: Bytes up to which points are kept for the next process: SciPy's module of Sobol sequences
#: takes longer to import than most studies take to run.
_MAX_CACHED_BYTES = sizes.POINTS_CACHED


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomInputs:
    """What a study knows of its inputs: their laws, and how they are drawn."""

    laws: Mapping[str, InputLaw]
    joint: Mapping[str, JointRows | JointNormal] = field(default_factory=dict)
    root: Floats | None = None
    draws: int = DRAWS
    seed: int = SEED

    @property
    def names(self) -> tuple[str, ...]:
        """The random quantities."""
        return (*self.laws, *(name for one in self.joint.values() for name in one.names))

    @property
    def notes(self) -> dict[str, str]:
        """What was cut off of laws, by quantity."""
        return {name: law.note for name, law in self.laws.items() if law.note}

    @property
    def is_exact(self) -> bool:
        """Whether all combinations of values are few enough to stand each with its chance."""
        counts = [len(law.values) for law in self.laws.values()]
        counts += [
            len(one.weights) if isinstance(one, JointRows) else 0 for one in self.joint.values()
        ]
        return self.root is None and 0 < math.prod(counts) <= self.draws

    def axis(self, seed: int | None = None) -> Axis:
        """The axis ``draw``; with another seed its points are others, and independent."""
        if self.is_exact:
            return self._enumerated_axis()
        count = self.draws // REPLICATES
        seed = self.seed if seed is None else seed
        points = sobol_replicates(self._dimensions, count, seed, REPLICATES)
        parts = [self._transform_points(each, self.root) for each in points]
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return _axis(columns, None, REPLICATES, self._drawn_and_full_ranges(columns))

    def fresh_axis(self) -> Axis:
        """The axis with points that are independent of those of the study."""
        return self.axis(self.seed + _FRESH_SEED_OFFSET)

    def _enumerated_axis(self) -> Axis:
        parts = [({n: np.array(law.values)}, law.weights) for n, law in self.laws.items()]
        for one in self.joint.values():
            assert isinstance(one, JointRows)
            parts.append((dict(one.columns), one.weights))
        places = np.indices([len(shares) for _, shares in parts]).reshape(len(parts), -1)
        columns = {
            name: column[place]
            for (own, _), place in zip(parts, places, strict=True)
            for name, column in own.items()
        }
        rows = itertools.product(*(shares for _, shares in parts))
        weights = np.array([float(math.prod(row, start=Fraction(1))) for row in rows])
        alike = np.all(weights == weights[0])
        return _axis(columns, None if alike else weights, 1)

    @property
    def _dimensions(self) -> int:
        """How many coordinates a point has."""
        return len(self.laws) + sum(one.dimensions for one in self.joint.values())

    def _transform_points(self, points: Floats, root: Floats | None) -> dict[str, Floats]:
        """The random quantities at points between 0 and 1, of shape (points, coordinates)."""
        own = len(self.laws)
        points = np.clip(points, _MIN_LEVEL, 1 - _MIN_LEVEL)
        if root is not None:
            from scipy.special import ndtr, ndtri

            points[:, :own] = ndtr(ndtri(points[:, :own]) @ root.T)
        result = {n: law.quantile(points[:, k]) for k, (n, law) in enumerate(self.laws.items())}
        first = own
        for one in self.joint.values():
            result |= one.values_at(points[:, first : first + one.dimensions])
            first += one.dimensions
        return result

    def _drawn_and_full_ranges(self, columns: Mapping[str, Floats]) -> dict[str, tuple[Span, Span]]:
        """Return the range in which each random quantity is drawn, and that of its law."""
        result: list[dict[str, Floats]] = []
        for levels in (_END_LEVELS, np.array([0.0, 1.0])):
            ends = {
                name: np.array(law.values) if law.values else law.quantile(levels)
                for name, law in self.laws.items()
            }
            for one in self.joint.values():
                ends |= one.ends(levels)
            result.append(ends)
        drawn, whole = result

        def range_with_draws(name: str, values: Floats) -> Span:
            values = np.concatenate([values, columns[name]])
            return float(values.min()), float(values.max())

        def finite_ends(name: str) -> Floats:  # where it has an end, up to that
            ends = np.array([whole[name].min(), whole[name].max()])
            return np.where(np.isfinite(ends), ends, [drawn[name].min(), drawn[name].max()])

        return {
            name: (range_with_draws(name, finite_ends(name)), range_with_draws(name, whole[name]))
            for name in columns
        }

    @property
    def inputs(self) -> dict[str, tuple[str, ...]]:
        """What can become known: a quantity with a law of its own, or a joint law by its key."""
        alone = {name: (name,) for name in self.laws}
        return alone | {key: one.names for key, one in self.joint.items()}

    def nested_axis(self, known_inputs: Collection[str], outer: int, inner: int) -> Axis:
        """The axis with ``inner`` draws of what stays unknown for each of ``outer`` of the known.

        Those of each replicate stand together, and in these those of the same known values. The
        unknown are points of a Sobol sequence, shifted digitally for each of the known.
        """
        parts = []
        coordinates = [key in known_inputs for key in self.laws]
        for key, one in self.joint.items():
            coordinates += [key in known_inputs] * one.dimensions
        fixed = np.array(coordinates)
        root = None if self.root is None else root_for_known(self.root, fixed[: len(self.laws)])
        for k in range(REPLICATES):
            rng = np.random.default_rng((self.seed + 2 * _FRESH_SEED_OFFSET, k))
            points = np.repeat(
                sobol_points(self._dimensions, outer, rng)[:, None, :], inner, axis=1
            )
            if not fixed.all():
                base = sobol_points(int(np.count_nonzero(~fixed)), inner, rng)
                points[..., ~fixed] = digital_shift(base, points[:, 0, ~fixed])
            parts.append(self._transform_points(points.reshape(-1, self._dimensions), root))
        columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return _axis(columns, None, REPLICATES, self._drawn_and_full_ranges(columns))


def _axis(
    columns: Mapping[str, Floats],
    weights: Floats | None,
    replicates: int,
    spans: Mapping[str, tuple[Span, Span]] = MappingProxyType({}),
) -> Axis:
    index = np.arange(len(next(iter(columns.values()))), dtype=np.int64)
    return Axis(
        name=DRAW,
        kind=DRAW,
        coordinate=index,
        values=index.astype(np.float64),
        columns=columns,
        weights=weights,
        replicates=replicates,
        random_ranges=spans,
    )


def read_random(
    table: Any, quantities: Mapping[str, Quantity], folder: PathBase = None
) -> RandomInputs | None:
    """The laws of ``[random]`` or ``random=``; None where it names none.

    Parameters
    ----------
    given : mapping
        A law for each quantity (see :func:`dse.uncertain.laws.read_input_law`), or under any key a joint one
        (:func:`dse.uncertain.joint.read_joint_law`); ``correlation``, ``draws`` and ``seed``.
    quantities : mapping of str to Quantity
        The quantities that may be random.
    folder : Path or Reach, optional
        The folder against which the paths of files are read.

    Raises
    ------
    DseError
        Whatever does not fit; see these.
    """
    if not isinstance(table, Mapping):
        raise DseError(f"random = {table!r}: expected a mapping from quantities to laws")
    draws = _read_draw_count(table.get("draws", DRAWS))
    seed = table.get("seed", SEED)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise DseError(f"random: seed = {seed!r}, expected a whole number of at least 0")
    laws: dict[str, InputLaw] = {}
    joint: dict[str, JointRows | JointNormal] = {}
    for key, value in table.items():
        if key in _RESERVED_KEYS:
            continue
        if not isinstance(key, str):
            raise DseError(f"random holds the name {key!r}: expected that of a quantity, as text")
        together = read_joint_law(key, value, quantities, folder)
        if together is not None:
            joint[key] = together
            continue
        row = quantities.get(key)
        if row is None:
            raise UnknownNameError(
                f"random names {key!r}, which is no quantity{nearest_hint(key, quantities)}; a key is "
                "free only where it gives a joint law, { fit = ... } or { file = ..., columns = "
                "... }"
            )
        laws[key] = read_input_law(value, row, f"random {key}", folder)
    if not laws and not joint:
        if table:
            raise DseError(f"random gives {', '.join(table)} and no quantity a law: name one")
        return None
    root = read_correlations(table.get("correlation"), list(laws))
    result = RandomInputs(laws=laws, joint=joint, root=root, draws=draws, seed=int(seed))
    names = result.names
    for name in names:
        if names.count(name) > 1:
            raise DseError(f"random gives {name} two laws: keep one of them")
    return result


def _read_draw_count(draws: Any) -> int:
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 1:
        raise DseError(f"random: draws = {draws!r}, expected a power of two from {REPLICATES} on")
    if draws < REPLICATES or draws & (draws - 1) or draws > _MAX_DRAWS:
        near = min(max(1 << max(int(draws) - 1, 1).bit_length(), REPLICATES), _MAX_DRAWS)
        raise DseError(
            f"random: draws = {draws}, expected a power of two from {REPLICATES} to {_MAX_DRAWS:,}: "
            f"{near} is next"
        )
    return int(draws)


# --- points that fill a cube evenly
def sobol_points(width: int, count: int, rng: np.random.Generator) -> Floats:
    """Points of a Sobol sequence, scrambled anew (Owen 1997): shape (count, width)."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(width, scramble=True, rng=rng)
    return np.asarray(sequence.random_base2(count.bit_length() - 1))


def sobol_replicates(width: int, count: int, seed: int, number: int) -> Floats:
    """Return independently scrambled Sobol points, of shape (number, count, width)."""
    shape = (number, count, width)
    small = 8 * math.prod(shape) <= _MAX_CACHED_BYTES
    version = importlib.metadata.version("scipy")
    text = f"Sobol points of SciPy {version}: {shape}, seed {seed}"
    key = hashlib.sha256(text.encode()).hexdigest()
    data = load(key) if small else None
    if data is not None and len(data) == 8 * math.prod(shape):
        return np.frombuffer(data).reshape(shape)
    rngs = (np.random.default_rng((seed, k)) for k in range(number))
    points = np.stack([sobol_points(width, count, rng) for rng in rngs])
    if small:
        save(key, points.tobytes())
    return points


def digital_shift(points: Floats, by: Floats) -> Floats:
    """Points, each shifted by each of some others, digit by digit: shape (by, points, width)."""
    one, other = ((2.0**_BINARY_DIGITS * array).astype(np.int64) for array in (points, by))
    return (np.bitwise_xor(other[:, None, :], one[None]) + 0.5) / 2.0**_BINARY_DIGITS


def root_for_known(root: Floats, is_known: NDArray[np.bool_]) -> Floats:
    """Another root of the same correlations, by which the known depend on their own numbers alone.

    Their rows are zero in the columns of the others, so that given the known the others are drawn
    from their conditional law.
    """
    order = np.concatenate([np.flatnonzero(is_known), np.flatnonzero(~is_known)])
    result = np.zeros_like(root)
    result[np.ix_(order, order)] = np.linalg.qr(root[order].T)[1].T
    return result
