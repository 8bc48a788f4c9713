"""Logging of the stages of a run, under the logger name ``symscreen``, which is silent by default.

Each log record has the stage as its message and its numbers in the attribute ``figures``, so that a handler
can write machine-readable lines.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import TextIO

LOGGER = logging.getLogger("symscreen")
LOGGER.addHandler(logging.NullHandler())


def log_event(name: str, **fields: str | float | None) -> None:
    """Log that a stage was reached.

    Parameters
    ----------
    name : str
        ``prepared``, ``grown``, ``scored``, ``finished``, …
    **fields : str, int, float or None
        Numbers and names that describe the stage.
    """
    if LOGGER.isEnabledFor(logging.INFO):
        words = ", ".join(f"{key} {value}" for key, value in fields.items())
        LOGGER.info("%s", f"{name}: {words}" if words else name, extra={"stage": name, "figures": fields})


class JsonLines(logging.Formatter):
    r"""Formats a record as one line of JSON: time (seconds since 1970), level, stage or message, figures.

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
    r"""Writes records to a stream until one cannot be written, and stores that error.

    Attributes
    ----------
    failure : OSError or None
        The error of the first record that could not be written. No record is written after it.

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
        """Store an error of the stream; leave any other error to the standard library."""
        error = sys.exception()
        if isinstance(error, OSError):
            self.failure = error
        else:
            super().handleError(record)

    def close_stream(self) -> OSError | None:
        """Close the stream; return the first error of writing, or None."""
        try:
            self.stream.close()
        except OSError as error:
            self.failure = self.failure or error
        return self.failure
