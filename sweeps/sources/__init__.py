"""Sources of queries: grids that are scanned (`grid_scan`) or certified (`grid_proof`), and tables.

`grid_proof` also chooses between a scan and a proof.
"""
