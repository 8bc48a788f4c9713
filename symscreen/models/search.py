"""The search for models: space by space, each feature and each small set of features tried.

In a small space all subsets of one to three features are tried, and of four among the best. In a large one,
every feature is tried alone and with every subset of one or two of a core of simple features, for an exact
formula is as a rule one deep term and a few simple ones; the best of these join the small space's features,
and all subsets are tried again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from symscreen.expression import complexity, evaluate, key
from symscreen.models.constants import constants_in
from symscreen.models.dictionary import Dictionary, dictionary_of, empty_dictionary, named
from symscreen.statistics.core_scan import CoreModels, merged, scan_core
from symscreen.statistics.exhaustive import best_models
from symscreen.statistics.gram import Gram, gram_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen.backends import Backend
    from symscreen.expansion import Block, Space
    from symscreen.expression import Expression
    from symscreen.response import Response

__all__ = ["EXACT", "Effort", "Found", "exhausted", "search"]

_VALUES_AT_A_TIME = 1 << 23

EXACT = 1e-24
"""A share of the response's variance, left unexplained, that is rounding: (1e-12)²."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How far a search goes.

    Parameters
    ----------
    terms : int
        The most features in a model, 1 to 4.
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
        Models, as ascending places among the terms, with the share of variance that each leaves.
    searched : int
        How many features were tried.
    tried : int
        How many models.
    """

    terms: Dictionary
    models: dict[tuple[int, ...], float]
    searched: int
    tried: int

    def with_model(
        self,
        terms: Sequence[Expression],
        columns: Mapping[str, NDArray[np.float64]],
        share: float,
        instead: tuple[int, ...],
    ) -> Found:
        """Add a model whose terms have come from those of another one by fitting constants inside them.

        Parameters
        ----------
        terms : sequence of Expression
            Of the new model.
        columns : mapping of str to float64 array, shape (n,)
            The inputs.
        share : float
            What it leaves unexplained.
        instead : tuple of int
            The model that it came from, in the order of its terms.
        """
        old = list(instead)
        fitted = np.array([constants_in(self.terms.expressions[place]) for place in old])
        made = Dictionary(
            tuple(terms),
            np.array([evaluate(term, columns) for term in terms]),
            np.array([complexity(term) for term in terms], dtype=np.int64),
            # each constant is one more parameter: log n in the criterion, as a coefficient's
            self.terms.rivals[old] * np.sqrt(float(self.terms.values.shape[1])) ** fitted,
            np.array([key(term) for term in terms], dtype=np.uint64),
        )
        grown, places = self.terms.with_new(made)
        return replace(self, terms=grown, models=self.models | {tuple(sorted(places.tolist())): share})

    @property
    def exact(self) -> bool:
        """Whether some model leaves nothing but rounding."""
        return any(share <= EXACT for share in self.models.values())


def search(spaces: Iterable[Space], response: Response, backend: Backend, effort: Effort) -> Found:
    """Search spaces for models of few features, the smaller spaces first.

    Parameters
    ----------
    spaces : iterable of Space
        With values; taken one by one. Once a model is exact no larger space than `effort.small` is searched.
    response : Response
        The response.
    backend : Backend
        Where chunks are scored; its threads try models.
    effort : Effort
        How far to go.

    Returns
    -------
    Found
    """
    found = Found(empty_dictionary(response.n), {}, 0, 0)
    for space in spaces:
        if found.exact and space.size > effort.small:
            break
        fresh = dictionary_of(space, response, effort.small, backend)
        terms, active = found.terms.with_new(fresh)
        found = Found(terms, found.models, found.searched + space.size, found.tried)
        if space.size > effort.small:
            found, finalists = _scanned(found, space, response, backend, effort)
            active = np.union1d(active, finalists)
        found = _exhausted(found, active, response, backend, effort)
    return found


def exhausted(
    terms: Dictionary, searched: int, response: Response, backend: Backend, effort: Effort
) -> Found:
    """Try all subsets of a few features.

    Parameters
    ----------
    terms : Dictionary
        The features.
    searched : int
        How many they were chosen from.
    response, backend, effort
        As of `search`.

    Returns
    -------
    Found
    """
    return _exhausted(Found(terms, {}, searched, 0), np.arange(len(terms)), response, backend, effort)


def _scanned(
    found: Found, space: Space, response: Response, backend: Backend, effort: Effort
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
        best = _scan(block, gram, best, effort.keep, backend.jobs)
    models, places = dict(found.models), []
    terms = found.terms
    for part in best:
        terms, own = terms.with_new(named(space, part.features, float(space.size)))
        for place, subset, share in zip(own, core[part.subsets], part.unexplained, strict=True):
            members = tuple(sorted({int(place), *subset.tolist()}))
            if len(members) == len(subset) + 1:
                models[members] = float(share)
        places.append(own)
    subsets = sum(comb(len(core), size) for size in sizes)
    return Found(terms, models, found.searched, found.tried + space.size * subsets), np.concatenate(places)


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


def _core(found: Found, response: Response, effort: Effort) -> NDArray[np.int64]:
    """Choose the core: the simplest features, among equally simple ones those nearest to the response."""
    gram = gram_of(found.terms.values, response.values)
    order = np.lexsort((-np.abs(gram.with_target).round(9), found.terms.complexity))
    return np.sort(order[: effort.core])


def _exhausted(
    found: Found, active: NDArray[np.int64], response: Response, backend: Backend, effort: Effort
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
    if effort.terms == 4:
        chosen = _most_wanted(models, effort.four)
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


def _most_wanted(models: dict[tuple[int, ...], float], limit: int) -> NDArray[np.int64]:
    """Return the features of the best models so far, the best models' first."""
    wanted: dict[int, None] = {}
    for members in sorted(models, key=lambda members: (models[members], len(members), members)):
        wanted |= dict.fromkeys(members)
        if len(wanted) >= limit:
            break
    return np.sort(np.array(list(wanted)[:limit], dtype=np.int64))
