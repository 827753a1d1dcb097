"""The catalogue: every shipped number has a source, published values, refusals, your own files."""

from __future__ import annotations

import copy
import math
import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dse
from dse.catalog import entries
from dse.catalog.entries import (
    Entry,
    Value,
    compute_capability,
    machine,
    machines,
    workload,
    workloads,
)
from symbolic.errors import DomainError, DseError, UnitError, UnknownNameError
from symbolic.expression import parse_value
from symbolic.quantities import TABLE, quantity

CAPABILITIES = [
    *("1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "3.0", "3.2", "3.5", "3.7", "5.0", "5.2", "5.3"),
    *("6.0", "6.1", "6.2", "7.0", "7.2", "7.5", "8.0", "8.6", "8.7", "8.8", "8.9", "9.0"),
    *("10.0", "10.1", "10.3", "10.7", "11.0", "12.0", "12.1"),
]
#: Limits that matter to products on tensor cores alone; known of some.
OF_PRODUCTS = {"l2_partitions", "multicast_sms"}
LIMITS = {
    "warp_size",
    "max_threads_per_sm",
    "max_warps_per_sm",
    "max_blocks_per_sm",
    "max_threads_per_block",
    "registers_per_sm",
    "max_registers_per_block",
    "shared_mem_per_sm",
    "max_shared_mem_per_block",
    "register_allocation_unit",
    "registers_allocated_per_warp",
    "warp_allocation_unit",
    "shared_mem_allocation_unit",
    "reserved_shared_mem_per_block",
    "cores_per_sm",
    "max_registers_per_thread",
    "warp_check_unit",
    "schedulers_per_sm",
    "cache_levels",
}
SHIPPED_MACHINES = [
    *("8800gt", "8800gtx", "a100_40", "a100_80", "a10g", "a40", "a4000", "b200"),
    *("b300", "c2075", "c2075_dp", "e5645_x2", "fx5600", "gb200", "gb300", "gh200"),
    *("gtx1080ti", "gtx280", "gtx480", "gtx580", "gtx690", "gtx690_dp", "h100_pcie", "h100_sxm"),
    *("h20", "h200", "hong2009_example", "hong2012_node", "l4", "l40", "l40s", "mi100"),
    *("mi210", "mi250x", "mi300x", "mi325x", "mi355x", "p100", "p4", "rtx2080ti"),
    *("rtx3080", "rtx3090", "rtx4090", "rtx5090", "rtxpro6000", "t4", "v100_pcie", "v100_sxm2"),
]
SHIPPED_WORKLOADS = [
    *("apsp", "blackscholes", "cmem", "dmadd", "dotp", "hong2009_example", "linear", "madd"),
    *("mat_naive", "mat_tiled", "mmul", "nmat", "sepia", "tmat"),
    *("svm", "svm_constant", "svm_naive", "stress_dram", "stress_l1", "stress_l2"),
    *(f"unit_{unit}" for unit in ("const", "fp", "int", "mem", "sfu", "shared", "tex")),
    *(f"mb_{letter}{form}" for letter in "abcdefgh" for form in "02"),
    *(f"mb{i}_{form}" for i in range(1, 8) for form in ("c", "uc")),
    *("triad", "reduction", "softmax", "stencil2d", "transpose"),
    *("spmv_csr", "nbody", "histogram", "gemm_tiled", "options"),
]


@pytest.fixture(autouse=True)
def _no_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DSE_PATH", raising=False)


def number(entry: Entry, name: str) -> float:
    """The value in SI, which must not be a formula."""
    value = entry.values[name].value
    if isinstance(value, str):
        value = parse_value(value, TABLE[name], TABLE)
    assert isinstance(value, (int, float))
    return value


def formula(entry: Entry, name: str, **known: float) -> float:
    """A formula's value by plain Python arithmetic, other values taken from the entry."""
    text = entry.values[name].value
    if not isinstance(text, str):
        return text
    if not isinstance(parse_value(text, TABLE[name], TABLE), float):
        names = {word for word in TABLE if word in text.replace("(", " ").replace(")", " ").split()}
        known |= {word: formula(entry, word, **known) for word in names - known.keys()}
        return float(eval(text, {"__builtins__": {}, "sqrt": math.sqrt}, known))
    return number(entry, name)


# --- what is shipped


def test_the_shipped_names() -> None:
    assert [*machines()] == [*SHIPPED_MACHINES, *(f"cc{name}" for name in CAPABILITIES)]
    assert sorted(workloads()) == sorted(SHIPPED_WORKLOADS)
    assert len(machines()) == len(SHIPPED_MACHINES) + len(CAPABILITIES)


@pytest.mark.parametrize("kind", ["machine", "workload"])
def test_every_shipped_entry_loads_and_every_value_has_one_origin(kind: str) -> None:
    entries = machines() if kind == "machine" else workloads()
    for name, entry in entries.items():
        assert entry.name == name
        assert entry.title
        assert entry.path.is_file()
        assert entry.kind == ("compute_capability" if name.startswith("cc") else kind)
        known = {**TABLE, **{row.name: row for row in entry.declared}}
        for key, value in entry.values.items():
            assert bool(value.source) != bool(value.assumed)
            parsed = value.value
            if known[key].is_label:
                assert parsed in (known[key].labels or [parsed])
            elif isinstance(parsed, str):
                parsed = parse_value(parsed, known[key], known)
            if isinstance(parsed, (int, float)):
                known[key].check(parsed, name)


@pytest.mark.parametrize("name", CAPABILITIES)
def test_every_compute_capability_has_every_limit(name: str) -> None:
    values = {key: value.value for key, value in compute_capability(name).values.items()}
    doubles = values.pop("fp64_units_per_sm", None)  # published of some
    assert doubles in (None, 2, 4, 8, 32, 64)
    assert values.pop("int_units_per_sm", None) == (64 if float(name) >= 7 else None)
    values = {key: value for key, value in values.items() if key not in OF_PRODUCTS}
    assert set(values) == LIMITS
    assert values["max_threads_per_sm"] == values["max_warps_per_sm"] * values["warp_size"]
    assert values["max_threads_per_block"] <= values["max_threads_per_sm"]
    assert values["max_registers_per_block"] <= values["registers_per_sm"]
    assert values["registers_per_sm"] % values["max_registers_per_block"] == 0
    # from 8.0 on, a block may use all but what the system reserves of it
    reserved = values["reserved_shared_mem_per_block"]
    assert values["max_shared_mem_per_block"] + reserved <= values["shared_mem_per_sm"]
    if float(name) >= 8:
        assert values["max_shared_mem_per_block"] + reserved == values["shared_mem_per_sm"]


def test_no_limit_is_given_twice() -> None:
    path = Path(entries.__file__).parents[1] / "data" / "compute_capabilities.toml"
    tree = tomllib.loads(path.read_text(encoding="utf-8"))
    given = [
        (row["quantity"], name)
        for row in tree["limits"]
        for _, names in row["values"]
        for name in names.split()
    ]
    assert len(given) == len(set(given))
    assert sum(name in LIMITS for name, _ in given) == len(LIMITS) * len(CAPABILITIES)


def test_double_precision_units_are_those_of_the_printed_rates() -> None:
    """Data sheets that print operations a second count two for each unit and cycle."""
    result = 0
    for name, entry in machines().items():
        if "fp64_flops" in entry.values and "fp64_units_per_sm" in entry.values:
            known = {key: number(entry, key) for key in ("n_sms", "boost_clock", "fp64_flops")}
            units = known["fp64_flops"] / (2 * known["n_sms"] * known["boost_clock"])
            assert number(entry, "fp64_units_per_sm") == pytest.approx(units, rel=0.13), name
            result += 1
    assert result >= 7


PUBLISHED = {
    # SMs, clock, bandwidth, latency, delays (coalesced, not), transactions: Hong 2012, Tables 2, 5
    "8800gtx": (16, 1.35e9, 86.4e9, 420, 4, 10, 32),
    "fx5600": (16, 1.35e9, 76.8e9, 420, 4, 10, 32),
    "8800gt": (14, 1.5e9, 57.6e9, 420, 4, 10, 32),
    "gtx280": (30, 1.3e9, 141.7e9, 450, 4, 40, 2),
    "hong2009_example": (16, 1e9, 80e9, 420, 4, 10, 32),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_machines_of_the_mwp_cwp_model(name: str) -> None:
    entry = machine(name)
    keys = [
        "n_sms",
        "nominal_clock",
        "mem_bandwidth",
        "mem_latency_nominal",
        "departure_delay_coalesced",
        "departure_delay_uncoalesced",
        "transactions_per_uncoalesced",
    ]
    ds = dse.evaluate("mwp_cwp", machine=name, outputs=keys)  # delays are those of the clock
    assert tuple(float(ds[key]) for key in keys) == PUBLISHED[name]
    assert number(entry, "issue_cycles") == 4
    assert number(entry, "cores_per_sm") == 8


def test_the_published_peaks_follow_from_cores_and_clock() -> None:
    """Table 2 prints 345.6, 336 (two operations a cycle) and 933 (three) Gflop/s."""
    for name, operations, gflops in (("8800gtx", 2, 345.6), ("8800gt", 2, 336), ("gtx280", 3, 936)):
        entry = machine(name)
        cores = number(entry, "n_sms") * number(entry, "cores_per_sm")
        peak = operations * cores * number(entry, "nominal_clock") / 1e9
        assert peak == pytest.approx(gflops)


def test_what_is_assumed_says_so() -> None:
    assert machine("gtx280").values["transactions_per_uncoalesced"].assumed
    assert machine("c2075").values["request_bytes"].assumed
    assert workload("mat_tiled").values["comp_insts"].assumed
    assert not machine("fx5600").values["transactions_per_uncoalesced"].assumed


def test_gtx480_of_the_tmm_model() -> None:
    entry = machine("gtx480")
    keys = ("n_sms", "cores_per_sm", "max_threads_per_sm", "shared_mem_per_sm", "registers_per_sm")
    assert [number(entry, key) for key in keys] == [15, 32, 1536, 48 * 1024, 32768]
    assert "Ma 2014" in entry.values["max_threads_per_sm"].source
    assert "NVIDIA" in entry.values["registers_per_sm"].source


TRANSIT = {
    # delta (threads, B/s), pi (threads, operations/s), lanes, bytes: Li 2015, section 3
    "c2075": ((1536, 8.93e9), (576, 24.8e9), 32, 4),
    "c2075_dp": ((768, 9.29e9), (384, 14e9), 16, 8),
    "gtx690": ((2048, 16.25e9), (2048, 80e9), 192, 4),
    "gtx690_dp": ((1024, 18.86e9), (384, 8e9), 8, 8),
}


@pytest.mark.parametrize("name", TRANSIT)
def test_machines_of_the_transit_model(name: str) -> None:
    entry = machine(name)
    (threads, bandwidth), (filling, rate), lanes, size = TRANSIT[name]
    clock = number(entry, "nominal_clock")
    width = formula(entry, "lanes_width", cs_peak_flops=rate, nominal_clock=clock)
    assert width == pytest.approx(rate / clock, rel=1e-15)
    # the GTX 690 boosts its clock to 1.019 GHz
    assert width * clock <= lanes * max(clock, 1.019e9 * name.startswith("gtx690"))
    latency = formula(entry, "arithmetic_latency", cs_peak_flops=rate, nominal_clock=clock)
    assert latency * width == pytest.approx(filling, rel=1e-15)
    assert number(entry, "cs_peak_flops") == rate
    assert number(entry, "request_bytes") == size
    peak = formula(entry, "ms_peak", core_clock=clock)
    assert peak == pytest.approx(bandwidth / size / clock)
    latency = formula(entry, "mem_latency", core_clock=clock)
    assert latency == pytest.approx(threads * size * clock / bandwidth)
    # all multiprocessors together stay below the board's bandwidth
    assert number(entry, "n_sms") * bandwidth < number(entry, "mem_bandwidth")


MERGE = {
    # elements, computation, coalesced, uncoalesced, registers, shared memory, intensity (Table 4)
    "sepia": (7000 * 7000, 71, 0, 6, 7, 52, 11.8),
    "linear": (10000 * 10000, 111, 0, 30, 15, 60, 3.7),
    "svm": (736 * 992, 10871, 819, 0, 9, 44, 13.3),
    "mat_naive": (2000 * 2000, 12043, 0, 4001, 10, 88, 3),
    "blackscholes": (9000000, 137, 0, 7, 11, 36, 19),
}


@pytest.mark.parametrize("name", MERGE)
def test_merge_benchmarks(name: str) -> None:
    entry = workload(name)
    keys = ("elements", "comp_insts", "coalesced_insts", "uncoalesced_insts")
    keys += ("registers_per_thread", "shared_mem_per_block")
    *values, intensity = MERGE[name]
    assert [number(entry, key) for key in keys] == values
    assert number(entry, "sync_insts") == 0
    assert values[1] / (values[2] + values[3]) == pytest.approx(intensity, abs=0.6)


@pytest.mark.parametrize(("tile", "comp", "memory"), [(20, 9780, 201), (4, 24580, 1001)])
def test_tiled_multiplication_passes_through_both_published_ends(
    tile: int, comp: int, memory: int
) -> None:
    entry = workload("mat_tiled")
    threads = float(tile * tile)
    assert formula(entry, "comp_insts", threads_per_block=threads, tile=float(tile)) == comp
    assert formula(entry, "tile", threads_per_block=threads) == tile
    assert formula(entry, "uncoalesced_insts", tile=float(tile)) == memory
    assert formula(entry, "sync_insts", tile=float(tile)) == 4000 / tile


def test_micro_benchmarks() -> None:
    computation = (23, 17, 29, 27, 35, 47, 59)
    memory = (0, 1, 1, 2, 2, 4, 6)
    for i, (comp, mem) in enumerate(zip(computation, memory, strict=True), 1):
        for form, expected in (("c", (comp, mem, 0)), ("uc", (comp, 0, mem))):
            entry = workload(f"mb{i}_{form}")
            keys = ("comp_insts", "coalesced_insts", "uncoalesced_insts")
            assert tuple(number(entry, key) for key in keys) == expected


def test_the_worked_example() -> None:
    entry = workload("hong2009_example")
    keys = ("comp_insts", "uncoalesced_insts", "sync_insts", "blocks", "threads_per_block")
    assert [number(entry, key) for key in keys] == [27, 6, 6, 80, 128]
    assert number(entry, "active_blocks_per_sm") == 5


# --- limits against known occupancies


def up(value: float, unit: float) -> int:
    return math.ceil(value / unit) * int(unit)


def resident_blocks(name: str, threads: int, registers: int, shared: int) -> int:
    """Blocks of one multiprocessor, as NVIDIA's header counts them."""
    limit = {key: int(value.value) for key, value in compute_capability(name).values.items()}
    if threads > limit["max_threads_per_block"]:
        return 0
    warps = math.ceil(threads / limit["warp_size"])
    blocks = [limit["max_blocks_per_sm"], limit["max_warps_per_sm"] // warps]
    if registers:
        unit, group = limit["register_allocation_unit"], limit["warp_allocation_unit"]
        pool = limit["registers_per_sm"]
        if limit["registers_allocated_per_warp"]:
            each = up(registers * limit["warp_size"], unit)
            blocks.append(pool // group // each * group // warps)
            query = each * up(warps, limit["warp_check_unit"])
        else:
            query = up(up(warps, group) * limit["warp_size"] * registers, unit)
            blocks.append(pool // query)
        if query > limit["max_registers_per_block"] or (
            registers > limit["max_registers_per_thread"]
        ):
            return 0
    used = shared + limit["reserved_shared_mem_per_block"]
    if shared > limit["max_shared_mem_per_block"]:
        return 0
    if used:
        blocks.append(limit["shared_mem_per_sm"] // up(used, limit["shared_mem_allocation_unit"]))
    return min(blocks)


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "blocks"),
    [
        # from NVIDIA's own tests and header; its old spreadsheet has 4 for 5.2, where it takes
        # global caching to be partitioned
        ("1.0", 256, 10, 2048, 3),
        ("1.0", 256, 16, 2048, 2),
        ("1.0", 256, 20, 2048, 1),
        ("1.3", 256, 10, 2048, 4),
        ("1.3", 256, 16, 2048, 4),
        ("1.3", 256, 20, 2048, 3),
        ("1.3", 256, 21, 2048, 2),
        ("1.3", 256, 10, 8192, 2),
        ("5.0", 128, 85, 0, 5),
        ("5.2", 128, 85, 0, 5),
        # each limit in turn, by hand
        ("2.0", 256, 20, 0, 6),
        ("2.0", 1024, 63, 0, 0),
        ("3.5", 1024, 64, 0, 1),
        ("7.5", 64, 32, 0, 16),
        ("8.0", 32, 32, 0, 32),
        ("8.0", 128, 32, 166912, 1),
        ("8.0", 128, 32, 166913, 0),
        ("8.6", 1024, 32, 0, 1),
        ("8.9", 64, 32, 0, 24),
        ("9.0", 1024, 32, 1024, 2),
        ("12.0", 768, 40, 0, 2),
    ],
)
def test_known_occupancies(
    name: str, threads: int, registers: int, shared: int, blocks: int
) -> None:
    assert resident_blocks(name, threads, registers, shared) == blocks


# --- names, paths and mappings


def test_names_in_any_case() -> None:
    assert machine("GTX280") == machine("gtx280") == machines()["GTX280"]
    assert "GTX280" in machines()
    assert 3 not in machines()


def test_a_compute_capability_is_a_machine() -> None:
    assert machine("cc8.0") == machines()["cc8.0"] == compute_capability("8.0")
    assert machine("cc8.0").values["cores_per_sm"].value == 64


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: machine("gtx28"), "'gtx28' is no machine; did you mean 'gtx280'? (dse machines"),
        (lambda: machine("cc8.5"), "'cc8.5' is no machine; did you mean 'cc8.9'?"),
        (lambda: machine("svm"), "'svm' is no machine but a workload"),
        (lambda: workload("gtx280"), "'gtx280' is no workload but a machine"),
        (lambda: machine(""), "'' is no machine (dse machines lists all; one of "),
        (lambda: workloads()["sepa"], "'sepa' is no workload; did you mean 'sepia'?"),
        (lambda: compute_capability("8.5"), "'8.5' is no known compute capability; did you"),
    ],
)
def test_unknown_names(ask, message: str) -> None:
    with pytest.raises(UnknownNameError) as error:
        ask()
    assert str(error.value).startswith(message)


def test_a_mapping_behaves_as_one() -> None:
    assert machines().get("gtx28") is None
    with pytest.raises(KeyError):
        machines()["gtx28"]
    assert repr(workloads()).startswith("<Workloads: 67: apsp, blackscholes, ")


def test_entries_are_immutable_equal_and_travel() -> None:
    entry = machine("gtx280")
    with pytest.raises(TypeError):
        entry.values["n_sms"] = Value(value=1, source="a")  # type: ignore[index]
    assert pickle.loads(pickle.dumps(entry)) == entry == copy.deepcopy(entry)
    assert hash(entry) == hash(machine("gtx280"))


@pytest.mark.parametrize("origin", [{}, {"source": "a", "assumed": "b"}, {"source": " "}])
def test_a_value_has_one_origin(origin: dict[str, str]) -> None:
    with pytest.raises(DseError, match=r"the value 3 has (both|neither)"):
        Value(value=3, **origin)


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, dse.catalog.entries as c; [*c.machines()]; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"sympy", "numba", "dask", "xarray", "pandas", "pint", "scipy", "matplotlib"}
    assert not heavy & set(out.stdout.split())


