"""Distances between rankings, pairwise probabilities and consensus rankings."""
