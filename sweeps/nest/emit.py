"""Write a graph as a loop nest, with each step in the outermost loop where it can be computed.

The trailing axes of the grid are flattened into one *row*, so that the innermost loop is long and
vectorised however short the last axes are. A step that does not depend on a loop's axis is moved
out of that loop; if it depends on the row, its values over the row are kept in a buffer. A long
loop along the row is split before and after calls of the C library, so that each piece vectorises.
:attr:`Nest.source` is the printable text; :func:`compile_nest` compiles it.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np

from stochastic import compile_cache, sizes
from sweeps.grid.build import fold_constants
from symbolic.ops import Node, reference, walk
from symbolic.primitives import PRIMITIVES

_MAX_LOOP_STEPS = sizes.NEST_STEPS
ROW_PIECE = sizes.NEST_ROW
_LONG_ENOUGH = sizes.NEST_LONG
_ACCEPTABLE_ROW = sizes.NEST_SHORT
_CASTS = {"float": "", "flag": "np.int8", "bool": ""}


def safe_identifier(name: str) -> str:
    """Return an identifier for the name of a quantity or of a statistic such as ``mean(time)``.

    >>> safe_identifier("time"), safe_identifier("mean(time)")
    ('time', 'of_a3f09511')
    """
    return name if name.isidentifier() else f"of_{sha256(name.encode()).hexdigest()[:8]}"


class StepPlacement:
    """The loop depth, and the stage along the row, of each step of some formulas.

    The values of a step are kept in a buffer of ``size`` values if they vary along the row and an
    inner loop or a later stage uses them.
    """

    def __init__(
        self,
        outer: Sequence[str],
        row: Sequence[str],
        leaves: Mapping[str, Sequence[str]],
        roots: Sequence[Node],
        names: Mapping[int, str],
        size: int,
    ) -> None:
        self.outer, self.row, self.leaves = tuple(outer), tuple(row), leaves
        self.row_depth, self.size = len(self.outer), size
        self.nodes = walk(roots)
        self.roots = roots
        self.names = dict(names)
        self.depth: dict[int, int] = {}
        self.stage: dict[int, int] = {}
        self.varies_along_row: dict[int, bool] = {}
        self.variables: dict[int, str] = {}
        self.buffer: dict[int, int] = {}
        self._classify()

    def _classify(self) -> None:
        level = {axis: depth + 1 for depth, axis in enumerate(self.outer)}
        for node in self.nodes:
            if node.op == "constant":
                depth, vector = 0, False
            elif node.op == "reference":
                axes = self.leaves[node.args[0]]
                depth = max((level[axis] for axis in axes if axis in level), default=0)
                vector = any(axis in self.row for axis in axes)
            else:
                depth = max(self.depth[id(arg)] for arg in node.args)
                vector = any(self.varies_along_row[id(arg)] for arg in node.args)
            self.depth[id(node)], self.varies_along_row[id(node)] = depth, vector
        self._split_stages()
        outside = (-1, 0)
        row = (self.row_depth, 0)
        users = {id(root): max(self.depth_and_stage(root), row) for root in self.roots}
        for node in reversed(self.nodes):
            if node.op in ("constant", "reference"):
                continue
            at = self.depth_and_stage(node) if self.varies_along_row[id(node)] else outside
            if self._is_inlined(node):
                at = users[id(node)]
            for arg in node.args:
                users[id(arg)] = max(users.get(id(arg), outside), at)
        for node in self.nodes:
            inner = self.varies_along_row[id(node)] and node.op not in ("constant", "reference")
            used_later = users.get(id(node), outside) > self.depth_and_stage(node)
            if inner and used_later and not node.is_boolean:
                self.buffer[id(node)] = len(self.buffer)

    def _split_stages(self) -> None:
        """Assign the steps of long loops along the row to stages. Calls are in the odd stages.

        A step with one operand moves to the stage of its first use, if this stage is later. Then
        the operand is buffered instead of the result, because other steps may also need the
        operand.
        """
        steps = [n for n in self.nodes if self.varies_along_row[id(n)] and n.op != "reference"]
        depths = [self.depth[id(node)] for node in steps]
        long = {depth for depth in depths if depths.count(depth) > _MAX_LOOP_STEPS}

        def same_depth_args(node: Node) -> list[Node]:
            depth = self.depth[id(node)]
            return [a for a in node.args if id(a) in self.stage and self.depth[id(a)] == depth]

        for node in steps:
            call = PRIMITIVES[node.op].calls_library and self.depth[id(node)] in long
            stages = [self.stage[id(arg)] for arg in same_depth_args(node)]
            self.stage[id(node)] = max([int(call), *(s + (s % 2 != call) for s in stages)])
        used: dict[int, int] = {id(root): 0 for root in self.roots}
        for node in reversed(steps):
            operands = same_depth_args(node)
            single = len({id(operand) for operand in operands}) == 1
            if single and not PRIMITIVES[node.op].calls_library and not node.is_boolean:
                first = used.get(id(node), 0)
                self.stage[id(node)] = max(self.stage[id(node)], first - first % 2)
            for operand in operands:
                at = self.stage[id(node)]
                used[id(operand)] = min(used.get(id(operand), at), at)

    def depth_and_stage(self, node: Node) -> tuple[int, int]:
        """Return the loop depth and the stage of a node."""
        return self.depth[id(node)], self.stage.get(id(node), 0)

    def _is_inlined(self, node: Node) -> bool:
        return node.is_boolean and self.varies_along_row[id(node)]

    def name(self, node: Node) -> str:
        """Return the name of the variable that has a node's value."""
        if id(node) not in self.variables:
            self.variables[id(node)] = self.names.get(id(node)) or f"t{len(self.variables)}"
        return self.variables[id(node)]

    def operand(self, node: Node, position: tuple[int, int]) -> str:
        """Return the code that reads a node's value at a position (depth, stage)."""
        if node.op == "constant":
            value = node.args[0]
            if isinstance(value, bool):
                return repr(value)
            number = float(value)
            text = repr(number) if math.isfinite(number) else f"np.{abs(number)}"
            return text if math.copysign(1, number) > 0 else f"(-{text.lstrip('-')})"
        if node.op == "reference" and self.varies_along_row[id(node)]:
            return f"{self.name(node)}[j]"
        if self._is_inlined(node):
            operands = [self.operand(arg, position) for arg in node.args]
            return f"({PRIMITIVES[node.op].nest.format(*operands)})"
        if id(node) in self.buffer and position > self.depth_and_stage(node):
            return f"buffer[{self.buffer[id(node)] * self.size} + j]"
        return self.name(node)

    def _place(self, node: Node) -> str:
        """Return the code that indexes a leaf's value, or the first value along the row."""
        axes = [axis for axis in self.outer if axis in self.leaves[node.args[0]]]
        place = ""
        for axis in axes:
            place = f"({place}) * n_{axis} + i_{axis}" if place else f"i_{axis}"
        if self.varies_along_row[id(node)]:
            return f"({place}) * n_row + start" if place else "start"
        return place

    def step(self, node: Node) -> list[str]:
        """Return the statements that compute a node."""
        name = self.name(node)
        if node.op == "reference":
            place = self._place(node)
            array = f"a_{safe_identifier(node.args[0])}"
            if self.varies_along_row[id(node)]:
                return [f"{name} = offset_pointer({array}, {place})"]
            return [f"{name} = {array}[{place}]"]
        operands = [self.operand(arg, self.depth_and_stage(node)) for arg in node.args]
        return [f"{name} = " + PRIMITIVES[node.op].nest.format(*operands)]

    def scalars_at(self, depth: int) -> list[str]:
        """Return the statements at a loop depth that are outside of loops along the row."""
        lines = []
        for node in self.nodes:
            if self.depth[id(node)] != depth or node.op == "constant":
                continue
            is_array = node.op == "reference" and self.leaves[node.args[0]]
            if is_array or (node.op != "reference" and not self.varies_along_row[id(node)]):
                lines += self.step(node)
        return lines

    def rows_at(self, depth: int) -> dict[int, list[str]]:
        """Return the statements of loops along the row at a loop depth, by stage."""
        stages: dict[int, list[str]] = {}
        for node in self.nodes:
            if not self.varies_along_row[id(node)] or self.depth[id(node)] != depth:
                continue
            if node.op in ("constant", "reference") or self._is_inlined(node):
                continue
            lines = stages.setdefault(self.stage[id(node)], [])
            lines += self.step(node)
            if id(node) in self.buffer:
                lines.append(f"buffer[{self.buffer[id(node)] * self.size} + j] = {self.name(node)}")
        return dict(sorted(stages.items()))


