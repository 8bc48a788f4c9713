"""Compare laws with those that extend them by fitted terms.

A law is nested in another if it is the other law with one or two of its fitted numbers set to 0. For example,
m·v² is nested in m·v²/(1 − c·u/w) and in m·v² + c·u. Several searches give laws that extend the true one by
a term that follows the noise. Such a law should not count as more probable because a cheaper search found it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from symscreen.expressions.traversal import (
    compute_complexity,
    compute_key,
    evaluate_expression,
    iterate_constants,
    rebuild_expression,
)
from symscreen.expressions.tree import Call, Constant, apply_operator
from symscreen.fitting.laws.law_forms import compute_law_score
from symscreen.grammar import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symscreen.expressions.tree import Expression
    from symscreen.fitting.laws.fitted_laws import FittedLaw
    from symscreen.fitting.laws.law import Law, LawData


_MAX_REMOVED = 2  # largest number of fitted terms by which a law extends another
_MAX_COMPARED = 40  # laws, best first, that are compared with each other
_ZERO, _ONE, _UNDEFINED = Constant(0), Constant(1), Constant(float("nan"))

# canonical key of the sum of the terms without their numbers, and whether there is an intercept
_Shape: TypeAlias = tuple[tuple[int, int], bool]


class _NestedShape(NamedTuple):
    """The shape of a nested law, with the terms that it lacks, without their numbers."""

    shape: _Shape
    removed: tuple[Expression, ...]


def compute_shape(law: Law) -> _Shape | None:
    """Return what a law has in common with all laws that differ from it in their coefficients alone.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.fitting.laws.law import Law
    >>> laws = [Law((parse_expression(text),), False, 1.0) for text in ("m*(u**2 + 2.1*v)", "3*m*v + m*u**2")]
    >>> compute_shape(laws[0]) == compute_shape(laws[1])
    True
    """
    return _build_shape([_remove_multipliers(term) for term in law.terms], law.has_intercept)


def extends_law(law: Law, other: Law) -> bool:
    """Return whether a law is another one with one or two more fitted terms.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> from symscreen.fitting.laws.law import Law
    >>> law = Law((parse_expression("m*v**2"),), False, 1.0)
    >>> longer = Law((*law.terms, parse_expression("v*sin(m)")), False, 1.0)
    >>> extends_law(longer, law), extends_law(law, longer)
    (True, False)
    """
    shape = compute_shape(other)
    return any(nested.shape == shape for nested in _iterate_nested_shapes(law))


def charge_added_terms(fitted: Sequence[FittedLaw], data: LawData) -> list[FittedLaw]:
    """Charge a law that extends another one for the choice of the added terms.

    The law was chosen from all that extend the other one by formulas which are not more complex than the
    added terms. If its better fit does not pay for this choice, its search size becomes that of the other
    law, times the number of these formulas. Then the other law has the better score.

    Parameters
    ----------
    fitted : sequence of FittedLaw
        Laws with their errors. The 40 with the best scores are compared.
    data : LawData
        Their inputs and target.

    Returns
    -------
    list of FittedLaw
        The laws, in the same order.
    """
    n = len(data.target)
    order = sorted(range(len(fitted)), key=lambda place: compute_law_score(fitted[place], n))[:_MAX_COMPARED]
    shapes: dict[_Shape | None, int] = {}
    for place in order:
        shapes.setdefault(compute_shape(fitted[place].law), place)
    charged = list(fitted)
    # a law has more numbers than those nested in it, so their search sizes are final before its own
    for place in sorted(order, key=lambda place: _count_numbers(fitted[place].law)):
        for shape, n_choices in _count_added_choices(fitted[place].law, data).items():
            smaller = shapes.get(shape, place)
            size = charged[smaller].law.search_size * n_choices
            each = charged[place]
            if smaller == place or each.is_exact or size <= each.law.search_size:
                continue
            changed = replace(each, law=replace(each.law, search_size=size))
            if compute_law_score(changed, n) > compute_law_score(charged[smaller], n):
                charged[place] = changed
    return charged


def _count_numbers(law: Law) -> int:
    """Return the number of fitted numbers of a law."""
    return len(law.terms) + law.has_intercept + law.n_constants


def _count_added_choices(law: Law, data: LawData) -> dict[_Shape, float]:
    """Return for each nested shape the number of formulas from which the terms that it lacks were chosen."""
    choices: dict[_Shape, float] = {}
    for nested in _iterate_nested_shapes(law):
        counts = [data.pool.estimate_count(compute_complexity(term)) for term in nested.removed]
        choices[nested.shape] = min(choices.get(nested.shape, np.inf), prod(counts, start=1.0))
    return choices


def _iterate_nested_shapes(law: Law) -> Iterator[_NestedShape]:
    """Yield the shapes of the laws that are nested in a law."""
    values = {number.value for term in law.terms for number in iterate_constants(term) if number.fitted}
    parts: list[tuple[str, float]] = [("number", value) for value in sorted(values)]
    if len(law.terms) > 1:
        parts += [("term", float(place)) for place in range(len(law.terms))]
    if law.has_intercept:
        parts.append(("intercept", 0.0))
    for size in range(1, min(_MAX_REMOVED, len(parts)) + 1):
        for chosen in combinations(parts, size):
            nested = _remove_parts(law, chosen)
            if nested is not None:
                yield nested


def _remove_parts(law: Law, chosen: Sequence[tuple[str, float]]) -> _NestedShape | None:
    """Remove whole terms, the intercept, and all parts that vanish if some fitted numbers are 0."""
    numbers = {value for kind, value in chosen if kind == "number"}
    places = {int(value) for kind, value in chosen if kind == "term"}
    removed = [_remove_multipliers(law.terms[place]) for place in sorted(places)]
    kept = []
    for place, term in enumerate(law.terms):
        if place not in places:
            rest = _set_to_zero(term, numbers, removed)
            if rest is None:
                return None
            kept.append(_remove_multipliers(rest))
    shape = _build_shape(kept, law.has_intercept and ("intercept", 0.0) not in chosen)
    return None if shape is None else _NestedShape(shape, tuple(removed))


def _build_shape(terms: Sequence[Expression], has_intercept: bool) -> _Shape | None:
    """Return the key of a sum of terms without numbers; None if it has no terms or is constant."""
    if not terms or all(isinstance(term, Constant) for term in terms):
        return None
    total = terms[0]
    for term in terms[1:]:
        total = apply_operator(OPERATORS["add"], total, term)
    return compute_key(total), has_intercept


def _remove_multipliers(term: Expression) -> Expression:
    """Replace all coefficients by 1, in sums inside too; exponents stay as they are.

    Examples
    --------
    >>> from symscreen.expressions.tree import parse_expression
    >>> print(_remove_multipliers(parse_expression("2.5*m*(u**2 - v*w/3 - 0.2)")))
    m*(u**2 + v*w + 1)
    """

    def build_call(call: Call, arguments: list[Expression]) -> Expression:
        name = call.operator.name
        if name == "pow" and isinstance(call.arguments[1], Constant):
            arguments = [arguments[0], call.arguments[1]]
            return _ONE if arguments[0] == _ONE else apply_operator(call.operator, *arguments)
        if all(argument == _ONE for argument in arguments):
            return _ONE
        if name == "neg" or (name == "div" and arguments[1] == _ONE):
            return arguments[0]
        if name == "mul" and _ONE in arguments:
            return arguments[1 - arguments.index(_ONE)]
        return apply_operator(OPERATORS["add"] if name == "sub" else call.operator, *arguments)

    return rebuild_expression(term, number=lambda _: _ONE, call=build_call)


def _set_to_zero(term: Expression, numbers: set[float], removed: list[Expression]) -> Expression | None:
    """Set fitted numbers to 0, and append what vanishes because of it; None if nothing or no value remains.

    Examples
    --------
    >>> from symscreen.expressions.tree import Column
    >>> fitted = apply_operator(OPERATORS["mul"], Constant(0.25, fitted=True), Column("x"))
    >>> term = apply_operator(OPERATORS["sub"], Constant(1), fitted)
    >>> removed = []
    >>> print(_set_to_zero(term, {0.25}, removed), removed)
    1 [Column(name='x')]
    """

    def build_number(number: Constant) -> Expression:
        return _ZERO if number.fitted and number.value in numbers else number

    def build_call(call: Call, arguments: list[Expression]) -> Expression:
        name, is_zero = call.operator.name, [argument is _ZERO for argument in arguments]
        if not any(is_zero):
            return apply_operator(call.operator, *arguments)
        if name in {"add", "sub"} and not all(is_zero):
            place = is_zero.index(True)
            removed.append(_remove_multipliers(call.arguments[place]))
            return arguments[1 - place]
        if name in {"mul", "add", "sub", "neg"} or (name in {"div", "pow"} and not is_zero[1]):
            return _ZERO
        if name == "div":
            return _UNDEFINED
        removed.append(_remove_multipliers(call.arguments[0]))
        value = 1.0 if name == "pow" else _evaluate_at_zero(call)
        return _ZERO if value == 0.0 else Constant(value)

    rest = rebuild_expression(term, number=build_number, call=build_call)
    is_defined = all(np.isfinite(number.value) for number in iterate_constants(rest))
    return rest if is_defined and rest is not _ZERO else None


def _evaluate_at_zero(call: Call) -> float:
    """Return the value of a function of one argument at 0; NaN or infinite if it has none."""
    with np.errstate(all="ignore"):
        values = evaluate_expression(apply_operator(call.operator, _ZERO), {"": np.zeros(1)})
    return float(np.ravel(values)[0])
