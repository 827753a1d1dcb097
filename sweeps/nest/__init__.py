"""Loop nests: written and made machine code by `emit`.

`run` fills arrays with a grid's outputs tile by tile; `passes` goes over tiles that nobody keeps
and leaves out those of which bounds tell enough; `reduce` keeps the smallest and the front;
`summarize` computes statistics of rows, and their errors.
"""
