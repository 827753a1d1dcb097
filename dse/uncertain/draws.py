"""Make the axis of random draws, from all combinations of discrete laws or from Sobol points.

If all laws are discrete and there are few combinations, each combination is one draw with its
probability. Otherwise 16 replicates of a Sobol sequence are drawn, each scrambled independently
(Owen 1997); the spread between replicates gives the error of a mean over draws.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
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

#: Keys of the table ``[random]`` that are not quantities.
_RESERVED_KEYS = ("correlation", "draws", "seed")
DRAWS, SEED = 4096, 1
#: Number of independently scrambled replicates of the Sobol points (Owen 1997).
REPLICATES = 16
_MAX_DRAWS = sizes.DRAWS_MOST
#: Coordinates of a point stay at least this far from 0 and 1, where quantiles may be infinite.
_MIN_LEVEL = 2.0**-40
_END_LEVELS = np.array([_MIN_LEVEL, 1 - _MIN_LEVEL])
#: Number added to the seed for draws that are independent of the draws of the study.
_FRESH_SEED_OFFSET = 1 << 32
_BINARY_DIGITS = 52
#: Maximum size in bytes of points cached on disk. They are cached because the import of SciPy's
#: Sobol sequences takes longer than most studies take to run.
_MAX_CACHED_BYTES = sizes.POINTS_CACHED


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomInputs:
    """The laws of the random inputs of a study, with the number of draws and the seed.

    ``laws`` maps quantities to their laws. ``joint`` maps keys to joint laws of several quantities.
    ``root`` is a matrix root of the correlations between the laws in ``laws``.
    """

    laws: Mapping[str, InputLaw]
    joint: Mapping[str, JointRows | JointNormal] = field(default_factory=dict)
    root: Floats | None = None
    draws: int = DRAWS
    seed: int = SEED

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all random quantities."""
        return (*self.laws, *(name for law in self.joint.values() for name in law.names))

    @property
    def notes(self) -> dict[str, str]:
        """Mapping from each quantity with a truncated law to a note on the truncation."""
        return {name: law.note for name, law in self.laws.items() if law.note}

    @property
    def is_exact(self) -> bool:
        """True if all laws are discrete and there are at most ``draws`` combinations."""
        joint = self.joint.values()
        counts = [len(law.values) for law in self.laws.values()]
        counts += [len(law.weights) if isinstance(law, JointRows) else 0 for law in joint]
        return self.root is None and 0 < math.prod(counts) <= self.draws

    def axis(self, seed: int | None = None) -> Axis:
        """Return the axis ``draw``; a different seed gives independent points."""
        if self.is_exact:
            return self._enumerated_axis()
        count = self.draws // REPLICATES
        seed = self.seed if seed is None else seed
        points = sobol_replicates(self._dimensions, count, seed, REPLICATES)
        return self._sampled_axis([self._transform_points(each, self.root) for each in points])

    def _sampled_axis(self, replicates: Sequence[Mapping[str, Floats]]) -> Axis:
        columns = {n: np.concatenate([part[n] for part in replicates]) for n in replicates[0]}
        return _axis(columns, None, REPLICATES, self._drawn_and_full_ranges(columns))

    def fresh_axis(self) -> Axis:
        """Return an axis of draws that are independent of the draws of the study."""
        return self.axis(self.seed + _FRESH_SEED_OFFSET)

    def _enumerated_axis(self) -> Axis:
        parts = [({n: np.array(law.values)}, law.weights) for n, law in self.laws.items()]
        for law in self.joint.values():
            assert isinstance(law, JointRows)
            parts.append((dict(law.columns), law.weights))
        places = np.indices([len(shares) for _, shares in parts]).reshape(len(parts), -1)
        columns = {
            name: column[place]
            for (part, _), place in zip(parts, places, strict=True)
            for name, column in part.items()
        }
        rows = itertools.product(*(shares for _, shares in parts))
        weights = np.array([float(math.prod(row, start=Fraction(1))) for row in rows])
        return _axis(columns, None if np.all(weights == weights[0]) else weights, 1)

    @property
    def _dimensions(self) -> int:
        return len(self.laws) + sum(law.dimensions for law in self.joint.values())

    def _transform_points(self, points: Floats, root: Floats | None) -> dict[str, Floats]:
        """Map points of the unit cube, of shape (points, coordinates), to random quantities."""
        first = len(self.laws)
        points = np.clip(points, _MIN_LEVEL, 1 - _MIN_LEVEL)
        if root is not None:
            from scipy.special import ndtr, ndtri

            points[:, :first] = ndtr(ndtri(points[:, :first]) @ root.T)
        result = {n: law.quantile(points[:, k]) for k, (n, law) in enumerate(self.laws.items())}
        for law in self.joint.values():
            result |= law.values_at(points[:, first : first + law.dimensions])
            first += law.dimensions
        return result

    def _drawn_and_full_ranges(self, columns: Mapping[str, Floats]) -> dict[str, tuple[Span, Span]]:
        """Return, for each quantity, the range of its draws (finite) and the range of its law."""
        result: list[dict[str, Floats]] = []
        for levels in (_END_LEVELS, np.array([0.0, 1.0])):
            ends = {
                name: np.array(law.values) if law.values else law.quantile(levels)
                for name, law in self.laws.items()
            }
            for joint in self.joint.values():
                ends |= joint.ends(levels)
            result.append(ends)
        drawn, whole = result

        def range_with_draws(name: str, values: Floats) -> Span:
            values = np.concatenate([values, columns[name]])
            return float(values.min()), float(values.max())

        def finite_ends(name: str) -> Floats:
            ends = np.array([whole[name].min(), whole[name].max()])
            return np.where(np.isfinite(ends), ends, [drawn[name].min(), drawn[name].max()])

        return {
            name: (range_with_draws(name, finite_ends(name)), range_with_draws(name, whole[name]))
            for name in columns
        }

    @property
    def inputs(self) -> dict[str, tuple[str, ...]]:
        """The quantities of each single and joint law, by the name of the law."""
        single = {name: (name,) for name in self.laws}
        return single | {key: law.names for key, law in self.joint.items()}

    def nested_axis(self, known_inputs: Collection[str], outer: int, inner: int) -> Axis:
        """Return an axis with ``inner`` draws of the other inputs per draw of the known inputs.

        There are ``outer`` draws of the known inputs in each replicate. Draws are grouped by
        replicate, then by the known values. The other inputs are points of one Sobol sequence,
        which is shifted digitally for each draw of the known inputs.
        """
        parts = []
        coordinates = [key in known_inputs for key in self.laws]
        for key, law in self.joint.items():
            coordinates += [key in known_inputs] * law.dimensions
        fixed = np.array(coordinates)
        root = None if self.root is None else root_for_known(self.root, fixed[: len(self.laws)])
        for k in range(REPLICATES):
            rng = np.random.default_rng((self.seed + 2 * _FRESH_SEED_OFFSET, k))
            known = sobol_points(self._dimensions, outer, rng)
            points = np.repeat(known[:, None, :], inner, axis=1)
            if not fixed.all():
                base = sobol_points(int(np.count_nonzero(~fixed)), inner, rng)
                points[..., ~fixed] = digital_shift(base, points[:, 0, ~fixed])
            parts.append(self._transform_points(points.reshape(-1, self._dimensions), root))
        return self._sampled_axis(parts)


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
    """Read the table ``[random]`` of a study; return None if it is empty."""
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
            raise DseError(f"random has the key {key!r}: expected the name of a quantity, as text")
        together = read_joint_law(key, value, quantities, folder)
        if together is not None:
            joint[key] = together
            continue
        row = quantities.get(key)
        if row is None:
            raise UnknownNameError(
                f"random names {key!r}, which is no quantity{nearest_hint(key, quantities)}; only "
                "joint laws have free keys, { fit = ... } or { file = ..., columns = ... }"
            )
        laws[key] = read_input_law(value, row, f"random {key}", folder)
    if not laws and not joint:
        if table:
            raise DseError(f"random has {', '.join(table)} but gives no quantity a law: name one")
        return None
    root = read_correlations(table.get("correlation"), list(laws))
    result = RandomInputs(laws=laws, joint=joint, root=root, draws=draws, seed=int(seed))
    for name in result.names:
        if result.names.count(name) > 1:
            raise DseError(f"random gives {name} two laws: keep one of them")
    return result


