"""JSON documents, as the command line prints them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["to_json"]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # of NumPy: an array, or one number
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return str(value) if isinstance(value, Path) else value


def to_json(value: Any) -> str:
    """One valid JSON document: NaN is null, infinity the text "inf".

    >>> import numpy as np
    >>> to_json({"a": float("nan"), "b": [np.int8(1), -np.inf]}).split()
    ['{', '"a":', 'null,', '"b":', '[', '1,', '"-inf"', ']', '}']
    """
    return json.dumps(_plain(value), indent=2, allow_nan=False, ensure_ascii=False)
