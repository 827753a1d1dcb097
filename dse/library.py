"""The models by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dse.cards import listed_card
from symbolic.errors import DseError, UnknownEntryError, nearest
from symbolic.library import available_models, load_model
from symbolic.model import Model
from symbolic.visible import Card, Visible


def model(name: str, *, prefer: str | None = None) -> Model:
    """A model by its name, the path of its file, or several joined by ``+``.

    >>> model("transit").closed_form("ms_transition")
    mem_latency*ms_peak
    """
    return load_model(name, prefer=prefer)


def _summary(name: str) -> str:
    """What a model says of itself, or why it cannot be loaded."""
    try:
        return load_model(name).summary
    except DseError as error:
        return str(error)


class _Models(Visible, Mapping[str, Model]):
    """The models by name, loaded when asked for."""

    def _card(self) -> Card:
        return listed_card("Models", {name: _summary(name) for name in self})

    def __repr__(self) -> str:
        return f"<Models: {listed_card('Models', dict.fromkeys(self, '')).line}>"  # loads none

    def __getitem__(self, name: str) -> Model:
        if name not in self:
            known = list(self)
            raise UnknownEntryError(
                f"{name!r} is no model{nearest(str(name), known)}; there are: {', '.join(known)}"
            )
        return load_model(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(available_models()))

    def __len__(self) -> int:
        return len(available_models())

    def __contains__(self, name: object) -> bool:
        return name in available_models()


def models() -> Mapping[str, Model]:
    """Every model by its name: the shipped, and those in the folders of ``DSE_PATH``.

    >>> "mwp_cwp" in models()
    True
    """
    return _Models()
