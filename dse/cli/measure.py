"""The command `dse measure`: run microbenchmarks on this machine's GPU."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from dse.cli.command import InputError, command, input_errors, new_file
from dse.cli.options import names_option, option
from symbolic.answer import Answer

_OPTIONS_OF: dict[str, tuple[str, ...]] = {
    "supply": ("threads", "steps", "size"),
    "demand": ("threads", "steps"),
    "latency": ("steps", "ring"),
    "blocks": ("threads", "steps", "blocks", "loads"),
    "launches": ("threads", "steps", "blocks", "times", "loads"),
    "imbalance": ("law", "lanes", "groups", "each", "rows"),
    "power": (
        *("threads", "steps", "size", "clock", "memory_clock", "keep_clocks"),
        *("seconds", "settle"),
    ),
}
_POSITIVE, _SECONDS = click.IntRange(min=1), click.FloatRange(min=0)


@command(
    "dse measure supply supply.csv",
    "dse fit transit_supply supply.csv --free ms_peak_bandwidth,ms_transition",
    "dse measure imbalance imbalance.nc --law geometric:0.05 --lanes 8,32",
    "dse validate imbalance imbalance.nc --to imbalance_loss",
    "dse measure power power.csv --clock 1410 --clock 1005",
    "dse measure power power.csv --keep-clocks",
)
@click.argument("what", type=click.Choice(list(_OPTIONS_OF)))
@click.argument("out", metavar="OUT.csv|.nc|.parquet|.zarr", type=click.Path())
@option(
    "--threads",
    "Threads per block; for the measurements supply and demand: per multiprocessor, repeatable",
    type=click.IntRange(min=1),
    multiple=True,
)
@option("--steps", "Loads or rounds of arithmetic per thread", type=_POSITIVE, default=4096)
@option("--size", "Number of values that are read; default: 2**26", type=_POSITIVE, default=2**26)
@option(
    "--ring", "Size of the data for latency, in bytes", type=click.IntRange(min=256), multiple=True
)
@option("--blocks", "Number of blocks in a launch; default: 1000", type=_POSITIVE, multiple=True)
@option("--loads", "Let blocks wait for loads, one per round, instead of computing", is_flag=True)
@option("--times", "Number of launches of each size", type=click.IntRange(min=2), default=50)
@option("--law", "Law of the work of a lane; default: as in Swatman 2022, Table I", multiple=True)
@names_option("--lanes N,...", "Numbers of lanes in a group; default: 2,4,8,16,32")
@option("--groups", "Number of groups for each law; default: 2**18", type=_POSITIVE, default=2**18)
@option("--each", "Write a row for each group instead of means over groups", is_flag=True)
@option("--rows", "Number of rows of the matrices that lanes multiply", type=_POSITIVE, default=16)
@option("--clock", "Core clock in MHz; default: 8 available clocks", type=int, multiple=True)
@option("--memory-clock", "Memory clock in MHz; default: the highest", type=int, multiple=True)
@option("--keep-clocks", "Measure power at the current clocks; change no setting", is_flag=True)
@option("--seconds", "Seconds over which power is sampled; default: 3", type=_SECONDS, default=3.0)
@option(
    "--settle", "Seconds of load before power is sampled; default: 2", type=_SECONDS, default=2.0
)
@click.pass_context
def measure(ctx: click.Context, /, what: str, out: str, **options: Any) -> Any:
    """Run microbenchmarks on the GPU, and write the measured rows.

    This needs the extra gpu. The kinds of measurements are:

    \b
      supply     bandwidth against the number of threads that only load
      demand     operations against the number of threads that only compute
      latency    cycles of a load against the size of the data
      blocks     multiprocessor, start and end of each block of a launch with random work
      launches   times of many launches with random work
      imbalance  cost of lockstep (Swatman 2022, Algorithm 1)
      power      power, clocks and times of two kernels (bound by computation, by memory) per clock

    power sets clocks and restores them at the end, unless --keep-clocks is given.

    OUT is a dataset like that of dse import; it records the device, the method and the date. With
    NUMBA_ENABLE_CUDASIM=1 you can try a measurement without a GPU. The numbers are then
    meaningless; keep the run small (--threads 2 --steps 3 --size 64).
    """
    from dse.runs.files import export

    path = new_file(out, ".csv", ".nc", ".parquet", ".zarr")
    words = _command_line_options(ctx, what)
    if what in ("blocks", "launches", "power") and len(options["threads"]) > 1:
        raise InputError(f"--threads is given more than once: all blocks of {what} have one size")
    if what == "blocks" and len(options["blocks"]) > 1:
        raise InputError("--blocks is given more than once, and blocks measures one launch")
    with input_errors():
        from dse.gpu import dataset_of
        from stochastic.validation import describe

        facts = describe()
        run, how = _measurement(what, options)
        command = " ".join(["dse measure", what, out, *words])
        about = {"measured": what, "command": command, **how, **facts}
        ds = dataset_of(what, run(), about)
        written = export(ds, path)
    rows = ds.sizes["configuration"]
    columns = [str(name) for name in ds.data_vars if name not in ("status", "feasible")]
    data = {"rows": rows, "columns": columns, "written": written, **about}
    chosen = map(str, ds.chosen_by.values) if "chosen_by" in ds else ()
    unset = dict.fromkeys(text for text in chosen if text.startswith("as it"))
    notes = [f"clocks {text}; rows have the clocks that were running" for text in unset]
    if notes:
        data["notes"] = notes
    title = f"{path}: {rows} rows of {', '.join(columns)}, on {facts['device']}"
    return Answer(title=title, notes=notes, data=data)


def _command_line_options(ctx: click.Context, what: str) -> list[str]:
    """Return the options on the command line; raise an error if another measurement takes one."""
    words = []
    for parameter in ctx.command.params:
        name = str(parameter.name)
        if not isinstance(parameter, click.Option) or name == "as_json":
            continue
        if ctx.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        option = parameter.opts[0]
        if name not in _OPTIONS_OF[what]:
            kinds = [kind for kind, names in _OPTIONS_OF.items() if name in names]
            raise InputError(f"{option} is for {', '.join(kinds)}, and {what} does not take it")
        value = ctx.params[name]
        if parameter.is_flag:
            words.append(option)
        else:
            values = value if isinstance(value, (list, tuple)) else (value,)
            words += [f"{option} {each}" for each in values]
    return words


def _measurement(
    what: str, options: Mapping[str, Any]
) -> tuple[Callable[[], dict[str, Any]], dict[str, Any]]:
    """Return a function that runs the measurement ``what``, and its parameters."""
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
        how |= {"loads": options["loads"]}
        return lambda: gpu.blocks(rounds.tolist(), threads=each, loads=options["loads"]), how
    if what == "launches":
        counts = list(options["blocks"]) or [500, 1000, 2000, 4000]
        how = {"blocks": counts, "law": f"uniform:1,{2 * steps - 1}", "times": options["times"]}
        how |= {"threads": (threads or (32,))[0], "seed": 0}
        how |= {"loads": options["loads"]}
        return lambda: gpu.launches(**how), how
    if what == "imbalance":
        how = {name: options[name] for name in ("groups", "each")}
        how |= {"size": options["rows"], "seed": 1}
        how |= {"laws": list(options["law"])} if options["law"] else {}
        how |= {"lanes": _parse_lanes(options["lanes"])} if options["lanes"] else {}
        return lambda: gpu.lockstep(**how), how
    how = {"clocks": list(options["clock"]), "memory_clocks": list(options["memory_clock"])}
    names = ("keep_clocks", "seconds", "settle", "steps", "size")
    how |= {name: options[name] for name in names}
    how |= {"threads": (threads or (1024,))[0]}
    return lambda: gpu.power(**how), how


def _parse_lanes(texts: Sequence[str]) -> list[int]:
    if not all(text.isdecimal() for text in texts):
        raise InputError(f"--lanes {','.join(texts)}: expected numbers from 1 to 32, such as 8,32")
    return [int(text) for text in texts]
