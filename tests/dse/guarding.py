"""Counts of drawn kernels with guards against an emulation of their warps, lane by lane.

    python -m tests.dse.guarding 300 1
    python -m tests.dse.guarding 300 1 ptx

Draws so many kernels from the seed 1 on, with guards on threads, blocks and loop counters, loops of
uniform and of diverging length and early exits. Each is counted from its machine code for one of
several architectures, or from its PTX, and its warps are emulated in NumPy. Requests of loads and
stores must be the same.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import dse
from dse.cuda.compile import _library, _read_output
from symbolic.errors import DseError

ARCHS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
Env = dict[str, Any]
Values = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Term:
    """An expression: its text in C, its values, and whether it is never negative."""

    text: str
    value: Callable[[Env], Any]
    positive: bool = True


@dataclass(slots=True)
class Kernel:
    """A drawn kernel: its text, launch and arguments, and its statements."""

    source: str
    block: tuple[int, ...]
    grid: tuple[int, ...]
    arguments: dict[str, int]
    body: list[Any] = field(repr=False)


class Drawing:
    """Draws one kernel."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.counters: list[str] = []
        self.names = 0
        self.lines: list[str] = []
        self.other = False

    # --- expressions
    def place(self) -> Term:
        """An expression of the thread, the block or a counter."""
        words = ["tid", "gid", "bid", "warp", *self.counters, *self.counters]
        name = self.random.choice(words)
        return Term(name, lambda env: env[name])

    def size(self) -> Term:
        """A number or an argument."""
        if self.random.random() < 0.5:
            name = self.random.choice("nms")
            return Term(name, lambda env: env[name])
        number = self.random.choice([0, 1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64, 100])
        return Term(str(number), lambda env: number)

    def expression(self, depth: int = 0) -> Term:
        """An expression of places and sizes."""
        kind = self.random.random()
        one = self.place() if kind < 0.6 or depth > 1 else self.expression(depth + 1)
        if kind < 0.3:
            return one
        number = self.random.choice([2, 3, 4, 7, 8, 32])
        if kind < 0.5 and one.positive:
            how = self.random.choice("/%&>")
            if how == "/":
                return Term(f"({one.text} / {number})", lambda env: one.value(env) // number)
            if how == "%":
                return Term(f"({one.text} % {number})", lambda env: one.value(env) % number)
            if how == "&":
                mask = self.random.choice([1, 3, 7, 15, 31])
                return Term(f"({one.text} & {mask})", lambda env: one.value(env) & mask)
            shift = self.random.choice([1, 2, 3, 5])
            return Term(f"({one.text} >> {shift})", lambda env: one.value(env) >> shift)
        two = self.size() if self.random.random() < 0.6 else self.place()
        if kind < 0.65:
            return Term(f"{one.text} + {two.text}", lambda env: one.value(env) + two.value(env),
                        one.positive and two.positive)  # fmt: skip
        if kind < 0.85:
            return Term(
                f"({one.text} - ({two.text}))",
                lambda env: one.value(env) - two.value(env),
                positive=False,
            )
        return Term(f"({one.text}) * {number}", lambda env: one.value(env) * number, one.positive)

    def condition(self, depth: int = 0) -> Term:
        """A comparison, or several."""
        if depth < 2 and self.random.random() < 0.3:
            one, two = self.condition(depth + 1), self.condition(depth + 1)
            if self.random.random() < 0.5:
                return Term(f"({one.text} && {two.text})",
                            lambda env: one.value(env) & two.value(env))  # fmt: skip
            return Term(f"({one.text} || {two.text})",
                        lambda env: one.value(env) | two.value(env))  # fmt: skip
        one = self.expression()
        two = self.size() if self.random.random() < 0.6 else self.expression()
        word = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater,
                   ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal}[word]  # fmt: skip
        return Term(
            f"({one.text} {word} {two.text})",
            lambda env: np.asarray(compare(one.value(env), two.value(env))),
        )

    # --- statements
    def block(self, depth: int, inside: str = "    ") -> list[Any]:
        """Some statements."""
        return [
            each
            for _ in range(self.random.randint(1, 2 if depth else 3))
            for each in self.statement(depth, inside)
        ]

    def statement(self, depth: int, inside: str) -> Iterator[Any]:
        kind = self.random.random()
        if depth > 1 or kind < 0.4:
            yield self.access(inside)
        elif kind < 0.65:
            when = self.condition()
            self.lines.append(f"{inside}if ({when.text}) {{")
            then = self.block(depth + 1, inside + "    ")
            other: list[Any] = []
            if self.random.random() < 0.4:
                self.lines.append(f"{inside}}} else {{")
                self.other = not self.other  # compilers join accesses of one kind of both branches
                other = self.block(depth + 1, inside + "    ")
                self.other = not self.other
            self.lines.append(f"{inside}}}")
            yield "if", when, then, other
        elif kind < 0.95 or depth:
            yield self.loop(depth, inside)
        else:
            when = self.condition()
            self.lines.append(f"{inside}if ({when.text}) return;")
            yield "return", when

    def access(self, inside: str) -> Any:
        """A load or store at an address that grows with places."""
        at = self.place()
        scale = self.random.choice([1, 1, 1, 2, 4, 32])
        where = Term(f"{at.text} * {scale}", lambda env: at.value(env) * scale)
        if self.counters and self.random.random() < 0.5:
            name, other = self.random.choice(self.counters), where
            where = Term(
                f"{other.text} + {name} * 256", lambda env: other.value(env) + env[name] * 256
            )
        if self.random.random() < 0.7:
            self.lines.append(f"{inside}a += {'u' if self.other else 'x'}[{where.text}];")
            return "load", where
        self.lines.append(f"{inside}{'v' if self.other else 'y'}[{where.text}] = a;")
        return "store", where

    def loop(self, depth: int, inside: str) -> Any:
        self.names += 1
        name = f"i{self.names}"
        step = self.random.choice([1, 1, 1, 2, 3])
        diverging = self.random.random() < 0.35
        start = Term("0", lambda env: 0)
        if diverging:
            most = self.expression()
            if self.random.random() < 0.3:
                start = self.place()
            end = Term(f"min({most.text}, 24)", lambda env: np.minimum(most.value(env), 24))
        else:
            end = self.random.choice([self.size(), self.size(), Term("6", lambda env: 6)])
        unroll = "" if not diverging and self.random.random() < 0.5 else "#pragma unroll 1\n"
        self.lines.append(
            f"{unroll}{inside}for (int {name} = {start.text}; {name} < {end.text}; "
            f"{name} += {step}) {{"
        )
        self.counters.append(name)
        body = self.block(depth + 1, inside + "    ")
        if self.random.random() < 0.15:
            when = self.condition()
            self.lines.append(f"{inside}    if ({when.text}) break;")
            body.append(("break", when))
        self.counters.pop()
        self.lines.append(f"{inside}}}")
        return "for", name, start, end, step, body


