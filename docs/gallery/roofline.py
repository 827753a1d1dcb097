"""Roofline: kernels below the bandwidths and peaks of two GPUs.

Left of the corner of a roof that memory limits a kernel; right of it a pipe does. Small marks stand
at the operations per byte of the caches, bars are intervals of the predicted time.
"""

from pathlib import Path

from dse import plots

folder = Path(__file__).parents[2] / "examples" / "kernels"
kernels = [folder / f"{name}.toml" for name in ("triad", "stencil", "bodies")]
figure = plots.roofline(kernels, machines=["h100_sxm", "a100_80"]).figure
figure.savefig("roofline.png")
