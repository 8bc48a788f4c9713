"""`symscreen.power`: plant a formula in the data under noise, and measure how often a screen finds it."""

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
from symscreen.messages import KEYWORD, hint_option, name_option, name_subject
from symscreen.report.html_listings import format_listing_html, format_listing_text
from symscreen.report.terminal.result_tables import build_power_table
from symscreen.screeners import Screener
from symscreen.screening.class_members import RELATIONS, classify_relations
from symscreen.screening.memory_estimate import estimate_scoring_bytes
from symscreen.screening.preparation import prepare_screen
from symscreen.screening.run_control import DEFAULT_RUN_CONTROL
from symscreen.screening.scoring.block_scoring import iterate_sorted_blocks
from symscreen.screening.scoring.rank_counting import compute_class_rank
from symscreen.screening.scoring.score_space import score_space
from symscreen.screening.scoring.top_features import compute_signatures
from symscreen.screening.space_generation import generate_space
from symscreen.screening.task import MAX_EXAMINED
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
    from symscreen.screening.task import ScreeningTask

# largest value of noise and formula; normal numbers stay below 40, and targets below 4e307
_MAX_VALUE = 1e306
_NOISE_RANDOM_STREAM = 1  # random stream of a seed
_MAX_EXAMINED_MEMBERS = 256  # equivalent features that are compared with the one that is searched for

_INTERVAL_LEVEL = 0.95
_HALF_POWER = 0.5


@dataclass(frozen=True, eq=False)
class PowerResult:
    """What data can find.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per noise ratio, ascending: ``noise_ratio``, ``repeats``, ``found`` (number of repeats in
        which a screen shows the feature or an equivalent one), ``probability``, its Wilson interval at 95 %
        ``low`` and ``high``, ``represented`` (number of the other repeats in which a near-duplicate is shown
        that represents it), ``median_rank`` and ``mean_rank`` of its equivalence class among all of them.
    truth, feature : str
        The planted formula, and the feature that is searched for.
    closest_member : str
        The feature of the space that is equivalent and closest to the one that is searched for; empty if
        pruning makes the space depend on the target.
    relation : str
        How that member is related to the feature: see `symscreen.screening.class_members.RELATIONS`.
    top : int
        K, the number of distinct features that a screen shows.
    max_correlation : float
        The rank correlation above which a feature is a near-duplicate of a better one; 1 for no limit.
    n_features : int or None
        Number of features of the space, at most; None if it depends on the target.
    n_rows : int
        Number of rows.
    screener : str
        The screener that ranks.
    half_power_noise : tuple of float, or None
        The noise ratios between which the probability falls below one half: twice the same number if it is
        interpolated on the logarithm of the ratio, twice 0 if the feature is not found even without noise.
        None if the probability does not fall below one half.
    notices : tuple of str
        Notices about the data.
    """

    table: pd.DataFrame
    truth: str
    feature: str
    closest_member: str
    relation: str
    top: int
    max_correlation: float
    n_features: int | None
    n_rows: int
    screener: str
    half_power_noise: tuple[float, float] | None
    notices: tuple[str, ...]

    def __repr__(self) -> str:
        return format_listing_text(build_power_table(self, KEYWORD), self.notices)

    def _repr_html_(self) -> str:
        return format_listing_html(build_power_table(self, KEYWORD), self.notices)


@dataclass(frozen=True, eq=False)
class PlantedFormula:
    """A formula planted on a table.

    Parameters
    ----------
    dataset : Dataset
        The data with the formula's values as target; rows are numbered in their order here.
    feature : Expression
        The feature that is searched for.
    space : Space or None
        The space over the rows of `dataset`. None if pruning makes it depend on the target.
    member_number : int
        Number of the equivalent feature that is closest to it; −1 without a space.
    relation : str
        How that one is related to the feature.
    """

    dataset: Dataset
    feature: Expression
    space: Space | None
    member_number: int
    relation: str


