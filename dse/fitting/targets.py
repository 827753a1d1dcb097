"""Which measured columns the model of a fit should yield."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.fitting.columns import Floats
from sweeps.grid.goals import texts_of
from symbolic.errors import DseError
from symbolic.model import Model


def targets_of(
    to: str | Sequence[str] | None, model: Model, columns: Mapping[str, Floats]
) -> tuple[str, ...]:
    """The measured quantities by name: those named, else the one main output that has a column."""
    if to is None:
        named = tuple(name for name in model.outputs if name in columns)
        if len(named) == 1:
            return named
        several = f"{', '.join(named)} are" if named else "none is"
        raise DseError(
            f"of the main outputs of {model.name} ({', '.join(model.outputs)}), {several} among "
            "the columns: say by to= which column the model should yield"
        )
    named = tuple(dict.fromkeys(texts_of(to, "to")))
    if not named:
        raise DseError("to is empty: name the measured quantities")
    for name in named:
        model.quantity(name)
        if name not in columns:
            raise DseError(
                f"{name} (to=) has no column; the columns are: {', '.join(columns) or 'none'}"
            )
        if not model.variants(name):
            raise DseError(
                f"{name} (to=) is an input of {model.name}, which nothing yields: name one of "
                f"{', '.join(model.yields)}"
            )
    return named
