"""What a joint screener is: it sees many features together, so its verdict depends on which it is shown."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import OptionError, nearest
from symscreen.response.kinds import numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen.response import Kind, Response
    from symscreen.response.kinds import AnyResponse

__all__ = ["JointScreener", "Option", "Path", "Shown", "Verdict"]

Setting = int | float | str
_PAIRS = 40  # pairs of labels that cost trees of rankings what a number costs trees of numbers


@dataclass(frozen=True, slots=True)
class Option:
    """A setting of a joint screener.

    Parameters
    ----------
    name : str
        As users type it: ``lasso[engine=glmnet]``.
    default : int, float or str
        Its value where none is given; its type is the type of the setting.
    meaning : str
        One line, for people.
    choices : tuple of str
        The words it takes, if it takes words.
    least, most : float
        The range of a number, both ends included.
    """

    name: str
    default: Setting
    meaning: str
    choices: tuple[str, ...] = ()
    least: float = -np.inf
    most: float = np.inf

    def read(self, value: object) -> Setting:
        """Turn what a user gave into a setting.

        Raises
        ------
        OptionError
            If it is not of the right kind, not among the choices, or out of range.

        Examples
        --------
        >>> Option("folds", 10, "folds of the cross-validation", least=2).read("5")
        5
        """
        if self.choices:
            if str(value) not in self.choices:
                raise OptionError(f"{self.name} is {value!r}{nearest(str(value), self.choices)}")
            return str(value)
        whole = isinstance(self.default, int)
        try:
            number = int(str(value)) if whole else float(str(value))
        except ValueError:
            number = np.nan
        if not self.least <= number <= self.most:
            kind = "a whole number" if whole else "a number"
            raise OptionError(f"{self.name} is {value!r}; give {kind}{self._range()}")
        return number

    def _range(self) -> str:
        if np.isfinite(self.most):
            return f" from {self.least:g} to {self.most:g}"
        return f" of at least {self.least:g}" if np.isfinite(self.least) else ""


@dataclass(frozen=True, eq=False)
class Shown:
    """What a joint screener is shown.

    Parameters
    ----------
    values : float64 array, shape (q, n), C-contiguous
        One row a feature: finite, not constant, no two equal; q ≥ 1. Not to be changed.
    response : Response, RankingResponse or StagesResponse
        The response, of a kind that the screener accepts; the n rows stand in its order.
    seed : int
        From which all that is random must be drawn: the same seed gives the same verdict.
    jobs : int
        Threads or processes that may be used; the verdict must not depend on it.
    """

    values: NDArray[np.float64]
    response: AnyResponse
    seed: int = 0
    jobs: int = 1

    @property
    def numeric(self) -> Response:
        """The response where the screener accepts no other than a numeric one."""
        return numeric(self.response, "the screener")


@dataclass(frozen=True, eq=False)
class Path:
    """Coefficients along a path of penalties or sizes.

    Parameters
    ----------
    steps : float64 array, shape (s,)
        λ from the largest down, or the number of features in the model.
    coefficients : float64 array, shape (s, q)
        On the features' own scale.
    intercepts : float64 array, shape (s,)
    error : float64 array, shape (s,)
        The cross-validated mean squared error, or NaN where none was computed.
    """

    steps: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    error: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a joint screener says of the features it was shown.

    Parameters
    ----------
    score : float64 array, shape (q,)
        What is shown under the screener's name; finite.
    loss : float64 array, shape (q,)
        What features are ordered by, ascending; finite. Features that the screener does not tell apart,
        such as those that it left out in the same way, have equal losses.
    selected : bool array, shape (q,)
        The set that the screener chooses by its own rule.
    direction : int8 array, shape (q,)
        +1 where the feature enters with a positive coefficient, −1 with a negative one, 0 where the screener
        does not say.
    columns : dict of str to float64 array, shape (q,)
        Further figures, by names that begin with the screener's: ``lasso_entry``. NaN where there is none.
    path : Path, optional
        For methods that have one.
    record : dict
        What the run's record keeps: the λ chosen, thresholds, warnings in words. Plain values, ready for
        JSON.
    """

    score: NDArray[np.float64]
    loss: NDArray[np.float64]
    selected: NDArray[np.bool_]
    direction: NDArray[np.int8]
    columns: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    path: Path | None = None
    record: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JointScreener:
    """A rule that scores many features together.

    Parameters
    ----------
    name : str
        As users type it, and the name of its column.
    judge : callable
        (Shown, settings) to Verdict: a pure function of both.
    capacity : callable
        (rows, settings) to the most features that it can take in reasonable time and memory. Of rankings a
        row counts once for every 40 pairs of labels.
    blind_to : {"ranks", "affine"}
        What it cannot tell apart, and what is merged before it is shown the features: for trees those with
        the same or mirrored ranks, for linear methods only affine copies.
    options : tuple of Option
        Its settings.
    needs : str
        The module that it imports, and the extra of the package that brings it: ``"stochtree"``, ``"bart"``;
        empty for those that always work.
    summary, assumes, fails, cost, source : str
        One line each, for people.
    settings : mapping of str to int, float or str
        Settings that differ from the defaults.
    to_cut : mapping of str to int, float or str
        Defaults that differ where it cuts between layers.
    accepts : tuple of {"numeric", "ranking", "stages"}
        The kinds of responses that it judges by.
    """

    name: str
    judge: Callable[[Shown, Mapping[str, Any]], Verdict]
    capacity: Callable[[int, Mapping[str, Any]], int]
    blind_to: Literal["ranks", "affine"]
    options: tuple[Option, ...]
    summary: str
    assumes: str
    fails: str
    cost: str
    source: str
    needs: tuple[str, str] | None = None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    sees: Literal["joint"] = "joint"
    to_cut: Mapping[str, Setting] = field(default_factory=dict)
    accepts: tuple[Kind, ...] = ("numeric",)

    def __repr__(self) -> str:
        given = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"<JointScreener {self.name}{f'[{given}]' if given else ''}: {self.summary}>"

    def with_settings(self, given: Mapping[str, object]) -> JointScreener:
        """Return the screener with settings of the user's.

        Raises
        ------
        OptionError
            If there is no such option, with near matches, or its value has no meaning.
        """
        options = {option.name: option for option in self.options}
        read: dict[str, Setting] = {}
        for name, value in given.items():
            if name not in options:
                raise OptionError(f"the screener {self.name} has no option {name!r}{nearest(name, options)}")
            try:
                read[name] = options[name].read(value)
            except OptionError as error:
                raise OptionError(f"{self.name}: {error}") from None
        return replace(self, settings={**self.settings, **read})

    @property
    def cutter(self) -> JointScreener:
        """The screener with the defaults that it has where it cuts between layers."""
        return replace(self, settings={**self.to_cut, **self.settings})

    @property
    def all_settings(self) -> dict[str, Setting]:
        """Every option's value: what was given, else the default."""
        return {option.name: option.default for option in self.options} | dict(self.settings)

    def most_features(self, rows: int, labels: int = 2) -> int:
        """Say how many features it can take over so many rows, which rank so many labels if they do."""
        pairs = labels * (labels - 1) // 2
        return self.capacity(rows * max(1, math.ceil(pairs / _PAIRS)), self.all_settings)

    def verdict(self, shown: Shown) -> Verdict:
        """Judge the features shown."""
        return self.judge(shown, self.all_settings)
