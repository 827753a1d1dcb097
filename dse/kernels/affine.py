"""Whole-number expressions of machine code: sums of products, quotients, replaced atoms.

What is not known before a launch is an atom. Addition and multiplication are exact; overflow is
taken not to happen. A division by a constant takes out what it divides, so that ``n - n % 4``, as
compilers unroll loops, divides by 4 again.

A condition says when a guard holds, as far as that is known before a launch. Arithmetic of fixed
point, masks and shifts is written as divisions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from stochastic import sizes

#: Atoms of the largest expression that is followed, and terms of the largest product.
MOST, _TERMS = sizes.EXPRESSION_ATOMS, sizes.EXPRESSION_TERMS


class Atom:
    """What a value rests on: a parameter, a place in the grid, an iteration, or an operation.

    ``kind`` is ``argument`` (of an offset), ``special`` (a register such as ``tid.x``), ``pass``
    (of a loop, from 0), ``entry`` (of a register at the head of a loop), ``over`` (a floor of two
    expressions), ``least``, ``most``, ``if`` (1 where a condition holds), ``unknown``, and others
    that only the reader of machine code makes. Equal atoms are one object; ``weight`` is how many
    atoms it is written with, ``serial`` the order in which atoms were made.
    """

    __slots__ = ("__weakref__", "_atoms", "kind", "of", "serial", "weight")
    __match_args__ = ("kind", "of")
    kind: str
    of: tuple[Any, ...]
    weight: int
    serial: int
    _atoms: tuple[Atom, ...] | None
    _serials: ClassVar[Iterator[int]] = itertools.count()
    _every: ClassVar[WeakValueDictionary[Any, Atom]] = WeakValueDictionary()

    def __new__(cls, kind: str, of: tuple[Any, ...]) -> Atom:
        """The one object that says this."""
        found = cls._every.get((kind, of))
        if found is None:
            found = super().__new__(cls)
            found.kind, found.of, found.weight = kind, of, 1 + _weight(of)
            found._atoms, found.serial = None, next(cls._serials)
            cls._every[kind, of] = found
        return found

    def __repr__(self) -> str:
        return f"{self.kind}{self.of}"

    def atoms(self) -> tuple[Atom, ...]:
        """Itself and every atom within; each once."""
        if self._atoms is None:
            self._atoms = (self, *dict.fromkeys(atoms_of(self.of)))
        return self._atoms


Product = tuple[Atom, ...]


def product_of(atoms: Iterable[Atom]) -> Product:
    """Return some atoms as a product: in the order in which they were made."""
    return tuple(sorted(atoms, key=lambda atom: atom.serial))


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
                both = product_of(p + q)
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


def atoms_of(part: Any) -> Iterator[Atom]:
    """Yield the atoms of a value or a condition; one that cannot be followed is an unknown."""
    if isinstance(part, Whole):
        yield from part.atoms()
    elif isinstance(part, tuple):
        if part[:1] == ("unknown",):  # a condition that cannot be followed
            yield Atom("unknown", part[1:])
        for each in part:
            yield from atoms_of(each)


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
    inner = sole_atom(Whole(rest), "over")
    if inner is not None and (number_inside := inner.of[1].number) is not None:
        floor = floordiv(inner.of[0], constant(number_inside * divisor))
    else:
        floor = atom("over", Whole(rest), constant(divisor))
    return Whole(whole) + constant(whole_number) + floor


def sole_atom(value: Whole, kind: str) -> Atom | None:
    """Return the atom of a kind that a value is, or None where it is anything else."""
    if len(value.terms) == 1:
        ((product, times),) = value.terms.items()
        if times == 1 and len(product) == 1 and product[0].kind == kind:
            return product[0]
    return None


def quotient_of_product(product: Product, *factors: Atom) -> Product | None:
    """Return a product divided by some of its factors; None where it lacks one."""
    rest = list(product)
    for each in factors:
        if each not in rest:
            return None
        rest.remove(each)
    return tuple(rest)


def _exact(one: Whole, two: Whole) -> Whole | None:
    """The quotient where every product of the one has the only product of the other."""
    if len(two.terms) != 1:
        return ONE if one == two else None
    ((below, by),) = two.terms.items()
    terms = {}
    for product, times in one.terms.items():
        left = quotient_of_product(product, *below)
        if left is None or times % by:
            return None
        terms[left] = times // by
    return Whole(terms)


def remainder(one: Whole, two: Whole) -> Whole:
    """What a division leaves."""
    return one - two * floordiv(one, two)


def rebuilt(
    one: Whole,
    change: Callable[[Atom], Whole | None],
    known: dict[Atom, Whole | None] | None = None,
) -> Whole:
    """The expression with some atoms replaced; None keeps one, whose parts are changed first.

    ``known`` keeps what becomes of each atom, for who asks again with the same ``change``.
    """
    known = {} if known is None else known
    total, same = ZERO, {}
    for product, times in one.terms.items():
        parts = [known[a] if a in known else _changed(a, change, known) for a in product]
        if parts.count(None) == len(parts):
            same[product] = times
            continue
        whole = constant(times)
        for each, part in zip(product, parts, strict=True):
            whole = whole * (Whole({(each,): 1}) if part is None else part)
        total = total + whole
    return one if len(same) == len(one.terms) else total + Whole(same)


def _changed(
    one: Atom, change: Callable[[Atom], Whole | None], known: dict[Atom, Whole | None]
) -> Whole | None:
    """What becomes of an atom; None where it stays."""
    found = change(one)
    if found is None:
        parts = _part(one.of, change, known)
        if parts is not one.of:
            found = floordiv(*parts) if one.kind == "over" else atom(one.kind, *parts)
    known[one] = None if found is not None and found.terms == {(one,): 1} else found
    return known[one]


def _part(
    part: Any, change: Callable[[Atom], Whole | None], known: dict[Atom, Whole | None]
) -> Any:
    if isinstance(part, Whole):
        return rebuilt(part, change, known)
    if isinstance(part, tuple):
        parts = tuple(_part(each, change, known) for each in part)
        return part if all(a is b for a, b in zip(parts, part, strict=True)) else parts
    return part


#: ``(">=", x)``: x ≥ 0; ``("==", x)``; ``("and", a, b)``, ``("or", a, b)``, ``("not", a)``;
#: ``("true",)``, ``("false",)``; ``("unknown", what)``.
Condition = tuple[Any, ...]
TRUE: Condition = ("true",)
FALSE: Condition = ("false",)


def negated(one: Condition) -> Condition:
    """The opposite."""
    match one:
        case ("true",):
            return FALSE
        case ("false",):
            return TRUE
        case ("not", inside):
            return inside  # type: ignore[no-any-return]
        case (">=", value):
            return (">=", -value - ONE)
    return ("not", one)


def both(one: Condition, two: Condition, *, word: str = "and") -> Condition:
    """One and the other, or one or the other."""
    keeps, ends = (TRUE, FALSE) if word == "and" else (FALSE, TRUE)
    if one in (keeps, two):
        return two
    if two == keeps:
        return one
    return ends if ends in (one, two) else (word, one, two)


def alone(when: Condition) -> list[Condition]:
    """The conditions that must all hold."""
    match when:
        case ("and", one, two):
            return [*alone(one), *alone(two)]
        case ("not", ("or", one, two)):
            return [*alone(negated(one)), *alone(negated(two))]
    return [when]


def truth(word: str, value: Whole) -> Condition:
    """``value >= 0`` or ``value == 0``, decided where it is a number."""
    if (number := value.number) is not None:
        return TRUE if (number >= 0 if word == ">=" else number == 0) else FALSE
    if any(abs(times) >= 2**31 for times in value.terms.values()):
        return ("unknown", ("overflow", 0, 0))  # what is meant to wrap around, such as an inverse
    if word == "==" and (packed := bits(value)) is not None:
        found = TRUE
        for each in packed.values():
            found = both(found, negated(each))
        return found
    if word == ">=":
        if _not_negative(value):
            return TRUE
        if _not_negative(-value - ONE):
            return FALSE
        if (certain := _of_remainder(value)) is not None:
            return certain
        if (certain := _of_remainder(-value - ONE)) is not None:
            return negated(certain)
    return (word, value)


def bits(value: Whole) -> dict[int, Condition] | None:
    """The conditions that a word packs, by their bits, as a register of predicates is kept."""
    found: dict[int, Condition] = {}
    for product, times in value.terms.items():
        if len(product) != 1 or product[0].kind != "if" or times <= 0 or times & (times - 1):
            return None
        found[times.bit_length() - 1] = product[0].of[0]
    return found


def _not_negative(value: Whole) -> bool:
    """True if a sum is of parts that are never negative: sizes, places, passes, remainders."""
    if any(times < 0 for times in value.terms.values()):
        value = _below(value)
    for product, times in value.terms.items():
        if times < 0 or not all(one.kind in _SIZES for one in product):
            return False
        if any(isinstance(p, Whole) and not _not_negative(p) for one in product for p in one.of):
            return False
    return True


def _below(value: Whole) -> Whole:
    """Return what is no larger than a sum: quotients that are taken away are at most n / d."""
    found = value
    for product, times in value.terms.items():
        for one in product:
            if times >= 0 or one.kind != "over" or not (by := one.of[1].number) or times % by:
                continue
            rest = quotient_of_product(product, one) or ()
            if by > 0 and _not_negative(Whole({rest: 1})):
                part = Whole({product: times})
                found = found - part + one.of[0] * Whole({rest: times // by})
                break
    return found


_SIZES = (
    *("argument", "special", "pass", "over", "exclusive or", "bitwise and", "bitwise or"),
    *("least", "most", "power", "scaled", "if", "first", "total"),
)


def _of_remainder(value: Whole) -> Condition | None:
    """What is certain of n − d ⌊n/d⌋ − d, which is below 0, and of n − d ⌊n/d⌋, which is not."""
    for product in value.terms:
        for one in product:
            if one.kind != "over":
                continue
            above, below = one.of
            left = above - below * Whole({(one,): 1})
            if value == left - below:
                return FALSE
            if value == left:
                return TRUE
    return None


def indicator(when: Condition) -> Whole:
    """Return 1 where a condition holds, else 0."""
    return ONE if when == TRUE else ZERO if when == FALSE else atom("if", when)


class Replacing:
    """Atoms replaced in expressions and conditions, each once, as far as that decides choices."""

    def __init__(self, change: Callable[[Atom], Whole | None]) -> None:
        self._change = change
        self._atoms: dict[Atom, Whole | None] = {}
        self._conditions: dict[Condition, Condition] = {}
        self._values: dict[Whole, Whole] = {}

    def value(self, one: Whole) -> Whole:
        """An expression, replaced."""
        if one not in self._values:
            self._values[one] = rebuilt(one, self._atom, self._atoms)
        return self._values[one]

    def condition(self, one: Condition) -> Condition:
        """A condition, replaced."""
        if one not in self._conditions:
            self._conditions[one] = self._condition(one)
        return self._conditions[one]

    def _condition(self, one: Condition) -> Condition:
        match one:
            case (">=" | "==" as word, value):
                return self._related(word, self.value(value))
            case ("and" | "or" as word, left, right):
                return both(self.condition(left), self.condition(right), word=word)
            case ("not", inside):
                return negated(self.condition(inside))
        return one

    #: Decides ``value >= 0`` or ``value == 0``, of a value in which atoms are replaced.
    _related = staticmethod(truth)

    def _atom(self, one: Atom) -> Whole | None:
        return indicator(self.condition(one.of[0])) if one.kind == "if" else self._change(one)


_UNKNOWN = ("unknown", "entry", "reciprocal", "table")


def known(when: Condition) -> bool:
    """True if a condition rests on nothing that cannot be followed."""
    return all(one.kind not in _UNKNOWN for one in atoms_of(when))


def high(one: Whole, two: Whole, *, signed: bool) -> Whole:
    """The high half of a product; with a constant it may be a quotient in fixed point."""
    value, factor = (two, one.number) if one.number is not None else (one, two.number)
    if factor is None or abs(factor) < 2**16:
        return ZERO  # of sizes, whose product is no larger than 2^32
    if value.number is not None:
        return constant(value.number * factor >> 32)
    if factor >= 0:
        return _scaled(value, factor, 0)
    found = _scaled(value, factor + 2**32, 0)
    return found - value if signed else found


def _scaled(value: Whole, factor: int, by: int) -> Whole:
    """⌊value factor / 2^(32 + by)⌋, which is ⌊value / d⌋ where the factor is made for that."""
    scale = 2 ** (32 + by)
    divisor = round(scale / factor) if factor else 0
    if divisor > 1 and 0 <= factor * divisor - scale < max(divisor, factor >> 16):
        return floordiv(value, constant(divisor))
    return atom("scaled", value, factor, by)


def shifted_down(value: Whole, by: int) -> Whole:
    """A value shifted down."""
    if (one := sole_atom(value, "scaled")) is not None:
        inside, factor, before = one.of
        return _scaled(inside, factor, before + by)
    return floordiv(value, constant(2**by))


def masked(one: Whole, mask: Whole, where: tuple[int, int]) -> Whole:
    """Some bits of a value; ``where`` it is, tells unknown ones apart."""
    if one.number is not None and mask.number is None:
        one, mask = mask, one
    number = mask.number
    if number is not None:
        number &= 2**32 - 1
        if one.terms and (packed := bits(one)) is not None:
            kept = [
                atom("if", when).times(2**at) for at, when in packed.items() if number >> at & 1
            ]
            return sum(kept, ZERO)
        if one.number is not None:
            return constant(one.number & number)
        least = number & -number
        ones = number // least + 1 if least else 0
        if ones and ones & (ones - 1) == 0:  # bits from one to another
            if number >= 2**24:  # to the highest that sizes have
                return floordiv(one, constant(least)).times(least)
            inside = floordiv(one, constant(least))
            return (inside - floordiv(inside, constant(ones)).times(ones)).times(least)
        if number == 0:
            return ZERO
    elif one.number is None:
        return atom("bitwise and", one, mask)
    return atom("unknown", ("mask", *where))


def quotient(parts: list[Whole]) -> Whole | None:
    """What the high half of a product with a reciprocal is: a refined one, or the quotient."""
    for one, two in ((parts[0], parts[1]), (parts[1], parts[0])):
        if len(one.terms) == 1:
            (product,) = one.terms
            if len(product) == 1 and product[0].kind == "reciprocal":
                if any(each.kind == "reciprocal" for each in two.atoms()):
                    return one
                return floordiv(two, product[0].of[0])
    return None
