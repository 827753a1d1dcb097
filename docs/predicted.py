"""Model whose predictions come from another program, row by row."""

import dse

given = dse.quantity("given_prediction", domain="(0, inf)", meaning="what is predicted")


@dse.equation(source="by definition", meaning="what was measured")
def outcome(given_prediction):
    """Return the given prediction."""
    return given_prediction
