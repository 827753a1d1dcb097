"""The command `dse plot`: a figure of a model or of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dse.cli.canvas import canvas, save, say, told
from dse.cli.described import described
from dse.cli.drawing import arguments_of
from dse.cli.ends import reading
from dse.cli.frame import command
from dse.cli.kinds import KINDS
from dse.cli.named import Source
from dse.cli.options import drawn, entries, names, values, where
from dse.cli.papers import paper

__all__ = ["plot"]

_LISTED = "\n".join(f"  {name:<13} {kind.shows}" for name, kind in KINDS.items())
_LISTED += "\n  paper         a figure of a paper: dse plot paper --help"


class _Plot(click.Command):
    """A command of kinds, of which ``paper`` takes options of its own."""

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **more: Any) -> Any:
        if args[:1] == ["paper"]:
            return paper.make_context(f"{info_name} paper", args[1:], parent, **more)
        return super().make_context(info_name, args, parent, **more)


@command(
    "dse plot lines study.toml --quantity time --over active_sms --out time.png",
    "dse plot heatmap study.toml --quantity energy --minimize energy --out map.svg",
    "dse plot parallel study.toml --minimize time --out lines.png",
    "dse plot pareto out.zarr --minimize time,power --out front.pdf",
    "dse plot sms --machine gtx280 --workload svm --set threads_per_block=256 "
    "--axis active_sms=1:30 --out sms.png",
    "dse plot transit --machine c2075 --set threads=1024 --set intensity=500 --move threads "
    "--out transit.png",
    "dse plot kernels counters.csv --machine c2075 --out kernels.png",
    "dse plot paper hong2012 --figure 50 --out fig50.png",
    before=f"\b\nKinds:\n{_LISTED}\n\n",
    kind=_Plot,
)
@click.argument("kind", type=click.Choice(list(KINDS)), metavar="KIND")
@click.argument("source", metavar="[STUDY_OR_STORE]", required=False, type=Source(exists=True))
@drawn("--out", required=True)
@click.option("--model", help="Of a study that the options describe. [that of the kind]")
@entries
@described
@where("A constraint; repeatable.")
@names("--quantity", metavar="Q", help="What is drawn.")
@click.option("--over", metavar="AXIS", help="The axis across.")
@click.option("--by", metavar="AXIS", help="The axis upwards, of a map.")
@click.option("--x", metavar="Q", help="The quantity across, where it is no axis.")
@values("--at", metavar="AXIS=VALUE", help="One value of an axis; repeatable.")
@names("--minimize", metavar="Q", help="To be small: a star, or a front.")
@names("--maximize", metavar="Q", help="To be large: a star, or a front.")
@click.option("--borders", metavar="Q", help="Of a map: a case whose borders are drawn.")
@click.option("--move", metavar="Q", help="Of transit: where the advice on a quantity leads.")
@click.option("--relative", is_flag=True, help="Each line, or group of bars, by its largest.")
@click.option("--size", metavar="WxH", help="Of the figure, in inches.")
def plot(kind: str, source: str | None, out: Path, size: str | None, **options: Any) -> Any:
    """Draw a figure of a model or of a study.

    Most kinds draw a study: a file, a stored dataset, or what --machine, --workload, --axis and
    --set describe. What is drawn is computed by the model, whatever outputs the study names. What
    is not said is by the question of the study, its [best]: the quantity, the goal, and where axes
    stand that a kind does not show.
    """
    from dse import plots

    with reading():
        draw = getattr(plots, kind.replace("-", "_"))
        arguments, added = arguments_of(kind, draw, source, options)
        arguments["ax"] = canvas(size)
    ax = draw(**arguments)
    if added:
        say(ax.figure, added)
    save(ax.figure, out, size is not None)
    data = {"kind": kind, "figure": out, "bytes": out.stat().st_size}
    said = "; ".join(f"{name} {told(value)}" for name, value in added.items())
    data |= {"chosen": added} if added else {}
    return data, f"{out} ({kind}: {KINDS[kind].shows}{'; ' * bool(said)}{said})"
