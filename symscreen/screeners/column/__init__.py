"""Column."""
