"""Learners of rankings: trees, forests, nearest neighbours, pairwise models and an ensemble."""
