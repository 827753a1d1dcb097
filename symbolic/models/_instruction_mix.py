"""The mix of floating-point instructions, and its peak (Hong 2012, §5.3.4 and Eqs. 65-67).

Two kinds of floating-point instructions count: those at the scalar peak, and those at a higher one,
which is fused multiply-add on a GPU and SIMD on a CPU.
"""

from __future__ import annotations

from symbolic.equation import equation
from symbolic.ops import divide

GPU, CPU = {"processor": "gpu"}, {"processor": "cpu"}


@equation(name="narrow_fp_insts", source="Hong 2012, Table 15", symbol=r"\#FP", when=GPU)
def narrow_fp_insts(fp_insts, fp_vec_insts):
    """Floating-point instructions of one operation. [instructions]

    >>> narrow_fp_insts(10.0, 2.0)
    12.0
    """
    return fp_insts + fp_vec_insts


@equation(name="narrow_fp_insts", source="Hong 2012, §5.7", symbol=r"\#FP", when=CPU)
def narrow_fp_insts_cpu(fp_insts, fp_fused_insts):
    """Scalar floating-point instructions; a fused one is two. [instructions]

    >>> narrow_fp_insts_cpu(10.0, 3.0)
    16.0
    """
    return fp_insts + 2 * fp_fused_insts


@equation(name="wide_fp_insts", source="Hong 2012, §5.3.4", symbol=r"\#FusedFP", when=GPU)
def wide_fp_insts(fp_fused_insts, fp_vec_fused_insts):
    """Fused multiply-adds, each of two operations. [instructions]

    >>> wide_fp_insts(3.0, 1.0)
    4.0
    """
    return fp_fused_insts + fp_vec_fused_insts


@equation(name="wide_fp_insts", source="Hong 2012, §5.7", symbol=r"\#FusedFP", when=CPU)
def wide_fp_insts_cpu(fp_vec_insts, fp_vec_fused_insts):
    """Floating-point instructions that SIMD lanes share; a fused one is two. [instructions]

    >>> wide_fp_insts_cpu(2.0, 1.0)
    4.0
    """
    return fp_vec_insts + 2 * fp_vec_fused_insts


@equation(source="Hong 2012, Eq. 65")
def narrow_fraction(narrow_fp_insts, wide_fp_insts):
    r"""Share of the scalar peak in the peak of the mix; 1 without floating point. [ratio]

    .. math:: \frac{\#FP}{\#FP + \#VecFP}

    >>> narrow_fraction(3.0, 1.0)
    0.75
    """
    return divide(narrow_fp_insts, narrow_fp_insts + wide_fp_insts, at_zero=1.0)


@equation(source="Hong 2012, Eq. 66")
def wide_fraction(narrow_fp_insts, wide_fp_insts):
    r"""Share of the higher peak in the peak of the mix. [ratio]

    .. math:: \frac{\#VecFP}{\#FP + \#VecFP}

    >>> wide_fraction(3.0, 1.0)
    0.25
    """
    return divide(wide_fp_insts, narrow_fp_insts + wide_fp_insts, at_zero=0.0)


@equation(source="Hong 2012, Eq. 65 and Table 14", symbol="DevPeakFP")
def peak_narrow(active_sms, fp_units, core_clock):
    """Operations a second of the scalar units of the cores in use. [1/s]

    >>> peak_narrow(16.0, 32.0, 1.544e9) / 1e9, peak_narrow(12.0, 2.0, 2.4e9) / 1e9
    (790.528, 57.6)
    """
    return active_sms * fp_units * core_clock


@equation(name="peak_wide", source="Hong 2012, §5.3.4", symbol="DevPeakFusedFP", when=GPU)
def peak_wide(peak_narrow):
    """Operations a second where every instruction is a fused one. [1/s]

    >>> peak_wide(790.528e9) / 1e9
    1581.056
    """
    return 2 * peak_narrow


@equation(name="peak_wide", source="Hong 2012, Eq. 66, Table 14", symbol="DevPeakFusedFP", when=CPU)
def peak_wide_cpu(active_sms, simd_units, simd_lanes, core_clock):
    """Operations a second of the SIMD units of the cores in use. [1/s]

    >>> peak_wide_cpu(12.0, 2.0, 4.0, 2.4e9) / 1e9
    230.4
    """
    return active_sms * simd_units * simd_lanes * core_clock


@equation(source="Hong 2012, Eqs. 65-67", symbol="PeakAchi")
def peak_achievable(peak_narrow, narrow_fraction, peak_wide, wide_fraction):
    r"""Operations a second if nothing but floating point were executed, without waiting. [1/s]

    The mean is that of the print, by instructions. It is exact on a GPU; on a CPU that mixes scalar
    and SIMD instructions it is too high, since an instruction at the lower rate takes longer.

    .. math:: PeakFP + PeakVecFP

    >>> peak_achievable(790.528e9, 0.5, 1581.056e9, 0.5) / 1e9
    1185.792
    """
    return peak_narrow * narrow_fraction + peak_wide * wide_fraction


EQUATIONS = (
    narrow_fp_insts,
    narrow_fp_insts_cpu,
    wide_fp_insts,
    wide_fp_insts_cpu,
    narrow_fraction,
    wide_fraction,
    peak_narrow,
    peak_wide,
    peak_wide_cpu,
    peak_achievable,
)
