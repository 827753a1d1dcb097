r"""Make text from files safe to print.

A label, title or unit in a file may contain characters that control a terminal, reverse the
direction of writing, or start a new line that looks like a line of the program. Such characters are
replaced by their codes, as in JSON: ``\\u001b``.
"""

import json
import re

#: Controls (except tab and line feed), direction marks, line separators, invisible characters and
#: tags, surrogates.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def escape_controls(text: str) -> str:
    """Return the text with control characters replaced by codes; line feeds and tabs are kept."""
    return _CONTROLS.sub(_escape_code, text) if _CONTROLS.search(text) else text


def one_line(text: str) -> str:
    """Return the text with control characters, line feeds and tabs replaced by their codes."""
    text = escape_controls(text)
    return text.replace("\n", "\\n").replace("\t", "\\t") if "\n" in text or "\t" in text else text


def _escape_code(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"
