"""Results of screens and fits, their records, and their files."""
