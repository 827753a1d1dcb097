"""Sources of queries: `grid_scan` scans a grid, `grid_proof` proves, `table` reads a Dataset."""