def plant_formula(task: ScreeningTask, truth: Expression, feature: Expression) -> PlantedFormula:
    """Plant a formula, and find the feature to search for in the space.

    Raises
    ------
    FormulaError
        If either is undefined in some row, or constant, or the space has nothing equivalent to the feature.
    """
    dataset = replace(task.dataset, source_rows=np.arange(task.target.n))
    for role, expression in (("truth", truth), ("feature", feature)):
        _check_values(role, expression, evaluate_expression(expression, dataset.columns_by_name))
    dataset = replace_target(dataset, evaluate_expression(truth, dataset.columns_by_name))
    dataset = replace(dataset, source_rows=np.arange(dataset.target.n))
    if task.pool_screeners:
        return PlantedFormula(dataset, feature, None, -1, "")
    task = replace(task, dataset=dataset)
    space = _generate_space(task)
    values = evaluate_expression(feature, dataset.columns_by_name)
    numbers = _find_class_members(space, task, values)
    if not len(numbers):
        numbers = find_affine_copies_in_space(space, [feature], dataset.columns_by_name)
    if not len(numbers):
        text = to_text(feature)
        raise FormulaError(
            f"the space does not hold {text!r}: none of its {space.size:,} features orders these rows as "
            f"it does. symscreen why DATA {text!r} says what is missing; {name_option('feature')} names "
            f"a term of the truth to look for instead, {name_option('also')} adds a formula to the space"
        )
    numbers = numbers[:_MAX_EXAMINED_MEMBERS]
    relations = classify_relations(values, space.compute_values(numbers))
    by_closeness = list(RELATIONS)
    closeness = np.array([by_closeness.index(relation) for relation in relations])
    best = int(np.lexsort((space.get_metadata(numbers).complexity, closeness))[0])
    member, relation = int(numbers[best]), relations[best]
    if relation == "same values" and find_affine_copies([space.build_expression(member)], feature)[0]:
        relation = "same formula"
    return PlantedFormula(dataset, feature, space, member, relation)


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
        for numbers, block in iterate_sorted_blocks(self.space, chunk):
            signatures = compute_signatures(block, self.screener.equivalence, mirrored=self.mirrored)
            found.append(numbers[signatures == self.signature])
        return np.concatenate(found)


def _generate_space(task: ScreeningTask) -> Space:
    """Generate the space of a task, with memory reserved for scoring."""
    return generate_space(task, reserved_bytes=estimate_scoring_bytes(task.target.n, task))[0]


def _find_class_members(space: Space, task: ScreeningTask, values: Values) -> NDArray[np.int64]:
    """Find the features of a space that are equivalent to one."""
    screener = task.column_screeners[0]
    mirrored = screener.merges_mirrored(task.options.sign)
    block = sort_block(np.ascontiguousarray(values[None]))
    signature = compute_signatures(block, screener.equivalence, mirrored=mirrored)[0]
    matcher = _SignatureMatcher(space, screener, mirrored, signature)
    return np.concatenate(list(task.backend.map(matcher, space.split_chunks(task.chunk_size))))


