"""Small spaces and what least squares makes of them, for the tests of the search and of what follows it."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from symscreen.backends import Threads
from symscreen.config.screen_options import SpaceOptions
from symscreen.data import read_dataset
from symscreen.expansion import expand
from symscreen.expressions.tree import parse_expression
from symscreen.fitting import FitData, ModelSearchBudget, get_input_columns, search_models
from symscreen.fitting.feature_dictionary import TermDictionary
from symscreen.grammar import load_grammar


def table_of(x, y):
    """Make a table of columns x1, x2, … (rows of x) and a response."""
    return read_dataset({f"x{k + 1}": column for k, column in enumerate(x)}, y=y)


def space_of(table, layers, operators="ablation", pool="cumulative"):
    grammar = load_grammar(operators)
    return expand(
        table.names, table.columns, grammar, grammar.resolve_layers(layers), pool, options=SpaceOptions()
    )


def every_feature(space):
    """Return the numbers and values of all features that are defined."""
    blocks = list(space.evaluate_range(0, space.total))
    return np.concatenate([one.numbers for one in blocks]), np.concatenate([one.values for one in blocks])


def found_in(spaces, table, jobs=1, **effort):
    return search_models(
        spaces, FitData(get_input_columns(table), table.target), Threads(jobs), ModelSearchBudget(**effort)
    )


def share_left(values, y):
    """Return 1 − R² of a model with an intercept by numpy's least squares on scaled columns."""
    y = y / np.abs(y).max()
    around = y - y.mean()
    columns = [column / np.abs(column).max() for column in values]
    centered = np.array([column - column.mean() for column in columns]).reshape(len(columns), y.size).T
    norms = np.linalg.norm(centered, axis=0)
    left = around - (centered / norms) @ np.linalg.lstsq(centered / norms, around, rcond=None)[0]
    return float((left @ left) / (around @ around))


def best_share(values, y, size):
    return min(share_left(values[list(some)], y) for some in combinations(range(len(values)), size))


def dictionary(rng, complexity, rows=30, rivals=10.0, constants=0):
    """Make a dictionary of random features whose formulas have no meaning."""
    q = len(complexity)
    return TermDictionary(
        tuple(parse_expression(f"f{k}") for k in range(q)),
        rng.normal(size=(q, rows)),
        np.array(complexity, dtype=np.int64),
        np.full(q, rivals),
        np.arange(2 * q, dtype=np.uint64).reshape(q, 2),
        np.full(q, constants, dtype=np.int64),
    )
