"""The command `dse chances`: who can be best where inputs are random."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from dse.cli.ends import handed_back, reading
from dse.cli.frame import asked, command, question, read_source
from dse.cli.options import from_study_or_store, goals, kinds

if TYPE_CHECKING:
    import xarray as xr

#: Configurations that are told people; JSON has them all.
_ROWS = 10


@command(
    "dse chances uncertain.toml --minimize time",
    'dse chances uncertain.toml --maximize throughput --where "power <= 150 W" --per workload',
)
@from_study_or_store
@goals(several=False)
@kinds
def chances(source: str, **options: Any) -> Any:
    """How likely each configuration is the best, where inputs are random.

    Tells the likeliest first: the chance, and the regret, by how much it is expected to miss the
    best; each with the half width of its 95 % interval. Both are judged on fresh draws. The source
    is a study with laws under [random], values along the dimension draw, or measurements along run
    (dse import --runs), of which the best on average is meant. Where no objective is given, the
    study's [best] is asked.
    """
    from dse.verbs import uncertain

    read, given = read_question(source, options)
    found = handed_back(lambda: uncertain.chances(read, **given, progress=True))
    data = _chances_data(found)
    return data, lambda: _chances_text(found, data, given.get("top"))


def read_question(source: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What is asked, and the question of the options or of the study's ``[best]``."""
    from dse.study.data import StudyData
    from dse.verbs.sources import with_file_read

    with reading():
        read = with_file_read(source) if source.endswith(".toml") else read_source(source)
    filed = read.best if isinstance(read, StudyData) else None
    best = question(asked(options), filed)
    if best is None:
        raise click.UsageError("give --minimize or --maximize a quantity")
    given = best.as_asked()
    if options.get("top") is None:
        given.pop("top", None)
    return read, given


def _chances_data(found: xr.Dataset) -> dict[str, Any]:
    from dse.answers import answer

    lists = found.drop_vars([name for name in found.data_vars if "rank" not in found[name].dims])
    data = answer(lists).data()
    for name in ("left", "left_error", "none"):
        data[name] = found[name].values.tolist()
    said = ("verdict", "told_apart", "run_again", "drifting", "lag1", "drift")
    data |= {name: found.attrs[name] for name in said if name in found.attrs}
    return data | {"configurations": int(found.attrs["configurations"])}


def _chances_text(found: xr.Dataset, data: Mapping[str, Any], top: int | None) -> str:
    from dse.answers import answer

    shown = found.isel(rank=slice(top or _ROWS))
    lists = shown.drop_vars([name for name in found.data_vars if "rank" not in found[name].dims])
    told = answer(lists)
    rest = found.chance.isel(rank=slice(top or _ROWS, None)).sum("rank") + found.left
    several = found.left.ndim > 0
    lines = [f"{data['configurations']:,} configurations can be the best: {told.question}", ""]
    lines += [str(told), ""]
    if several:
        lines += ["left to others: " + ", ".join(f"{one:.3g}" for one in rest.values.reshape(-1))]
    else:
        error = "" if not found.left.item() else f" ± {found.left_error.item():.2g}"
        lines += [f"left to others: {rest.item():.3g}{error}"]
    if "verdict" in found.attrs:
        about = found.attrs
        lines += [about["verdict"], f"measure rank {about['run_again']} again first"]
        lines += [
            f"of all configurations: {about['drifting']:.0%} drift over their runs; correlation of "
            f"neighbouring runs {about['lag1']:.2f} (median)"
        ]
    if found.none.values.any():
        lines += [f"nothing is feasible: {float(found.none.max()):.3g}"]
    return "\n".join(lines)
