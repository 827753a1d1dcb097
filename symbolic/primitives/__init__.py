"""The primitives in which equations are written: one table, a row each, a cell for each world.

A new primitive is one row (:class:`symbolic.primitives.spec.Primitive`) in the family it belongs to:
`arithmetic`, `choices` or `functions`. From its cells come the evaluation of floats and arrays, the
closed form, the loop nest, JavaScript, enclosures, directions, the grammar of formulas,
and the machine code of the certified search. Rules over boxes are written once, in the `words` that
each world reads in its own way; `arithmetic` holds those of several rows. The planes by
which the search also bounds some steps (`sweeps.bounds.compiled.planes`) know those above `pow` in
the table alone: any other lies above the least of its enclosure.
"""

from symbolic.primitives import arithmetic, choices, functions
from symbolic.primitives.spec import Primitive

#: Every primitive by name, those of a kind together.
PRIMITIVES: dict[str, Primitive] = {**arithmetic.ROWS, **choices.ROWS, **functions.ROWS}