def row_axis_count(sizes: Sequence[int]) -> int:
    """Return the number of trailing axes that form the row."""
    length, count = 1, 0
    for size in reversed(sizes):
        if length >= (_LONG_ENOUGH if length * size <= ROW_PIECE else _ACCEPTABLE_ROW):
            break
        length *= size
        count += 1
    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Nest:
    """The text of a loop nest, and the order of its arguments.

    The function takes ``bounds`` (first and last + 1 index of each outer axis, then of the row),
    ``sizes`` (of the outer axes, then of the row), ``origin`` (flat index of the first element of
    the output arrays), ``scalars``, one array per leaf in ``arrays``, then the outputs. A reduction
    has ``best`` (ascending values) and ``places`` (their flat indices) instead of outputs. In the
    text, ``best_`` is an array and ``best`` is its address. Outputs overlap no other argument.
    """

    source: str
    scalars: tuple[str, ...]
    arrays: tuple[str, ...]
    outer: tuple[str, ...]
    row: tuple[str, ...]
    kinds: tuple[str, ...]

    @property
    def key(self) -> str:
        """Return the key of compiled code in the cache: a hash of the text and the kinds."""
        return _hash(self.kinds, self.source)


@cache
def _hash(kinds: tuple[str, ...], source: str) -> str:
    return hashlib.sha256(f"{kinds}\n{source}".encode()).hexdigest()[:16]


