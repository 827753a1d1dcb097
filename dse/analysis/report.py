"""Represent the answers of an analysis as data for each machine and variant, and as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dse.advice.report import Move, meanings_table
from dse.uncertain.model_errors import ErrorInterval
from symbolic.answer import Answer, Report, Table, value_text
from symbolic.errors import DseError
from symbolic.quantities import TABLE
from symbolic.quantity import LEVERS

#: Long and short names of limits in answers; other limits have their names in the model.
_NAMES: Mapping[str, tuple[str, str]] = {
    "dram": ("DRAM", "DRAM"),
    "l2": ("L2 cache", "L2"),
    "l1": ("L1 and shared memory", "L1"),
    "issue": ("instruction issue", "issue"),
    "floating_point": ("FP32 pipe", "FP32"),
    "double_precision": ("FP64 pipe", "FP64"),
    "tensor": ("tensor pipe", "tensor"),
    "integer": ("integer pipe", "INT"),
    "special": ("special functions", "SFU"),
    "atomic": ("atomics", "atomics"),
    "power": ("power limit", "power"),
    "dispatch": ("start of blocks", "dispatch"),
}
#: Maximum number of rows in a table of variants, and maximum number of moves in an answer.
_MAX_ROWS, _MAX_MOVES = 6, 6
#: Moves with a smaller gain are not shown.
_LEAST_GAIN = 1.02
#: In a table of machines: least gain of a programmer's move that comes first; ratio of tied times.
_WORTHWHILE, _TIE = 1.05, 1.01
#: Limits with a smaller share of the time are not shown.
_LEAST_SHARE = 0.005
#: Quantity that tables show in the column of the block.
_THREADS = "threads_per_block"
#: In a table of machines, a limit has a column only if it reaches this share on some machine.
_LEAST_COLUMN = 0.1
#: Titles of the tables of machines.
_TIMES = "expected time on each machine, its interval, and the time that the model alone predicts"
_SHARES = "share of each limit in the predicted time [%]"
_MACHINES_NOTES = (
    "compare machines by predicted: expected contains errors of different samples of kernels",
    "with one --machine, or --json: variants, what would help, and all assumptions",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOfVariant:
    """The answer for one machine and one variant of a kernel.

    Attributes:
        time, time_low, time_high (float): Predicted time and the ends of its interval [s]; NaN
            where ``status`` has the reason.
        time_expected (float): Median of the interval: the predicted time with the median of the
            measured errors [s].
        interval (ErrorInterval): The measured errors behind the interval.
        chance (float): Probability that this variant is the fastest on its machine.
        bottleneck (str): The limit with the largest share of the time; power only if it is reached.
        limits (mapping of str to float): Share of each limit in the time, the largest first.
        moves (tuple of Move, or None): Changes of inputs that would help, the most helpful first;
            None if they were not computed.
        assumed (sequence of str): Assumptions about the kernel and the machine.
        roofline (mapping of str to float): Quantities of the model ``roofline``: operations, bytes,
            and their ratios at each level of memory; empty where the model of the time gives no
            bytes.
        model, why_model (str): The model, and why no other model was used.
        why_one_block (str): Why there is no other variant to compare with; empty if there is.
    """

    machine: str
    machine_title: str = ""
    architecture: str = ""
    model: str = ""
    why_model: str = ""
    why_one_block: str = ""
    time: float = float("nan")
    time_expected: float = float("nan")
    time_low: float = float("nan")
    time_high: float = float("nan")
    interval: ErrorInterval | None = None
    chance: float = float("nan")
    rank: int = 0
    bottleneck: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    occupancy: float = float("nan")
    occupancy_limiter: str = ""
    blocks_per_sm: float = float("nan")
    block: tuple[int, ...] = ()
    grid: tuple[int, ...] = ()
    defines: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Any] = field(default_factory=dict)
    moves: tuple[Move, ...] | None = None
    assumed: Sequence[str] = ()
    roofline: Mapping[str, float] = field(default_factory=dict)
    status: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain data."""
        result: dict[str, Any] = asdict(self)
        if self.moves is not None:
            names = ["quantity", "meaning", "direction", "value", "until", "gain", "limit"]
            names += ["end", "end_gain", "end_limit"]
            result["moves"] = [
                {n: getattr(move, n) for n in names} | {"who": move.lever, "next": move.next_bound}
                for move in self.moves
            ]
        return result


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Analysis(Report):
    """Answers for machines and variants of one kernel or workload.

    Attributes:
        subject (str): The kernel or workload.
        answers (tuple of AnswerOfVariant): Machine by machine, the fastest variant first; variants
            without an answer come last.
        counters (tuple of dict): Counted and measured values, if a profile was given.
        write_study (callable): Writes a study file at a path, for a kernel with a workload file,
            and returns the paths of both.
    """

    subject: str
    answers: tuple[AnswerOfVariant, ...]
    counters: tuple[Mapping[str, Any], ...] = ()
    write_study: Callable[[Path], list[Path]] = field(default=lambda path: [], compare=False)

    @property
    def best(self) -> AnswerOfVariant:
        """The answer with the shortest time over all machines."""
        known = [each for each in self.answers if not each.status]
        if not known:
            raise DseError(f"{self.subject} has no answer: {self.answers[0].status}")
        return min(known, key=lambda each: each.time)

    def to_dict(self) -> Any:
        """Return a list with the data of each machine and variant."""
        return [each.to_dict() for each in self.answers]

    def _answer(self) -> Answer:
        groups: dict[str, list[AnswerOfVariant]] = {}
        for each in self.answers:
            groups.setdefault(each.machine, []).append(each)
        if len(groups) > 1:
            return self._machines_answer(groups)
        return self._machine_answer(self.answers)

    def _machine_answer(self, answers: Sequence[AnswerOfVariant]) -> Answer:
        """Return the answer for one machine: the best variant in full, and a table of variants."""
        best = answers[0]
        code = f", compiled for {best.architecture}" * bool(best.architecture)
        title = f"{self.subject}{code} on {best.machine}: {_time_text(best)}"
        shown = {n: share for n, share in best.limits.items() if share >= _LEAST_SHARE}
        shares = [f"{_limit_name(name, 1)} {100 * share:.0f} %" for name, share in shown.items()]
        facts = {
            "bottleneck": _bottleneck_text(best),
            "share of the time": ", ".join(shares),
            "launch": _block_text(best),
            "model": best.model + (f" ({best.why_model})" if best.why_model else ""),
            "interval": _interval_text(best),
            "one variant": best.why_one_block,
        }
        tables = [_variants_table(answers)] if len(answers) > 1 else []
        tables += [*_move_tables(best), _refused_table(answers)]
        tables.append(Table(title="assumed", rows=[[text] for text in best.assumed]))
        columns = ("what", "counted", "measured", "ratio")
        rows = [[row[name] for name in columns] for row in self.counters]
        tables.append(Table(title="counted next to measured", columns=columns, rows=rows))
        return Answer(
            kind="Analysis",
            title=title,
            facts={name: text for name, text in facts.items() if text},
            tables=tables,
            data=self.to_dict(),
        )

    def _machines_answer(self, groups: Mapping[str, Sequence[AnswerOfVariant]]) -> Answer:
        firsts = [each[0] for each in groups.values()]
        bests = sorted((each for each in firsts if not each.status), key=lambda each: each.time)
        refused = [[each.machine, each.status] for each in firsts if each.status]
        pairs = [pair for each in bests for pair in each.limits.items()]
        names = list(dict.fromkeys(name for name, share in pairs if share >= _LEAST_COLUMN))
        points = [{**each.defines, **each.inputs} for each in bests]
        inputs = [name for name in dict.fromkeys(n for p in points for n in p) if name != _THREADS]
        level = next((f"{100 * e.interval.level:.4g} % " for e in bests if e.interval), "")
        columns = {"machine": "", "expected": "s", f"{level}from": "s", f"{level}to": "s"}
        columns |= {"predicted": "s"}
        columns |= {"code": ""} if any(each.architecture for each in bests) else {}
        columns |= {"block": "", "blocks within 1 %": "", **{name: _unit(name) for name in inputs}}
        limits = [_limit_name(name, 1) for name in names]
        rows, shares, moves, notes = [], [], [], []
        for each, point in zip(bests, points, strict=True):
            times = [each.time_expected, each.time_low, each.time_high, each.time]
            code = [each.architecture] if "code" in columns else []
            same = (e for n, e in enumerate(groups[each.machine], 1) if e.rank == n)  # same problem
            own = [" x ".join(map(str, each.block)), sum(e.time <= _TIE * each.time for e in same)]
            rows.append([each.machine, *times, *code, *own, *(point.get(n) for n in inputs)])
            moves += [[each.machine, text] for text in _best_moves(each)]
            known = (each.limits.get(name) for name in names)
            shares.append([each.machine, *("" if s is None else f"{100 * s:.0f}" for s in known)])
            notes += [[each.machine, t] for t in each.assumed if f" of {each.machine} = " not in t]
        shared = [text for text in bests[0].assumed if all(text in e.assumed for e in bests)]
        tables = [
            Table(title=_TIMES, columns=columns, rows=rows, is_open=True),
            Table(title="best moves on each machine", rows=moves),
            Table(title=_SHARES, columns=["machine", *limits], rows=shares),
            Table(title="not answered", columns=("machine", "why"), rows=refused),
            Table(title="assumed on each machine", rows=[[text] for text in shared]),
            Table(title="assumed on one machine", rows=[n for n in notes if n[1] not in shared]),
        ]
        about: dict[str, Any] = {"title": self.subject, "notes": _MACHINES_NOTES}
        return Answer(kind="Analysis", tables=tables, data=self.to_dict(), **about)


