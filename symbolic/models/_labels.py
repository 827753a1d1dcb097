"""Equations for a quantity that has a different value for each label of a switch."""

from collections.abc import Callable, Mapping
from typing import Any

from symbolic.equation import Equation, equation


def _same(value: Any) -> Any:
    """Quantity chosen by a switch."""
    return value


def _number(value: float) -> Callable[[], float]:
    def number() -> float:
        """Number chosen by a switch."""
        return value

    return number


def by_label(
    name: str, source: str, switch: str, values: Mapping[str, str | float], **when: str
) -> tuple[Equation, ...]:
    """Return an equation of a quantity for each label of a switch.

    ``values`` maps each label to the name of another quantity, or to a number.
    """
    result = []
    for label, value in values.items():
        inputs = [value] if isinstance(value, str) else []
        function = _same if isinstance(value, str) else _number(value)
        labels = {**when, switch: label}
        result.append(equation(function, name=name, source=source, inputs=inputs, when=labels))
    return tuple(result)
