"""Constants inside the best models, fitted once per formula and not once per start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from symscreen.expression import Apply, complexity, evaluate, key
from symscreen.models.constants import constants_in, with_fitted_constants, with_own_constants
from symscreen.models.dictionary import Dictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen.expression import Expression

    Models = dict[tuple[int, ...], float]

__all__ = ["refined"]

_EXACT = 1e-24  # a share left unexplained that is rounding: nothing simpler is to come
_BEST, _SIMPLE = 3, 3  # of each size: those that leave least, and the simplest of the front
_MOST_CONSTANTS = 3  # in a model: with more the fit is slow, and its answer a matter of the starts


def refined(
    terms: Dictionary,
    models: Mapping[tuple[int, ...], float],
    inputs: Mapping[str, NDArray[np.float64]],
    target: NDArray[np.float64],
    known: set[object],
    *,
    allowed: Callable[[Expression], bool] | None = None,
) -> tuple[Dictionary, Models]:
    """Fit the constants inside the best models of each size, and add what comes of it.

    A start is near the constant and not at it, so that a sum of several features can fit better than the one
    true feature at its best start: models of every size are refined, and simple ones beside good ones.

    Parameters
    ----------
    terms : Dictionary
        The features of the models.
    models : mapping of tuple of int to float
        Models with the share that each leaves.
    inputs : mapping of str to float64 array, shape (n,)
        The columns by name.
    target : float64 array, shape (n,) or (K, n)
        The response, or the responses.
    known : set
        The formulas refined before, starts apart; changed in place.
    allowed : callable, optional
        Which terms may come of it; the constants inside others stay as they are. None for any.

    Returns
    -------
    Dictionary
        With the new terms behind the others.
    dict of tuple of int to float
        With the new models.
    """
    models, open_constants = dict(models), np.array([constants_in(one) for one in terms.expressions])
    if not open_constants.any() or min(models.values()) <= _EXACT:
        return terms, models
    for members in _promising(terms, models, open_constants, known):
        old = [terms.expressions[place] for place in members]
        new, share = with_fitted_constants(old, inputs, target)
        if allowed is not None and not all(map(allowed, new)):
            new, share = _held(old, [allowed(one) for one in new], inputs, target)
        if share < models[members]:
            terms, places = _with_terms(terms, members, new, open_constants, inputs)
            if len(set(places)) == len(members):
                models[tuple(sorted(places))] = share
        if share <= _EXACT:
            break
    return terms, models


def _held(
    old: list[Expression],
    free: list[bool],
    inputs: Mapping[str, NDArray[np.float64]],
    target: NDArray[np.float64],
) -> tuple[tuple[Expression, ...], float]:
    """Fit the constants inside some of the terms, the others as they are."""
    tried = [one if own else with_own_constants(one) for one, own in zip(old, free, strict=True)]
    new, share = with_fitted_constants(tried, inputs, target)
    return tuple(one if own else other for one, other, own in zip(new, old, free, strict=True)), share


def _promising(
    terms: Dictionary, models: Models, open_constants: NDArray[np.int64], known: set[object]
) -> list[tuple[int, ...]]:
    """Choose the models to refine, simple ones first, and note them as known."""
    chosen: list[tuple[int, ...]] = []
    rows = terms.values.shape[1]
    for size in range(1, max(map(len, models)) + 1):
        fitting = min(_MOST_CONSTANTS, rows - size - 2)
        able = [
            members
            for members in models
            if len(members) == size and 1 <= open_constants[list(members)].sum() <= fitting
        ]
        able.sort(key=lambda members: (models[members], _length(terms, members), members))
        templates: dict[object, tuple[int, ...]] = {}
        for members in able:
            templates.setdefault(tuple(sorted(_template(terms.expressions[m]) for m in members)), members)
        first = list(templates)[:_BEST]
        own = dict.fromkeys([*first, *_front(terms, models, templates)[:_SIMPLE]])
        chosen += [templates[one] for one in own if one not in known]
        known.update(own)
    return sorted(chosen, key=lambda members: (len(members), _length(terms, members), members))


def _front(terms: Dictionary, models: Models, templates: Mapping[object, tuple[int, ...]]) -> list[object]:
    """Return the templates that no simpler one beats, the simplest first."""
    front: list[object] = []
    least = np.inf
    for one, members in sorted(
        templates.items(), key=lambda pair: (_length(terms, pair[1]), models[pair[1]], pair[1])
    ):
        if models[members] < least:
            front.append(one)
            least = models[members]
    return front


def _length(terms: Dictionary, members: tuple[int, ...]) -> int:
    return int(terms.complexity[list(members)].sum())


def _template(expression: Expression) -> str:
    """Write a formula with operators that differ in their starts alone under one name."""
    if not isinstance(expression, Apply):
        return repr(expression)
    operator = expression.operator
    name = operator.name if operator.family is None else f"{operator.family.name} of any start"
    return f"{name}({', '.join(map(_template, expression.arguments))})"


def _with_terms(
    terms: Dictionary,
    members: tuple[int, ...],
    new: tuple[Expression, ...],
    open_constants: NDArray[np.int64],
    inputs: Mapping[str, NDArray[np.float64]],
) -> tuple[Dictionary, list[int]]:
    """Put the terms that have changed behind the others; return the places of all."""
    places = list(members)
    for number, (place, term) in enumerate(zip(members, new, strict=True)):
        if term is not terms.expressions[place]:
            places[number] = len(terms)
            one = Dictionary(
                (term,),
                evaluate(term, inputs)[None, :],
                np.array([complexity(term)], dtype=np.int64),
                terms.rivals[[place]],
                np.array([key(term)], dtype=np.uint64).reshape(1, 2),
                open_constants[[place]],
            )
            terms = terms.joined(one)
    return terms, places
