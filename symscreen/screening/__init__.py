"""Screening: prepare, generate, score and rank a space of formulas."""
