"""Figures, drawn with matplotlib (the extra ``plot``)."""
