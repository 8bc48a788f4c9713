"""Conformance checks of screeners on small generated data, for built-in screeners and plugins."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import InputError, OptionError
from symscreen.screeners.base import JointInput, JointScores, JointScreener, Screener
from symscreen.statistics.ranks.sorted_block import SortedBlock, sort_block
from symscreen.targets import NumericTarget
from symscreen.targets.multiclass import MulticlassTarget
from symscreen.targets.multioutput import build_multi_output_target
from symscreen.targets.ranking import RankingTarget
from symscreen.targets.ranking_notation import Rankings
from symscreen.targets.registry import TARGET_TYPES
from symscreen.targets.stages import StagesTarget
from symscreen.targets.survival import SurvivalTarget
from symscreen.targets.weighted import WeightedTarget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.screeners.base import CoefficientPath, Sign
    from symscreen.targets import Target, TargetType


CASE_ROWS = 60  # rows of most cases
_LABEL_NAMES = ("a", "b", "c", "d")
_FIVE_VALUES = np.array([-1.0, 0.0, 0.5, 2.0, 3.0])
_SCALES = 10.0 ** np.array([-150.0, 150.0, 0.0, -150.0, 150.0, 0.0, -150.0, 150.0])[:, None]
_ABSOLUTE_TOLERANCE = 1e-9  # affine copies differ by rounding
_MAX_TARGET_LOSS = 0.25  # maximum loss of the target itself as a feature, with 60 rows
_NOISE_LOSS_TOLERANCE = 0.25  # maximum deviation of the mean loss of noise from 1
_RESERVED_NAMES = {
    "rank",
    "expression",
    "complexity",
    "layer",
    "direction",
    "round",
    "place_alone",
    "class_size",
    "p_value",
    "q_value",
    "p_is_bound",
    "p_family",
}


@dataclass(frozen=True, eq=False)
class ScreenerCheckCase:
    """Features and a target. The strongest feature, if there is one, is the target or its negative.

    For rankings the strongest feature determines the order of each pair of labels; for stages, which rows
    reach each.
    """

    description: str
    values: Values
    target: Target
    strongest: int | None = None
    direction: int = 1
    may_refuse: bool = False

    @property
    def target_values(self) -> Values:
        """The arrays that define the target."""
        return np.asarray(self.target.data, dtype=np.float64)

    @property
    def is_separable(self) -> bool:
        """Whether the strongest feature explains the target in every row."""
        return self.target.is_untied


def generate_cases(target_type: TargetType, rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate the cases of a target type; the first has a strongest feature among noise."""
    generate = _CASE_GENERATORS.get(target_type)
    if generate is not None:
        return generate(rng)
    found, z, noise = TARGET_TYPES[target_type], np.sort(rng.normal(size=CASE_ROWS)), _draw_noise(rng)
    y, few = found.build_example(z), (z[::3], found.build_example(z[::3]))
    direction = -1 if found.sign_conflict is None else 1
    return _generate_cases(target_type, rng, z, y, few, noise=noise, direction=direction)


