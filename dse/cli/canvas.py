"""The size of a figure, and how it is written."""

from __future__ import annotations

import io
import math
import warnings
from pathlib import Path
from typing import Any

import click

#: The least width and height of a figure, and the most of either, in inches.
_LEAST, _MOST = (4.0, 3.0), 40.0


def save(figure: Any, path: Path, fixed: bool) -> None:
    """Write a figure; enlarge it, or refuse a ``fixed`` size, where names have no room."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="constrained_layout not applied")
        for attempts_left in range(0 if fixed else 3, -1, -1):
            try:
                figure.draw_without_rendering()
                legends = [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]
                boxes = [legend.get_window_extent() for legend in legends]
                if fixed and any(box.x0 < -1 or box.x1 > figure.bbox.x1 + 1 for box in boxes):
                    raise UserWarning
                break
            except UserWarning:
                if not attempts_left:
                    width, height = figure.get_size_inches()
                    raise click.UsageError(
                        f"names and legend have no room within {width:g}x{height:g} inches: "
                        "give a larger --size"
                    ) from None
                figure.set_size_inches(*(1.4 * figure.get_size_inches()))
    write_figure(figure, path)


def write_figure(figure: Any, path: Path) -> None:
    """Write a figure in the format of its suffix; the file appears when it is complete."""
    buffer = io.BytesIO()  # matplotlib loses the error of a full disk where it writes PDF
    figure.savefig(buffer, format=path.suffix[1:].lower(), dpi=110)
    from sweeps.files.whole import write_whole

    write_whole(path, buffer.getvalue())


def canvas(size: str | None) -> Any:
    """Return the Axes of a figure of a given size; None where the kind chooses it."""
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
