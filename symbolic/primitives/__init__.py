"""The table of primitives in which equations are written.

To add a primitive, add one row (:class:`symbolic.primitives.spec.Primitive`) in `arithmetic`,
`choices` or `functions`. Its fields give the evaluation of floats and arrays, the closed form, the
loop nest, JavaScript, enclosures, directions and the grammar of formulas; the rules of enclosures
are also compiled for the certified search. These rules are written once, in the operations of
`rule_operations`; each backend has its own functions for these operations. The certified search
also bounds some primitives by planes (`sweeps.bounds.compiled.planes`), and the others by their
enclosures alone.
"""

from symbolic.primitives import arithmetic, choices, functions
from symbolic.primitives.spec import Primitive

PRIMITIVES: dict[str, Primitive] = {**arithmetic.ROWS, **choices.ROWS, **functions.ROWS}
