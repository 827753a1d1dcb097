"""The page as text: its template, style and scripts with the study in them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
#: The scripts in the order in which each finds what it uses.
_SCRIPTS = (
    *("text", "study", "controls", "chart", "figures", "map", "transit", "tail", "launch"),
    *("advice", "tree", "best", "share", "part", "main"),
)
#: Nothing is fetched from anywhere.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)
#: What would end a script, or begin a comment in one.
_MARKUP = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def page_text(data: Mapping[str, Any], functions: Mapping[str, str]) -> str:
    """The page of some data; ``functions`` are those it calls, by their names."""
    own = [f"const {name} = {source};\n" for name, source in functions.items()]
    first = 'const data = JSON.parse(document.getElementById("data").textContent);\n'
    parts = {
        "policy": _POLICY,
        "title": html.escape(str(data["title"])),
        "style": _read("page.css"),
        "data": json.dumps(data, allow_nan=False).translate(_MARKUP),
        "scripts": "".join([first, *own, *(_read(f"{name}.js") for name in _SCRIPTS)]),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _read("page.html"))


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
