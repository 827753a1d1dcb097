"""What a program besides the graph predicts, row by row, to be held against what was measured."""

import dse

given = dse.quantity("given_prediction", domain="(0, inf)", meaning="what is predicted")


@dse.equation(source="by definition", meaning="what was measured")
def outcome(given_prediction):
    """What was predicted, as it was predicted."""
    return given_prediction
