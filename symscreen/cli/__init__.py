"""The command line: each verb is a function."""

from symscreen.cli.command import main

__all__ = ["main"]
