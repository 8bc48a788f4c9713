"""Small generated data on which `symscreen.screeners.checks` tries a screener."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.label_ranking import Rankings
from symscreen.response import Response
from symscreen.response.classes import ClassesResponse
from symscreen.response.rankings import RankingResponse
from symscreen.response.several import SeveralResponse, several_of
from symscreen.response.stages import StagesResponse
from symscreen.response.survival import SurvivalResponse
from symscreen.response.weighted import WeightedResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.response import Kind
    from symscreen.response.kinds import AnyResponse

    Values = NDArray[np.float64]

__all__ = ["ROWS", "Case", "cases_of"]

ROWS = 60
_NAMES = ("a", "b", "c", "d")


@dataclass(frozen=True, eq=False)
class Case:
    """Features and a response; the strongest feature, where there is one, is the response or its negative.

    Of a ranking it is what decides the order of each pair of labels; of stages, who reaches each.
    """

    what: str
    values: Values
    response: AnyResponse
    strongest: int | None = None
    direction: int = 1
    may_refuse: bool = False

    @property
    def told(self) -> Values:
        """The numbers that make the response."""
        if isinstance(self.response, StagesResponse):
            return self.response.outcomes.astype(np.float64)
        if isinstance(self.response, ClassesResponse):
            return self.response.codes.astype(np.float64)
        if isinstance(self.response, SurvivalResponse):
            return np.stack([self.response.times, self.response.events.astype(np.float64)])
        if isinstance(self.response, SeveralResponse):
            return self.response.values
        if isinstance(self.response, WeightedResponse):
            return np.stack([self.response.values, self.response.weights])
        return self.response.ranks if isinstance(self.response, RankingResponse) else self.response.values

    @property
    def separable(self) -> bool:
        """Whether the strongest feature explains the response to the last row."""
        own = self.response.plain if isinstance(self.response, WeightedResponse) else self.response
        return not isinstance(own, Response) or own.untied


def cases_of(kind: Kind, rng: np.random.Generator) -> Iterator[Case]:
    """Yield the cases of a kind of response, one with a strongest feature among noise first."""
    if kind == "ranking":
        yield from _of_rankings(rng)
    elif kind == "stages":
        yield from _of_stages(rng)
    elif kind == "classes":
        yield from _of_classes(rng)
    elif kind == "survival":
        yield from _of_survival(rng)
    elif kind == "several":
        yield from _of_several(rng)
    elif kind == "weighted":
        yield from _of_weights(rng)
    else:
        yield from _of_numbers(rng)


def _of_numbers(rng: np.random.Generator) -> Iterator[Case]:
    y = Response(np.sort(rng.normal(size=ROWS)))
    noise = _noise(rng)
    tied = Response(np.sort(rng.integers(0, 5, ROWS).astype(np.float64)))
    few = Response(np.sort(rng.normal(size=20)))
    five = Response(np.array([-1.0, 0.0, 0.5, 2.0, 3.0]))
    yield Case("among noise", _with(noise, 4, y.values), y, 4)
    yield Case("falling among noise", _with(noise, 4, -y.values), y, 4, -1)
    yield Case("one feature alone", y.values[None].copy(), y, 0)
    yield Case("one feature of noise alone", noise[:1], y)
    yield Case("features of the sizes 1e-150 and 1e150", _sizes() * _with(noise, 3, y.values), y, 3)
    yield Case("a response with ties", _with(noise, 4, tied.values), tied, 4)
    yield Case("more features than rows", _with(rng.normal(size=(40, 20)), 2, few.values), few, 2)
    yield Case("five rows", rng.normal(size=(3, 5)), five, may_refuse=True)


def _of_rankings(rng: np.random.Generator) -> Iterator[Case]:
    z = np.sort(rng.normal(size=ROWS))
    y = _ranked(z)
    noise = _noise(rng)
    missing = y.ranks.copy()
    missing[rng.random(missing.shape) < 0.2] = np.nan
    missing[:, 0] = y.ranks[:, 0]
    partial = y.ranks.copy()
    partial[::5, :2] = 1.0
    few = np.sort(rng.normal(size=20))
    five = RankingResponse(Rankings(np.array([[1, 2], [1, 2], [2, 1], [2, 1], [2, 1]]), ("a", "b")))
    yield Case("rankings among noise", _with(noise, 4, z), y, 4)
    yield Case("rankings, falling among noise", _with(noise, 4, -z), y, 4)
    yield Case("rankings, one feature alone", z[None].copy(), y, 0)
    yield Case("rankings, one feature of noise alone", noise[:1], y)
    yield Case("rankings, features of the sizes 1e-150 and 1e150", _sizes() * _with(noise, 3, z), y, 3)
    yield Case("incomplete rankings", _with(noise, 4, z), RankingResponse(Rankings(missing, _NAMES)), 4)
    yield Case("rankings with ties", _with(noise, 4, z), RankingResponse(Rankings(partial, _NAMES)), 4)
    yield Case("rankings, more features than rows", _with(rng.normal(size=(40, 20)), 2, few), _ranked(few), 2)
    yield Case("five rankings", rng.normal(size=(3, 5)), five, may_refuse=True)


def _of_stages(rng: np.random.Generator) -> Iterator[Case]:
    z = np.sort(rng.normal(size=ROWS))
    y = _staged(z)
    noise = _noise(rng)
    missing = y.outcomes.copy()
    missing[:, 1:][rng.random((ROWS, 2)) < 0.2] = 0
    few = np.sort(rng.normal(size=20))
    five = np.array([[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, -1], [1, 0, 0]], dtype=np.int8)
    yield Case("stages among noise", _with(noise, 4, z), y, 4)
    yield Case("stages, falling among noise", _with(noise, 4, -z), y, 4)
    yield Case("stages, one feature alone", z[None].copy(), y, 0)
    yield Case("stages, one feature of noise alone", noise[:1], y)
    yield Case("stages, features of the sizes 1e-150 and 1e150", _sizes() * _with(noise, 3, z), y, 3)
    yield Case("stages not all observed", _with(noise, 4, z), replace(y, outcomes=missing), 4)
    yield Case("stages, more features than rows", _with(rng.normal(size=(40, 20)), 2, few), _staged(few), 2)
    yield Case("five chains", rng.normal(size=(3, 5)), replace(y, outcomes=five), may_refuse=True)


def _of_classes(rng: np.random.Generator) -> Iterator[Case]:
    z, noise = np.sort(rng.normal(size=ROWS)), _noise(rng)
    two, three = (_classed(z, at) for at in ([0.5], [0.3, 0.6]))
    few = np.sort(rng.normal(size=20))
    five = ClassesResponse(np.array([0, 0, 1, 1, 1]), ("a", "b"))
    yield Case("two classes among noise", _with(noise, 4, z), two, 4)
    yield Case("two classes, falling among noise", _with(noise, 4, -z), two, 4)
    yield Case("three classes among noise", _with(noise, 4, np.round(z)), three)
    yield Case("classes, one feature alone", z[None].copy(), two, 0)
    yield Case("classes, one feature of noise alone", noise[:1], two)
    yield Case("classes, features of the sizes 1e-150 and 1e150", _sizes() * _with(noise, 3, z), two, 3)
    few_classes = _classed(few, [0.5])
    yield Case("classes, more features than rows", _with(rng.normal(size=(40, 20)), 2, few), few_classes, 2)
    yield Case("five rows of two classes", rng.normal(size=(3, 5)), five, may_refuse=True)


def _of_survival(rng: np.random.Generator) -> Iterator[Case]:
    z, noise = np.sort(rng.exponential(size=ROWS)), _noise(rng)
    y = SurvivalResponse(z, np.ones(ROWS, dtype=np.bool_))
    cut = SurvivalResponse(z, rng.random(ROWS) < 0.6)
    few = np.sort(rng.exponential(size=20))
    met = SurvivalResponse(few, np.arange(20) % 3 > 0)
    five = SurvivalResponse(np.array([1.0, 2.0, 2.0, 3.0, 4.0]), np.array([True, True, False, True, False]))
    yield Case("times among noise", _with(noise, 4, z), y, 4)
    yield Case("times, falling among noise", _with(noise, 4, -z), y, 4, -1)
    yield Case("times, one feature alone", z[None].copy(), cut, 0)
    yield Case("times, one feature of noise alone", noise[:1], cut)
    yield Case("times, features of the sizes 1e-150 and 1e150", _sizes() * _with(noise, 3, z), cut, 3)
    yield Case("times cut short", _with(noise, 4, z), cut, 4)
    yield Case("times, more features than rows", _with(rng.normal(size=(40, 20)), 2, few), met, 2)
    yield Case("five times", rng.normal(size=(3, 5)), five, may_refuse=True)


def _of_several(rng: np.random.Generator) -> Iterator[Case]:
    z, noise = rng.normal(size=ROWS), _noise(rng)
    y = several_of({"a": z, "b": -(z**3)})
    tied = several_of({"a": np.round(z), "b": rng.integers(0, 4, ROWS).astype(np.float64)})
    yield Case("two targets among noise", _with(noise, 4, z), y, 4)
    yield Case("two targets, falling among noise", _with(noise, 4, -z), y, 4)
    yield Case("targets, one feature alone", z[None].copy(), y, 0)
    yield Case("targets with ties", _with(noise, 4, z), tied)
    yield Case("targets, features of the sizes 1e-150 and 1e150", _sizes() * _with(noise, 3, z), y, 3)


def _of_weights(rng: np.random.Generator) -> Iterator[Case]:
    z, noise = np.sort(rng.normal(size=ROWS)), _noise(rng)
    weights = rng.integers(1, 9, ROWS).astype(np.float64)
    y, tied = (WeightedResponse(Response(own), weights) for own in (z, np.round(z)))
    few = np.sort(rng.normal(size=20))
    of_few = WeightedResponse(Response(few), weights[:20])
    five = WeightedResponse(Response(np.array([-1.0, 0.0, 0.5, 2.0, 3.0])), weights[:5])
    yield Case("weights among noise", _with(noise, 4, z), y, 4)
    yield Case("weights, falling among noise", _with(noise, 4, -z), y, 4, -1)
    yield Case("weights, one feature alone", z[None].copy(), y, 0)
    yield Case("weights, one feature of noise alone", noise[:1], y)
    yield Case("weights, features of the sizes 1e-150 and 1e150", _sizes() * _with(noise, 3, z), y, 3)
    yield Case("weights and a response with ties", _with(noise, 4, np.round(z)), tied, 4)
    yield Case("weights, more features than rows", _with(rng.normal(size=(40, 20)), 2, few), of_few, 2)
    yield Case("five rows with weights", rng.normal(size=(3, 5)), five, may_refuse=True)


def _classed(z: Values, shares: list[float]) -> ClassesResponse:
    """Part z at some quantiles."""
    codes = np.searchsorted(np.quantile(z, shares), z, side="right")
    return ClassesResponse(codes.astype(np.int64), _NAMES[: len(shares) + 1])


def _staged(z: Values) -> StagesResponse:
    """Let the upper 70 % of z reach the second of three stages, the upper 40 % the third."""
    at = np.quantile(z, [0.0, 0.3, 0.6])
    outcomes = np.where(z[:, None] >= at, 1, -1).astype(np.int8)
    return StagesResponse(outcomes, ("a", "b", "c"), np.ones(3))


def _ranked(z: Values) -> RankingResponse:
    """Rank labels by lines in z: the order of any two changes once, at about a third or more of the rows."""
    slopes, at = np.array([0.0, 1.0, 2.0, 4.0]), np.quantile(z, [0.5, 0.4, 0.5, 0.6])
    return RankingResponse(Rankings(slopes * (z[:, None] - at), _NAMES))


def _noise(rng: np.random.Generator) -> Values:
    noise = rng.normal(size=(8, ROWS))
    noise[::3] = np.round(noise[::3])
    return noise


def _sizes() -> Values:
    return 10.0 ** np.array([-150.0, 150.0, 0.0, -150.0, 150.0, 0.0, -150.0, 150.0])[:, None]


def _with(noise: Values, place: int, feature: Values) -> Values:
    values = noise.copy()
    values[place] = feature
    return values
