"""The command `dse explore`: a page on which a study is explored."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import InputError, command, input_errors, read_study, warn_odd_numbers
from dse.cli.evaluate import parse_point, study_from_point
from dse.cli.options import StudyPath, echo, entry_options, file_option, point_argument
from symbolic.answer import Answer

if TYPE_CHECKING:
    from dse.study.study import StudyData

#: How a page of this library begins, which may be replaced unasked.
_OURS = '<meta name="generator" content="simt-dse explore">'


@command(
    "dse explore examples/transit-tour.toml",
    "dse explore ipp --machine gtx280 --workload svm threads_per_block=32:512:32 "
    "active_sms=1:30 --out svm.html",
    "dse explore merge.zarr --out merge.html",
    "dse explore merge.zarr --serve",
)
@click.argument("source", metavar="STUDY_OR_STORE_OR_MODEL", type=StudyPath())
@point_argument
@entry_options
@file_option("--out", "PAGE.html", "The page. [by the name of the source]")
@click.option("--title", help="Its heading. [model, workload and machine]")
@click.option("--note", default="", help="What stands below it, such as what to try.")
@click.option("--serve", is_flag=True, help="Serve a whole store to this machine; write nothing.")
@click.option("--port", default=0, metavar="N", help="Where it is served. [a free one]")
def explore(
    source: str,
    out: str | None,
    title: str | None,
    note: str,
    serve: bool,
    port: int,
    **options: Any,
) -> Any:
    """Write a page on which a study is explored in a browser, without a network.

    It holds the equations, a slider or list for every axis and value, figures that follow them,
    every step with its source, what would help, and the best configuration. Of a model several
    values (64,128,256), or a range (START:STOP:STEP), are an axis.

    Of a store the page holds the values, thinned along long axes. --serve hands it to a browser of
    this machine alone, which asks for any part of the store; Ctrl-C ends it.
    """
    if serve:
        return _serve(source, title, note, port)
    at = parse_point(options)
    path = Path(out) if out is not None else Path(f"{Path(source).stem}.html")
    if out is None and path.exists() and _OURS not in path.read_text("utf-8", "replace")[:2000]:
        raise InputError(f"{path} is there and is none of these pages: name another with --out")
    of: StudyData | str = source  # a store by its name, or a study
    suffix = Path(source).suffix
    is_data = suffix in (".zarr", ".nc") or (suffix != ".py" and Path(source).exists())
    if at and (is_data or suffix == ".toml"):
        raise InputError(f"{source} is no model: values are given to one, or on the page")
    if suffix == ".toml":
        of = read_study(source)
    elif not is_data:
        of = warn_odd_numbers(study_from_point(source, at))
    with input_errors():
        page = dse.explore(of, path, title=title, note=note)
    size = page.stat().st_size
    title = f"{page} ({size / 1000:,.0f} kB): open it in a browser"
    return Answer(title=title, data={"page": page, "bytes": size})


def _serve(source: str, title: str | None, note: str, port: int) -> None:
    """Serve the page of a store until a signal comes."""
    from dse.page.page import HOST, make_server
    from dse.runs.files import open as opened
    from sweeps.store.records import check_finished

    with input_errors():
        ds = opened(source)
        check_finished(ds)
    with make_server(ds, title or Path(source).name, note, port) as server:
        echo(f"http://{HOST}:{server.server_port}/ (Ctrl-C ends it)", err=True)
        server.serve_forever()
