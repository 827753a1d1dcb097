"""The compiled search: one program for all models, which reads a model's equations as a tape.

So no model needs compilation. `tape` encodes the equations; `enclosure` bounds each step over a box
by the rules of the primitives; `planes` bounds the objective by a plane in the leaves and their
logarithms; `depth_first` halves boxes. The functions take and return arrays and check nothing.
"""
