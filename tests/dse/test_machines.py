"""GPUs of this decade: what was measured of them, what is not known, and the names they go by."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import dse
from dse.catalog import entries
from dse.catalog.entries import Entry, machine, machines, unavailable_models
from symbolic.errors import DseError, UnknownNameError
from symbolic.expression import parse_value
from symbolic.quantities import TABLE

MODERN = [
    *("p100", "p4", "gtx1080ti", "v100_pcie", "v100_sxm2", "t4", "rtx2080ti", "a100_40", "a100_80"),
    *("a40", "rtx3080", "rtx3090", "a4000", "l4", "l40", "rtx4090", "h100_pcie", "h100_sxm"),
    *("gh200", "mi100", "mi210", "mi250x", "mi300x"),
]
#: SMs, clock [MHz], latencies of L1, L2 and DRAM [cycles], bandwidths of reads, a triad and L2
#: [GB/s]; and the cycles between two requests of 128 B of an SM, which follow from them.
MEASURED = {
    "v100_pcie": ((80, 1380, 28, 212, 434, 867, 788, 2300), 16.3),
    "a100_80": ((108, 1410, 33, 206, 552, 1776, 1794, 5420), 11.0),
    "a40": ((84, 1740, 33, 250, 556, 680, 671, 2900), 27.5),
    "l40": ((142, 2490, 34, 274, 625, 845, 831, 5180), 53.6),
    "h100_pcie": ((114, 1755, 32, 264, 649, 1942, 1832, 7080), 13.2),
    "gh200": ((132, 1980, 32, 280, 687, 2775, 3783, 10260), None),
    "mi210": ((104, 1700, 129, 253, 687, 1397, 1232, 5076), None),
    "mi300x": ((304, 2092, 120, 213, 882, 4199, 4000, 13700), None),
}


def value(entry: Entry, name: str) -> float:
    """A value in SI; formulas are those of the file alone."""
    text = entry.values[name].value
    parsed = parse_value(text, TABLE[name], TABLE) if isinstance(text, str) else text
    if isinstance(parsed, (int, float)):
        return float(parsed)
    known = dse.evaluate("mwp_cwp", machine=entry.name, outputs=[name], **LAUNCH)
    return float(known[name])


LAUNCH = {"elements": 1, "threads_per_block": 32, "active_blocks_per_sm": 1, "sync_insts": 0}
LAUNCH |= {"comp_insts": 1, "coalesced_insts": 1, "uncoalesced_insts": 0}


@pytest.mark.parametrize("name", MEASURED)
def test_what_was_measured(name: str) -> None:
    entry, (wanted, spacing) = machine(name), MEASURED[name]
    keys = ("n_sms", "nominal_clock", "l1_latency", "l2_latency", "mem_latency_nominal")
    keys += ("read_bandwidth", "triad_bandwidth", "l2_bandwidth")
    scale = (1, 1e6, 1, 1, 1, 1e9, 1e9, 1e9)
    assert [value(entry, k) / u for k, u in zip(keys, scale, strict=True)] == list(wanted)
    if spacing is not None:
        ds = dse.evaluate("mwp_cwp", machine=name, **LAUNCH)
        assert float(ds.departure_delay_coalesced) == pytest.approx(spacing, abs=0.05)


@pytest.mark.parametrize("name", MODERN)
def test_what_is_measured_stays_below_what_is_printed(name: str) -> None:
    entry = machine(name)
    known = {k for k in ("read_bandwidth", "triad_bandwidth") if k in entry.values}
    assert all(value(entry, k) < value(entry, "mem_bandwidth") for k in known)
    levels = [k for k in ("l1_latency", "l2_latency", "far_l2_latency", "l3_latency") if
              k in entry.values]  # fmt: skip
    levels += ["mem_latency_nominal"] * ("mem_latency_nominal" in entry.values)
    latencies = [value(entry, k) for k in levels]
    assert latencies == sorted(latencies)
    sizes = [value(entry, k) for k in ("l1_size", "l2_size", "mem_size") if k in entry.values]
    assert sizes == sorted(sizes)
    assert value(entry, "release_year") >= 2016


@pytest.mark.parametrize("name", MODERN)
def test_single_precision_is_what_cores_and_clock_make(name: str) -> None:
    """Two operations a core and cycle; CDNA 3 does two of these at once, MI100 rounds."""
    entry = machine(name)
    clock = value(entry, "boost_clock") if "boost_clock" in entry.values else 0
    made = 2 * value(entry, "n_sms") * value(entry, "cores_per_sm") * clock
    made *= 2 if name == "mi300x" else 1
    assert value(entry, "fp32_flops") == pytest.approx(made, rel=0.02)


#: Half precision over single by compute capability (CUDA programming guide), else twice.
HALF = {"6.1": 1 / 64, "8.0": 4, "8.6": 1, "8.9": 1}


@pytest.mark.parametrize("name", MODERN)
def test_rates_of_half_precision_follow_from_those_of_single(name: str) -> None:
    entry = machine(name)
    single = value(entry, "fp32_flops")
    if "fp16_flops" in entry.values:
        expected = HALF.get(entry.compute_capability, 2)
        assert value(entry, "fp16_flops") / single == pytest.approx(expected, rel=0.01)
    assert ("fp16_flops" in entry.values) != name.startswith("mi")  # AMD's are of matrix units
    assert ("tensor_fp16_flops" in entry.values) != entry.compute_capability.startswith("6")
    if "tensor_fp16_flops" in entry.values:
        assert value(entry, "tensor_fp16_flops") / single > 1.9


@pytest.mark.parametrize("name", MODERN)
def test_what_is_not_known_is_said_and_closes_models(name: str) -> None:
    entry = machine(name)
    closed = unavailable_models(entry)
    assert not set(entry.unknown) & set(entry.values)
    assert set(entry.unknown) <= set(TABLE)
    open_ = "mem_latency_nominal" in entry.values
    assert ("mwp_cwp" not in closed) == ("transit" not in closed) == open_
    assert open_ != ("mem_latency_nominal" in entry.unknown)
    assert "occupancy" not in closed
    if entry.compute_capability[:1] != "6":  # relatives give what nobody publishes
        assert "latency_roofline" not in closed
    assert "power" in closed  # nobody publishes the powers of the units
    if "mwp_cwp" not in closed:
        assert float(dse.evaluate("mwp_cwp", machine=name, **LAUNCH).time) > 0


def test_the_command_tells_what_is_not_known(run: Callable[..., Result]) -> None:
    text = run("machines", "P100").stdout
    assert "mem_latency_nominal  no measurement of this GPU is published" in text
    assert "mwp_cwp mem_latency_nominal" in " ".join(text.split())
    data = json.loads(run("machines", "gtx1080ti", "--json").stdout)
    assert "mem_latency_nominal" in data["closed_models"]["mwp_cwp"]
    assert data["unknown"]["mem_latency_nominal"].startswith("no measurement")
    text = " ".join(run("machines", "RTX 3080").stdout.split())
    assert "assumed: as a40, ± 30 %: the same time" in text
    assert "closed_models" not in dse.workload("svm")._answer().data
    assert "missing inputs" not in str(dse.workload("svm")._answer())


def test_a_closed_model_opens_when_a_study_gives_what_it_lacks() -> None:
    lacking = unavailable_models(machine("p100"))["mwp_cwp"]
    given = {"threads_per_block": 256, **dict.fromkeys(lacking, 500)}
    study = dse.Study(model="occupancy + mwp_cwp", machine="p100", workload="svm", set=given)
    assert study.run().time.item() > 0


@pytest.mark.parametrize(
    ("name", "means"),
    [
        ("RTX 3080", "rtx3080"),
        ("NVIDIA GeForce RTX 3080", "rtx3080"),
        ("3080", "rtx3080"),
        ("rtx-4090", "rtx4090"),
        ("Tesla T4", "t4"),
        ("A100-SXM4-80GB", "a100_80"),
        ("NVIDIA A100-SXM4-40GB", "a100_40"),
        ("H100 PCIe", "h100_pcie"),
        ("AMD Instinct MI300X", "mi300x"),
        ("GTX 280", "gtx280"),
        ("sm_86", "cc8.6"),
        ("CC 8.0", "cc8.0"),
        ("compute_90", "cc9.0"),
        ("sm_121", "cc12.1"),
        ("sm_90a", "cc9.0"),
    ],
)
def test_names_of_products_lead_to_machines(name: str, means: str) -> None:
    assert machine(name) == machines()[means]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a100", r"the name of more than one machine: type a100_40 \(NVIDIA A100 SXM4, 40 GB\)"),
        ("H100", r"type h100_pcie \(NVIDIA H100 PCIe\) or h100_sxm \(NVIDIA H100 SXM5\)$"),
        ("Tesla V100", "type v100_pcie .* or v100_sxm2 "),
        ("Tesla C2075", "type c2075 .* or c2075_dp "),
        ("GTX 1080", r"no machine file\. Its compute capability is 6\.1: take cc6\.1 for its"),
        ("GeForce RTX 4080", r"dse new machine rtx4080\.toml --from cc8\.9"),
        ("h100_nvl", r"h100_nvl"),
        ("mi300", "did you mean 'mi300x'"),
        ("a4", "'a4' is no machine; did you mean 'a40'"),
        ("sm_85", "'sm_85' is no machine"),
        ("", "'' is no machine .dse machines lists all"),
        (" - ", "is no machine .dse machines lists all"),
    ],
)
def test_names_that_mean_several_or_none(name: str, message: str) -> None:
    with pytest.raises(UnknownNameError, match=message):
        machine(name)


def test_every_product_leads_to_a_known_capability() -> None:
    for capability in entries._product_capabilities().values():
        assert f"cc{capability}" in machines()
    for name in MODERN:
        entry = machine(name)
        recorded = entries.product_capability(entry.title.partition(",")[0])
        assert recorded in ("", entry.compute_capability)


OWN = 'title = "mine"\n[unknown]\n{}\n[values]\nn_sms = {{ value = 8, source = "me" }}\n'


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('l2_latncy = "x"', r"line 3: 'l2_latncy' is no known quantity; did you mean 'l2_latency'"),
        ('n_sms = "x"', "line 3: n_sms is unknown and has a value: keep one of them"),
        ('l2_latency = " "', "line 3: l2_latency = ' ', expected the reason as text"),
        ("l2_latency = 3", "line 3: l2_latency = 3, expected the reason as text"),
    ],
)
def test_a_bad_table_of_what_is_unknown_is_refused(line: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN.format(line))
    with pytest.raises(DseError, match=message):
        machine(str(path))


def test_what_a_base_does_not_know_is_inherited_until_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        'title = "b"\n[unknown]\nl2_latency = "not measured"\nl1_latency = "not measured"\n'
    )
    (tmp_path / "own.toml").write_text(
        'title = "o"\nbase = "base.toml"\n[values]\n'
        'l2_latency = { value = 200, source = "measured since" }\n'
    )
    assert dict(machine("own.toml", folder=tmp_path).unknown) == {"l1_latency": "not measured"}
    (tmp_path / "own.toml").write_text('title = "o"\nunknown = 3\n')
    with pytest.raises(DseError, match="line 2: unknown = 3, expected a table of quantities"):
        machine("own.toml", folder=tmp_path)


@pytest.mark.parametrize(
    ("machine", "cores", "integers"),
    [("p100", 64, 64), ("gtx1080ti", 128, 128), ("a100_40", 64, 64), ("h100_sxm", 128, 64)],
)
def test_integer_multiply_adds_run_on_the_pipe_of_floating_point(
    machine: str, cores: int, integers: int
) -> None:
    """10 FP32, 30 IMAD and 20 other integer instructions of a thread, by hand."""
    counts = {"fp_insts": 10, "imad_insts": 30, "int_insts": 50, "comp_insts": 60, "sfu_insts": 0}
    counts |= {"blocks": 10000, "threads_per_block": 256, "registers_per_thread": 32}
    counts |= {"coalesced_insts": 1, "uncoalesced_insts": 0, "shared_mem_per_block": 0}
    names = ["fp_time", "int_time", "cores_per_sm", "int_units_per_sm", "core_clock", "n_sms"]
    ds = dse.evaluate(
        "occupancy + latency_roofline", machine=machine, outputs=names, dram_bytes=1e9, **counts
    )
    assert (float(ds.cores_per_sm), float(ds.int_units_per_sm)) == (cores, integers)
    threads = 10000 * 256 / float(ds.n_sms * ds.core_clock)
    assert float(ds.fp_time) == pytest.approx(threads * max(40 / cores, 30 / integers))
    assert float(ds.int_time) == pytest.approx(threads * 20 / integers)
