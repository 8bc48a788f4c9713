"""The command line: parse, call the pipeline, print."""

from symscreen.cli.verbs import main

__all__ = ["main"]
