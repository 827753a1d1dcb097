"""What a machine's file does not tell, and which models that closes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from dse.entry_file import Value
from dse.model_list import models
from symbolic.errors import DseError
from symbolic.model import Model


class HasValues(Protocol):
    """A machine: what it tells, by the names of quantities."""

    @property
    def values(self) -> Mapping[str, Value]:
        """The values."""


def closed_models(entry: HasValues) -> dict[str, tuple[str, ...]]:
    """The shipped models that lack a value of the machine, each with what it lacks.

    What the workload or the programmer gives is not counted, nor what has a default; of a value
    that is a formula, what it needs is. A study opens such a model by giving the values itself.

    >>> from dse.catalog import machine
    >>> closed_models(machine("rtx3080"))["mwp_cwp"]
    ('mem_latency_nominal',)
    """
    found = {}
    known = models()
    for name in known:
        try:
            model = known[name]
        except DseError:  # a model of one's own that cannot be loaded: dse models says why
            continue
        needed = model.needs(*model.outputs)
        lacking = dict.fromkeys(each for need in needed for each in _lacking(need, entry, model))
        if lacking:
            found[name] = tuple(lacking)
    return found


def formula_of(name: str, value: object) -> tuple[str, ...]:
    """The quantities in a value that is a formula; none of a number.

    >>> formula_of("peak_flops", "fp32_flops"), formula_of("mem_bandwidth", "900 GB/s")
    (('fp32_flops',), ())
    """
    from symbolic.expression import parse_value
    from symbolic.ops import Node, references
    from symbolic.quantities import TABLE

    if not isinstance(value, str) or name not in TABLE or TABLE[name].is_label:
        return ()
    parsed = parse_value(value, TABLE[name], TABLE)
    return tuple(references(parsed)) if isinstance(parsed, Node) else ()


def _lacking(
    need: str, entry: HasValues, model: Model, seen: tuple[str, ...] = ()
) -> Iterator[str]:
    """What is not known of a quantity, down to what its formula or its default names."""
    if need in seen or (need in model.yields and seen):
        return
    row = model.quantity(need)
    if need in entry.values:
        behind = formula_of(need, entry.values[need].value)
    elif row.default is None:
        if row.lever == "designer":
            yield need
        return
    else:
        behind = formula_of(need, row.default)
    for each in behind:
        yield from _lacking(each, entry, model, (*seen, need))
