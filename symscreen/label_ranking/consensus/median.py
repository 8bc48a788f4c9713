"""Consensus of rankings: Copeland, Borda, Kemeny, pseudo-empirical median (Clémençon et al., section 2).

By default `find_median_ranking` uses the Copeland ranking if the pairwise probabilities are strictly
transitive, else an exact Kemeny median, else the Borda ranking. The pseudo-empirical median of the paper
uses the Borda ranking without trying to find a Kemeny median. `compute_median_rankings` computes the medians
of many groups of rows from their pair sums. `MEDIAN_METHODS` are the methods that both functions and the
learners accept.

The exact Kemeny median is min_σ L_P(σ) (eq. 3). The labels are first split into the strongly connected
components of the majority relation. A pair from two components is ordered by its majority without loss, so
each component is solved separately. A component of up to 14 labels is solved by dynamic programming over
subsets. A larger one is solved as an integer program over pairs, to which violated triangle inequalities are
added iteratively.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking.consensus._kernels import find_best_order
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    PairwiseProbabilities,
    compute_distance_lower_bound,
    compute_expected_distance,
    compute_preferences,
    estimate_pairwise_probabilities,
    is_transitive,
    to_probability_array,
    to_probability_matrix,
)
from symscreen.messages import suggest
from symscreen.targets.ranking_ranks import list_label_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Ranks, Values
    from symscreen.label_ranking.consensus.pairwise_probabilities import Pairwise

    Indices = NDArray[np.int64]


_MAX_PROGRAM_LABELS = 60  # labels of one component: larger programs may take minutes within the node limit
_MAX_NODES = 20_000  # node limit of one integer program: unlike a time limit, it is the same on all machines
_MAX_ROUNDS = 200  # rounds of adding violated triangles
_MAX_ADDED_TRIANGLES = 3_000  # triangles added in one round, the most violated first
_FEASIBILITY_TOLERANCE = 1e-6  # absolute tolerance of constraints and of integrality
_FALLBACK_HINT = "use find_median_ranking with method='auto', which falls back to the Borda ranking"
_COST_SCALE = 1e3  # HiGHS stops at an absolute gap of 1e-6, which is 1e-9 of the unscaled costs

MAX_SUBSET_LABELS = 14  # largest component that is solved by enumeration of subsets
_MAX_ENUMERATED_LABELS = 20  # most labels for enumeration of subsets: 2^20 losses take 8 MB
_COST_DECIMALS = 12  # decimals of costs: further digits contain rounding errors that depend on the row order
_LOSS_TOLERANCE = 1e-10  # losses that differ by less are equal: their order is rounding noise

_POSITION_DECIMALS = 12  # further digits are rounding errors, which must not break ties

MEDIAN_METHODS = ("auto", "pseudo_empirical", "kemeny", "copeland", "borda")
_BOUND_TOLERANCE = 1e-9  # a loss within this distance of the lower bound attains it

_MAX_BLOCK_ELEMENTS = 4_000_000  # float64 elements of the matrices of one block: 32 MB


def solve_kemeny_program(costs: Values) -> Indices:
    """Find a label order of minimum cost with the integer programming solver of scipy (HiGHS).

    Parameters
    ----------
    costs : float64 array, shape (k, k)
        `costs[i, j]` is the cost of placing i before j.

    Returns
    -------
    int64 array, shape (k,)
        Labels from first to last. If several orders are optimal, the solver determines the result; equal
        costs give equal results.

    Raises
    ------
    OptionError
        If there are more than 60 labels, or the solver exceeds its node limit.

    Notes
    -----
    There is one variable x_ij for i < j: 1 if i comes before j, and 0 otherwise. For i < j < l the triangle
    inequality 0 ≤ x_ij + x_jl − x_il ≤ 1 excludes cycles. Only violated triangle inequalities are added,
    first to the linear relaxation, which often has an integer solution, then to the integer program.

    Examples
    --------
    >>> solve_kemeny_program(np.array([[0.0, 0.1, 0.6], [0.9, 0.0, 0.2], [0.4, 0.8, 0.0]])).tolist()
    [0, 1, 2]
    """
    k = len(costs)
    if k > _MAX_PROGRAM_LABELS:
        raise OptionError(
            f"majority cycles connect {k} labels, but exact medians support up to "
            f"{_MAX_PROGRAM_LABELS}: {_FALLBACK_HINT}"
        )
    if k == 1:
        return np.zeros(1, dtype=np.int64)
    first, second = np.triu_indices(k, 1)
    gains = _COST_SCALE * (costs[first, second] - costs[second, first])
    triangles = _list_triangles(k)
    is_active = np.zeros(len(triangles.ij), dtype=bool)
    is_integer = False
    for _ in range(_MAX_ROUNDS):
        solution = _solve_program(gains, triangles, np.flatnonzero(is_active), integer=is_integer)
        if solution is None:
            break
        circular = solution[triangles.ij] + solution[triangles.jl] - solution[triangles.il]
        excess = np.maximum(-circular, circular - 1.0)
        violated = np.flatnonzero((excess > _FEASIBILITY_TOLERANCE) & ~is_active)
        if violated.size:
            is_active[violated[np.argsort(-excess[violated], kind="stable")[:_MAX_ADDED_TRIANGLES]]] = True
        elif np.abs(solution - np.rint(solution)).max() <= _FEASIBILITY_TOLERANCE:
            before = np.zeros((k, k))
            before[first, second] = np.rint(solution)
            before[second, first] = 1.0 - before[first, second]
            return np.argsort(-before.sum(axis=1), kind="stable").astype(np.int64)
        else:
            is_integer = True
    raise OptionError(
        f"no exact median of {k} labels connected by majority cycles was found within {_MAX_NODES} nodes: "
        f"{_FALLBACK_HINT}"
    )


class _Triangles(NamedTuple):
    """Indices of the pairs (i, j), (j, l) and (i, l) of every i < j < l, each of shape (triangles,)."""

    ij: Indices
    jl: Indices
    il: Indices


def _list_triangles(k: int) -> _Triangles:
    """List the triangles of k labels."""
    pair_index = np.zeros((k, k), dtype=np.int64)
    pair_index[np.triu_indices(k, 1)] = np.arange(k * (k - 1) // 2)
    triples = np.array(list(combinations(range(k), 3)), dtype=np.int64).reshape(-1, 3)
    i, j, last = triples.T
    return _Triangles(pair_index[i, j], pair_index[j, last], pair_index[i, last])


def _solve_program(gains: Values, triangles: _Triangles, active: Indices, *, integer: bool) -> Values | None:
    """Solve the program with the active triangles; None if the node limit is exceeded."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    constraints = []
    if active.size:
        row = np.arange(active.size)
        entries = np.concatenate([np.ones(2 * active.size), -np.ones(active.size)])
        columns = np.concatenate([triangles.ij[active], triangles.jl[active], triangles.il[active]])
        shape = (active.size, gains.size)
        constraints = [LinearConstraint(csr_array((entries, (np.tile(row, 3), columns)), shape), 0.0, 1.0)]
    result = milp(
        gains,
        integrality=np.full(gains.size, int(integer)),
        bounds=Bounds(0.0, 1.0),
        constraints=constraints,
        options={"node_limit": _MAX_NODES, "mip_rel_gap": 0.0},
    )
    return np.asarray(result.x, dtype=np.float64) if result.status == 0 else None


