"""Small spaces with a known answer, for searches."""

from __future__ import annotations

import numpy as np

from symscreen.config.screen_options import SpaceOptions
from symscreen.expansion import Space, expand
from symscreen.grammar import load_grammar
from symscreen.screeners import T0, Screener
from symscreen.statistics.ranks.sorted_block import compute_rank_signatures, sort_block
from symscreen.targets import NumericTarget

KINDS = ("strong", "weak", "skewed")


def drawn(rng, kind="strong", rows=400, inputs=4):
    """Draw inputs of positive values and a response of three of them."""
    x = rng.uniform(0.5, 2.0, (inputs, rows))
    if kind == "strong":
        y = x[0] * x[1] ** 2 + rng.normal(0, 0.2, rows)
    elif kind == "weak":
        y = x[0] + x[1] * x[2] + rng.normal(0, 0.6, rows)
    else:
        x[1] = x[0] * rng.lognormal(0, 0.3, rows)
        y = np.exp(2.0 * x[0] * x[1] + rng.normal(0, 0.3, rows))
    order = np.argsort(y)
    return np.ascontiguousarray(x[:, order]), NumericTarget(y[order])


def space_of(x, layers="ub", **changes) -> Space:
    grammar = load_grammar("basic").override(
        unary=["square", "log", "inv"], binary=["add", "sub", "mul"], **changes
    )
    names = [f"x{place}" for place in range(1, len(x) + 1)]
    return expand(names, x, grammar, grammar.resolve_layers(layers), options=SpaceOptions())


def losses_of(space: Space, response: NumericTarget, screener: Screener = T0, sign="free"):
    """Score every candidate: numbers in the layer, losses, rank classes."""
    numbers, losses, classes = [], [], []
    for block in space.evaluate_range(space.n_materialized, space.total):
        if len(block.numbers):
            ordered = sort_block(block.values)
            numbers.append(block.numbers - space.n_materialized)
            losses.append(screener.loss(screener.statistic(ordered, response), response, sign))
            classes.append(compute_rank_signatures(ordered, mirrored=screener.merges_mirrored(sign)))
    return np.concatenate(numbers), np.concatenate(losses), np.concatenate(classes)


def best_members(space: Space, response: NumericTarget, limit: int, sign="free"):
    """Return the members of the best classes; of classes that tie at the last place, all."""
    numbers, losses, classes = losses_of(space, response, sign=sign)
    _, first = np.unique(classes, return_index=True)
    last = np.sort(losses[first])[limit - 1]
    return numbers[losses <= last]
