"""The command line, in which each verb is a function."""

from symscreen.cli.command import main

__all__ = ["main"]
