"""Sources of queries: `grid_scan` scans a grid, `grid_proof` certifies, `table` reads a Dataset."""
