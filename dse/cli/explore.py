"""The command `dse explore`: write an interactive page of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import dse
from dse.cli.command import InputError, command, input_errors, read_study, warn_odd_numbers
from dse.cli.evaluate import computable_study, lacking_text, parse_point
from dse.cli.options import StudyPath, echo, entry_options, file_option, option, point_argument
from symbolic.answer import Answer

if TYPE_CHECKING:
    from dse.study.study import StudyData

#: Text that marks a page of this command; a file without it is never overwritten.
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
@file_option("--out PAGE.html", "File for the page; default: the name of the source, with .html")
@option("--title", "Heading of the page; default: the first comment of STUDY, or the model")
@option("--note", "Text below the heading; default: the comment of STUDY", default="")
@option("--serve", "Serve a store to browsers on this machine; write no page", is_flag=True)
@option("--port N", "Port of the server that --serve starts; default: a free port", default=0)
def explore(
    source: str,
    out: str | None,
    title: str | None,
    note: str,
    serve: bool,
    port: int,
    **options: Any,
) -> Any:
    """Write a web page of a study, which is interactive and needs no network.

    The page has a slider or list for every axis and value, figures that follow them, every equation
    with its source, advice, and the best configuration. For a model, several values (64,128,256) or
    a range (START:STOP:STEP) of a quantity make it an axis.

    The page of a store contains its values; along long axes it contains only some of them. With
    --serve, a browser on this machine can read any part of the store; Ctrl-C stops the server.
    """
    if serve:
        return _serve(source, title, note, port)
    at = parse_point(options)
    path = Path(out) if out is not None else Path(f"{Path(source).stem}.html")
    if out is None and path.exists() and _OURS not in path.read_text("utf-8", "replace")[:2000]:
        raise InputError(f"{path} exists and is not such a page: name another file with --out")
    of: StudyData | str = source
    lacking: dict[str, list[str]] = {}
    suffix = Path(source).suffix
    is_data = suffix in (".zarr", ".nc") or (suffix != ".py" and Path(source).exists())
    if at and (is_data or suffix == ".toml"):
        raise InputError(
            f"{source} is no model: only a model takes values; on the page you can change them"
        )
    if suffix == ".toml":
        read_study(source)  # warns of odd numbers and refuses comparisons
    elif not is_data:
        study, lacking = computable_study(source, at)
        of = warn_odd_numbers(study)
    with input_errors():
        page = dse.explore(of, path, title=title, note=note)
    size = page.stat().st_size
    text = f"{page} ({size / 1000:,.0f} kB): open it in a browser"
    notes = [f"left out: {lacking_text(*each, at.get('machine'))}" for each in lacking.items()]
    return Answer(title=text, notes=notes, data={"page": page, "bytes": size})


def _serve(source: str, title: str | None, note: str, port: int) -> None:
    from dse.page.page import HOST, make_server
    from dse.runs.files import open as open_store
    from sweeps.store.records import check_finished

    with input_errors():
        ds = open_store(source)
        check_finished(ds)
    with make_server(ds, title or Path(source).name, note, port) as server:
        echo(f"http://{HOST}:{server.server_port}/ (Ctrl-C ends it)", err=True)
        server.serve_forever()
