"""How an object shows itself: a line at a prompt, and in a notebook tables that fold out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from symbolic.plain_text import one_line, without_controls

#: Rows of a table in a notebook; whoever wants more asks the object.
ROWS = 200
_CELL = "text-align:left;padding:0.1em 0.8em 0.1em 0;vertical-align:top"
#: Texts of so many letters stay on one line.
_SHORT, _WHOLE = 24, ";white-space:nowrap"
_PLAIN = '"'
_SORTED = """;cursor:pointer" title="sort" onclick="
const t=this.closest('table'),k=this.cellIndex,s=this.dataset.s=-(this.dataset.s||-1);
[...t.rows].slice(1).sort((a,b)=>{const x=a.cells[k].dataset.k,y=b.cells[k].dataset.k,d=x-y;
return s*(isNaN(d)?x.localeCompare(y):d)}).forEach(r=>t.tBodies[0].append(r))\""""
_FOLD = "cursor:pointer;padding:0.15em 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """A table behind one line, which unfolds it; by ``keys``, one a cell, a click sorts it."""

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]]
    opened: bool = False
    keys: Sequence[Sequence[Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What is shown of an object: what it is, a line about it, and what folds out.

    ``facts`` always stand below the line; all texts are plain, and escaped where they are shown.
    """

    kind: str
    line: str
    facts: Mapping[str, str] = field(default_factory=dict)
    folds: Sequence[Fold] = ()


class Visible:
    """An object that tells its :class:`Card`, and so shows itself at a prompt and in notebooks."""

    __slots__ = ()

    def _card(self) -> Card:
        raise NotImplementedError

    def __repr__(self) -> str:
        card = self._card()
        return f"<{card.kind}: {one_line(card.line)}>"

    def _repr_html_(self) -> str:
        return page_part(self._card())


def page_part(card: Card) -> str:
    """A card as a part of an HTML page, in the colours of the page.

    >>> page_part(Card(kind="Study", line="a < b"))
    '<div><div><b>Study</b> a &lt; b</div></div>'
    """

    parts = [f"<div><b>{escape(card.kind)}</b> {escape(card.line)}</div>"]
    if card.facts:
        parts.append(_table((), list(card.facts.items())))
    for fold in card.folds:
        if fold.rows:
            opened = " open" if fold.opened else ""
            title = f'<summary style="{_FOLD}">{escape(fold.title)}</summary>'
            parts.append(
                f"<details{opened}>{title}{_table(fold.header, fold.rows, fold.keys)}</details>"
            )
    return f"<div>{''.join(parts)}</div>"


def escape(text: str) -> str:
    """Return text as HTML shows it, without characters that steer the direction of writing."""
    from html import escape as escaped

    return escaped(without_controls(text))


def _table(
    header: Sequence[str], rows: Sequence[Sequence[str]], keys: Sequence[Sequence[Any]] = ()
) -> str:
    heads = "".join(
        f'<th style="{_CELL}{_SORTED if keys else _PLAIN}>{escape(str(name))}</th>'
        for name in header
    )
    lines = [heads] if header else []
    for place, row in enumerate(rows[:ROWS]):
        said = [f' data-k="{escape(str(key))}"' for key in keys[place]] if keys else [""] * len(row)
        cells = zip(said, map(str, row), strict=True)
        lines.append(
            "".join(
                f'<td style="{_CELL}{_WHOLE * (len(c) <= _SHORT)}"{k}>{escape(c)}</td>'
                for k, c in cells
            )
        )
    if len(rows) > ROWS:
        lines.append(f"<td>and {len(rows) - ROWS:,} more</td>")
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="margin:0.2em 0 0.4em 0">{body}</table>'