def compute_noise_std(planted_formula: PlantedFormula, ratio: float) -> float:
    """Return the standard deviation of noise: `ratio` times the root mean square of the formula's values.

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
            f"{name_subject('noise_ratio')} {ratio:g} is too large: the planted values' root mean square is "
            f"{root:.3g}, and this noise overflows; give ratios up to {_MAX_VALUE / root:.1g}"
        )
    return ratio * root


@dataclass(frozen=True)
class PlantedRank:
    """Where one screen ranks the feature.

    Parameters
    ----------
    rank : float
        Rank of its equivalence class among all of them, from 1; infinite if pruning lost it.
    is_shown : bool
        Whether the list of the screen has the feature or an equivalent one.
    is_represented : bool
        Whether the list has a near-duplicate that represents it.
    """

    rank: float
    is_shown: bool
    is_represented: bool = False


def simulate_ranks(
    planted_formula: PlantedFormula, task: ScreeningTask, ratio: float, repeats: int
) -> Iterator[PlantedRank]:
    """Add noise to the planted formula repeatedly, and yield where a screen ranks the feature each time.

    Repeat r draws the same noise at every ratio, up to its scale, so that the power falls smoothly with the
    ratio.
    """
    values = planted_formula.dataset.numeric_target.values  # noqa: PD011  # not a data frame
    std = compute_noise_std(planted_formula, ratio)
    for repeat in range(repeats):
        seeds = np.random.SeedSequence((task.options.seed, _NOISE_RANDOM_STREAM, repeat))
        noise = np.random.default_rng(seeds).standard_normal(len(values))
        dataset = replace_target(planted_formula.dataset, values + std * noise)
        yield _rank_feature(planted_formula, replace(task, dataset=dataset))


def _rank_feature(planted_formula: PlantedFormula, task: ScreeningTask) -> PlantedRank:
    """Find where a screen with the target of a task ranks the feature; the task has the planted rows."""
    if planted_formula.space is None:
        space = _generate_space(task)
        values = evaluate_expression(planted_formula.feature, task.dataset.columns_by_name)
    else:
        space = permute_space_rows(planted_formula.space, task.dataset.source_rows)
        values = space.compute_values(np.array([planted_formula.member_number]))[0]
    rank = compute_class_rank(
        space,
        task.target,
        task.column_screeners[0],
        task.options.sign,
        values,
        backend=task.backend,
        chunk_size=task.chunk_size,
    )
    if not task.is_selective:
        return PlantedRank(rank, is_shown=task.limit is not None and rank <= task.limit)
    if rank > MAX_EXAMINED:
        return PlantedRank(rank, is_shown=False)
    # the whole space is scored, without deadline or checkpoint
    distinct = score_space(space, replace(task, run_control=DEFAULT_RUN_CONTROL)).distinct
    assert distinct is not None  # noqa: S101  # the task is selective
    index = int(rank) - 1
    is_shown = index in distinct.representatives
    is_grouped = index < distinct.n_examined and bool(distinct.group[index] >= 0)
    return PlantedRank(rank, is_shown, is_represented=is_grouped and not is_shown)


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
        As in `symscreen.screen`; the values of the target are not used.
    truth : str
        The formula: the target is its values with normal noise.
    noise_ratio : sequence of float
        The standard deviation of the noise over the root mean square of the formula's values.
    repeats : int
        How often noise is drawn at each ratio; without noise, one repeat is enough.
    feature : str, optional
        The feature to find, if it is not the whole truth: for instance one of its terms.
    **options : object
        As in `symscreen.screen`: options of the space, ``screener`` (the first one, which must be a column
        screener, ranks), ``sign``, ``top`` (K), ``max_correlation``, ``pool_size`` and ``prune_by``, ``seed``
        and ``jobs``.

    Returns
    -------
    PowerResult

    Raises
    ------
    FormulaError
        If the truth is undefined or constant on the data, or the space cannot contain the feature.
    OptionError
        If an option has no meaning here, or the noise would overflow.

    Notes
    -----
    The feature counts as found if the list of a screen with these options has a line for it: it shows the
    feature, or an equivalent one with the same ranks (for linear screeners: an affine copy). Where the list
    shows a near-duplicate instead, the feature is represented, not found; ``max_correlation=1`` shows
    near-duplicates, too. Ranks are those of equivalence classes, near-duplicates included; ties are broken as
    in a screen. Beyond 16,384 they are estimated, to about one percent. The space is generated once; each
    repeat scores it twice, and once with ``max_correlation=1``.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.make_additive(n=60)
    >>> found = symscreen.power(data.frame, truth="x1**3*x3", noise_ratio=[0, 5], repeats=10,
    ...                         operators="ablation", layers="ub", top=1)
    >>> found.table[["noise_ratio", "probability"]].values.tolist()[0], found.closest_member
    ([0.0, 1.0], 'x3*x1**3')
    """
    screen_options = make_screen_options(options, verb="power")
    _check_options(screen_options)
    ratios = _parse_ratios(noise_ratio)
    check_positive_int("repeats", repeats)
    # progress is that of the repeats, not of the chunks
    exact_options = replace(screen_options, search="exact", progress=None)
    task = replace(prepare_screen(X, y, exact_options), error_control=None)
    require_numeric_target(task.target, "power")
    _check_column_screener(task)
    operators, names = task.grammar.operators, task.dataset.names
    planted_expression = parse_expression(truth, operators, names)
    feature_expression = (
        planted_expression if feature is None else parse_expression(feature, operators, names)
    )
    planted_formula = plant_formula(task, planted_expression, feature_expression)
    for ratio in ratios:
        compute_noise_std(planted_formula, ratio)  # raises an error before any work
    limit = task.limit
    assert limit is not None  # noqa: S101  # `_check_options` refuses top="all"
    n_repeats = [repeats if ratio else 1 for ratio in ratios]
    ranks: list[list[PlantedRank]] = []
    for ratio, n in zip(ratios, n_repeats, strict=True):
        ranks.append([])
        for rank in simulate_ranks(planted_formula, task, ratio, n):
            ranks[-1].append(rank)
            if callable(screen_options.progress):
                screen_options.progress(sum(map(len, ranks)), sum(n_repeats))
    table = _build_power_table(ratios, ranks)
    space = planted_formula.space
    return PowerResult(
        table=table,
        truth=to_text(planted_expression),
        feature=to_text(feature_expression),
        closest_member=""
        if space is None
        else to_text(space.build_expression(planted_formula.member_number)),
        relation=planted_formula.relation,
        top=limit,
        max_correlation=task.max_correlation,
        n_features=None if space is None else space.size,
        n_rows=task.target.n,
        screener=task.column_screeners[0].name,
        half_power_noise=_find_half_power_noise(ratios, table["probability"].tolist()),
        notices=task.dataset.notices,
    )


