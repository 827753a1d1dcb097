"""A fold of one's own answers the same of every source, by threads and by workers of a cluster."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

import dse
import sweeps.nest.tiles
from tests.long import long, mostly_long

AXES: dict[str, Any] = {
    "machine": ["gtx280", "fx5600"],
    "threads_per_block": range(32, 513, 16),
    "core_clock": ["1.0 GHz", "1.3 GHz"],
    "active_sms": range(1, 15),
}
STUDY = dse.Study(
    model="occupancy + mwp_cwp",
    workload="mat_tiled",
    axes=AXES,
    where=["active_sms <= 10"],
    outputs=["time", "occupancy"],
)


class Seen:
    """Values that were fed, in order, repeated by their weight."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, ...]] = []

    def feed(self, values: Any, weight: int) -> None:
        self.rows += [tuple(row) for row in values.T.tolist() for _ in range(weight)]

    def merge(self, other: Seen) -> None:
        self.rows += other.rows

    def answer(self) -> list[tuple[float, ...]]:
        return self.rows


class Mean:
    """The mean of the first formula, and how many counted."""

    def __init__(self) -> None:
        self.total, self.count = 0.0, 0

    def feed(self, values: Any, weight: int) -> None:
        self.total += weight * values[0].sum()
        self.count += weight * values.shape[1]

    def merge(self, other: Mean) -> None:
        self.total, self.count = self.total + other.total, self.count + other.count

    def answer(self) -> float:
        return self.total / self.count


class Failing(Mean):
    """Does not get far."""

    def feed(self, values: Any, weight: int) -> None:
        raise ArithmeticError("no such thing")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    made = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=False,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    )
    with made, Client(made, set_as_default=False) as one:
        yield one


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("sources")
    STUDY.run(store=folder / "out.zarr")
    ds = STUDY.run()
    return {
        "study": STUDY,
        "Dataset": ds,
        "store": folder / "out.zarr",
        "path": str(folder / "out.zarr"),
    }


@pytest.fixture(params=["numpy", "nest"])
def _how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "nest":
        monkeypatch.setattr(sweeps.nest.tiles, "NUMPY_POINTS", 0)


FORMULAS = ["time", "time * active_sms"]


@pytest.mark.usefixtures("_how")
@pytest.mark.parametrize(
    ("name", "formulas"),
    mostly_long(
        product(["study", "Dataset", "store", "path"], [FORMULAS, ["occupancy"]]),
        lambda k, _: k == 4,
    ),
)
def test_workers_see_what_threads_see(
    name: str, formulas: list[str], sources: dict[str, Any], client: Client
) -> None:
    seen = dse.fold(sources[name], Seen, formulas)
    frame = STUDY.run().to_dataframe().reset_index().query("feasible")
    columns = [frame.eval(formula) for formula in formulas]
    assert sorted(seen) == sorted(zip(*columns, strict=True))
    far = dse.fold(sources[name], Seen, formulas, client=client)
    assert sorted(far) == sorted(seen)


def test_parts_are_merged_in_the_order_of_the_longest_axis(client: Client) -> None:
    study = dse.Study(
        model="transit",
        axes={"intensity": [1, 2, 3], "threads": range(1, 400)},
        set={"lanes_width": 32, "mem_latency": 600, "ms_peak": 1},
    )
    once = [(float(threads),) for threads in range(1, 400) for _ in range(3)]
    assert study.fold(Seen, "threads", client=client) == once
    each = study.fold(Seen, "threads + intensity", client=client)
    assert each != sorted(each) == sorted(study.fold(Seen, "threads + intensity"))


@pytest.mark.parametrize(
    "name", mostly_long(["study", "Dataset", "store"], lambda _, name: name == "store")
)
def test_labels_conditions_and_what_is_not_stored(
    name: str, sources: dict[str, Any], client: Client
) -> None:
    query: dict[str, Any] = {
        "where": 'machine != "fx5600" and threads_per_block >= 256',
        "per": "core_clock",
    }
    here = dse.fold(sources[name], Mean, "mwp", **query)
    far = dse.fold(sources[name], Mean, "mwp", **query, client=client)
    assert here.dims == ("core_clock",)
    np.testing.assert_allclose(far.values, here.values, rtol=1e-12)
    one = STUDY.fold(Mean, "mwp", where=[query["where"], "core_clock > 1.2 GHz"])
    assert far.values[1] == pytest.approx(one, rel=1e-12)


def test_rows_are_shared_out(tmp_path: Path, client: Client) -> None:
    frame = STUDY.run().to_dataframe().reset_index().query("feasible")
    frame.drop(columns="feasible").to_csv(tmp_path / "rows.csv", index=False)
    rows = dse.open(tmp_path / "rows.csv", axes=[*AXES], shape="rows")
    for per in ("machine", None):
        here = dse.fold(rows, Mean, "time", per=per)
        far = dse.fold(rows, Mean, "time", per=per, client=client)
        np.testing.assert_allclose(far, here, rtol=1e-12)
    assert here == pytest.approx(frame["time"].mean(), rel=1e-12)


def test_what_a_fold_raises_and_what_is_no_cluster(client: Client) -> None:
    with pytest.raises(ArithmeticError, match="no such thing"):
        STUDY.fold(Failing, "time", client=client)
    with pytest.raises(dse.DseError, match="has no method feed"):
        STUDY.fold(dict, "time", client=client)
    with pytest.raises(dse.DseError, match=r"expected a synchronous distributed\.Client"):
        STUDY.fold(Mean, "time", client=5)
    with pytest.raises(dse.DseError, match="workers = 0"):
        STUDY.fold(Mean, "time", workers=0)


@long
def test_processes_take_a_fold_that_no_module_holds() -> None:
    class Largest:
        most = -np.inf

        def feed(self, values: Any, weight: int) -> None:
            self.most = max(self.most, float(values.max()))

        def merge(self, other: Any) -> None:
            self.most = max(self.most, other.most)

        def answer(self) -> float:
            return self.most

    assert STUDY.fold(Largest, "time", workers=2) == STUDY.fold(Largest, "time")