# --- files of your own

OWN = 'title = "Mine"\n[values]\nn_sms = { value = 7, source = "me" }\n'


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_by_path_read_again_when_it_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", OWN)
    entry = machine(str(path))
    assert (entry.name, entry.title, entry.path) == ("mine", "Mine", path)
    assert entry.values == {"n_sms": Value(value=7, source="me")}
    assert machine("mine.toml", folder=tmp_path) == entry
    write(path, OWN.replace("7", "12"))
    assert machine(str(path)).values["n_sms"].value == 12
    with pytest.raises(DseError, match=r"the machine file 'other\.toml' does not exist"):
        machine("other.toml", folder=tmp_path)


def test_limits_base_and_own_values_in_that_order(tmp_path: Path) -> None:
    write(
        tmp_path / "parent.toml",
        'title = "P"\ncompute_capability = "1.3"\n[values]\n'
        'n_sms = { value = 7, source = "p" }\nmax_blocks_per_sm = { value = 5, source = "p" }\n'
        'warp_size = { value = 16, source = "p" }\n',
    )
    child = (
        'title = "C"\nbase = "parent.toml"\n[values]\nwarp_size = { value = 64, assumed = "c" }\n'
    )
    write(tmp_path / "child.toml", child)
    entry = machine("child.toml", folder=tmp_path)
    got = {key: value.value for key, value in entry.values.items()}
    assert (got["n_sms"], got["max_blocks_per_sm"], got["warp_size"]) == (7, 5, 64)
    assert got["max_threads_per_sm"] == 1024
    assert entry.values["warp_size"] == Value(value=64, assumed="c")
    assert entry.compute_capability == "1.3"
    # another compute capability replaces the limits, and what the base says itself stays
    write(tmp_path / "newer.toml", child.replace("\nbase", '\ncompute_capability = "8.0"\nbase'))
    newer = machine("newer.toml", folder=tmp_path).values
    assert newer["max_threads_per_sm"].value == 2048
    assert newer["max_blocks_per_sm"].value == 5


