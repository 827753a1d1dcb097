"""The certified optimum: branch and bound over boxes of the design space.

`boxes` bounds an objective over ranges of indices, `merging` makes few axes of many that act
together; `search` halves boxes until what is sought is found, `leaves` scans small ones, `descent`
finds a good configuration before any proof, `earliest` the first of equal ones; `optimum` asks.
"""
