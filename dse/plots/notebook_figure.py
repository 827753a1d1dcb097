"""Define figures and Axes that notebooks display without pyplot."""

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from dse.plots.ticks import fit_ticks

_SAVE_DPI, _SCREEN_DPI = 160, 80


class NotebookFigure(Figure):
    """A figure that a notebook can display; displaying one of its Axes shows the figure, too."""

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """Add an Axes; by default it displays its figure in a notebook."""
        if not {"projection", "polar"} & kwargs.keys():
            kwargs.setdefault("axes_class", _NotebookAxes)
        return super().add_subplot(*args, **kwargs)

    def draw(self, renderer: Any) -> None:
        """Draw the figure so that tick labels do not overlap, and ``$`` starts no formula."""
        for ax in self.axes:
            for axis in (ax.xaxis, ax.yaxis):
                fit_ticks(axis)
                axis.get_ticklabels()  # creates the Text objects, which findobj must find
        for text in self.findobj(Text):
            if isinstance(text, Text) and "$" in text.get_text():
                text.set_parse_math("\\mathdefault" in text.get_text())
        super().draw(renderer)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        into = io.BytesIO()
        self.savefig(into, format="png", dpi=_SAVE_DPI)
        width, height = (int(inches * _SCREEN_DPI) for inches in self.get_size_inches())
        return into.getvalue(), {"width": width, "height": height}


class _NotebookAxes(Axes):
    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        figure = self.get_figure(root=True)
        assert isinstance(figure, NotebookFigure)
        return figure._repr_png_()