def test_base_is_a_shipped_name_or_a_compute_capability(tmp_path: Path) -> None:
    path = write(tmp_path / "a.toml", 'title = "A"\nbase = "gtx280"\n')
    assert machine(str(path)).values == machine("gtx280").values
    path = write(tmp_path / "b.toml", 'title = "B"\nbase = "cc8.0"\n')
    assert machine(str(path)).values == compute_capability("8.0").values
    path = write(tmp_path / "w.toml", 'title = "W"\nbase = "svm"\n')
    assert workload(str(path)).values == workload("svm").values


def test_bases_in_a_circle(tmp_path: Path) -> None:
    write(tmp_path / "a.toml", 'title = "A"\nbase = "b.toml"\n')
    back = f"../{tmp_path.name}/a.toml"
    write(tmp_path / "b.toml", f'title = "B"\n\nbase = "{back}"\n')
    with pytest.raises(DseError, match=r"a\.toml, line 2: base runs in a circle: a -> b -> a"):
        machine("a.toml", folder=tmp_path)


def test_names_found_through_dse_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "one" / "machines" / "Mine.toml", OWN)
    write(tmp_path / "one" / "workloads" / "load.toml", 'title = "L"\n')
    write(tmp_path / "two" / "flat.toml", 'kind = "machine"\n' + OWN)
    write(tmp_path / "two" / "other.toml", 'kind = "workload"\n' + 'title = "O"\n')
    write(tmp_path / "two" / "study.toml", 'model = "mwp_cwp"\nmachine = "gtx280"\n')
    write(tmp_path / "two" / "machines" / "broken.toml", "not toml")
    parts = (str(tmp_path / "one"), "", str(tmp_path / "two"), str(tmp_path / "two"))
    monkeypatch.setenv("DSE_PATH", os.pathsep.join(parts))
    own = {*machines()} - {*SHIPPED_MACHINES} - {f"cc{name}" for name in CAPABILITIES}
    assert own == {"mine", "flat", "broken"}  # listing parses none of them
    assert {*workloads()} - {*SHIPPED_WORKLOADS} == {"load", "other"}
    assert machine("mine").values["n_sms"].value == machines()["flat"].values["n_sms"].value == 7
    assert workload("other").title == "O"
    with pytest.raises(DseError, match="this is not TOML"):
        machines()["broken"]


