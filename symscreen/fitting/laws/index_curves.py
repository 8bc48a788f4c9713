"""Find laws y = M(x) · φ(θ) with a curve φ that has numbers inside, such as V/(1 + (K/S)**2.3).

θ and M are products of powers of the inputs, as in `symscreen.fitting.laws.single_index`. Once they are
known, y/M is a function of θ alone. The curves of one input are then searched for it, see
`symscreen.fitting.laws.curves`. So stretched exponentials, the curves of Hill, Avrami and Sérsic are found
whose scale is an input. The search is left out if M times a polynomial of log θ explains much less than a
polynomial of the logarithms of all inputs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.traversal import evaluate_expression, rebuild_expression
from symscreen.fitting.laws.curves import find_curves
from symscreen.fitting.laws.linear_combinations import is_function_promising
from symscreen.fitting.laws.power_expressions import build_power_product, list_column_powers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from symscreen.fitting.laws.law import Law, LawData
    from symscreen.fitting.laws.log_scale import LogScale

_INDEX, _FACTOR = "θ", "M"  # names of the columns while curves are searched
_N_FITTED = 24  # combinations of each size that are fitted
_MAX_TERMS = 2  # M·φ and M; more terms approximate any function
# the other searches have formulas of a pool, which contain these
_SHAPES_WITHOUT_NUMBERS = frozenset({"inv", "square", "sqrt", "log", "exp", "line"})
_N_PER_SIZE = 4  # curves with each number of terms and constants


def find_curves_of_index(
    index: Sequence[Fraction], outer: Sequence[Fraction], n_indices: float, data: LawData, scale: LogScale
) -> list[Law]:
    """Find the best laws y = M·φ(θ) and y = M·(c + d·φ(θ)) with a curve φ.

    Parameters
    ----------
    index : sequence of Fraction
        Exponents in θ of the inputs without zeros; at least two are not 0.
    outer : sequence of Fraction
        Exponents in M.
    n_indices : float
        Number of products θ that this one was chosen from.
    data : LawData
        Inputs, target and grammar.
    scale : LogScale
        The logarithms of target and inputs.

    Returns
    -------
    list of Law
        Laws whose inner constants are marked as fitted, at most four with each number of terms and constants.
    """
    parts = {
        name: build_power_product(list_column_powers(zip(scale.names, powers, strict=True)))
        for name, powers in ((_INDEX, index), (_FACTOR, outer))
        if any(powers)
    }
    columns = {name: evaluate_expression(part, data.columns) for name, part in parts.items()}
    theta, factor = columns[_INDEX], columns.get(_FACTOR)
    if not all(np.isfinite(values).all() and values.all() for values in columns.values()):
        return []
    logs = [np.log(np.abs(data.columns[name])) for name in scale.names]
    if not is_function_promising(np.log(np.abs(theta)), logs, data.target, factor):
        return []
    alone = replace(data, columns=columns, is_allowed=None, required_inputs=None, units=None)
    known_factor = None if factor is None else _FACTOR
    counts: dict[int, int] = {}
    found = []
    curves = find_curves(
        alone, factor=known_factor, n_per_size=_N_FITTED, excluded_shapes=_SHAPES_WITHOUT_NUMBERS
    )
    for law in curves:
        if len(law.terms) + law.has_intercept > _MAX_TERMS:
            continue
        size = len(law.terms) + law.n_constants
        counts[size] = counts.get(size, 0) + 1
        if counts[size] <= _N_PER_SIZE:
            terms = tuple(
                rebuild_expression(term, column=lambda column: parts[column.name]) for term in law.terms
            )
            found.append(replace(law, terms=terms, search_size=law.search_size * n_indices))
    return [law for law in found if data.allows(law)]
