"""Whole-number expressions of machine code: sums of products of what is not known before a launch.

Addition and multiplication are exact; overflow is taken not to happen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from stochastic import sizes

__all__ = [
    "MOST",
    "ONE",
    "ZERO",
    "Atom",
    "Whole",
    "atom",
    "common",
    "constant",
    "lost",
]

#: Atoms of the largest expression that is followed, and terms of the largest product.
MOST, _TERMS = sizes.EXPRESSION_ATOMS, sizes.EXPRESSION_TERMS


class Atom:
    """What a value rests on: a parameter, a place in the grid, an iteration, or an operation.

    ``kind`` is ``argument`` (of an offset), ``special`` (a register such as ``tid.x``), ``pass``
    (of a loop, from 0), ``entry`` (of a register at the head of a loop), ``over`` (a floor of two
    expressions), ``least``, ``most``, ``if`` (1 where a condition holds), ``unknown``, and others
    that only the reader of machine code makes. Equal atoms are one object; ``weight`` is how many
    atoms it is written with.
    """

    __slots__ = ("__weakref__", "_atoms", "kind", "of", "weight")
    __match_args__ = ("kind", "of")
    kind: str
    of: tuple[Any, ...]
    weight: int
    _atoms: tuple[Atom, ...] | None
    _every: ClassVar[WeakValueDictionary[Any, Atom]] = WeakValueDictionary()

    def __new__(cls, kind: str, of: tuple[Any, ...]) -> Atom:
        """The one object that says this."""
        found = cls._every.get((kind, of))
        if found is None:
            found = super().__new__(cls)
            found.kind, found.of, found.weight = kind, of, 1 + _weight(of)
            found._atoms = None
            cls._every[kind, of] = found
        return found

    def __repr__(self) -> str:
        return f"{self.kind}{self.of}"

    def atoms(self) -> tuple[Atom, ...]:
        """Itself and every atom within; each once."""
        if self._atoms is None:
            self._atoms = (self, *dict.fromkeys(_within(self.of)))
        return self._atoms


Product = tuple[Atom, ...]


class Whole:
    """A sum of products of atoms; equal sums are equal and have one hash."""

    __slots__ = ("_atoms", "_hash", "_weight", "terms")

    def __init__(self, terms: Mapping[Product, int]) -> None:
        self.terms = terms
        self._hash: int | None = None
        self._weight: int | None = None
        self._atoms: tuple[Atom, ...] | None = None

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
        if len(self.terms) * len(other.terms) > _TERMS:
            return lost(self, other)
        terms: dict[Product, int] = {}
        for p, s in self.terms.items():
            for q, t in other.terms.items():
                both = tuple(sorted(p + q, key=id))
                if total := terms.get(both, 0) + s * t:
                    terms[both] = total
                else:
                    terms.pop(both, None)
        return Whole(terms)

    @property
    def weight(self) -> int:
        """How many atoms it is written with, those within operations too."""
        if self._weight is None:
            self._weight = sum(one.weight for p in self.terms for one in p)
        return self._weight

    def atoms(self) -> tuple[Atom, ...]:
        """Every atom in it, those within operations too; each once."""
        if self._atoms is None:
            found: dict[Atom, None] = {}
            for product in self.terms:
                for one in product:
                    if one not in found:
                        found |= dict.fromkeys(one.atoms())
            self._atoms = tuple(found)
        return self._atoms


def _weight(parts: tuple[Any, ...]) -> int:
    return sum(
        part.weight if isinstance(part, Whole) else _weight(part) if isinstance(part, tuple) else 0
        for part in parts
    )


def _within(part: Any) -> Iterator[Atom]:
    if isinstance(part, Whole):
        yield from part.atoms()
    elif isinstance(part, tuple):
        if part[:1] == ("unknown",):  # a condition that cannot be followed
            yield Atom("unknown", part[1:])
        for each in part:
            yield from _within(each)


ZERO, ONE = Whole({}), Whole({(): 1})


def constant(number: int) -> Whole:
    """A number."""
    return Whole({(): number}) if number else ZERO


def atom(kind: str, *of: Any) -> Whole:
    """An atom as an expression."""
    return Whole({(Atom(kind, of),): 1})


def common(value: Whole) -> list[Atom]:
    """The atoms that every product of a sum has."""
    first, *others = value.terms or [()]
    return [one for one in dict.fromkeys(first) if all(one in each for each in others)]


def lost(*parts: Any) -> Whole:
    """What stands for an expression that is too large to be followed."""
    return atom("unknown", ("large", hash(parts), 0))
