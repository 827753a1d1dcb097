"""The command ``dse``. Heavy libraries are imported by the commands that need them."""

from __future__ import annotations

import click

from dse.cli.borders import borders, meets, ranges
from dse.cli.catalog import machines, models, quantities, workloads
from dse.cli.chances import chances, information, law
from dse.cli.count import count, histogram, quantiles
from dse.cli.disagreement import disagreement
from dse.cli.doctor import doctor
from dse.cli.evaluate import advise, evaluate, explain
from dse.cli.explore import explore
from dse.cli.fit import calibrate, fit, validate
from dse.cli.imbalance import imbalance, launch
from dse.cli.import_ import import_measured
from dse.cli.kernel import kernel
from dse.cli.measure import measure
from dse.cli.new import new
from dse.cli.optimum import optimum, pareto
from dse.cli.plot import plot
from dse.cli.run import plan, run
from dse.cli.sensitivity import sensitivity
from dse.cli.store import add, export, verify
from dse.cli.verbs import AllCommands

__all__ = ["main"]


@click.group(
    cls=AllCommands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Exit status:
  0    done (also: nothing to do, the store of this study is finished)
  1    failed: no point is feasible, a file cannot be written, a URL does not answer, memory
       does not suffice, a store is damaged
  2    misused: a wrong option, study, name, unit or input file; a store of another study
  130  interrupted (143: terminated); no unfinished file stands under the name of a result, and of a
       search the best so far is told

\b
Example:
  dse run examples/merge-four-gpus.toml --store merge.zarr""",
)
@click.version_option(message="%(prog)s %(version)s", package_name="simt-dse", prog_name="dse")
def main() -> None:
    """Explore the design space of GPUs with published analytic models.

    Results go to standard output, progress and errors to standard error.
    """


for each in (
    *(add, advise, borders, calibrate, chances, count, disagreement, doctor, evaluate, explain),
    *(explore, fit, histogram, imbalance, import_measured, information, kernel, launch, law),
    *(machines, measure, meets, models, new, optimum, pareto, plan, plot, quantiles, quantities),
    *(export, ranges, run, sensitivity, validate, verify, workloads),
):
    main.add_command(each)
