"""Exact integer expressions of machine code: sums of products of atoms, and conditions on these.

Values that are unknown before a launch are atoms. Overflow is assumed not to happen. Quotients by
constants are simplified: ``n - n % 4``, which occurs in unrolled loops, can be divided by 4.
Fixed-point arithmetic, masks and shifts are written as quotients.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from stochastic import sizes

#: Upper limits on an expression's atoms and a product's terms. A larger value becomes unknown.
MAX_ATOMS, _MAX_TERMS = sizes.EXPRESSION_ATOMS, sizes.EXPRESSION_TERMS


class Atom:
    """An argument, an index of a thread, a loop iteration, or an operation on expressions.

    ``kind`` is ``argument`` (at an offset), ``special`` (a register such as ``tid.x``), ``pass``
    (the iteration of a loop, from 0), ``entry`` (a register at the head of a loop), ``over`` (a
    floored quotient), ``least`` and ``most`` (minimum and maximum), ``if`` (1 if a condition holds,
    else 0), ``unknown``, and others for single machine operations. Equal atoms are the same object;
    ``atom_count`` includes nested atoms; ``serial`` is the order of creation.
    """

    __slots__ = ("__weakref__", "_atoms", "args", "atom_count", "kind", "serial")
    __match_args__ = ("kind", "args")
    kind: str
    args: tuple[Any, ...]
    atom_count: int
    serial: int
    _atoms: tuple[Atom, ...] | None
    _serials: ClassVar[Iterator[int]] = itertools.count()
    _instances: ClassVar[WeakValueDictionary[Any, Atom]] = WeakValueDictionary()

    def __new__(cls, kind: str, args: tuple[Any, ...]) -> Atom:
        """Return the one object of this kind with these arguments."""
        result = cls._instances.get((kind, args))
        if result is None:
            result = super().__new__(cls)
            result.kind, result.args, result.atom_count = kind, args, 1 + _count_atoms(args)
            result._atoms, result.serial = None, next(cls._serials)
            cls._instances[kind, args] = result
        return result

    def __repr__(self) -> str:
        return f"{self.kind}{self.args}"

    def atoms(self) -> tuple[Atom, ...]:
        """Return the atom itself and every nested atom, each once."""
        if self._atoms is None:
            self._atoms = (self, *dict.fromkeys(atoms_of(self.args)))
        return self._atoms


Product = tuple[Atom, ...]


def make_product(atoms: Iterable[Atom]) -> Product:
    """Return the product of atoms, in canonical order."""
    return tuple(sorted(atoms, key=lambda atom: atom.serial))


class IntExpr:
    """A sum of products of atoms; equal sums compare equal and have the same hash."""

    __slots__ = ("_atom_count", "_atoms", "_hash", "terms")

    def __init__(self, terms: Mapping[Product, int]) -> None:
        self.terms = terms
        self._hash: int | None = None
        self._atom_count: int | None = None
        self._atoms: tuple[Atom, ...] | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntExpr) and self.terms == other.terms

    def __repr__(self) -> str:
        return f"IntExpr({self.terms})"

    @property
    def constant_value(self) -> int | None:
        """The value of a constant expression, or None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def __add__(self, other: IntExpr) -> IntExpr:
        if not other.terms:
            return self
        terms = dict(self.terms)
        for product, times in other.terms.items():
            if total := terms.get(product, 0) + times:
                terms[product] = total
            else:
                terms.pop(product, None)
        return IntExpr(terms)

    def __neg__(self) -> IntExpr:
        return self.scale(-1)

    def __sub__(self, other: IntExpr) -> IntExpr:
        return self + other.scale(-1)

    def scale(self, factor: int) -> IntExpr:
        """Return the expression multiplied by a constant."""
        if factor == 1:
            return self
        return IntExpr({p: t * factor for p, t in self.terms.items()} if factor else {})

    def __mul__(self, other: IntExpr) -> IntExpr:
        for one, two in ((self, other), (other, self)):
            if (number := one.constant_value) is not None:
                return two.scale(number)
        if len(self.terms) * len(other.terms) > _MAX_TERMS:
            return opaque_value(self, other)
        terms: dict[Product, int] = {}
        for p, s in self.terms.items():
            for q, t in other.terms.items():
                both = make_product(p + q)
                if total := terms.get(both, 0) + s * t:
                    terms[both] = total
                else:
                    terms.pop(both, None)
        return IntExpr(terms)

    @property
    def atom_count(self) -> int:
        """Number of atoms, nested ones included."""
        if self._atom_count is None:
            self._atom_count = sum(one.atom_count for p in self.terms for one in p)
        return self._atom_count

    def atoms(self) -> tuple[Atom, ...]:
        """Return every atom in the expression, including nested atoms, each once."""
        if self._atoms is None:
            result: dict[Atom, None] = {}
            for product in self.terms:
                for one in product:
                    if one not in result:
                        result |= dict.fromkeys(one.atoms())
            self._atoms = tuple(result)
        return self._atoms


