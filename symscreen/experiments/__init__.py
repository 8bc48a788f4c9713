"""Experiments of the papers, run again. `registry` lists them by name."""
