"""The search in machine code: one program for every model, which reads its equations as a tape.

Nothing is compiled for a model: `tape` is what is read, `enclose` bounds each step of it over a
box by the rules of the primitives, `relax` bounds the objective by a plane in the logarithms or
values of what varies, made of `planes` below single steps, `along` follows that along an axis,
`dig` halves boxes depth first. Arrays in, arrays out, no checks.
"""