def draw(seed: int) -> Kernel:
    """Return a kernel that a seed decides."""
    drawing = Drawing(seed)
    body = drawing.block(0)
    chosen = drawing.random
    drawing.lines.append("    y[gid] = a;")
    body.append(("store", Term("gid", lambda env: env["gid"])))
    text = "\n".join(drawing.lines)
    source = (
        "__global__ void drawn(volatile const int *x, volatile int *y, volatile const short *u, "
        "volatile short *v, int n, int m, int s)\n{\n"
        "    int tid = threadIdx.x, bid = blockIdx.x, gid = bid * blockDim.x + tid;\n"
        "    int warp = tid / 32, a = 0;\n" + text + "\n}\n"
    )
    block = (chosen.choice([32, 64, 128, 96, 100, 256]),)
    grid = (chosen.choice([1, 2, 3, 5, 8]),)
    sizes = {name: chosen.choice([1, 2, 3, 4, 5, 7, 8, 12, 20, 33]) for name in "nms"}
    return Kernel(source, block, grid, sizes, body)


class Warps:
    """Emulates all warps of a launch at once, in lockstep."""

    def __init__(self, kernel: Kernel) -> None:
        threads, blocks = math.prod(kernel.block), math.prod(kernel.grid)
        warps = -(-threads // 32)
        lanes = np.arange(warps * 32)
        tid = np.broadcast_to(lanes, (blocks, warps * 32)).reshape(-1, 32)
        bid = np.repeat(np.arange(blocks), warps * 32).reshape(-1, 32)
        self.there = tid < threads
        self.env: Env = {"tid": tid, "bid": bid, "gid": bid * threads + tid, "warp": tid // 32}
        self.env |= kernel.arguments
        self.requests = {"load": 0, "store": 0}
        self.sectors = {"load": 0, "store": 0}
        self.returned = np.zeros_like(self.there)
        self.broken = np.zeros_like(self.there)
        self.run(kernel.body, self.there)

    def run(self, body: list[Any], active: Any) -> None:
        """Execute statements in some lanes."""
        for each in body:
            active = active & ~self.returned & ~self.broken
            if not active.any():
                return
            self.execute(each, active)

    def execute(self, statement: Any, active: Any) -> None:
        match statement:
            case ("load" | "store" as way, where):
                at = np.broadcast_to(where.value(self.env), active.shape) * 4 // 32
                self.requests[way] += int(active.any(axis=1).sum())
                for row, asks in zip(at, active, strict=True):
                    self.sectors[way] += len(np.unique(row[asks]))
            case ("if", when, then, other):
                holds = np.broadcast_to(when.value(self.env), active.shape)
                self.run(then, active & holds)
                self.run(other, active & ~holds)
            case ("return", when):
                self.returned |= active & np.broadcast_to(when.value(self.env), active.shape)
            case ("break", when):
                self.broken |= active & np.broadcast_to(when.value(self.env), active.shape)
            case ("for", name, start, end, step, inside):
                broken_part = self.broken
                self.broken = np.zeros_like(self.there)
                now = np.broadcast_to(start.value(self.env), active.shape).astype(np.int64)
                while True:
                    self.env[name] = now
                    active = active & ~self.returned & ~self.broken
                    active = active & (now < np.broadcast_to(end.value(self.env), active.shape))
                    if not active.any():
                        break
                    self.run(inside, active)
                    now = now + step
                del self.env[name]
                self.broken = broken_part


def compare(kernel: Kernel, arch: str, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return what is counted and what is emulated: requests of a warp, by class."""
    path, given = folder / "drawn.cu", dict(kernel.arguments)
    path.write_text(kernel.source)
    about: dict[str, Any] = {"block": kernel.block, "grid": kernel.grid, "arch": arch}
    if arch == "ptx":
        path, about["arch"] = folder / "drawn.ptx", "sm_80"
        path.write_text(ptx_of(kernel.source))
        given = {f"arg{number}": given[name] for number, name in enumerate("nms", 4)}
    counted = dse.kernel(path, set=given, **about)
    if "load_requests" in counted.assumed:
        raise DseError(f"marked: {counted.assumed['load_requests']}")
    warps = Warps(kernel)
    many = len(warps.there)
    numbers = counted.numbers
    result = {way: numbers.get(f"global_{way}_requests", 0.0) for way in ("load", "store")}
    return result, {way: warps.requests[way] / many for way in ("load", "store")}


def ptx_of(source: str, arch: int = 80) -> str:
    """Return the PTX that the compiler makes of a source."""
    library, program = _library(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None, None)
    options = (ctypes.c_char_p * 1)(f"-arch=compute_{arch}".encode())
    try:
        assert not library.nvrtcCompileProgram(program, 1, options), _read_output(
            program, "ProgramLog"
        )
        return _read_output(program, "PTX").rstrip(b"\0").decode()
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def differs(one: Mapping[str, float], two: Mapping[str, float]) -> bool:
    """True if counts differ by more than rounding."""
    return any(abs(one[way] - two[way]) > 1e-6 * max(two[way], 1.0) for way in one)


def attack(count: int, seed: int, forms: Sequence[str] = ARCHS) -> Iterator[tuple[int, str, str]]:
    """Yield the seed, the architecture and what went wrong, or nothing, of each kernel."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(seed, seed + count):
            kernel, arch = draw(number), forms[number % len(forms)]
            try:
                result, expected = compare(kernel, arch, Path(folder))
            except DseError as error:
                what = str(error).splitlines()[0]
                yield number, arch, what if what.startswith("marked") else f"refused: {what}"
                continue
            yield number, arch, f"{result} for {expected}" if differs(result, expected) else ""


def main() -> None:
    """Print what differs, and how many kernels were right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("form", nargs="?", choices=["ptx"])
    given = parser.parse_args()
    right = refused = marked = 0
    for number, arch, what in attack(
        given.count, given.seed, [given.form] if given.form else ARCHS
    ):
        right += not what
        refused += what.startswith("refused")
        marked += what.startswith("marked")
        if what:
            print(f"{number} {arch}: {what}")
    wrong = given.count - right - refused - marked
    print(
        f"{right:,} of {given.count:,} right, {wrong:,} wrong; {refused:,} refused, {marked:,} "
        "marked as assumed"
    )


if __name__ == "__main__":
    main()
