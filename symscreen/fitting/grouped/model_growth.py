"""Search for the terms of a model whose coefficients differ from group to group.

Models grow term by term. Each step adds every candidate to each of the best models so far, and to each simple
term, and compares what is left over within the groups. The inner constants of the best extensions are fitted
before the next step. After each step, the terms of the best models are exchanged one by one.

The search runs on a limited number of rows, spread evenly over all groups, so its cost depends little on
the numbers of rows and groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity, evaluate_expression, iterate_constants
from symscreen.fitting.grouped.candidate_terms import add_inner_factors
from symscreen.fitting.grouped.constant_fit import fit_model
from symscreen.fitting.grouped.form_choice import describe_form
from symscreen.fitting.grouped.grouped_model import (
    MIN_ROWS_PER_PARAMETER,
    GroupedModel,
    compute_few_rows_correction,
)
from symscreen.fitting.grouped.grouped_rows import orthonormalize, remove_projection
from symscreen.linear_models.model_criteria import EXACT_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from symscreen._typing import Values
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.grouped.candidate_terms import CandidateTerms
    from symscreen.fitting.grouped.grouped_rows import GroupedRows


_N_SIMPLE_STARTS = 16  # simplest candidates that are extended, however little they explain alone
_N_BEST_STARTS = 16  # best models that are extended
_N_EXCHANGED = 4  # best models whose terms are exchanged
_N_FITTED = 50  # extensions whose inner constants are fitted
_N_FITTED_EXCHANGES = 16
_BLOCK = 4096  # candidates that are compared together
_MIN_SHARE = 1e-10  # share of a candidate's square that a model must leave in a group
_ROUNDING_SHARE = 1e-13  # a smaller share of the squares, as a difference of two, is rounding alone


@dataclass(frozen=True, eq=False)
class _Start:
    """A model that is extended: its terms, and whether it has an intercept."""

    terms: tuple[Expression, ...] = ()
    has_intercept: bool = False


def _count_columns(start: _Start) -> int:
    return len(start.terms) + start.has_intercept


def search_terms(
    rows: GroupedRows,
    candidates: CandidateTerms,
    max_terms: int,
    criterion: str,
    *,
    is_allowed: Callable[[Expression], bool],
    should_stop: Callable[[], bool],
) -> list[GroupedModel]:
    """Find models of up to `max_terms` terms, with and without an intercept.

    Parameters
    ----------
    rows : GroupedRows
        The rows of the search.
    candidates : CandidateTerms
        The candidates, with their values on these rows.
    max_terms : int
        Largest number of terms.
    criterion : {"ebic", "bic", "aic"}
        What orders the models of one size.
    is_allowed : callable
        Whether a term with changed constants is allowed.
    should_stop : callable
        Whether the search must end before its next step.

    Returns
    -------
    list of GroupedModel
        All constants but the inner ones vary. Best first, by the criterion.
    """
    search = _TermSearch(rows, candidates, criterion, is_allowed)
    starts = [_Start(), _Start(has_intercept=True)]
    best_score, was_exact = np.inf, False
    for size in range(1, max_terms + 1):
        if size > 1 and should_stop():
            break
        search.extend(starts, _N_FITTED)
        own = search.list_best(size)
        if not own:
            break
        if size > 1:
            search.extend(_list_exchanges(own[:_N_EXCHANGED]), _N_FITTED_EXCHANGES)
            own = search.list_best(size)
        score, is_exact = (
            own[0].compute_score(rows, criterion),
            own[0].square <= EXACT_SHARE * rows.total_square,
        )
        # one more term may share the constants of an exact model that has some for each group
        if (size > 2 and score >= best_score) or (is_exact and was_exact):
            break
        best_score, was_exact = min(score, best_score), is_exact
        starts = [_Start(model.terms, model.has_intercept) for model in own[:_N_BEST_STARTS]]
        if size == 1:
            starts += search.list_simple_starts()
    return search.list_best()


def _list_exchanges(models: Iterable[GroupedModel]) -> list[_Start]:
    """Leave out each term of each model."""
    return [
        _Start(model.terms[:place] + model.terms[place + 1 :], model.has_intercept)
        for model in models
        for place in range(len(model.terms))
    ]


class _TermSearch:
    """The models found so far, by their form."""

    def __init__(
        self,
        rows: GroupedRows,
        candidates: CandidateTerms,
        criterion: str,
        is_allowed: Callable[[Expression], bool],
    ) -> None:
        self.rows, self.candidates, self.criterion = rows, candidates, criterion
        self.is_allowed = is_allowed
        self.found: dict[tuple[tuple[str, ...], bool], GroupedModel] = {}
        squares = np.square(candidates.values)
        if rows.row_weights is not None:
            squares *= rows.row_weights.weights
        self.norms = rows.sum_by_group(squares)
        self.costs = 2.0 * np.log(list(map(candidates.count_as_simple, candidates.complexity.tolist())))

    def list_best(self, size: int | None = None) -> list[GroupedModel]:
        """List the models, or those of one size, best first."""
        models = [each for each in self.found.values() if size is None or len(each.terms) == size]
        return sorted(
            models,
            key=lambda each: (round(each.compute_score(self.rows, self.criterion), 6), _describe(each)),
        )

    def list_simple_starts(self) -> list[_Start]:
        """List the simplest candidates, with and without an intercept."""
        built = [
            self.candidates.build[index]() for index in range(min(_N_SIMPLE_STARTS, len(self.candidates)))
        ]
        return [_Start((each,), has_intercept) for each in built for has_intercept in (False, True)]

    def extend(self, starts: Sequence[_Start], n_fitted: int) -> None:
        """Add every candidate to every start, and fit the best extensions."""
        proposals = []
        for n_columns in sorted({_count_columns(start) for start in starts}):
            n_parameters = (n_columns + 1) * self.rows.n_groups
            if MIN_ROWS_PER_PARAMETER * n_parameters > self.rows.n:
                break
            own = [start for start in starts if _count_columns(start) == n_columns]
            shares = np.maximum(self._compute_squares(own) / self.rows.total_square, _ROUNDING_SHARE)
            penalty = n_parameters * np.log(self.rows.n)
            penalty += compute_few_rows_correction(n_parameters, self.rows.n)
            scores = self.rows.n * np.log(shares) + self._get_costs() + penalty
            for start, row in zip(own, scores.round(6), strict=True):
                cost = self._compute_start_cost(start)
                order = np.lexsort((np.arange(len(row)), row))[:n_fitted]
                proposals += [(round(float(row[index]) + cost, 6), start, index) for index in order.tolist()]
        proposals.sort(key=lambda each: each[0])
        n_tried = 0
        for _, start, index in proposals:
            if n_tried >= n_fitted:
                break
            n_tried += self._fit_extensions(start, self.candidates.build[index]())

    def _get_costs(self) -> Values:
        return self.costs if self.criterion == "ebic" else np.zeros(len(self.candidates))

    def _compute_start_cost(self, start: _Start) -> float:
        """Compute what the criterion charges for the choice of the terms and for their inner constants."""
        model = self._build_model(start)
        search = 2.0 * float(np.log(model.search_sizes).sum()) if self.criterion == "ebic" else 0.0
        return search + len(model.inner_varies) * float(np.log(self.rows.n))

    def _compute_squares(self, starts: Sequence[_Start]) -> Values:
        """Compute the squared error of each start with each candidate, shape (s, q).

        All starts have the same number of columns.
        """
        rows, directions = self.rows, []
        for start in starts:
            design = [np.ones(rows.n)] if start.has_intercept else []
            design += [evaluate_expression(term, rows.columns) for term in start.terms]
            q, _ = orthonormalize(rows, rows.scale(np.array(design).reshape(-1, rows.n)))
            directions.append(np.vstack([q, remove_projection(rows, q, rows.scaled_target)]))
        # rows, columns and the residuals, starts; the roots of the weights belong to the candidates
        stacked = rows.scale(np.array(directions)).transpose(2, 1, 0)
        gains = np.zeros((len(self.candidates), len(starts)))
        ends = np.append(rows.starts[1:], rows.n)
        for first in range(0, len(gains), _BLOCK):
            block = slice(first, first + _BLOCK)
            for group, (begin, end) in enumerate(zip(rows.starts.tolist(), ends.tolist(), strict=True)):
                own = stacked[begin:end]
                products = self.candidates.values[block, begin:end] @ own.reshape(end - begin, -1)
                products = np.square(products).reshape(-1, *own.shape[1:])
                norms = self.norms[block, group, None]
                remaining = norms - products[:, :-1].sum(axis=1)
                gains[block] += np.divide(
                    products[:, -1],
                    remaining,
                    out=np.zeros_like(remaining),
                    where=remaining > _MIN_SHARE * norms,
                )
        squares = np.array([(each[-1] * each[-1]).sum() for each in directions])
        return np.maximum(squares[:, None] - gains.T, 0.0)

    def _fit_extensions(self, start: _Start, term: Expression) -> int:
        """Fit a start with a term, also with factors inside its functions; return how many were new."""
        n_fitted = 0
        for each in (term, add_inner_factors(term)):
            if each is None or not self.is_allowed(each):
                continue
            model = self._build_model(replace(start, terms=(*start.terms, each)))
            form = describe_form(model)
            if form in self.found or len(set(form[0])) < len(model.terms):
                continue
            fitted = fit_model(model, self.rows)
            n_fitted += 1
            if fitted is not None:
                self.found[form] = fitted
        return n_fitted

    def _build_model(self, start: _Start) -> GroupedModel:
        terms, has_intercept = start.terms, start.has_intercept
        sizes = tuple(self.candidates.count_as_simple(compute_complexity(term)) for term in terms)
        n_inner = sum(each.fitted for term in terms for each in iterate_constants(term))
        varies = (True,) * (len(terms) + has_intercept)
        return GroupedModel(terms, sizes, has_intercept, varies, (False,) * n_inner)


def _describe(model: GroupedModel) -> tuple[int, tuple[str, ...], bool]:
    """Return what orders models with equal scores."""
    return model.complexity, tuple(sorted(map(to_text, model.terms))), model.has_intercept
