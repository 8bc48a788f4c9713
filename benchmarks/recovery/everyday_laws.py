"""How many laws of textbooks `symscreen.fit` finds in tables of everyday size, with and without noise.

The laws of `everyday_laws.toml` are from physics, engineering, chemistry, biology, medicine, economics and
statistics. None is a Feynman or Strogatz problem. Some have constants inside, as measured curves have. Each
law is drawn as four tables: 500 rows without noise, 500 rows with errors of 1 % of the root mean square of
the target, and 60 rows with errors of 2 % of it and with errors of 2 % of each value.

A law is found if the formula agrees with it on 1,000 fresh rows of the same ranges: to 1e-8 without noise,
and otherwise to twice the error of a fit of two constants, 2·noise·√(2/n). The error is the root mean square
of the differences, each divided by the size that the noise is relative to: the root mean square of the law,
or each value, but at least a twentieth of the root mean square.

It takes about half an hour of one core.
"""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from measurement import describe_machine, format_table, make_parser, save_results

import symscreen
from symscreen.errors import ExtrapolationWarning
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen.expressions.tree import Expression

EXACT_ERROR, N_FRESH, N_CONSTANTS, MIN_SIZE = 1e-8, 1_000, 2, 0.05
HEAD = ("rows", "noise", "laws", "found", "median seconds")


class Law(NamedTuple):
    """A law of named inputs, which are drawn from uniform distributions."""

    name: str
    formula: Expression
    ranges: dict[str, list[float]]

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Draw inputs and the target without noise."""
        columns = {name: rng.uniform(*ends, n_rows) for name, ends in self.ranges.items()}
        return columns, evaluate_expression(self.formula, columns)


def read_laws() -> list[Law]:
    """Read the list of laws."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["law"]
    return [Law(row["name"], parse_expression(row["formula"]), row["ranges"]) for row in rows]


class Table(NamedTuple):
    """The size of a table, and its noise, as a share of each value or of their root mean square."""

    n_rows: int
    noise: float
    is_relative: bool = False

    @property
    def label(self) -> str:
        """The noise as the table of results names it."""
        if not self.noise:
            return "none"
        return f"{100 * self.noise:g} % of {'each value' if self.is_relative else 'the root mean square'}"

    def compute_sizes(self, target: np.ndarray) -> np.ndarray:
        """Compute what errors are relative to, for a target without noise."""
        typical = np.sqrt(np.mean(target**2))
        return np.maximum(np.abs(target), MIN_SIZE * typical) if self.is_relative else typical


TABLES = (Table(500, 0.0), Table(500, 0.01), Table(60, 0.02), Table(60, 0.02, is_relative=True))


def measure(law: Law, table: Table, seed: int) -> dict[str, Any]:
    """Fit one table, and compare the formula with the law on fresh rows; one undefined there is not found."""
    rng = np.random.default_rng(seed)
    columns, target = law.draw(table.n_rows, rng)
    noisy = target
    if table.noise:
        noisy = target + table.noise * table.compute_sizes(target) * rng.normal(size=table.n_rows)
    start = perf_counter()
    result = symscreen.fit({**columns, "target": noisy}, target="target", jobs=1)
    seconds = perf_counter() - start
    fresh, truth = law.draw(N_FRESH, np.random.default_rng(seed + 1))
    errors = np.asarray(result.predict(pd.DataFrame(fresh))) - truth
    error = float(np.sqrt(np.mean((errors / table.compute_sizes(truth)) ** 2)))
    limit = 2.0 * table.noise * float(np.sqrt(N_CONSTANTS / table.n_rows)) if table.noise else EXACT_ERROR
    return {
        "law": law.name,
        "rows": table.n_rows,
        "noise": table.label,
        "found": error < limit,
        "error": float(f"{error:.3g}") if np.isfinite(error) else None,
        "seconds": round(seconds, 2),
        "verdict": result.record["verdict"]["kind"],
        "formula": result.formula.round_numbers(4).equation,
    }


def summarize(fits: Sequence[dict[str, Any]]) -> list[tuple[object, ...]]:
    """Count the laws that were found in each kind of table."""
    rows = []
    for table in TABLES:
        own = [fit for fit in fits if (fit["rows"], fit["noise"]) == (table.n_rows, table.label)]
        if own:
            found, median = sum(fit["found"] for fit in own), np.median([fit["seconds"] for fit in own])
            rows.append((table.n_rows, table.label, len(own), found, f"{median:.1f}"))
    return rows


def main(arguments: Sequence[str]) -> None:
    """Measure, print and save."""
    options = make_parser(__doc__)
    options.add_argument("--seed", type=int, default=11)
    options.add_argument("--law", action="append", help="only this law; may be given several times")
    options.add_argument("--rows", type=int, help="only the tables of this size")
    given, named = options.parse_args(arguments), describe_machine()
    fits = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExtrapolationWarning)
        for table in TABLES:
            for law in read_laws():
                if given.rows in {None, table.n_rows} and (given.law is None or law.name in given.law):
                    fits.append(measure(law, table, given.seed))
                    print(*fits[-1].values(), sep=" | ", flush=True)
    outcome = {"machine": named, "seed": given.seed, "fits": fits}
    save_results("everyday_laws", outcome, format_table(HEAD, summarize(fits)), given.results)