def find_kemeny_median(p: Pairwise) -> Values:
    """Find an exact Kemeny median.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities. An unobserved pair has cost 0 in either order.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k. Ties between medians are resolved as follows: components that no majority orders are
        sorted by their smallest label, and within a component of up to 14 labels the lexicographically
        smallest order is selected.

    Raises
    ------
    OptionError
        If a component has more than 60 labels, or the integer program exceeds its node limit.

    Examples
    --------
    >>> cycle = np.array([[0.5, 0.9, 0.4], [0.1, 0.5, 0.8], [0.6, 0.2, 0.5]])
    >>> find_kemeny_median(cycle).tolist()
    [1.0, 2.0, 3.0]
    """
    matrix = to_probability_matrix(p)
    components = find_cycles(p)
    order = np.concatenate(
        [component[_order_component(matrix[np.ix_(component, component)])] for component in components]
    )
    return _to_ranks(order)


def find_cycles(p: Pairwise) -> list[Indices]:
    """Split the labels into the strongly connected components of the strict majority relation.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities.

    Returns
    -------
    list of int64 arrays
        Strongly connected components of the relation p_ij > ½, each in ascending order. A label comes before
        all labels of other components to which it is preferred. Among components that could come next, the
        one with the smallest label is selected.

    Examples
    --------
    >>> find_cycles(np.array([[0.5, 0.2], [0.8, 0.5]]))
    [array([1]), array([0])]
    """
    wins = compute_preferences(to_probability_matrix(p)) > 0
    reach = wins | np.eye(len(wins), dtype=bool)
    for middle in range(len(wins)):  # Warshall's closure
        reach |= reach[:, middle, None] & reach[None, middle, :]
    mutual = reach & reach.T
    smallest_labels = mutual.argmax(axis=1)  # smallest label of each label's component
    remaining = sorted(set(smallest_labels.tolist()))
    components = []
    while remaining:
        next_label = next(
            label
            for label in remaining
            if not any(reach[other, label] for other in remaining if other != label)
        )
        components.append(np.flatnonzero(smallest_labels == next_label).astype(np.int64))
        remaining.remove(next_label)
    return components


