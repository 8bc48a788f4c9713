"""The papers' experiments, run again. `registry` has them by their names."""