def _read_draw_count(draws: Any) -> int:
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 1:
        raise DseError(f"random: draws = {draws!r}, expected a power of two from {REPLICATES} on")
    if draws < REPLICATES or draws & (draws - 1) or draws > _MAX_DRAWS:
        near = min(max(1 << max(int(draws) - 1, 1).bit_length(), REPLICATES), _MAX_DRAWS)
        raise DseError(
            f"random: draws = {draws}, expected a power of two from {REPLICATES} to "
            f"{_MAX_DRAWS:,}, such as {near}"
        )
    return int(draws)


def sobol_points(width: int, count: int, rng: np.random.Generator) -> Floats:
    """Return scrambled Sobol points (Owen 1997), of shape (count, width)."""
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
    """Add each row of ``by`` to all points, digit by digit (xor); shape (by, points, width)."""
    digits, shifts = ((2.0**_BINARY_DIGITS * array).astype(np.int64) for array in (points, by))
    return (np.bitwise_xor(shifts[:, None, :], digits[None]) + 0.5) / 2.0**_BINARY_DIGITS


def root_for_known(root: Floats, is_known: NDArray[np.bool_]) -> Floats:
    """Return another root of the same correlations, in which the known inputs come first."""
    order = np.concatenate([np.flatnonzero(is_known), np.flatnonzero(~is_known)])
    result = np.zeros_like(root)
    result[np.ix_(order, order)] = np.linalg.qr(root[order].T)[1].T
    return result
