"""autofeat: generation of features in three steps (transform, combine, transform), no selection.

Run as ``python autofeat_generation.py TABLE.npz``. Counted are the features that it returns; it makes about
twice as many and drops sums and correlated features; ``made`` is the number before that.
"""

from __future__ import annotations

import logging
import sys
import time

import numpy as np
import pandas as pd
from autofeat.feateng import engineer_features
from side_report import print_report


class Counting(logging.Handler):
    """Reads from its log how many features were made."""

    made = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the number in a line of the log."""
        text = record.getMessage()
        if "Generated altogether" in text:
            self.made = int(text.split("altogether")[1].split()[0])


def main() -> None:
    """Time it on the table given, after a small one."""
    with np.load(sys.argv[1]) as table:
        frame = pd.DataFrame(table["x"], columns=[f"x{place}" for place in range(1, table["x"].shape[1] + 1)])
    counting = Counting()
    logging.getLogger().handlers = [counting]
    engineer_features(frame.iloc[:50, :2], max_steps=3)
    start = time.perf_counter()
    kept, _ = engineer_features(frame, max_steps=3, verbose=1)
    seconds = time.perf_counter() - start
    print_report(seconds, kept.shape[1], "autofeat", "numpy", "numba", "sympy", made=counting.made, threads=1)


if __name__ == "__main__":
    main()