def _count_atoms(parts: tuple[Any, ...]) -> int:
    total = sum(part.atom_count for part in parts if isinstance(part, IntExpr))
    return total + sum(_count_atoms(part) for part in parts if isinstance(part, tuple))


def atoms_of(part: Any) -> Iterator[Atom]:
    """Yield the atoms of a value or a condition; an unknown condition yields an unknown atom."""
    if isinstance(part, IntExpr):
        yield from part.atoms()
    elif isinstance(part, tuple):
        if part[:1] == ("unknown",):
            yield Atom("unknown", part[1:])
        for each in part:
            yield from atoms_of(each)


ZERO, ONE = IntExpr({}), IntExpr({(): 1})
Range = tuple[float, float]
_ANY: Range = (-math.inf, math.inf)


class Ranges:
    """Ranges of expressions, computed from the largest value of each atom at a launch."""

    def __init__(self, maxima: Mapping[Atom, int]) -> None:
        self._atoms: dict[Atom, Range] = {one: (0, most) for one, most in maxima.items()}

    def of_value(self, value: IntExpr) -> Range:
        """Return a range that contains all values of an expression; it may be wider."""
        low = high = 0.0
        for product, times in value.terms.items():
            bounds: Range = (times, times)
            for one in product:
                ends = [a * b if a and b else 0.0 for a in bounds for b in self._of_atom(one)]
                bounds = min(ends), max(ends)
            low, high = low + bounds[0], high + bounds[1]
        return low, high

    def _of_atom(self, atom: Atom) -> Range:
        if atom not in self._atoms:
            self._atoms[atom] = self._find_range(atom)
        return self._atoms[atom]

    def _find_range(self, atom: Atom) -> Range:
        match atom:
            case Atom("if", _):
                return 0, 1
            case Atom("argument" | "special" | "pass" | "first", _):
                return 0, math.inf
            case Atom("over", (above, below)) if (by := below.constant_value) and by > 0:
                low, high = self.of_value(above)
                return _floor(low / by), _floor(high / by)
            case Atom("least" | "most" as kind, (first, second)):
                choose = min if kind == "least" else max
                (low, high), (other_low, other_high) = self.of_value(first), self.of_value(second)
                return choose(low, other_low), choose(high, other_high)
        return _ANY


def _floor(number: float) -> float:
    return math.floor(number) if math.isfinite(number) else number


#: Ranges at the launch for which a kernel is analysed; None if it is analysed for every launch.
_ranges: ContextVar[Ranges | None] = ContextVar("ranges", default=None)


@contextmanager
def known_ranges(ranges: Ranges | None) -> Iterator[None]:
    """Inside the ``with`` block, decide comparisons and quotients by the ranges of a launch."""
    token = _ranges.set(ranges)
    try:
        yield
    finally:
        _ranges.reset(token)


def constant(number: int) -> IntExpr:
    """Return a number as an expression."""
    return IntExpr({(): number}) if number else ZERO


def atom_expr(kind: str, *args: Any) -> IntExpr:
    """Return an atom as an expression."""
    return IntExpr({(Atom(kind, args),): 1})


def common_atoms(value: IntExpr) -> list[Atom]:
    """Return the atoms that are a factor of every product of a sum."""
    first, *others = value.terms or [()]
    return [one for one in dict.fromkeys(first) if all(one in each for each in others)]


def opaque_value(*parts: Any) -> IntExpr:
    """Return the unknown value that replaces an expression that is too large."""
    return atom_expr("unknown", ("large", hash(parts), 0))


