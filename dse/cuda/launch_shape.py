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
from typing import Any

from dse.cuda.formulas import FormulaWriter, NoFormulaError
from dse.cuda.instructions import GLOBAL
from dse.cuda.integer_expressions import (
    ONE,
    ZERO,
    Atom,
    Condition,
    IntExpr,
    common_atoms,
    conjuncts,
    constant,
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


def needed_threads(analysis: KernelAnalysis, axis: str, launch: KernelLaunch) -> IntExpr | None:
    """Return the number of threads along an axis that pass the bounds checks, or None.

    The number is the largest that an access to global memory needs. If one of these accesses has no
    check, the result is None.
    """
    most: tuple[int, IntExpr] | None = None
    for number, place, one in analysis.instructions():
        if one.kind not in GLOBAL:
            continue
        conditions = _conditions(analysis.block_runs[number])
        if one.guard:
            conditions += conjuncts(analysis.values.solved_guard(number, place))
        bounds = [bound for each in conditions if (bound := _bound(each, axis)) is not None]
        numbers = [(_known_number(launch, each), each) for each in bounds]
        known = [(number, each) for number, each in numbers if number is not None]
        if not known:
            return None
        least = min(known, key=lambda pair: pair[0])
        most = least if most is None or least[0] > most[0] else most
    return None if most is None else most[1]


def _known_number(launch: KernelLaunch, value: IntExpr) -> int | None:
    return launch.substitute_pointers(launch.substitute(value)).constant_value


def _conditions(runs: IntExpr) -> list[Condition]:
    return [w for one in common_atoms(runs) if one.kind == "if" for w in conjuncts(one.args[0])]


def _bound(condition: Condition, axis: str) -> IntExpr | None:
    """Return the number of threads whose global index meets a condition; None if unknown."""
    if condition[0] != ">=":
        return None
    for product, times in condition[1].terms.items():
        one = product[0] if len(product) == 1 else None
        if one is None or one.kind != "over" or times != -1 or not one.args[1].constant_value:
            continue
        # several threads share an element, whose index is a quotient of the thread index
        index, rest = one.args[0], condition[1] + IntExpr({product: 1})
        if (most := _bound((">=", rest - index), axis)) is not None:
            quotient: IntExpr = most * one.args[1]
            return quotient
    block, size, thread = (size_atom(name, axis) for name in ("ctaid", "ntid", "tid"))
    terms = dict(condition[1].terms)
    factor = -terms.pop((thread,), 0)
    if factor <= 0 or terms.pop(make_product([block, size]), 0) != -factor:
        return None
    rest = IntExpr(terms)
    if any(one.kind != "argument" and one.kind != "over" for one in rest.atoms()):
        return None
    return floordiv(rest, constant(factor)) + ONE


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


def rewrite_formula(text: str, names: Mapping[str, str | float]) -> str:
    """Return a formula in which names are replaced by names of quantities, or by numbers."""

    def replace(match: re.Match[str]) -> str:
        new = names.get(match[0], match[0])
        return f"{new:.15g}" if isinstance(new, float) else new

    return _NAME.sub(replace, text)


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
    analysis: KernelAnalysis, launch: KernelLaunch
) -> tuple[Sizes, list[IntExpr | None]] | None:
    """Return the grid that covers a kernel's bounds checks, and the threads along each axis.

    Return None if an axis has no bounds check: blocks take pieces of the data along it, or a loop
    goes over the elements.
    """
    sizes, bounds = list[int](), list[IntExpr | None]()
    for axis, many in zip(AXES, launch.block, strict=True):
        if not any(reads_size(analysis, name, axis) for name in ("ctaid", "nctaid")):
            sizes.append(1)
            bounds.append(None)
            continue
        bound = needed_threads(analysis, axis, launch) if follows_threads(analysis, axis) else None
        number = None if bound is None else _known_number(launch, bound)
        if number is None or number < 1:
            return None
        sizes.append(-(-number // many))
        bounds.append(bound)
    return (sizes[0], sizes[1], sizes[2]), bounds


def reads_size(analysis: KernelAnalysis, name: str, axis: str) -> bool:
    """True if the code reads an index (``tid``, ``ctaid``) or a size (``ntid``, ``nctaid``)."""
    layout = analysis.values.constants.layout.items()
    texts = {f"c[0x0][{offset:#x}]" for offset, each in layout if each == f"{name}.{axis}"}
    special = {f"SR_{name.upper()}.{axis.upper()}"}
    return any(
        not special.isdisjoint(one.operands) or any(each in one.text for each in texts)
        for _, _, one in analysis.instructions()
    )
