"""Searches for the law of a target, each for one form of law."""
