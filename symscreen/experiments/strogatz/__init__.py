"""Strogatz."""
