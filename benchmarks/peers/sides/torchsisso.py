"""TorchSISSO: two expansions by + − × ÷, and the screening of what they made.

Run as ``python torchsisso.py TABLE.npz``. Its ``n_expansion=3`` means two expansions; screening is by |r| of
standardised columns, twenty are kept, and one of them is fitted.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time

import numpy as np
import pandas as pd
import torch
from side_report import print_report
from TorchSisso.FeatureSpaceConstruction import feature_space_construction
from TorchSisso.Regressor import Regressor

OPERATORS = ["+", "-", "*", "/"]


def work(frame: pd.DataFrame) -> tuple[int, float]:
    """Expand and screen; return how many features there are, and when expansion ended."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):  # noqa: PTH123  # a device
        x, y, names = feature_space_construction(OPERATORS, frame, 3).feature_space()
        expanded = time.perf_counter()
        Regressor(x, y, names, 1, 20).regressor_fit()
    return x.shape[1], expanded


def main() -> None:
    """Time it on the table given, after a small one."""
    with np.load(sys.argv[1]) as table:
        columns = {"y": table["y"]} | {f"x{place}": column for place, column in enumerate(table["x"].T, 1)}
    frame = pd.DataFrame(columns)
    work(frame.iloc[:50, :5].copy())
    start = time.perf_counter()
    features, expanded = work(frame)
    seconds = time.perf_counter() - start
    print_report(
        seconds,
        features,
        "TorchSISSO",
        "torch",
        "numpy",
        expansion_seconds=expanded - start,
        threads=torch.get_num_threads(),
    )


if __name__ == "__main__":
    main()
