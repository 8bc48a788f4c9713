"""Options: their definitions, their checks, and the records that repeat a run."""
