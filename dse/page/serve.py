"""The page of a whole store, served to this machine alone: each request may ask for a part."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from dse.page.stored import told_of_values
from dse.page.template import page_text
from symbolic.errors import DseError

if TYPE_CHECKING:
    import xarray as xr

#: The loopback: nobody else reaches it.
HOST = "127.0.0.1"


def server_of(ds: xr.Dataset, title: str, note: str = "", port: int = 0) -> ThreadingHTTPServer:
    """A server of the page of a Dataset, at ``http://127.0.0.1:PORT/``; a free port where 0.

    ``/?threads=100:200`` is the page of that part of an axis, thinned less the smaller it is.
    """

    class Pages(BaseHTTPRequestHandler):
        """One page, and nothing else."""

        def do_GET(self) -> None:
            """Answer with the page of the part that is asked for."""
            asked = urlsplit(self.path)
            # a name that somebody else lets point here is refused
            if self.headers.get("Host") != f"{HOST}:{server.server_port}":
                return self._send(HTTPStatus.FORBIDDEN, "ask by the address alone")
            if asked.path != "/":
                return self._send(HTTPStatus.NOT_FOUND, "there is one page, /")
            try:
                text = page_text(*told_of_values(ds, title, note, part_of(asked.query)))
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
            """Say nothing."""

    server = ThreadingHTTPServer((HOST, port), Pages)  # browsers open connections in advance
    return server


def part_of(query: str) -> Mapping[str, tuple[float, float]]:
    """The least and the most value of each axis that a query names.

    >>> part_of("threads=100:200")
    {'threads': (100.0, 200.0)}
    """
    found = {}
    for name, text in parse_qsl(query):
        low, colon, high = text.partition(":")
        if not colon:
            raise DseError(f"{name}={text}: expected the least and the most value, {name}=1:10")
        found[name] = (float(low), float(high))
    return found
