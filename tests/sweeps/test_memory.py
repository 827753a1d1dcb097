"""Requests that need more memory than there is are rejected before any is allocated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dse
import sweeps.runtime.resources
from dse.cli import main
from sweeps.runtime.resources import available_memory, check_memory
from symbolic.errors import TooLargeError

GIB = 1 << 30
TEXT = """
model = "transit"
outputs = ["ms_throughput", "bound"]
axes.threads = { start = 1, stop = 20000 }
axes.intensity = { start = 1, stop = 20000 }
set = { lanes_width = 32, ms_peak = 1, mem_latency = 600 }
"""


def machine(root: Path, **files: str) -> Path:
    for name, text in {
        "proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 8388608 kB\n",
        **files,
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_least_of_all_limits_counts(tmp_path: Path) -> None:
    assert available_memory(tmp_path / "nothing") > 1 << 60
    assert available_memory(machine(tmp_path / "plain")) == 8 * GIB
    one = machine(tmp_path / "one", **{"proc/self/cgroup": "0::/jobs/7\n"})
    for place, most, now, idle in (("", "max", 0, 0), ("jobs", 6 * GIB, 5 * GIB, 2 * GIB)):
        folder = f"sys/fs/cgroup/{place}"
        machine(
            one,
            **{
                f"{folder}/memory.max": f"{most}\n",
                f"{folder}/memory.current": f"{now}\n",
                f"{folder}/memory.stat": f"anon 5\ninactive_file {idle}\n",
            },
        )
    assert available_memory(one) == 3 * GIB
    old = machine(tmp_path / "old", **{"proc/self/cgroup": "5:cpu:/x\n4:memory:/job\n"})
    folder = "sys/fs/cgroup/memory/job"
    machine(
        old,
        **{
            f"{folder}/memory.limit_in_bytes": f"{2 * GIB}\n",
            f"{folder}/memory.usage_in_bytes": f"{3 * GIB}\n",
            f"{folder}/memory.stat": f"total_inactive_file {GIB // 2}\n",
        },
    )
    assert available_memory(old) == 0
    assert 0 < available_memory() < 1 << 60


def test_a_grid_beyond_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps.runtime.resources, "available_memory", lambda: GIB)
    monkeypatch.setattr(np, "empty", None)  # nothing is taken before
    (tmp_path / "study.toml").write_text(TEXT)
    study = dse.Study.from_toml(tmp_path / "study.toml")
    with pytest.raises(TooLargeError, match=r"need 3\.35 GiB of memory, and 1 GiB are available"):
        study.run()
    with pytest.raises(MemoryError, match="give run a store"):
        study.run(expand=True)
    result = CliRunner().invoke(main, ["run", str(tmp_path / "study.toml")])
    assert result.exit_code == 1
    assert "dse run --store OUT.zarr" in result.stderr
    monkeypatch.setattr(sweeps.runtime.resources, "available_memory", lambda: 4 * GIB)
    check_memory(3.35 * GIB, "it", "")


def test_a_table_of_a_store_beyond_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text(TEXT.replace("20000", "100"))
    ds = dse.Study.from_toml(tmp_path / "study.toml").run(store=tmp_path / "a.zarr")
    monkeypatch.setattr(sweeps.runtime.resources, "_MIN_CHECKED_BYTES", 1)
    monkeypatch.setattr(sweeps.runtime.resources, "available_memory", lambda: 1000)
    for name in ("a.csv", "a.parquet"):
        with pytest.raises(TooLargeError, match=r"export to \.zarr or \.nc"):
            dse.export(ds, tmp_path / name)
    dse.export(ds, tmp_path / "a.nc")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.nc", "a.zarr", "study.toml"]
