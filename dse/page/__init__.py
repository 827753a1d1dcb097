"""Make the page of ``dse explore``: one HTML file that evaluates a study in the browser."""