def _limit_name(name: str, form: int = 0) -> str:
    return _NAMES.get(name, (name.replace("_", " "), name))[form]


def _unit(name: str) -> str:
    return TABLE[name].unit if name in TABLE else ""


def _time_text(each: AnswerOfVariant) -> str:
    low, high = value_text(each.time_low, "s"), value_text(each.time_high, "s")
    level = 0.9 if each.interval is None else each.interval.level
    expected = f"expect about {value_text(each.time_expected, 's')}"
    between = f"({100 * level:.4g} % between {low} and {high})"
    return f"{expected} {between}; the model alone predicts {value_text(each.time, 's')}"


def _interval_text(each: AnswerOfVariant) -> str:
    if each.interval is None:
        return ""
    text = each.interval.of
    if not each.time_low <= each.time <= each.time_high:
        usual = "longer" if each.time < each.time_low else "shorter"
        text += f", which mostly take {usual} than predicted"
    return text


def _bottleneck_text(each: AnswerOfVariant) -> str:
    text = _limit_name(each.bottleneck)
    if each.bottleneck in each.limits:
        text += f" ({100 * each.limits[each.bottleneck]:.0f} % of the time)"
    others = [n for n, share in each.limits.items() if n != each.bottleneck and share > 0]
    if others:
        text += f", then {_limit_name(others[0])} ({100 * each.limits[others[0]]:.0f} %)"
    return text


