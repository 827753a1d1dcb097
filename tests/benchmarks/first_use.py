"""Wall and processor time of a first use and of the next, compared with their limits.

    python -m tests.benchmarks.first_use         # a wheel, an environment of its own
    python -m tests.benchmarks.first_use --twin  # this environment with an empty cache instead

The first needs pip to reach the dependencies, or ``--system-site-packages`` to borrow those that
are installed here; the bytecode of the four packages is then compiled as well, as pip does.
"""

from __future__ import annotations

import argparse
import os
import pty
import resource
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
STUDY = str(ROOT / "examples" / "merge-four-gpus.toml")
IMBALANCE = ["imbalance", "geometric:0.05", "--lanes", "32"]
#: What is asked, the arguments, and seconds: must and goal of the first time and of the next.
ASKED = (
    ("main study", ["run", STUDY, "--store", "OUT.zarr"], (6.0, 3.0), (1.5, 0.8)),
    ("help", ["--help"], (0.3, 0.3), (0.3, 0.3)),
    ("certified optimum", ["optimum", STUDY, "--method", "certified"], (12.0, 6.0), (1.5, 0.8)),
    ("imbalance", IMBALANCE, (6.0, 3.0), (1.0, 0.6)),
)
#: Seconds until something is on the screen.
SOON = 0.5


def install_package(folder: Path, borrow: bool) -> Path:
    """The ``dse`` of a new environment that holds a wheel of this tree."""
    wheels, home = folder / "wheels", folder / "venv"
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels)]
    subprocess.run([*pip, *(["--no-build-isolation"] if borrow else []), str(ROOT)], check=True)
    more = ["--system-site-packages"] if borrow else []
    subprocess.run([sys.executable, "-m", "venv", *more, str(home)], check=True)
    install = [str(home / "bin" / "python"), "-m", "pip", "install", "-q"]
    install += ["--no-deps", "--ignore-installed"] if borrow else []
    subprocess.run([*install, *map(str, wheels.glob("*.whl"))], check=True)
    return home / "bin" / "dse"


def run_timed(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, ...]:
    """Seconds until something is on a terminal, until the end, and of the processor."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    main, side = pty.openpty()
    with subprocess.Popen(
        command, stdin=side, stdout=side, stderr=side, cwd=folder, env=environment
    ) as process:
        os.close(side)
        seen, output = 0.0, b""
        while True:
            select.select([main], [], [])
            try:
                data = os.read(main, 1 << 16)
            except OSError:  # nobody holds the other end any more
                break
            if not data:
                break
            seen, output = seen or time.monotonic() - began, output + data
    os.close(main)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: {output.decode(errors='replace')[-400:]}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seen, wall, spent


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--twin", action="store_true", help="this environment, an empty cache")
    parser.add_argument("--system-site-packages", action="store_true", help="borrow dependencies")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dse = Path(sys.executable).with_name("dse")
        if not given.twin:
            dse = install_package(folder, given.system_site_packages)
        where = "this environment, with an empty cache" if given.twin else "a fresh installation"
        print(f"{where}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print("                     time      seen    wall   processor   must   goal")
        for what, arguments, *limits in ASKED:
            environment = os.environ | {"DSE_CACHE": str(folder / what.split()[0])}
            for turn, (must, goal) in zip(("first", "next"), limits, strict=True):
                here = Path(tempfile.mkdtemp(dir=folder))
                seen, wall, spent = run_timed([str(dse), *arguments], here, environment)
                wrong = " too long" * (wall > must) + " blank" * (seen > SOON)
                print(
                    f"{what:20} {turn:5} {seen:8.2f} {wall:7.2f} {spent:11.2f} {must:6} {goal:6}"
                    f"{wrong}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
