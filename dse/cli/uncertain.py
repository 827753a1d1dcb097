"""The commands `dse chances`, `dse information`, `dse law`: where inputs are random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dse.cli.ends import handed_back, reading
from dse.cli.frame import asked, command, question, read_source, read_study
from dse.cli.options import drawn, from_study, from_study_or_store, goals, kinds, listed, values
from dse.tables import table
from dse.wording import value_text

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["chances", "information", "law"]

#: Configurations that are told people; JSON has them all. Quantiles of a law.
_ROWS = 10
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


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

    read, given = _read(source, options)
    found = handed_back(lambda: uncertain.chances(read, **given, progress=True))
    data = _chances_data(found)
    return data, lambda: _chances_text(found, data, given.get("top"))


def _read(source: str, options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
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


@command(
    "dse information uncertain.toml --minimize time",
    "dse information uncertain.toml --minimize time --set-of mem_latency,mem_bandwidth",
)
@from_study
@goals(several=False)
@click.option(
    "--set-of", "sets", multiple=True, metavar="Q,...", help="Inputs known together; repeatable."
)
def information(study: str, sets: Sequence[str], **options: Any) -> Any:
    """What it would be worth to know random inputs, and which to measure next.

    Of all inputs (EVPI), of each (EVPPI) and of sets, in the unit of the objective: by how much the
    mean of what is chosen would be better. Where no objective is given, the study's [best] is
    asked.
    """
    from dse.verbs import uncertain

    read, given = _read(study, options)
    asked_of = ("minimize", "maximize", "where")
    wanted: dict[str, Any] = {name: given[name] for name in asked_of}
    wanted["sets"] = [listed([text]) for text in sets]
    found = handed_back(lambda: uncertain.information(read, **wanted, progress=True))
    data = _information_data(found)
    return data, lambda: _information_text(found, data)


def _information_data(found: xr.Dataset) -> dict[str, Any]:
    now = [str(name) for name in found.coords if not found[name].dims]
    rows = []
    for place, name in enumerate(found["set"].values.tolist()):
        one = found.isel(set=place)
        row = {"set": name} | {n: one[n].item() for n in ("evppi", "evppi_error", "changes")}
        rows.append(row | {f"then_{axis}": one[f"then_{axis}"].item() for axis in now})
    return {
        "question": str(found.attrs["question"]),
        "unit": str(found.evpi.attrs["units"]),
        "now": {axis: found[axis].item() for axis in now},
        "evpi": found.evpi.item(),
        "evpi_error": found.evpi_error.item(),
        "sets": rows,
        "next": str(found.attrs["next"]),
    }


def _information_text(found: xr.Dataset, data: Mapping[str, Any]) -> str:
    unit = "" if data["unit"] == "1" else data["unit"]

    def worth(value: float, error: float) -> list[str]:
        return [value_text(value, unit), "exact" if not error else f"± {value_text(error, unit)}"]

    chosen = ", ".join(
        f"{name} = {value_text(value, str(found[name].attrs.get('units', '')))}"
        for name, value in data["now"].items()
    )
    then = list(data["now"])
    rows = [["everything", *worth(data["evpi"], data["evpi_error"]), "", *[""] * len(then)]]
    for row in data["sets"]:
        others = [row[f"then_{axis}"] for axis in then]
        shown = [
            "-" if one != one else f"{one:g}" if isinstance(one, float) else str(one)
            for one in others
        ]
        share = f"{row['changes']:.1%}"
        rows.append([row["set"], *worth(row["evppi"], row["evppi_error"]), share, *shown])
    heads = ["known", "is worth", "", "then another", *(f"mostly {axis}" for axis in then)]
    lines = [f"{data['question']}: best on average with {chosen or 'the only configuration'}", ""]
    lines += [table(heads, rows), "", f"to measure next: {data['next']}"]
    return "\n".join(lines)


@command(
    "dse law uncertain.toml time --at threads_per_block=256,active_sms=30",
    "dse law uncertain.toml power --plot power.png",
)
@from_study
@click.argument("quantity")
@values("--at", commas=True, metavar="AXIS=VALUE,...", help="One value of an axis.")
@drawn("--plot", help="Draw the law here.")
def law(study: str, quantity: str, at: dict[str, str], plot: Path | None) -> Any:
    """The law of an output at one configuration, where inputs are random.

    Mean, standard deviation and quantiles, with the half widths of 95 % intervals where they are
    not exact. It is exact where all laws are enumerated, and where one input alone is random in the
    output, along which it is proven to go one way.
    """
    from dse.verbs import laws

    found = laws.law(read_study(study), quantity, at)
    data: dict[str, Any] = {"quantity": quantity, "unit": found.unit, "at": dict(found.at)}
    data |= {"way": found.way, "undefined": found.undefined, "atoms": None}
    if found.way == "enumerated":
        data["atoms"] = [found.values.tolist(), found.weights.tolist()]
    data |= {name: [getattr(found, name), found.error(name)] for name in ("mean", "std")}
    data["quantiles"] = [[q, found.quantile(q), found.error("quantile", q)] for q in _QUANTILES]
    if plot is not None:
        from dse.plots.chances import output_law

        output_law(found).figure.savefig(plot, dpi=110)  # type: ignore[union-attr]
    return data, lambda: _law_text(data)


def _law_text(data: Mapping[str, Any]) -> str:
    unit = data["unit"]
    told = {name: data[name] for name in ("mean", "std")}
    told |= {f"quantile {q:g}": [value, error] for q, value, error in data["quantiles"]}
    rows = [
        [name, value_text(value, unit), "exact" if not error else f"± {value_text(error, unit)}"]
        for name, (value, error) in told.items()
    ]
    at = ", ".join(f"{name} = {value}" for name, value in data["at"].items())
    lines = [f"{data['quantity']}{f' at {at}' if at else ''} ({_WAYS[data['way']]})", ""]
    lines += [table([data["quantity"], "", ""], rows)]
    if data["undefined"]:
        lines += ["", f"nothing is feasible: {data['undefined']:.3g}"]
    return "\n".join(lines)


_WAYS = {
    "enumerated": "every value with its chance",
    "monotone": "one input is random in it, along which it goes one way",
    "draws": "of draws",
}


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
