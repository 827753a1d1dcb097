"""Models: shipped, the user's own, and unions of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from symbolic.errors import DseError, GraphError, UnknownNameError
from symbolic.library import available_models, iterate_models, load_model
from symbolic.model import Family, Model

HEAD = "from symbolic.equation import equation\nfrom symbolic.quantities import quantity\n"
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(name: str, text: str) -> str:
        path = tmp_path / f"{name}.py"
        path.write_text(f'"""The model {name}."""\n{HEAD}\n{text}\n')
        return str(path)

    return put


HEAT = """
lost_power = quantity("lost_power", unit="W", domain="[0, inf)", meaning="power that becomes heat")

@equation(source="mine", unit="K", domain="[0, inf)", meaning="rise above the room")
def heat_rise(lost_power):
    return lost_power / 2
"""


def test_importing_a_model_does_not_load_sympy() -> None:
    code = (
        "import sys, symbolic.library as m; m.load_model('transit').variants('bound');"
        "assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_shipped_model_loads_with_sources_and_a_summary() -> None:
    names = [model.name for model in iterate_models()]
    assert {"occupancy", "transit"} <= set(names)
    for model in iterate_models():
        assert model.summary, model.name
        assert model.citations, model.name
        assert set(model.outputs) <= set(model.yields)
        for eq in model.equations:
            assert eq.source, eq.describe()
            assert eq.doc, eq.describe()


def test_every_shipped_family_names_quantities_of_its_model() -> None:
    for model in iterate_models():
        for family in model.families:
            assert family.of in model.yields
            assert len(family.terms) >= 2
            for term in family.terms.values():
                model.quantity(term)


def test_what_a_model_says_about_itself() -> None:
    model = load_model("transit")
    machine = {"mem_latency", "arithmetic_latency", "lanes_width", "ms_peak"}
    assert set(model.inputs) == {"threads", "intensity"} | machine
    assert model.yields[:2] == ("thread_limit", "computation_limit")
    assert set(model.inputs).isdisjoint(model.yields)
    assert len(set(model.citations)) == len(model.citations)


def test_inputs_follow_the_switches_and_the_outputs_asked_for() -> None:
    model = load_model("occupancy")
    assert "warp_allocation_unit" not in model.inputs
    assert "warp_allocation_unit" in model.needs(granularity="cuda")
    assert model.needs("warps_per_block") == ("threads_per_block", "warp_size")
    with pytest.raises(DseError, match="does not contain time"):
        model.needs("time")
    with pytest.raises(UnknownNameError, match="did you mean 'occupancy'"):
        model.needs("ocupancy")


def test_an_unknown_model_names_the_nearest_and_all() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'transit'\?.*there are: .*occupancy"):
        load_model("transitt")
    with pytest.raises(DseError, match=r"'nowhere\.py' does not exist"):
        load_model("nowhere.py")


def test_a_model_object_stays_itself() -> None:
    model = load_model("transit")
    assert load_model(model) is model
    assert load_model("transit") is model


# --- the user's own


def test_a_model_of_ones_own_is_a_file(write: Write) -> None:
    model = load_model(write("heat", HEAT))
    assert (model.name, model.summary) == ("heat", "The model heat.")
    assert model.quantity("heat_rise").unit == "K"
    assert model.inputs == ("lost_power",)
    assert model.outputs == ("heat_rise",)
    assert str(model.closed_form("heat_rise")) == "lost_power/2"


def test_a_path_is_read_against_the_base(write: Write, tmp_path: Path) -> None:
    write("heat", HEAT)
    assert load_model("heat.py", base=tmp_path).name == "heat"


def test_an_edited_file_is_read_again(write: Write) -> None:
    path = Path(write("heat", HEAT))
    before = load_model(str(path))
    write("heat", HEAT.replace("/ 2", "/ 40"))
    stamp = path.stat().st_mtime_ns + 10**9
    os.utime(path, ns=(stamp, stamp))
    assert str(load_model(str(path)).closed_form("heat_rise")) == "lost_power/40"
    assert str(before.closed_form("heat_rise")) == "lost_power/2"


def test_a_folder_of_models_is_found_by_name(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("heat", HEAT)
    (tmp_path / "notes.py").write_text("x = 1\n")
    (tmp_path / "transit.py").write_text(HEAD)
    monkeypatch.setenv("DSE_PATH", f"/nonexistent:{tmp_path}")
    assert available_models()["heat"] == tmp_path / "heat.py"
    assert "notes" not in available_models()
    assert load_model("heat").yields == ("heat_rise",)
    assert load_model("occupancy + heat").yields[-1] == "heat_rise"
    with pytest.raises(DseError, match=r"'transit' names 2 models: .*transit.py; rename one"):
        load_model("transit")  # nothing is shadowed in silence
    assert "transit" in [model.name for model in iterate_models()]


def test_an_equation_of_another_model_can_be_imported(write: Write) -> None:
    path = write("mine", "from symbolic.models.transit import thread_limit")
    model = load_model(path)
    assert model.equations == load_model("transit").variants("thread_limit")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", r"mine\.py, line \d+ cannot be loaded: SyntaxError"),
        ("\nx = 1 / 0", r"mine\.py, line \d+ cannot be loaded: ZeroDivisionError"),
        ("x = 1", "mine contains no equation: decorate a function"),
        ("@equation\ndef pull(threds):\n    return threds", "did you mean 'threads'"),
        ("@equation\ndef pull(fluxes):\n    return fluxes", r"declared with\s+dse\.quantity"),
        (
            "threads = quantity('threads', unit='W', meaning='mine')\n"
            "@equation\ndef pull(threads):\n    return threads",
            r"declares threads again, which all models share: .*dse quantities threads",
        ),
        (
            "@equation(unit='ms')\ndef time(threads):\n    return threads",
            r"time of mine.* is in 'ms', and all models share time: run time \[s\]",
        ),
        (
            "glow = quantity('glow', unit='W')\n"
            "@equation(unit='J')\ndef glow_(threads):\n    return threads\n"
            "glow_ = equation(lambda threads: threads, name='glow', unit='J')",
            r"is in 'J', and mine declares glow: glow \[W\]",
        ),
        (
            "OUTPUTS = ['pul']\n@equation\ndef pull(threads):\n    return threads",
            "did you mean 'pull'",
        ),
        ("@equation\ndef pull(threads=3):\n    return threads", "without defaults"),
        ("@equation\ndef pull(*threads):\n    return threads", "names of quantities"),
        ("pull = quantity('Pull')", "no quantity name: use lower-case"),
    ],
)
def test_a_faulty_file_says_what_is_wrong(write: Write, text: str, message: str) -> None:
    with pytest.raises(DseError, match=message):
        load_model(write("mine", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("min(threads, 2)", ".* minimum"),
        ("threads / (2 - 2) + 3 / 0", "division by zero"),
        ("other * threads", "name 'other' is not defined"),
        ("threads.size", ".* no attribute 'size'"),
    ],
)
def test_an_equation_that_cannot_be_recorded_names_itself(
    write: Write, text: str, message: str
) -> None:
    model = load_model(write("mine", f"@equation\ndef pull(threads):\n    return {text}"))
    with pytest.raises(GraphError, match=rf"pull of mine cannot be recorded: {message}"):
        model.closed_form("pull")


# --- unions


def test_the_same_equation_twice_is_one() -> None:
    one = load_model("transit")
    assert load_model("transit + transit").equations == one.equations
    joined = load_model("occupancy + transit")
    assert len(joined.equations) == len(load_model("occupancy").equations) + len(one.equations)
    assert joined.name == "occupancy + transit"
    assert joined.outputs == load_model("occupancy").outputs + one.outputs


def test_families_of_joined_models_are_kept_once() -> None:
    families = load_model("occupancy + transit + transit").families
    assert [family.of for family in families] == ["active_blocks_per_sm", "ms_throughput"]
    assert all(isinstance(family, Family) for family in families)


TWICE = "@equation(source='{who}')\ndef thread_limit(threads):\n    return threads / {k}"


def conflict(write: Write) -> tuple[str, str]:
    ours, theirs = (TWICE.format(who=f"Doe {k}", k=k) for k in (2, 3))
    return write("ours", ours), write("theirs", theirs)


def test_two_definitions_of_a_quantity_are_an_error_that_names_both(write: Write) -> None:
    ours, theirs = conflict(write)
    with pytest.raises(GraphError) as caught:
        load_model(f"{ours} + {theirs}")
    message = str(caught.value)
    assert "thread_limit (Doe 2) of ours" in message
    assert "thread_limit (Doe 3) of theirs" in message
    assert "prefer='ours' or prefer='theirs'" in message


@pytest.mark.parametrize(("prefer", "k"), [("ours", 2), ("theirs", 3)])
def test_a_preferred_model_settles_it(write: Write, prefer: str, k: int) -> None:
    model = load_model(" + ".join(conflict(write)), prefer=prefer)
    assert len(model.equations) == 1
    assert str(model.closed_form("thread_limit")) == f"threads/{k}"


def test_a_preferred_model_does_not_settle_the_conflicts_of_others(write: Write) -> None:
    with pytest.raises(GraphError, match="thread_limit has two definitions"):
        load_model(" + ".join(["occupancy", *conflict(write)]), prefer="occupancy")


def test_a_preferred_model_must_be_among_the_joined() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'transit'"):
        load_model("occupancy + transit", prefer="transitt")


def test_a_model_with_more_variants_of_one_equation_joins(write: Write) -> None:
    path = write("part", "from symbolic.models.transit import supply_limit_sharp")
    for spec in (f"{path} + transit", f"transit + {path}"):
        assert len(load_model(spec).variants("supply_limit")) == 2


def test_one_name_in_two_units_is_an_error(write: Write) -> None:
    parts = [
        write(name, f"@equation(unit='{unit}')\ndef {name}_out(glow):\n    return glow\n"
              f"glow = quantity('glow', unit='{unit}')")
        for name, unit in (("left", "W"), ("right", "J"))
    ]  # fmt: skip
    with pytest.raises(
        GraphError,
        match=r"glow is declared by left as glow \[W\] and by right as glow \[J\]: rename one",
    ):
        load_model(" + ".join(parts))


def test_a_switch_is_checked() -> None:
    model = load_model("transit")
    with pytest.raises(DseError, match=r"threads is no switch .* its switches are: supply"):
        model.graph(threads=3)
    with pytest.raises(UnknownNameError, match="did you mean 'supply'"):
        model.graph(suply="smooth")
    with pytest.raises(UnknownNameError, match="did you mean 'smooth'"):
        model.graph(supply="smoth")
    assert model.graph(supply="smooth").switches["supply"] == "smooth"
    assert model.graph(printed=True).switches["printed"] == "true"


def test_a_model_is_frozen() -> None:
    with pytest.raises(AttributeError):
        load_model("transit").name = "other"  # type: ignore[misc]
    assert not hasattr(load_model("transit"), "__dict__")
    assert isinstance(load_model("transit"), Model)


def test_only_families_of_regimes_count_as_families(write: Write) -> None:
    assert all(isinstance(family, Family) for one in iterate_models() for family in one.families)
    assert load_model("imbalance").regimes() == ()
    other = 'FAMILIES = ("poisson", "geometric")  # of something else\n'
    assert load_model(write("others", HEAT + other)).regimes() == ()


def test_an_equation_of_any_number_of_values_names_its_inputs(write: Write) -> None:
    text = """
parts = [quantity(f"part_{k}", domain="[0, inf)") for k in range(3)]
part_0, part_1, part_2 = parts

@equation(inputs=[part.name for part in parts])
def whole(*values):
    return sum(values, start=0)
"""
    model = load_model(write("sums", text))
    assert model.inputs == ("part_0", "part_1", "part_2")
    (whole,) = model.equations
    assert whole(1, 2, 3) == whole(part_2=3, part_1=2, part_0=1) == 6
    assert str(model.closed_form("whole")) == "part_0 + part_1 + part_2"
    with pytest.raises(GraphError, match=r"the parameter \*values: .*inputs= names those"):
        load_model(write("unnamed", text.replace("(inputs=[part.name for part in parts])", "")))
    with pytest.raises(GraphError, match=r"whole .* cannot be recorded"):
        load_model(write("fewer", text.replace("*values", "values"))).closed_form("whole")
