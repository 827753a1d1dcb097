"""The command `dse imbalance`: what it prints, draws and refuses."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from dse.cli import main
from stochastic import Pmf, bounds, granularity, imbalance, partition
from tests.long import long, mostly_long


def ask(*arguments):
    done = CliRunner().invoke(main, ["imbalance", *arguments])
    return done.exit_code, done.output


def test_json_holds_what_the_library_answers():
    code, text = ask("geometric:0.05", "--lanes", "16", "--overhead", "0.05", "--json")
    assert code == 0
    data = json.loads(text)
    pmf = Pmf.geometric(0.05)
    law = imbalance(pmf, 16)
    assert data["mean"] == law.mean()
    assert data["slowdown"]["value"] == float(law.slowdown())
    assert data["slowdown"]["std"] == law.slowdown().std(1000)
    assert data["std"] == law.std()
    assert data["quantiles"]["0.99"] == law.quantile(0.99)
    limits = bounds(pmf, 16)
    assert data["bounds"] == {"lower": limits.lower, "upper": limits.upper}
    shared = granularity(pmf, overhead=0.05)
    assert data["granularity"]["best"] == int(shared["best_lanes"])
    np.testing.assert_array_equal(data["granularity"]["cost"], shared["cost"])
    binned = partition(pmf, 8, lanes=16)
    np.testing.assert_array_equal(data["binning"]["slowdown"], binned["slowdown"])
    assert data["error"]["met"]


def test_text_names_every_figure():
    code, text = ask("uniform:20,40", "--lanes", "8")
    assert code == 0
    for word in ("mean loss", "1.2749098676", "slowdown", "quantile", "bounds", "granularity"):
        assert word in text
    assert "binning" in text
    assert "Cov(X, sum) / E[sum]" in text


@pytest.mark.parametrize(
    "law",
    mostly_long(["geometric:0.1", "uniform:1,6", "weights:0.5,0.25,0.25"], lambda k, _: k == 0),
)
def test_a_picture_is_drawn(law, tmp_path):
    picture = tmp_path / "law.png"
    code, text = ask(law, "--lanes", "8", "--plot", str(picture))
    assert code == 0, text
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in text


@long
def test_a_cut_or_groups_left_out_have_no_bounds():
    for options in (["--eps", "1e-2"], ["--zero-work", "drop"]):
        code, text = ask("negative_binomial:1,0.2", "--lanes", "4", *options, "--json")
        assert code == 0, text
        assert json.loads(text)["bounds"] is None
        assert "bounds" not in ask("negative_binomial:1,0.2", "--lanes", "4", *options)[1]


def test_many_values_are_answered_in_ways_that_still_work():
    code, text = ask("uniform:0,20000", "--lanes", "4", "--bins", "2", "--json")
    assert code == 0, text
    data = json.loads(text)
    assert data["binning"]["places"] == 1000
    assert data["quantiles_simulated"] == 1_000_000
    assert data["quantiles"]["0.5"] == pytest.approx(1.6, rel=1e-2)


def test_a_file_of_samples(tmp_path):
    path = tmp_path / "steps.csv"
    path.write_text("3\n1\n4\n1\n5\n9\n2\n6\n")
    code, text = ask(str(path), "--lanes", "4", "--json")
    assert code == 0, text
    own = imbalance(Pmf.from_samples([3, 1, 4, 1, 5, 9, 2, 6]), 4)
    assert json.loads(text)["mean"] == pytest.approx(own.mean(), rel=1e-12)


@long
def test_a_trace_as_it_lies(tmp_path):
    path = tmp_path / "steps.csv"
    path.write_text("\n".join(map(str, [1, 1, 8, 8, 1, 1, 8, 8])))
    code, text = ask(str(path), "--lanes", "2", "--trace", "--json")
    assert code == 0, text
    orders = json.loads(text)["trace"]
    assert orders["given"]["loss"] == 1.0
    assert orders["shuffled"]["loss"] > 1.2
    code, text = ask(str(path), "--lanes", "2", "--trace")
    assert "neighbours" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["geometric:0.05", "--lanes", "0"], "lanes = 0"),
        (["geometric:0.05", "--lanes", "2.5"], "lanes = 2.5"),
        (["geometric:0.05", "--lanes", "many"], "lanes = 'many'"),
        (["geometric:2"], "2"),
        (["gemetric:0.05"], "geometric"),
        (["nowhere.csv"], "nowhere.csv"),
        (["weights:0.5,0.4"], "sum to 0.9"),
        (["geometric:0.05", "--tol", "0"], "tol = 0"),
        (["geometric:0.05", "--trace"], "--trace"),
        (["geometric:0.05", "--plot", "law.foo"], "law.foo"),
        (["geometric:0.05", "--plot", "nowhere/law.png"], "folder"),
    ],
)
def test_misuse_is_status_2(arguments, message):
    code, text = ask(*arguments)
    assert code == 2
    assert message in text
    assert "Traceback" not in text
