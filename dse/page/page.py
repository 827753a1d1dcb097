"""Write the HTML page of a study or Dataset, and serve pages of parts of a store."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from dse.study.study import StudyData
from dse.verbs.query import resolve_source
from dse.verbs.sources import SourceLike
from symbolic.answer import escape_html
from symbolic.errors import DseError

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

    import xarray as xr

_HERE = Path(__file__).parent
#: Names of the scripts; a script may use functions of the scripts before it.
_SCRIPTS = (
    "text", "study", "controls", "formula", "chart", "figures", "map", "transit", "tail", "launch",
    "tiles", "roofline", "advice", "tree", "best", "share", "part", "main",
)  # fmt: skip
_CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:"
)
#: Escapes of characters that could end the script or begin an HTML comment.
_HTML_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
#: Address of the loopback interface: no other machine can connect to it.
HOST = "127.0.0.1"


def page_text(data: Mapping[str, Any], functions: Mapping[str, str]) -> str:
    """Return the HTML text of a page, with its data, style and scripts."""
    constants = [f"const {name} = {source};\n" for name, source in functions.items()]
    scripts = "".join(_read_asset(f"{name}.js") for name in _SCRIPTS)
    scripts = re.sub(r"^ +|^/\*.*\*/\n", "", scripts, flags=re.MULTILINE)
    first = 'const data = JSON.parse(document.getElementById("data").textContent);\n'
    parts = {
        "policy": _CONTENT_POLICY,
        "title": escape_html(str(data["title"])),
        "style": _read_asset("page.css"),
        "data": json.dumps(data, allow_nan=False, separators=(",", ":")).translate(_HTML_ESCAPES),
        "scripts": "".join([first, *constants, scripts]),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _read_asset("page.html"))


def _read_asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def explore(
    source: SourceLike, path: str | Path, *, title: str | None = None, note: str = ""
) -> Path:
    """Write an HTML page on which a study can be explored in a browser, without a network.

    The page contains the equations as JavaScript, a slider or list for every axis and value,
    figures that follow them, each step with its source, advice, and the best configuration. Of long
    axes it contains only some values, and says so. Quantities that only Python can compute are
    included as values along the axes.

    Parameters:
        source (Study, Comparison, Dataset or path): The page of a study has equations; the page of
            a Dataset, store or comparison has values.
        path (path): File for the page, such as ``"page.html"``; an existing file is replaced.
        title (str, optional): Heading of the page; default: the first line of a study file, if it
            is a comment, or models, machine and workload.
        note (str, optional): Text below the heading, such as what to try; default: the next lines
            of comment in a study file.

    Returns:
        Path: The path of the page.

    Raises:
        DseError: The name does not end in .html, or the source cannot be opened.

    >>> import tempfile
    >>> from dse import Study
    >>> study = Study(model="transit", axes={"threads": [256, 512, 1024]},
    ...               set={"intensity": 10, "lanes_width": 32, "ms_peak": 1, "mem_latency": 600})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = explore(study, folder + "/transit.html")
    ...     page.name, "ms_throughput" in page.read_text()
    ('transit.html', True)
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise DseError(f"{str(path)!r} is no page: expected a name that ends in .html")
    from sweeps.files.atomic_write import write_atomic

    return write_atomic(Path(path), page_text(*page_content(source, title, note)))


def page_content(
    source: SourceLike, title: str | None = None, note: str = ""
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the data of the page of any source, and the JavaScript functions that it calls."""
    from dse.page.data import dataset_page_data, page_data

    data = resolve_source(source, values=True)
    if isinstance(source, (str, Path)) and str(source).endswith(".toml"):
        title, note = read_heading(source, title, note)
    if not isinstance(data, StudyData):
        file = Path(source).name if isinstance(source, (str, Path)) else ""
        heading = title or file or str(data.attrs.get("title") or "a Dataset")
        return dataset_page_data(data, heading, note)
    entries = " on ".join(filter(None, [data.workload, data.machine]))
    return page_data(data, title or data.model + (f": {entries}" if entries else ""), note)


def read_heading(path: str | Path, title: str | None, note: str) -> tuple[str | None, str]:
    """Return the title and note of a study file, from the comment at its start unless given.

    The first line is the title if it ends a sentence or is the only one; else the note has it.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    comment = takewhile(lambda line: line.startswith("# "), lines)
    words = [line.removeprefix("# ").strip() for line in comment]
    is_title = len(words) == 1 or (words and words[0].endswith((".", "?", ")")))
    heading = words.pop(0) if is_title else None
    return title or heading, note or " ".join(words)


def make_server(ds: xr.Dataset, title: str, note: str = "", port: int = 0) -> ThreadingHTTPServer:
    """Return a server, on this machine, for the page of a Dataset; port 0 chooses a free port."""
    from http import HTTPStatus
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    from dse.page.data import dataset_page_data

    class PageHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            # other host names would allow DNS rebinding
            if self.headers.get("Host") != f"{HOST}:{server.server_port}":
                return self._send(HTTPStatus.FORBIDDEN, "use the numeric address")
            if url.path != "/":
                return self._send(HTTPStatus.NOT_FOUND, "there is one page, /")
            try:
                text = page_text(*dataset_page_data(ds, title, note, parse_ranges(url.query)))
            except (DseError, ValueError) as error:
                return self._send(HTTPStatus.BAD_REQUEST, str(error))
            return self._send(HTTPStatus.OK, text, "html")

        def _send(self, status: HTTPStatus, text: str, kind: str = "plain") -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", f"text/{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Do not print requests."""

    server = ThreadingHTTPServer((HOST, port), PageHandler)
    return server


def parse_ranges(query: str) -> Mapping[str, tuple[float, float]]:
    """Return the range of each axis in the query string of a URL.

    >>> parse_ranges("threads=100:200")
    {'threads': (100.0, 200.0)}
    """
    result = {}
    for name, text in parse_qsl(query):
        low, colon, high = text.partition(":")
        if not colon:
            raise DseError(f"{name}={text}: expected a range such as {name}=1:10")
        result[name] = (float(low), float(high))
    return result
