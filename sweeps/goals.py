"""Several objectives in order of priority, as a question gives them."""

from __future__ import annotations

from typing import Any

from sweeps.answers import Goal, read_goals
from symbolic.errors import DseError

__all__ = ["goals_in_order"]


def goals_in_order(minimize: Any, maximize: Any) -> tuple[Goal, ...]:
    """The goals of an optimum, the first in priority first; a minus turns a quantity's direction.

    >>> [(goal.text, goal.sign) for goal in goals_in_order(["time", "-throughput"], None)]
    [('time', 1.0), ('throughput', -1.0)]
    """
    goals = read_goals(minimize, maximize)
    if len(goals) == 1:
        return goals
    texts = ", ".join(goal.text for goal in goals)
    if len({goal.sign for goal in goals}) > 1:
        around = {g.text: f"-{g.text}" if g.text.isidentifier() else f"-({g.text})" for g in goals}
        listed = [g.text if g.sign > 0 else around[g.text] for g in goals]
        raise DseError(
            f"of minimize and maximize it is not told which comes first, was given {texts}: put "
            f"all in one list in order of priority, such as minimize={listed!r}, or ask pareto"
        )
    turned = []
    for goal in goals:
        name = goal.text.strip().removeprefix("-").strip()
        minus = goal.text.strip().startswith("-") and name.isidentifier()
        turned.append(Goal(text=name, sign=-goal.sign) if minus else goal)
    for number, goal in enumerate(turned):
        if any(goal.text == other.text for other in turned[:number]):
            raise DseError(f"{goal.text} is given twice among the objectives {texts}: remove one")
    return tuple(turned)
