"""`dse.cite` prints valid BibTeX of the sources behind an answer, and invents nothing."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from click.testing import Result

import dse
from dse.citations import _FILE, _bibtex, _value
from symbolic.answer import Answer

Run = Callable[..., Result]

NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "phdthesis": {"author", "title", "school", "year"},
    "book": {"author", "title", "publisher"},
    "manual": {"title"},
    "misc": {"title"},
}


def parse(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    """Read BibTeX strictly: ignore text outside of entries, and require balanced braces."""
    entries: dict[str, tuple[str, dict[str, str]]] = {}
    at = 0
    while (at := text.find("@", at)) >= 0:
        head = re.compile(r"@(\w+)\{([\w./-]+),\s*").match(text, at)
        assert head, text[at : at + 60]
        kind, key, at = head[1], head[2], head.end()
        assert key not in entries
        fields: dict[str, str] = {}
        while text[at] != "}":
            name = re.compile(r"(\w+) = \{").match(text, at)
            assert name, text[at : at + 60]
            assert name[1] not in fields
            start = at = name.end()
            depth = 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[at], 0)  # BibTeX counts escaped braces, too
                at += 1
            fields[name[1]] = text[start : at - 1]
            at = re.compile(r",?\s*").match(text, at).end()  # type: ignore[union-attr]
        entries[key] = (kind, fields)
        at += 1
    return entries


def check(answer: Answer) -> dict[str, tuple[str, dict[str, str]]]:
    entries = parse(str(answer))
    assert [*entries] == [entry["key"] for entry in answer.data["entries"]]
    for (kind, fields), entry in zip(entries.values(), answer.data["entries"], strict=True):
        assert NEEDED[kind] <= set(fields), entry
        assert [*fields] == [*entry["fields"]]
        for name, text in fields.items():
            plain = re.sub(r"\\([&%$#_])", "", text)
            assert name in ("doi", "url") or not re.search(r"[&%$#_~^]", plain), text
        assert entry["cited_as"]
    return entries


def test_all_that_ships_is_cited_validly_and_every_field_has_a_source() -> None:
    rows = tomllib.loads(_FILE.read_text())
    used, subjects = set(), [*dse.models(), *dse.machines(), *dse.workloads()]
    given = [str(value) for row in rows.values() for value in row.values()]
    patterns = [re.escape(value) for value in given if re.search(r"\\\d", value)]
    forms = [re.sub(r"\\\\\d", "(.+)", text) for text in patterns]
    named: set[str] = set()
    for subject in subjects:
        answer = dse.cite(subject)
        check(answer)
        for entry in answer.data["entries"]:
            used.add(entry["key"])
            for value in entry["fields"].values():
                assert value in given or any(
                    (read := re.fullmatch(form, value))
                    and all(part in text for text in entry["cited_as"] for part in read.groups())
                    for form in forms
                ), entry
        author_and_year = r"[A-Z][a-z]+ (et al\. )?(19|20)\d\d\b"
        named |= {t for t in answer.data["others"] if re.search(author_and_year, t)}
    # each source with an author and a year has a reference
    assert not {t for t in named if not re.search(r"(May|RTX|on) (19|20)\d\d", t)}
    fixed = {name for name, row in rows.items() if "\\" not in row["title"]} - {"grattafiori2024"}
    assert fixed <= used


def test_papers_come_first_and_the_most_named_paper_leads() -> None:
    roofline = [entry["key"] for entry in dse.cite("roofline").data["entries"]]
    assert roofline[:2] == ["williams2009", "hong2012"]
    assert roofline[-1] == dse.cite("h100_sxm").data["entries"][-1]["key"] == "simt-dse"
    for subject in ("gemm", "prefill_attention"):
        kinds = [entry["type"] for entry in dse.cite(subject).data["entries"]][1:]
        papers = [kind not in ("misc", "manual") for kind in kinds]
        assert papers == sorted(papers, reverse=True)


def test_references_have_what_a_reader_needs_to_find_them() -> None:
    """The first papers of a model, digital object identifiers, and addresses."""
    hong = check(dse.cite("mwp_cwp"))
    assert hong["simt-dse"][1]["year"] == "2026"
    assert "% and 30 more: dse cite --json lists all\n" in str(dse.cite("mwp_cwp"))
    assert hong["hong2009"][1]["doi"] == "10.1145/1555754.1555775"
    assert check(dse.cite("ipp"))["hong2010"][1]["pages"] == "280--289"
    gemm = check(dse.cite("gemm"))
    assert gemm["osama2023"][1]["doi"] == "10.1145/3572848.3577479"
    assert gemm["nvidia-du-09799"][1]["url"].startswith("https://docs.nvidia.com/")
    assert check(dse.cite("l40s"))["mullet-se"][1]["url"].startswith("https://www.mullet.se/")
    h100 = check(dse.cite("h100_sxm"))
    paper = h100["nvidia-h100-tensor-core-gpu-architecture-whitepaper"][1]
    assert paper["year"] == "2022"
    assert paper["url"].startswith("https://")
    assert h100["glennklockwood-com"][1]["url"] == "https://glennklockwood.com"
    commit = h100["rrze-hpc-gpu-benches-commit-1038c5d"][1]
    assert commit["url"] == "https://github.com/RRZE-HPC/gpu-benches/commit/1038c5d"
    layer = dse.cite(Path(dse.__file__).parents[1] / "examples/layer.toml")
    assert check(layer)["grattafiori2024"][1]["howpublished"] == "arXiv:2407.21783"


def test_references_of_several_sources_are_merged(run: Run) -> None:
    many = dse.cite("transit", "mwp_cwp", "gemm")
    each = [dse.cite(name) for name in ("transit", "mwp_cwp", "gemm")]
    assert set(check(many)) == {key for one in each for key in check(one)}
    both = {entry["key"]: entry for entry in many.data["entries"]}
    assert set(both["hong2012"]["cited_as"]) == {
        text
        for one in each
        for entry in one.data["entries"]
        for text in entry["cited_as"] * (entry["key"] == "hong2012")
    }
    assert run("cite", "transit", "mwp_cwp", "gemm").stdout == f"{many}\n"
    assert str(dse.cite("transit", "transit")) == str(each[0])
    assert "gtx28" in run("cite", "transit", "gtx28", status=2).stderr
    assert "Missing argument" in run("cite", status=2).stderr


def test_an_answer_leads_to_the_sources_of_its_study(tmp_path: Path) -> None:
    study = dse.Study(
        model="gemm", machine="h100_sxm", axes={"m": [1024, 2048]}, set={"n": 4096, "k": 4096}
    )
    expected = check(dse.cite(study))
    assert {"simt-dse", "williams2009", "ai-dynamo-aiconfigurator-commit-095f58a"} <= set(expected)
    assert expected["nvidia-h100-tensor-core-gpu-architecture-whitepaper"][1]["author"] == "NVIDIA"
    run = study.run(store=tmp_path / "s.zarr")
    for source in (run, study.optimum(minimize="time"), tmp_path / "s.zarr"):
        assert check(dse.cite(source)) == expected
    assert {"hong2012", "ma2014"} <= set(check(dse.cite("occupancy + mwp_cwp")))


@pytest.mark.parametrize(
    "source", [3, xr.Dataset({"a": 1}), "nowhere", "nowhere.toml", "a" * 5000, "a\0b", None]
)
def test_what_has_no_sources_is_refused(source: Any) -> None:
    with pytest.raises(dse.DseError, match=r"expected|cannot be read"):
        dse.cite(source)


def test_an_unknown_name_gets_the_kinds_of_sources() -> None:
    words = r"model, machine, workload or shipped study.*path of one or a store"
    with pytest.raises(dse.DseError, match=f"{words}; did you mean 'gtx280'"):
        dse.cite("gtx28")


def test_a_name_of_a_model_and_a_study_is_the_model(run: Run) -> None:
    """`dse cite roofline` cites the model, and says so; the path cites the study."""
    both, path = run("cite", "roofline"), Path(dse.__file__).parents[1] / "examples/roofline.toml"
    assert both.stdout == f"{dse.cite('roofline')}\n"
    assert f"names a model and a study: the model is used; the study is {path}" in both.stderr
    study = run("cite", str(path))
    assert "names a model" not in study.stderr
    assert study.stdout != both.stdout
    explored = run("explore", "roofline", "--machine", "h100_sxm", status=2).stderr
    assert "names a model and a study" in explored
    assert "the model roofline lacks" in explored
    # a command that takes no model has no choice
    assert "names a model" not in run("count", "roofline").stderr


def test_characters_of_tex_are_escaped() -> None:
    assert _value("note", r"50 % of a_b & {c}~^\#$") == (
        r"{50 \% of a\_b \& \textbraceleft{}c\textbraceright{}"
        r"\textasciitilde{}\textasciicircum{}\textbackslash{}\#\$}"
    )
    assert _value("doi", "10.1/a_b") == "{10.1/a_b}"
    entry = {"key": "k", "type": "misc", "fields": {"title": "}x{ @y"}, "cited_as": ["a@b\n@c"]}
    assert [*parse(_bibtex(entry))] == ["k"]


def test_the_command_prints_bibtex_alone(run: Run) -> None:
    assert set(parse(run("cite", "study.toml").stdout)) >= {"hong2012", "ma2014", "simt-dse"}
    data = json.loads(run("cite", "gtx280", "--json").stdout)
    assert {"key", "type", "fields", "cited_as"} == set(data["entries"][0])
    assert data["others"]
    assert "expected" in run("cite", "gtx28", status=2).stderr
    assert "references, behind" not in " ".join(run("cite", "--help").stdout.split())
