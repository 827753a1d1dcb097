"""Read Caliper's text records (``.cali``), which contain a tree of nodes, and values at nodes.

A line is ``__rec=node,id=..,attr=..,data=..,parent=..`` or
``__rec=ctx,ref=..=..,attr=..=..,data=..=..``. Attributes are nodes, too; the data of such a node is
the name of the attribute. The nodes with the lowest ids are the same in every file.
"""

import re
from typing import Any

from dse.importers.formats import MeasuredFile
from dse.importers.records import Records, rows_to_columns
from symbolic.errors import DseError

_NAME = "8"  # value of ``attr`` in nodes that define attributes
#: Entries of a node (id, attr, data, parent) by name.
Node = dict[str, str]
_PATHS = ("annotation", "region", "function", "loop")


def from_caliper(file: MeasuredFile) -> Records:
    """Read a Caliper file; each innermost region is a row with all values of its record."""
    text, name = file.text, str(file.path)
    nodes: dict[str, Node] = {}
    result: list[tuple[tuple[str, ...], dict[str, Any]]] = []
    about: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        entries = dict(part.partition("=")[::2] for part in re.split(r"(?<!\\),", line))
        kind = entries.get("__rec")
        try:
            if kind == "node":
                nodes[entries["id"]] = {key: entries[key] for key in ("attr", "data")} | entries
            elif kind == "ctx":
                path, _ = _follow_path(nodes, entries.get("ref", ""))
                ids = re.split(r"(?<!\\)=", entries["attr"])
                data = re.split(r"(?<!\\)=", entries["data"])
                if len(ids) != len(data):
                    raise ValueError(f"{len(ids)} attributes and {len(data)} values")
                pairs = zip(ids, data, strict=True)
                values = {nodes[one]["data"]: float(value) for one, value in pairs}
                result.append((path, values))
            elif kind == "globals":
                about |= _follow_path(nodes, entries.get("ref", ""))[1]
            else:
                raise ValueError("neither a node, a ctx nor globals")
        except (KeyError, ValueError) as error:
            cause = f"no whole record of Caliper ({error})"
            raise DseError(f"{name}, line {number}: {cause}: {line[:80]!r}") from None
    above = {path[:depth] for path, _ in result for depth in range(len(path))}
    innermost = [(path, values) for path, values in result if path and path not in above]
    if not innermost:
        raise DseError(f"{name} is a Caliper file without records of regions")
    columns: dict[str, list[Any]] = {"region": [path[-1] for path, _ in innermost]}
    for key in ("cluster", "variant", "tuning"):
        if key in about:
            columns[key] = [about[key]] * len(innermost)
    listed = rows_to_columns([values for _, values in innermost])
    columns |= {key.removeprefix("any#any#max#"): values for key, values in listed.items()}
    units = {column: "s" for column in columns if column.endswith("time.duration")}
    units = {n: u for n, u in units.items() if "count" not in n} | {"Bytes/Rep": "B"}
    return Records(kind="caliper", axes=(), columns=columns, units=units)


def _follow_path(nodes: dict[str, Node], refs: str) -> tuple[tuple[str, ...], Node]:
    """Follow nodes to the root; return the path of regions, and the data by attribute."""
    path: list[str] = []
    attributes: dict[str, str] = {}
    for ref in filter(None, refs.split("=")):
        at: str | None = ref
        for _ in range(len(nodes) + 1):
            if at not in nodes:
                break
            node = nodes[at]
            attribute = nodes.get(node["attr"])
            label = attribute["data"] if attribute and attribute.get("attr") == _NAME else ""
            data = re.sub(r"\\(.)", r"\1", node["data"])
            if label in _PATHS:
                path.insert(0, data)
            attributes.setdefault(label, data)
            at = node.get("parent")
        else:
            raise ValueError(f"node {ref} is its own parent")
    return tuple(path), attributes
