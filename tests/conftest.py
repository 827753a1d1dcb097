"""Drawn tests draw the same cases each time, so that a result depends on the code alone.

``pytest --hypothesis-profile=explore`` draws new ones.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("same")
