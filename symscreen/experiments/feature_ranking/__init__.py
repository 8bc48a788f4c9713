"""Reproductions of Luo and Li (2024): feature ranking by T0."""
