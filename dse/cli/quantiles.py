"""The command `dse quantiles`: compute quantiles of a quantity over the design space."""

from typing import Any

import dse
from dse.cli.command import Source, command, source_argument
from dse.cli.count import count_answer, output_option, per_option
from dse.cli.options import option, parse_number, split_list, where_option
from symbolic.answer import Table


@command(
    "dse quantiles examples/merge-four-gpus.toml --output time --q 0.5,0.9,0.99",
    'dse quantiles merge.zarr --output time --where "active_sms <= 8"',
)
@source_argument
@output_option
@option("--q SHARE,...", "Levels of the quantiles, from 0 to 1", default="0,0.25,0.5,0.75,1")
@where_option()
@per_option
def quantiles(source: Source, output: str, q: str, where: list[str], per: list[str]) -> Any:
    """Compute a quantity's quantiles, over the feasible configurations.

    Each quantile is the exact value of some configuration, never an interpolation. Nothing is
    stored.
    """
    shares = [parse_number(share, [float]) for share in split_list([q])]
    options: dict[str, Any] = {"where": where, "per": per, "progress": True}
    result = dse.quantiles(source, output, shares, **options)
    (name,) = result.data_vars
    unit = str(result[name].attrs.get("units", ""))
    if per:
        return count_answer(result, per, (str(name),), units=unit, q=shares)
    pairs = [*zip(result["quantile"].values.tolist(), result[name].values.tolist(), strict=True)]
    rows = [{"quantile": share, "value": value} for share, value in pairs]
    table = Table(columns={"quantile": "", output: unit}, rows=pairs)
    return count_answer(result, per, (), table, units=unit, quantiles=rows)