def _generate_cases(
    noun: str,
    rng: np.random.Generator,
    strongest: Values,
    target: Target,
    few: tuple[Values, Target] | None = None,
    *,
    five: Target | None = None,
    noise: Values,
    direction: int = 1,
    noisy_target: Target | None = None,
    others: Sequence[tuple[str, Values, Target, int | None]] = (),
) -> Iterator[ScreenerCheckCase]:
    """Generate the cases that all target types share.

    Parameters
    ----------
    noun : str
        The target, for descriptions.
    rng : numpy.random.Generator
        The source of randomness.
    strongest : float64 array, shape (CASE_ROWS,)
        The strongest feature.
    target : Target
        Its target.
    few : tuple of float64 array, shape (20,), and Target, optional
        The same for twenty rows.
    five : Target, optional
        A target of five rows.
    noise : float64 array, shape (8, CASE_ROWS)
        The other features.
    direction : int
        The direction of the negative of the strongest feature.
    noisy_target : Target, optional
        The target of the cases with one feature, and with features of different sizes; the same by default.
    others : sequence of (str, float64 array, Target, int or None)
        Further cases: a description, a feature among the noise, its target, and its index if it is the
        strongest.
    """
    other = target if noisy_target is None else noisy_target

    def describe(text: str) -> str:
        return f"{noun}, {text}" if noun else text

    yield ScreenerCheckCase(f"{noun} among noise".strip(), _insert_feature(noise, 4, strongest), target, 4)
    falling = _insert_feature(noise, 4, -strongest)
    yield ScreenerCheckCase(describe("falling among noise"), falling, target, 4, direction)
    yield ScreenerCheckCase(describe("one feature alone"), strongest[None].copy(), other, 0)
    yield ScreenerCheckCase(describe("one feature of noise alone"), noise[:1], other)
    scaled = _SCALES * _insert_feature(noise, 3, strongest)
    yield ScreenerCheckCase(describe("features of the sizes 1e-150 and 1e150"), scaled, other, 3)
    for text, feature, other_target, index in others:
        yield ScreenerCheckCase(text, _insert_feature(noise, 4, feature), other_target, index)
    if few is not None:
        wide = _insert_feature(rng.normal(size=(40, 20)), 2, few[0])
        yield ScreenerCheckCase(describe("more features than rows"), wide, few[1], 2)
    if five is not None:
        yield ScreenerCheckCase(describe("five rows"), rng.normal(size=(3, 5)), five, may_refuse=True)


