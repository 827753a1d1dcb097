"""The page of ``dse explore``: one HTML file that computes in the browser."""
