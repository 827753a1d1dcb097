"""What the command line prints: JSON documents, and tables for people."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dse.answers import Answer, answer, order_of
from dse.tables import table

__all__ = [
    "Answer",
    "answer",
    "order_of",
    "table",
    "to_json",
]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return str(value) if isinstance(value, Path) else value


def to_json(value: Any) -> str:
    """One valid JSON document: NaN is null, infinity the text "inf".

    >>> to_json({"a": float("nan"), "b": [np.int8(1), -np.inf]}).split()
    ['{', '"a":', 'null,', '"b":', '[', '1,', '"-inf"', ']', '}']
    """
    return json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False)
