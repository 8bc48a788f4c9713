"""Reproductions of label-ranking experiments."""
