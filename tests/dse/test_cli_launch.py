"""The command `dse launch` and the figures of launches: what they tell is what the law tells."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import dse
from dse import plots
from dse.cli import main
from stochastic import Pmf, launch, partition, split, stickiness
from stochastic.launch_time.dispatch import dispatch_law
from stochastic.remedies.launch import order_makespans, remedies

SHAPE = ("--blocks", "30", "--slots", "8", "--lanes", "4", "--warps", "2")
LAW = launch(Pmf.geometric(0.2), blocks=30, slots=8, lanes=4, warps=2)


def ask(*arguments):
    done = CliRunner().invoke(main, ["launch", *arguments])
    return done.exit_code, done.output


def test_json_holds_what_the_library_answers():
    powers = ("--working", "2", "--on", "40", "--idling", "0.5")
    code, text = ask(
        "geometric:0.2", *SHAPE, "--step", "2us", "--deadline", "80us", *powers, "--json"
    )
    assert code == 0, text
    data = json.loads(text)
    assert data["mean"] == pytest.approx(LAW.mean() * 2e-6, rel=1e-12)
    assert data["std"] == pytest.approx(LAW.std() * 2e-6, rel=1e-12)
    assert data["quantiles"]["0.99"] == pytest.approx(LAW.quantile(0.99) * 2e-6, rel=1e-12)
    assert data["deadline"]["chance"] == pytest.approx(LAW.chance(40), rel=1e-12)
    assert data["energy"]["mean"] == pytest.approx(LAW.energy(2, 40, 0.5).mean * 2e-6, rel=1e-12)
    assert sum(data["shares"].values()) == pytest.approx(1, rel=1e-12)
    assert data["shares"]["tail"] == LAW.idle().slot_share
    means = [one["mean"] for one in data["advice"]]
    assert means == sorted(means)
    assert {one["remedy"] for one in data["advice"]} == {
        *("splitting", "granularity", "sorting", "persistence", "smaller blocks")
    }


def test_text_names_every_figure(tmp_path):
    picture = tmp_path / "law.png"
    code, text = ask("geometric:0.2", *SHAPE, "--deadline", "40", "--plot", str(picture))
    assert code == 0, text
    for word in ("0.99 quantile", "tail", "gain", "queue", f"{LAW.mean():.6g}"):
        assert word in text
    assert f"{LAW.chance(40):.6g}" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["geometric:0.2", "--slots", "8"], "--blocks"),
        (["geometric:0.2", "--slots", "0", "--blocks", "3"], "slots = 0"),
        (["gemetric:0.2", *SHAPE], "geometric"),
        (["geometric:0.2", *SHAPE, "--deadline", "5 ms"], "--step"),
        (["geometric:0.2", *SHAPE, "--step", "0"], "--step"),
        (["geometric:0.2", *SHAPE, "--step", "3 W"], "W"),
        (["geometric:0.2", *SHAPE, "--on", "-1"], "on = -1"),
        (["geometric:0.2", *SHAPE, "--trace"], "--trace"),
        (["geometric:0.2", *SHAPE, "--plot", "law.foo"], "law.foo"),
    ],
)
def test_misuse_is_status_2(arguments, message):
    code, text = ask(*arguments)
    assert code == 2, text
    assert message in text
    assert "Traceback" not in text


def test_remedies_are_laws_of_other_launches():
    work = Pmf.uniform(1, 12)
    result = {one.name: one for one in remedies(work, blocks=20, slots=4, lanes=4, warps=2)}
    two = launch(work, blocks=80, slots=4, lanes=1, warps=2)
    shared = min(dispatch_law(work, 20 * n, 4, 4 // n, 2)[0].mean() / n for n in (2, 4))
    assert result["granularity"].mean == pytest.approx(shared, rel=1e-12)
    assert result["granularity"].mean == pytest.approx(two.mean() / 4, rel=1e-12)
    smaller = launch(work, blocks=40, slots=8, lanes=4)
    assert result["smaller blocks"].mean == pytest.approx(smaller.mean(), rel=1e-12)
    sort = partition(work, 8, 8, places=200)  # each block is of one of the bins
    bins = int(result["sorting"].description.split()[2])
    block = np.zeros(13)
    for share, law in zip(sort["weight"].sel(bins=bins).values, sort.laws(bins), strict=False):
        table = np.concatenate([np.zeros(law.low), law.weights, np.zeros(12 - int(law.high))])
        block += share * np.cumsum(table) ** 8
    own = launch(Pmf.from_weights(np.diff(block, prepend=0), normalise=True), blocks=20, slots=4)
    assert result["sorting"].mean == pytest.approx(own.mean(), rel=1e-9)
    length = int(result["splitting"].description.partition(" up to ")[2].partition(",")[0])
    cut = split(work, length, lanes=1)
    many = math.ceil(20 * cut["pieces"].item())
    own = launch(cut.law(length), blocks=many, slots=4, lanes=4, warps=2)
    assert result["splitting"].mean == pytest.approx(own.mean(), rel=1e-9)


def test_splitting_states_the_number_of_blocks_that_it_assumes():
    """The number of pieces is random; the answer takes its mean: 3 items of 1 or 2 are 5 pieces."""
    code, text = ask("uniform:1,2", "--blocks", "3", "--slots", "2", "--lanes", "1")
    assert code == 0, text
    assert "items into pieces of up to 1, assuming 5 independent blocks" in text
    page = Path(__file__).parents[2] / "docs/launch-law.md"
    pages = [page.read_text(encoding="utf-8"), remedies.__doc__]
    assert all("as many as on average" in " ".join(page.split()) for page in pages)


def test_orders_of_a_trace(tmp_path):
    lengths = [5, 1, 1, 1, 1, 1, 1, 5]
    result = order_makespans(np.array(lengths), slots=2, items=1)
    assert (result["given"], result["longest first"]) == (10.0, 8.0)
    assert 8 <= result["shuffled"] <= 11
    path = tmp_path / "steps.csv"
    path.write_text("\n".join(map(str, lengths)))
    given = ("--trace", "--slots", "2", "--lanes", "1", "--no-advice")
    code, text = ask(str(path), *given, "--json")
    assert code == 0, text
    data = json.loads(text)
    assert (data["blocks"], data["trace"]["longest first"]) == (8, 8.0)
    assert data["stickiness"] == stickiness(lengths).rho
    assert "longest first" in ask(str(path), *given)[1]


def study(**more):
    given = {"distribution": "geometric:0.2", "slots": 8, "lanes": 4, "step_time": 1.0}
    return dse.Study(model="launch", set={**given, "warps_per_block": 2}, axes=more)


def test_figures_draw_the_law():
    whole = study(dispatch=["hardware", "loop"], blocks=[10, 30])
    ax = plots.tail(whole, at={"blocks": 30})
    first = next(line for line in ax.get_lines() if line.get_label() == "hardware")
    x, y = first.get_data()
    np.testing.assert_allclose(y[1:], 1 - LAW.cdf(x[1:]), atol=1e-12)
    assert 1 - LAW.cdf(x[-2]) >= 1e-6 >= 1 - LAW.cdf(x[-1])
    with pytest.raises(dse.DseError, match="a study"):
        plots.tail(whole.run())
    ax = plots.bands(study(blocks=[10, 20, 30]))
    median = next(line for line in ax.get_lines() if line.get_label() == "median")
    assert median.get_ydata()[-1] == LAW.quantile(0.5)
    ax = plots.lost(whole, over="dispatch", at={"blocks": 30})
    heights = [bar.get_width() for bar in ax.patches][::2]
    idle = LAW.idle()
    shares = [idle.working_share, idle.lane_share, idle.warp_share, idle.slot_share]
    np.testing.assert_allclose(heights, shares, rtol=1e-12)
    with pytest.raises(dse.DseError, match="fix all axes but"):
        plots.lost(whole, over="blocks")


def test_slots_are_drawn_to_the_end():
    given = {"distribution": "uniform:3,3", "slots": 4, "lanes": 4, "warps_per_block": 2}
    ax = plots.slots(**given, blocks=6, step_time=1.0)
    assert "25.0%" in ax.get_title()  # 6 blocks of 3 steps in 2 waves of 4 slots
    assert ax.get_xlim() == (0, 6)
    with pytest.raises(dse.DseError, match="distribution"):
        plots.slots(slots=4, blocks=6)