def _check_options(options: ScreenOptions) -> None:
    """Refuse options that have no meaning for a planted formula."""
    if options.top == "all":
        raise OptionError(
            f"{name_subject('top')} is 'all': power asks whether a formula is among the best K; give a number"
        )
    if options.search not in {None, "exact"}:
        raise OptionError(
            f"{name_subject('search')} is {options.search!r}: power scores every feature; leave it out"
        )
    if options.rounds != 1:
        raise OptionError(
            f"{name_subject('rounds')} is {options.rounds}: power looks at one round; leave it out"
        )
    for name in ("stability", "class_members", "intervals"):
        value = getattr(options, name)
        if value is not None:
            raise OptionError(
                f"{name_subject(name)} is {value!r}: power lists nothing that it could apply to; leave it out"
            )
    for name in ("ranking", "stages", "event"):
        if getattr(options, name) is not None:
            raise OptionError(
                f"power plants a numeric target; name a numeric column{hint_option('target')} instead "
                f"of {name_option(name)}"
            )


def _check_column_screener(task: ScreeningTask) -> None:
    first = task.screeners[0]
    if not isinstance(first, Screener):
        raise OptionError(
            f"{first.name} judges features together, and power counts how many single ones are better: put a "
            "column screener such as t0 first"
        )


def _parse_ratios(noise_ratio: Sequence[float]) -> list[float]:
    ratios = sorted({float(ratio) for ratio in noise_ratio})
    if not ratios or not all(0.0 <= ratio < math.inf for ratio in ratios):
        raise OptionError(
            f"{name_subject('noise_ratio')} is {noise_ratio!r}; give numbers of at least 0, such as 0, 0.01, "
            "0.1"
        )
    return ratios


def _build_power_table(ratios: Sequence[float], ranks: Sequence[Sequence[PlantedRank]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([_build_power_row(ratio, own) for ratio, own in zip(ratios, ranks, strict=True)])


def _build_power_row(ratio: float, planted_ranks: Sequence[PlantedRank]) -> Mapping[str, float]:
    from scipy.stats import binomtest

    found, repeats = sum(each.is_shown for each in planted_ranks), len(planted_ranks)
    if ratio:
        interval = binomtest(found, repeats).proportion_ci(_INTERVAL_LEVEL, method="wilson")
        low, high = float(interval.low), float(interval.high)
    else:  # nothing is drawn: the answer is certain
        low = high = float(found)
    ranks = [each.rank for each in planted_ranks]
    return {
        "noise_ratio": ratio,
        "repeats": repeats,
        "found": found,
        "probability": found / repeats,
        "low": low,
        "high": high,
        "represented": sum(each.is_represented for each in planted_ranks),
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
