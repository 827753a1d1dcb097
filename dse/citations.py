"""BibTeX of the papers, data sheets and data sets that sources name."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
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
from symbolic.answer import Answer
from symbolic.errors import DseError, nearest_hint
from symbolic.model import Model
from symbolic.safe_text import one_line

_FILE = Path(__file__).parent / "data" / "references.toml"
#: Characters that have a meaning in TeX, with the text that prints them.
_TEX = {sign: f"\\{sign}" for sign in "&%$#_"}
_TEX |= {"{": "\\textbraceleft{}", "}": "\\textbraceright{}"}
_TEX |= {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
#: Largest number of sources in the comment of an entry.
_SHOWN = 3


def cite(source: Any, *more: Any) -> Answer:
    """Return BibTeX of the papers, data sheets and data sets behind one or more answers.

    Equations, fits, and values of machines and workloads have sources, which name publications.
    The fields are from the sources or the table of references.

    Parameters:
        source: A study, a comparison, a Dataset of an answer or run, or the path of one of these;
            a model, a machine, a workload, or the name of one of these.
        more: Further sources, whose references are merged.

    Returns:
        Answer: ``str(answer)`` is the BibTeX, the papers that most sources name first. ``data`` has
        ``entries`` with all their sources, and ``others``: sources that name no publication.

    Raises:
        DseError: The source is none of these.

    >>> [entry["key"] for entry in cite("transit").data["entries"]]
    ['li2015', 'simt-dse']
    """
    cited: dict[tuple[Any, ...], list[str]] = {}
    others = []
    texts = [text for each in (source, *more) for text in _source_texts(_load(each))]
    for text in dict.fromkeys([f"simt-dse version {version()}", *texts]):
        references = [*_references(text)] if text else []
        others += [] if references else [text]
        for reference in references:
            cited.setdefault(reference, []).append(text)
    keys = Counter[str]()
    entries: list[dict[str, Any]] = []
    rows = sorted(cited.items(), key=lambda row: (row[0][1] in ("misc", "manual"), -len(row[1])))
    for (key, kind, *fields), names in sorted(rows, key=lambda row: row[0][0] == "simt-dse"):
        keys[key] += 1
        unique = key if keys[key] == 1 else f"{key}-{keys[key]}"
        entries.append({"key": unique, "type": kind, "fields": dict(fields), "cited_as": names})
    note = f"% {len(others)} sources name no publication: definitions, own measurements"
    parts = [*map(_bibtex, entries), *[note] * bool(others)]
    data = {"entries": entries, "others": others}
    return Answer(kind="BibTeX", title="\n\n".join(parts), data=data)


def _bibtex(entry: Mapping[str, Any]) -> str:
    texts = entry["cited_as"]
    more = [f"and {len(texts) - _SHOWN} more: dse cite --json lists all"] * (len(texts) > _SHOWN)
    lines = [f"% {one_line(text).replace('@', ' at ')}" for text in [*texts[:_SHOWN], *more]]
    fields = ",\n".join(f"  {name} = {_value(name, v)}" for name, v in entry["fields"].items())
    return "\n".join([*lines, f"@{entry['type']}{{{entry['key']},", fields, "}"])


@cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def _references(text: str) -> Iterator[tuple[Any, ...]]:
    """Yield the key, the type and the fields of each publication that a source names."""
    for name, row in _rows().items():
        for match in re.finditer(row["match"], text):
            texts = [(n, match.expand(str(row[n]))) for n in row if n not in ("match", "type")]
            fields = {name: text for name, text in texts if text}
            words = f"{fields.get('author', '')} {fields['title']} {fields.get('note', '')}"
            slug = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
            yield (slug if "\\" in row["title"] else name, row["type"], *fields.items())
        text = re.sub(row["match"], "", text)


def _load(source: Any) -> Any:
    if not isinstance(source, (str, Path)):
        return source
    text = str(source)
    kinds = ((models, model), (machines, machine), (workloads, workload))
    known = [read for names, read in kinds if text in names()]
    for read in known or [read for _, read in kinds]:
        with suppress(DseError):
            return read(text)
    if not ("://" in text or os.path.exists(text)):
        hint = nearest_hint(text, [name for names, _ in kinds for name in names()])
        raise DseError(
            f"{text!r} is unknown: expected the name of a model, machine, workload or shipped "
            f"study (dse models, machines, workloads, new), or the path of one or a store{hint}"
        )
    return load_study_file(text) if text.endswith(".toml") else open_dataset(text)


def _source_texts(source: Any) -> Iterable[str]:
    if isinstance(source, Model):
        return source.citations
    if isinstance(source, Entry):
        return [value.source or value.assumed for value in source.values.values()]
    if isinstance(source, ComparisonData):
        return [text for study in source.each.values() for text in _source_texts(study)]
    if isinstance(source, StudyData):
        attributes = source.attributes()
    else:
        what = "a Study, a Dataset, a model, a machine, a workload, or the name or path of one"
        attributes = require_dataset(source, "source", what).attrs
        if not str(attributes.get("equations")).startswith("["):  # an answer or a comparison
            return _source_texts(source.dse.study)
    texts: list[str] = [row["source"] for row in json.loads(attributes["equations"])]
    for origin in json.loads(attributes.get("sources", "{}")).values():
        texts += origin.values() if isinstance(origin, dict) else [origin]  # dict: per label
    return [*texts, *json.loads(attributes.get("assumptions", "[]"))]


def _value(name: str, value: Any) -> str:
    text = str(value)
    escaped = text if name in ("doi", "url") else "".join(_TEX.get(sign, sign) for sign in text)
    return f"{{{{{escaped}}}}}" if name == "title" else f"{{{escaped}}}"
