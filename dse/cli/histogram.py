"""The command `dse histogram`: compute the distribution of a quantity over the design space."""

from typing import Any

import dse
from dse.cli.command import Source, command, source_argument
from dse.cli.count import count_answer, output_option, per_option
from dse.cli.options import option, parse_number, split_list, where_option
from symbolic.answer import Table

_BAR = 40


@command(
    "dse histogram examples/merge-four-gpus.toml --output time --bins 20",
    'dse histogram merge.zarr --output time --bins "0, 1 ms, 10 ms, 100 ms"',
)
@source_argument
@output_option
@option("--bins N|EDGE,...", "Number of bins, or the edges of the bins with units", default="10")
@where_option()
@per_option
def histogram(source: Source, output: str, bins: str, where: list[str], per: list[str]) -> Any:
    """Compute a quantity's histogram, over the feasible configurations.

    Nothing is stored. A bin contains its lower edge; the last bin also contains its upper edge.
    """
    edges = [parse_number(edge, [float]) for edge in split_list([bins])]
    many = int(bins) if bins.strip().isdecimal() else edges
    options: dict[str, Any] = {"bins": many, "where": where, "per": per}
    result = dse.histogram(source, output, **options, progress=True)
    unit = str(result["low"].attrs.get("units", ""))
    names = ("low", "high", "configurations")
    whole = result.sum(per) if per else result
    rows = [*zip(*(whole[name].values.tolist() for name in names), strict=True)]
    most = max(many for *_, many in rows) or 1
    shown = [[low, high, f"{many:,}", "#" * -(-many * _BAR // most)] for low, high, many in rows]
    table = Table(columns={"from": unit, "to": unit, "configurations": "", "": ""}, rows=shown)
    bars = [dict(zip(names, row, strict=True)) for row in rows]
    return count_answer(result, per, names[2:], table, units=unit, bins=bars)
