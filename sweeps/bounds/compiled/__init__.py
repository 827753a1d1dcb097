"""The compiled search: one program for all models, which reads a model's equations as a tape.

A new model therefore needs no compilation. `tape` encodes the equations. `enclosure` bounds each
step over a box by the rules of the primitives. `planes` bounds the objective by a plane in the
leaves and their logarithms. `depth_first` halves boxes. The functions check no arguments.
"""
