"""Sparse models on screened features."""

from symscreen.models.residual import residual_of

__all__ = ["residual_of"]
