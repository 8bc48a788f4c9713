"""The search for models: space by space, each feature and each small set of features tried.

In a small space all subsets of one to three features are tried, and of four among the best. In a large one,
every feature is tried alone and with every subset of one or two of a core of simple features, for an exact
formula is as a rule one deep term and a few simple ones; the best of these join the small space's features,
and all subsets are tried again. To a model affine copies of a feature are the same, so of each only the
simplest takes part, and copies take nobody's place.

Of several responses one model is wanted, with the same features and coefficients for each: what it leaves is
the mean of what it leaves of each, as a share of its variance, so that the units of none of them matter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.models.dictionary import Dictionary, dictionary_of, empty_dictionary, named
from symscreen.models.refinement import refined
from symscreen.statistics.core_scan import CoreModels, merged, scan_core
from symscreen.statistics.exhaustive import best_models
from symscreen.statistics.gram import Gram, gram_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Block, Space
    from symscreen.expression import Expression
    from symscreen.response.kinds import NumericResponse

__all__ = ["EXACT", "Data", "Effort", "Found", "exhausted", "rounding_share", "search"]

_VALUES_AT_A_TIME = 1 << 23
_COPIES = 3  # finalists of a large space for each that is wanted: about half of them are copies of others

EXACT = 1e-24
"""A share of the response's variance, left unexplained, that is rounding: (1e-12)²."""


@dataclass(frozen=True, eq=False)
class Data:
    """What models are fitted to.

    Parameters
    ----------
    inputs : mapping of str to float64 array, shape (n,)
        The columns by name: constants inside formulas are fitted on them.
    response : Response or SeveralResponse
        The response, or K of them that are to have the same terms, with coefficients of their own.
    allowed : callable, optional
        Which terms may come of fitting the constants inside others: under units those that have one, as
        x² may and x to the power of 1.7019 may not.
    """

    inputs: Mapping[str, NDArray[np.float64]]
    response: NumericResponse
    allowed: Callable[[Expression], bool] | None = None


