"""Column screeners: each feature is scored independently of the others."""