def _block_text(each: AnswerOfVariant) -> str:
    text = " x ".join(map(str, each.block)) + " threads"
    if each.grid:
        text += f", grid {' x '.join(map(str, each.grid))}"
    if each.defines:
        text += ", " + ", ".join(f"{name}={value}" for name, value in each.defines.items())
    if each.occupancy == each.occupancy:
        share = "full" if each.occupancy >= 1 else f"{100 * each.occupancy:.0f} %"
        is_limited = bool(each.occupancy_limiter) and each.occupancy < 1
        text += f"; occupancy {share}" + f", limited by {each.occupancy_limiter}" * is_limited
    return text


def _variants_table(answers: Sequence[AnswerOfVariant]) -> Table:
    every = (n for each in answers for n in (*each.defines, *each.inputs))
    names = [name for name in dict.fromkeys(every) if name != _THREADS]
    columns = {"rank": "", "block": "", **{name: _unit(name) for name in names}, "predicted": "s"}
    columns |= {"chance": "", "bottleneck": "", "occupancy": ""}
    rows = []
    for each in (each for each in answers if not each.status):
        point, block = {**each.defines, **each.inputs}, " x ".join(map(str, each.block))
        own = [point.get(name) for name in names]
        name, shares = _limit_name(each.bottleneck), (each.chance, each.occupancy)
        chance, occupancy = (f"{100 * share:.0f} %" for share in shares)
        rows.append([each.rank, block, *own, each.time, chance, name, occupancy])
    return Table(
        title="variants, and the chance that each is the fastest",
        columns=columns,
        rows=rows,
        max_rows=_MAX_ROWS,
        key_columns=2 + len(names),
    )


