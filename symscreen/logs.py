"""What happens, told to the standard library's logging under the name ``symscreen``; quiet by default.

Each record has the stage as its message and its figures in the attribute ``figures``, so that a handler can
write lines for programs.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import TextIO

__all__ = ["LOGGER", "JsonLines", "LogStream", "log_event"]

LOGGER = logging.getLogger("symscreen")
LOGGER.addHandler(logging.NullHandler())


def log_event(name: str, **fields: str | float | None) -> None:
    """Log that a stage was reached.

    Parameters
    ----------
    name : str
        ``prepared``, ``grown``, ``scored``, ``finished``, …
    **figures : str, int, float or None
        What is to be told of it.
    """
    if LOGGER.isEnabledFor(logging.INFO):
        words = ", ".join(f"{key} {value}" for key, value in fields.items())
        LOGGER.info("%s", f"{name}: {words}" if words else name, extra={"stage": name, "figures": fields})


class JsonLines(logging.Formatter):
    r"""One JSON object a line: time (seconds since 1970), level, stage or message, figures.

    Examples
    --------
    >>> record = logging.makeLogRecord(
    ...     {"created": 1.5, "levelname": "INFO", "stage": "grown", "figures": {"features": 42}}
    ... )
    >>> JsonLines().format(record)
    '{"time": 1.5, "level": "info", "stage": "grown", "features": 42}'
    """

    def format(self, record: logging.LogRecord) -> str:  # logging's name
        """Write a record."""
        named = getattr(record, "stage", None)
        what = {"message": record.getMessage()} if named is None else {"stage": named}
        head = {"time": round(record.created, 6), "level": record.levelname.lower()}
        return json.dumps(head | what | getattr(record, "figures", {}))


class LogStream(logging.StreamHandler[TextIO]):
    r"""Writes records to a stream for as long as it can, and keeps why it no longer could.

    Attributes
    ----------
    failure : OSError or None
        Of the first record that could not be written; none is written after it.

    Examples
    --------
    >>> import io
    >>> stream = LogStream(io.StringIO())
    >>> stream.handle(logging.makeLogRecord({"msg": "grown"}))
    True
    >>> stream.stream.getvalue(), stream.failure
    ('grown\n', None)
    """

    failure: OSError | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, unless one before it could not be written."""
        if self.failure is None:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # logging's name
        """Keep that the stream cannot be written; any other error is told as logging tells it."""
        error = sys.exception()
        if isinstance(error, OSError):
            self.failure = error
        else:
            super().handleError(record)

    def close_stream(self) -> OSError | None:
        """Close the stream; return why not all could be written, or None."""
        try:
            self.stream.close()
        except OSError as error:
            self.failure = self.failure or error
        return self.failure
