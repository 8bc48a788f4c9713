"""Inference on a ranking: error control, intervals, stability, redundancy and numerical error."""
