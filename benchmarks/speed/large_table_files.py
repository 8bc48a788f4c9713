"""Write the table of the benchmark of tables larger than memory: a folder of Parquet files, file by file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path


ROWS_PER_FILE = 1_000_000
ROWS_PER_GROUP = 250_000
N_INPUTS = 19  # and the target: 20 columns
TRUTH = "x1*x2 + x3/x4"
NOISE = 0.3  # standard deviation of the noise, a fifth of that of the law


def write_table(folder: Path, n_rows: int, *, seed: int = 0) -> None:
    """Write a table of `n_rows` rows, which `TRUTH` explains but for the noise, in the memory of one file.

    Inputs are between 0.5 and 2.5, each with a distribution of its own. The rows of file k depend on the seed
    and k alone: a smaller table is the beginning of a larger one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for index, start in enumerate(range(0, n_rows, ROWS_PER_FILE)):
        rng = np.random.default_rng([seed, index])
        n = min(ROWS_PER_FILE, n_rows - start)
        columns = {}
        for number in range(1, N_INPUTS + 1):
            power = 1.0 if number <= 4 else 0.3 * 1.25 ** (number - 5)
            columns[f"x{number}"] = 0.5 + 2.0 * rng.random(ROWS_PER_FILE)[:n] ** power
        law = columns["x1"] * columns["x2"] + columns["x3"] / columns["x4"]
        columns["y"] = law + NOISE * rng.normal(size=ROWS_PER_FILE)[:n]
        pq.write_table(
            pa.table(columns),
            folder / f"part-{index:04d}.parquet",
            row_group_size=ROWS_PER_GROUP,
            use_dictionary=False,  # which gains nothing with numbers that are all different
        )
