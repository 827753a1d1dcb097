"""A process in which no model is at hand: the values of a store answer, not its study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import dse.runs.identity
from symbolic.errors import DseError


@contextmanager
def without_model() -> Iterator[None]:
    """Refuse to tell the study of any store, as where its model has changed or is missing."""

    def rebuilt(*_: Any, **__: Any) -> Any:
        raise DseError("the model is not at hand")

    with patch.object(dse.runs.identity, "rebuild_study", rebuilt):
        yield
