"""The models by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from symbolic.answer import Answer, Visible, list_of_names
from symbolic.errors import DseError, UnknownEntryError, nearest
from symbolic.library import available_models, load_model
from symbolic.model import Model


def model(name: str, *, prefer: str | None = None) -> Model:
    """A model by its name, the path of its file, or several joined by ``+``.

    >>> model("transit").closed_form("ms_transition")
    mem_latency*ms_peak
    """
    return load_model(name, prefer=prefer)


class _Models(Visible, Mapping[str, Model]):
    """The models by name, loaded when asked for."""

    def _answer(self) -> Answer:
        data = []
        for name in self:
            try:
                model = load_model(name)
                row: dict[str, Any] = {"summary": model.summary, "outputs": list(model.outputs)}
            except DseError as error:  # it is listed, with the reason
                row = {"summary": str(error), "outputs": []}
            data.append({"name": name, **row})
        return list_of_names("Models", {d["name"]: d["summary"] for d in data}, {"models": data})

    def __repr__(self) -> str:
        return repr(list_of_names("Models", dict.fromkeys(self, "")))  # loads none

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
