"""The exact Kemeny median: min_σ L_P(σ) (Clémençon et al., eq. 3).

The labels are first split into the strongly connected components of the majority relation. A pair from two
components is ordered by its majority without loss, so each component is solved separately. A component of up
to 14 labels is solved by dynamic programming over subsets. A larger one is solved as an integer program over
pairs, to which violated triangle inequalities are added iteratively.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from symscreen._numba import compile_kernel
from symscreen.errors import OptionError
from symscreen.label_ranking.consensus.pairwise_probabilities import (
    compute_preferences,
    to_probability_matrix,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.label_ranking.consensus.pairwise_probabilities import Pairwise

    Indices = NDArray[np.int64]


_MAX_PROGRAM_LABELS = 60  # labels of one component: larger programs may take minutes within the node limit
_MAX_NODES = 20_000  # node limit of one integer program: unlike a time limit, it is the same on all machines
_MAX_ROUNDS = 200  # rounds of adding violated triangles
_MAX_ADDED_TRIANGLES = 3_000  # triangles added in one round, the most violated first
_FEASIBILITY_TOLERANCE = 1e-6  # absolute tolerance of constraints and of integrality
_FALLBACK_HINT = "use find_median_ranking with method='auto', which falls back to the Borda ranking"
_COST_SCALE = 1e3  # HiGHS stops at an absolute gap of 1e-6, which is 1e-9 of the unscaled costs


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


MAX_SUBSET_LABELS = 14  # largest component that is solved by enumeration of subsets
_MAX_ENUMERATED_LABELS = 20  # most labels for enumeration of subsets: 2^20 losses take 8 MB
_COST_DECIMALS = 12  # decimals of costs: further digits contain rounding errors that depend on the row order
_LOSS_TOLERANCE = 1e-10  # losses that differ by less are equal: their order is rounding noise


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
    _find_best_order(costs, _LOSS_TOLERANCE, order)
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


@compile_kernel
def _find_best_order(costs: Values, tolerance: float, order: Indices) -> None:
    """Write the order of minimum cost to `order`; `costs[i, j]` is the cost of placing i before j."""
    k = costs.shape[0]
    min_costs = np.empty(1 << k)  # of ordering the labels of each subset
    min_costs[0] = 0.0
    for members in range(1, 1 << k):
        best = np.inf
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = min_costs[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                best = min(best, loss)
        min_costs[members] = best
    members = (1 << k) - 1
    for position in range(k):
        for i in range(k):
            if members >> i & 1:
                rest = members & ~(1 << i)
                loss = min_costs[rest]
                for j in range(k):
                    if rest >> j & 1:
                        loss += costs[i, j]
                if loss <= min_costs[members] + tolerance:
                    order[position] = i
                    members = rest
                    break
