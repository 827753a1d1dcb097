"""Questions asked backwards: of what comes out, where on the grid it does."""