def test_a_name_is_never_shadowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "machines" / "gtx280.toml", OWN)
    monkeypatch.setenv("DSE_PATH", str(tmp_path))
    with pytest.raises(DseError, match="'gtx280' names 2 machines: ") as error:
        machine("gtx280")
    assert str(path) in str(error.value)
    assert machine(str(path)).values["n_sms"].value == 7
    assert "gtx280" in machines()


def test_a_missing_folder_of_dse_path_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSE_PATH", "/nowhere/at/all")
    with pytest.raises(UnknownNameError, match="DSE_PATH lists /nowhere/at/all, no folder"):
        machine("mine")
    assert machine("gtx280").title


def test_quantities_of_a_users_model(tmp_path: Path) -> None:
    text = OWN + 'base_power = { value = "83 W", source = "me" }\n'
    path = write(tmp_path / "mine.toml", text)
    own = quantity("base_power", unit="W", domain="[0, inf)")
    entry = machine(str(path), quantities={**TABLE, own.name: own})
    assert entry.values["base_power"].value == "83 W"
    with pytest.raises(UnknownNameError, match="line 4: 'base_power' is no known quantity"):
        machine(str(path))


# --- refusals

HEAD = 'title = "x"\n[values]\n'


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (HEAD + "n_sms 30", DseError, "line 3: this is not TOML: Expected '=' after a key"),
        (HEAD + "n_sms 30", DseError, "the line is 'n_sms 30'"),
        ('title = "x', DseError, "line 1: this is not TOML"),
        ('[values]\nn_sms = { value = 3, source = "a" }', DseError, ": the title is missing"),
        ("title = 3", DseError, 'line 1: title = 3, expected text: title = "3"'),
        (
            HEAD + 'n_smss = { value = 3, source = "a" }',
            UnknownNameError,
            "line 3: 'n_smss' is no known quantity; did you mean 'n_sms'?",
        ),
        (
            'title = "x"\nn_sms = 3',
            DseError,
            "line 2: 'n_sms' is no key of a machine: expected title, kind, base, values, "
            "compute_capability, unknown; quantities stand under [values]",
        ),
        ('title = "x"\nbass = "a"', DseError, "line 2: 'bass' is no key of a machine"),
        ('title = "x"\nbass = "a"', DseError, "did you mean 'base'?"),
        ('title = "x"\nvalues = 3', DseError, "line 2: values = 3, expected a table"),
        (HEAD + "n_sms = 30", DseError, "line 3: n_sms = 30 has no source: write n_sms = {"),
        (HEAD + "n_sms = { value = 3 }", DseError, "n_sms has neither source nor assumed: write"),
        (
            HEAD + 'n_sms = { value = 3, source = "a", assumed = "b" }',
            DseError,
            "line 3: n_sms has both source and assumed",
        ),
        (
            HEAD + 'n_sms = { value = 3, source = "" }',
            DseError,
            "line 3: n_sms: source = '', expected text",
        ),
        (
            HEAD + "n_sms = { value = 3, source = 3 }",
            DseError,
            "line 3: n_sms: source = 3, expected text",
        ),
        (
            HEAD + 'n_sms = { value = 3, sorce = "a" }',
            DseError,
            "n_sms has 'sorce', expected value, source, assumed, holds_for, spread, counted; did "
            "you mean 'source'?",
        ),
        (HEAD + 'n_sms = { source = "a" }', DseError, "line 3: n_sms has no value, expected"),
        (HEAD + 'n_sms = { value = true, source = "a" }', DseError, "n_sms has true, expected"),
        (HEAD + 'n_sms = { value = [1], source = "a" }', DseError, "n_sms has [1], expected a n"),
        (HEAD + 'n_sms = { value = 2020-01-02, source = "a" }', DseError, "n_sms has 2020-01-02"),
        (HEAD + 'n_sms = { value = nan, source = "a" }', DomainError, "n_sms = nan, expected"),
        (
            HEAD + 'mem_bandwidth = { value = inf, source = "a" }',
            DomainError,
            "line 3: mem_bandwidth = inf, expected a finite number in B/s",
        ),
        (HEAD + f'n_sms = {{ value = {10**400}, source = "a" }}', DomainError, "expected a finite"),
        (
            HEAD + 'n_sms = { value = 0, source = "a" }',
            DomainError,
            "line 3: n_sms = 0 (this file) is outside its domain whole [1, inf)",
        ),
        (
            HEAD + 'mem_bandwidth = { value = "-3 GB/s", source = "a" }',
            DomainError,
            "line 3: mem_bandwidth = -3e+09 B/s (this file) is outside its domain",
        ),
        (HEAD + 'mem_bandwidth = { value = "80 GHz", source = "a" }', UnitError, "expected a band"),
        (HEAD + 'mem_bandwidth = { value = "80 GX/s", source = "a" }', UnitError, "line 3: 'GX'"),
        (
            HEAD + 'ms_peak = { value = "mem_bandwith / 8", source = "a" }',
            UnknownNameError,
            "line 3: 'mem_bandwith' is no quantity; did you mean 'mem_bandwidth'?",
        ),
        (HEAD + 'ms_peak = { value = "3 * ", source = "a" }', DseError, "line 3: the formula ends"),
        (
            HEAD + 'rounding = { value = "hole", source = "a" }',
            DseError,
            "line 3: rounding = 'hole', expected one of continuous, whole in quotes; did you mean",
        ),
        (HEAD + 'printed = { value = true, source = "a" }', DseError, "printed = true, expected"),
        (
            'title = "x"\ncompute_capability = "8.5"',
            UnknownNameError,
            "line 2: '8.5' is no known compute capability; did you mean '8.9'?; there are: 1.0, ",
        ),
        (
            'title = "x"\ncompute_capability = 8.0',
            DseError,
            'line 2: compute_capability = 8.0, expected text: compute_capability = "8.0"',
        ),
        (
            'title = "x"\nbase = "gtx281"',
            UnknownNameError,
            "line 2: base: 'gtx281' is no machine; did you mean 'gtx280'?",
        ),
        ('title = "x"\nbase = "no.toml"', DseError, "the machine file 'no.toml' does not exist"),
        ('title = "x"\nkind = "workload"', DseError, "line 2: this is a workload, expected a mach"),
    ],
)
def test_a_bad_machine_file_is_refused(
    tmp_path: Path, text: str, kind: type[DseError], message: str
) -> None:
    path = write(tmp_path / "bad.toml", text)
    with pytest.raises(kind) as error:
        machine(str(path))
    assert message in str(error.value)
    assert str(path) in str(error.value) or "no.toml" in str(error.value)