def solve_kemeny_by_subsets(p: Pairwise) -> Values:
    """Find the Kemeny median by dynamic programming over subsets of labels in O(2^k k²).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities, k ≤ 20.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k. Among several medians the lexicographically smallest order is selected.

    Raises
    ------
    OptionError
        If k > 20.

    Examples
    --------
    >>> solve_kemeny_by_subsets(np.full((3, 3), 0.5)).tolist()
    [1.0, 2.0, 3.0]
    """
    costs = _compute_costs(p)
    if len(costs) > _MAX_ENUMERATED_LABELS:
        raise OptionError(
            f"{len(costs)} labels have too many subsets, the limit is {_MAX_ENUMERATED_LABELS} labels: use "
            "find_kemeny_median, which solves larger problems as an integer program"
        )
    order = np.empty(len(costs), dtype=np.int64)
    find_best_order(costs, _LOSS_TOLERANCE, order)
    return _to_ranks(order)


def _order_component(matrix: Values) -> Indices:
    """Find the optimal order of the labels of one component, shape (k,)."""
    if len(matrix) == 1:
        return np.zeros(1, dtype=np.int64)
    if len(matrix) > MAX_SUBSET_LABELS:
        return solve_kemeny_program(_compute_costs(matrix))
    return np.argsort(solve_kemeny_by_subsets(matrix)).astype(np.int64)


def _compute_costs(p: Pairwise) -> Values:
    """Compute the costs p_ji of placing i before j, shape (k, k); 0 for unobserved pairs."""
    costs = np.asarray(
        np.round(np.nan_to_num(to_probability_matrix(p).T, nan=0.0), _COST_DECIMALS), dtype=np.float64
    )
    np.fill_diagonal(costs, 0.0)
    return costs


def _to_ranks(order: Indices) -> Values:
    """Convert an order of k labels to ranks 1 to k."""
    ranks = np.empty(order.size)
    ranks[order] = np.arange(1.0, order.size + 1.0)
    return ranks


def rank_by_position(positions: Values) -> Values:
    """Sort labels by their predicted positions.

    Parameters
    ----------
    positions : float64 array, shape (..., k)
        The label with the smallest value comes first.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k. Positions that agree to 12 decimals are tied; tied labels are sorted by their index.

    Examples
    --------
    >>> rank_by_position(np.array([[0.4, 0.9, 0.4], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]]
    """
    order = np.argsort(np.round(positions, _POSITION_DECIMALS), axis=-1, kind="stable")
    return np.argsort(order, axis=-1).astype(np.float64) + 1.0


@dataclass(frozen=True, eq=False)
class MedianRanking:
    """A consensus ranking with its loss.

    Parameters
    ----------
    ranking : float64 array, shape (k,)
        Ranks 1 to k.
    method : {"copeland", "kemeny", "borda"}
        Method that computed it.
    loss : float
        Expected Kendall distance L_P.
    certified : bool
        Whether the ranking is proven to be optimal: it attains the lower bound of eq. (6), or an exact search
        found it.
    lower_bound : float
        Lower bound of eq. (6). The loss exceeds the minimum by at most `loss` − `lower_bound`.
    """

    ranking: Ranks
    method: str
    loss: float
    certified: bool
    lower_bound: float


def rank_by_copeland(p: Pairwise) -> Ranks:
    """Rank labels by the number of labels preferred to them (Clémençon et al., eq. 7).

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k in ascending order of Σ_j (1{p_ij < ½} + ½ · 1{p_ij = ½}); ties are sorted by index. If p
        is strictly transitive, this is 1 + Σ_j 1{p_ij < ½}, the only Kemeny median.

    Examples
    --------
    >>> rank_by_copeland(np.array([[0.5, 0.2, 0.6], [0.8, 0.5, 0.9], [0.4, 0.1, 0.5]])).tolist()
    [2.0, 1.0, 3.0]
    """
    return rank_by_position(-compute_preferences(p).sum(axis=-1, dtype=np.float64))


