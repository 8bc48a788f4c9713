"""Searches for the law of a target. Each searches one form of law."""
