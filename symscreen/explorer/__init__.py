"""A local page in the browser for a stored result: its formulas, the rows of each, and exports."""
