"""Quantities of products of matrices in tiles."""

from symbolic.quantity import COUNT1, POS, RESULT, SHARE, row

ROWS = (
    row("product_rows", "", COUNT1, "rows of the product of two matrices (M)", (128, 16384)),
    row("product_columns", "", COUNT1, "columns of the product of two matrices (N)", (128, 16384)),
    row("product_depth", "", COUNT1, "terms of each of its sums (K)", (64, 16384)),
    row("product_batch", "", COUNT1, "products of one launch", (1, 64), 1),
    row("tile_rows", "", COUNT1, "rows of the tile of a block", (64, 256), 256),
    row("tile_columns", "", COUNT1, "columns of the tile of a block", (64, 256), 128),
    row("element_bytes", "B", POS, "bytes of an element", (1, 8), 2),
    row("product_rate", "1/s", POS, "operations a second, of units and type", (1e12, 2e15)),
    row("product_share", "", "(0, 1]", "share of it that full tiles attain", (0.6, 1), 1),
    # --- results
    row("product_tiles", "", COUNT1, "tiles of all products"),
    row("product_waves", "", COUNT1, "times that the SMs are filled with tiles"),
    row("tile_time", "s", RESULT, "time of a tile on its SM"),
    row("product_bytes", "B", RESULT, "bytes of all matrices, each once"),
    row("product_efficiency", "", SHARE, "operations asked over those of all waves, full"),
)
