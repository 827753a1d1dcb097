"""Profiles: values against a reading by hand, the traps of each format, and what is refused."""

from __future__ import annotations

import csv
import gzip
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import dse
from dse import DseError
from dse.importers import open_measurements
from dse.importers.mapping import shipped_maps
from dse.importers.workload import workload_text
from symbolic.answer import value_text

Run = Callable[..., Result]

DATA = Path(__file__).parents[3] / "shared/data/profiles"
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="needs ../shared/data/profiles beside the project"
)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def notes(ds: Any) -> str:
    return " ".join(json.loads(ds.attrs.get("notes", "[]")))


def rows_of(path: Path) -> list[dict[str, str]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    return list(csv.DictReader(text.splitlines()))


def ktt(name: str) -> list[dict[str, Any]]:
    """Each result of a file of KTT with its launch and its counters by name."""
    raw = (DATA / name).read_bytes()
    tree = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
    named = []
    for result in tree["Results"]:
        launch = (result["ComputationResults"] or [{}])[0]
        counters = launch.get("ProfilingData", {}).get("Counters", ())
        named.append(
            {
                "configuration": {p["Name"]: p["Value"] for p in result["Configuration"]},
                "launch": launch,
                "counters": {c["Name"]: c["Value"] for c in counters},
            }
        )
    return named


def extent(size: dict[str, int]) -> int:
    return size["X"] * size["Y"] * size["Z"]


# --- KTT
@needs_data
@pytest.mark.parametrize(
    ("name", "warps", "stored"),
    [
        ("coulomb/coulomb_2080_full_search_space.json.gz", "smsp__inst_executed.sum", 210),
        ("coulomb/coulomb_gtx1070_TuningOutput.json.gz", "inst_executed", 475),
        ("vectoradd/SimulationInput.json", "smsp__inst_executed.sum", 4),
        ("convolution/KTConvolutionOutput_2080Ti.json.gz", "smsp__inst_executed.sum", 6768),
    ],
)
def test_results_of_ktt_are_those_of_a_reading_by_hand(name: str, warps: str, stored: int) -> None:
    ds, expected = open_measurements(DATA / name, shape="rows"), ktt(name)
    assert ds.sizes["configuration"] == len(expected) == stored
    for axis in expected[0]["configuration"]:
        assert ds[axis].values.tolist() == [each["configuration"][axis] for each in expected]
    ran = [k for k, each in enumerate(expected) if each["launch"]]
    assert np.flatnonzero(ds.feasible.values).tolist() == ran
    launches = [expected[k]["launch"] for k in ran]
    assert np.allclose(
        ds.time.values[ran], [each["Duration"] / 1e6 for each in launches], rtol=1e-15
    )
    blocks = [extent(each["GlobalSize"]) for each in launches]
    threads = [extent(each["LocalSize"]) for each in launches]
    assert ds.blocks.values[ran].tolist() == blocks
    assert ds.threads_per_block.values[ran].tolist() == threads
    compiled = [each["CompilationData"] for each in launches]
    assert ds.registers_per_thread.values[ran].tolist() == [c["RegistersCount"] for c in compiled]
    assert ds.shared_mem_per_block.values[ran].tolist() == [c["LocalMemorySize"] for c in compiled]
    counters = [expected[k]["counters"].get(warps, np.nan) for k in ran]
    executed = [c / (b * -(-t // 32)) for c, b, t in zip(counters, blocks, threads, strict=True)]
    assert np.array_equal(ds.total_insts.values[ran], executed, equal_nan=True)
    assert set(ds.kernel.values[ran]) == {launches[0]["KernelFunction"]}
    assert ds.time.attrs == {"long_name": "run time", "units": "s", "source": "KTT: Duration"}


@needs_data
def test_counters_per_warp_per_thread_and_of_dram_of_coulomb() -> None:
    """652 instructions and 65 loads a warp, 513 of fp32 a thread, of its first configuration."""
    ds = dse.open(DATA / "coulomb/coulomb_2080_full_search_space.json.gz")
    first = ds.isel(configuration=0)
    warps = 16 * 64 * 256 * 2
    assert float(first.total_insts) == 341835776 / warps == 652
    assert float(first.global_loads) == 34078720 / warps == 65
    assert float(first.fp_insts) == 8606711808 / (warps * 32) == 513
    assert float(first.fp64_insts) == 0
    assert float(first.int_insts) == 452984832 / (warps * 32) == 27
    assert float(first.dram_bytes) == 32 * (2100194 + 2020263)
    assert float(first["smsp__inst_executed_sum"]) == 341835776
    assert str(first.machine.values) == "NVIDIA GeForce RTX 2080 Ti"
    assert "mem_insts" not in ds  # no counter of stores
    assert "mem_insts" in notes(ds)
    best = dse.optimum(ds, minimize="time", where="registers_per_thread <= 32")
    assert float(best.time) == float(ds.time.where(ds.registers_per_thread <= 32).min())


@needs_data
def test_runs_that_were_not_profiled_keep_their_time_and_have_no_counters() -> None:
    ds = dse.open(DATA / "coulomb/coulomb_gtx1070_TuningOutput.json.gz")
    assert int(np.isfinite(ds.total_insts).sum()) == 67
    assert bool(np.isfinite(ds.time).all())


@needs_data
def test_csv_of_ktt_counts_threads_where_its_json_counts_blocks() -> None:
    printed = dse.open(DATA / "vectoradd/2080-vectorAdd_output.csv")
    stored = dse.open(DATA / "vectoradd/SimulationInput.json", shape="rows")
    for name in ("blocks", "threads_per_block", "total_insts", "global_loads"):
        assert printed[name].values.tolist() == stored[name].values.tolist()
    assert printed.time.values.tolist() == pytest.approx(
        [77.408e-6, 63.52e-6, 38.336e-6, 37.088e-6]
    )


def test_a_parameter_of_ktt_may_have_the_name_of_a_quantity(tmp_path: Path) -> None:
    launch = {
        "Duration": 2.5, "GlobalSize": {"X": 8, "Y": 1, "Z": 1}, "KernelFunction": "f",
        "LocalSize": {"X": 64, "Y": 1, "Z": 1},
    }  # fmt: skip
    result = {"ComputationResults": [launch], "Configuration": [{"Name": "blocks", "Value": 3}]}
    about = {"TimeUnit": "Seconds", "GlobalSizeType": "CUDA", "Device": "d"}
    tree = {"Metadata": about, "Results": [{**result, "Status": "Ok"}]}
    path = write(tmp_path / "a.json", json.dumps(tree))
    ds = dse.open(path)
    assert (ds.blocks.values.tolist(), ds.threads_per_block.values.tolist()) == ([3], [64])
    with pytest.raises(DseError, match="blocks is an axis of the file: leave it out"):
        dse.open(path, given={"blocks": 4})


def test_opencl_results_of_ktt_count_threads(tmp_path: Path) -> None:
    launch = {
        "Duration": 2.5, "GlobalSize": {"X": 1024, "Y": 2, "Z": 1}, "KernelFunction": "f",
        "LocalSize": {"X": 64, "Y": 1, "Z": 1},
    }  # fmt: skip
    result = {"ComputationResults": [launch], "Configuration": [{"Name": "n", "Value": 1}]}
    about = {"TimeUnit": "Milliseconds", "GlobalSizeType": "OpenCL", "Device": "d"}
    tree = {"Metadata": about, "Results": [{**result, "Status": "Ok"}]}
    ds = dse.open(write(tmp_path / "a.json", json.dumps(tree)))
    assert (float(ds.blocks[0]), float(ds.time[0])) == (32, 2.5e-3)
    about["TimeUnit"] = "Fortnights"
    with pytest.raises(DseError, match="TimeUnit 'Fortnights', expected one of Nanoseconds"):
        dse.open(write(tmp_path / "b.json", json.dumps(tree)))


# --- Nsight Compute
@needs_data
def test_the_details_page_of_a_t4_is_read_with_its_separators_and_its_locked_clock() -> None:
    ds = dse.open(DATA / "ncu_details_t4/copy_blocked.csv").isel(configuration=0)
    assert float(ds.time) == pytest.approx(21_058_944e-9, rel=1e-15)
    assert float(ds.core_clock) == pytest.approx(584_998_877.44)
    assert (float(ds.blocks), float(ds.threads_per_block)) == (1024, 256)
    assert (float(ds.registers_per_thread), float(ds.shared_mem_per_block)) == (32, 0)
    assert float(ds.total_insts) == 16_105_472 / (1024 * 8)
    assert float(ds.issued_warp_insts) == 16_114_912
    assert float(ds.Memory_Throughput) == pytest.approx(0.6184)
    assert float(ds["Memory_Throughput_Memory_Workload_Analysis"]) == 196_456_177_859.63
    assert str(ds.kernel.values).startswith("copy_blocked[v1,")
    assert "locks the clocks" in notes(ds)
    # its rate of DRAM, over the duration; the file has no counter of bytes
    assert float(ds.dram_bytes) == pytest.approx(196_456_177_859.63 * 21_058_944e-9, rel=1e-12)


_LONG = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"'
)


def long(*metrics: tuple[str, str, str], launch: int = 0) -> str:
    start = (
        f'"{launch}","7","app","host","saxpy(int, float)","1","7","(128, 2, 1)","(10, 2, 1)","0",'
        '"8.0","Command line profiler metrics"'
    )
    return "\n".join(f'{start},"{name}","{unit}","{value}"' for name, unit, value in metrics)


def test_counts_that_give_no_time_give_the_least_time(tmp_path: Path) -> None:
    """Road, row 13: the total of instructions, and later the bytes of DRAM."""
    metrics = [
        ("smsp__inst_executed.sum", "inst", "80,000,000"),
        ("launch__registers_per_thread", "register/thread", "32"),
        ("launch__shared_mem_per_block_static", "byte/block", "0"),
        ("launch__shared_mem_per_block_dynamic", "byte/block", "0"),
    ]
    # T4: 40 multiprocessors with 4 schedulers each; 20 blocks occupy 20 of them
    clock = 1.59e9  # the boost clock
    issue, dram = 80e6 / (20 * 4 * clock), 64e9 / 320e9
    for more, least in ((), issue), ([("dram__bytes.sum", "byte", "64,000,000,000")], dram):
        text = "\n".join([_LONG, long(*metrics, *more)])
        workload = tmp_path / f"of-{len(more)}.toml"
        workload.write_text(workload_text(dse.open(write(tmp_path / "a.csv", text))))
        with pytest.raises(DseError, match="no model gives a time on t4, and it takes") as raised:
            dse.analyze(workload, "t4")
        by = "dram" if more else "issue"
        assert f"at least {value_text(least, 's')} (by {by})" in str(raised.value)


def test_an_assumed_input_bounds_no_time() -> None:
    """Starts of blocks, assumed as on an H100, gave a P100 "at least 60 µs"."""
    with pytest.raises(DseError, match=r"on p100, .* 21.56 µs \(by floating_point\)"):
        dse.analyze("examples/kernels/triad.toml", "p100", block=32)


def test_a_long_raw_page_with_lines_of_the_profiler_and_of_the_application(tmp_path: Path) -> None:
    text = "\n".join(
        [
            "==PROF== Connected to process 7 (/app)",
            'It prints "what it likes',
            _LONG,
            long(
                ("gpu__time_duration.sum", "usecond", "1,250.50"),
                ("smsp__inst_executed.sum", "inst", "16,000"),
                ("smsp__inst_executed_op_global_ld.sum", "inst", "320"),
                ("smsp__inst_executed_op_global_st.sum", "inst", "160"),
                ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%", "n/a"),
            ),
            "==PROF== Disconnected from process 7",
            "done",
            long(("gpu__time_duration.sum", "msecond", "2.00"), launch=1),
        ]
    )
    ds = dse.open(write(tmp_path / "a.csv", text))
    assert ds.time.values.tolist() == [1250.5e-6, 2e-3]
    assert ds.total_insts.values[0] == 16_000 / (20 * 8)
    assert (ds.mem_insts.values[0], ds.comp_insts.values[0]) == (3, 97)
    assert np.isnan(ds.total_insts.values[1])
    assert "sm__throughput" not in " ".join(map(str, ds.data_vars))
    assert "coalesced_insts" in notes(ds)


_WIDE = '"ID","Process ID","Kernel Name","Block Size","Grid Size","Device","CC",'


def wide(names: str, units: str, *rows: str) -> str:
    lines = [_WIDE + names, '"","","","","","","",' + units]
    start = '","7","k","(64, 1, 1)","(4, 1, 1)","0","8.0",'
    return "\n".join([*lines, *(f'"{k}{start}{row}' for k, row in enumerate(rows))])


def test_a_wide_raw_page_has_its_units_below_the_header(tmp_path: Path) -> None:
    text = wide(
        '"device__attribute_display_name","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum"',
        '"","us","Mbyte","Kbyte"',
        '"NVIDIA A100","12.50","1.25","640.00"',
        '"NVIDIA A100","13.50","1.25","n/a"',
    )
    ds = dse.open(write(tmp_path / "a.csv", text))
    assert ds.time.values.tolist() == [12.5e-6, 13.5e-6]
    assert ds.dram_bytes.values[0] == 1.25e6 + 640e3
    assert np.isnan(ds.dram_bytes.values[1])
    assert ds.machine.values.tolist() == ["NVIDIA A100"] * 2
    assert "rounded to thousands of bytes: print --print-units base" in notes(ds)


@pytest.mark.parametrize(
    ("printed", "value"),
    [
        ("2,508,800", 2508800), ("2.508.800", 2508800), ("2.508.800,5", 2508800.5),
        ("2'508'800", 2508800), ("2\u202f508\u202f800,5", 2508800.5), ("2508800", 2508800),
        ("0,5", 0.5), ("2.5e+06", 2.5e6),
    ],
)  # fmt: skip
def test_numbers_of_every_locale(tmp_path: Path, printed: str, value: float) -> None:
    text = "\n".join([_LONG, long(("gpu__time_duration.sum", "ns", printed))])
    ds = dse.open(write(tmp_path / "a.csv", text))
    assert float(ds.time[0]) == pytest.approx(value * 1e-9, rel=1e-15)


def test_a_count_is_whole_so_that_one_group_of_thousands_is_told(tmp_path: Path) -> None:
    text = "\n".join([_LONG, long(("smsp__inst_executed.sum", "inst", "458.752"))])
    ds = dse.open(write(tmp_path / "a.csv", text))
    assert float(ds["smsp__inst_executed_sum"][0]) == 458752


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([("a", "ns", "1,234")], r"line 2: '1,234' may be 1234 or 1\.234"),
        ([("a", "ns", "1,234.5"), ("b", "ns", "1.234,5")], r"lines \d and \d: .* one locale"),
        ([("a", "%", "0,5"), ("b", "%", "0.5")], r"lines \d and \d: .* one locale"),
    ],
)
def test_numbers_that_may_be_two_are_refused_with_their_line(
    tmp_path: Path, metrics: Any, message: str
) -> None:
    path = write(tmp_path / "a.csv", "\n".join([_LONG, long(*metrics)]))
    with pytest.raises(DseError, match=message):
        dse.open(path)


@pytest.mark.parametrize(("share", "coalesced"), [("100", 3), ("99.9", np.nan)])
def test_all_requests_are_coalesced_only_where_every_sector_is_used_as_a_whole(
    tmp_path: Path, share: str, coalesced: float
) -> None:
    text = "\n".join(
        [
            _LONG,
            long(
                ("smsp__inst_executed.sum", "inst", "16000"),
                ("smsp__inst_executed_op_global_ld.sum", "inst", "480"),
                ("smsp__inst_executed_op_global_st.sum", "inst", "0"),
                ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", "%", share),
                ("smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", "%", "0"),
            ),
        ]
    )
    ds = dse.open(write(tmp_path / "a.csv", text))
    assert np.array_equal(ds.coalesced_insts.values, [coalesced], equal_nan=True)
    assert ("sectors are used in part" in notes(ds)) == bool(np.isnan(coalesced))


# --- a report of Nsight Compute, by the interface that NVIDIA's package documents
class _Metric:
    def __init__(self, value: Any, unit: str = "", instances: dict[Any, float] | None = None):
        self._value, self._unit, self._each = value, unit, instances or {}

    def value(self, index: int | None = None) -> Any:
        return self._value if index is None else list(self._each.values())[index]

    def unit(self) -> str:
        return self._unit

    def has_value(self) -> bool:
        return self._value is not None

    def has_correlation_ids(self) -> bool:
        return bool(self._each)

    def num_instances(self) -> int:
        return len(self._each)

    def correlation_ids(self) -> _Metric:
        return _Metric(None, "", dict(enumerate(self._each)))  # type: ignore[arg-type]


def report(monkeypatch: pytest.MonkeyPatch, metrics: dict[str, _Metric]) -> None:
    action = SimpleNamespace(
        name=lambda: "saxpy", metric_names=lambda: tuple(metrics), metric_by_name=metrics.get
    )
    one = SimpleNamespace(num_actions=lambda: 1, action_by_idx=lambda k: action)
    context = SimpleNamespace(num_ranges=lambda: 1, range_by_idx=lambda k: one)
    package = SimpleNamespace(load_report=lambda path: context)
    monkeypatch.setitem(sys.modules, "ncu_report", package)


def test_a_report_tells_coalesced_requests_and_barriers_of_each_instruction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = {
        "gpu__time_duration.sum": _Metric(2500, "nsecond"),
        "launch__grid_size": _Metric(20, ""),
        "launch__block_size": _Metric(128, "thread"),
        "device__attribute_display_name": _Metric("NVIDIA A100"),
        "smsp__inst_executed.sum": _Metric(8000, "inst"),
        "memory_l2_theoretical_sectors_global": _Metric(1, "", {16: 320, 32: 2560, 48: 0}),
        "memory_l2_theoretical_sectors_global_ideal": _Metric(1, "", {16: 320, 32: 320, 48: 0}),
        "inst_executed": _Metric(1, "", {16: 80, 32: 160, 48: 80}),
        "sass__inst_executed_per_opcode": _Metric(1, "", {"BAR": 160, "LDG": 240}),
    }
    report(monkeypatch, metrics)
    ds = dse.open(write(tmp_path / "a.ncu-repz", "")).isel(configuration=0)
    assert (float(ds.time), float(ds.total_insts)) == (2.5e-6, 100)
    assert (float(ds.coalesced_insts), float(ds.uncoalesced_insts)) == (1, 2)
    assert (float(ds.sync_insts), str(ds.machine.values)) == (2, "NVIDIA A100")


def _varint(number: int) -> bytes:
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _varint(high) if high else bytes([low])


def _field(number: int, value: float | str | bytes) -> bytes:
    """A field of a protocol buffer."""
    if isinstance(value, float):
        return _varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _with_size(raw: bytes) -> bytes:
    return struct.pack("<I", len(raw)) + raw


def built_report(metrics: dict[str, tuple[float | str, dict[Any, float]]]) -> bytes:
    """A report of one launch of 20 blocks of 128 threads, by NVIDIA's description of the format.

    The messages are those of ``extras/FileFormat`` that Nsight Compute brings along.
    """

    def value(of: float | str) -> bytes:
        return _field(1 if isinstance(of, str) else 3 if isinstance(of, float) else 5, of)

    def size(*of: int) -> bytes:
        return b"".join(_field(k, n) for k, n in enumerate(of, 1))

    listed = b""
    for k, (total, each) in enumerate(metrics.values()):
        instances = (_field(1, value(at)) + _field(2, value(n)) for at, n in each.items())
        parts = b"".join(_field(3, one) for one in instances)
        listed += _field(13, _field(1, k) + _field(2, value(total)) + parts)
    result = b"".join(_field(k, 0) for k in (1, 2, 3, 4))
    result += b"".join(_field(k, "saxpy") for k in (5, 6, 7)) + _field(8, 3)
    result += _field(9, size(0, 0, 0)) + _field(10, size(10, 2, 1)) + _field(11, size(128, 1, 1))
    payload = _with_size(result + listed + _field(15, b""))
    names = b"".join(_field(1, name) for name in metrics)
    block = _field(1, 0) + _field(2, 1) + _field(4, names) + _field(5, len(payload))
    return b"NVR\0" + _with_size(_field(1, 7)) + _with_size(block) + payload


def test_a_report_built_by_its_description_is_read_by_the_package(tmp_path: Path) -> None:
    pytest.importorskip("ncu_report", reason="needs the extra ncu")
    metrics: dict[str, tuple[float | str, dict[Any, float]]] = {
        "gpu__time_duration.sum": (2500.0, {}),
        "launch__grid_size": (20, {}),
        "launch__block_size": (128, {}),
        "device__attribute_display_name": ("NVIDIA A100", {}),
        "smsp__inst_executed.sum": (8000.0, {}),
        "memory_l2_theoretical_sectors_global": (2880, {16: 320, 32: 2560, 48: 0}),
        "memory_l2_theoretical_sectors_global_ideal": (640, {16: 320, 32: 320, 48: 0}),
        "inst_executed": (320, {16: 80, 32: 160, 48: 80}),
        "sass__inst_executed_per_opcode": (400, {"BAR": 160, "LDG": 240}),
    }
    raw, path = built_report(metrics), tmp_path / "a.ncu-rep"
    path.write_bytes(raw)
    ds = dse.open(path).isel(configuration=0)
    assert (str(ds.kernel.values), str(ds.machine.values)) == ("saxpy", "NVIDIA A100")
    assert (float(ds.time), float(ds.total_insts), float(ds.sync_insts)) == (2.5e-6, 100, 2)
    assert (float(ds.coalesced_insts), float(ds.uncoalesced_insts)) == (1, 2)
    assert float(ds.transactions_per_uncoalesced) == 16
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(DseError, match="is a report of Nsight Compute that is cut off"):
        dse.open(path)


def test_a_report_without_the_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ncu_report", None)
    with pytest.raises(DseError, match=r"pip install ncu-report"):
        dse.open(write(tmp_path / "a.ncu-rep", "NVR\0"))


def test_a_report_that_is_cut_off_is_refused_by_the_package(tmp_path: Path) -> None:
    pytest.importorskip("ncu_report", reason="needs the extra ncu")
    with pytest.raises(DseError, match="is a report of Nsight Compute that is cut off"):
        dse.open(write(tmp_path / "a.ncu-rep", "NVR\0\1\2\3"))


# --- nvprof, by its documentation
def test_metrics_of_nvprof_are_means_of_its_launches(tmp_path: Path) -> None:
    start = '"Tesla P100-PCIE-16GB (0)","saxpy(int, float*)",3'
    lines = [
        "==7== NVPROF is profiling process 7, command: ./app",
        "==7== Metric result:",
        '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"',
        f'{start},"inst_executed","Instructions Executed",16000,16000,16000',
        f'{start},"inst_per_warp","Instructions per warp",100.000000,100.000000,100.000000',
        f'{start},"inst_executed_global_loads","Warp level loads",320,320,320',
        f'{start},"inst_executed_global_stores","Warp level stores",160,160,160',
        f'{start},"gld_efficiency","Global Memory Load Efficiency",100.00%,100.00%,100.00%',
        f'{start},"gst_efficiency","Global Memory Store Efficiency",100.00%,100.00%,100.00%',
        f'{start},"gld_transactions_per_request","Transactions",8.000000,8.000000,8.000000',
        f'{start},"dram_read_throughput","Throughput",1.5GB/s,2.5GB/s,2.0GB/s',
        f'{start},"dram_utilization","Device Memory Utilization","Low (2)","Low (2)","Low (2)"',
    ]
    ds = dse.open(write(tmp_path / "a.csv", "\n".join(lines))).isel(configuration=0)
    assert (float(ds.total_insts), float(ds.mem_insts), float(ds.comp_insts)) == (100, 3, 97)
    assert float(ds.coalesced_insts) == 3  # of 8 bytes a thread: whole by the bytes asked for
    assert float(ds.transactions_per_request) == 8
    assert float(ds.dram_read_throughput) == 2 * 2**30
    assert (float(ds.dram_utilization), float(ds.Invocations)) == (2, 3)
    assert str(ds.machine.values) == "Tesla P100-PCIE-16GB"


def test_a_gpu_trace_of_nvprof_tells_launches_and_leaves_copies_out(tmp_path: Path) -> None:
    lines = [
        "==7== Profiling result:",
        '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z",'
        '"Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","SrcMemType",'
        '"DstMemType","Device","Context","Stream","Name"',
        "ms,us,,,,,,,,KB,B,MB,GB/s,,,,,,",
        '1.5,12.5,,,,,,,,,,4.0,8.0,"Pageable","Device","P100 (0)","1","7","[CUDA memcpy HtoD]"',
        '1.9,2.25,10,2,1,128,2,1,24,4.000000,512,,,,,"P100 (0)","1","7","saxpy(int, float*) [118]"',
    ]
    ds = dse.open(write(tmp_path / "a.csv", "\n".join(lines))).isel(configuration=0)
    assert (float(ds.time), float(ds.blocks), float(ds.threads_per_block)) == (2.25e-6, 20, 256)
    assert (float(ds.registers_per_thread), float(ds.shared_mem_per_block)) == (24, 4 * 1024 + 512)
    assert str(ds.kernel.values) == "saxpy(int, float*)"


def test_a_summary_of_nvprof_is_read_and_calls_of_its_api_are_left_out(tmp_path: Path) -> None:
    lines = [
        '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"',
        ",%,ms,,us,us,us,",
        '"GPU activities",60.5,1.5,3,500.25,400.5,600.5,"2mm(int)"',
        '"GPU activities",9.5,1.5,3,50.25,40.5,60.5,"[CUDA memcpy HtoD]"',
        '"API calls",30.0,1.5,3,500.25,400.5,600.5,"cudaMalloc"',
    ]
    ds = dse.open(write(tmp_path / "a.csv", "\n".join(lines)))
    assert (ds.kernel.values.tolist(), ds.time.values.tolist()) == (["2mm(int)"], [500.25e-6])
    assert (float(ds.Time[0]), float(ds.Time_2[0])) == (0.605, 1.5e-3)


def test_a_value_may_have_those_of_its_instances_behind_it(tmp_path: Path) -> None:
    text = wide('"inst_executed"', '"inst"', '"44,359,853 (65,536; 65,536; 0)"')
    ds = dse.open(write(tmp_path / "a.csv", text))
    assert ds.inst_executed.values.tolist() == [44359853]


# --- rocprof
@needs_data
@pytest.mark.parametrize("gpu", ["MI100", "MI200"])
def test_rocprof_counts_work_items_and_wavefronts_of_64(gpu: str) -> None:
    path = DATA / f"vcopy_amd/vcopy_{gpu}_pmc_perf.csv"
    ds, expected = dse.open(path, given={"machine": gpu}), rows_of(path)
    assert ds.sizes["configuration"] == len(expected) == 3
    for k, row in enumerate(expected):
        one = ds.isel(configuration=k)
        nanoseconds = int(row["End_Timestamp"]) - int(row["Start_Timestamp"])
        assert float(one.time) == pytest.approx(nanoseconds * 1e-9, rel=1e-15)
        assert (float(one.blocks), float(one.threads_per_block)) == (1048576 / 256, 256)
        assert float(one.warp_size) == 64
        assert float(one.total_insts) == int(row["SQ_INSTS"]) / int(row["SQ_WAVES"]) == 24
        assert (float(one.mem_insts), float(one.valu_insts)) == (2, 10)
        assert float(one.registers_per_thread) == int(row["Arch_VGPR"])
        reads = 64 * float(row["TCC_EA_RDREQ_sum"]) - 32 * float(row["TCC_EA_RDREQ_32B_sum"])
        writes = 32 * (float(row["TCC_EA_WRREQ_sum"]) + float(row["TCC_EA_WRREQ_64B_sum"]))
        assert float(one.dram_bytes) == reads + writes
        assert float(one["TCC_EA_WRREQ_3"]) == float(row["TCC_EA_WRREQ[3]"])
    assert ("int_insts" in ds) == (gpu == "MI200")
    assert ds.machine.values.tolist() == [gpu] * 3


def test_rocprofv3_has_a_counter_a_row_and_mi300_its_own_names(tmp_path: Path) -> None:
    start = '1,1,"Agent 4",1,20,20,1048576,10,"add(float*)",64,512,0,8,0,16'
    counters = {
        "SQ_WAVES": 16384, "SQ_INSTS": 163840, "TCC_EA0_RDREQ_sum": 100,
        "TCC_EA0_RDREQ_32B_sum": 10, "TCC_BUBBLE_sum": 20, "TCC_EA0_WRREQ_sum": 50,
        "TCC_EA0_WRREQ_64B_sum": 40,
    }  # fmt: skip
    header = (
        '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size",'
        '"Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count",'
        '"Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
        '"End_Timestamp"'
    )
    lines = [f'{start},"{name}",{value}.000000,1000,11240' for name, value in counters.items()]
    ds = dse.open(write(tmp_path / "a.csv", "\n".join([header, *lines]))).isel(configuration=0)
    assert (float(ds.blocks), float(ds.time), float(ds.total_insts)) == (16384, 10240e-9, 10)
    assert (float(ds.registers_per_thread), float(ds.shared_mem_per_block)) == (8, 512)
    assert float(ds.dram_bytes) == 64 * 100 - 32 * 10 + 64 * 20 + 32 * 50 + 32 * 40


# --- Transit from the counters of a known launch
def nvprof_sum(threads: int) -> str:
    """Return nvprof's metrics of the whole GPU: instructions of warps, and sectors."""
    metrics = {
        "inst_issued": 12 * threads // 32,
        "dram_read_transactions": 8 * threads // 32,
        "dram_write_transactions": 4 * threads // 32,
    }
    lines = ['"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"']
    lines += [f'"Tesla C2075 (0)","sum",1,"{n}","",{v},{v},{v}' for n, v in metrics.items()]
    return "\n".join(lines)


def ncu_sum(threads: int) -> str:
    metrics = [
        ("smsp__inst_issued.sum", "inst", 12 * threads // 32),
        ("dram__bytes_read.sum", "byte", 8 * threads),
        ("dram__sectors_write.sum", "sector", 4 * threads // 32),
    ]
    return "\n".join([_LONG, long(*((name, unit, str(value)) for name, unit, value in metrics))])


def rocprof_sum(threads: int) -> str:
    """Return rocprof's counters: half of the reads have 32 bytes, all other requests 64."""
    counters = {
        "SQ_INSTS": 12 * threads // 64,
        "TCC_EA_RDREQ_sum": 8 * threads // 48,
        "TCC_EA_RDREQ_32B_sum": 8 * threads // 96,
        "TCC_EA_WRREQ_sum": 4 * threads // 64,
        "TCC_EA_WRREQ_64B_sum": 4 * threads // 64,
    }
    header = ["KernelName", "grd", "wgr", *counters]
    row = ["sum", threads, 256, *counters.values()]
    return "\n".join(",".join(map(str, line)) for line in (header, row))


@pytest.mark.parametrize(
    ("machine", "text", "registers", "resident"),
    [
        ("c2075", nvprof_sum, 24, 1280),  # 32,768 registers hold 42 warps of 768: 5 blocks of 8
        ("v100_pcie", ncu_sum, 40, 1536),  # 65,536 registers hold 51 warps of 1,280: 6 blocks of 8
        ("mi210", rocprof_sum, 8, 2048),  # 32 wavefronts of 64, 8 blocks of 4
    ],
)
def test_counters_of_a_known_launch_give_the_state_of_transit(
    tmp_path: Path,
    run: Run,
    machine: str,
    text: Callable[[int], str],
    registers: int,
    resident: int,
) -> None:
    """A thread of c = a + b in single precision has 12 instructions and 3 requests of 4 bytes."""
    threads = 3 << 20
    write(tmp_path / "sum.csv", text(threads))
    launch = {"blocks": threads // 256, "threads_per_block": 256}
    launch |= {"registers_per_thread": registers, "shared_mem_per_block": 0}
    given = [f"--set={name}={value}" for name, value in launch.items()] + ["--set=time=250 us"]
    out = tmp_path / "sum.toml"
    assert run("import", str(tmp_path / "sum.csv"), str(out), *given).exit_code == 0
    state = dse.evaluate(
        "occupancy + transit + transit_profiler", machine=machine, workload=str(out),
        core_clock="1.2 GHz",
        outputs=["threads", "intensity", "measured_ms_throughput", "measured_flops"],
    )  # fmt: skip
    sms = {"c2075": 14, "v100_pcie": 80, "mi210": 104}[machine]
    assert float(state.threads) == resident
    assert float(state.intensity) == pytest.approx(12 / 3, rel=1e-6)
    star = 3 * threads / sms / (250e-6 * 1.2e9)
    assert float(state.measured_ms_throughput) == pytest.approx(star, rel=1e-6)
    assert float(state.measured_flops) == pytest.approx(12 * threads / sms / 250e-6, rel=1e-6)


# --- tables that are known by their columns, and Caliper
@needs_data
def test_caliper_times_are_of_one_repetition() -> None:
    ds = dse.open(DATA / "rajaperf_v100/v100_1048576_block_1024.cali")
    copy = ds.isel(configuration=ds.kernel.values.tolist().index("Basic_COPY8"))
    assert float(copy.time) == pytest.approx(0.008648 / 50, rel=1e-15)
    assert (float(copy.threads_per_block), float(copy.Bytes_per_Rep)) == (1024, 134217728)
    daxpy = ds.isel(configuration=ds.kernel.values.tolist().index("Basic_DAXPY"))
    assert float(daxpy.time) == pytest.approx(0.016963 / 500, rel=1e-15)
    assert float(daxpy.work_flops) == 2097152
    assert not {"RAJAPerf", "Basic", "Stream"} & set(ds.kernel.values.tolist())  # groups
    assert set(ds.tuning.values.tolist()) == {"block_1024"}


@needs_data
def test_counters_of_rajaperf_per_warp_where_the_launch_is_given(run: Run) -> None:
    path = DATA / "rajaperf_v100/ncu_counters.csv"
    expected = next(row for row in rows_of(path) if row["kernel"].startswith("stream/TRIAD"))
    text = run(
        "import", str(path), "a.csv", "--set", "blocks=32768", "--set", "threads_per_block=256"
    ).stdout
    assert "total_insts = RAJAPerf counters: smsp__inst_executed.sum / warps\n" in text
    ds = dse.open(path, given={"blocks": 32768, "threads_per_block": 256})
    triad = ds.isel(configuration=ds.kernel.values.tolist().index(expected["kernel"]))
    assert float(triad.time) == float(expected["gpu_time_s"])
    assert float(triad.total_insts) == float(expected["smsp__inst_executed.sum"]) / (32768 * 8)
    assert (float(triad.mem_insts), float(triad.transactions_per_request)) == (3, 8)
    assert "sum of its launches" in notes(ds)
    assert "total_insts" in notes(dse.open(path))  # left out, and said


@needs_data
def test_hecbench_rates_become_counts() -> None:
    path = DATA / "hecbench_rtx3080/profiling.csv.gz"
    ds, expected = dse.open(path), rows_of(path)
    times = np.array([float(row["xtime"]) for row in expected])
    rates = np.array([float(row["spPerf"]) + float(row["dpPerf"]) for row in expected])
    assert np.allclose(ds.time, times * 1e-9, rtol=1e-15)
    assert np.allclose(ds.work_flops, rates * times * 1e-9, rtol=1e-14)
    traffic = np.array([float(row["traffic"]) for row in expected])
    assert np.allclose(ds.dram_bytes, traffic * times * 1e-9, rtol=1e-14)
    sizes = [json.loads(row["Grid Size"].replace("(", "[").replace(")", "]")) for row in expected]
    assert ds.blocks.values.tolist() == [x * y * z for x, y, z in sizes]
    assert bool(ds.feasible.all())
    assert ds.arguments.values.tolist() == [row["exeArgs"] for row in expected]


@needs_data
def test_neusight_and_accel_sim_tables_are_known_by_their_columns() -> None:
    path = DATA / "pytorch_elementwise/train_elem.csv.gz"
    ds, expected = dse.open(path), rows_of(path)
    assert np.allclose(ds.time, [float(row["Latency"]) / 1e3 for row in expected], rtol=1e-15)
    grids = [int(r["Grid x"]) * int(r["Grid y"]) * int(r["Grid z"]) for r in expected]
    assert ds.blocks.values.tolist() == grids
    assert ds.machine.values.tolist() == [row["Device"] for row in expected]
    activity = dse.open(DATA / "power_v100/hw_perf.csv")
    assert float(activity.total_cycles[0]) == 66542.7
    assert float(activity.DRAM_Rd[0]) == 259346
    watts = dse.open(DATA / "power_v100/hw_power_validation_volta.csv")
    assert (str(watts.kernel.values[0]), float(watts.power[0])) == ("backprop_k1", 219.7978)
    assert watts.power.attrs["units"] == "W"


def test_maps_that_come_along_name_columns_and_read_as_formulas() -> None:
    assert {"ncu", "nvprof", "rocprof", "ktt", "caliper", "hecbench"} <= set(shipped_maps())
    for name, one in shipped_maps().items():
        assert one.quantities, name


def test_a_column_is_mapped_by_hand_and_by_a_file(tmp_path: Path, run: Run) -> None:
    path = write(tmp_path / "a.csv", "op,Latency,n\nadd,1.5,8\nmul,2.5,16\n")
    ds = dse.open(path, columns={"Latency": "time:ms", "op": "kernel"})
    assert ds.time.values.tolist() == [1.5e-3, 2.5e-3]
    assert ds.time.attrs["source"] == "column: Latency [ms]"
    shown = run("import", str(path), "a.zarr", "--map", "Latency=time:ms", "--axes", "n").stdout
    assert "time = column: Latency [ms]\n" in shown
    filed = write(tmp_path / "map.toml", 'title = "mine"\n[quantities]\ntime = "Latency [ms]"\n')
    assert dse.open(path, columns=filed).time.attrs["source"] == "mine: Latency [ms]"
    assert "mine: Latency [ms]" in run("import", str(path), "b.csv", "--map", str(filed)).stdout


def test_an_axis_of_a_tuner_stays_where_a_map_or_a_given_name_uses_it_too(tmp_path: Path) -> None:
    result = '{"configuration": {"a ": 1}, "measurements": [{"name": "t", "value": 2, "unit": ""}]}'
    path = write(tmp_path / "t.json", f'{{"results": [{result}]}}')
    ds = dse.open(path, columns={"a ": "kernel"})
    assert ds.a.values.tolist() == [1]
    assert ds.kernel.values.tolist() == ["1"]
    with pytest.raises(DseError, match="'a ' and 'a' are both a: rename one"):
        dse.open(path, given={"a": 3})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"Latancy": "time:ms"}, "the column 'Latancy', which is not in the file; did you mean"),
        ({"Latency": "time:kg"}, "unit"),
        ({"Latency": ""}, "expected COLUMN=QUANTITY"),
        ({"op": "time"}, "'op' has 'add' at row 1: expected a number"),
        ("hecbank", "is no map of columns; did you mean 'hecbench'"),
    ],
)
def test_a_map_that_does_not_fit_is_refused(tmp_path: Path, columns: Any, message: str) -> None:
    path = write(tmp_path / "a.csv", "op,Latency\nadd,1.5\n")
    with pytest.raises(DseError, match=message):
        dse.open(path, columns=columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time = ", "is no map of columns"),
        ("[quantitys]\n", "'quantitys' is no key of a map of columns"),
        ("[quantities]\ntime = 3\n", "3 is neither a text nor a list of texts"),
    ],
)
def test_a_map_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    table = write(tmp_path / "a.csv", "a\n1\n")
    with pytest.raises(DseError, match=message):
        dse.open(table, columns=write(tmp_path / "map.toml", text))