def rank_by_borda(ranks: ArrayLike, weights: ArrayLike | None = None) -> Ranks:
    """Rank labels by their mean rank, the Borda count.

    Parameters
    ----------
    ranks : array-like, shape (n, k)
        Rankings. Mean ranks of incomplete rankings are not comparable, so the probabilities of the observed
        pairs are used. For complete rankings both definitions agree.
    weights : array-like, shape (n,), optional
        Non-negative row weights.

    Returns
    -------
    float64 array, shape (k,)
        Ranks 1 to k; ties are sorted by index.

    Raises
    ------
    DataError
        If the rankings are invalid.
    OptionError
        If the weights are invalid.

    Examples
    --------
    >>> rank_by_borda([[1, 2, 3], [1, 3, 2], [3, 1, 2]]).tolist()
    [1.0, 2.0, 3.0]
    """
    return rank_by_pairwise_borda(estimate_pairwise_probabilities(ranks, weights))


def rank_by_pairwise_borda(p: Pairwise) -> Ranks:
    """Rank labels by Σ_j (p_ij − ½), the pairwise form of the Borda count.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (..., k, k)
        Pairwise probabilities. An unobserved pair counts as ½.

    Returns
    -------
    float64 array, shape (..., k)
        Ranks 1 to k; ties are sorted by index.

    Examples
    --------
    >>> rank_by_pairwise_borda(np.array([[0.5, 0.2, 0.6], [0.8, 0.5, 0.9], [0.4, 0.1, 0.5]])).tolist()
    [2.0, 1.0, 3.0]
    """
    return rank_by_position(-np.nansum(to_probability_array(p) - 0.5, axis=-1))


def find_median_ranking(p: Pairwise, *, method: str = "auto") -> MedianRanking:
    """Find the consensus ranking of pairwise probabilities.

    Parameters
    ----------
    p : PairwiseProbabilities or float64 array, shape (k, k)
        Pairwise probabilities.
    method : {"auto", "pseudo_empirical", "kemeny", "copeland", "borda"}
        "auto" and "pseudo_empirical" use Copeland if p is strictly transitive, which is then the only Kemeny
        median. Otherwise "auto" finds an exact Kemeny median, and falls back to Borda if the majority cycles
        connect too many labels. "pseudo_empirical" is the median of the paper (section 2.1, eqs. 28 and 38)
        and uses Borda, also where an exact median is easy to find.

    Returns
    -------
    MedianRanking
        Its `method` is the rule that was applied: "copeland", "kemeny" or "borda". Copeland and Borda sort
        labels with equal counts by index. `find_kemeny_median` describes the choice among several Kemeny
        medians.

    Raises
    ------
    DataError
        If p is not a square matrix of probabilities.
    OptionError
        If the method is unknown, or is "kemeny" and the integer program exceeds its node limit.

    Notes
    -----
    The loss of "auto" is never larger than that of "pseudo_empirical", and the bound of Theorem 3 holds for
    both, because they agree where p is strictly transitive. Elsewhere "pseudo_empirical" costs O(k²), but it
    may rank a label after another although all majorities prefer it.

    Examples
    --------
    >>> rows = [[1, 2, 3], [1, 2, 3], [2, 1, 3]]
    >>> median = find_median_ranking(estimate_pairwise_probabilities(rows))
    >>> median.ranking.tolist(), median.method, round(median.loss, 6), median.certified
    ([1.0, 2.0, 3.0], 'copeland', 0.333333, True)
    >>> cycle = np.array([[0.5, 0.6, 0.45], [0.4, 0.5, 1.0], [0.55, 0.0, 0.5]])
    >>> find_median_ranking(cycle).ranking.tolist()
    [1.0, 2.0, 3.0]
    >>> find_median_ranking(cycle, method="pseudo_empirical").ranking.tolist()
    [2.0, 1.0, 3.0]
    """
    if method not in MEDIAN_METHODS:
        raise OptionError(f"unknown consensus method {method!r}{suggest(str(method), MEDIAN_METHODS)}")
    pairs = p if isinstance(p, PairwiseProbabilities) else _to_probabilities(p)
    if method == "copeland" or (method in {"auto", "pseudo_empirical"} and is_transitive(pairs)):
        return _build_median(pairs, rank_by_copeland(pairs), "copeland")
    if method in {"borda", "pseudo_empirical"}:
        return _build_median(pairs, rank_by_pairwise_borda(pairs), "borda")
    try:
        ranking = find_kemeny_median(pairs)
    except OptionError:  # too many labels, or node limit of the integer program
        if method == "kemeny":
            raise
        return _build_median(pairs, rank_by_pairwise_borda(pairs), "borda")
    return _build_median(pairs, ranking, "kemeny", exact=True)


