"""The command line: parse, call the pipeline, print."""

from symscreen.cli.main import main

__all__ = ["main"]
