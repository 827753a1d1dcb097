"""The compiled search: one program for every model, which reads its equations as a tape.

Nothing is compiled for a model: `tape` encodes its equations, `enclosure` bounds each step over a
box by the rules of the primitives, `planes` bounds the objective by a plane in the values and
logarithms of what varies, `depth_first` halves boxes. Arrays in, arrays out, no checks.
"""
