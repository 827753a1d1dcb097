"""Entry point of ``dse`` and ``python -m dse``; installs signal handlers before other imports."""

import gc
import os
import signal
import sys

if (
    os.path.basename(sys.argv[0]).startswith(("dse", "__main__"))  # the command dse runs
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends the imports without a traceback

from dse.signals import report_interrupt, signals_as_exceptions
from sweeps.runtime import interrupts


def main() -> None:
    """Run the command line and end the process."""
    status: object = 0
    gc.set_threshold(50_000)  # the default, 700, costs 5 % of a short command
    with signals_as_exceptions(is_last=True):
        try:
            from dse.cli import main as command

            command(prog_name="dse")
        except SystemExit as ended:
            status = ended.code
        except BaseException as stopped:
            if isinstance(stopped, Exception):
                raise
            status = report_interrupt(stopped)
    if interrupts.has_background_work():  # sys.exit would wait for compilations in other threads
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else status is not None)
    sys.exit(status)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
