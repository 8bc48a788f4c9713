"""Feature ranking."""
