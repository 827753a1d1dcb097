"""Names of products as people write them: which machine they mean, or which compute capability."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "products.toml"
_MAKERS = re.compile(r"\b(nvidia|amd|geforce|tesla|quadro|instinct|radeon)\b")


def plain_name(name: str) -> str:
    """A name without its maker, capitals, spaces and signs.

    >>> plain_name("NVIDIA GeForce RTX 3080"), plain_name("A100-SXM4-80GB")
    ('rtx3080', 'a100sxm480gb')
    """
    return re.sub(r"[^a-z0-9]", "", _MAKERS.sub("", name.lower().replace("_", " ")))


def meant(name: str, titles: Mapping[str, str]) -> list[str]:
    """The machines that a name means: the same but for its maker, capitals, spaces and signs.

    >>> meant("RTX 3080", {"rtx3080": "NVIDIA GeForce RTX 3080, 10 GB"})
    ['rtx3080']
    >>> meant("A100-SXM4-80GB", {"a100_80": "NVIDIA A100 SXM4, 80 GB"})
    ['a100_80']
    """
    plain = plain_name(name)
    return [key for key, title in titles.items() if plain and plain in _forms(key, title)]


def _forms(key: str, title: str) -> set[str]:
    whole = {plain_name(key), plain_name(title), plain_name(title.partition(",")[0])}
    return whole | {form.removeprefix("rtx").removeprefix("gtx") for form in whole}


def alike(name: str, titles: Mapping[str, str]) -> list[str]:
    """The machines of which a name says only the beginning, such as ``h100`` of ``h100_sxm``.

    >>> alike("H100", {"h100_pcie": "H100 PCIe", "h100_sxm": "H100 SXM5", "h1000": "H1000"})
    ['h100_pcie', 'h100_sxm']
    """
    plain = plain_name(name)
    found = []
    for key, title in titles.items():
        starts = (form for form in _forms(key, title) if form.startswith(plain))
        # "h100" is not the beginning of "h1000": a number goes on
        if plain and any(not (plain[-1:] + form[len(plain) :][:1]).isdigit() for form in starts):
            found.append(key)
    return found


@lru_cache(maxsize=1)
def _products() -> dict[str, str]:
    tree = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    found = {}
    for capability, names in tree.items():
        for name in names.split(","):
            for form in _forms(name, name):
                found[form] = capability
    return found


def capability_of(name: str) -> str:
    """The compute capability of a product of NVIDIA's; empty where it is not known.

    >>> capability_of("GeForce RTX 4080"), capability_of("rtx4080"), capability_of("svm")
    ('8.9', '8.9', '')
    """
    return _products().get(plain_name(name), "")


def written_capability(name: str) -> str:
    """The compute capability that a name writes, as NVIDIA's tools do; empty where it writes none.

    >>> written_capability("cc8.0"), written_capability("sm_80"), written_capability("sm_121")
    ('8.0', '8.0', '12.1')
    """
    found = re.fullmatch(r"(?:cc ?(\d+)\.(\d)|(?:cc|sm|compute) ?_?(\d+)(\d)[af]?)", name.lower())
    return ".".join(part for part in found.groups() if part) if found else ""
