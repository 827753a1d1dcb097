"""Certified answers by branch and bound: optima, fronts, boxes of conditions, tolerances."""
