"""Arguments that name a file: a study, or a shipped one by its name; a store, or its URL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


def examples() -> dict[str, Path]:
    """The shipped studies that run no file beside them, by name."""
    import dse

    inside, beside = (Path(dse.__file__).parents[k] / "examples" for k in (0, 1))
    found = sorted((inside if inside.is_dir() else beside).glob("*.toml"))
    return {path.stem: path for path in found if ".py" not in path.read_text(encoding="utf-8")}


class StudyFile(click.Path):
    """The path of a file; or the name of a shipped study, where no file is called so."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The path that a word names."""
        plain = isinstance(value, str) and value.replace("-", "").isalnum()
        if plain and not Path(value).exists() and value in examples():
            value = str(examples()[value])
        return super().convert(value, param, ctx)


class Source(StudyFile):
    """The path of something that exists, a shipped study, or a URL."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The path that a word names."""
        return value if "://" in str(value) else super().convert(value, param, ctx)