def _generate_numeric_cases(rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate numeric targets."""
    y, noise = NumericTarget(np.sort(rng.normal(size=CASE_ROWS))), _draw_noise(rng)
    tied = NumericTarget(np.sort(rng.integers(0, 5, CASE_ROWS).astype(np.float64)))
    few = NumericTarget(np.sort(rng.normal(size=20)))
    five = NumericTarget(_FIVE_VALUES)
    others = [("a target with ties", tied.values, tied, 4)]
    return _generate_cases(
        "", rng, y.values, y, (few.values, few), five=five, noise=noise, direction=-1, others=others
    )


def _generate_ranking_cases(rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate rankings."""
    z = np.sort(rng.normal(size=CASE_ROWS))
    y, noise = RankingTarget.build_example(z), _draw_noise(rng)
    missing = y.ranks.copy()
    missing[rng.random(missing.shape) < 0.2] = np.nan
    missing[:, 0] = y.ranks[:, 0]
    partial_ranks = y.ranks.copy()
    partial_ranks[::5, :2] = 1.0
    few = np.sort(rng.normal(size=20))
    five = RankingTarget(Rankings(np.array([[1, 2], [1, 2], [2, 1], [2, 1], [2, 1]]), ("a", "b")))
    others = [
        (text, z, RankingTarget(Rankings(ranks, _LABEL_NAMES)), 4)
        for text, ranks in (("incomplete rankings", missing), ("rankings with ties", partial_ranks))
    ]
    few_rankings = RankingTarget.build_example(few)
    return _generate_cases("rankings", rng, z, y, (few, few_rankings), five=five, noise=noise, others=others)


def _generate_stages_cases(rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate stages."""
    z = np.sort(rng.normal(size=CASE_ROWS))
    y, noise = StagesTarget.build_example(z), _draw_noise(rng)
    missing = y.outcomes.copy()
    missing[:, 1:][rng.random((CASE_ROWS, 2)) < 0.2] = 0
    few = np.sort(rng.normal(size=20))
    five = np.array([[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, -1], [1, 0, 0]], dtype=np.int8)
    others = [("stages not all observed", z, replace(y, outcomes=missing), 4)]
    few_stages, five_stages = StagesTarget.build_example(few), replace(y, outcomes=five)
    return _generate_cases(
        "stages", rng, z, y, (few, few_stages), five=five_stages, noise=noise, others=others
    )


def _generate_multiclass_cases(rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate classes."""
    z, noise = np.sort(rng.normal(size=CASE_ROWS)), _draw_noise(rng)
    two, three = (_make_multiclass_target(z, at) for at in ([0.5], [0.3, 0.6]))
    few = np.sort(rng.normal(size=20))
    five = MulticlassTarget(np.array([0, 0, 1, 1, 1]), ("a", "b"))
    others = [("three classes among noise", np.round(z), three, None)]
    few_classes = _make_multiclass_target(few, [0.5])
    return _generate_cases(
        "two classes", rng, z, two, (few, few_classes), five=five, noise=noise, others=others
    )


def _generate_survival_cases(rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate survival times."""
    z, noise = np.sort(rng.exponential(size=CASE_ROWS)), _draw_noise(rng)
    y = SurvivalTarget(z, np.ones(CASE_ROWS, dtype=np.bool_))
    censored = SurvivalTarget(z, rng.random(CASE_ROWS) < 0.6)
    few = np.sort(rng.exponential(size=20))
    few_times = SurvivalTarget(few, np.arange(20) % 3 > 0)
    five = SurvivalTarget(np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([True, True, False, True, False]))
    return _generate_cases(
        "times",
        rng,
        z,
        y,
        (few, few_times),
        five=five,
        noise=noise,
        direction=-1,
        noisy_target=censored,
        others=[("censored times", z, censored, 4)],
    )


def _generate_multioutput_cases(rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate multi-output targets."""
    z, noise = rng.normal(size=CASE_ROWS), _draw_noise(rng)
    y = build_multi_output_target({"a": z, "b": -(z**3)})
    tied = build_multi_output_target(
        {"a": np.round(z), "b": rng.integers(0, 4, CASE_ROWS).astype(np.float64)}
    )
    return _generate_cases("targets", rng, z, y, noise=noise, others=[("targets with ties", z, tied, None)])


def _generate_weighted_cases(rng: np.random.Generator) -> Iterator[ScreenerCheckCase]:
    """Generate weighted targets."""
    z, noise = np.sort(rng.normal(size=CASE_ROWS)), _draw_noise(rng)
    weights = rng.integers(1, 9, CASE_ROWS).astype(np.float64)
    y, tied = (WeightedTarget(NumericTarget(values), weights) for values in (z, np.round(z)))
    few = np.sort(rng.normal(size=20))
    few_rows = WeightedTarget(NumericTarget(few), weights[:20])
    five = WeightedTarget(NumericTarget(_FIVE_VALUES), weights[:5])
    others = [("weights and a target with ties", np.round(z), tied, 4)]
    return _generate_cases(
        "weights", rng, z, y, (few, few_rows), five=five, noise=noise, direction=-1, others=others
    )


_CASE_GENERATORS: dict[TargetType, Callable[[np.random.Generator], Iterator[ScreenerCheckCase]]] = {
    "numeric": _generate_numeric_cases,
    "ranking": _generate_ranking_cases,
    "stages": _generate_stages_cases,
    "classes": _generate_multiclass_cases,
    "survival": _generate_survival_cases,
    "several": _generate_multioutput_cases,
    "weighted": _generate_weighted_cases,
}


def _make_multiclass_target(z: Values, shares: list[float]) -> MulticlassTarget:
    """Divide z, shape (n,), into classes at some quantiles."""
    codes = np.searchsorted(np.quantile(z, shares), z, side="right")
    return MulticlassTarget(codes.astype(np.int64), _LABEL_NAMES[: len(shares) + 1])


def _draw_noise(rng: np.random.Generator) -> Values:
    """Draw features of noise, shape (8, CASE_ROWS), some of them with ties."""
    noise = rng.normal(size=(8, CASE_ROWS))
    noise[::3] = np.round(noise[::3])
    return noise


def _insert_feature(noise: Values, index: int, feature: Values) -> Values:
    """Return a copy of the noise with one feature replaced."""
    values = noise.copy()
    values[index] = feature
    return values


def check_screener(screener: Screener | JointScreener, *, rng_seed: int = 0) -> None:
    """Check on small generated data that a screener conforms to its interface.

    Parameters
    ----------
    screener : Screener or JointScreener
        The screener with the settings to check. A joint screener runs about a dozen times, on up to 60 rows
        and 40 features.
    rng_seed : int
        The seed of the generated data, not negative.

    Raises
    ------
    AssertionError
        If a requirement is violated; the message says which. Every screener returns finite arrays of the
        right shape and type, and identical bytes for identical input. It does not change its input. It ranks
        the target itself before noise. It supports ties, a single feature, more features than rows, and
        features of magnitude 1e-150 and 1e150. A column screener scores each feature independently. Its loss
        is near 0 for the target (for rankings and stages: for the variable that determines them) and about 1
        for noise, can be computed from the reported score, is equal for features that `equivalence` says it
        cannot distinguish, and is as `is_pairwise` and `rank_weights` require. A joint screener does not
        depend on the number of jobs, uses its seed as the only source of randomness, begins the names of its
        columns with its own, and has a record of plain values. With five rows it may raise an InputError.

    Examples
    --------
    >>> from symscreen.screeners import SCREENERS
    >>> check_screener(SCREENERS["t0"])
    """
    _check_description(screener)
    for kind in screener.target_types:
        has_null = TARGET_TYPES[kind].supports_inference
        cases = list(generate_cases(kind, np.random.default_rng(rng_seed)))
        if isinstance(screener, Screener):
            for case in cases:
                _check_column_screener(screener, case)
            _check_equivalence(screener, cases[0])
            if has_null:
                _check_noise_loss(screener, np.random.default_rng(rng_seed))
            _check_loss_from_score(screener, cases[0])
            if has_null and screener.is_pairwise:
                for case in cases:
                    _check_pairwise_loss(screener, case)
            if has_null and screener.rank_weights is not None:
                for case in cases:
                    _check_rank_weights(screener, case)
        else:
            _check_options(screener)
            for case in cases:
                _check_joint_screener(screener, case)
            _check_reproducible(screener, cases[0])


def _check_promise(screener: Screener | JointScreener, promise: str, holds: object) -> None:
    """Raise an AssertionError if a requirement does not hold."""
    if not holds:
        raise AssertionError(f"the screener {screener.name!r} violates a requirement: {promise}")


def _check_description(screener: Screener | JointScreener) -> None:
    """Check name, target types and descriptions."""
    name = screener.name
    _check_promise(screener, "its name is one word without []=,", name and not set(name) & set(" \t\n[]=,"))
    _check_promise(
        screener,
        f"its name is not one of the reserved column names {sorted(_RESERVED_NAMES)}",
        name not in _RESERVED_NAMES,
    )
    types = screener.target_types
    _check_promise(
        screener,
        f"target_types is a tuple of at least one of {', '.join(TARGET_TYPES)}, such as "
        f"('numeric',), and not {types!r}",
        isinstance(types, tuple) and types and set(types) <= set(TARGET_TYPES),
    )
    _check_promise(
        screener, "its equivalence is ranks or affine", screener.equivalence in {"ranks", "affine"}
    )
    for word in ("summary", "assumes", "fails", "cost", "source"):
        text = getattr(screener, word)
        _check_promise(screener, f"{word} is one line", bool(text) and "\n" not in text)


def _is_array(values: object, dtype: type, size: int) -> bool:
    """Return whether a vector has the expected type and shape."""
    return isinstance(values, np.ndarray) and values.dtype == dtype and values.shape == (size,)


def _is_score(values: object, size: int) -> bool:
    """Return whether a value is a vector of finite floats."""
    return _is_array(values, np.float64, size) and bool(np.isfinite(np.asarray(values)).all())


def _is_direction(values: object, size: int) -> bool:
    """Return whether a value is a vector of −1, 0 and 1."""
    return _is_array(values, np.int8, size) and bool(np.isin(np.asarray(values), (-1, 0, 1)).all())


def _to_bytes(*arrays: NDArray[np.generic]) -> list[bytes]:
    """Return the bytes of each array."""
    return [array.tobytes() for array in arrays]


def _list_signs(case: ScreenerCheckCase) -> tuple[Sign, ...]:
    """List the signs that a target supports."""
    return ("free", "positive") if case.target.sign_conflict is None else ("free",)


def _compute_statistic(screener: Screener, description: str, ordered: SortedBlock, target: Target) -> Values:
    """Compute the statistic; an error of the screener becomes an AssertionError."""
    try:
        return screener.statistic(ordered, target)
    except Exception as error:
        raise AssertionError(f"the screener {screener.name!r} fails ({description}): {error!r}") from error


def _check_column_screener(screener: Screener, case: ScreenerCheckCase) -> None:
    """Check statistics, scores, losses and directions of a column screener on a case."""
    description, n_features = case.description, len(case.values)

    def check(promise: str, holds: object) -> None:
        _check_promise(screener, f"{promise} ({description})", holds)

    ordered = sort_block(case.values)
    inputs = (ordered.values, ordered.order, ordered.doubled_ranks, ordered.tied, case.target_values)
    before = _to_bytes(*inputs)
    statistics = _compute_statistic(screener, description, ordered, case.target)
    check(f"its statistics are {n_features} finite float64", _is_score(statistics, n_features))
    repeated = _compute_statistic(screener, description, ordered, case.target)
    check("the same input gives the same bytes", _to_bytes(statistics) == _to_bytes(repeated))
    scores, direction = screener.score(statistics, case.target), screener.direction(statistics)
    check(f"its scores are {n_features} finite float64", _is_score(scores, n_features))
    check("directions are int8, -1, 0 or 1", _is_direction(direction, n_features))
    for sign in _list_signs(case):
        loss = screener.loss(statistics, case.target, sign)
        check(f"its losses are {n_features} finite float64", _is_score(loss, n_features))
        if case.strongest is not None and (sign == "free" or case.direction == 1):
            check(f"the target ranks first, sign {sign}", _is_first(loss, case.strongest))
            is_near_zero = not case.is_separable or loss[case.strongest] <= _MAX_TARGET_LOSS
            check("the loss of the target is near 0", is_near_zero)
    check("it does not change its input", _to_bytes(*inputs) == before)
    if case.strongest is not None:
        is_right = int(direction[case.strongest]) in {0, case.direction}
        check("the direction of the target is right", is_right)
    rows = (sort_block(row[None]) for row in case.values)
    separate = [_compute_statistic(screener, description, row, case.target) for row in rows]
    is_same = np.concatenate(separate).tobytes() == statistics.tobytes()
    check("a feature's score does not depend on the others", is_same)


def _is_first(loss: Values, index: int) -> bool:
    """Return whether a feature has the smallest loss."""
    return bool(loss[index] < np.delete(loss, index).min(initial=np.inf))


def _check_equivalence(screener: Screener, case: ScreenerCheckCase) -> None:
    """Check that equivalent features have equal statistics and losses."""

    def compute_statistic_and_loss(values: Values) -> tuple[Values, Values]:
        """Compute the statistic and the loss with a free sign."""
        statistics = _compute_statistic(screener, "a copy", sort_block(values), case.target)
        return statistics, screener.loss(statistics, case.target, "free")

    (original, loss), (mirror, mirror_loss) = (
        compute_statistic_and_loss(case.values),
        compute_statistic_and_loss(-case.values),
    )
    if screener.equivalence == "ranks":
        copy, copy_loss = compute_statistic_and_loss(case.values**3)
        _check_promise(
            screener,
            "features with the same ranks have the same bytes",
            _to_bytes(copy) == _to_bytes(original),
        )
        opposite = (mirror == -original) | (mirror == original)
        _check_promise(screener, "mirrored ranks give exactly the negative, or the same", opposite.all())
        same = _to_bytes(mirror_loss) == _to_bytes(loss)
        _check_promise(screener, "with a free sign mirrored ranks have the same loss", same)
        return
    copy, copy_loss = compute_statistic_and_loss(2.5 * case.values - 1.0)
    near = (
        np.abs(copy - original).max() <= _ABSOLUTE_TOLERANCE
        and np.abs(copy_loss - loss).max() <= _ABSOLUTE_TOLERANCE
    )
    _check_promise(screener, "affine copies have the same statistic and loss up to rounding", near)
    near = np.abs(mirror_loss - loss).max() <= _ABSOLUTE_TOLERANCE
    _check_promise(screener, "with a free sign a feature and its negative have the same loss", near)


def _check_noise_loss(screener: Screener, rng: np.random.Generator) -> None:
    """Check the mean loss of noise."""
    target = NumericTarget(np.sort(rng.normal(size=CASE_ROWS)))
    ordered = sort_block(rng.normal(size=(200, CASE_ROWS)))
    loss = screener.loss(_compute_statistic(screener, "noise", ordered, target), target, "positive")
    deviation = abs(float(loss.mean()) - 1.0)
    _check_promise(
        screener, "the mean loss of noise, sign positive, is about 1", deviation <= _NOISE_LOSS_TOLERANCE
    )


def _check_loss_from_score(screener: Screener, case: ScreenerCheckCase) -> None:
    """Check that the loss can be computed from the reported score."""
    statistics = _compute_statistic(screener, case.description, sort_block(case.values), case.target)
    scores, scale = screener.score(statistics, case.target), case.target.gini_mean_difference
    for sign in _list_signs(case):
        loss = screener.loss(statistics, case.target, sign)
        near = np.abs(screener.loss_from_score(scores, scale, sign) - loss).max() <= _ABSOLUTE_TOLERANCE
        _check_promise(screener, f"the loss computed from the score is the loss, sign {sign}", near)


def _check_pairwise_loss(screener: Screener, case: ScreenerCheckCase) -> None:
    """Check that the loss is twice the probability of a discordant pair, weighted by |y_i − y_j|."""
    z, y = case.values, case.target_values
    low, high = np.nonzero(y[:, None] < y)
    weights = y[high] - y[low]
    discordant = (z[:, low] > z[:, high]) + 0.5 * (z[:, low] == z[:, high])
    expected = 2.0 * (discordant * weights).sum(axis=1) / weights.sum()
    statistics = screener.statistic(sort_block(z), case.target)
    loss = screener.loss(statistics, case.target, "positive")
    _check_promise(
        screener, "its loss is what is_pairwise requires", np.allclose(loss, expected, rtol=0, atol=1e-9)
    )


def _check_rank_weights(screener: Screener, case: ScreenerCheckCase) -> None:
    """Check that the loss decreases with the weighted sum of ranks."""
    target: Any = case.target
    if screener.rank_weights is None:
        return
    weights, ordered = screener.rank_weights(target), sort_block(case.values)
    _check_promise(screener, f"its weights are {target.n} finite float64", _is_score(weights, target.n))
    loss = screener.loss(screener.statistic(ordered, target), target, "positive")
    sums = (ordered.doubled_ranks * weights).sum(axis=1)
    is_untied = ~ordered.tied
    losses = loss[is_untied][np.argsort(sums[is_untied])]
    _check_promise(
        screener,
        "its loss decreases with the weighted sum of ranks",
        (np.diff(losses) <= _ABSOLUTE_TOLERANCE).all(),
    )


def _check_options(screener: JointScreener) -> None:
    """Check default values of options and the capacity."""
    for option in screener.options:
        try:
            is_accepted = option.parse(option.default) == option.default == option.parse(str(option.default))
        except OptionError:
            is_accepted = False
        _check_promise(screener, f"the option {option.name} accepts its own default", is_accepted)
    for rows in (5, 100, 1_000_000):
        max_features = screener.compute_max_features(rows)
        _check_promise(
            screener,
            "its capacity is an integer of at least 1",
            isinstance(max_features, int) and max_features >= 1,
        )


def _run_joint_screener(
    screener: JointScreener, case: ScreenerCheckCase, jobs: int = 1
) -> JointScores | None:
    """Run a joint screener like a screen does, with its maximum number of features and one BLAS thread."""
    from threadpoolctl import threadpool_limits

    values = case.values[: screener.compute_max_features(case.target.n)].copy()
    before = _to_bytes(values, case.target_values)
    try:
        with threadpool_limits(1):
            scores = screener.score_features(JointInput(values, case.target, seed=3, jobs=jobs))
    except Exception as error:
        if case.may_refuse and isinstance(error, InputError):
            return None
        raise AssertionError(
            f"the screener {screener.name!r} fails ({case.description}): {error!r}"
        ) from error
    after = _to_bytes(values, case.target_values)
    _check_promise(screener, f"it does not change its input ({case.description})", after == before)
    _check_promise(screener, f"it returns JointScores ({case.description})", isinstance(scores, JointScores))
    return scores


def _check_joint_screener(screener: JointScreener, case: ScreenerCheckCase) -> None:
    """Check the result of a joint screener on a case."""
    n_features = min(len(case.values), screener.compute_max_features(case.target.n))
    scores = _run_joint_screener(screener, case)
    if scores is None:
        return

    def check(promise: str, holds: object) -> None:
        _check_promise(screener, f"{promise} ({case.description})", holds)

    check(f"score is {n_features} finite float64", _is_score(scores.score, n_features))
    check(f"loss is {n_features} finite float64", _is_score(scores.loss, n_features))
    check(f"selected is {n_features} bool", _is_array(scores.selected, np.bool_, n_features))
    check("direction is int8, -1, 0 or 1", _is_direction(scores.direction, n_features))
    _check_columns(screener, scores, n_features)
    _check_record(screener, scores)
    if scores.path is not None:
        _check_path(screener, scores.path, n_features)
    if case.strongest is not None and case.strongest < n_features:
        check("the target ranks first", _is_first(scores.loss, case.strongest))
        is_right = int(scores.direction[case.strongest]) in {0, case.direction}
        check("the direction of the target is right", is_right)


def _check_columns(screener: JointScreener, scores: JointScores, n_features: int) -> None:
    """Check names and values of the result's columns."""
    reserved_names = {f"{screener.name}_selected", f"{screener.name}_rank"}
    for name, values in scores.columns.items():
        is_valid_name = name.startswith(f"{screener.name}_") and name not in reserved_names
        _check_promise(
            screener,
            f"columns begin with its name and are not {sorted(reserved_names)}: {name!r}",
            is_valid_name,
        )
        _check_promise(
            screener, f"the column {name} is {n_features} float64", _is_array(values, np.float64, n_features)
        )
        _check_promise(screener, f"the column {name} is not infinite", not np.isinf(values).any())


def _check_record(screener: JointScreener, scores: JointScores) -> None:
    """Check that the record survives a round trip through JSON."""
    try:
        is_plain = json.loads(json.dumps(scores.record, allow_nan=False)) == scores.record
    except (TypeError, ValueError):
        is_plain = False
    _check_promise(screener, "its record contains only plain values that JSON can represent", is_plain)


def _check_path(screener: JointScreener, path: CoefficientPath, n_features: int) -> None:
    """Check the shapes of a coefficient path."""
    n_steps = len(path.steps)
    shapes = (path.coefficients.shape, path.intercepts.shape, path.error.shape)
    _check_promise(
        screener,
        "its path has one row of coefficients, one intercept and one error per step",
        shapes == ((n_steps, n_features), (n_steps,), (n_steps,)),
    )


def _check_reproducible(screener: JointScreener, case: ScreenerCheckCase) -> None:
    """Check that the result depends only on input and seed."""
    first = _serialize_scores(_run_joint_screener(screener, case))
    states = random.getstate(), np.random.get_state()  # noqa: NPY002  # the very generators it must not use
    random.seed(12345)
    np.random.seed(12345)  # noqa: NPY002  # the global state is what a screener must leave alone
    try:
        again = _serialize_scores(_run_joint_screener(screener, case))
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002  # put back as it was
    _check_promise(screener, "the same input and seed give the same bytes", again == first)
    many = _serialize_scores(_run_joint_screener(screener, case, jobs=2))
    _check_promise(screener, "the result does not depend on the number of jobs", many == first)


def _serialize_scores(scores: JointScores | None) -> list[object]:
    """Convert scores to a list that can be compared for identity."""
    if scores is None:
        return []
    columns = [(name, values.tobytes()) for name, values in scores.columns.items()]
    record = json.dumps(scores.record)
    return [*_to_bytes(scores.score, scores.loss, scores.selected, scores.direction), columns, record]
