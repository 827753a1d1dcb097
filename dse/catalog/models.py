"""Lists of models and of quantities, and which models compute or need each quantity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from symbolic.answer import Answer, DisplayMixin, Table, names_answer, shorten
from symbolic.errors import DseError, UnknownEntryError, UnknownNameError, nearest_hint
from symbolic.library import available_models, load_model, model_hint
from symbolic.model import Model
from symbolic.quantities import TABLE, Quantity


def model(name: str, *, prefer: str | None = None) -> Model:
    """Load a model by its name or file path, or several joined by ``+``.

    >>> model("transit").closed_form("ms_transition")
    mem_latency*ms_peak
    """
    return load_model(name, prefer=prefer)


class _Models(DisplayMixin, Mapping[str, Model]):
    """Mapping of names to models, each loaded on access."""

    def _answer(self) -> Answer:
        data = []
        for name in self:
            try:
                model = load_model(name)
                row: dict[str, Any] = {"summary": model.summary, "outputs": list(model.outputs)}
            except DseError as error:  # list the model, with the reason why it cannot be loaded
                row = {"summary": str(error), "outputs": []}
            data.append({"name": name, **row})
        return names_answer("Models", {d["name"]: d["summary"] for d in data}, {"models": data})

    def __repr__(self) -> str:
        return repr(names_answer("Models", dict.fromkeys(self, "")))  # loads no model

    def __getitem__(self, name: str) -> Model:
        if name not in self:
            known = list(self)
            raise UnknownEntryError(
                f"{name!r} is no model{model_hint(str(name), known)}; there are: {', '.join(known)}"
            )
        return load_model(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(available_models()))

    def __len__(self) -> int:
        return len(available_models())

    def __contains__(self, name: object) -> bool:
        return name in available_models()


def models() -> Mapping[str, Model]:
    """Return all models by name: the shipped ones and those in the folders of ``DSE_PATH``.

    >>> "mwp_cwp" in models()
    True
    """
    return _Models()


#: A row of a table of quantities names at most _MODELS_SHOWN models. A table with more than
#: _ROWS_UNFOLDED rows is displayed folded.
_MODELS_SHOWN, _ROWS_UNFOLDED = 3, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantityInfo:
    """Description of a quantity.

    Attributes:
        name, unit, meaning: ``unit`` is the unit of stored values; ``""`` for counts and ratios.
        symbol: Symbol in the papers, as LaTeX, several separated by commas; ``""`` if there is
            none.
        default: Default value: a number, a label, or another quantity's name.
        labels: Labels of a switch.
        yielded_by, needed_by: Models with an equation for it, and models whose equations read it.
        declared_by: Models that declare it; empty for quantities that all models share.
    """

    name: str
    unit: str
    symbol: str
    meaning: str
    default: float | str | None
    labels: tuple[str, ...]
    yielded_by: tuple[str, ...]
    needed_by: tuple[str, ...]
    declared_by: tuple[str, ...]


class Quantities(DisplayMixin, dict[str, QuantityInfo]):
    """Mapping of names to quantities; prints one line for each."""

    def __missing__(self, name: str) -> QuantityInfo:
        raise UnknownEntryError(f"{name!r} is no quantity{nearest_hint(name, self)}")

    def _answer(self) -> Answer:
        def model_names(names: tuple[str, ...]) -> str:
            return ", ".join(names) if len(self) == 1 else shorten(names, _MODELS_SHOWN)

        rows = []
        for row in self.values():
            default = None if row.default is None else (row.default, row.unit)
            labels = f" ({', '.join(row.labels)})" if row.labels else ""
            text = [row.name, row.unit, row.symbol, default, row.meaning + labels]
            rows.append([*text, model_names(row.yielded_by), model_names(row.needed_by)])
        head = ("quantity", "unit", "symbol", "default", "meaning", "yielded by", "needed by")
        return Answer(
            kind="Quantities",
            title=f"{len(self):,}: {shorten(self)}",
            tables=[Table(columns=head, rows=rows, is_open=len(rows) <= _ROWS_UNFOLDED)],
            data={"quantities": [asdict(row) for row in self.values()]},
        )

    def __str__(self) -> str:
        return str(self._answer())


def quantities(word: str = "", *, model: str | None = None) -> Quantities:
    """Search the quantities of all models.

    Parameters:
        word (str): Text to search in names, meanings, symbols and labels, in any case; of several
            words all must occur. The quantity of that name comes first, then those whose names
            contain the word.
        model (str, optional): Model whose inputs and outputs are searched: a name, names joined by
            ``+``, or the path of a file; default: all shipped models and those in the folders of
            ``DSE_PATH``.

    Raises:
        UnknownNameError: No quantity matches.

    >>> quantities("power idle")["idle_power"].unit
    'W'
    """
    if not isinstance(word, str):
        raise DseError(f"word = {word!r}: expected text, such as 'clock'")
    read = dict(models()) if model is None else {model: load_model(model)}
    known = _quantity_infos(read)
    if model is not None:
        known = {n: row for n, row in known.items() if row.yielded_by or row.needed_by}
    texts = {
        row.name: " ".join([row.name, row.meaning, row.symbol, *row.labels]).lower()
        for row in known.values()
    }
    words = word.lower().split()
    matches = [row for row in known.values() if all(part in texts[row.name] for part in words)]
    if not matches:
        of = f" of {model}" if model else ""
        raise UnknownNameError(
            f"no quantity{of} has {word!r} in its name, meaning, symbol or labels"
            f"{nearest_hint(word, known)}"
        )
    matches.sort(key=lambda q: (q.name != word, not all(p in q.name for p in words), q.name))
    return Quantities({row.name: row for row in matches})


def _quantity_infos(models_by_name: Mapping[str, Model]) -> dict[str, QuantityInfo]:
    symbols, makers, users, owners = (defaultdict[str, dict[str, None]](dict) for _ in range(4))
    rows: dict[str, Quantity] = {}
    for name, model in models_by_name.items():
        for eq in model.equations:
            makers[eq.name][name] = None
            symbols[eq.name] |= {eq.symbol: None} if eq.symbol else {}
            for need in (*eq.inputs, *eq.when):
                users[need][name] = None
        for row in model.quantities.values():
            rows[row.name] = row
            owners[row.name] |= {} if row.name in TABLE else {name: None}
    return {
        name: QuantityInfo(
            name=name,
            unit=row.unit,
            symbol=", ".join(symbols[name]),
            meaning=row.meaning,
            default=row.default,
            labels=row.labels or (),
            yielded_by=tuple(makers[name]),
            needed_by=tuple(users[name]),
            declared_by=tuple(owners[name]),
        )
        for name, row in rows.items()
    }
