"""Checks of the conditions under which trees and forests learn rankings (Fotakis et al. 2022).

Each check takes functions of binary features under an exact distribution, and finds the best constant of its
condition together with the features, sets or cells that decide it. A function can be a score or, as in the
theorems about rankings, the position σ(i)/k of a label (eq. 6). The conditions are about the population, so
the values must be free of noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations, starmap
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking.theory.binary_functions import (
    BinaryFunctions,
    compute_cell_gains,
    compute_subset_gains,
    read_binary_functions,
    read_distribution,
    select_relevant_features,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from symscreen._typing import Flags, Values

_DIGITS = 12  # constants are rounded to these digits; beyond them is rounding noise


@dataclass(frozen=True)
class SubmodularityCheck:
    """Conditions 1, 3 and 8: the constant of submodularity, and where it is needed.

    Parameters
    ----------
    holds : bool
        Whether the condition holds with the requested constants.
    constant : float
        Smallest C ≥ 1 for which all functions are C-submodular; infinite if there is none.
    relevant : tuple of tuple of int
        Relevant features of each label; see `find_relevant_features`.
    label : int
        Label that needs the constant.
    feature : int
        Feature i that gains most after `larger`, relative to its gain after `smaller`.
    smaller, larger : tuple of int
        Sets S ⊆ T.
    smaller_gain, larger_gain : float
        Ṽ(S ∪ {i}) − Ṽ(S) and Ṽ(T ∪ {i}) − Ṽ(T), in squared units of the function.
    """

    holds: bool
    constant: float
    relevant: tuple[tuple[int, ...], ...]
    label: int
    feature: int
    smaller: tuple[int, ...]
    larger: tuple[int, ...]
    smaller_gain: float
    larger_gain: float


@dataclass(frozen=True)
class DiminishingReturnsCheck:
    """Conditions 4 and 9: the constant of diminishing returns, and where it is needed.

    Parameters
    ----------
    holds : bool
        Whether the condition holds with the requested constant.
    constant : float
        Smallest C ≥ 1 for which all functions have C-approximate diminishing returns; infinite if there is
        none.
    label : int
        Label that needs the constant.
    feature : int
        Feature i that gains most in `inner`, relative to its gain in `outer`.
    outer, inner : str
        Cells A ⊇ A′ with a sign for each feature: 0, 1, or * where the feature is not fixed.
    outer_gain, inner_gain : float
        Ṽ_ℓ(A, i) − Ṽ_ℓ(A) and Ṽ_ℓ(A′, i) − Ṽ_ℓ(A′), in squared units of the function.
    """

    holds: bool
    constant: float
    label: int
    feature: int
    outer: str
    inner: str
    outer_gain: float
    inner_gain: float


@dataclass(frozen=True)
class StrongSparsityCheck:
    """Condition 5: the margin of the relevant features, and where it is smallest.

    Parameters
    ----------
    holds : bool
        Whether the condition holds with the requested margin.
    beta : float
        Largest β for which all functions are (β, r)-strongly sparse, in squared units of the functions. At
        most 0 if some irrelevant feature gains as much as a relevant one; infinite if no function has both
        relevant and irrelevant features.
    relevant : tuple of tuple of int
        Relevant features R of each label; r is the largest number of them.
    label : int or None
        Label with the smallest margin; None, as are the following, if β is infinite.
    feature, other : int or None
        Relevant feature i and irrelevant feature j.
    subset : tuple of int or None
        Set T, without i, after which the gains of i and j differ by β.
    """

    holds: bool
    beta: float
    relevant: tuple[tuple[int, ...], ...]
    label: int | None = None
    feature: int | None = None
    other: int | None = None
    subset: tuple[int, ...] | None = None


@dataclass(frozen=True)
class MarginalDensityCheck:
    """Condition 6: the smallest probability of a pattern of features, and the pattern.

    Parameters
    ----------
    holds : bool
        Whether the condition holds with the requested ζ.
    zeta : float
        Largest ζ for which it holds.
    features : tuple of int
        Set Q with the pattern of smallest probability.
    pattern : str
        Its values w, one digit for each feature of Q.
    probability : float
        Pr[x_Q = w] = ζ/2^q.
    """

    holds: bool
    zeta: float
    features: tuple[int, ...]
    pattern: str
    probability: float


def check_submodularity(
    values: ArrayLike,
    rows: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    constant: float = math.inf,
    sparsity: int | None = None,
) -> SubmodularityCheck:
    """Check approximate submodularity: what a feature gains later is at most C times what it gains earlier.

    Parameters
    ----------
    values, rows, weights
        Functions, one for each label, and distribution; see `compute_heterogeneity`.
    constant : float
        C, at least 1. By default any finite constant is accepted.
    sparsity : int, optional
        Largest number r of relevant features that a function may have (Condition 1). By default all.

    Returns
    -------
    SubmodularityCheck

    Raises
    ------
    DataError
        If the values, rows or weights are invalid.
    OptionError
        If there are more than 12 features, or the constant is below 1.

    Notes
    -----
    Fotakis et al. (2022), Condition 8: Ṽ(T ∪ {i}) − Ṽ(T) ≤ C·(Ṽ(S ∪ {i}) − Ṽ(S)) for all S ⊆ T and i.
    Condition 3 demands it of the score of each label. Condition 1 states it by the losses L̃(S) = E f² − Ṽ(S)
    and adds sparsity. Level-splits trees need it (Theorems 2.1, A.3, A.4 and D.2). Features that are
    independent of the others and irrelevant do not change the constant.

    Means that differ by less than 10⁻¹² of the range of f count as equal, and C is rounded to 12 digits.

    Examples
    --------
    Parity has no finite constant: the second feature gains only after the first.

    >>> from symscreen.label_ranking.theory import build_binary_inputs
    >>> x = build_binary_inputs(3)
    >>> check_submodularity(x @ [0.5, 0.25, 0.1]).constant
    1.0
    >>> check_submodularity(x[:, 0] != x[:, 1])
    SubmodularityCheck(holds=False, constant=inf, relevant=((0, 1),), label=0, feature=0, smaller=(),
        larger=(1,), smaller_gain=0.0, larger_gain=0.25)
    """
    _check_constant(constant)
    functions = read_binary_functions(values, rows, weights)
    relevant = _select_relevant(functions)
    found = []  # one record for each label and feature, in the order of the result
    for label, f in enumerate(functions.values):
        unit = float(functions.ranges[label]) ** 2
        for i, cells in enumerate(compute_cell_gains(f, functions.probabilities)):
            gains = compute_subset_gains(*cells)
            ratio, smaller, larger = _compare_sets(gains)
            sets = (_name_set(smaller, i), _name_set(larger, i))
            found.append((ratio, label, i, *sets, unit * float(gains[smaller]), unit * float(gains[larger])))
    worst = max(found, key=itemgetter(0))
    holds = _is_at_most(worst[0], constant) and max(map(len, relevant)) <= (
        functions.d if sparsity is None else sparsity
    )
    return SubmodularityCheck(holds, worst[0], relevant, *worst[1:])


def check_diminishing_returns(
    values: ArrayLike,
    rows: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    constant: float = math.inf,
) -> DiminishingReturnsCheck:
    """Check approximate diminishing returns: a feature gains in a part of a cell at most C times as much.

    Parameters
    ----------
    values, rows, weights
        Functions, one for each label, and distribution; see `compute_heterogeneity`.
    constant : float
        C, at least 1. By default any finite constant is accepted.

    Returns
    -------
    DiminishingReturnsCheck

    Raises
    ------
    DataError
        If the values, rows or weights are invalid.
    OptionError
        If there are more than 12 features, or the constant is below 1.

    Notes
    -----
    Fotakis et al. (2022), Condition 9: Ṽ_ℓ(A′, T ∪ {i}) − Ṽ_ℓ(A′, T) ≤ C·(Ṽ_ℓ(A, i) − Ṽ_ℓ(A)) for all cells
    A′ ⊆ A, features i and sets T. Condition 4 demands it of the score of each label. Breiman's trees need it
    (Theorems A.3, A.4 and D.3). The gain after T is the mean of the gains in the cells into which T splits
    A′. It is therefore at most the largest of them, and the empty T decides. Cells of probability 0 do not
    count.

    Every set S splits the space into cells, so C-approximate diminishing returns imply C-submodularity. Means
    that differ by less than 10⁻¹² of the range of f count as equal, and C is rounded to 12 digits.

    Examples
    --------
    x1 AND x2 gains 1/4 from x1 where x2 = 1, and a quarter of that without knowing x2.

    >>> from symscreen.label_ranking.theory import build_binary_inputs
    >>> x = build_binary_inputs(2)
    >>> check_diminishing_returns(x[:, 0] * x[:, 1])
    DiminishingReturnsCheck(holds=True, constant=4.0, label=0, feature=0, outer='**', inner='*1',
        outer_gain=0.0625, inner_gain=0.25)
    """
    _check_constant(constant)
    functions = read_binary_functions(values, rows, weights)
    found = []  # one record for each label and feature, in the order of the result
    for label, f in enumerate(functions.values):
        unit = float(functions.ranges[label]) ** 2
        for i, (gains, masses) in enumerate(compute_cell_gains(f, functions.probabilities)):
            ratio, outer, inner = _compare_cells(gains, masses > 0.0)
            cells = (_name_cell(outer, i), _name_cell(inner, i))
            found.append((ratio, label, i, *cells, unit * float(gains[outer]), unit * float(gains[inner])))
    worst = max(found, key=itemgetter(0))
    return DiminishingReturnsCheck(_is_at_most(worst[0], constant), *worst)


def check_strong_sparsity(
    values: ArrayLike,
    rows: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    beta: float | None = None,
) -> StrongSparsityCheck:
    """Check strong sparsity: after any split, relevant features gain at least β more than irrelevant ones.

    Parameters
    ----------
    values, rows, weights
        Functions, one for each label, and distribution; see `compute_heterogeneity`.
    beta : float, optional
        Margin β. By default any positive margin is accepted.

    Returns
    -------
    StrongSparsityCheck

    Raises
    ------
    DataError
        If the values, rows or weights are invalid.
    OptionError
        If there are more than 12 features, or β is not positive.

    Notes
    -----
    Fotakis et al. (2022), Condition 5: Ṽ(T ∪ {j}) − Ṽ(T) + β ≤ Ṽ(T ∪ {i}) − Ṽ(T) for all i ∈ R, j ∉ R and T
    without i. T may contain j, which then gains nothing, so every relevant feature must gain β after all the
    others. The paper has functions with values in [−½, ½]; shifting a function does not change β, and
    multiplying it by c multiplies β by c². Honest forests need the condition (Theorems A.5 and A.6).

    A margin below 10⁻¹² of the squared range counts as 0, and β is rounded to 12 digits.

    Examples
    --------
    A weight w of an independent fair feature gains w²/4, independently of what comes before.

    >>> from symscreen.label_ranking.theory import build_binary_inputs
    >>> x = build_binary_inputs(3)
    >>> check_strong_sparsity(x[:, :2] @ [0.5, 0.25])
    StrongSparsityCheck(holds=True, beta=0.015625, relevant=((0, 1),), label=0, feature=1, other=2, subset=())
    """
    if beta is not None and not beta > 0.0:
        raise OptionError(f"beta is {beta}; give a positive margin")
    functions = read_binary_functions(values, rows, weights)
    relevant = _select_relevant(functions)
    found = []  # one record for each label and two features, in the order of the result
    for label, f in enumerate(functions.values):
        each = starmap(compute_subset_gains, compute_cell_gains(f, functions.probabilities))
        # the gain of each feature after every set; 0 after a set that contains it
        gains = [np.stack([g, np.zeros_like(g)], axis=i) for i, g in enumerate(each)]
        unit = float(functions.ranges[label]) ** 2
        for i in relevant[label]:
            for j in sorted({*range(functions.d)} - {*relevant[label]}):
                margins = (gains[i] - gains[j]).take(0, axis=i)
                margins[np.abs(margins) <= 10.0**-_DIGITS] = 0.0
                margin = _round(unit * float(margins.min()))
                subset = _find_first(margins, float(margins.min()))
                found.append((margin, label, i, j, _name_set(subset, i)))
    if not found:
        return StrongSparsityCheck(holds=True, beta=math.inf, relevant=relevant)
    margin, *witness = min(found, key=itemgetter(0))
    holds = margin > 0.0 if beta is None else _is_at_most(beta, margin)
    return StrongSparsityCheck(holds, margin, relevant, *witness)


def check_marginal_density(
    rows: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    size: int | None = None,
    features: Sequence[int] | None = None,
    zeta: float | None = None,
) -> MarginalDensityCheck:
    """Check that no pattern of some features is much rarer than under fair coins.

    Parameters
    ----------
    rows : array_like of 0 and 1, shape (n, d)
        Points of the distribution D_x.
    weights : array_like, shape (n,), optional
        Weights of the points, proportional to their probabilities. By default all are equal.
    size : int, optional
        q: all sets Q of q features are examined, and all their patterns.
    features : sequence of int, optional
        Relevant features R, in place of `size`: only R is examined, and patterns of probability 0 do not
        count.
    zeta : float, optional
        ζ. By default any positive one is accepted.

    Returns
    -------
    MarginalDensityCheck

    Raises
    ------
    DataError
        If the rows or weights are invalid.
    OptionError
        If there are more than 12 features, `size` or `features` do not fit the rows, not exactly one of them
        is given, or ζ is not positive.

    Notes
    -----
    Fotakis et al. (2022), Condition 6, for `size`: Pr[x_Q = w] ≥ ζ/2^q for every Q and w (Theorem A.6). For
    `features`, the weaker demand of Theorem A.5: Pr[x_R = w] is not in (0, ζ/2^r).

    Examples
    --------
    >>> copies = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]]
    >>> check_marginal_density(copies, size=2)
    MarginalDensityCheck(holds=False, zeta=0.0, features=(0, 1), pattern='01', probability=0.0)
    >>> check_marginal_density(copies, features=[0, 1]).zeta
    2.0
    """
    if zeta is not None and not zeta > 0.0:
        raise OptionError(f"zeta is {zeta}; give a positive number")
    if (size is None) == (features is None):
        raise OptionError("give either size, the number of features of a set, or features, the relevant ones")
    probabilities = read_distribution(rows, weights)
    d = probabilities.ndim
    if size is not None:
        if not 1 <= size <= d:
            raise OptionError(f"size is {size}; give the number of features of a set, from 1 to {d}")
        sets = list(combinations(range(d), size))
    else:
        sets = [tuple(sorted(set(features or ())))]
        if not sets[0] or not set(sets[0]) <= set(range(d)):
            raise OptionError(f"features are {features}; give some of 0 to {d - 1}")
    found = []
    for chosen in sets:
        masses = probabilities.sum(axis=tuple(axis for axis in range(d) if axis not in chosen))
        counted = masses if features is None else np.where(masses > 0.0, masses, np.inf)
        pattern = _find_first(counted, float(counted.min()))
        found.append((_round(float(counted.min())), chosen, "".join(map(str, pattern))))
    probability, rarest, values = min(found, key=itemgetter(0))
    largest = _round(probability * 2.0 ** len(rarest))
    holds = largest > 0.0 if zeta is None else _is_at_most(zeta, largest)
    return MarginalDensityCheck(holds, largest, rarest, values, probability)


def _check_constant(constant: float) -> None:
    """Raise `OptionError` for a constant below 1."""
    if not constant >= 1.0:
        raise OptionError(f"constant is {constant}; C is at least 1")


def _select_relevant(functions: BinaryFunctions) -> tuple[tuple[int, ...], ...]:
    """Find the relevant features of each function."""
    return tuple(select_relevant_features(f, functions.probabilities) for f in functions.values)


def _compare_sets(gains: Values) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """Find sets S ⊆ T with the largest ratio of the gains of a feature after T and after S."""
    least = gains
    for axis in range(gains.ndim):  # the least gain after a subset of T
        first = least.take(0, axis)
        least = np.stack([first, np.minimum(first, least.take(1, axis))], axis=axis)
    ratio, larger = _find_largest_ratio(gains, least, np.ones(gains.shape, dtype=np.bool_))
    candidates = np.full(gains.shape, np.inf)
    subsets = tuple(slice(0, index + 1) for index in larger)
    candidates[subsets] = gains[subsets]
    return ratio, _find_first(candidates, float(least[larger])), larger


def _compare_cells(gains: Values, is_possible: Flags) -> tuple[float, tuple[int, ...], tuple[int, ...]]:
    """Find cells A ⊇ A′ with the largest ratio of the gains of a feature in A′ and in A."""
    least = np.where(is_possible, gains, np.inf)
    for axis in range(gains.ndim):  # the least gain in a cell that contains A′
        whole = least.take(2, axis)
        halves = (np.minimum(least.take(side, axis), whole) for side in (0, 1))
        least = np.stack([*halves, whole], axis=axis)
    ratio, inner = _find_largest_ratio(gains, least, is_possible)
    candidates = np.full(gains.shape, np.inf)
    containing = np.ix_(*([index, 2] if index < 2 else [2] for index in inner))
    candidates[containing] = gains[containing]
    return ratio, _find_first(candidates, float(least[inner])), inner


def _find_largest_ratio(gains: Values, least: Values, is_possible: Flags) -> tuple[float, tuple[int, ...]]:
    """Find the first possible place with the largest ratio of gains, rounded; 0/0 is 1."""
    with np.errstate(over="ignore"):
        ratios = np.divide(gains, least, out=np.full_like(gains, np.inf), where=least > 0.0)
    ratios = np.where(is_possible, np.where(gains == 0.0, 1.0, ratios), 0.0)
    largest = float(ratios.max())
    place = np.flatnonzero(ratios.ravel() >= largest * (1.0 - 10.0**-_DIGITS))[0]
    return _round(largest), tuple(map(int, np.unravel_index(place, gains.shape)))


def _find_first(array: Values, smallest: float) -> tuple[int, ...]:
    """Find the first place of the smallest number."""
    place = np.flatnonzero(array.ravel() <= smallest + abs(smallest) * 10.0**-_DIGITS)[0]
    return tuple(map(int, np.unravel_index(place, array.shape)))


def _round(value: float) -> float:
    """Round to 12 significant digits."""
    return float(f"{value:.{_DIGITS}g}")


def _is_at_most(value: float, limit: float) -> bool:
    """Return whether a constant is at most a limit, to 12 digits; infinity exceeds every limit."""
    return math.isfinite(value) and value <= limit * (1.0 + 10.0**-_DIGITS)


def _name_set(place: Sequence[int], feature: int) -> tuple[int, ...]:
    """Convert a place among sets of the other features to the features of the set."""
    flags = [*place[:feature], 0, *place[feature:]]
    return tuple(index for index, flag in enumerate(flags) if flag)


def _name_cell(place: Sequence[int], feature: int) -> str:
    """Convert a place among cells of the other features to the signs of the cell."""
    return "".join("01*"[sign] for sign in (*place[:feature], 2, *place[feature:]))