@dataclass(frozen=True, slots=True)
class Effort:
    """How far a search goes.

    Parameters
    ----------
    terms : int
        The most features in a model, 1 to 4; at most two fewer than there are rows, for through n points
        some model of n − 1 features always passes.
    small : int
        A space of so many features is searched exhaustively; of a larger one so many join the dictionary.
    core : int
        How many simple features each feature of a large space is tried with.
    four : int
        Among how many features all subsets of four are tried.
    keep : int
        How many models of each size are kept at every step.
    """

    terms: int = 4
    small: int = 500
    core: int = 40
    four: int = 100
    keep: int = 100


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Parameters
    ----------
    terms : Dictionary
        The features of all models.
    models : dict of tuple of int to float
        Models, as ascending places among the terms, with the share of variance that each leaves: 0 where it
        is rounding. Of several responses it is the mean of the shares, 1 − R², that the model leaves of each.
    searched : int
        How many features were tried.
    tried : int
        How many models.
    """

    terms: Dictionary
    models: dict[tuple[int, ...], float]
    searched: int
    tried: int

    @property
    def exact(self) -> bool:
        """Whether some model leaves nothing but rounding."""
        return any(share <= EXACT for share in self.models.values())


def rounding_share(response: NumericResponse) -> float:
    """Return the share of the response's variance that is rounding of its own digits, at least `EXACT`.

    A response far from zero, such as years, has few digits left for its variance. Of several the mean.

    Examples
    --------
    >>> from symscreen.response import Response
    >>> rounding_share(Response(np.array([1.0, 2.0, 3.0])))
    1e-24
    >>> rounding_share(Response(1e9 + np.array([1.0, 2.0, 3.0]))) > 1e-14
    True
    """
    return float(np.mean([_rounding(values) for values in np.atleast_2d(response.values)]))


def _rounding(target: NDArray[np.float64]) -> float:
    _, exponent = np.frexp(np.abs(target).max())
    values = np.ldexp(target, -int(exponent))
    around = values - values.mean()
    spacing = 16 * float(np.finfo(np.float64).eps)
    return float(max(EXACT, min(spacing**2 * target.size / (around * around).sum(), 1.0)))


def search(spaces: Iterable[Space], data: Data, backend: Backend, effort: Effort) -> Found:
    """Search spaces for models of few features, the smaller spaces first.

    Parameters
    ----------
    spaces : iterable of Space
        With values; taken one by one. Once a model is exact no larger space than `effort.small` is searched.
    data : Data
        Over the same rows.
    backend : Backend
        Where chunks are scored; its threads try models.
    effort : Effort
        How far to go.

    Returns
    -------
    Found
    """
    effort = _within(effort, data)
    found = Found(empty_dictionary(data.response.n), {}, 0, 0)
    known: set[object] = set()
    for space in spaces:
        if found.exact and space.size > effort.small:
            break
        fresh = dictionary_of(space, data.response, effort.small, backend)
        terms, active = found.terms.with_new(fresh)
        found = Found(terms, found.models, found.searched + space.size, found.tried)
        if space.size > effort.small:
            found, finalists = _scanned(found, space, data.response, backend, effort)
            active = np.concatenate((active, finalists))
        found = _exhausted(found, np.unique(active), data.response, backend, effort)
        found = _finished(found, data, known)
    return found


def exhausted(terms: Dictionary, searched: int, data: Data, backend: Backend, effort: Effort) -> Found:
    """Try all subsets of a few features.

    Parameters
    ----------
    terms : Dictionary
        The features.
    searched : int
        How many they were chosen from.
    data, backend, effort
        As of `search`.

    Returns
    -------
    Found
    """
    terms, active = empty_dictionary(data.response.n).with_new(terms)
    found = Found(terms, {}, searched, 0)
    found = _exhausted(found, np.unique(active), data.response, backend, _within(effort, data))
    return _finished(found, data, set())


def _within(effort: Effort, data: Data) -> Effort:
    """Stay below the size at which some model passes through all points."""
    return replace(effort, terms=max(1, min(effort.terms, data.response.n - 2)))


def _finished(found: Found, data: Data, known: set[object]) -> Found:
    """Take rounding for nothing, and fit the constants inside the best models."""
    rounding = rounding_share(data.response)
    models = {members: 0.0 if share <= rounding else share for members, share in found.models.items()}
    aim = data.response.values
    terms, models = refined(found.terms, models, data.inputs, aim, known, allowed=data.allowed)
    models = {members: 0.0 if share <= rounding else share for members, share in models.items()}
    return replace(found, terms=terms, models=models)


def _scanned(
    found: Found, space: Space, response: NumericResponse, backend: Backend, effort: Effort
) -> tuple[Found, NDArray[np.int64]]:
    """Try every feature of a large space alone and with each small subset of the core.

    Returns
    -------
    Found
        With the best models and their features.
    int64 array
        The places of these features among the terms.
    """
    core = _core(found, response, effort)
    gram = gram_of(found.terms.values[core], response.values)
    sizes = tuple(range(min(effort.terms, 3)))
    best = [CoreModels(np.zeros(0, np.int64), np.zeros((0, size), np.int32), np.zeros(0)) for size in sizes]
    for block in _gathered(space):
        best = _scan(block, gram, best, _COPIES * effort.keep, backend.jobs)
    models, finalists = dict(found.models), []
    terms = found.terms
    for part in best:
        terms, places = _placed(terms, named(space, part.features, float(space.size)))
        distinct = list(dict.fromkeys(places.tolist()))[: effort.keep]
        finalists.append(np.array(distinct, dtype=np.int64))
        for place, subset, share in zip(places.tolist(), core[part.subsets], part.unexplained, strict=True):
            members = tuple(sorted({place, *subset.tolist()}))
            if len(members) == len(subset) + 1:
                models.setdefault(members, float(share))
    subsets = sum(comb(len(core), size) for size in sizes)
    return Found(terms, models, found.searched, found.tried + space.size * subsets), np.concatenate(finalists)


def _placed(terms: Dictionary, finalists: Dictionary) -> tuple[Dictionary, NDArray[np.int64]]:
    """Add finalists to the terms, of affine copies the simplest."""
    keys, places = finalists.keys, np.empty(len(finalists), dtype=np.int64)
    simple = np.lexsort((keys[:, 1], keys[:, 0], finalists.complexity))
    terms, places[simple] = terms.with_new(finalists.take(simple))
    return terms, places


def _gathered(space: Space) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Compute a space in blocks large enough that threads have work and few finalists are fitted again."""
    parts: list[Block] = []
    waiting = 0
    for block in space.blocks(0, space.total):
        parts.append(block)
        waiting += len(block.numbers)
        if waiting * space.rows >= _VALUES_AT_A_TIME:
            yield _joined(parts)
            parts, waiting = [], 0
    if waiting:
        yield _joined(parts)


