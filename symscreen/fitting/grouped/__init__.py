"""Fits of one form to groups of rows, each with constants of its own."""
