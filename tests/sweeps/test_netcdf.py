"""netCDF files are written and read without an end of the process, whatever the disk does."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from sweeps.files.export import UnfailingFile, export, open_dataset
from symbolic.errors import DseError

ROOT = Path(__file__).parents[2]


def labelled_dataset(size: int = 3) -> xr.Dataset:
    """Return a Dataset with labels, some of them empty."""
    labels = ["", *("x" * k for k in range(1, size))]
    time = ("machine", np.arange(float(size)), {"units": "s", "flag": np.str_("text")})
    return xr.Dataset({"time": time}, coords={"machine": labels}, attrs={"title": "µ"})


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4", None])
def test_plain_xarray_opens_the_file(engine: str | None, tmp_path: Path) -> None:
    if engine == "netcdf4":
        pytest.importorskip("netCDF4")
    export(labelled_dataset(), tmp_path / "a.nc")
    with xr.open_dataset(tmp_path / "a.nc", engine=engine) as ds:
        assert ds.equals(labelled_dataset())
        assert (ds.time.attrs, ds.title) == ({"units": "s", "flag": "text"}, "µ")


def test_many_files_with_labels_stay_open_at_once(tmp_path: Path) -> None:
    """HDF5 ended the process with the netCDF4 library."""
    code = (
        "import random, sweeps.files.export as files\n"
        "from tests.sweeps.test_netcdf import labelled_dataset\n"
        "draw, held = random.Random(1), []\n"
        f"paths = [{str(tmp_path)!r} + f'/{{k}}.nc' for k in range(8)]\n"
        "for path in paths:\n"
        "    files.export(labelled_dataset(), path)\n"
        "for _ in range(150):\n"
        "    held.append(files.open_dataset(draw.choice(paths)))\n"
        "    assert held[-1].equals(labelled_dataset())\n"
        "    if draw.random() < 0.6:\n"
        "        held.pop(draw.randrange(len(held))).close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])


FAILING = """
import errno, os, sys
from pathlib import Path
from sweeps.files.export import export
from symbolic.errors import DseError
from tests.sweeps.test_netcdf import labelled_dataset
ds, write, count, allowed = labelled_dataset(60), os.pwrite, 0, 0
def failing(*args):
    global count
    count += 1
    if count > allowed:
        raise OSError(number, os.strerror(number))
    return write(*args)
os.pwrite = failing
for number in (errno.ENOSPC, errno.EIO):
    for allowed in range(1000):
        count, path = 0, Path(sys.argv[1]) / f"{number}-{allowed}.nc"
        try:
            export(ds, path)
        except DseError as error:
            assert os.strerror(number) in str(error), error
            assert not path.exists()
        else:
            break
    assert allowed > 3
print(allowed)
"""


def test_a_disk_that_fails_at_any_write_ends_in_words(tmp_path: Path) -> None:
    """HDF5 ends the process where some of its writes fail."""
    command = [sys.executable, "-c", FAILING, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stderr[-1500:])
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".nc", ".nc"]


def test_what_is_written_after_a_failure_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, write = random.Random(2), os.pwrite
    for fails_after in (0, 7, 40):
        with UnfailingFile(tmp_path / f"{fails_after}") as file:
            expected = bytearray()
            for number in range(80):
                if number == fails_after:
                    monkeypatch.setattr(os, "pwrite", _refuse)
                start = draw.randrange(30_000)
                data = draw.randbytes(draw.choice([0, 1, 100, 4096, 9000]))
                file.seek(start)
                assert file.write(data) == len(data)
                if data:
                    expected.extend(bytes(max(0, start + len(data) - len(expected))))
                    expected[start : start + len(data)] = data
                file.seek(place := draw.randrange(30_000))
                assert (file.read(5000) or b"") == expected[place : place + 5000]
            assert file.error is not None
            assert file.error.errno == errno.ENOSPC
            assert file.seek(0, os.SEEK_END) == len(expected)
        monkeypatch.setattr(os, "pwrite", write)


def _refuse(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("way", ["link", "external", "virtual", "link in a group"])
def test_a_file_that_leads_to_another_is_refused(way: str, tmp_path: Path) -> None:
    export(labelled_dataset(), tmp_path / "a.nc")
    export(labelled_dataset(), tmp_path / "secret.nc")
    with h5py.File(tmp_path / "a.nc", "a") as file:
        if way == "external":
            raw = [(tmp_path / "secret.nc", 0, h5py.h5f.UNLIMITED)]
            file.create_dataset("data", (20,), dtype="u1", external=raw)
        elif way == "virtual":
            layout = h5py.VirtualLayout((3,), "f8")
            layout[:] = h5py.VirtualSource(tmp_path / "secret.nc", "time", (3,))
            file.create_virtual_dataset("data", layout)
        else:
            group = file.create_group("a/b") if "group" in way else file
            group["data"] = h5py.ExternalLink(tmp_path / "secret.nc", "time")
    with pytest.raises(DseError, match=r"data' in .* is stored in another file"):
        open_dataset(tmp_path / "a.nc")


def test_a_damaged_file_ends_in_words(tmp_path: Path) -> None:
    export(labelled_dataset(), tmp_path / "a.nc")
    data = (tmp_path / "a.nc").read_bytes()
    draw = random.Random(4)
    for number in range(20):
        spoilt = bytearray(data[: draw.randrange(len(data))] if number % 2 else data)
        for _ in range(draw.choice([0, 1, 20])):
            spoilt[draw.randrange(len(spoilt))] ^= draw.randrange(1, 256)
        (tmp_path / "b.nc").write_bytes(spoilt)
        try:
            with open_dataset(tmp_path / "b.nc") as ds:
                ds.load()
        except (DseError, OSError, RuntimeError):
            pass