def _joined(parts: list[Block]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    numbers = np.concatenate([block.numbers for block in parts])
    return numbers, np.concatenate([block.values for block in parts])


def _scan(
    block: tuple[NDArray[np.int64], NDArray[np.float64]],
    core: Gram,
    best: list[CoreModels],
    keep: int,
    jobs: int,
) -> list[CoreModels]:
    """Try a block's features with the core, and merge the best of them with those of earlier blocks."""
    numbers, values = block
    bars = [float(part.unexplained[-1]) if len(part.features) == keep else np.inf for part in best]
    fresh = scan_core(values, core, sizes=range(len(best)), keep=keep, beat=bars, jobs=jobs)
    fresh = [CoreModels(numbers[part.features], part.subsets, part.unexplained) for part in fresh]
    return [merged(pair, keep) for pair in zip(best, fresh, strict=True)]


def _core(found: Found, response: NumericResponse, effort: Effort) -> NDArray[np.int64]:
    """Choose the core: the simplest features, among equally simple ones those nearest to the response."""
    gram = gram_of(found.terms.values, response.values)
    order = np.lexsort((-gram.strength.round(9), found.terms.complexity))
    return np.sort(order[: effort.core])


def _exhausted(
    found: Found, active: NDArray[np.int64], response: NumericResponse, backend: Backend, effort: Effort
) -> Found:
    """Try all subsets of the active features, and of ever fewer, simpler ones: simple models count, too."""
    models, tried = dict(found.models), found.tried
    simple = active[np.argsort(found.terms.complexity[active], kind="stable")]
    for size in range(1, min(effort.terms, 3) + 1):
        count = len(simple)
        while count >= size:
            chosen = np.sort(simple[:count])
            gram = gram_of(found.terms.values[chosen], response.values)
            models |= _best(gram, chosen, size, effort, backend.jobs)
            tried += comb(count, size)
            count //= 2
    chosen = _most_wanted(models, found.terms, simple, effort.four)
    if effort.terms == 4 and len(chosen) >= 4:
        gram = gram_of(found.terms.values[chosen], response.values)
        models |= _best(gram, chosen, 4, effort, backend.jobs)
        tried += comb(len(chosen), 4)
    return Found(found.terms, models, found.searched, tried)


def _best(
    gram: Gram, chosen: NDArray[np.int64], size: int, effort: Effort, jobs: int
) -> dict[tuple[int, ...], float]:
    members, unexplained = best_models(gram, size, effort.keep, jobs)
    return {
        tuple(places): float(share)
        for places, share in zip(chosen[members].tolist(), unexplained, strict=True)
    }


def _most_wanted(
    models: Mapping[tuple[int, ...], float], terms: Dictionary, simple: NDArray[np.int64], limit: int
) -> NDArray[np.int64]:
    """Return the features of the best models so far, fitted ones left aside; then simple ones."""
    wanted: dict[int, None] = {}
    for members in sorted(models, key=lambda members: (models[members], len(members), members)):
        wanted |= dict.fromkeys(place for place in members if not terms.constants[place])
        if len(wanted) >= limit:
            break
    wanted |= dict.fromkeys(simple.tolist())
    return np.sort(np.array(list(wanted)[:limit], dtype=np.int64))