def emit(
    *,
    outer: Sequence[str],
    row: Sequence[str],
    leaves: Mapping[str, Sequence[str]],
    outputs: Sequence[tuple[Node, str]],
    names: Mapping[int, str],
    constants: Mapping[str, float] | None = None,
    reduce: bool = False,
) -> Nest:
    """Write a loop nest that fills outputs or, with ``reduce``, finds an output's smallest values.

    ``outer`` and ``row`` are the axes of the outer loops and of the row. ``leaves`` maps leaves to
    their axes. Each of ``outputs`` is a node over the leaves and its kind (``"float"``, ``"flag"``
    or ``"bool"``). A reduction takes one output, which is infinite at points to ignore. ``names``
    maps the ``id`` of nodes to names that make the text readable. The values of ``constants``
    (leaves without axes) are folded.
    """
    roots, names = fold_constants([node for node, _ in outputs], constants or {}, names)
    axes = (*outer, *row)
    plain = all(axis.isascii() and axis.isidentifier() and axis != "row" for axis in axes)
    short = {axis: axis if plain else f"axis{k}" for k, axis in enumerate(axes)}
    outer, row = (tuple(short[axis] for axis in part) for part in (outer, row))
    leaves = {name: tuple(short[axis] for axis in own) for name, own in leaves.items()}
    emitter = StepPlacement(outer, row, leaves, roots, names, ROW_PIECE)
    used = [node.args[0] for node in emitter.nodes if node.op == "reference"]
    scalars = tuple(name for name in used if not leaves[name])
    arrays = tuple(name for name in used if leaves[name])
    results = ["best", "places"] if reduce else [f"out{k}" for k in range(len(outputs))]
    args = ["bounds", "sizes", "scalars", *(f"a_{safe_identifier(n)}" for n in arrays), *results]
    taken = [f"{name}_" for name in args]
    lines = [f"def nest({', '.join([*taken[:2], 'origin', *taken[2:]])}):"]

    def add_lines(indent: int, *texts: str) -> None:
        lines.extend("    " * indent + text for text in texts)

    def loops(indent: int, rows: Mapping[int, Sequence[str]]) -> None:
        for _, loop in sorted(rows.items()):
            add_lines(indent, "for j in range(width):")
            add_lines(indent + 1, *loop)

    add_lines(1, *(f"{name} = data_pointer({name}_)" for name in args))
    for position, name in enumerate(scalars):
        add_lines(1, f"{emitter.name(reference(name))} = scalars[{position}]")
    for position, axis in enumerate([*outer, "row"]):
        add_lines(1, f"n_{axis} = sizes[{position}]")
    count = len(emitter.buffer) + (1 if reduce else 0)
    objective = len(emitter.buffer) * ROW_PIECE
    if count:
        add_lines(1, f"memory = allocate_floats({count * ROW_PIECE})")
        add_lines(1, "buffer = align_pointer(memory)")
    if reduce:
        add_lines(1, "last = best_.size - 1", "limit = best[last]")
    first = 2 * len(outer)
    add_lines(1, f"for start in range(bounds[{first}], bounds[{first + 1}], {ROW_PIECE}):")
    add_lines(2, f"width = bounds[{first + 1}] - start")
    add_lines(2, f"width = width if width < {ROW_PIECE} else {ROW_PIECE}")
    add_lines(2, *emitter.scalars_at(0))
    indent = 2
    for depth in range(len(outer) + 1):
        if depth:
            axis = outer[depth - 1]
            low, high = f"bounds[{2 * depth - 2}]", f"bounds[{2 * depth - 1}]"
            add_lines(indent, f"for i_{axis} in range({low}, {high}):")
            indent += 1
            add_lines(indent, *emitter.scalars_at(depth))
        rows = emitter.rows_at(depth)
        if depth < len(outer):
            loops(indent, rows)
            continue
        written = [max(emitter.depth_and_stage(root), (depth, 0)) for root in roots]
        place = "0"
        for axis in outer:
            place = f"({place}) * n_{axis} + i_{axis}" if place != "0" else f"i_{axis}"
        add_lines(indent, f"place = ({place}) * n_row + start - origin")
        if reduce:
            value = emitter.operand(roots[0], written[0])
            final = rows.pop(written[0][1], [])
            loops(indent, rows)
            # of equal values the lowest index wins; a later piece of the row can have lower indices
            add_lines(indent, "bar = next_up(limit) if place < places[last] else limit")
            add_lines(indent, "hits = 0", "for j in range(width):")
            add_lines(
                indent + 1,
                *final,
                f"value = {value}",
                f"buffer[{objective} + j] = value",
                "hits += 1 if value < bar else 0",
            )
            add_lines(
                indent,
                "if hits:",
                "    for j in range(width):",
                f"        value = buffer[{objective} + j]",
                "        if value < limit or (value == limit and place + j < places[last]):",
                "            slot = last",
                "            while slot > 0 and (",
                "                value < best[slot - 1]",
                "                or (value == best[slot - 1] and place + j < places[slot - 1])",
                "            ):",
                "                best[slot] = best[slot - 1]",
                "                places[slot] = places[slot - 1]",
                "                slot -= 1",
                "            best[slot] = value",
                "            places[slot] = place + j",
                "            limit = best[last]",
            )
        else:
            for k in range(len(outputs)):
                add_lines(indent, f"row{k} = offset_pointer(out{k}, place)")
            kinds = [kind for _, kind in outputs]
            for k, (node, kind, at) in enumerate(zip(roots, kinds, written, strict=True)):
                text = f"row{k}[j] = {_CASTS[kind]}({emitter.operand(node, at)})"
                rows.setdefault(at[1], []).append(text)
            loops(indent, rows)
    if count:
        add_lines(1, "free(memory)")
    return Nest(
        source="\n".join(lines) + "\n",
        scalars=scalars,
        arrays=arrays,
        outer=tuple(outer),
        row=tuple(row),
        kinds=("reduce",) if reduce else tuple(kind for _, kind in outputs),
    )