# --- what is refused
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"SQLite format 3\0rest", "is a SQLite database"),
        ("a.csv", b"\x7fELF\2\1", "is a compiled program or cubin"),
        ("a.csv", b"<!DOCTYPE html>", "is HTML or XML"),
        ("a.nsys-rep", b"QD", "is a report of Nsight Systems"),
        ("a.log", b"==PROF== Connected\n  k (1, 1, 1)x(64, 1, 1)\n", r"run it with --csv"),
        ("a.csv", b"==9== NVPROF is profiling\nGPU activities: 1%\n", "output of nvprof without"),
        ("a.txt", b"hello", "has no known format of measurements"),
        ("a.json", b'{"traceEvents": []}', "is a trace of events for a browser"),
        ("a.json", b'{"Metadata": {}, "Results": [{}]}', "TimeUnit None"),
        ("a.cali", b"__rec=node,id=1,attr=8\n", r"line 1: no whole record of Caliper"),
        ("a.cali", b"__rec=ctx,ref=1,attr=2=3,data=4\n", "2 attributes and 1 values"),
        ("a.csv", f'{_LONG}\n"0","7","app"'.encode(), "line 2: 3 fields where the header has 15"),
        ("a.csv", f'{_LONG}\n"0","7","a'.encode(), "line 2: .*the file is cut off"),
        ("a.csv", f"{_LONG}\n".encode(), "a header and no launches"),
        ("a.csv", b'"Kernel Name","Invocations","Metric Name","Avg"\n', "this is a summary of"),
        ("a.csv", b"Start,Duration,Name\n", "nvprof's trace of API calls"),
        ("a.csv", b"workload_name,gpu_model,gpu_arch\n", "rocprof-compute on a machine"),
        ("a.csv.gz", gzip.compress(b"a\n1\n" * 99, mtime=0)[:20], "cannot be read"),
    ],
)  # fmt: skip
def test_what_is_no_whole_profile_is_named_for_what_it_is(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DseError, match=message):
        open_measurements(path)


