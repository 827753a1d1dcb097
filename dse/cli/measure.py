"""The command `dse measure`: rows of the GPU at hand, with what they were measured on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from dse.cli.command import InputError, command, input_errors, new_file
from dse.cli.options import names_option
from symbolic.answer import Answer

#: What is measured, and the options that it takes besides OUT.
_OPTIONS_OF: dict[str, tuple[str, ...]] = {
    "supply": ("threads", "steps", "size"),
    "demand": ("threads", "steps"),
    "latency": ("steps", "ring"),
    "blocks": ("threads", "steps", "blocks"),
    "launches": ("threads", "steps", "blocks", "times"),
    "imbalance": ("law", "lanes", "groups", "each", "rows"),
    "power": ("threads", "steps", "size", "clock", "memory_clock", "seconds", "settle"),
}


@command(
    "dse measure supply supply.csv",
    "dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition",
    "dse measure imbalance imbalance.nc --law geometric:0.05 --lanes 8,32",
    "dse validate imbalance imbalance.nc --to imbalance_loss",
    "dse measure power power.csv --clock 1410 --clock 1005",
)
@click.argument("what", type=click.Choice(list(_OPTIONS_OF)))
@click.argument("out", metavar="OUT.csv|.nc|.parquet|.zarr", type=click.Path())
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    multiple=True,
    help="On a multiprocessor, a row each; else: of a block. [32 to 1024; 256, 32, 1024]",
)
@click.option("--steps", type=click.IntRange(min=1), default=4096, help="Loads or rounds. [4096]")
@click.option("--size", type=click.IntRange(min=1), default=2**26, help="Numbers read. [2**26]")
@click.option("--ring", type=click.IntRange(min=256), multiple=True, help="Of latency, in bytes.")
@click.option("--blocks", type=click.IntRange(min=1), multiple=True, help="Of a launch. [1000]")
@click.option("--times", type=click.IntRange(min=2), default=50, help="Launches of each. [50]")
@click.option("--law", multiple=True, help="Of the work of a lane. [Swatman 2022, Table I]")
@names_option("--lanes", metavar="N,...", help="Of a group. [2,4,8,16,32]")
@click.option("--groups", type=click.IntRange(min=1), default=2**18, help="Of a case. [2**18]")
@click.option("--each", is_flag=True, help="Of imbalance: a row a group, not a case.")
@click.option("--rows", type=click.IntRange(min=1), default=16, help="Of its matrices. [16]")
@click.option("--clock", type=int, multiple=True, help="Of the cores, in MHz. [8 of those offered]")
@click.option("--memory-clock", type=int, multiple=True, help="In MHz. [the highest]")
@click.option("--seconds", type=click.FloatRange(min=0), default=3.0, help="Of power. [3]")
@click.option("--settle", type=click.FloatRange(min=0), default=2.0, help="Before that. [2]")
@click.pass_context
def measure(ctx: click.Context, /, what: str, out: str, **options: Any) -> Any:
    """Measure the NVIDIA GPU at hand (extra gpu), and keep the rows.

    supply: bandwidth against threads that only wait; demand: operations against threads that only
    compute; latency: cycles of a load against the bytes gone through; blocks: multiprocessor, start
    and end of each block of a launch whose blocks work for random whiles; launches: times of many
    such launches; imbalance: what lockstep costs (Swatman 2022, Algorithm 1); power: power, clocks
    and times of a kernel that computes and of one that reads memory, at each clock that may be had.

    OUT is a dataset as of dse import, and tells what it was measured on, how and when.
    NUMBA_ENABLE_CUDASIM=1 makes a trial without a GPU, whose numbers mean nothing: say little to be
    done (--threads 2 --steps 3 --size 64).
    """
    from dse.runs.files import export

    path = new_file(out, ".csv", ".nc", ".parquet", ".zarr")
    given = _command_line_options(ctx, what)
    if what in ("blocks", "launches", "power") and len(options["threads"]) > 1:
        raise InputError(f"--threads is given more than once: the blocks of {what} have one size")
    if what == "blocks" and len(options["blocks"]) > 1:
        raise InputError("--blocks is given more than once: blocks are of one launch; see launches")
    with input_errors():
        from dse.gpu import dataset_of
        from stochastic.validation import describe

        facts = describe()
        run, how = _measurement(what, options)
        command = " ".join(["dse measure", what, out, *given])
        told = {"measured": what, "command": command, **how, **facts}
        ds = dataset_of(what, run(), told)
        written = export(ds, path)
    rows = ds.sizes["configuration"]
    columns = [str(name) for name in ds.data_vars if name not in ("status", "feasible")]
    data = {"rows": rows, "columns": columns, "written": written, **told}
    chosen = map(str, ds.chosen_by.values) if "chosen_by" in ds else ()
    own = dict.fromkeys(text for text in chosen if text.startswith("as it"))
    notes = [f"clocks {text}; rows are of the clocks there were" for text in own]
    if notes:
        data["notes"] = notes
    title = f"{path}: {rows} rows of {', '.join(columns)}, on {facts['device']}"
    return Answer(title=title, notes=notes, data=data)


def _command_line_options(ctx: click.Context, what: str) -> list[str]:
    """The options of the command line, as they were given; those of something else are refused."""
    result = []
    for parameter in ctx.command.params:
        name = str(parameter.name)
        if not isinstance(parameter, click.Option) or name == "as_json":
            continue
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        option = parameter.opts[0]
        if name not in _OPTIONS_OF[what]:
            whose = [kind for kind, taken in _OPTIONS_OF.items() if name in taken]
            raise InputError(f"{option} is of {', '.join(whose)}, and {what} does not take it")
        value = ctx.params[name]
        if parameter.is_flag:
            result.append(option)
        else:
            each = value if isinstance(value, (list, tuple)) else (value,)
            result += [f"{option} {one}" for one in each]
    return result


def _measurement(
    what: str, options: Mapping[str, Any]
) -> tuple[Callable[[], dict[str, Any]], dict[str, Any]]:
    """What to run, and with what."""
    import numpy as np

    from dse import gpu

    threads, steps, size = options["threads"], options["steps"], options["size"]
    several = list(threads) or [32 * k for k in (1, 2, 4, 8, 16, 32)]
    how: dict[str, Any]
    if what == "supply":
        how = {"threads": several, "requests": steps, "size": size}
        return lambda: gpu.supply(**how), how
    if what == "demand":
        how = {"threads": several, "rounds": steps}
        return lambda: gpu.demand(**how), how
    if what == "latency":
        rings = list(options["ring"]) or [2**k for k in range(12, 30)]
        how = {"sizes": rings, "requests": steps, "seed": 0}
        return lambda: gpu.latency(**how), how
    if what == "blocks":
        each, count = (threads or (256,))[0], (options["blocks"] or (1000,))[0]
        rounds = np.random.default_rng(0).integers(1, 2 * steps, count)
        how = {"threads": each, "rounds": f"uniform from 1 to {2 * steps - 1}, seed 0"}
        return lambda: gpu.blocks(rounds.tolist(), threads=each), how
    if what == "launches":
        counts = list(options["blocks"]) or [500, 1000, 2000, 4000]
        how = {"blocks": counts, "law": f"uniform:1,{2 * steps - 1}", "times": options["times"]}
        how |= {"threads": (threads or (32,))[0], "seed": 0}
        return lambda: gpu.launches(**how), how
    if what == "imbalance":
        how = {
            "groups": options["groups"],
            "each": options["each"],
            "size": options["rows"],
            "seed": 1,
        }
        how |= {"laws": list(options["law"])} if options["law"] else {}
        how |= {"lanes": _parse_lanes(options["lanes"])} if options["lanes"] else {}
        return lambda: gpu.lockstep(**how), how
    how = {"clocks": list(options["clock"]), "memory_clocks": list(options["memory_clock"])}
    how |= {
        "seconds": options["seconds"],
        "settle": options["settle"],
        "steps": steps,
        "size": size,
    }
    how |= {"threads": (threads or (1024,))[0]}
    return lambda: gpu.power(**how), how


def _parse_lanes(texts: Sequence[str]) -> list[int]:
    if not all(text.isdecimal() for text in texts):
        raise InputError(f"--lanes {','.join(texts)}: expected numbers from 1 to 32, such as 8,32")
    return [int(text) for text in texts]
