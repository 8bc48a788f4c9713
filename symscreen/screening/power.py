"""What data can find: how often a planted formula is among the best, by the size of the noise.

A known formula planted on the columns of a table: the responses it makes, and where its feature stands.

`symscreen.power`: could these data find a formula at all? It is planted, and looked for under noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from symscreen.config.fields import describe_options, list_options
from symscreen.config.parsing import check_positive_int
from symscreen.config.screen_options import ScreenOptions, make_screen_options
from symscreen.data import replace_target
from symscreen.errors import FormulaError, OptionError
from symscreen.evaluation import find_affine_copies, find_affine_copies_in_space
from symscreen.expansion import permute_space_rows
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import evaluate_expression
from symscreen.expressions.tree import parse_expression
from symscreen.messages import hint_option, name_option
from symscreen.screeners import Screener
from symscreen.screening.class_members import classify_relations
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.residual_rounds import make_generation_config
from symscreen.screening.scoring.rank_counting import compute_class_rank
from symscreen.screening.scoring.top_features import compute_signatures
from symscreen.screening.space_generation import generate_space
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.config.keyword_types import ScreenKeywords
    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.screening.residual_rounds import ScreenConfig


@dataclass(frozen=True, eq=False)
class PowerResult:
    """What data can find.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a noise ratio, ascending: ``noise_ratio``, ``repeats``, ``found`` (in how many of them the
        feature's class was among the best K), ``probability``, its Wilson interval at 95 % ``low`` and
        ``high``, ``median_rank`` and ``mean_rank`` of the class.
    truth, feature : str
        What was planted, and what was looked for.
    closest_member : str
        The member of the feature's class that the space holds, the closest to it; empty where cuts make the
        space depend on the response.
    relation : str
        How that member is related to the feature: see `symscreen.screening.class_members.RELATIONS`.
    top : int
        K.
    n_features : int or None
        How many features the space has, at most; None where it depends on the response.
    n_rows : int
        How many rows there are.
    screener : str
        Who ranks.
    half_power_noise : tuple of float, or None
        Between which noise ratios the probability falls below one half; twice the same number where it can
        be interpolated on the logarithm of the ratio, and twice 0 where it is not found even without noise.
        None where it does not fall below it.
    notices : tuple of str
        For people.
    """

    table: pd.DataFrame
    truth: str
    feature: str
    closest_member: str
    relation: str
    top: int
    n_features: int | None
    n_rows: int
    screener: str
    half_power_noise: tuple[float, float] | None
    notices: tuple[str, ...]


_MAX_VALUE = 1e306  # of noise and formula together: no normal number is beyond 40, a response goes to 4e307
_NOISE_RANDOM_STREAM = 1  # which of the streams of random numbers of a seed
_MAX_EXAMINED_MEMBERS = (
    256  # members of the feature's class among which the one that is closest to it is named
)
_RELATIONS_BY_CLOSENESS = ("same values", "affine copy", "same ranks", "mirrored ranks", "rounding")


@dataclass(frozen=True, eq=False)
class PlantedFormula:
    """A formula planted on a table.

    Parameters
    ----------
    dataset : Table
        With the formula's values as its response, rows numbered as they stand here.
    feature : Expression
        What is looked for.
    space : Space or None
        The features, over the rows of `table`; None where cuts make it depend on the response.
    member_number : int
        The number of the member of the feature's class that is closest to it; −1 without a space.
    relation : str
        How that member is related to the feature.
    """

    dataset: Dataset
    feature: Expression
    space: Space | None
    member_number: int
    relation: str


def plant_formula(
    dataset: Dataset, config: ScreenConfig, truth: Expression, feature: Expression
) -> PlantedFormula:
    """Plant a formula, and find the feature to look for in the space.

    Parameters
    ----------
    dataset : Table
        The data; its response is not used.
    config : Job
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
    by_name = dict(zip(dataset.names, dataset.columns, strict=True))
    for what, expression in (("truth", truth), ("feature", feature)):
        _check_values(what, expression, evaluate_expression(expression, by_name))
    made = replace_target(
        replace(dataset, source_rows=np.arange(dataset.target.n)), evaluate_expression(truth, by_name)
    )
    made = replace(made, source_rows=np.arange(dataset.target.n))
    if config.pool_screeners:
        return PlantedFormula(made, feature, None, -1, "")
    space = generate_space(made, make_generation_config(made, config), config.layers)[0]
    values = evaluate_expression(feature, dict(zip(made.names, made.columns, strict=True)))
    numbers = _find_class_members(space, config, values)
    if not len(numbers):
        numbers = find_affine_copies_in_space(
            space, [feature], dict(zip(made.names, made.columns, strict=True))
        )
    if not len(numbers):
        text = to_text(feature)
        raise FormulaError(
            f"the space does not hold {text!r}: none of its {space.size:,} features orders these rows as "
            f"it does. symscreen why DATA {text!r} tells what is missing; {name_option('feature')} names "
            f"a term of the truth to look for instead, {name_option('also')} adds a formula to the space"
        )
    numbers = numbers[:_MAX_EXAMINED_MEMBERS]
    relations = classify_relations(values, space.compute_values(numbers))
    simple = space.get_metadata(numbers).complexity
    best = min(
        range(len(numbers)), key=lambda at: (_RELATIONS_BY_CLOSENESS.index(relations[at]), simple[at], at)
    )
    member, relation = int(numbers[best]), relations[best]
    if relation == "same values" and find_affine_copies([space.build_expression(member)], feature)[0]:
        relation = "same formula"
    return PlantedFormula(made, feature, space, member, relation)


def _check_values(role: str, expression: Expression, values: Values) -> None:
    undefined = int((~np.isfinite(values)).sum())
    if undefined:
        raise FormulaError(
            f"the {role} {to_text(expression)!r} is undefined in {undefined} of {len(values)} rows: "
            "give a formula that has a value in every row"
        )
    if values.min() == values.max():
        raise FormulaError(
            f"the {role} {to_text(expression)!r} is constant on these rows: there is nothing to be found"
        )


@dataclass(frozen=True, eq=False)
class _SignatureMatcher:
    """Finds the features of a range that have one signature."""

    space: Space
    screener: Screener
    mirrored: bool
    signature: np.uint64

    def __call__(self, chunk: tuple[int, int]) -> NDArray[np.int64]:
        found = [np.zeros(0, dtype=np.int64)]
        for block in self.space.evaluate_range(*chunk):
            if len(block.numbers):
                ordered = sort_block(block.values)
                own = compute_signatures(ordered, self.screener.equivalence, mirrored=self.mirrored)
                found.append(block.numbers[own == self.signature])
        return np.concatenate(found)


def _find_class_members(space: Space, config: ScreenConfig, values: Values) -> NDArray[np.int64]:
    """Find the members of a feature's class in a space."""
    request = config.scoring
    screener, mirrored = request.column_screeners[0], request.sign == "free"
    wanted = compute_signatures(
        sort_block(np.ascontiguousarray(values[None])), screener.equivalence, mirrored=mirrored
    )[0]
    matching = _SignatureMatcher(space, screener, mirrored, wanted)
    return np.concatenate(list(request.backend.map(matching, space.split_chunks(request.chunk_size))))


def compute_noise_std(planted_formula: PlantedFormula, ratio: float) -> float:
    """Return the standard deviation of the noise.

    Parameters
    ----------
    planted_formula : Plant
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
    values = planted_formula.dataset.numeric_target.values  # noqa: PD011  # no frame
    _, exponent = np.frexp(np.abs(values).max())  # squares of large values overflow unless they are scaled
    mean_square = float(np.mean(np.ldexp(values, -int(exponent)) ** 2))
    root = float(np.ldexp(math.sqrt(mean_square), int(exponent)))
    if ratio and ratio * root > _MAX_VALUE:
        raise OptionError(
            f"noise_ratio {ratio:g} is too large: the planted values' root mean square is {root:.3g}, and so "
            f"much noise overflows; give ratios up to {_MAX_VALUE / root:.1g}"
        )
    return ratio * root


def simulate_ranks(
    planted_formula: PlantedFormula, config: ScreenConfig, ratio: float, repeats: int
) -> Iterator[float]:
    """Add noise to the planted formula again and again, and find the place of the feature's class.

    Parameters
    ----------
    planted_formula : Plant
        What was planted.
    config : Job
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
    values, size = planted_formula.dataset.numeric_target.values, compute_noise_std(planted_formula, ratio)  # noqa: PD011
    for repeat in range(repeats):
        seeds = np.random.SeedSequence((config.scoring.seed, _NOISE_RANDOM_STREAM, repeat))
        noise = np.random.default_rng(seeds).standard_normal(len(values))
        yield _compute_rank(
            planted_formula, replace_target(planted_formula.dataset, values + size * noise), config
        )


def _compute_rank(planted_formula: PlantedFormula, dataset: Dataset, config: ScreenConfig) -> float:
    """Find the place of the feature's class against the response of a table with the rows of the plant."""
    request = config.scoring
    if planted_formula.space is None:
        space = generate_space(dataset, make_generation_config(dataset, config), config.layers)[0]
        values = evaluate_expression(
            planted_formula.feature, dict(zip(dataset.names, dataset.columns, strict=True))
        )
    else:
        space = permute_space_rows(planted_formula.space, dataset.source_rows)
        values = space.compute_values(np.array([planted_formula.member_number]))[0]
    return compute_class_rank(
        space,
        dataset.target,
        request.column_screeners[0],
        request.sign,
        values,
        backend=request.backend,
        chunk_size=request.chunk_size,
    )


_INTERVAL_LEVEL = 0.95
_HALF_POWER = 0.5


@describe_options(list_options(ScreenOptions))
def power(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    truth: str,
    noise_ratio: Sequence[float] = (0.0, 0.01, 0.1, 1.0),
    repeats: int = 100,
    feature: str | None = None,
    **options: Unpack[ScreenKeywords],
) -> PowerResult:
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
    **options : object
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
    >>> data = symscreen.datasets.make_additive(n=60)
    >>> found = symscreen.power(data.frame, truth="x1**3*x3", noise_ratio=[0, 5], repeats=10,
    ...                         operators="ablation", layers="ub", top=1)
    >>> found.table[["noise_ratio", "probability"]].values.tolist()[0], found.closest_member
    ([0.0, 1.0], 'x3*x1**3')
    """
    given = make_screen_options(options, verb="power")
    _check_options(given)
    ratios = _parse_ratios(noise_ratio)
    check_positive_int("repeats", repeats)
    ready = prepare_screen(X, y, replace(given, progress=None))  # it is told of repeats, not of chunks
    job = ready.config
    require_numeric_target(ready.dataset.target, "power")
    _check_column_screener(job)
    operators, names = job.grammar.operators, ready.dataset.names
    planting = parse_expression(truth, operators, names)
    wanted = planting if feature is None else parse_expression(feature, operators, names)
    plant = plant_formula(ready.dataset, job, planting, wanted)
    for ratio in ratios:
        compute_noise_std(plant, ratio)  # refuses it before any work
    limit = job.scoring.limit
    assert limit is not None  # noqa: S101  # `_refuse` has seen to it
    runs = [repeats if ratio else 1 for ratio in ratios]
    places: list[list[float]] = []
    done = 0
    for ratio, times in zip(ratios, runs, strict=True):
        places.append([])
        for place in simulate_ranks(plant, job, ratio, times):
            places[-1].append(place)
            done += 1
            if callable(given.progress):
                given.progress(done, sum(runs))
    table = _build_power_table(ratios, places, limit)
    space = plant.space
    return PowerResult(
        table=table,
        truth=to_text(planting),
        feature=to_text(wanted),
        closest_member="" if space is None else to_text(space.build_expression(plant.member_number)),
        relation=plant.relation,
        top=limit,
        n_features=None if space is None else space.size,
        n_rows=ready.dataset.target.n,
        screener=job.scoring.column_screeners[0].name,
        half_power_noise=_find_half_power_noise(ratios, table["probability"].tolist()),
        notices=ready.dataset.notices,
    )


def _check_options(options: ScreenOptions) -> None:
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
            raise OptionError(
                f"power plants a numeric response; name a numeric column{hint_option('target')} instead "
                f"of {name_option(name)}"
            )


def _check_column_screener(config: ScreenConfig) -> None:
    first = config.scoring.screeners[0]
    if not isinstance(first, Screener):
        raise OptionError(
            f"{first.name} judges features together, and power counts how many single ones are better: put a "
            "column screener such as t0 first"
        )


def _parse_ratios(noise_ratio: Sequence[float]) -> list[float]:
    ratios = sorted({float(ratio) for ratio in noise_ratio})
    if not ratios or not all(0.0 <= ratio < math.inf for ratio in ratios):
        raise OptionError(f"noise_ratio is {noise_ratio!r}; give numbers of at least 0, such as 0, 0.01, 0.1")
    return ratios


def _build_power_table(ratios: Sequence[float], ranks: Sequence[Sequence[float]], limit: int) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [_build_power_row(ratio, own, limit) for ratio, own in zip(ratios, ranks, strict=True)]
    )


def _build_power_row(ratio: float, ranks: Sequence[float], limit: int) -> Mapping[str, float]:
    from scipy.stats import binomtest

    found, repeats = sum(place <= limit for place in ranks), len(ranks)
    if ratio:
        interval = binomtest(found, repeats).proportion_ci(_INTERVAL_LEVEL, method="wilson")
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
        "median_rank": float(np.median(ranks)),
        "mean_rank": float(np.mean(ranks)),
    }


def _find_half_power_noise(
    ratios: Sequence[float], probabilities: Sequence[float]
) -> tuple[float, float] | None:
    """Find where the probability falls below one half, interpolated on the logarithm of the noise."""
    below = next((at for at, chance in enumerate(probabilities) if chance < _HALF_POWER), None)
    if below is None:
        return None
    if below == 0:
        return 0.0, ratios[0]
    low, high, p, q = ratios[below - 1], ratios[below], probabilities[below - 1], probabilities[below]
    if low == 0.0:
        return low, high
    at = math.exp(math.log(low) + (p - _HALF_POWER) / (p - q) * math.log(high / low))
    return at, at
