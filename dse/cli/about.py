"""The catalogue and the models as the command line shows them: data for JSON, text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from dse.tables import table
from dse.wording import value_text
from symbolic.plain_text import one_line

if TYPE_CHECKING:
    from dse.catalog import Entry
    from dse.glossary import Quantities
    from symbolic.model import Model

#: So many models are named beside one of several quantities; the rest is counted.
_NAMED = 3


def entries(kind: str, name: str | None) -> tuple[dict[str, Any], Callable[[], str]]:
    """All machines or workloads, or the named one: data for JSON, and a function to its text."""
    if name is None:
        from dse.catalog import titles

        found = titles(kind)
        rows = [[key, title] for key, title in found.items()]
        data = [{"name": key, "title": title} for key, title in found.items()]
        return {f"{kind}s": data}, lambda: table([kind, "title"], rows)
    from dse.catalog import machine, workload

    entry = machine(name) if kind == "machine" else workload(name)
    return entry_data(entry), lambda: entry_text(entry)


def entry_data(entry: Entry) -> dict[str, Any]:
    """A machine or workload for JSON."""
    from symbolic.quantities import TABLE

    values = {}
    for name, value in entry.values.items():
        row = TABLE.get(name)
        values[name] = {"value": value.value, "unit": row.unit if row else ""}
        values[name] |= {"assumed": value.assumed} if value.assumed else {"source": value.source}
    found = {"name": entry.name, "kind": entry.kind, "title": entry.title}
    if entry.compute_capability:
        found["compute_capability"] = entry.compute_capability
    if entry.kind == "workload":
        return {**found, "values": values}
    from dse.gaps import closed_models

    closed = {name: list(lacking) for name, lacking in closed_models(entry).items()}
    return {**found, "values": values, "unknown": dict(entry.unknown), "closed_models": closed}


def entry_text(entry: Entry) -> str:
    """A machine or workload: every value with its source; what is not known, and what that closes.

    Of what a model lacks so many are named, and the rest is counted.
    """
    data, rows = entry_data(entry), []
    for name, said in data["values"].items():
        origin = f"assumed: {said['assumed']}" if "assumed" in said else said["source"]
        rows.append([name, value_text(said["value"], said["unit"]), origin])
    parts = [f"{entry.name}: {one_line(entry.title)}", table(["quantity", "value", "source"], rows)]
    if data.get("unknown"):
        parts.append(table(["not known", "why"], [[*row] for row in data["unknown"].items()]))
    if data.get("closed_models"):
        rows = [[name, _few(lacking)] for name, lacking in data["closed_models"].items()]
        parts.append(table(["model that is closed", "until a study gives"], rows))
    return "\n\n".join(parts)


def _few(names: list[str]) -> str:
    left = len(names) - 2 * _NAMED
    return ", ".join(names if left <= 1 else [*names[: 2 * _NAMED], f"{left} more"])


def _switches(model: Model) -> Iterator[str]:
    yield from dict.fromkeys(switch for eq in model.equations for switch in eq.when)


def model_data(model: Model) -> dict[str, Any]:
    """A model for JSON."""

    def row(name: str) -> dict[str, Any]:
        quantity = model.quantity(name)
        found: dict[str, Any] = {"name": name, "unit": quantity.unit, "meaning": quantity.meaning}
        if quantity.labels:
            found["labels"] = list(quantity.labels)
        if quantity.default is not None:
            found["default"] = quantity.default
        return found

    return {
        "name": model.name,
        "summary": model.summary,
        "inputs": [row(name) for name in model.inputs],
        "switches": [row(name) for name in _switches(model)],
        "outputs": [row(name) for name in model.outputs],
        "equations": [
            {
                "name": eq.name,
                "needs": list(eq.inputs),
                "source": eq.source,
                "when": dict(eq.when),
                "unit": model.quantity(eq.name).unit,
                "meaning": model.quantity(eq.name).meaning,
                "flags": {str(value): meaning for value, meaning in eq.flags.items()},
            }
            for eq in model.equations
        ],
        "citations": list(model.citations),
    }


def model_text(model: Model) -> str:
    """A model: what it needs, what it yields, its equations with their sources."""
    data = model_data(model)
    parts = [f"{data['name']}: {data['summary']}"]
    for title in ("inputs", "switches", "outputs"):
        rows = []
        for row in data[title]:
            default = value_text(row["default"], row["unit"]) if "default" in row else ""
            labels = f" ({', '.join(row['labels'])})" if "labels" in row else ""
            rows.append([f"  {row['name']}", row["unit"], default, row["meaning"] + labels])
        if rows:
            parts.append(table([title, "unit", "default", "meaning"], rows))
    rows = []
    for eq in data["equations"]:
        when = ", ".join(f"{name} = {label}" for name, label in eq["when"].items())
        needs = ", ".join(eq["needs"])
        rows.append([f"  {eq['name']}", eq["source"], f"of {needs}" + (f" [{when}]" * bool(when))])
    parts.append(table(["equations", "source", "needs"], rows))
    return "\n\n".join(parts)


def quantities_text(found: Quantities) -> str:
    """Quantities in a table: unit, symbol, default, meaning, and the models that have them."""

    def models(names: tuple[str, ...]) -> str:
        left = len(names) - _NAMED if len(found) > 1 else 0
        return ", ".join(names if left <= 0 else [*names[:_NAMED], f"{left} more"])

    rows = []
    for row in found.values():
        default = "" if row.default is None else value_text(row.default, row.unit)
        labels = f" ({', '.join(row.labels)})" if row.labels else ""
        text = [row.name, row.unit, row.symbol, default, row.meaning + labels]
        rows.append([*text, models(row.yielded_by), models(row.needed_by)])
    head = ["quantity", "unit", "symbol", "default", "meaning", "yielded by", "needed by"]
    return table(head, rows)
