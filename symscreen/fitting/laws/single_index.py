"""Find laws y = M(x) · h(θ), where M and θ are products of powers of the inputs (single-index laws).

In the order of θ, neighbouring rows have nearly the same h(θ). So within bins of similar θ, log|y| is linear
in the logarithms of the inputs, with a remainder that is small only for the right θ. This is tried for
thousands of simple θ, and for those that the curvature of log|y| proposes
(`symscreen.fitting.laws.principal_directions`). Each costs a sort, and nothing is assumed about h. For the
best θ, h is then searched among all formulas of this one variable, which may be much more complex than
formulas of all inputs, and among simple functions h(s·θ) with any number s
(`symscreen.fitting.laws.scaled_index`).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression
from symscreen.fitting.laws.affine_index import find_affine_index_laws
from symscreen.fitting.laws.exponent_lists import MAX_LISTED_EXPONENTS, list_index_exponents
from symscreen.fitting.laws.formula_pool import grow_formula_pool
from symscreen.fitting.laws.index_curves import find_curves_of_index
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.parallel import map_in_threads
from symscreen.fitting.laws.power_expressions import (
    build_power_product,
    invert_quotients,
    list_column_powers,
)
from symscreen.fitting.laws.power_products import find_best_factors
from symscreen.fitting.laws.principal_directions import count_indices, propose_indices
from symscreen.fitting.laws.scaled_index import (
    INDEX_NAME,
    estimate_outer_exponents,
    find_scaled_index_laws,
)
from symscreen.fitting.laws.unit_lattice import build_unit_lattice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.formula_pool import FormulaPool
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.log_scale import LogScale
    from symscreen.fitting.laws.unit_lattice import UnitLattice


_MAX_INDICES = 4_000  # products θ that are tried
_MAX_FACTORS = 5  # inputs in a θ that is not proposed
_SCAN_ROWS, _N_SCAN_BINS = 1_000, 40  # rows and bins of the first comparison, of all θ
_COMPARED_ROWS, _N_COMPARED_BINS = 8_000, 100  # rows and bins of the second comparison, of the better θ
_N_COMPARED = 60  # products θ that are compared again
_N_INDICES = 8  # products θ for which h is searched
_N_SCALED_INDICES = 3  # products θ for which h(s·θ) with any number s is searched
_POOL_LIMIT = 4_000  # formulas h
_N_FINALISTS = 10  # formulas h of each complexity that are fitted
_MIN_ROWS = 60  # number of rows that the search needs; with fewer, bins of similar θ are too wide
_RIDGE = 1e-10  # relative ridge penalty, because θ itself hardly varies within bins


def find_single_index_laws(data: LawData) -> list[Law]:
    """Find the best laws of the form y = c · Π xᵢ^aᵢ · h(Π xᵢ^bᵢ).

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. Products and quotients must be among its operators, else there are no laws
        of this form.

    Returns
    -------
    list of Law
        Laws without an intercept; the best for each θ first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("kTnv", rng.uniform(1, 3, (4, 200))))
    >>> target = columns["n"] * np.sin(columns["v"] / (columns["k"] * columns["T"]))
    >>> data = LawData(columns, target, load_grammar("basic").add_operators(["sin"]), pool_limit=1000)
    >>> laws = find_single_index_laws(data)
    >>> print(laws[0].terms[0])
    n*sin(v/(k*T))
    """
    return next(search_single_index_laws(data), [])


def search_single_index_laws(data: LawData) -> Iterator[list[Law]]:
    """Search laws y = M(x)·h(θ) in two rounds: simple functions h, then curves with fitted exponents.

    The second round, see `symscreen.fitting.laws.index_curves`, is slower and has more constants.

    Yields
    ------
    list of Law
        Laws without an intercept; the best for each θ first.
    """
    scale = compute_log_scale(data.columns, data.target, data.units)
    n_names = len(scale.names)
    if not data.has_products or not n_names or len(data.target) < _MIN_ROWS or not scale.weights.any():
        return
    has_units = data.units is not None and build_unit_lattice(data.units, scale.names).vectors.any()
    exponents = np.array(_list_indices(n_names, data, scale), dtype=np.int64).reshape(-1, n_names)
    if not len(exponents):
        return
    selected = [
        (powers, max(float(len(exponents)), 1.0 if has_units else count_indices(powers.tolist())))
        for powers in select_indices(exponents, data, scale)
    ]

    def find_functions(place: int) -> list[Law]:
        """Find the laws of one of the selected products θ."""
        powers, n_indices = selected[place]
        return find_laws_of_index(powers, n_indices, data, scale, has_scales=place < _N_SCALED_INDICES)

    yield _find_in_threads(find_functions, len(selected), data)

    def find_curves(place: int) -> list[Law]:
        """Find the curves of one of the selected products θ."""
        powers, n_indices = selected[place]
        index = list(map(Fraction, powers.tolist()))
        outer = estimate_outer_exponents(index, scale)
        if outer is None or np.count_nonzero(powers) < 2:  # `curves` searches those of one input
            return []
        return _invert_quotients(find_curves_of_index(index, outer, n_indices, data, scale))

    yield _find_in_threads(find_curves, min(len(selected), _N_SCALED_INDICES), data)


def _find_in_threads(find: Callable[[int], list[Law]], n_indices: int, data: LawData) -> list[Law]:
    """Join the laws of the first products θ."""
    return [law for laws in map_in_threads(find, range(n_indices), data.jobs) for law in laws]


def _invert_quotients(laws: Sequence[Law]) -> list[Law]:
    """Write the quotients of laws plainly."""
    return [replace(law, terms=tuple(map(invert_quotients, law.terms))) for law in laws]


def find_laws_of_index(
    powers: NDArray[np.int64], n_indices: float, data: LawData, scale: LogScale, *, has_scales: bool
) -> list[Law]:
    """Find the best laws y = c · Π xᵢ^aᵢ · h(θ) for one θ.

    Parameters
    ----------
    powers : int64 array, shape (k,)
        Exponents in θ of the inputs without zeros; at least one is not 0.
    n_indices : float
        Number of products θ that this one was chosen from.
    data : LawData
        Inputs, target and grammar.
    scale : LogScale
        The logarithms of target and inputs.
    has_scales : bool
        Whether functions h(s·θ) with a fitted number s are searched too.

    Returns
    -------
    list of Law
        Laws without an intercept.
    """
    found: list[Law] = []
    index = list(map(Fraction, powers.tolist()))
    has_several_factors = np.count_nonzero(powers) > 1  # formulas of one input are among the power products
    outer = estimate_outer_exponents(index, scale) if has_scales and len(powers) > 1 else None
    if has_several_factors or outer is not None:
        theta = build_power_product(list_column_powers(zip(scale.names, index, strict=True)))
        pool = _grow_pool(theta, data)
        if has_several_factors:
            found += find_best_factors(pool, n_indices, data, scale, _N_FINALISTS)
        if outer is not None:
            found += find_affine_index_laws(pool, index, outer, n_indices, data, scale)
    if has_scales:
        for each in (index, [-power for power in index]):
            found += find_scaled_index_laws(each, 2.0 * n_indices, data, scale)
    return _invert_quotients(found)


def _list_indices(n_names: int, data: LawData, scale: LogScale) -> list[tuple[int, ...]]:
    """Return the exponents of θ, simplest first, and those that the curvature of log|y| proposes.

    With units, these are the exponents of dimensionless products alone.
    """
    proposals = propose_indices(scale.take(data.select_rows(_COMPARED_ROWS)))
    if data.units is None:
        return list(
            dict.fromkeys([*islice(list_index_exponents(n_names, _MAX_FACTORS), _MAX_INDICES), *proposals])
        )
    lattice = build_unit_lattice(data.units, scale.names)
    listed = list(islice(list_index_exponents(n_names, _MAX_FACTORS), MAX_LISTED_EXPONENTS))
    simple = select_dimensionless(listed, lattice)
    products = set(lattice.iterate_group_products()) - set(simple)
    if not lattice.vectors.any():
        products = set()
    simplest = sorted([*simple, *products], key=_measure_exponents)[:_MAX_INDICES]
    return list(dict.fromkeys([*simplest, *select_dimensionless(proposals, lattice)]))


def select_dimensionless(listed: list[tuple[int, ...]], lattice: UnitLattice) -> list[tuple[int, ...]]:
    """Return the exponents of dimensionless products."""
    exponents = np.array(listed, dtype=np.int64).reshape(-1, len(lattice.vectors))
    is_allowed = lattice.select_dimensionless(exponents).tolist()
    return [powers for powers, allowed in zip(listed, is_allowed, strict=True) if allowed]


def _measure_exponents(powers: Sequence[int]) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """Return what orders the exponents of θ, simplest first."""
    chosen = tuple(place for place, power in enumerate(powers) if power)
    return sum(map(abs, powers)), len(chosen), chosen, tuple(powers[place] for place in chosen)


def select_indices(exponents: NDArray[np.int64], data: LawData, scale: LogScale) -> NDArray[np.int64]:
    """Select the products θ whose order of rows leaves least of log|y| besides linear terms.

    Parameters
    ----------
    exponents : int64 array, shape (m, k)
        Exponents of the products.
    data : LawData
        Inputs and target.
    scale : LogScale
        The logarithms of target and inputs.

    Returns
    -------
    int64 array, shape (s, k)
        At most 8 of the exponents, best first.
    """
    for n_rows, n_bins, n_kept in (
        (_SCAN_ROWS, _N_SCAN_BINS, _N_COMPARED),
        (_COMPARED_ROWS, _N_COMPARED_BINS, _N_INDICES),
    ):
        rows = scale.take(data.select_rows(n_rows))
        remainders = compute_bin_remainders(exponents, rows, min(n_bins, len(rows.target) // 15))
        exponents = exponents[np.argsort(remainders, kind="stable")[:n_kept]]
    return exponents


def compute_bin_remainders(exponents: NDArray[np.int64], scale: LogScale, n_bins: int) -> Values:
    """Compute the weighted squares of log|y| that bins of similar θ and linear terms leave, shape (m,).

    Within each bin, log|y| and the logarithms of the inputs are freed of their weighted means; one regression
    over all bins follows.
    """
    weights = scale.weights**2
    columns = np.column_stack([scale.free_design[:, 1:], scale.free_target])
    weighted = np.column_stack([weights, columns * weights[:, None]])
    total = columns.T @ weighted[:, 1:]
    starts = np.linspace(0, len(columns), n_bins, endpoint=False).astype(np.int64)
    logs = scale.design[:, 1:].T
    remainders = np.empty(len(exponents))
    for place, powers in enumerate(exponents):
        order = np.argsort(powers @ logs, kind="stable")
        sums = np.add.reduceat(weighted[order], starts, axis=0)
        means = sums[:, 1:] / np.maximum(sums[:, :1], 1e-300)
        within = total - means.T @ sums[:, 1:]
        gram, cross = within[:-1, :-1], within[:-1, -1]
        gram = gram + np.diag(_RIDGE * np.diag(total)[:-1] + 1e-300)
        remainders[place] = within[-1, -1] - cross @ np.linalg.solve(gram, cross)
    return remainders


def _grow_pool(theta: Expression, data: LawData) -> FormulaPool:
    """Grow the formulas h of the variable θ, with θ written in the inputs."""
    values = evaluate_expression(theta, data.columns)[data.pool_rows]
    pool = grow_formula_pool({INDEX_NAME: values}, data.grammar, _POOL_LIMIT)
    return replace(pool, leaves=(theta, *pool.leaves[1:]))