def _refused_table(answers: Sequence[AnswerOfVariant]) -> Table:
    rows = []
    for each in answers:
        if each.status:
            own = {**each.defines, **each.inputs}.items()
            point = [f"{n}={value_text(value, _unit(n))}" for n, value in own]
            rows.append([", ".join([" x ".join(map(str, each.block)), *point]), each.status])
    return Table(title="not answered", columns=("block", "why"), rows=rows, max_rows=_MAX_ROWS)


def _moves(each: AnswerOfVariant) -> list[Move]:
    """Return the moves that gain most, those of the programmer first."""
    moves = [move for move in each.moves or () if move.end_gain >= _LEAST_GAIN][:_MAX_MOVES]
    return sorted(moves, key=lambda move: LEVERS.index(move.lever))


def _best_moves(each: AnswerOfVariant) -> list[str]:
    """Return the move that gains most; before it, that of the programmer if it is worthwhile."""
    best = [move for move in each.moves or () if move.end_gain >= _LEAST_GAIN]
    own = [m for m in best if m.lever == "programmer" and m.end_gain >= _WORTHWHILE]
    shown = own[:1] + best[: own[:1] != best[:1]]
    ends = [f" to {_short_text(m.end, m)}" * (m.end == m.end) for m in shown]  # NaN: no end
    return [
        f"{m.direction} {m.quantity}{to}: {m.end_gain:.3g} times faster ({m.lever})"
        for m, to in zip(shown, ends, strict=True)
    ]


def _move_tables(each: AnswerOfVariant) -> list[Table]:
    """Return the moves that gain most, and the meanings of their quantities."""
    rows, moves = [], _moves(each)
    for move in moves:
        to = "" if move.end != move.end else f" to {_short_text(move.end, move)}"
        text = f"{move.direction} {move.quantity} from {_short_text(move.value, move)}{to}"
        is_longer = move.end_limit != move.limit
        text += f", {move.end_limit}" if is_longer or "shipped" in move.limit else ""
        border = f", then {_limit_name(move.next_bound)}" if move.next_bound else ""
        if border and is_longer:
            border = f" ({move.gain:.3g} times at {_short_text(move.until, move)}{border})"
        text += border
        rows.append([move.lever, f"{move.end_gain:.3g} times", text])
    values = {**each.defines, **each.inputs}.items()
    point = [f"{n} = {value_text(value, _unit(n))}" for n, value in values if n != _THREADS]
    title = f"what would help at {', '.join(point)}" if point else "what would help"
    table = Table(title=title, columns=("who", "faster", "move"), rows=rows)
    return [table, meanings_table(moves)]


def _short_text(value: float, move: Move) -> str:
    return move.value_text(value if value == round(value) else float(f"{value:.4g}"))