_compiled_nests: dict[str, compile_cache.CompiledFunction] = {}
_lock = threading.Lock()
#: Names of the functions that loop nests call.
_NUMBER_FUNCTIONS = (
    *("ceil", "exp", "floor", "log", "log10", "log2", "next_up"),
    *("maximum", "minimum", "pow", "sqrt", "where"),
)
_MEMORY: dict[str, Callable[..., Any]] = {
    "data_pointer": lambda array: array,
    "offset_pointer": lambda array, place: array[place:],
    "allocate_floats": np.empty,
    "align_pointer": lambda memory: memory,
    "free": lambda memory: None,
}
_RESULTS: dict[str, tuple[type, ...]] = {
    "float": (np.float64,),
    "flag": (np.int8,),
    "bool": (np.bool_,),
    "reduce": (np.float64, np.int64),
}


def compile_nest(nest: Nest) -> Callable[..., None]:
    """Return the compiled function of a nest; it is cached under the nest's text."""
    if nest.key not in _compiled_nests:
        with _lock:
            if nest.key not in _compiled_nests:
                _compiled_nests[nest.key] = _compile(nest)
    return _compiled_nests[nest.key]


def _compile(nest: Nest) -> compile_cache.CompiledFunction:
    namespace: dict[str, Any] = {"np": np, "__name__": __name__}
    if compile_cache.is_jit_disabled():
        namespace |= {f: PRIMITIVES[f].scalar for f in _NUMBER_FUNCTIONS if f in PRIMITIVES}
        namespace |= {**_MEMORY, "next_up": lambda x: math.nextafter(x, math.inf)}
    else:
        namespace |= {
            name: compile_cache.LazyImport("sweeps.nest.intrinsics", name)
            for name in (*_NUMBER_FUNCTIONS, *_MEMORY)
        }
    exec(compile(nest.source, f"<nest {nest.key}>", "exec"), namespace)
    body: compile_cache.CompiledFunction = compile_cache.compiled(
        namespace["nest"], _nrt=False, noalias=True
    )
    whole, real = np.empty(0, dtype=np.int64), np.empty(0)
    results: Iterator[Any] = (np.empty(0, kind) for name in nest.kinds for kind in _RESULTS[name])
    body.prepare(whole, whole, 0, real, *(real for _ in nest.arrays), *results)
    return body
