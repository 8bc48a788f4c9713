"""Null distributions of the statistics."""
