"""What cannot be asked together, or not of everything: each combination, with its reason."""

from __future__ import annotations

from typing import Any

from symbolic.errors import DseError

__all__ = ["check_optimum", "only_of_a_study", "only_without_store"]


def check_optimum(
    real: str | None,
    *,
    several: bool,
    top: int,
    per: tuple[str, ...],
    ties: bool,
    within: float | None,
    method: str,
    gap: float | None,
) -> None:
    """Refuse what an optimum of a study cannot be asked together; ``real`` is an axis of reals."""
    many: dict[str, bool] = {"top": top != 1, "per": bool(per)}
    if real is not None:
        from sweeps.certify.reals.optimum import check_asked

        check_asked(
            real, **many, ties=ties, within=within is not None, **{"several objectives": several}
        )
    elif several:
        from sweeps.goals import check_single

        check_single(**many, within=within is not None)
    elif within is not None:
        from sweeps.inverse.near import check_alone

        check_alone(**many, ties=ties, gap=gap is not None)
    elif ties:
        from sweeps.ties import check_ties

        check_ties(top, per, method)


def only_of_a_study(**asked: bool) -> None:
    """Refuse, of a Dataset or of models compared, what a search of equations is asked."""
    if wrong := [name for name, is_asked in asked.items() if is_asked]:
        raise DseError(
            f"{', '.join(wrong)}: of a Dataset every value is looked at, and of several models "
            "that of their run; ask the study of one model (its file), or leave it out"
        )


def only_without_store(**asked: Any) -> None:
    """Refuse, of models compared, what a run into a store is asked."""
    if wrong := [name for name, value in asked.items() if value]:
        raise DseError(
            f"{', '.join(wrong)}: the run of several models is kept in memory; dse.export writes "
            "its Dataset, or run each model into a store of its own"
        )
