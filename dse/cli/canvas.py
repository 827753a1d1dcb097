"""The sheet of a figure: its size, what stands above it, and how it is written."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sweeps.files.whole import write_whole

__all__ = ["canvas", "save", "say", "told", "write_figure"]

#: The least width and height of a figure, and the most of either, in inches.
_LEAST, _MOST = (4.0, 3.0), 40.0


def save(figure: Any, path: Path, asked: bool) -> None:
    """Write a figure; refuse a size, where one was asked for, that leaves a legend no room."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        for _ in range(3 * (not asked)):
            try:
                figure.draw_without_rendering()
                break
            except UserWarning:
                figure.set_size_inches(*(1.4 * figure.get_size_inches()))
        try:
            figure.draw_without_rendering()
            legends = [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]
            boxes = [legend.get_window_extent() for legend in legends]
            whole = figure.bbox
            if asked and any(box.x0 < -1 or box.x1 > whole.x1 + 1 for box in boxes):
                raise UserWarning
        except UserWarning:
            width, height = figure.get_size_inches()
            raise click.UsageError(
                f"names and legend have no room within {width:g}x{height:g} inches: "
                "give a larger --size"
            ) from None
    write_figure(figure, path)


def write_figure(figure: Any, path: Path) -> None:
    """Write a figure by the ending of its name; the file appears when it is whole."""
    drawn = io.BytesIO()  # matplotlib loses the error of a full disk where it writes PDF
    figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=110)
    write_whole(path, drawn.getvalue())


def told(value: Any) -> str:
    """What was chosen for an option, as it would be given."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={told(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def say(figure: Any, added: Mapping[str, Any]) -> None:
    """Above a figure, where it stands along the axes that it does not show."""
    if "at" in added and not figure.axes[0].get_title().startswith("at "):
        figure.suptitle(f"at {told(added['at'])}", fontsize=9)


def canvas(size: str | None) -> Any:
    """The Axes of a figure of a given size; None where the kind chooses."""
    if size is None:
        return None
    from dse.plots.frame import new_figure

    wide, times, high = size.lower().partition("x")
    try:
        inches = float(wide), float(high)
        if not times or not all(math.isfinite(length) for length in inches):
            raise ValueError
    except ValueError:
        raise click.UsageError(f"--size {size!r}: expected such as 6.4x4.2, inches") from None
    if not (_LEAST[0] <= inches[0] <= _MOST and _LEAST[1] <= inches[1] <= _MOST):
        least = "x".join(f"{length:g}" for length in _LEAST)
        raise click.UsageError(
            f"--size {size!r}: a figure that can be read takes {least} inches or more, and no side "
            f"more than {_MOST:g}"
        )
    return new_figure(*inches).subplots()
