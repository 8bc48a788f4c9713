"""Inputs that every model of a fit must have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.expansion.nodes import COLUMN, CONSTANT
from symscreen.expressions.traversal import collect_columns
from symscreen.linear_models.exhaustive_subsets import RequiredParts
from symscreen.messages import Message, name_option, quote, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from symscreen._typing import Integers
    from symscreen.data import Dataset
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.coefficients import CoefficientEstimates
    from symscreen.fitting.formula_fits import FormulaFits
    from symscreen.fitting.subset_search import ModelSearchResult


_MAX_NAMES = 60  # names are bits of an int64


@dataclass(frozen=True)
class RequiredInputs:
    """The inputs that every model must have in at least one of its terms.

    Parameters
    ----------
    names : tuple of str
        The names, each once; at least one and at most 60.
    columns : tuple of frozenset of str
        For each name, the columns that count as this input. For a categorical column, these are the columns
        of its levels.
    """

    names: tuple[str, ...]
    columns: tuple[frozenset[str], ...]

    @property
    def all_parts(self) -> int:
        """All required inputs, as bits."""
        return (1 << len(self.names)) - 1

    def has_all(self, terms: Iterable[Expression]) -> bool:
        """Return whether each required input occurs in some term."""
        return self._find_parts(collect_columns(*terms)) == self.all_parts

    def find_term_parts(self, terms: Sequence[Expression]) -> Integers:
        """Find the required inputs of each term, as bits of an int64 array, shape (k,)."""
        parts = [self._find_parts(collect_columns(term)) for term in terms]
        return np.array(parts, dtype=np.int64).reshape(len(terms))

    def find_feature_parts(self, space: Space, numbers: Integers) -> Integers:
        """Find the required inputs of features of a space, as bits of an int64 array, shape (m,)."""
        nodes, symbols = space.pool.all_nodes, space.pool.symbols
        arities = np.array([operator.arity for operator in symbols.operators], dtype=np.int64)
        is_call = (nodes.operator != COLUMN) & (nodes.operator != CONSTANT)
        input_parts = np.array([self._find_parts({name}) for name in symbols.input_names], dtype=np.int64)
        node_parts = np.zeros(len(nodes), dtype=np.int64)
        is_column = nodes.operator == COLUMN
        node_parts[is_column] = input_parts[nodes.left[is_column]]
        left = nodes.left[is_call]
        right = np.where(arities[nodes.operator[is_call]] == 1, left, nodes.right[is_call])
        while True:  # once for each level of the deepest formula
            call_parts = node_parts[left] | node_parts[right]
            if (call_parts == node_parts[is_call]).all():
                break
            node_parts[is_call] = call_parts
        member_parts = node_parts[space.pool.member_nodes]
        parts = np.empty(len(numbers), dtype=np.int64)
        is_old = numbers < len(space.pool_indices)
        is_new = numbers >= space.n_materialized
        parts[is_old] = member_parts[space.pool_indices[numbers[is_old]]]
        is_given = ~is_old & ~is_new
        given = [space.build_expression(number) for number in numbers[is_given].tolist()]
        parts[is_given] = self.find_term_parts(given)
        codes, first, second = space.candidates.locate(numbers[is_new] - space.n_materialized)
        second = np.where(arities[codes] == 1, first, second)
        parts[is_new] = member_parts[first] | member_parts[second]
        return parts

    def find_required_parts(
        self, terms: Sequence[Expression], streamed_parts: Integers | None = None
    ) -> RequiredParts:
        """Build the requirement of a search of subsets of terms."""
        streamed = np.zeros(0, dtype=np.int64) if streamed_parts is None else streamed_parts
        return RequiredParts(self.all_parts, self.find_term_parts(terms), streamed)

    def _find_parts(self, columns: Iterable[str]) -> int:
        """Return the required inputs among columns, as bits."""
        present = frozenset(columns)
        return sum(1 << bit for bit, own in enumerate(self.columns) if own & present)


def build_required_inputs(names: Sequence[str], dataset: Dataset) -> RequiredInputs | None:
    """Build the required inputs from their names; None without names.

    Parameters
    ----------
    names : sequence of str
        Names of inputs or of categorical columns.
    dataset : Dataset
        The inputs.

    Raises
    ------
    DataError
        If a name is not an input. The message suggests a similar name.
    OptionError
        If there are more than 60 names.
    """
    unique = tuple(dict.fromkeys(names))
    if not unique:
        return None
    if len(unique) > _MAX_NAMES:
        raise OptionError(f"{name_option('must_use')} has {len(unique)} names; give at most {_MAX_NAMES}")
    known = {name: {name} for name in dataset.names}
    for name, indicator in dataset.indicators.items():
        known.setdefault(indicator.column, set()).add(name)
        if indicator.gated_column is not None:
            known.setdefault(indicator.gated_column, set()).add(name)
    for name in unique:
        if name not in known:
            option = name_option("must_use")
            raise DataError(f"there is no input {quote(name)} for {option}{suggest(name, known)}")
    return RequiredInputs(unique, tuple(frozenset(known[name]) for name in unique))


def keep_required_inputs(found: ModelSearchResult, required: RequiredInputs | None) -> ModelSearchResult:
    """Keep the models that have all required inputs."""
    if required is None:
        return found
    expressions = found.terms.expressions
    models = {
        members: share
        for members, share in found.models.items()
        if required.has_all([expressions[index] for index in members])
    }
    return replace(found, models=models)


def format_requirement_notices(
    required: RequiredInputs, fits: FormulaFits, *, is_mean_better: bool
) -> list[str]:
    """Say where the rows do not support that the required inputs are in the formula.

    Parameters
    ----------
    required : RequiredInputs
        The required inputs.
    fits : sequence of (Formula, CoefficientEstimates, bool)
        The selected formula for each target, with its estimates.
    is_mean_better : bool
        Whether the criterion prefers the mean.

    Returns
    -------
    list of str
        At most one line for each required input.
    """
    names = ", ".join(map(quote, required.names))
    terms = fits[0][0].terms
    if not terms:
        return [f"no formula with {names} can be fitted to these rows, so the result is the mean"]
    if is_mean_better:
        option = name_option("must_use")
        return [Message(f"no formula with {names} is better than the mean: {option} alone keeps it")]
    notices = []
    for name, columns in zip(required.names, required.columns, strict=True):
        own = [index for index, term in enumerate(terms) if columns & collect_columns(term)]
        if all(_may_be_zero(estimates, index) for _, estimates, _ in fits for index in own):
            notices.append(
                f"the rows do not show that {quote(name)} matters: the coefficients of its terms may be 0"
            )
    return notices


def _may_be_zero(estimates: CoefficientEstimates, index: int) -> bool:
    """Return whether the interval of the coefficient of a term contains 0."""
    return bool(estimates.low[index + 1] <= 0.0 <= estimates.high[index + 1])