# --- a workload file
def test_a_workload_of_a_profile_bears_the_source_of_every_number(tmp_path: Path, run: Run) -> None:
    text = "\n".join(
        [
            _LONG,
            long(
                ("smsp__inst_executed.sum", "inst", "16000"),
                ("smsp__inst_executed_op_global_ld.sum", "inst", "320"),
                ("smsp__inst_executed_op_global_st.sum", "inst", "160"),
                ("launch__registers_per_thread", "register/thread", "24"),
            ),
        ]
    )
    path = write(tmp_path / "a.csv", text)
    message = run("import", str(path), "saxpy.toml").stdout
    assert "workload: saxpy.toml" in message
    written = Path("saxpy.toml").read_text(encoding="utf-8")
    source = "a.csv, row 0: Nsight Compute: launch__registers_per_thread"
    assert f'registers_per_thread = {{ value = 24, source = "{source}" }}' in written
    assert 'coalesced_insts = { value = 3, assumed = "the profile does not say which' in written
    values = dse.workload("saxpy.toml").values
    assert {"blocks", "comp_insts", "sync_insts"} <= set(values)
    result = dse.evaluate(
        "mwp_cwp", machine="gtx280", workload="saxpy.toml", active_blocks_per_sm=4
    )
    assert float(result.time) > 0


