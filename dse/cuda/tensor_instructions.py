"""Operations and number types of tensor instructions (mma, wmma, wgmma), read from their names.

The name of a machine instruction holds its shape: ``HMMA.16816.F32.BF16`` multiplies 16 × 16 by
16 × 8 numbers, and ``HGMMA.64x128x16.F32`` is one instruction of four warps. A product of m × k by
k × n numbers has 2 m n k operations (PTX ISA, warp-level and asynchronous matrix instructions).
Sparse instructions skip half of their terms, which are not counted.
"""

from __future__ import annotations

import re

from dse.cuda.instructions import Instruction

#: Warps that execute a warpgroup instruction together.
_WARPGROUP = 4
_SHAPE = re.compile(r"(16|8)(8)(\d+)")
_WARPGROUP_SHAPE = re.compile(r"(\d+)x(\d+)x(\d+)")
#: Operations of one step of HMMA.884, by the type of its sums. A set of 2048 operations takes four
#: steps with sums in FP32, and two with sums in FP16 (Jia 2018, Volta).
_VOLTA_STEP = {"F32": 512.0, "F16": 1024.0}
#: Number types by the modifier of the instruction; the first that occurs counts.
_TYPES = (
    *(("E2M1", "fp4"), ("E4M3", "fp8"), ("E5M2", "fp8"), ("E2M3", "fp8"), ("E3M2", "fp8")),
    *(("BF16", "bf16"), ("TF32", "tf32"), ("S8", "int8"), ("U8", "int8")),
    *(("S4", "int4"), ("U4", "int4")),
)
#: Number types of instructions whose modifiers name no type.
_TYPE_OF_NAME = {
    **dict.fromkeys(("HMMA", "HGMMA"), "fp16"),
    **dict.fromkeys(("IMMA", "IGMMA"), "int8"),
    **dict.fromkeys(("QMMA", "QGMMA"), "fp8"),
    **dict.fromkeys(("BMMA", "BGMMA"), "binary"),
    "DMMA": "fp64",
    "OMMA": "fp4",
}


def tensor_flops(instruction: Instruction) -> tuple[str, float] | None:
    """Return the number type of a tensor instruction and its operations in one warp.

    Return None if its name has no shape, as for ``tcgen05.mma`` (UTCHMMA).

    >>> tensor_flops(Instruction(0, "HMMA.16816.F32.BF16", "R4, R8, R12, R4"))
    ('bf16', 4096.0)
    """
    modifiers = instruction.modifiers
    kind = next((kind for word, kind in _TYPES if word in modifiers), "")
    kind = kind or _TYPE_OF_NAME.get(instruction.name, "")
    if kind in ("fp16", "fp8") and "F32" not in modifiers and "F16" in modifiers:
        kind += "_fp16"
    warps, shape = 1, None
    for each in modifiers:
        if (shape := _SHAPE.fullmatch(each)) is not None:
            break
        if (shape := _WARPGROUP_SHAPE.fullmatch(each)) is not None:
            warps = _WARPGROUP
            break
    if not kind or shape is None:
        return None
    if instruction.name == "HMMA" and shape[0] == "884":
        return kind, _VOLTA_STEP["F32" if "F32" in modifiers else "F16"]
    rows, columns, depth = (int(each) for each in shape.groups())
    return kind, 2.0 * rows * columns * depth / warps / (2 if "SP" in modifiers else 1)