def floordiv(numerator: IntExpr, denominator: IntExpr) -> IntExpr:
    """Return the quotient of two expressions, rounded down.

    >>> n = atom_expr("argument", 0)
    >>> floordiv(n - remainder(n, constant(4)), constant(4)) == floordiv(n, constant(4))
    True
    """
    divisor = denominator.constant_value
    if divisor == 0:
        return atom_expr("unknown", "division by zero")
    if divisor is None:
        exact = _exact_quotient(numerator, denominator)
        return exact if exact is not None else atom_expr("over", numerator, denominator)
    if divisor < 0:
        numerator, divisor = -numerator, -divisor
    if divisor == 1:
        return numerator
    whole = {p: t // divisor for p, t in numerator.terms.items() if p and t % divisor == 0}
    rest = {p: t for p, t in numerator.terms.items() if not p or t % divisor}
    number = rest.pop((), 0)
    if not rest:
        return IntExpr(whole) + constant(number // divisor)
    whole_number, number = divmod(number, divisor)
    rest |= {(): number} if number else {}
    inner = sole_atom(IntExpr(rest), "over")
    if inner is not None and (inner_divisor := inner.args[1].constant_value) is not None:
        floor = floordiv(inner.args[0], constant(inner_divisor * divisor))
    else:
        floor = atom_expr("over", IntExpr(rest), constant(divisor))
        if (ranges := _ranges.get()) is not None:
            low, high = (each / divisor for each in ranges.of_value(IntExpr(rest)))
            if math.isfinite(low + high) and math.floor(low) == math.floor(high):
                floor = constant(math.floor(low))
    return IntExpr(whole) + constant(whole_number) + floor


def sole_atom(value: IntExpr, kind: str) -> Atom | None:
    """Return the atom if a value is a single atom of this kind, else None."""
    if len(value.terms) == 1:
        ((product, times),) = value.terms.items()
        if times == 1 and len(product) == 1 and product[0].kind == kind:
            return product[0]
    return None


def divide_product(product: Product, *factors: Atom) -> Product | None:
    """Return a product without some of its factors; None if it lacks one of them."""
    rest = list(product)
    for each in factors:
        if each not in rest:
            return None
        rest.remove(each)
    return tuple(rest)


def _exact_quotient(numerator: IntExpr, denominator: IntExpr) -> IntExpr | None:
    """Return a quotient without remainder; None unless the denominator divides each product."""
    if len(denominator.terms) != 1:
        return ONE if numerator == denominator else None
    ((below, by),) = denominator.terms.items()
    terms = {}
    for product, times in numerator.terms.items():
        left = divide_product(product, *below)
        if left is None or times % by:
            return None
        terms[left] = times // by
    return IntExpr(terms)


def remainder(numerator: IntExpr, denominator: IntExpr) -> IntExpr:
    """Return the remainder of a division."""
    return numerator - denominator * floordiv(numerator, denominator)


#: Returns the replacement of an atom, or None to keep the atom; and a cache of replacements.
AtomChange = Callable[[Atom], IntExpr | None]
AtomCache = dict[Atom, IntExpr | None]


def substitute(value: IntExpr, change: AtomChange, cache: AtomCache | None = None) -> IntExpr:
    """Return an expression with its atoms replaced by what ``change`` returns for them.

    If ``change`` returns None, the atom stays, and the expressions inside it are searched.
    """
    cache = {} if cache is None else cache
    total, same = ZERO, {}
    for product, times in value.terms.items():
        parts = [cache[a] if a in cache else _substitute_atom(a, change, cache) for a in product]
        if parts.count(None) == len(parts):
            same[product] = times
            continue
        whole = constant(times)
        for each, part in zip(product, parts, strict=True):
            whole = whole * (IntExpr({(each,): 1}) if part is None else part)
        total = total + whole
    return value if len(same) == len(value.terms) else total + IntExpr(same)


def _substitute_atom(atom: Atom, change: AtomChange, cache: AtomCache) -> IntExpr | None:
    result = change(atom)
    if result is None:
        parts = _substitute_part(atom.args, change, cache)
        if parts is not atom.args:
            result = floordiv(*parts) if atom.kind == "over" else atom_expr(atom.kind, *parts)
    cache[atom] = None if result is not None and result.terms == {(atom,): 1} else result
    return cache[atom]


def _substitute_part(part: Any, change: AtomChange, cache: AtomCache) -> Any:
    if isinstance(part, IntExpr):
        return substitute(part, change, cache)
    if isinstance(part, tuple):
        parts = tuple(_substitute_part(each, change, cache) for each in part)
        return part if all(a is b for a, b in zip(parts, part, strict=True)) else parts
    return part


#: ``(">=", x)``: x ≥ 0; ``("==", x)``: x = 0; ``("and", a, b)``, ``("or", a, b)``, ``("not", a)``;
#: ``("true",)``, ``("false",)``; ``("unknown", what)``.
Condition = tuple[Any, ...]
TRUE: Condition = ("true",)
FALSE: Condition = ("false",)


def negate(condition: Condition) -> Condition:
    """Return the opposite condition."""
    match condition:
        case ("true",):
            return FALSE
        case ("false",):
            return TRUE
        case ("not", inside):
            return inside
        case (">=", value):
            return (">=", -value - ONE)
    return ("not", condition)


def combine(left: Condition, right: Condition, *, operator: str = "and") -> Condition:
    """Return the conjunction or disjunction of two conditions, simplified."""
    neutral, absorbing = (TRUE, FALSE) if operator == "and" else (FALSE, TRUE)
    if left in (neutral, right):
        return right
    if right == neutral:
        return left
    return absorbing if absorbing in (left, right) else (operator, left, right)


def conjuncts(when: Condition) -> list[Condition]:
    """Return the parts of a conjunction: the conditions that must all hold."""
    match when:
        case ("and", one, two):
            return [*conjuncts(one), *conjuncts(two)]
        case ("not", ("or", one, two)):
            return [*conjuncts(negate(one)), *conjuncts(negate(two))]
    return [when]


def comparison(operator: str, value: IntExpr) -> Condition:
    """Return the condition ``value >= 0`` or ``value == 0``; TRUE or FALSE if it can be decided."""
    if (number := value.constant_value) is not None:
        return TRUE if (number >= 0 if operator == ">=" else number == 0) else FALSE
    if any(abs(times) >= 2**31 for times in value.terms.values()):
        return ("unknown", ("overflow", 0, 0))  # a factor that is meant to overflow
    if operator == "==" and (packed := predicate_bits(value)) is not None:
        result = TRUE
        for each in packed.values():
            result = combine(result, negate(each))
        return result
    if operator == ">=":
        if _is_nonnegative(value):
            return TRUE
        if _is_nonnegative(-value - ONE):
            return FALSE
        if (certain := _remainder_comparison(value)) is not None:
            return certain
        if (certain := _remainder_comparison(-value - ONE)) is not None:
            return negate(certain)
    if (ranges := _ranges.get()) is not None:
        low, high = ranges.of_value(value)
        if operator == ">=" and low >= 0:
            return TRUE
        if high < 0 or (operator == "==" and low > 0):
            return FALSE
    return (operator, value)


def predicate_bits(value: IntExpr) -> dict[int, Condition] | None:
    """Return the condition that each bit of a word stores; None if it stores no conditions."""
    result: dict[int, Condition] = {}
    for product, times in value.terms.items():
        if len(product) != 1 or product[0].kind != "if" or times <= 0 or times & (times - 1):
            return None
        result[times.bit_length() - 1] = product[0].args[0]
    return result


def _is_nonnegative(value: IntExpr) -> bool:
    """True if a sum is >= 0 because all its parts are: sizes, indices, iterations, remainders."""
    if any(times < 0 for times in value.terms.values()):
        value = _lower_bound(value)
    for product, times in value.terms.items():
        if times < 0 or not all(one.kind in _NONNEGATIVE_KINDS for one in product):
            return False
        parts = (part for one in product for part in one.args if isinstance(part, IntExpr))
        if not all(map(_is_nonnegative, parts)):
            return False
    return True


def _lower_bound(value: IntExpr) -> IntExpr:
    """Return a lower bound of a sum, in which subtracted quotients ⌊n/d⌋ are replaced by n / d."""
    result = value
    for product, times in value.terms.items():
        for one in product:
            by = one.args[1].constant_value if one.kind == "over" else None
            if times >= 0 or not by or times % by:
                continue
            rest = divide_product(product, one) or ()
            if by > 0 and _is_nonnegative(IntExpr({rest: 1})):
                part = IntExpr({product: times})
                result = result - part + one.args[0] * IntExpr({rest: times // by})
                break
    return result


_NONNEGATIVE_KINDS = (
    *("argument", "special", "pass", "over", "exclusive or", "bitwise and", "bitwise or"),
    *("least", "most", "power", "scaled", "if", "first", "total"),
)


def _remainder_comparison(value: IntExpr) -> Condition | None:
    """Return TRUE for n − d ⌊n/d⌋ ≥ 0, FALSE for n − d ⌊n/d⌋ − d ≥ 0, None for other conditions."""
    for product in value.terms:
        for one in product:
            if one.kind != "over":
                continue
            above, below = one.args
            left = above - below * IntExpr({(one,): 1})
            if value == left - below:
                return FALSE
            if value == left:
                return TRUE
    return None


def indicator(when: Condition) -> IntExpr:
    """Return an expression that is 1 if a condition holds, else 0."""
    return ONE if when == TRUE else ZERO if when == FALSE else atom_expr("if", when)


class Substitution:
    """Replaces each atom once in expressions and conditions, and decides comparisons."""

    def __init__(self, change: AtomChange) -> None:
        self._change = change
        self._atoms: dict[Atom, IntExpr | None] = {}
        self._conditions: dict[Condition, Condition] = {}
        self._values: dict[IntExpr, IntExpr] = {}

    def value(self, value: IntExpr) -> IntExpr:
        """Return an expression with atoms replaced."""
        if value not in self._values:
            self._values[value] = substitute(value, self._substitute_atom, self._atoms)
        return self._values[value]

    def condition(self, condition: Condition) -> Condition:
        """Return a condition with atoms replaced."""
        if condition not in self._conditions:
            self._conditions[condition] = self._substitute_condition(condition)
        return self._conditions[condition]

    def _substitute_condition(self, condition: Condition) -> Condition:
        match condition:
            case (">=" | "==" as word, value):
                return self._compare(word, self.value(value))
            case ("and" | "or" as word, left, right):
                return combine(self.condition(left), self.condition(right), operator=word)
            case ("not", inside):
                return negate(self.condition(inside))
        return condition

    #: Returns ``value >= 0`` or ``value == 0`` after replacement.
    _compare = staticmethod(comparison)

    def _substitute_atom(self, atom: Atom) -> IntExpr | None:
        return indicator(self.condition(atom.args[0])) if atom.kind == "if" else self._change(atom)


_UNKNOWN_KINDS = ("unknown", "entry", "reciprocal", "table")


def is_known(when: Condition) -> bool:
    """True if a condition has no unknown atom."""
    return all(one.kind not in _UNKNOWN_KINDS for one in atoms_of(when))


def multiply_high(left: IntExpr, right: IntExpr, *, signed: bool) -> IntExpr:
    """Return the high half of a product: a quotient if one factor is a fixed-point number."""
    value, factor = left, right.constant_value
    if left.constant_value is not None:
        value, factor = right, left.constant_value
    if factor is None or abs(factor) < 2**16:
        return ZERO  # a product of sizes, which is below 2^32
    if value.constant_value is not None:
        return constant(value.constant_value * factor >> 32)
    if factor >= 0:
        return _fixed_point_product(value, factor, 0)
    result = _fixed_point_product(value, factor + 2**32, 0)
    return result - value if signed else result


def _fixed_point_product(value: IntExpr, factor: int, by: int) -> IntExpr:
    """Return ⌊value · factor / 2^(32 + by)⌋, that is ⌊value / d⌋ if the factor stands for 1 / d."""
    scale = 2 ** (32 + by)
    divisor = round(scale / factor) if factor else 0
    if divisor > 1 and 0 <= factor * divisor - scale < max(divisor, factor >> 16):
        return floordiv(value, constant(divisor))
    return atom_expr("scaled", value, factor, by)


def shift_right(value: IntExpr, by: int) -> IntExpr:
    """Return a value shifted right by ``by`` bits."""
    if (one := sole_atom(value, "scaled")) is not None:
        inside, factor, before = one.args
        return _fixed_point_product(inside, factor, before + by)
    return floordiv(value, constant(2**by))


def bitwise_and(value: IntExpr, mask: IntExpr, place: tuple[int, int]) -> IntExpr:
    """Return the bitwise "and" of a value and a mask."""
    if value.constant_value is not None and mask.constant_value is None:
        value, mask = mask, value
    number = mask.constant_value
    if number is not None:
        number &= 2**32 - 1
        if value.terms and (packed := predicate_bits(value)) is not None:
            bits = {at: when for at, when in packed.items() if number >> at & 1}
            return sum((atom_expr("if", when).scale(2**at) for at, when in bits.items()), ZERO)
        if value.constant_value is not None:
            return constant(value.constant_value & number)
        least = number & -number
        ones = number // least + 1 if least else 0
        if ones and ones & (ones - 1) == 0:  # contiguous bits
            if number >= 2**24:  # the mask reaches the highest bit that a size can have
                return floordiv(value, constant(least)).scale(least)
            inside = floordiv(value, constant(least))
            return (inside - floordiv(inside, constant(ones)).scale(ones)).scale(least)
        if number == 0:
            return ZERO
    elif value.constant_value is None:
        return atom_expr("bitwise and", value, mask)
    return atom_expr("unknown", ("mask", *place))


def reciprocal_quotient(parts: list[IntExpr]) -> IntExpr | None:
    """Return the high half of a product with a reciprocal, or None if no part is a reciprocal."""
    for one, two in ((parts[0], parts[1]), (parts[1], parts[0])):
        if len(one.terms) == 1:
            (product,) = one.terms
            if len(product) == 1 and product[0].kind == "reciprocal":
                if any(each.kind == "reciprocal" for each in two.atoms()):
                    return one
                return floordiv(two, product[0].args[0])
    return None
