"""What a verb is given: a study, models compared, a Dataset, or the path of any of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dse.study.comparison import ComparisonData, join_answers
from dse.study.study import StudyData
from sweeps.query.support_table import check_supported
from symbolic.errors import DseError
from symbolic.file_access import FileScope

if TYPE_CHECKING:
    import xarray as xr

#: What every verb takes.
SourceLike: TypeAlias = "StudyData | ComparisonData | xr.Dataset | str | Path"

_T = TypeVar("_T")


def source_kind(source: StudyData | ComparisonData | xr.Dataset) -> str:
    """Which of the sources it is; see :data:`sweeps.query.support_table.SOURCES`."""
    if isinstance(source, StudyData):
        return "study"
    return "rows" if "configuration" in getattr(source, "dims", ()) else "Dataset"


def load_study_file(
    path: str | Path, allow: Callable[[Path], bool] | None = None
) -> StudyData | ComparisonData:
    """The study, or the models compared, of a file; ``allow`` as for ``Study.from_toml``."""
    from dse.study.file import check_code, read_study_file

    tree, folder = read_study_file(Path(path)), Path(path).resolve().parent
    check_code(tree, folder, allow)
    reach, models = FileScope(folder, folder), tree.pop("model")
    if isinstance(models, list):
        return ComparisonData.from_models(StudyData, models, folder=reach, **tree)
    return StudyData(model=models, folder=reach, **tree)


def load_if_study_file(source: Any) -> Any:
    """What a study file says, given by its path; anything else as it is."""
    if isinstance(source, (str, Path)) and Path(source).suffix == ".toml":
        return load_study_file(source)
    return source


def map_studies(
    source: SourceLike, compute: Callable[[StudyData], _T], verb: str = "", **modifiers: bool
) -> _T | dict[str, _T]:
    """What is asked of equations: of a study, of that of a Dataset or file, of each model compared.

    A verb of the table of questions is refused what it cannot be asked; ``given`` tells with what.

    Raises
    ------
    DseError
        It is no study and tells of none.
    """
    from dse.runs.files import open as opened
    from dse.runs.identity import stored_study, study_of

    of = load_if_study_file(source)
    if isinstance(of, ComparisonData):
        for study in of.each.values() if verb else ():
            check_supported(verb, source_kind(study), modifiers)
        return {model: compute(study) for model, study in of.each.items()}
    if isinstance(of, (str, Path)):
        of = stored_study(of) or opened(of)
    if not isinstance(of, StudyData) and not hasattr(of, "data_vars"):
        text = repr(of) if isinstance(of, (int, float)) else f"a {type(of).__name__}"
        raise DseError(
            f"{text} is no study of one model: give the dse.Study itself, which "
            "dse.Study.from_toml reads from its file"
        )
    if verb:
        check_supported(verb, source_kind(of), modifiers)
    return compute(of if isinstance(of, StudyData) else study_of(of))


def joined_answer(
    verb: str, source: SourceLike, compute: Callable[[StudyData], xr.Dataset], **modifiers: bool
) -> xr.Dataset:
    """As :func:`map_studies`; the Datasets of models compared lie along ``model``."""
    result = map_studies(source, compute, verb, **modifiers)
    return join_answers(result) if isinstance(result, dict) else result
