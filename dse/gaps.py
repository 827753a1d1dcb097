"""What a machine's file does not tell, and which models that closes."""

from __future__ import annotations

from dse.catalog import Entry
from dse.library import models

__all__ = ["closed_models"]


def closed_models(entry: Entry) -> dict[str, tuple[str, ...]]:
    """The shipped models that lack a value of the machine, each with what it lacks.

    What the workload or the programmer gives is not counted, nor what has a default. A study opens
    such a model by giving the values itself.

    >>> from dse.catalog import machine
    >>> closed_models(machine("rtx3080"))["mwp_cwp"]
    ('mem_latency_nominal',)
    """
    found = {}
    for name, model in models().items():
        lacking = tuple(
            need
            for need in model.needs(*model.outputs)
            if need not in entry.values
            and model.quantity(need).lever == "designer"
            and model.quantity(need).default is None
        )
        if lacking:
            found[name] = lacking
    return found
