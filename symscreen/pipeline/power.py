"""`symscreen.power`: could these data find a formula at all? It is planted, and looked for under noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.expression import parse, to_text
from symscreen.options import at_least_1
from symscreen.pipeline.planting import noise_size, noisy_places, planted
from symscreen.pipeline.preparation import prepared
from symscreen.pipeline.screen_options import options_of
from symscreen.response.kinds import numeric
from symscreen.result import Power
from symscreen.screeners import Screener

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from symscreen.pipeline.rounds import Job
    from symscreen.pipeline.screen_options import ScreenOptions

__all__ = ["power"]

_LEVEL = 0.95
_HALF = 0.5


def power(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    truth: str,
    noise_ratio: Sequence[float] = (0.0, 0.01, 0.1, 1.0),
    repeats: int = 100,
    feature: str | None = None,
    **options: Any,
) -> Power:
    """Plant a formula on the columns of a table, and say how often a screen would find it under noise.

    Parameters
    ----------
    X, y
        As of `symscreen.screen`; the values of the response are not used.
    truth : str
        The formula: the response is its values with normal noise.
    noise_ratio : sequence of float
        The noise's standard deviation over the root mean square of the formula's values.
    repeats : int
        How often noise is drawn at each ratio; without noise once is enough.
    feature : str, optional
        What is to be found, where it is not the whole truth: one of its terms, for instance.
    **options
        As of `symscreen.screen`: what shapes the space, ``screener`` (the first one, which must score each
        feature alone, ranks), ``sign``, ``top`` (K), ``keep`` and ``cut``, ``seed`` and ``jobs``.

    Returns
    -------
    Power

    Raises
    ------
    FormulaError
        If the truth is undefined or constant on the data, or the space cannot hold the feature.
    OptionError
        If an option has no meaning here, or noise so large would overflow.

    Notes
    -----
    The feature counts as found where its class is among the best K, as a screen would show it: every member
    of the space with the same ranks (for linear screeners: every affine copy) is as good as the feature
    itself. Ranks are places among classes, ties broken as in a screen. Beyond 16,384 they are estimated,
    to about a hundredth. The space is grown once; each repeat costs one pass of scoring.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.additive(n=60)
    >>> found = symscreen.power(data.frame, truth="x1**3*x3", noise_ratio=[0, 5], repeats=10,
    ...                         operators="ablation", layers="ub", top=1)
    >>> found.table[["noise_ratio", "probability"]].values.tolist()[0], found.held_as
    ([0.0, 1.0], 'x3*x1**3')
    """
    given = options_of(options, verb="power")
    _refuse(given)
    ratios = _ratios(noise_ratio)
    at_least_1("repeats", repeats)
    ready = prepared(X, y, replace(given, progress=None))  # it is told of repeats, not of chunks
    job = ready.job
    numeric(ready.table.response, "power")
    _require_column_screener(job)
    operators, names = job.grammar.operators, ready.table.names
    planting = parse(truth, operators, names)
    wanted = planting if feature is None else parse(feature, operators, names)
    plant = planted(ready.table, job, planting, wanted)
    for ratio in ratios:
        noise_size(plant, ratio)  # refuses it before any work
    limit = job.request.limit
    assert limit is not None  # noqa: S101  # `_refuse` has seen to it
    runs = [repeats if ratio else 1 for ratio in ratios]
    places: list[list[float]] = []
    done = 0
    for ratio, times in zip(ratios, runs, strict=True):
        places.append([])
        for place in noisy_places(plant, job, ratio, times):
            places[-1].append(place)
            done += 1
            if callable(given.progress):
                given.progress(done, sum(runs))
    table = _table(ratios, places, limit)
    space = plant.space
    return Power(
        table=table,
        truth=to_text(planting),
        feature=to_text(wanted),
        held_as="" if space is None else to_text(space.expression(plant.member)),
        relation=plant.relation,
        top=limit,
        features=None if space is None else space.size,
        rows=ready.table.response.n,
        screener=job.request.columns[0].name,
        lost_at=_lost_at(ratios, table["probability"].tolist()),
        notices=ready.table.notices,
    )


def _refuse(options: ScreenOptions) -> None:
    """Refuse what has no meaning for a planted formula."""
    if options.top == "all":
        raise OptionError("top is 'all': power asks whether a formula is among the best K; give a number")
    if options.search != "exact":
        raise OptionError(f"search is {options.search!r}: power scores every feature; leave it out")
    if options.rounds != 1:
        raise OptionError(f"rounds is {options.rounds}: power looks at one round; leave it out")
    unheeded = {
        "distinct": options.distinct,
        "stability": options.stability,
        "members": options.members,
        "intervals": options.intervals or None,
    }
    for name, value in unheeded.items():
        if value is not None:
            raise OptionError(
                f"{name} is {value!r}: power lists nothing that it could apply to; leave it out"
            )
    for name, columns in (("ranking", options.ranking), ("stages", options.stages), ("event", options.event)):
        if columns is not None:
            raise OptionError(f"power plants a numeric response; name a --target in the place of --{name}")


def _require_column_screener(job: Job) -> None:
    first = job.request.screeners[0]
    if not isinstance(first, Screener):
        raise OptionError(
            f"{first.name} judges features together, and power counts how many single ones are better: put a "
            "column screener such as t0 first"
        )


def _ratios(given: Sequence[float]) -> list[float]:
    ratios = sorted({float(ratio) for ratio in given})
    if not ratios or not all(0.0 <= ratio < math.inf for ratio in ratios):
        raise OptionError(f"noise_ratio is {given!r}; give numbers of at least 0, such as 0, 0.01, 0.1")
    return ratios


def _table(ratios: Sequence[float], places: Sequence[Sequence[float]], limit: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([_row(ratio, own, limit) for ratio, own in zip(ratios, places, strict=True)])


def _row(ratio: float, places: Sequence[float], limit: int) -> Mapping[str, float]:
    from scipy.stats import binomtest

    found, repeats = sum(place <= limit for place in places), len(places)
    if ratio:
        interval = binomtest(found, repeats).proportion_ci(_LEVEL, method="wilson")
        low, high = float(interval.low), float(interval.high)
    else:  # nothing is drawn: the answer is certain
        low = high = float(found)
    return {
        "noise_ratio": ratio,
        "repeats": repeats,
        "found": found,
        "probability": found / repeats,
        "low": low,
        "high": high,
        "median_rank": float(np.median(places)),
        "mean_rank": float(np.mean(places)),
    }


def _lost_at(ratios: Sequence[float], chances: Sequence[float]) -> tuple[float, float] | None:
    """Find where the probability falls below one half, interpolated on the logarithm of the noise."""
    below = next((at for at, chance in enumerate(chances) if chance < _HALF), None)
    if below is None:
        return None
    if below == 0:
        return 0.0, ratios[0]
    low, high, p, q = ratios[below - 1], ratios[below], chances[below - 1], chances[below]
    if low == 0.0:
        return low, high
    at = math.exp(math.log(low) + (p - _HALF) / (p - q) * math.log(high / low))
    return at, at
