"""Machine code is kept between processes, whatever has become of the folder in which it lies."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from stochastic.compile_cache import CompiledFunction, compile_listener, compiled, keys
from stochastic.compile_cache.cache import cache_folder, load, save

ROOT = Path(__file__).parents[2]


class Pair(NamedTuple):
    values: Any
    factor: Any


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DSE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "code"


@compiled
def scale(value: Any, pair: Any) -> Any:
    return value * pair.factor


@compiled
def every_kind(pair: Any, count: int, less: bool) -> Any:
    """Every kind that may go in or come back."""
    result = np.full((2, count), 0.5)
    for k in range(count):
        result[0, k] = scale(pair.values[k], pair)
    places = np.arange(count)
    return result[0], result[1], places, count > 1 and less, 2.5, pair.values[1:]


def fresh(body: CompiledFunction) -> CompiledFunction:
    """The same body as another process has it."""
    return CompiledFunction(body.function, body.options)


def call_and_listen(body: CompiledFunction, *args: Any) -> tuple[Any, list[str]]:
    names: list[str] = []
    with compile_listener(names.append):
        return body(*args), names


def test_what_goes_in_and_comes_back() -> None:
    for values in (np.arange(6.0), np.arange(12.0)[::2]):
        a, b, places, truth, real, part = every_kind(Pair(values, 2.0), 6, True)
        assert a.tolist() == (2.0 * values).tolist()
        assert b.tolist() == [0.5] * 6
        assert places.tolist() == [0, 1, 2, 3, 4, 5]
        assert places.dtype == np.int64
        assert truth is True
        assert real == 2.5
        assert part.tolist() == values[1:].tolist()
    del a
    assert b.tolist() == [0.5] * 6  # one memory for two arrays, of which one is gone


def test_it_is_compiled_once(folder: Path) -> None:
    assert call_and_listen(fresh(every_kind), Pair(np.ones(2), 3.0), 2, True)[1] == ["every_kind"]
    assert len(list(folder.iterdir())) == 1
    result, names = call_and_listen(fresh(every_kind), Pair(np.ones(2), 3.0), 2, True)
    assert names == []
    assert result[0].tolist() == [3.0, 3.0]


@compiled(_nrt=False, gives=(0.0, 1))
def most(values: Any, least: Any) -> Any:
    result, place = least, -1
    for k in range(values.size):
        if values[k] > result:
            result, place = values[k], k
    return result, place


@compiled(_nrt=False)
def highest(pair: Any) -> Any:
    return most(pair.values, 0.0)[0] * pair.factor


@compiled(_nrt=False)
def where_highest(pair: Any) -> Any:
    return most(pair.values, -1.0)[1]


def test_what_is_compiled_apart_is_compiled_once_for_all_that_call_it(folder: Path) -> None:
    pair = Pair(np.array([1.0, 7.0, 2.0]), 2.0)
    assert call_and_listen(fresh(highest), pair) == (14.0, ["highest", "most"])
    assert call_and_listen(fresh(where_highest), pair) == (1, ["where_highest"])
    assert call_and_listen(fresh(highest), pair) == (14.0, [])
    for entry in folder.iterdir():
        entry.write_bytes(entry.read_bytes()[:-1])
    assert call_and_listen(fresh(highest), pair) == (14.0, ["highest", "most"])


def test_what_is_compiled_apart_may_be_compiled_before(folder: Path) -> None:
    pair = Pair(np.array([1.0, 7.0, 2.0]), 2.0)
    most.compile_separately(pair.values, 0.0)
    assert call_and_listen(fresh(highest), pair) == (14.0, ["highest"])
    strided = Pair(np.arange(6.0)[::2], 2.0)  # of another type: not what was compiled
    assert call_and_listen(fresh(highest), strided) == (8.0, ["highest", "most"])
    assert most(pair.values, 0.0) == (7.0, 1)  # from Python, too


def test_what_is_compiled_apart_must_give_what_it_says() -> None:
    other = CompiledFunction(most.function, {**most.options, "gives": 0.0})
    with pytest.raises(TypeError, match="most gives"):
        other.compile_separately(np.ones(2), 0.0)


def test_what_is_compiled_apart_while_it_is_told_of_is_used(folder: Path) -> None:
    def tell(name: str) -> None:
        names.append(name)
        if name == "most" and names.count("most") == 1:
            most.compile_separately(pair.values, 0.0)

    names: list[str] = []
    pair = Pair(np.array([1.0, 7.0, 2.0]), 2.0)
    with compile_listener(tell):
        assert fresh(highest)(pair) == 14.0
    assert names == ["highest", "most", "most"]


def test_damaged_entries_are_made_anew(folder: Path) -> None:
    pair = Pair(1.0, 3.0)
    assert fresh(scale)(2.0, pair) == 6.0
    (entry,) = folder.iterdir()
    data = entry.read_bytes()
    turned = data[:600] + bytes([data[600] ^ 4]) + data[601:]
    for wrong in (data[:-9], turned, b"", b"x" * 32 + data[32:], data + b"0", data[:31]):
        entry.write_bytes(wrong)
        assert call_and_listen(fresh(scale), 2.0, pair) == (6.0, ["scale"])
        assert call_and_listen(fresh(scale), 2.0, pair) == (6.0, [])
    entry.unlink()
    assert call_and_listen(fresh(scale), 2.0, pair) == (6.0, ["scale"])


def test_an_entry_under_another_name_is_not_believed(folder: Path) -> None:
    save("a" * 64, b"one")
    os.rename(folder / ("a" * 64 + ".code"), folder / ("b" * 64 + ".code"))
    assert load("b" * 64) is None


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_what_others_may_have_written_is_not_believed(folder: Path, mode: int) -> None:
    save("a" * 64, b"one")
    assert load("a" * 64) == b"one"
    (folder / ("a" * 64 + ".code")).chmod(mode)
    assert load("a" * 64) is None
    (folder / ("a" * 64 + ".code")).chmod(0o600)
    folder.chmod(mode)
    assert load("a" * 64) is None
    save("b" * 64, b"two")
    assert not (folder / ("b" * 64 + ".code")).exists()


def test_links_are_not_followed(folder: Path, tmp_path: Path) -> None:
    save("a" * 64, b"one")
    os.rename(folder / ("a" * 64 + ".code"), tmp_path / "elsewhere")
    (folder / ("a" * 64 + ".code")).symlink_to(tmp_path / "elsewhere")
    assert load("a" * 64) is None


def test_where_nothing_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for given in ("", str(tmp_path / "file"), "/proc/nowhere"):
        monkeypatch.setenv("DSE_CACHE", given)
        save("a" * 64, b"one")
        assert load("a" * 64) is None
    monkeypatch.delenv("DSE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform == "linux":
        assert cache_folder() == tmp_path / "xdg" / "simt-dse" / "code"


def test_what_was_not_used_for_long_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save("a" * 64, b"one")
    save("b" * 64, b"two")
    old = 1e9
    os.utime(folder / ("a" * 64 + ".code"), (old, old))
    monkeypatch.setattr("stochastic.compile_cache.cache._swept_folders", set())
    save("c" * 64, b"three")
    assert sorted(path.name[0] for path in folder.iterdir()) == ["b", "c"]


def variant(constant: float) -> CompiledFunction:
    @compiled
    def body(x: float) -> float:
        return x + constant

    return body  # type: ignore[no-any-return]


def test_what_a_body_depends_on_names_it() -> None:
    assert variant(1.0).identity() != variant(2.0).identity()
    assert variant(1.0).identity() == variant(1.0).identity()
    assert variant(1.0)(1.0) == 2.0
    assert variant(2.0)(1.0) == 3.0
    identity = every_kind.identity()
    assert CompiledFunction(every_kind.function, {"fastmath": True}).identity() != identity
    one = CompiledFunction(every_kind.function, every_kind.options)
    assert one.identity() == identity
    assert [keys._affects_code(f"NUMBA_{name}") for name in ("OPT", "ENABLE_CUDASIM")] == [1, 0]


def test_a_body_is_known_by_the_same_in_every_process() -> None:
    code = """
        from stochastic.compile_cache.keys import Compilable
        def nothing(): pass
        ways = {"contract", "reassoc"}
        print(ways, Compilable(nothing, {"fastmath": ways}).identity())
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    output = [
        subprocess.run(
            command, env=env | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.split("} ")
        for seed in "34"  # which put them in one order and in the other
    ]
    assert len({order for order, _ in output}) == 2
    assert len({identity for _, identity in output}) == 1


def test_a_body_that_uses_what_no_text_tells() -> None:
    thing = object()

    @compiled
    def body(x: float) -> float:
        return x if thing else 0.0

    with pytest.raises(TypeError, match="name it by LazyImport"):
        body.identity()


def test_kept_code_is_called_without_numba(tmp_path: Path) -> None:
    text = """
        import sys
        import numpy as np
        from tests.stochastic.test_compile_cache import Pair, every_kind
        print(every_kind(Pair(np.ones(2), 3.0), 2, True)[0].tolist(), "numba" in sys.modules)
    """
    printed = []
    for simulator in ("0", "1"):  # of a GPU, which is no matter
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(text)],
            cwd=ROOT,
            env={**os.environ, "NUMBA_ENABLE_CUDASIM": simulator},
            capture_output=True,
            text=True,
            check=True,
        )
        printed.append(done.stdout.strip())
    assert printed == ["[3.0, 3.0] True", "[3.0, 3.0] False"]


def test_waiting_for_another_process_counts_as_compiling(tmp_path: Path, monkeypatch: Any) -> None:
    """A first run waits for code that a second process compiles, and says so."""
    from stochastic.compile_cache import compile_seconds

    monkeypatch.setenv("DSE_CACHE", str(tmp_path))

    @compiled
    def double(x):
        return 2 * x

    before = compile_seconds()
    with compile_listener(lambda _: time.sleep(0.2)):
        double.prepare(1.5)
    assert compile_seconds() - before >= 0.2
