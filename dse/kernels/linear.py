"""Whole-number expressions of machine code: sums of products of what is not known before a launch.

Addition and multiplication are exact; overflow is taken not to happen. A division by a constant
takes out what it divides, so that ``n - n % 4``, as compilers unroll loops, divides by 4 again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

__all__ = [
    "MOST",
    "ONE",
    "ZERO",
    "Atom",
    "Whole",
    "atom",
    "constant",
    "floordiv",
    "lost",
    "rebuilt",
    "remainder",
]

#: Atoms of the largest expression that is followed.
MOST = 1500


class Atom(NamedTuple):
    """What a value rests on: a parameter, a place in the grid, an iteration, or an operation.

    ``kind`` is ``argument`` (of an offset), ``special`` (a register such as ``tid.x``), ``pass``
    (of a loop, from 0), ``entry`` (of a register at the head of a loop), ``over`` (a floor of two
    expressions), ``least``, ``most``, ``if`` (1 where a condition holds), ``unknown``, and others
    that only the reader of machine code makes.
    """

    kind: str
    of: tuple[Any, ...]


Product = tuple[Atom, ...]


class Whole:
    """A sum of products of atoms; equal sums are equal and have one hash."""

    __slots__ = ("_hash", "_weight", "terms")

    def __init__(self, terms: Mapping[Product, int]) -> None:
        self.terms = terms
        self._hash: int | None = None
        self._weight: int | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Whole) and self.terms == other.terms

    def __repr__(self) -> str:
        return f"Whole({self.terms})"

    @property
    def number(self) -> int | None:
        """The constant that it is, or None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def __add__(self, other: Whole) -> Whole:
        if not other.terms:
            return self
        terms = dict(self.terms)
        for product, times in other.terms.items():
            if total := terms.get(product, 0) + times:
                terms[product] = total
            else:
                terms.pop(product, None)
        return Whole(terms)

    def __neg__(self) -> Whole:
        return self.times(-1)

    def __sub__(self, other: Whole) -> Whole:
        return self + other.times(-1)

    def times(self, factor: int) -> Whole:
        """The product with a constant."""
        if factor == 1:
            return self
        return Whole({p: t * factor for p, t in self.terms.items()} if factor else {})

    def __mul__(self, other: Whole) -> Whole:
        for one, two in ((self, other), (other, self)):
            if (number := one.number) is not None:
                return two.times(number)
        if len(self.terms) * len(other.terms) > MOST:
            return lost(self, other)
        terms: dict[Product, int] = {}
        for p, s in self.terms.items():
            for q, t in other.terms.items():
                both = tuple(sorted(p + q, key=hash))
                if total := terms.get(both, 0) + s * t:
                    terms[both] = total
                else:
                    terms.pop(both, None)
        return Whole(terms)

    @property
    def weight(self) -> int:
        """How many atoms it is written with, those within operations too."""
        if self._weight is None:
            self._weight = sum(1 + _weight(one.of) for p in self.terms for one in p)
        return self._weight

    def atoms(self) -> Iterator[Atom]:
        """Every atom in it, those within operations too."""
        for product in self.terms:
            for one in product:
                yield one
                for part in one.of:
                    yield from _within(part)


def _weight(parts: tuple[Any, ...]) -> int:
    return sum(
        part.weight if isinstance(part, Whole) else _weight(part) if isinstance(part, tuple) else 0
        for part in parts
    )


def _within(part: Any) -> Iterator[Atom]:
    if isinstance(part, Whole):
        yield from part.atoms()
    elif isinstance(part, tuple):
        for each in part:
            yield from _within(each)


ZERO, ONE = Whole({}), Whole({(): 1})


def constant(number: int) -> Whole:
    """A number."""
    return Whole({(): number}) if number else ZERO


def atom(kind: str, *of: Any) -> Whole:
    """An atom as an expression."""
    return Whole({(Atom(kind, of),): 1})


def floordiv(one: Whole, two: Whole) -> Whole:
    """The quotient of two expressions, rounded down.

    >>> n = atom("argument", 0)
    >>> floordiv(n - remainder(n, constant(4)), constant(4)) == floordiv(n, constant(4))
    True
    """
    divisor = two.number
    if divisor == 0:
        return atom("unknown", "division by zero")
    if divisor is None:
        exact = _exact(one, two)
        return exact if exact is not None else atom("over", one, two)
    if divisor < 0:
        one, divisor = -one, -divisor
    if divisor == 1:
        return one
    whole = {p: t // divisor for p, t in one.terms.items() if p and t % divisor == 0}
    rest = {p: t for p, t in one.terms.items() if not p or t % divisor}
    number = rest.pop((), 0)
    if not rest:
        return Whole(whole) + constant(number // divisor)
    whole_number, number = divmod(number, divisor)
    rest |= {(): number} if number else {}
    inner = _floor_of_floor(Whole(rest), divisor)
    return Whole(whole) + constant(whole_number) + inner


def _floor_of_floor(one: Whole, divisor: int) -> Whole:
    """(x // a) // b as x // (a b)."""
    if len(one.terms) == 1:
        ((product, times),) = one.terms.items()
        if times == 1 and len(product) == 1 and product[0].kind == "over":
            inside, below = product[0].of
            if (number := below.number) is not None:
                return floordiv(inside, constant(number * divisor))
    return atom("over", one, constant(divisor))


def _exact(one: Whole, two: Whole) -> Whole | None:
    """The quotient where every product of the one has the only product of the other."""
    if len(two.terms) != 1:
        return ONE if one == two else None
    ((below, by),) = two.terms.items()
    terms = {}
    for product, times in one.terms.items():
        left = list(product)
        for each in below:
            if each not in left:
                return None
            left.remove(each)
        if times % by:
            return None
        terms[tuple(left)] = times // by
    return Whole(terms)


def remainder(one: Whole, two: Whole) -> Whole:
    """What a division leaves."""
    return one - two * floordiv(one, two)


def lost(*parts: Any) -> Whole:
    """What stands for an expression that is too large to be followed."""
    return atom("unknown", ("large", hash(parts), 0))


def rebuilt(one: Whole, change: Callable[[Atom], Whole | None]) -> Whole:
    """The expression with some atoms replaced; None keeps one, whose parts are changed first."""
    total = ZERO
    for product, times in one.terms.items():
        part = constant(times)
        for each in product:
            part = part * _changed(each, change)
        total = total + part
    return total


def _changed(one: Atom, change: Callable[[Atom], Whole | None]) -> Whole:
    found = change(one)
    if found is not None:
        return found
    parts = tuple(_part(part, change) for part in one.of)
    if parts == one.of:
        return Whole({(one,): 1})
    if one.kind == "over":
        return floordiv(*parts)
    return atom(one.kind, *parts)


def _part(part: Any, change: Callable[[Atom], Whole | None]) -> Any:
    if isinstance(part, Whole):
        return rebuilt(part, change)
    if isinstance(part, tuple):
        return tuple(_part(each, change) for each in part)
    return part
