"""Load the sources that verbs accept: a study, a comparison, a Dataset, or a path of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dse.inputs.merge import by_quantity_name
from dse.study.comparison import ComparisonData, join_answers
from dse.study.file import study_arguments
from dse.study.study import StudyData
from sweeps.query.support_table import check_supported
from sweeps.store.records import info_of
from symbolic.errors import DseError
from symbolic.json_text import read_json
from symbolic.library import load_model, locate_models

if TYPE_CHECKING:
    import xarray as xr

SourceLike: TypeAlias = "StudyData | ComparisonData | xr.Dataset | str | Path"

_T = TypeVar("_T")


def source_kind(source: StudyData | ComparisonData | xr.Dataset) -> str:
    """Return the kind of a source; see :data:`sweeps.query.support_table.SOURCES`."""
    if isinstance(source, StudyData):
        return "study"
    return "rows" if "configuration" in getattr(source, "dims", ()) else "Dataset"


def load_study_file(
    path: str | Path, allow: Callable[[Path], bool] | None = None
) -> StudyData | ComparisonData:
    """Load a study or comparison from a file; for ``allow`` see :meth:`dse.Study.from_toml`."""
    arguments = study_arguments(path, allow)
    if isinstance(arguments["model"], list):
        return ComparisonData.from_models(StudyData, arguments.pop("model"), **arguments)
    return StudyData(**arguments)


def load_if_study_file(source: Any) -> Any:
    """Load the study if ``source`` is the path of a study file; otherwise return ``source``."""
    if isinstance(source, (str, Path)) and Path(source).suffix == ".toml":
        return load_study_file(source)
    return source


#: Parameters that take names of quantities, or formulas.
_NAMED = (
    *("minimize", "maximize", "where", "per", "at", "along", "quantity", "output", "outputs"),
    *("formulas", "targets", "within", "of", "sets", "over", "by", "axes", "set_values"),
)


def with_quantity_names(source: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with quantities in place of symbols of the source's models."""
    studies = source.each.values() if isinstance(source, ComparisonData) else [source]
    models = [study._parts.model for study in studies if isinstance(study, StudyData)]
    with suppress(DseError, ValueError, KeyError, TypeError, AttributeError, OSError):
        about = source.attrs if hasattr(source, "attrs") else info_of(source).manifest  # type: ignore
        files, study = (read_json(about.get(key, "{}")) for key in ("model_files", "study"))
        located = [locate_models(name, files) for name in about["model"].split(", ")]
        models += [load_model(name, prefer=study.get("prefer")) for name in located]
    pairs = {pair for model in models for pair in model.names_by_symbol.items()}
    uses = Counter([s for s, _ in pairs] + [*getattr(source, "variables", ())])
    names = {symbol: name for symbol, name in pairs if uses[symbol] == 1}
    return {k: by_quantity_name(names, v) if k in _NAMED else v for k, v in options.items()}


def map_studies(
    source: SourceLike, compute: Callable[[StudyData], _T], verb: str = "", **modifiers: bool
) -> _T | dict[str, _T]:
    """Apply ``compute`` to the study of a source, or to each study of a comparison."""
    from dse.runs.files import open as open_dataset
    from dse.runs.identity import stored_study, study_of

    data = load_if_study_file(source)
    if isinstance(data, ComparisonData):
        for study in data.each.values() if verb else ():
            check_supported(verb, source_kind(study), modifiers)
        return {model: compute(study) for model, study in data.each.items()}
    if isinstance(data, (str, Path)):
        data = stored_study(data) or open_dataset(data)
    if not isinstance(data, StudyData) and not hasattr(data, "data_vars"):
        text = repr(data) if isinstance(data, (int, float)) else f"a {type(data).__name__}"
        raise DseError(
            f"{text} is no study of one model: give the dse.Study itself, which "
            "dse.Study.from_toml reads from its file"
        )
    if verb:
        check_supported(verb, source_kind(data), modifiers)
    return compute(data if isinstance(data, StudyData) else study_of(data))


def joined_answer(
    verb: str, source: SourceLike, compute: Callable[[StudyData], xr.Dataset], **modifiers: bool
) -> xr.Dataset:
    """Apply ``compute`` by :func:`map_studies`; join answers of a comparison along ``model``."""
    result = map_studies(source, compute, verb, **modifiers)
    return join_answers(result) if isinstance(result, dict) else result
