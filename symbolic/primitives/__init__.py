"""The primitives in which equations are written: one table, a row for each.

A new primitive is one row (:class:`symbolic.primitives.spec.Primitive`) in `arithmetic`, `choices`
or `functions`. Its fields give the evaluation of floats and arrays, the closed form, the loop nest,
JavaScript, enclosures, directions, the grammar of formulas and the machine code of the certified
search. Rules over boxes are written once, in the operations of `rule_operations`, which each
backend binds in its own way. The planes with which the search also bounds some steps
(`sweeps.bounds.compiled.planes`) cover the primitives above `pow` in the table; any other is
bounded by the least of its enclosure.
"""

from symbolic.primitives import arithmetic, choices, functions
from symbolic.primitives.spec import Primitive

#: Every primitive by name, grouped by kind.
PRIMITIVES: dict[str, Primitive] = {**arithmetic.ROWS, **choices.ROWS, **functions.ROWS}
