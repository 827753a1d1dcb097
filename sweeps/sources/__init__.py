"""Sources of queries: a scan of a grid (`grid_scan`), a proof (`grid_proof`), a `table`."""
