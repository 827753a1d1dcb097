"""The equations of the models and their algebra: quantities, graph, closed forms, units."""
