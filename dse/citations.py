"""BibTeX of the papers, data sheets and data sets that the sources of an answer name."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dse.arguments import require_dataset
from dse.catalog.entries import Entry, machine, machines, workload, workloads
from dse.catalog.models import model, models
from dse.inputs.provenance import version
from dse.runs.files import open as open_dataset
from dse.study.comparison import ComparisonData
from dse.study.study import StudyData
from dse.verbs.sources import load_study_file
from symbolic.answer import Answer, Report, Table, shorten
from symbolic.errors import DseError
from symbolic.model import Model
from symbolic.safe_text import one_line

_FILE = Path(__file__).parent / "data" / "references.toml"
#: Characters that have a meaning in TeX, with the text that prints them.
_TEX = {sign: f"\\{sign}" for sign in "&%$#_"}
_TEX |= {"{": "\\textbraceleft{}", "}": "\\textbraceright{}"}
_TEX |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
#: Number of sources that a comment names before each entry.
_SHOWN = 3


@dataclass(frozen=True, slots=True, repr=False)
class Citations(Report):
    """References behind an answer; ``print`` shows them as BibTeX.

    Attributes:
        entries: For each reference its ``key``, ``type``, ``fields`` and the sources that name it
            (``cited_as``).
        others: Sources that name no publication, such as definitions and own measurements.
    """

    entries: Sequence[Mapping[str, Any]]
    others: Sequence[str]

    def __str__(self) -> str:
        parts = []
        for entry in self.entries:
            texts = entry["cited_as"]
            more = [f"and {len(texts) - _SHOWN} more"] * (len(texts) > _SHOWN)
            named = [one_line(text).replace("@", " at ") for text in [*texts[:_SHOWN], *more]]
            lines = [f"% {text}" for text in named]
            fields = ",\n".join(f"  {n} = {_value(n, v)}" for n, v in entry["fields"].items())
            parts.append("\n".join([*lines, f"@{entry['type']}{{{entry['key']},", fields, "}"]))
        text = f"% {len(self.others)} sources name no publication: definitions, own measurements"
        return "\n\n".join([*parts, *[text] * bool(self.others)])

    def _answer(self) -> Answer:
        rows = [[e["key"], e["fields"]["title"], shorten(e["cited_as"], 3)] for e in self.entries]
        table = Table(columns=("key", "title", "cited as"), rows=rows, is_open=True)
        others = Table(title="other sources", rows=[[text] for text in self.others])
        title = f"{len(rows)} references; print shows BibTeX"
        return Answer(kind="Citations", title=title, tables=[table, others])


def cite(source: Any) -> Citations:
    """Return the references of the papers, data sheets and data sets behind an answer.

    They are found in the sources of the equations that are used, of the values of machine and
    workload, and of fits. A reference has only fields that its source or the table of references
    gives.

    Parameters:
        source: A study, comparison or Dataset (an answer, or a run), or its path; a model, machine
            or workload, or its name.

    Raises:
        DseError: The source is none of these.

    >>> [entry["key"] for entry in cite("transit").entries]
    ['simt-dse', 'li2015']
    """
    texts = dict.fromkeys(text for text in _source_texts(_load(source)) if text)
    cited: dict[tuple[Any, ...], list[str]] = {}
    others = []
    for text in (f"simt-dse version {version()}", *texts):
        references = list(_references(text))
        others += [] if references else [text]
        for reference in references:
            cited.setdefault(reference, []).append(text)
    keys: dict[str, int] = {}
    entries = []
    for (key, kind, *fields), names in cited.items():
        keys[key] = keys.get(key, 0) + 1
        unique = key if keys[key] == 1 else f"{key}-{keys[key]}"
        entries.append({"key": unique, "type": kind, "fields": dict(fields), "cited_as": names})
    return Citations(entries, others)


@cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def _references(text: str) -> Iterator[tuple[Any, ...]]:
    """Yield key, type and fields of each reference in a source."""
    for name, row in _rows().items():
        for match in re.finditer(row["match"], text):
            fields = {n: row[n] for n in row if n not in ("match", "type")}
            fields |= {n: group for n, group in match.groupdict().items() if group}
            words = f"{fields.get('author', '')} {fields['title']} {fields.get('note', '')}"
            slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
            yield (name if "title" in row else slug, row["type"], *fields.items())
        text = re.sub(row["match"], "", text)


def _load(source: Any) -> Any:
    """Return the model, machine, workload, study or Dataset for a name or path."""
    if not isinstance(source, (str, Path)):
        return source
    text = str(source)
    if text in models() or "+" in text or text.endswith(".py"):
        return model(text)
    if text in machines():
        return machine(text)
    if text in workloads():
        return workload(text)
    if not text.endswith(".toml"):
        return open_dataset(text)
    for read in (machine, workload):
        with suppress(DseError):
            return read(text)
    return load_study_file(text)


def _source_texts(source: Any) -> Iterable[str]:
    if isinstance(source, Model):
        return source.citations
    if isinstance(source, Entry):
        return [value.source or value.assumed for value in source.values.values()]
    if isinstance(source, ComparisonData):
        return [text for study in source.each.values() for text in _source_texts(study)]
    if not isinstance(source, StudyData):
        what = "a Study, a Dataset, a model, a machine, a workload, or the name or path of one"
        equations = str(require_dataset(source, "source", what).attrs.get("equations"))
        if not equations.startswith("["):  # an answer, or several models
            return _source_texts(source.dse.study)
    attributes = source.attributes() if isinstance(source, StudyData) else source.attrs
    equations, origins, assumed = (
        json.loads(attributes.get(name, "{}")) for name in ("equations", "sources", "assumptions")
    )
    texts: list[str] = [row["source"] for row in equations]
    for origin in origins.values():  # a mapping from labels for an axis of machines
        texts += origin.values() if isinstance(origin, dict) else [origin]
    return [*texts, *assumed]


def _value(name: str, value: Any) -> str:
    text = str(value)
    escaped = text if name == "doi" else "".join(_TEX.get(sign, sign) for sign in text)
    return f"{{{{{escaped}}}}}" if name == "title" else f"{{{escaped}}}"
