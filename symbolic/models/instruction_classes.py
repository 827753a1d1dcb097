"""Slowdown of a mix of instructions by their classes (Hong 2012, §2.6.4); join with ``mwp_cwp``.

In Table 6, a multiprocessor completes eight simple operations per cycle (M_Factor 1), and fewer
operations of the classes below. The default factors are measured. The manual gives the factor 4 for
floating-point division and integer multiplication, and calls integer division costly. The text
after the table interchanges 4.3 and 35. All counts are parts of ``comp_insts``.
"""

from symbolic.equation import Validity, equation
from symbolic.ops import divide

OUTPUTS = ("comp_factor",)
VALIDITY = Validity(
    quantity="release_year",
    maximum=2009,
    statement="factors of instruction_classes were measured on GPUs of 2008 (Hong 2012, Table 6): "
    "give those of the machine",
)

RULES = ("fp_div_insts + int_mul_insts + int_div_insts + int_mod_insts <= comp_insts",)


@equation(source="Hong 2012, Eq. 30 and Table 6", symbol=r"M\_Factor")
def comp_factor(
    total_insts, fp_div_insts, fp_div_factor, int_mul_insts, int_mul_factor, int_div_insts,
    int_div_factor, int_mod_insts, int_mod_factor,
):  # fmt: skip
    """Mean of M_Factor over all instructions; 1 if all are simple. [ratio]"""
    divisions = fp_div_insts * (fp_div_factor - 1) + int_div_insts * (int_div_factor - 1)
    others = int_mul_insts * (int_mul_factor - 1) + int_mod_insts * (int_mod_factor - 1)
    return 1 + divide(divisions + others, total_insts, at_zero=0.0)
