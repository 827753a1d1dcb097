"""The table of primitives in which equations are written.

To add a primitive, add one row (:class:`symbolic.primitives.spec.Primitive`) in `arithmetic`,
`choices` or `functions`. Its fields give the evaluation of floats and arrays, the closed form, the
loop nest, JavaScript, enclosures, directions and the grammar of formulas; the rules of enclosures
are also compiled for the certified search. These rules are written once, in terms of the operations
in `rule_operations`, for which each backend has its own functions. The certified search also bounds
some primitives by planes (`sweeps.bounds.compiled.planes`). A primitive without a plane is bounded
by its enclosure alone.
"""

from symbolic.primitives import arithmetic, choices, functions
from symbolic.primitives.spec import Primitive

PRIMITIVES: dict[str, Primitive] = {**arithmetic.ROWS, **choices.ROWS, **functions.ROWS}
