"""Rank statistics and the sorting that they share."""
