"""Random boxes and points of every equation, and what must be true of their enclosures.

No point of a box may fall outside its enclosure, rounded outward or to nearest, nor go against what
is said of how a value rises or falls along an axis. A million boxes with a point each for every
equation taken together, and as many for the whole graphs, under every switch of every model, by

    python -m tests.one_source.enclosing 1000000
"""

from __future__ import annotations

import itertools
import math
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from symbolic.intervals import Decision, Interval, Trend, enclose, literal_trend, trend_algebra
from symbolic.library import iterate_models
from symbolic.ops import Node, interpret_all, interpret_arrays, references, walk
from symbolic.primitives.rule_operations import ALL_AXES
from symbolic.quantities import Quantity

Floats = NDArray[np.float64]
Ends = tuple[Floats, Floats]

#: Boxes looked at together.
BATCH = 1 << 14
#: The C library's functions, as monotone as what they compute only up to their last bits.
LIBRARY = {"exp", "log", "log2", "log10", "pow"}
NEAR = 1e-9


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Trees over quantities, whose values are enclosed."""

    name: str
    roots: Mapping[str, Node]
    quantities: Mapping[str, Quantity]


@cache
def equations() -> tuple[Subject, ...]:
    """Every equation that every shipped model can use, alone."""
    result: dict[Any, Subject] = {}
    for model in iterate_models():
        for eq in model.equations:
            if not eq.table and eq not in result:
                name = f"{model.name}-{eq.name}" + (f"[{eq.switch_text}]" if eq.when else "")
                result[eq] = Subject(
                    name=name, roots={eq.name: eq.node}, quantities=model.quantities
                )
    return tuple(result.values())


@cache
def graphs() -> tuple[Subject, ...]:
    """Every model as a whole, under every combination of its switches, down to its inputs."""
    result = []
    for model in iterate_models():
        names = dict.fromkeys(switch for eq in model.equations for switch in eq.when)
        for labels in itertools.product(*(model.quantities[name].labels or () for name in names)):
            switches = dict(zip(names, labels, strict=True))
            graph = model.graph(**switches)
            roots = {
                name: graph.flat(name)
                for name, definition in graph.definitions.items()
                if not definition.is_leaf and not _label_axes(graph.flat(name), model.quantities)
            }
            if roots:
                text = "".join(f" {name}={label}" for name, label in switches.items())
                subject = Subject(
                    name=f"{model.name}{text}", roots=roots, quantities=model.quantities
                )
                result.append(subject)
    return tuple(result)


def _label_axes(root: Node, quantities: Mapping[str, Quantity]) -> bool:
    return any(quantities[name].is_label for name in references(root))


# --- boxes and points of the domain of a quantity
def some(row: Quantity, rng: np.random.Generator, size: int) -> Floats:
    """Values of a quantity: mostly typical ones, some zero, at an end of the domain or far out."""
    domain = row.domain
    low, high = row.typical or (max(domain.low, 0.0), min(domain.high, 100.0))
    share = rng.random(size)
    value = low * (high / low) ** share if low > 0 else low + (high - low) * share
    sign = 1 if domain.low >= 0 else rng.choice((-1, 1), size)
    far = np.exp(rng.uniform(-300, 300, size)) * sign
    value = np.where(rng.random(size) < 0.1, far, value)
    value = np.rint(value) if domain.whole else value
    low = np.nextafter(domain.low, math.inf) if domain.low_open else domain.low
    high = np.nextafter(domain.high, -math.inf) if domain.high_open else domain.high
    low, high = (np.ceil(low), np.floor(high)) if domain.whole else (low, high)
    value = np.where(rng.random(size) < 0.1, low if math.isfinite(domain.low) else value, value)
    value = np.where(rng.random(size) < 0.1, high if math.isfinite(domain.high) else value, value)
    for special in (0.0, math.inf, -math.inf):
        if domain.contains(special):
            value = np.where(rng.random(size) < 0.05, special, value)
    return np.asarray(np.clip(value, low, high))


def box(row: Quantity, rng: np.random.Generator, size: int) -> Ends:
    """Boxes; in some the quantity is known."""
    a, b = some(row, rng, size), some(row, rng, size)
    b = np.where(rng.random(size) < 0.25, a, b)
    return np.minimum(a, b), np.maximum(a, b)


def inside(row: Quantity, ends: Ends, rng: np.random.Generator) -> Floats:
    """A value of each box: somewhere within, or at an end."""
    lo, hi = ends
    top, bottom = np.minimum(hi, np.finfo(float).max), np.maximum(lo, np.finfo(float).min)
    value = bottom + (top - bottom) * rng.random(lo.shape) ** rng.choice((1.0, 20.0))
    value = np.rint(value) if row.domain.whole else value
    end = rng.random(lo.shape)
    value = np.where(end < 0.2, lo, np.where(end > 0.8, hi, value))
    return np.asarray(np.clip(np.where(np.isnan(value), lo, value), lo, hi))


# --- what must hold
def outside(enclosure: Interval | Decision, value: Any) -> Any:
    """Return a mask of values outside their enclosure."""
    value = np.asarray(value)
    if isinstance(enclosure, Decision):
        return (value & ~np.asarray(enclosure.possible)) | (~value & np.asarray(enclosure.certain))
    unknown = np.isnan(value) & ~np.asarray(enclosure.may_be_nan)
    return unknown | (~np.isnan(value) & ~((enclosure.lo <= value) & (value <= enclosure.hi)))


def check(subject: Subject, seed: int, size: int) -> int:
    """Draw boxes and points; both enclosures hold what floats compute there, trends are kept."""
    rng = np.random.default_rng(seed)
    roots, rows = list(subject.roots.values()), subject.quantities
    names = references(*roots)
    with np.errstate(all="ignore"):
        boxes = {name: box(rows[name], rng, size) for name in names}
        points = {name: inside(rows[name], boxes[name], rng) for name in names}
        values = interpret_arrays(roots, points)
        check_trends(subject, boxes, points, rng)
    ends = {name: Interval(*pair) for name, pair in boxes.items()}
    for outward in (True, False):
        for key, value, result in zip(
            subject.roots, values, enclose(roots, ends, outward=outward), strict=True
        ):
            wrong = np.broadcast_to(outside(result, value), (size,))
            if wrong.any():
                place = int(np.argmax(wrong))
                got = [np.broadcast_to(part, size)[place] for part in result]
                _fail(subject, key, boxes, points, place, f"{outward=}, {value=!r}, in {got}")
    return size


def check_trends(
    subject: Subject, boxes: Mapping[str, Ends], points: Mapping[str, Floats], rng: Any
) -> None:
    """From each point to another, further along one quantity, values go as their trends say."""
    names = list(boxes)[:64]
    if not names:
        return
    roots = list(subject.roots.values())
    size = next(iter(points.values())).size
    trends = {}
    for place, name in enumerate(boxes):
        bit = np.uint64(1) << np.uint64(place) if place < 64 else np.uint64(0)
        lo, hi = boxes[name]
        down = np.where(lo == hi, ALL_AXES, ALL_AXES & ~bit)
        trends[name] = Trend(Interval(lo, hi), ALL_AXES, down)
    moving = rng.integers(0, len(names), size)
    further = dict(points)
    for place, name in enumerate(names):
        other = inside(subject.quantities[name], boxes[name], rng)
        further[name] = np.where(moving == place, np.maximum(other, points[name]), points[name])
    bit = np.uint64(1) << moving.astype(np.uint64)
    results = interpret_all(roots, trends, trend_algebra(), literal_trend)
    first, second = interpret_arrays(roots, points), interpret_arrays(roots, further)
    for key, trend, a, b in zip(subject.roots, results, first, second, strict=True):
        a, b = (np.asarray(value, dtype=float) for value in (a, b))
        rise, fall = (b < a), (a < b)  # what must not be where it is said to rise, or to fall
        if LIBRARY & {step.op for step in walk((subject.roots[key],))}:
            close = np.abs(b - a) <= NEAR * np.maximum(np.abs(a), np.abs(b))
            rise, fall = rise & ~close, fall & ~close
        wrong = ((trend.up & bit) != 0) & rise | ((trend.down & bit) != 0) & fall
        if np.any(wrong):
            place = int(np.argmax(np.broadcast_to(wrong, size)))
            there = {name: float(value[place]) for name, value in further.items()}
            _fail(subject, key, boxes, points, place, f"against its trend at {there}")


def _fail(
    subject: Subject,
    key: str,
    boxes: Mapping[str, Ends],
    points: Mapping[str, Floats],
    place: int,
    what: str,
) -> None:
    used = references(subject.roots[key])
    ends = {n: (float(a[place]), float(b[place])) for n, (a, b) in boxes.items() if n in used}
    at = {n: float(p[place]) for n, p in points.items() if n in used}
    raise AssertionError(f"{key} of {subject.name}: {what}\nbox {ends}\npoint {at}")


def sweep(subjects: Sequence[Subject], draws: int, seed: int) -> Iterator[int]:
    """Check so many draws, shared among the subjects; yields how many each was given."""
    share = math.ceil(draws / len(subjects))
    for subject in subjects:
        done = 0
        while done < share:
            mine = zlib.crc32(f"{subject.name} {seed} {done}".encode())
            done += check(subject, mine, min(BATCH, share - done))
        yield done


def main(arguments: Sequence[str]) -> None:
    """Draw as often as asked, for equations and for graphs; tell what was done."""
    draws = int(arguments[0]) if arguments else 1_000_000
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    for what, subjects in (("equations", equations()), ("graphs", graphs())):
        began = time.monotonic()
        done = sum(sweep(subjects, draws, seed))
        roots = sum(len(subject.roots) for subject in subjects)
        print(
            f"{len(subjects)} {what} ({roots} quantities): {done:,} boxes and points, none outside "
            f"its enclosure, none against its trend ({time.monotonic() - began:.0f} s)"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