@needs_data
def test_a_workload_file_is_of_one_row(run: Run) -> None:
    path = str(DATA / "coulomb/coulomb_2080_full_search_space.json.gz")
    several = run("import", path, "a.toml", status=2)
    assert "there are 210 rows" in several.stderr
    assert "expected 0 to 209" in run("import", path, "a.toml", "--row", "210", status=2).stderr
    run("import", path, "a.toml", "--row", "0")
    written = Path("a.toml").read_text(encoding="utf-8")
    assert "registers_per_thread = { value = 66, source" in written
    assert 'comp_insts = { value = 587, assumed = "the profile does not count stores' in written


def test_instructions_that_only_a_total_counts_are_in_the_workload(tmp_path: Path) -> None:
    file = tmp_path / "ncu.csv"
    row = '"0","1","a","h","f(int)","1","7","(256, 1, 1)","(64, 1, 1)","0","9.0"'
    lines = [
        "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size,"
    ]
    lines[0] += "Device,CC,Section Name,Metric Name,Metric Unit,Metric Value"
    lines.append(f'{row},"GPU Speed Of Light Throughput","Duration","us","110.5"')
    lines.append(f'{row},"Command line profiler metrics","smsp__inst_executed.sum","inst","8192"')
    file.write_text("\n".join(lines) + "\n")
    assert "total_insts = { value = 16, " in workload_text(dse.open(file))
