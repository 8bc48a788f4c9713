"""Stability selection: how often a feature's class is among the best on halves of the rows.

Complementary pairs: the rows are cut into two halves at random, again and again, and both halves of each pair
are screened (Shah and Samworth 2013, Variable selection with error control: another look).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import FormulaError, InputError, OptionError
from symscreen.expansion import given_formulas
from symscreen.expression import evaluate
from symscreen.options import at_least_1
from symscreen.pipeline.rounds import rounds_of
from symscreen.response import KINDS
from symscreen.result import UNATTENDED
from symscreen.statistics.order import order_features
from symscreen.table import some_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.pipeline.grouping import Grouping
    from symscreen.pipeline.rounds import Job, Round
    from symscreen.table import Table

    Rows = NDArray[np.int64]

__all__ = ["Halving", "bound_on_false", "half_samples", "halving_of", "with_stability"]

_HALVES = 2  # which of the streams of random numbers of a seed
_FEWEST_UNITS = 4
_FEWEST_ROWS = 10
_LEVELS = (0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, eq=False)
class Halving:
    """How rows are halved.

    Parameters
    ----------
    pairs : int
        B: how many times the rows are cut into two halves.
    unit : int64 array, shape (n,)
        For each row of the table the number of the unit that is never cut, from 0 up: itself, or its group.
    column : str or None
        The column that tells the groups.
    """

    pairs: int
    unit: Rows
    column: str | None

    def __post_init__(self) -> None:
        units, rows = int(self.unit.max(initial=-1)) + 1, len(self.unit)
        if self.column is not None and units < _FEWEST_UNITS:
            raise OptionError(
                f"--groups {self.column} has {units} groups, too few to halve: give at least {_FEWEST_UNITS}"
            )
        if rows < _FEWEST_ROWS:
            raise OptionError(f"--stability: {rows} rows are too few to halve; give at least {_FEWEST_ROWS}")


def halving_of(
    table: Table, pairs: int | None, *, grouping: Grouping | None, top: int | str, rounds: int
) -> Halving | None:
    """Say how rows are halved for stability selection, or refuse it where it has no meaning.

    Parameters
    ----------
    table : Table
        The data.
    pairs : int or None
        B; None for no stability selection.
    grouping : Grouping or None
        Rows that stay together.
    top, rounds
        As of `symscreen.screen`.

    Returns
    -------
    Halving or None

    Raises
    ------
    OptionError
        If there is no K, several rounds or a ranking, or if rows or groups are too few.
    """
    if pairs is None:
        return None
    at_least_1("stability", pairs)
    if table.response.kind != "numeric":
        what = KINDS[table.response.kind]
        raise OptionError(f"--stability needs a numeric response, and {table.response.name!r} is {what}")
    if top == "all":
        raise OptionError("--stability counts how often a feature is among the best K: give --top a number")
    if rounds != 1:
        raise OptionError(f"--stability looks at one round, and --rounds is {rounds}: leave one of them out")
    if grouping is None:
        return Halving(pairs, np.arange(table.response.n), None)
    return Halving(pairs, grouping.unit, grouping.column)


def half_samples(halving: Halving, seed: int) -> Iterator[Rows]:
    """Draw complementary pairs of half-samples.

    Parameters
    ----------
    halving : Halving
        How.
    seed : int
        Of the screen.

    Yields
    ------
    int64 array
        Rows, ascending; one half after the other. Each has half of the units, rounded down: of an odd number
        one unit is in neither half of a pair.

    Examples
    --------
    >>> from symscreen.pipeline.stability import Halving
    >>> first, second = half_samples(Halving(1, np.arange(10), None), seed=0)
    >>> sorted([*first.tolist(), *second.tolist()]) == list(range(10))
    True
    """
    units = int(halving.unit.max()) + 1
    for pair in range(halving.pairs):
        seeds = np.random.SeedSequence((seed, _HALVES, pair))
        mixed = np.random.default_rng(seeds).permutation(units)
        for start in (0, units // 2):
            inside = np.zeros(units, dtype=np.bool_)
            inside[mixed[start : start + units // 2]] = True
            yield np.flatnonzero(inside[halving.unit])


def bound_on_false(chosen: float, features: int, level: float) -> float:
    """Bound how many features of low chance are expected among those selected.

    Parameters
    ----------
    chosen : float
        q, how many features a half-sample selects on average.
    features : int
        p, how many there are.
    level : float
        τ, above 1/2: the share of half-samples from which on a feature counts as selected.

    Returns
    -------
    float
        q²/((2τ − 1)p): Theorem 1 of Shah and Samworth (2013) with θ = q/p. It holds whatever selects and
        however the features depend on each other: no shape of the distribution of the shares is assumed. Of
        low chance are features that a half-sample selects with a probability of at most q/p, as a choice at
        random would.

    Examples
    --------
    >>> round(bound_on_false(20, 10_000, 0.9), 6)
    0.05
    """
    return chosen**2 / ((2 * level - 1) * features)


def with_stability(table: Table, job: Job, found: Round, halving: Halving) -> tuple[Round, dict[str, Any]]:
    """Screen half-samples, and tell how often the class of each feature shown is among the best K.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        The screen; K is its limit.
    found : Round
        What it found in all rows.
    halving : Halving
        How rows are halved.

    Returns
    -------
    Round
        With a column ``stability``.
    dict
        For the record: pairs, groups, q, p, and the bounds by share.

    Raises
    ------
    OptionError
        If a half cannot be screened, with the reason.

    Notes
    -----
    A feature counts as selected in a half if the screen of that half shows it, or a feature that it cannot
    tell from it there. Each half is screened anew: a space grows, and is cut, by the rows of the half.
    """
    expressions = found.expressions
    counts, chosen = np.zeros(len(expressions), dtype=np.int64), []
    for number, rows in enumerate(half_samples(halving, job.request.seed), start=1):
        try:
            part = some_rows(table, rows)
            half = rounds_of(part, _job_of(job, part), 1)[0]
        except InputError as error:
            raise OptionError(f"--stability: half {number} cannot be screened: {error}") from error
        by_name = dict(zip(part.names, part.columns, strict=True))
        values = np.array([evaluate(one, by_name) for one in expressions]).reshape(len(expressions), -1)
        varied = np.flatnonzero(values.min(axis=1) < values.max(axis=1)) if len(values) else np.arange(0)
        places = half.screened.classes.places_of(order_features(np.ascontiguousarray(values[varied])))
        counts[varied[places >= 0]] += 1
        chosen.append(int(half.screened.kept.class_size.sum()))
    columns = found.screened.columns | {"stability": counts / (2 * halving.pairs)}
    q, p = float(np.mean(chosen)), found.screened.scored
    told = {
        "pairs": halving.pairs,
        "groups": halving.column,
        "units": int(halving.unit.max()) + 1,
        "features_selected": q,
        "features": p,
        "false_at_most": {f"{level:g}": bound_on_false(q, p, level) for level in _LEVELS} if p else {},
        "bound": "q^2/((2 tau - 1) p), Shah and Samworth 2013, Theorem 1: no assumption on shapes",
    }
    return replace(found, screened=replace(found.screened, columns=columns)), told


def _job_of(job: Job, part: Table) -> Job:
    """Return the screen of a half: silent, and without formulas of the user's that are constant there."""
    by_name = dict(zip(part.names, part.columns, strict=True))
    none = np.zeros((0, 2), dtype=np.uint64)

    def varies(at: int) -> bool:
        try:
            given_formulas([job.also[at]], by_name, none)
        except FormulaError:
            return False
        return True

    also = [one for at, one in enumerate(job.also) if varies(at)]
    return replace(job, also=also, request=replace(job.request, course=UNATTENDED, control=None))
