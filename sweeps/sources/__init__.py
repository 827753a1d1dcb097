"""Sources of queries: grids that are scanned (`grid_scan`) or certified (`grid_proof`), tables."""
