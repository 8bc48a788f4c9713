"""A known formula planted on the columns of a table: the responses it makes, and where its feature stands."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import FormulaError, OptionError
from symscreen.evaluation import affine_copies, like_one_of
from symscreen.expansion import with_rows
from symscreen.expression import evaluate, to_text
from symscreen.pipeline.growth import grown
from symscreen.pipeline.membership import related
from symscreen.pipeline.rounds import growth_of
from symscreen.result import class_place, signatures_of
from symscreen.statistics.order import order_features
from symscreen.table import with_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.expression import Expression
    from symscreen.pipeline.rounds import Job
    from symscreen.screeners import Screener
    from symscreen.table import Table

    Values = NDArray[np.float64]

__all__ = ["Plant", "noise_size", "noisy_places", "planted"]

_LARGEST = 1e306  # of noise and formula together: no normal number is beyond 40, a response goes to 4e307
_NOISE = 1  # which of the streams of random numbers of a seed
_LOOKED_AT = 256  # members of the feature's class among which the one that is closest to it is named
_CLOSENESS = ("same values", "affine copy", "same ranks", "mirrored ranks", "rounding")


@dataclass(frozen=True, eq=False)
class Plant:
    """A formula planted on a table.

    Parameters
    ----------
    table : Table
        With the formula's values as its response, rows numbered as they stand here.
    feature : Expression
        What is looked for.
    space : Space or None
        The features, over the rows of `table`; None where cuts make it depend on the response.
    member : int
        The number of the member of the feature's class that is closest to it; −1 without a space.
    relation : str
        How that member is related to the feature.
    """

    table: Table
    feature: Expression
    space: Space | None
    member: int
    relation: str


def planted(table: Table, job: Job, truth: Expression, feature: Expression) -> Plant:
    """Plant a formula, and find the feature to look for in the space.

    Parameters
    ----------
    table : Table
        The data; its response is not used.
    job : Job
        How the space is grown, and who ranks.
    truth : Expression
        What makes the response.
    feature : Expression
        What is to be found.

    Returns
    -------
    Plant

    Raises
    ------
    FormulaError
        If either is undefined in some row, or constant, or the space has no member of the feature's class.
    """
    by_name = dict(zip(table.names, table.columns, strict=True))
    for what, expression in (("truth", truth), ("feature", feature)):
        _check(what, expression, evaluate(expression, by_name))
    made = with_response(replace(table, rows=np.arange(table.response.n)), evaluate(truth, by_name))
    made = replace(made, rows=np.arange(table.response.n))
    if job.cutters:
        return Plant(made, feature, None, -1, "")
    space = grown(made, growth_of(made, job), job.layers)[0]
    values = evaluate(feature, dict(zip(made.names, made.columns, strict=True)))
    numbers = _class_in(space, job, values)
    if not len(numbers):
        numbers = like_one_of(space, [feature], dict(zip(made.names, made.columns, strict=True)))
    if not len(numbers):
        text = to_text(feature)
        raise FormulaError(
            f"the space does not hold {text!r}: none of its {space.size:,} features orders these rows as it "
            f"does. symscreen why DATA {text!r} tells what is missing; --feature names a term of the truth "
            "to look for instead, --also adds a formula to the space"
        )
    numbers = numbers[:_LOOKED_AT]
    relations = related(values, space.values(numbers))
    simple = space.features(numbers).complexity
    best = min(range(len(numbers)), key=lambda at: (_CLOSENESS.index(relations[at]), simple[at], at))
    member, relation = int(numbers[best]), relations[best]
    if relation == "same values" and affine_copies([space.expression(member)], feature)[0]:
        relation = "same formula"
    return Plant(made, feature, space, member, relation)


def _check(what: str, expression: Expression, values: Values) -> None:
    undefined = int((~np.isfinite(values)).sum())
    if undefined:
        raise FormulaError(
            f"the {what} {to_text(expression)!r} is undefined in {undefined} of {len(values)} rows: "
            "give a formula that has a value in every row"
        )
    if values.min() == values.max():
        raise FormulaError(
            f"the {what} {to_text(expression)!r} is constant on these rows: there is nothing to be found"
        )


@dataclass(frozen=True, eq=False)
class _Matching:
    """Finds the features of a range that have one signature."""

    space: Space
    screener: Screener
    mirrored: bool
    wanted: np.uint64

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        found = [np.zeros(0, dtype=np.int64)]
        for block in self.space.blocks(*chunk):
            if len(block.numbers):
                ordered = order_features(block.values)
                own = signatures_of(ordered, self.screener.blind_to, mirrored=self.mirrored)
                found.append(block.numbers[own == self.wanted])
        return np.concatenate(found)


def _class_in(space: Space, job: Job, values: Values) -> NDArray[np.int64]:
    """Find the members of a feature's class in a space."""
    request = job.request
    screener, mirrored = request.columns[0], request.sign == "free"
    wanted = signatures_of(
        order_features(np.ascontiguousarray(values[None])), screener.blind_to, mirrored=mirrored
    )[0]
    matching = _Matching(space, screener, mirrored, wanted)
    return np.concatenate(list(request.backend.map(matching, space.chunks(request.chunk_size))))


def noise_size(plant: Plant, ratio: float) -> float:
    """Return the standard deviation of the noise.

    Parameters
    ----------
    plant : Plant
        What was planted.
    ratio : float
        The standard deviation over the root mean square of the formula's values.

    Returns
    -------
    float

    Raises
    ------
    OptionError
        If the formula with its noise would overflow.
    """
    values = plant.table.numeric.values
    _, exponent = np.frexp(np.abs(values).max())  # squares of large values overflow unless they are scaled
    mean_square = float(np.mean(np.ldexp(values, -int(exponent)) ** 2))
    root = float(np.ldexp(math.sqrt(mean_square), int(exponent)))
    if ratio and ratio * root > _LARGEST:
        raise OptionError(
            f"noise_ratio {ratio:g} is too large: the planted values' root mean square is {root:.3g}, and so "
            f"much noise overflows; give ratios up to {_LARGEST / root:.1g}"
        )
    return ratio * root


def noisy_places(plant: Plant, job: Job, ratio: float, repeats: int) -> Iterator[float]:
    """Add noise to the planted formula again and again, and find the place of the feature's class.

    Parameters
    ----------
    plant : Plant
        What was planted.
    job : Job
        How the space is grown, and who ranks.
    ratio : float
        The noise's standard deviation over the root mean square of the formula's values.
    repeats : int
        How often.

    Yields
    ------
    float
        The place among all classes, from 1; infinite where a cut has lost the class. Repeat r draws the same
        noise at every ratio, but for its scale, so that power falls smoothly.
    """
    values, size = plant.table.numeric.values, noise_size(plant, ratio)
    for repeat in range(repeats):
        seeds = np.random.SeedSequence((job.request.seed, _NOISE, repeat))
        noise = np.random.default_rng(seeds).standard_normal(len(values))
        yield _place(plant, with_response(plant.table, values + size * noise), job)


def _place(plant: Plant, table: Table, job: Job) -> float:
    """Find the place of the feature's class against the response of a table with the rows of the plant."""
    request = job.request
    if plant.space is None:
        space = grown(table, growth_of(table, job), job.layers)[0]
        values = evaluate(plant.feature, dict(zip(table.names, table.columns, strict=True)))
    else:
        space = with_rows(plant.space, table.rows)
        values = space.values(np.array([plant.member]))[0]
    return class_place(
        space,
        table.response,
        request.columns[0],
        request.sign,
        values,
        backend=request.backend,
        chunk_size=request.chunk_size,
    )
