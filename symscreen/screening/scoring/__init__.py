"""Scoring of a space by screeners, chunk by chunk."""
