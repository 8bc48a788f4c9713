"""The command line: parse, call the pipeline, print."""

from symscreen.cli.app import main

__all__ = ["main"]
