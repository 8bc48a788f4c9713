"""Find single-index laws whose θ has a sum or difference of two inputs, such as y = M(x)·h((x₁ − x₂)·x₃).

Each sum or difference of two inputs of the same unit is added to the inputs as if it were measured. The
search of `symscreen.fitting.laws.single_index` then applies to the products θ that contain it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression, rebuild_expression
from symscreen.expressions.tree import Column, apply_operator
from symscreen.fitting.laws.exponent_lists import MAX_LISTED_EXPONENTS, list_index_exponents
from symscreen.fitting.laws.log_scale import compute_log_scale
from symscreen.fitting.laws.parallel import map_in_threads
from symscreen.fitting.laws.single_index import (
    compute_bin_remainders,
    find_laws_of_index,
    select_dimensionless,
)
from symscreen.fitting.laws.unit_lattice import build_unit_lattice
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.units import Units


_MAX_INDICES = 4_000  # products θ that are tried, over all sums
_MAX_FACTORS = 4  # inputs in θ, the sum counted as one
_SCAN_ROWS, _N_SCAN_BINS = 1_000, 40  # rows and bins of the first comparison, of all θ
_COMPARED_ROWS, _N_COMPARED_BINS = 8_000, 100  # rows and bins of the second comparison, of the better θ
_N_COMPARED = 30  # products θ that are compared again
_N_INDICES = 3  # products θ for which h is searched
_MIN_ROWS = 60  # number of rows that the search needs; with fewer, bins of similar θ are too wide


@dataclass(frozen=True, eq=False)
class _SumData:
    """Data with a sum or difference of two inputs as one more input, and the products θ that contain it."""

    name: str
    expression: Expression
    data: LawData
    exponents: NDArray[np.int64]


def find_laws_of_input_sums(data: LawData) -> list[Law]:
    """Find the best laws y = c · Π xᵢ^aᵢ · h(θ), where θ contains x₁ + x₂ or x₁ − x₂.

    Parameters
    ----------
    data : LawData
        Inputs, target and grammar. Products, quotients, and sums or differences must be among its operators,
        else there are no laws of this form.

    Returns
    -------
    list of Law
        Laws without an intercept; the best for each θ first.

    Examples
    --------
    >>> from symscreen.fitting.laws.law import LawData
    >>> from symscreen.grammar import load_grammar
    >>> rng = np.random.default_rng(0)
    >>> columns = dict(zip("aftw", rng.uniform(1, 3, (4, 100))))
    >>> a, f, t, w = columns.values()
    >>> target = a * (np.sin((f - w) * t) / ((f - w) * t)) ** 2
    >>> data = LawData(columns, target, load_grammar("standard"), pool_limit=1000)
    >>> laws = find_laws_of_input_sums(data)
    >>> print(f"{abs(evaluate_expression(laws[0].terms[0], columns) / target).std():.6f}")
    0.000000
    """
    if not data.has_products or len(data.target) < _MIN_ROWS:
        return []
    sums = list(_list_sum_data(data))
    n_indices = float(sum(len(each.exponents) for each in sums))

    def find_laws(selected: tuple[_SumData, NDArray[np.int64]]) -> list[Law]:
        """Find the laws of one product θ."""
        each, exponents = selected
        scale = compute_log_scale(each.data.columns, each.data.target, each.data.units)
        found = find_laws_of_index(exponents, n_indices, each.data, scale, has_scales=True)
        written = (replace(law, terms=tuple(_write_sums(law.terms, each))) for law in found)
        return [law for law in written if data.allows(law)]

    return [law for laws in map_in_threads(find_laws, _select_indices(sums), data.jobs) for law in laws]


def _list_sum_data(data: LawData) -> Iterator[_SumData]:
    """Yield the data with each sum and difference of two inputs that has no zeros."""
    binary = [operator.name for operator in data.grammar.binary if operator.name in {"add", "sub"}]
    name = "sum"
    while name in data.columns:
        name += "_"
    pairs = [
        pair
        for pair in combinations(data.columns, 2)
        if data.units is None or _have_same_unit(*pair, data.units)
    ]
    limit = _MAX_INDICES // max(1, len(pairs) * len(binary))
    if limit == 0:  # too many sums for even one θ of each
        return
    for left, right in pairs:
        for operator in binary:
            expression = apply_operator(OPERATORS[operator], Column(left), Column(right))
            values = evaluate_expression(expression, data.columns)
            if not values.all() or not np.isfinite(values).all() or values.min() == values.max():
                continue
            units = data.units
            if units is not None and left in units.columns:
                units = replace(units, columns={**units.columns, name: units.columns[left]})
            columns = {name: values, **data.columns}
            own = replace(data, columns=columns, units=units, is_allowed=None, required_inputs=None)
            yield _SumData(name, expression, own, _list_indices(own, limit))


def _have_same_unit(left: str, right: str, units: Units) -> bool:
    """Return whether two inputs may be added."""
    lattice = build_unit_lattice(units, (left, right))
    return bool((lattice.vectors[0] == lattice.vectors[1]).all())


def _list_indices(data: LawData, limit: int) -> NDArray[np.int64]:
    """Return the exponents of the simplest θ with the sum, the first input without zeros, shape (m, k)."""
    names = [name for name, values in data.columns.items() if values.all()]
    exponents = (powers for powers in list_index_exponents(len(names), _MAX_FACTORS) if powers[0])
    if data.units is None:
        listed = list(islice(exponents, limit))
    else:
        every = list(islice(exponents, MAX_LISTED_EXPONENTS))
        listed = select_dimensionless(every, build_unit_lattice(data.units, tuple(names)))
    return np.array(listed[:limit], dtype=np.int64).reshape(-1, len(names))


def _select_indices(sums: Sequence[_SumData]) -> list[tuple[_SumData, NDArray[np.int64]]]:
    """Return the products θ whose order of rows leaves least of log|y|, with their data, best first."""
    candidates = [(each, each.exponents) for each in sums]
    for n_rows, n_bins, n_kept in (
        (_SCAN_ROWS, _N_SCAN_BINS, _N_COMPARED),
        (_COMPARED_ROWS, _N_COMPARED_BINS, _N_INDICES),
    ):
        ranked = []
        for place, (each, exponents) in enumerate(candidates):
            scale = compute_log_scale(each.data.columns, each.data.target, each.data.units)
            rows = scale.take(each.data.select_rows(n_rows))
            remainders = compute_bin_remainders(exponents, rows, min(n_bins, len(rows.target) // 15))
            ranked += [(float(value), place, k) for k, value in enumerate(remainders)]
        candidates = [
            (candidates[place][0], candidates[place][1][[k]]) for _, place, k in sorted(ranked)[:n_kept]
        ]
    return [(each, exponents[0]) for each, exponents in candidates]


def _write_sums(terms: Sequence[Expression], data: _SumData) -> Iterator[Expression]:
    """Write the sum in the inputs."""
    for term in terms:
        yield rebuild_expression(
            term, column=lambda column: data.expression if column == Column(data.name) else column
        )