def test_a_workload_has_no_compute_capability(tmp_path: Path) -> None:
    path = write(tmp_path / "w.toml", 'title = "x"\ncompute_capability = "1.0"')
    with pytest.raises(DseError, match="line 2: 'compute_capability' is no key of a workload"):
        workload(str(path))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('title = "x"\nvalues.n_sms.value = 0\nvalues.n_sms.source = "a"', 2),
        ('title = "x"\n\n[values.n_sms]\nvalue = 0\nsource = "a"', 3),
        ('title = "x"\n[values]\n"n_sms" = { value = 0, source = "a" }', 3),
        ('title = "x"\nvalues = { warp_size = { value = 1, source = "n_sms" }, '
         'n_sms = { value = 0, source = "a" } }', 2),
        ('title = """\n[values]\nn_sms = 1\n"""\n[values] # n_sms\n# n_sms = 3\n'
         'n_sms.value = 0\nn_sms.source = """\nb"""', 7),
        ('title = "x"\r\n[values]\r\nn_sms = { value = 0, source = "a" }\r\n', 3),
        ('\ufefftitle = "x"\n[values]\nn_sms = { value = 0, source = "a" }', 3),
    ],
)  # fmt: skip
def test_the_line_is_found_in_every_form(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(text.encode())
    with pytest.raises(DomainError, match=f"bad.toml, line {line}: n_sms = 0 "):
        machine(str(path))


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"title = '\xff'")
    with pytest.raises(DseError, match=r"bad\.toml cannot be read as text"):
        machine(str(path))