def _to_probabilities(p: NDArray[np.float64]) -> PairwiseProbabilities:
    """Check a plain (k, k) array once, so that the called functions need not repeat it."""
    matrix = to_probability_matrix(p)
    return PairwiseProbabilities(matrix, (~np.isnan(matrix)).astype(np.float64))


def _build_median(
    pairs: PairwiseProbabilities, ranking: Ranks, method: str, *, exact: bool = False
) -> MedianRanking:
    """Compute loss and lower bound of a ranking of shape (k,)."""
    loss, bound = compute_expected_distance(pairs, ranking), compute_distance_lower_bound(pairs)
    return MedianRanking(ranking, method, loss, exact or loss <= bound + _BOUND_TOLERANCE, bound)


def compute_median_rankings(
    differences: Values, pair_weights: Values, n_labels: int, method: str = "auto"
) -> Values:
    """Compute the consensus ranking of each of m groups of rows.

    Parameters
    ----------
    differences : float64 array, shape (m, k(k − 1)/2)
        Σ w·sgn(rank_i − rank_j) over the rows of a group; pairs in the order of `list_label_pairs`.
    pair_weights : float64 array, shape (m, k(k − 1)/2)
        Σ w over the rows that rank both labels.
    n_labels : int
        Number of labels k.
    method : str
        One of `MEDIAN_METHODS`; see `find_median_ranking`.

    Returns
    -------
    float64 array, shape (m, k)
        Ranks 1 to k, as computed by `find_median_ranking`.

    Examples
    --------
    >>> compute_median_rankings(np.array([[-1.0, -3.0, 1.0]]), np.full((1, 3), 3.0), 3).tolist()
    [[1.0, 3.0, 2.0]]
    """
    medians = np.ones((len(differences), n_labels))
    block_size = max(_MAX_BLOCK_ELEMENTS // (n_labels * n_labels), 1)
    for start in range(0, len(medians) if n_labels > 1 else 0, block_size):
        stop = start + block_size
        medians[start:stop] = _compute_block_medians(
            differences[start:stop], pair_weights[start:stop], n_labels, method
        )
    return medians


def _compute_block_medians(differences: Values, pair_weights: Values, n_labels: int, method: str) -> Values:
    """Compute the medians of a block of groups, shape (m, n_labels)."""
    p = _compute_probabilities(differences, pair_weights, n_labels)
    if method == "borda":
        return rank_by_pairwise_borda(p)
    medians = rank_by_copeland(p)
    if method == "copeland":
        return medians
    wins = np.sort((compute_preferences(p) > 0).sum(axis=2), axis=1)
    cyclic = np.flatnonzero((wins != np.arange(n_labels)).any(axis=1))
    if method == "pseudo_empirical":
        medians[cyclic] = rank_by_pairwise_borda(p[cyclic])
    elif cyclic.size:
        distinct, which = np.unique(p[cyclic].reshape(cyclic.size, -1), axis=0, return_inverse=True)
        matrices = distinct.reshape(-1, n_labels, n_labels)
        solutions = [find_median_ranking(matrix, method=method).ranking for matrix in matrices]
        medians[cyclic] = np.array(solutions)[which.reshape(-1)]
    return medians


def _compute_probabilities(differences: Values, pair_weights: Values, n_labels: int) -> Values:
    """Compute p_ij = (1 − D/S)/2, shape (m, k, k); an unobserved pair is ½."""
    first, second = list_label_pairs(n_labels)
    shares = np.divide(differences, pair_weights, out=np.zeros(differences.shape), where=pair_weights > 0)
    p = np.full((len(differences), n_labels, n_labels), 0.5)
    p[:, first, second] = (1.0 - shares) / 2.0
    p[:, second, first] = 1.0 - p[:, first, second]
    return p
