"""What a response is, one file for each kind, and what a rank statistic needs of it."""

from symscreen.response.numeric import KINDS, Kind, Response

__all__ = ["KINDS", "Kind", "Response"]
