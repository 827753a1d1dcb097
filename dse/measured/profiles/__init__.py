"""Files of profilers: each reader takes text to columns, and a map of ``dse/data/profiles`` names them."""

from __future__ import annotations

__all__: list[str] = []
