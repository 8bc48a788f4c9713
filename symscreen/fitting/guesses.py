"""Guesses of the user: formulas that take part in a fit as models, as terms and as starts of constants."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.errors import FormulaError
from symscreen.expansion.space import evaluate_user_formulas
from symscreen.expressions.traversal import (
    collect_columns,
    compute_complexity,
    compute_key,
    define_columns,
    iterate_constants,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Constant, parse_expression
from symscreen.fitting.feature_dictionary import TermDictionary
from symscreen.fitting.laws.law import Law
from symscreen.fitting.laws.refinement import refine_law
from symscreen.grammar import OPERATORS
from symscreen.grammar.parser import find_constant_name
from symscreen.messages import name_option, quote, suggest
from symscreen.results.screen_result import ScreenResult
from symscreen.units import check_formula_units

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from symscreen._typing import Values
    from symscreen.config.fit_options import GuessSpec
    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.law import LawData
    from symscreen.grammar import Grammar
    from symscreen.units import Units


_NO_KEYS = np.empty((0, 2), dtype=np.uint64)  # guesses are not compared with other features
_MAX_CONSTANTS = 8  # constants inside a guess that are fitted


def parse_guesses(
    also: GuessSpec, grammar: Grammar, dataset: Dataset, units: Units | None
) -> tuple[Expression, ...]:
    """Parse the guesses, and check that they can be computed from the inputs in all rows.

    Parameters
    ----------
    also : str, ScreenResult, or sequence of these
        Formulas as text, with the operators of the grammar and all built-in ones. A result of a screen stands
        for its features.
    grammar : Grammar
        The grammar of the fit.
    dataset : Dataset
        The inputs, in base units if there are units.
    units : Units, optional
        The units of the columns.

    Returns
    -------
    tuple of Expression
        In the order of the user, without those that are algebraically equal to earlier ones.

    Raises
    ------
    FormulaError
        If a text is not a formula, a formula has an unknown column or the wrong unit, is constant or is
        undefined in some row.
    """
    operators = {**OPERATORS, **grammar.operators}
    expressions: list[Expression] = []
    for guess in [also] if isinstance(also, str | ScreenResult) else list(also or ()):
        if isinstance(guess, ScreenResult):
            expressions += guess.expressions
        else:
            expressions.append(parse_expression(guess, operators, dataset.names))
    for expression in expressions:
        unknown = sorted(collect_columns(expression) - set(dataset.names))
        if unknown:
            raise FormulaError(
                f"{name_option('also', str(expression))}: there is no input {quote(unknown[0])}"
                f"{suggest(unknown[0], dataset.names)}"
            )
    defined = [define_columns(expression, dataset.indicators) for expression in expressions]
    if units is not None:
        check_formula_units(defined, units)
    return evaluate_user_formulas(defined, dataset.columns_by_name, _NO_KEYS).expressions


def build_guess_dictionary(guesses: Sequence[Expression], columns: Mapping[str, Values]) -> TermDictionary:
    """Build a dictionary of the guesses and their summands that are defined in all rows and not constant.

    Each was chosen from as many features as there are guesses.
    """
    unique: dict[tuple[int, int], Expression] = {}
    for term in [*guesses, *(term for guess in guesses for term in split_sum(guess))]:
        unique.setdefault(compute_key(term), term)
    varying = [term for term in unique.values() if _varies(term, columns)]
    n_rows = len(next(iter(columns.values())))
    values = [evaluate_user_formulas([guess], columns, _NO_KEYS).values[0] for guess in varying]
    return TermDictionary(
        tuple(varying),
        np.array(values).reshape(len(varying), n_rows),
        np.array([compute_complexity(guess) for guess in varying], dtype=np.int64),
        np.full(len(varying), float(max(1, len(guesses)))),
        np.array([compute_key(guess) for guess in varying], dtype=np.uint64).reshape(-1, 2),
        np.zeros(len(varying), dtype=np.int64),
    )


def _varies(guess: Expression, columns: Mapping[str, Values]) -> bool:
    """Return whether a guess is defined and not constant; parts of the rows may lack what all have."""
    try:
        evaluate_user_formulas([guess], columns, _NO_KEYS)
    except FormulaError:
        return False
    return True


def list_guess_laws(guesses: Sequence[Expression], data: LawData) -> list[Law]:
    """List the models of the guesses: as they are, as sums with free coefficients, with fitted constants.

    Parameters
    ----------
    guesses : sequence of Expression
        The guesses.
    data : LawData
        The inputs and the target.

    Returns
    -------
    list of Law
        Each with and without an intercept. The operators need not be in the grammar.
    """
    laws: list[Law] = []
    for guess in guesses:
        forms = dict.fromkeys([(guess,), tuple(split_sum(guess))])
        starts = [
            Law(terms, has_intercept, float(len(guesses)))
            for terms in forms
            for has_intercept in (False, True)
        ]
        refined = (_refine_constants(law, data) for law in starts)
        laws += [*starts, *(law for law in refined if law is not None)]
    required = data.required_inputs
    return [law for law in laws if required is None or required.has_all(law.terms)]


def split_sum(expression: Expression) -> Iterator[Expression]:
    """Yield the summands of a formula without numeric factors; numbers alone are left out.

    Examples
    --------
    >>> print(*split_sum(parse_expression("2*x - (3 + sin(y)*4)/5")), sep=", ")
    x, sin(y)
    """
    match expression:
        case Call(operator, (left, right)) if operator.name in {"add", "sub"}:
            yield from split_sum(left)
            yield from split_sum(right)
        case Call(operator, (argument,)) if operator.name == "neg":
            yield from split_sum(argument)
        case Call(operator, (Constant(), factor)) if operator.name == "mul":
            yield from split_sum(factor)
        case Call(operator, (factor, Constant())) if operator.name in {"mul", "div"}:
            yield from split_sum(factor)
        case Constant():
            return
        case _:
            yield expression


def _refine_constants(law: Law, data: LawData) -> Law | None:
    """Fit the constants inside a law, from those of the guess; None if there are none, or too many."""
    terms = tuple(rebuild_expression(term, number=_mark_fitted) for term in law.terms)
    n_constants = sum(constant.fitted for term in terms for constant in iterate_constants(term))
    if not 0 < n_constants <= _MAX_CONSTANTS or n_constants + len(terms) + 1 >= len(data.target):
        return None
    refined = refine_law(replace(law, terms=terms, n_constants=n_constants), data)
    if refined is None or not _is_allowed(refined, data.is_allowed):
        return None
    return refined


def _mark_fitted(number: Constant) -> Constant:
    """Mark a number as a start of a fit; named constants such as π are not changed, nor is 0."""
    if not number.value or find_constant_name(number.value) is not None:
        return number
    return Constant(float(number.value), fitted=True)


def _is_allowed(law: Law, is_allowed: Callable[[Expression], bool] | None) -> bool:
    """Return whether the units allow the terms of a law."""
    return is_allowed is None or all(map(is_allowed, law.terms))
