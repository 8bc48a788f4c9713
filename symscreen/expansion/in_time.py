"""The moment after which no more of a space is grown."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Check = Callable[[], None]

__all__ = ["OutOfTime", "ends_at", "untimed"]


class OutOfTime(Exception):  # noqa: N818  # it tells of no error: what is complete stands
    """The time is over; what was under way is given up."""


def untimed() -> None:
    """Let work go on for as long as it takes."""


def ends_at(moment: float | None) -> Check:
    """Return what work calls now and then, to be ended when the time is over.

    Parameters
    ----------
    moment : float or None
        By `time.monotonic`; None for never.

    Returns
    -------
    callable
        Raises `OutOfTime` after that moment.

    Examples
    --------
    >>> ends_at(None)()
    >>> ends_at(0.0)()
    Traceback (most recent call last):
    symscreen.expansion.in_time.OutOfTime
    """
    if moment is None:
        return untimed

    def check() -> None:
        if monotonic() > moment:
            raise OutOfTime

    return check
