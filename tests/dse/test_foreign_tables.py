"""Tables and profiles of somebody else: read as they were meant, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dse
from symbolic.errors import DseError, UnitError
from tests.dse.foreign_tables import attack

EPOCH = 1_700_000_000_000_000_000


def open_text(folder: Path, text: str, name: str = "a.csv", **options: Any) -> xr.Dataset:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return dse.open(path, **options)


def assumptions_of(ds: xr.Dataset) -> str:
    return "; ".join(json.loads(ds.attrs.get("assumptions", "[]")))


def test_drawn_tables_are_read_as_they_were_meant_or_refused() -> None:
    outcomes = attack(60, 1)
    assert not [name for name in outcomes if "different" in name], outcomes
    assert outcomes["whole: read"] > 15
    assert outcomes["broken: refused"] > 15


# --- tables
def test_lines_may_end_in_separators_and_a_time_without_unit_is_said_to_be_seconds(
    tmp_path: Path,
) -> None:
    ds = open_text(tmp_path, "name;time;TBX;\nblur;24.47;4;\nblur;19.80;8;\n")
    assert ds.time.values.tolist() == [24.47, 19.8]
    assert "semicolons" in assumptions_of(ds)
    assert "time has no unit in the file: assumed in s" in assumptions_of(ds)
    assert "no unit" not in assumptions_of(open_text(tmp_path, "time\n3\n", units={"time": "ms"}))
    assert "no unit" not in assumptions_of(open_text(tmp_path, "x\n3\n", given={"time": 2.0}))


@pytest.mark.parametrize(
    ("header", "name", "value"),
    [
        ("Time (ms)", "Time", 0.002),
        ("Time(ms)", "Time", 0.002),
        ("time (s)", "time", 2.0),
        ("time(s)", "time", 2.0),
        ("t [µs]", "t", 2e-6),
        ("t (μs)", "t", 2e-6),
        ("t [Microseconds]", "t", 2e-6),
        ("t (msec)", "t", 0.002),
        ("Rate (GB/s)", "Rate", 2e9),
        ("Share (%)", "Share", 0.02),
        ("Block(s)", "Block_s", 2.0),
        ("Time (min)", "Time_min", 2.0),
        ("Size (K)", "Size_K", 2.0),
        ("Calls (count)", "Calls_count", 2.0),
    ],
)
def test_units_stand_in_brackets_or_parentheses(
    tmp_path: Path, header: str, name: str, value: float
) -> None:
    ds = open_text(tmp_path, f"a,{header}\n1,2\n")
    assert ds[name].values.tolist() == [pytest.approx(value, rel=1e-15)]


def test_a_column_is_named_as_in_the_file_or_without_its_unit(tmp_path: Path) -> None:
    text = "Block (threads),Time (ms)\n16,3\n32,4\n"
    for axis in ("Block (threads)", "Block"):
        assert open_text(tmp_path, text, axes=[axis]).sizes == {"Block": 2}
    for column in ("Time (ms)", "Time"):
        ds = open_text(tmp_path, text, columns={column: "time"})
        assert ds.time.values.tolist() == [0.003, 0.004]
    with pytest.raises(DseError, match=r"two columns 'a': 'a \[ms\]' \(column 1\) and 'a \(s\)'"):
        open_text(tmp_path, "a [ms],a (s)\n1,2\n")


def test_a_line_of_units_below_the_header_is_no_row(tmp_path: Path) -> None:
    ds = open_text(tmp_path, "k,t,n\n,ms,\nx,3,1\ny,4,2\n")
    assert ds.t.values.tolist() == [0.003, 0.004]
    assert "read as units" in assumptions_of(ds)


def test_a_text_among_numbers_is_a_failure_and_never_a_number(tmp_path: Path) -> None:
    ds = open_text(tmp_path, "n;t\n1;3,5\n2;1_000\n3;timeout\n")
    assert np.isnan(ds.t.values[1:]).all()
    assert json.loads(ds.attrs["statuses"]) == {"correct": 1, "1_000": 1, "timeout": 1}


def test_two_columns_of_one_name_are_refused_with_their_places(tmp_path: Path) -> None:
    with pytest.raises(DseError, match=r"two columns 'time \[ms\]' \(columns 2 and 3\)"):
        open_text(tmp_path, "bx,time [ms],time [ms]\n16,3.5,2\n32,1.5,9\n")


def test_whole_numbers_beyond_floats_stay_exact_and_are_subtracted_exactly(
    tmp_path: Path,
) -> None:
    text = f"begin,end\n{EPOCH + 1},{EPOCH + 1001}\n{EPOCH + 100},{EPOCH + 1200}\n"
    ds = open_text(tmp_path, text, columns={"end + -1 * begin": "time:ns"})
    assert ds.begin.values.tolist() == [EPOCH + 1, EPOCH + 100]
    assert ds.time.values.tolist() == [1e-6, 1.1e-6]
    assert "beyond 2**53 in begin, end" in assumptions_of(ds)
    frame = pd.DataFrame({"begin": pd.array([EPOCH + 1, None], dtype="Int64"), "x": [1, 2]})
    frame.to_parquet(tmp_path / "a.parquet")
    ds = dse.open(tmp_path / "a.parquet", columns={f"begin + -1 * {EPOCH}": "rest"})
    assert ds.rest.values[0] == 1
    grid = f"a,b,n\n1,1,{EPOCH + 1}\n1,2,{EPOCH + 1}\n2,1,{EPOCH + 1}\n"
    holes = open_text(tmp_path, grid, axes=["a", "b"])
    assert np.isnan(holes.n.values[1, 1])


def test_the_command_says_what_was_assumed(tmp_path: Path, run: Any) -> None:
    (tmp_path / "t.csv").write_text("name;time\nx;3,5\ny;2,5\n")
    path = str(tmp_path / "t.csv")
    done = run("optimum", path, "--minimize", "time", "--where", "time <= 3e6 µs")
    assert "2.5 s" in done.stdout
    assert "assumed: read as text: columns separated by semicolons, decimal comma" in done.stderr
    assert "assumed: time has no unit in the file: assumed in s" in done.stderr
    imported = run("import", path, str(tmp_path / "t.zarr"), "--json")
    assert "semicolons" in json.loads(imported.stdout)["assumptions"][0]
    answer = dse.optimum(path, minimize="time")
    assert "assumed in s" in answer.attrs["assumptions"]


def test_a_law_from_a_file_is_read_like_any_table(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("n;lat (µs)\n1;1,5\n2;2,5\n", encoding="utf-8")

    def law(**keys: str) -> Any:
        from dse.uncertain.laws import read_input_law
        from symbolic.quantities import TABLE

        return read_input_law({"file": "runs.csv", **keys}, TABLE["time"], "random", tmp_path)

    for column in ("lat", "lat (µs)"):
        assert law(column=column).cdf(1.6e-6) == pytest.approx(0.5)
    with pytest.raises(UnitError, match="has the unit us, but unit = 'ms' is given"):
        law(column="lat", unit="ms")
    with pytest.raises(UnitError, match="has no unit"):
        law(column="n")


# --- profiles
_V3 = (
    "Correlation_Id,Dispatch_Id,Process_Id,Grid_Size,Kernel_Name,Workgroup_Size,LDS_Block_Size,"
    "VGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
)


def _v3(agent: str = "g") -> str:
    row = f"1,{{}},3,262144,{agent},256,0,12,SQ_INSTS_VALU,40960,{{}},{{}}\n"
    return _V3 + row.format(1, EPOCH + 1, EPOCH + 1001) + row.format(2, EPOCH + 100, EPOCH + 1200)


def test_rocprof_counts_by_wavefronts_of_64_and_says_so(tmp_path: Path) -> None:
    ds = open_text(tmp_path, _v3())
    assert ds.valu_insts.values.tolist() == [10, 10]
    assert ds.time.values.tolist() == [1e-6, 1.1e-6]
    assert "warp_size is not in the file: assumed 64" in assumptions_of(ds)
    ds = open_text(tmp_path, _v3(), given={"warp_size": 32})
    assert ds.valu_insts.values.tolist() == [5, 5]
    assert "warp_size" not in assumptions_of(ds)
    assert open_text(tmp_path, _v3("k gfx1100")).valu_insts.values.tolist() == [5, 5]
    assert open_text(tmp_path, _v3("k gfx90a")).valu_insts.values.tolist() == [10, 10]


@pytest.mark.parametrize(
    ("size", "insts"), [("64", 122.0703125), ("32", 61.03515625), ("", 122.07)]
)
def test_the_wave_size_of_rocprof_is_respected(tmp_path: Path, size: str, insts: float) -> None:
    text = (
        "Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Arch_VGPR,Wave_Size,"
        "Kernel_Name,Start_Timestamp,End_Timestamp,SQ_INSTS_VALU\n"
        f'1,0,1048576,256,0,20,{size},"copy(double*, double*) [clone .kd]",1591372809872935,'
        "1591372810872935,2000000\n"
    )
    assert open_text(tmp_path, text).valu_insts.values == pytest.approx([insts], rel=1e-4)


_TRACE = (
    "==1== NVPROF is profiling process 1, command: ./app\n==1== Profiling result:\n"
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z",'
    '"Registers Per Thread","Static SMem","Dynamic SMem","Size","Throughput","SrcMemType",'
    '"DstMemType","Device","Context","Stream","Unified Memory","Virtual Address","Name",'
    '"Correlation_ID"\ns,ms,,,,,,,,B,B,MB,GB/s,,,,,,B,,,\n'
    '1.18,0.000992,,,,,,,,,,0.000019,0.018777,"Pageable","Device","TITAN Xp (0)","1","7",,,'
    '"[CUDA memcpy HtoD]",105\n'
)
_FAULTS = '1.2,,,,,,,,,,,,,,,,,,"PC 0x10000000","0x20000000","[Unified Memory CPU page faults]",\n'
_REST = (
    '1.21,0.003,,,,,,,,,,,,,,"TITAN Xp (0)",,,65536,"0x20000000",'
    '"[Unified Memory Memcpy HtoD]",\n'
    '1.8,0.287308,506,1,1,192,1,1,16,0,0,,,,,"TITAN Xp (0)","1","7",,,"fill(int, float*)",106\n'
    '1.9,0.050308,506,1,1,192,1,1,58,0,0,,,,,"TITAN Xp (0)","1","7",,,"flux(int, float*)",107\n'
)


@pytest.mark.parametrize(("text", "left"), [(_TRACE + _FAULTS + _REST, 3), (_TRACE + _REST, 2)])
def test_only_kernels_of_a_trace_with_managed_memory_are_rows(
    tmp_path: Path, text: str, left: int
) -> None:
    ds = open_text(tmp_path, text)
    assert ds.kernel.values.tolist() == ["fill(int, float*)", "flux(int, float*)"]
    assert dse.optimum(ds, minimize="time").kernel.item() == "flux(int, float*)"
    assert f"no kernels: {left} copies and memory events" in ds.attrs["notes"]


def test_a_header_in_the_line_of_what_nvprof_says_is_read(tmp_path: Path) -> None:
    text = (
        '==1== NVPROF is profiling\n==1== Metric result:"Device","Kernel","Invocations",'
        '"Metric Name","Metric Description","Min","Max","Avg"\n'
        '"Tesla P100 (0)","k",1,"inst_executed","Instructions Executed",100,100,100\n'
    )
    ds = open_text(tmp_path, text)
    assert ds.kernel.values.tolist() == ["k"]
    assert ds.inst_executed.values.tolist() == [100]


def test_a_profile_is_known_by_any_separator_and_its_columns_named_twice_must_agree(
    tmp_path: Path,
) -> None:
    row = '"k(a, b)";256;1024;64;5\n'
    header = "Kernel_Name;Workgroup_Size;Grid_Size;Wave_Size;SQ_INSTS_VALU"
    ds = open_text(tmp_path, f"{header};\n{row.strip()};\n")
    assert ds.valu_insts.values == pytest.approx([5 / 16])
    with pytest.raises(DseError, match="columns 5 and 6 are both 'SQ_INSTS_VALU' and differ"):
        open_text(tmp_path, f"{header};SQ_INSTS_VALU\n{row.strip()};7\n")
    assert open_text(tmp_path, f"{header};SQ_INSTS_VALU\n{row.strip()};5\n").sizes


@pytest.mark.parametrize("word", ["Microseconds", "microsecond", "us", "µs", "usec"])
def test_a_unit_in_words_is_that_of_the_runs_of_a_tuner(tmp_path: Path, word: str) -> None:
    result = {
        "configuration": {"x": 32},
        "invalidity": "correct",
        "measurements": [{"name": "Total", "unit": word, "value": 90.5}],
        "objectives": ["Total"],
        "times": {"compilation_time": 16215.0, "runtimes": [90.5]},
    }
    tree = {"results": [result, {**result, "configuration": {"x": 64}}]}
    ds = open_text(tmp_path, json.dumps(tree), "t4.json", shape="rows")
    assert ds.Total.values[0] == ds.time.values[0] == pytest.approx(90.5e-6)
    assert "assumed in us, as Total" in assumptions_of(ds)
    other = {**result, "times": {"runtimes": [3.0]}}
    ds = open_text(tmp_path, json.dumps({"results": [other]}), "t4.json", shape="rows")
    assert ds.time.values.item() == pytest.approx(3e-3)
    assert "assumed in ms, as Kernel Tuner writes" in assumptions_of(ds)
