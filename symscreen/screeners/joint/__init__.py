"""Joint screeners: features are scored together."""
