"""Nulls."""
