"""The grid of a launch as a function of its block, so that a study of blocks keeps the work.

Along an axis, threads take elements by their global index (``blockIdx * blockDim + threadIdx``), or
blocks take pieces of a size that the source fixes. In the first case the number of threads is
constant and the grid follows from the block; a bounds check (``if (x < n)``) gives the number of
threads. In the second case the number of blocks is constant, and the block is that of the launch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from dse.cuda.formulas import FormulaWriter, NoFormulaError
from dse.cuda.instructions import GLOBAL, Instruction
from dse.cuda.integer_expressions import (
    ONE,
    ZERO,
    Atom,
    Condition,
    IntExpr,
    Product,
    common_atoms,
    conjuncts,
    constant,
    divide_product,
    floordiv,
    make_product,
)
from dse.cuda.launch_values import KernelLaunch
from dse.cuda.loop_counts import KernelAnalysis
from dse.cuda.memory_accesses import STORES, address_terms
from symbolic.errors import DseError
from symbolic.expression import parse_value
from symbolic.ops import Node, interpret_arrays
from symbolic.quantity import Quantity

AXES = "xyz"
Sizes = tuple[int, int, int]


def size_atom(name: str, axis: str) -> Atom:
    """Return the register of a size or an index along an axis: ``ntid``, ``ctaid``, ..."""
    return Atom("special", (f"{name}.{axis}",))


def required_sizes(value: IntExpr) -> set[Atom]:
    """Return the sizes of the launch that a value depends on.

    The global index of a thread does not change with the size of a block. So a value that uses only
    this index depends on the number of threads, for which ``nctaid`` stands.
    """
    sizes: set[Atom] = set()
    for axis in AXES:
        has_index, rest = _find_index_uses(value, axis, strict=True)
        if has_index or rest & {"ctaid", "nctaid", "product"}:
            sizes.add(size_atom("nctaid", axis))
        if rest & {"tid", "ntid", "product"}:
            sizes.add(size_atom("ntid", axis))
    return sizes


def _find_index_uses(value: IntExpr, axis: str, *, strict: bool) -> tuple[bool, set[str]]:
    """Return True if a value uses a global index along an axis, and the names of other registers.

    The names include ``product`` if the block index or the number of blocks is multiplied.
    """
    has_index, others = False, set[str]()
    if not any(one.kind == "special" and one.args[0].endswith(axis) for one in value.atoms()):
        return has_index, others
    waiting, seen = [value], set[IntExpr]()
    while waiting:
        if (part := waiting.pop()) in seen:
            continue
        seen.add(part)
        is_here, rest = _remove_thread_index(part, axis, strict=strict)
        has_index |= is_here
        for product in rest.terms:
            for each in product:
                if each.kind != "special":
                    waiting += _values_in(each.args)
                    continue
                name, _, at = str(each.args[0]).partition(".")
                if at == axis:
                    others.add(name)
                    if name in ("ctaid", "nctaid") and len(product) > 1:
                        others.add("product")
    return has_index, others


def _remove_thread_index(value: IntExpr, axis: str, *, strict: bool) -> tuple[bool, IntExpr]:
    """Return True if a value contains a thread's global index, and the value without this index.

    If ``strict`` is False, a thread may process several elements. The factor of the block index may
    then be a multiple of the factor of the thread index.
    """
    block, size, thread, many = (size_atom(n, axis) for n in ("ctaid", "ntid", "tid", "nctaid"))
    terms = dict(value.terms)
    for product, times in value.terms.items():
        if product.count(size) != 1:
            continue
        rest = [one for one in product if one not in (size, block, many)]
        if product.count(many) == 1 and block not in product:  # the number of threads
            del terms[product]
        elif product.count(block) == 1 and many not in product:
            other = make_product([*rest, thread])
            factor = terms.get(other, 0)
            if factor == times or (not strict and factor and times % factor == 0):
                del terms[product], terms[other]
    gone = IntExpr({p: t for p, t in value.terms.items() if p not in terms})
    places = (block, size, thread, many)
    factors = {tuple(one for one in p if one not in places): 1 for p in gone.terms}
    return bool(gone.terms), IntExpr(terms) + IntExpr(factors)


def _values_in(part: Any) -> Iterator[IntExpr]:
    if isinstance(part, IntExpr):
        yield part
    elif isinstance(part, tuple):
        for each in part:
            yield from _values_in(each)


def follows_threads(analysis: KernelAnalysis, axis: str) -> bool:
    """True if threads take elements along an axis by global index, and blocks take no pieces."""
    has_index = False
    values = [*analysis.block_runs.values(), *analysis.trip_counts.values()]
    for value in values:
        here, others = _find_index_uses(value, axis, strict=False)
        has_index |= here
        if "ctaid" in others:
            return False
    for number, place, one in analysis.instructions():
        address = _address(analysis, number, place) if one.kind in GLOBAL else None
        if address is None:
            continue
        here, others = _find_index_uses(address, axis, strict=False)
        has_index |= here
        if "ctaid" in others or ("tid" in others and one.kind in STORES):
            return False
    return has_index


def _address(analysis: KernelAnalysis, block: int, place: int) -> IntExpr | None:
    one, values = analysis.graph.blocks[block].body[place], analysis.values
    if (parts := address_terms(one.text, one.kind == "global_copy")) is None:
        return None
    total = ZERO
    for name, times in parts:
        total = total + values.operand_value(name, block, place).scale(times)
    return values.solve_loops(total, block)


class BoundsCheck(NamedTuple):
    """A condition ``offset + block index * step < limit`` on the threads along an axis."""

    limit: IntExpr
    step: IntExpr
    offset: IntExpr

    def threads(self, axis: str) -> IntExpr | None:
        """Return the number n if exactly the first n threads of the grid pass, otherwise None."""
        factor = self.offset.terms.get((size_atom("tid", axis),), 0)
        thread, block = (IntExpr({(size_atom(n, axis),): factor}) for n in ("tid", "ntid"))
        if factor <= 0 or (self.offset, self.step) != (thread, block):
            return None
        return floordiv(self.limit - ONE, constant(factor)) + ONE

    def extent(self, launch: KernelLaunch) -> Fraction | None:
        """Return the number of blocks that pass, not rounded up; None if a value is unknown."""
        limit, step = _known_number(launch, self.limit), _known_number(launch, self.step)
        if limit is None or step is None or step <= 0:
            return None
        return Fraction(limit - int(np.min(launch.value(launch.substitute(self.offset)))), step)

    def formula(self, names: Mapping[Atom, str]) -> str:
        """Return the number of blocks as a formula; ``names`` has the names of arguments."""
        sizes = {size_atom("ntid", axis): f"block_{axis}" for axis in AXES}
        writer = FormulaWriter({**names, **sizes})
        parts = (writer.write(value) for value in (self.limit, self.step))
        limit, step = (f"({text})" if re.search(" [-+*] ", text) else text for text in parts)
        text = f"ceil({limit} / {step})" if step != "1" else limit
        return re.sub(r"(?<!\w)\((\w+)\)", r"\1", text)


def _access_checks(
    analysis: KernelAnalysis, axis: str
) -> Iterator[tuple[Instruction, list[BoundsCheck]]]:
    """Yield each access to global memory, with its bounds checks along an axis."""
    for number, place, one in analysis.instructions():
        if one.kind in GLOBAL:
            conditions = _conditions(analysis.block_runs[number])
            if one.guard:
                conditions += conjuncts(analysis.values.solved_guard(number, place))
            checks = (_bounds_check(each, axis) for each in conditions)
            yield one, [check for check in checks if check is not None]


def deciding_check(
    analysis: KernelAnalysis, axis: str, launch: KernelLaunch, *, is_example: bool = False
) -> tuple[Fraction, BoundsCheck] | None:
    """Return the largest number of blocks along an axis that pass a bounds check, and this check.

    Only the strictest check of each access counts. The result is None if no access has a check, if
    a store has none, or if a load has none and the kernel reads the size of the grid. For an
    example, accesses without a check are ignored.
    """
    most: tuple[Fraction, BoundsCheck] | None = None
    takes_any_grid = reads_size(analysis, "nctaid", axis)
    for one, checks in _access_checks(analysis, axis):
        known = [(size, each) for each in checks if (size := each.extent(launch)) is not None]
        if known:
            least = min(known, key=lambda pair: pair[0])
            most = least if most is None or least[0] > most[0] else most
        elif not is_example and (one.kind in STORES or takes_any_grid):
            return None
    return most


def own_block(analysis: KernelAnalysis) -> tuple[int, ...] | None:
    """Return the block shape of a kernel without ``blockDim``, derived from its bounds checks.

    The result is None unless consecutive blocks take consecutive elements, one for each thread.
    """
    sizes = []
    for axis in AXES:
        if not reads_size(analysis, "tid", axis):
            sizes.append(1)
            continue
        accesses = list(_access_checks(analysis, axis))
        ends = {check for _, checks in accesses for check in checks}
        _, step, offset = ends.pop() if len(ends) == 1 else (ZERO,) * 3
        is_open = any(one.kind in STORES and not checks for one, checks in accesses)
        is_open |= offset != IntExpr({(size_atom("tid", axis),): 1})
        if is_open or not (size := step.constant_value):
            return None
        sizes.append(size)
    return tuple(sizes) if math.prod(sizes) > 1 else None


def _known_number(launch: KernelLaunch, value: IntExpr) -> int | None:
    return launch.substitute_pointers(launch.substitute(value)).constant_value


def _conditions(runs: IntExpr) -> list[Condition]:
    return [w for one in common_atoms(runs) if one.kind == "if" for w in conjuncts(one.args[0])]


def _bounds_check(condition: Condition, axis: str) -> BoundsCheck | None:
    """Return a condition as a bounds check along an axis; None if it is another condition."""
    if condition[0] != ">=":
        return None
    block = size_atom("ctaid", axis)
    limit, step, offset = dict[Product, int](), dict[Product, int](), dict[Product, int]()
    for product, times in condition[1].terms.items():
        atoms = {each for one in product for each in one.atoms()}
        if len(product) == 1 and product[0].kind == "over" and times == -1 and block in atoms:
            # several threads share an element: its index is a quotient of the thread index
            index, by = product[0].args
            rest = condition[1] + IntExpr({product: 1})
            inner = _bounds_check((">=", rest - index), axis) if by.constant_value else None
            return inner and inner._replace(limit=inner.limit * by)
        names = {_atom_name(each) for each in atoms}
        if (factor := divide_product(product, block)) is not None:
            step[factor] = -times
        elif names <= {"argument", "over"}:
            limit[product] = times
        elif names <= _OFFSET_NAMES:
            offset[product] = -times
        else:
            return None
    if not step or not {_atom_name(a) for a in IntExpr(step).atoms()} <= {*_SIZE_NAMES, "argument"}:
        return None
    return BoundsCheck(IntExpr(limit) + ONE, IntExpr(step), IntExpr(offset))


def _atom_name(atom: Atom) -> str:
    return str(atom.args[0]) if atom.kind == "special" else atom.kind


#: Atoms that may occur in the number of elements of a block.
_SIZE_NAMES = {"over", *(f"ntid.{axis}" for axis in AXES)}
#: Atoms that may occur in the offset of a thread in its block.
_OFFSET_NAMES = {*_SIZE_NAMES, "least", "most", *(f"tid.{axis}" for axis in AXES)}


_NAME = re.compile(r"[A-Za-z_]\w*")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+?)[ \t]*$", re.M)


def source_macros(source: str) -> dict[str, float]:
    """Return the macros of a source whose value is a number, or a formula in earlier macros.

    >>> source_macros("#define TILE 64\\n#define HALF (TILE / 2)\\n#define real float")
    {'TILE': 64.0, 'HALF': 32.0}
    """
    result: dict[str, float] = {}
    for name, text in _DEFINE.findall(source):
        try:
            result[name] = evaluate_formula(text.partition("//")[0], result)
        except DseError:
            continue
    return result


def evaluate_formula(text: str, numbers: Mapping[str, float]) -> float:
    """Return the value of a formula whose names are macros, arguments and sizes."""
    row = Quantity(name="size")
    value = parse_value(text, row, {name: Quantity(name=name) for name in numbers})
    if isinstance(value, Node):
        value = interpret_arrays([value], {n: float(v) for n, v in numbers.items()})[0]
    return float(value)


def evaluate_sizes(
    sizes: Sequence[int | str], numbers: Mapping[str, float], name: str
) -> tuple[float, ...]:
    """Return the sizes of a block or grid, given as formulas or numbers, which must be whole."""
    result = []
    for each in sizes:
        try:
            value = evaluate_formula(each, numbers) if isinstance(each, str) else each
        except DseError as error:
            raise DseError(
                f"{name} = {tuple(sizes)}: expected one to three whole numbers, or formulas in "
                f"macros, arguments and sizes of the block: {error}"
            ) from None
        if isinstance(each, str) and value != math.floor(value):
            raise DseError(
                f"{name} = {each} is {value:.6g}: expected a whole number; to round up, write "
                f"ceil({each})"
            )
        result.append(value)
    return tuple(result)


@dataclass(slots=True)
class LaunchSizes:
    """Quantities for the sizes of a launch, and how each follows from the others.

    ``quantities`` are numbers, some of which have ``formulas``. ``holds_for`` maps a size to the
    quantities that fixed its value. ``names`` maps sizes to the quantities that replace them in
    formulas. A count that depends on a size is valid only for fixed values of the size's
    ``inputs``.
    """

    quantities: dict[str, float] = field(default_factory=dict)
    formulas: dict[str, str] = field(default_factory=dict)
    holds_for: dict[str, tuple[str, ...]] = field(default_factory=dict)
    names: dict[Atom, str] = field(default_factory=dict)
    inputs: dict[Atom, tuple[str, ...]] = field(default_factory=dict)


def describe_shape(
    analysis: KernelAnalysis,
    launch: KernelLaunch,
    *,
    has_grid: bool,
    grid_texts: Sequence[str],
    bounds: Sequence[IntExpr | None],
    argument_names: Mapping[Atom, str],
) -> LaunchSizes:
    """Return the quantities of the sizes of a launch.

    ``grid_texts`` are the given formulas of the grid along x, y and z ("": none). ``bounds`` is the
    number of threads along each axis if the grid was derived from bounds checks.
    """
    shape = LaunchSizes()
    flat_block = tuple(launch.block[1:]) == (1, 1)
    is_flat = flat_block and tuple(launch.grid[1:]) == (1, 1)
    threads, total = launch.threads, math.prod(launch.grid)
    block_names = [f"block_{axis}" for axis in AXES]
    if flat_block:
        block_names[0] = "threads_per_block"
    for axis, name, size in zip(AXES, block_names, launch.block, strict=True):
        if size > 1:
            shape.names[size_atom("ntid", axis)] = name
        if name == "threads_per_block" or not is_flat:
            shape.inputs[size_atom("ntid", axis)] = (name,)
            shape.quantities[name] = float(size)
    if not flat_block:
        shape.quantities["threads_per_block"] = float(threads)
        shape.formulas["threads_per_block"] = " * ".join(block_names)
    if not has_grid:
        return shape
    grid_names = ["blocks"] if is_flat else [f"grid_{axis}" for axis in AXES]
    for number, grid_name in enumerate(grid_names):
        axis, block_name = AXES[number], block_names[number]
        size, many = launch.grid[number], launch.block[number]
        atom = size_atom("nctaid", axis)
        shape.quantities[grid_name] = float(size)
        shape.names[atom], shape.inputs[atom] = grid_name, (grid_name,)
        bound = bounds[number] if number < len(bounds) else None
        text = grid_texts[number] if number < len(grid_texts) else ""
        if text:
            shape.formulas[grid_name] = text
            shape.inputs[atom] = tuple(sorted({*_NAME.findall(text)} & {*argument_names.values()}))
            if block_name not in _NAME.findall(text):
                shape.holds_for[grid_name] = (block_name,)
        elif size * many == 1 and not is_flat:
            continue
        elif follows_threads(analysis, axis):
            elements = "elements" if is_flat else f"threads_{axis}"
            shape.quantities[elements] = float(size * many)
            shape.formulas[grid_name] = f"ceil({elements} / {block_name})"
            shape.inputs[atom] = (elements,)
            if bound is not None:
                shape.quantities[elements] = float(_known_number(launch, bound) or 0)
                arguments = {one for one in bound.atoms() if one in argument_names}
                shape.inputs[atom] = tuple(argument_names[one] for one in arguments)
                try:
                    shape.formulas[elements] = FormulaWriter(argument_names).write(bound)
                except NoFormulaError:
                    shape.inputs[atom] = (elements,)
        else:
            shape.holds_for[grid_name] = (block_name,)
    if not is_flat:
        shape.quantities["blocks"] = float(total)
        shape.formulas["blocks"] = " * ".join(grid_names)
        derived = "block_x" if flat_block else "threads_per_block"
        if flat_block:
            shape.quantities["block_x"] = float(threads)
            shape.formulas["block_x"] = "threads_per_block"
        shape.holds_for["blocks"] = (derived,)
    if "elements" not in shape.quantities:
        shape.quantities["elements"] = float(total * threads)
        shape.formulas["elements"] = "blocks * threads_per_block"
    return shape


def derive_grid(
    analysis: KernelAnalysis,
    launch: KernelLaunch,
    names: Mapping[Atom, str],
    *,
    is_example: bool = False,
) -> tuple[Sizes, list[IntExpr | None], list[str]] | None:
    """Return, for each axis, the blocks, threads and formula that a kernel's bounds checks need.

    The number of threads along an axis is None if each block takes a piece of the data. ``names``
    has the names of arguments in the formulas. Return None if an axis has no bounds check, or if a
    loop with the stride of the grid visits the elements. An example has a placeholder instead.
    """
    sizes, bounds, texts = list[int](), list[IntExpr | None](), list[str]()
    for axis in AXES:
        bound, size, text = None, 1, "1"
        if any(reads_size(analysis, name, axis) for name in ("ctaid", "nctaid")):
            decided = deciding_check(analysis, axis, launch, is_example=is_example)
            size = math.ceil(decided[0]) if decided else 0
            text = decided[1].formula(names) if decided else f"BLOCKS_{axis.upper()}"
            if decided and follows_threads(analysis, axis):
                bound = decided[1].threads(axis)
            is_open = bound is None and reads_size(analysis, "nctaid", axis)
            if not is_example and (size < 1 or is_open):
                return None
        sizes.append(size)
        bounds.append(bound)
        texts.append(text)
    return (sizes[0], sizes[1], sizes[2]), bounds, texts


def reads_size(analysis: KernelAnalysis, name: str, axis: str) -> bool:
    """True if the code reads an index (``tid``, ``ctaid``) or a size (``ntid``, ``nctaid``)."""
    layout = analysis.values.constants.layout.items()
    texts = {f"c[0x0][{offset:#x}]" for offset, each in layout if each == f"{name}.{axis}"}
    special = {f"SR_{name.upper()}.{axis.upper()}"}
    return any(
        not special.isdisjoint(one.operands) or any(each in one.text for each in texts)
        for _, _, one in analysis.instructions()
    )
