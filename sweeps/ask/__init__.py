"""Questions: what is asked (`ask`), of what (`grid`, `proof`, `table`, `stored`), put together.

A source answers one objective at a time: its best, and all that is as good as some value. From that
``optimum`` composes objectives in order, ties, shares, ranks and labels, whatever the source.
"""
