"""A result as terminal table and as files."""
