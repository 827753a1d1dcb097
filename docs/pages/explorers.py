"""Write the interactive pages of the studies in ``docs/explore``."""

from pathlib import Path

import dse

HERE = Path(__file__).parents[1]


def studies():
    """Yield each study with the title and the note in its first lines."""
    with_kernels = HERE.parent / "examples" / "roofline.toml"  # whose workloads lie below it
    for path in (*sorted((HERE / "explore").glob("*.toml")), with_kernels):
        lines = path.read_text(encoding="utf-8").splitlines()
        said = [line.removeprefix("#").strip() for line in lines if line.startswith("#")]
        yield path, said[0], " ".join(said[1:])


def write(folder):
    """Write the page of each study."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, title, note in studies():
        dse.explore(path, folder / f"{path.stem}.html", title=title, note=note)
