"""Confidence intervals, p-values and numerical error bounds."""
