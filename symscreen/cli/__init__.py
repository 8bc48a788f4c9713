"""The command line: one file for each verb."""

from symscreen.cli.command import main

__all__ = ["main"]
