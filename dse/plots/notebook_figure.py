"""Figures and Axes that notebooks show as pictures, without pyplot."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

#: Points of a picture an inch of the screen, and points of the screen an inch.
_SAVE_DPI, _SCREEN_DPI = 160, 80


class NotebookFigure(Figure):
    """A figure that is its own picture; its Axes show it, too."""

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """As of matplotlib; a plain Axes is one that shows the figure."""
        if not {"projection", "polar"} & kwargs.keys():
            kwargs.setdefault("axes_class", _NotebookAxes)
        return super().add_subplot(*args, **kwargs)

    def draw(self, renderer: Any) -> None:
        """Draw the figure; a ``$`` in a label of a file begins no formula."""
        for ax in self.axes:
            for axis in (ax.xaxis, ax.yaxis):
                axis.get_ticklabels()  # whose texts are made now
        for text in self.findobj(Text):
            if isinstance(text, Text) and "$" in text.get_text():
                text.set_parse_math("\\mathdefault" in text.get_text())
        super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        into = io.BytesIO()
        self.savefig(into, format="png", dpi=_SAVE_DPI)
        wide, high = self.get_size_inches()
        return into.getvalue(), {
            "width": int(wide * _SCREEN_DPI),
            "height": int(high * _SCREEN_DPI),
        }


class _NotebookAxes(Axes):
    """An Axes that a notebook shows as the picture of its figure."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        figure = self.get_figure(root=True)
        assert isinstance(figure, NotebookFigure)
        return figure._repr_png_()
