import numpy as np
import pytest

import dse

GIVEN = {"intensity": 10, "lanes_width": 32, "mem_latency": 600}
AXES = {"threads": [64, 512, 2048], "ms_peak": [0.5, 1]}
MODELS = ["transit", "transit + transit_warps"]


def test_a_list_compares_models_along_a_dimension() -> None:
    both = dse.Study(model=MODELS, axes=AXES, set=GIVEN, outputs=["ms_throughput", "bound"])
    ds = both.run()
    assert ds.ms_throughput.dims == ("model", "threads", "ms_peak")
    assert ds.model.values.tolist() == MODELS
    for name, study in both.each.items():
        alone = study.run()
        np.testing.assert_array_equal(ds.sel(model=name).ms_throughput, alone.ms_throughput)
        np.testing.assert_array_equal(ds.sel(model=name).bound, alone.bound)
    assert ds.bound.attrs["flag_meanings"] == alone.bound.attrs["flag_meanings"]
    best = dse.best_config(dse.optimum(ds, maximize="ms_throughput"))
    assert (best["model"], best["threads"], best["ms_peak"]) == ("transit", 2048, 1.0)


def test_what_only_one_model_has_is_left_out() -> None:
    both = dse.Study(
        model=["occupancy", "occupancy + mwp_cwp"],
        machine="gtx280",
        workload="svm",
        axes={"threads_per_block": [64, 128], "active_sms": [10, 40]},
    )
    ds = both.run()
    assert "occupancy" in ds
    assert "time" not in ds
    assert ds.feasible.dims == ("model", "threads_per_block", "active_sms")


@pytest.mark.parametrize("models", [[], ["transit"], ["transit", "transit"], ["transit", 5]])
def test_a_comparison_names_two_models_or_more(models: list[object]) -> None:
    with pytest.raises(dse.DseError, match="expected two or more models, each once"):
        dse.Study(model=models, axes=AXES, set=GIVEN)


def test_models_that_share_nothing() -> None:
    with pytest.raises(dse.DseError, match=r"share no output .*choose some with outputs="):
        dse.Study(
            model=["transit", "divergence"],
            axes={"lanes": [1, 32]},
            set={**GIVEN, "threads": 64, "ms_peak": 1, "paths": "0.5: 10, 0.5: 20"},
        )
