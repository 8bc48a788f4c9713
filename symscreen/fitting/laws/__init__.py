"""Searches for the law behind a target, each for one form of law."""
