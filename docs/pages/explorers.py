"""Write the interactive pages of the studies in ``docs/explore``."""

from pathlib import Path

import dse

HERE = Path(__file__).parents[1]


def studies():
    """Return the paths of the studies."""
    with_kernels = HERE.parent / "examples" / "roofline.toml"  # whose workloads lie below it
    return [*sorted((HERE / "explore").glob("*.toml")), with_kernels]


def write(folder):
    """Write the page of each study."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in studies():
        dse.explore(path, folder / f"{path.stem}.html")
