"""Answers certified by branch and bound: optima, Pareto fronts, feasible boxes, tolerances."""
