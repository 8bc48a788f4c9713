"""Processes that Ctrl-C ends, whoever started the tests."""

from __future__ import annotations

import signal
import subprocess
from contextlib import contextmanager


@contextmanager
def start_interruptible(words, **options):
    """Start a process that does not inherit an ignored interrupt; it is killed at the end.

    A test run that was started in the background ignores interrupts, and its children would do so, too.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(words, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
