"""What a fit is asked, checked as far as it can be without its model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.fitting.columns import Named
from dse.fitting.coordinates import Start
from symbolic.errors import DseError
from symbolic.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What :func:`dse.fit` is asked; its parameters say what each is."""

    model: str | Model
    data: Any
    free: Sequence[str]
    per: Mapping[str, Sequence[str]] | None
    to: str | Sequence[str] | None
    entries: Mapping[str, str | None]
    given: Mapping[str, Any]
    where: str | Sequence[str]
    columns: Named
    weights: Any
    residuals: str
    start: Start | None
    bounds: Mapping[str, Sequence[Any]] | None
    left_out: str
    prefer: str | None

    def __post_init__(self) -> None:
        for key, labels in (("residuals", _RESIDUALS), ("left_out", _LEFT_OUT)):
            if getattr(self, key) not in labels:
                raise DseError(f"{key} = {getattr(self, key)!r}: expected one of {labels}")

    @property
    def labelled(self) -> tuple[str | None, Sequence[str]]:
        """The column of labels, and the quantities that have a value for each."""
        if not self.per:
            return None, ()
        if len(self.per) > 1:
            raise DseError(f"per names the columns {', '.join(self.per)}: expected one")
        return next(iter(self.per.items()))

    @property
    def relative(self) -> bool:
        """Whether residuals are shares of what was measured."""
        return self.residuals == "relative"

    def text(self, model: Model, to: Sequence[str]) -> str:
        """The request without its data, as JSON."""
        said: dict[str, Any] = {"model": model.name, "fit": list(self.free), "to": list(to)}
        said |= {"per": {name: list(names) for name, names in (self.per or {}).items()}}
        said |= {key: name for key, name in self.entries.items() if name is not None}
        said |= {"set": {name: _plain(value) for name, value in self.given.items()}}
        said |= {"where": self.where if isinstance(self.where, str) else list(self.where)}
        said |= {"residuals": self.residuals, "data": said_of(self.data), "outputs": list(to)}
        return json.dumps(said)


_RESIDUALS, _LEFT_OUT = ("absolute", "relative"), ("auto", "refit", "hat")


def said_of(data: Any) -> dict[str, str]:
    """The name of a file of rows and the hash of its bytes; of anything else what it is.

    >>> said_of({"time": [1, 2]})
    {'data': 'a dict in memory'}
    """
    if not isinstance(data, (str, Path)):
        return {"data": f"a {type(data).__name__} in memory"}
    path = Path(data)
    with suppress(OSError):  # a store is a folder
        return {"data": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    return {"data": path.name}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
