"""The certified optimum: branch and bound over boxes of the design space.

`boxes` bounds an objective over ranges of indices, `merging` makes few axes of many that act
together, in an order in which neighbours are `alike` (`spaces` remember which); `search` keeps the
boxes that are open and has `machine` dig into them, which reads a problem as `encode` writes it
down; `descent` finds a good configuration where a proof takes long, `earliest` the first of equal
ones, `ranking` all in order; `optimum` asks, and hands out a `certificate`; `priority` asks for
several objectives in order, `reals` where axes are intervals of real numbers.

A `front` is explored by `beating`: an `archive` holds the points that none beats, `leaves` look at
all points of small boxes, `gaps` closes those between two objectives, and `settling` finds the
first of equal points.
"""
