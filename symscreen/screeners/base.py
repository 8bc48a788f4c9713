"""What a screener is: a record that says how features are scored, ordered, and which it cannot tell apart.

What a joint screener is: it sees many features together, so its verdict depends on which it is shown.

The rank view of features, which is all that trees are shown of them.

Trees split where values change, so a feature matters to them by its ranks alone, and the mirrored feature
offers the same splits. Programs are less pure: stochtree draws a split evenly between the least and the
largest *value* in a node, and takes the larger of that and zero for the largest. On mid-ranks, all positive,
every cut between two neighbours is as likely as any other, and members of a rank class are one and the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import OptionError, suggest
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen.statistics.nulls.null_table import NullDistribution
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget, TargetType
    from symscreen.targets.registry import Target

    Scores = NDArray[np.float64]

__all__ = [
    "CoefficientPath",
    "JointInput",
    "JointScores",
    "JointScreener",
    "Screener",
    "ScreenerOption",
    "Sign",
    "compute_correlation_loss",
    "compute_sign_direction",
    "transform_to_ranks",
]

Sign = Literal["free", "positive"]


def _return_statistics(statistics: Scores, target: Target) -> Scores:
    del target
    return statistics


def _compute_loss_from_correlation(scores: Scores, scale: float, sign: Sign) -> Scores:
    del scale  # a coefficient needs none
    return 1.0 - (np.abs(scores) if sign == "free" else scores)


@dataclass(frozen=True, slots=True)
class Screener:
    """A rule that gives every feature a score.

    Parameters
    ----------
    name : str
        As users type it, and the name of its column.
    sees : {"column", "joint"}
        Whether it sees one feature at a time or many together.
    statistic : callable
        (features in order, response) to a number for each feature, shape (m,): a pure function of that
        feature alone, and for a rank statistic exactly the negative, or the same, for mirrored ranks.
    loss : callable
        (statistics, response, sign) to what features are ordered by, ascending: 0 the best there can be,
        about 1 under independence.
    direction : callable
        Statistics to +1 where the feature rises with the response, −1 where it falls, 0 where the statistic
        does not say; int8, shape (m,).
    blind_to : {"ranks", "affine"}
        What it cannot tell apart: features with the same ranks, or affine copies.
    summary, assumes, fails, cost, source : str
        One line each, for people.
    score : callable
        (statistics, response) to the scores that are shown; by default the statistics themselves.
    loss_of_score : callable
        (scores as shown, Δ, sign) to the loss, for rankings that were written and read back; Δ is Gini's
        mean difference of the response. By default that of a coefficient in [−1, 1].
    by_pairs : bool
        Whether the loss is twice the chance that a feature orders against the response a pair of rows that
        is drawn with a probability in proportion to |y_i − y_j|, ties counting half. Then a few pairs tell of
        it at a known risk, and it can be raced (`symscreen.search`). Of a numeric response.
    accepts : tuple of str
        The kinds of responses that it scores against, of `symscreen.targets.TARGET_TYPE_DESCRIPTIONS`: what
        it is given is a
        `NumericTarget`, `RankingTarget` and so on; ``"weighted"`` says that it takes weights of rows, of
        which only the ratios may count. The sign is free but for numbers and survival, and only there
        `direction` is asked: a ranking has none, and of stages, and of two classes, it is the one that all
        pairs agree on. One that sees columns and takes numbers takes several targets, too
        (`symscreen.screeners.column.multioutput_screener`).
    null : callable, optional
        (numeric response, seed) to the distribution of the statistic under independence, which gives
        features their p-values: `symscreen.statistics.nulls.null_table.NullDistribution`. None where it is
        not known.
    weights : callable, optional
        Of a linear rank statistic: a numeric response to w, shape (n,), of moderate size, such that the loss
        falls, among features with one pattern of ties, with Σ w_i R_i (where the sign is free: with its
        distance from its mean), R the mid-ranks of the feature. Then the best of a space can be compared with
        the best under permutations of the response (`symscreen.statistics.inference.max_t`).
    """

    name: str
    scope: Literal["column", "joint"]
    statistic: Callable[[SortedBlock, Any], Scores]
    loss: Callable[[Scores, Any, Sign], Scores]
    direction: Callable[[Scores], NDArray[np.int8]]
    equivalence: Literal["ranks", "affine"]
    summary: str
    assumes: str
    fails: str
    cost: str
    source: str
    score: Callable[[Scores, Any], Scores] = _return_statistics
    loss_from_score: Callable[[Scores, float, Sign], Scores] = _compute_loss_from_correlation
    is_pairwise: bool = False
    target_types: tuple[TargetType, ...] = ("numeric",)
    null_distribution: Callable[[Any, int], NullDistribution] | None = None
    rank_weights: Callable[[NumericTarget], Scores] | None = None

    def __repr__(self) -> str:
        return f"<Screener {self.name}: {self.summary}>"


def compute_sign_direction(statistics: Scores) -> NDArray[np.int8]:
    """Read a direction off a coefficient's sign; zero counts as rising.

    Examples
    --------
    >>> compute_sign_direction(np.array([-0.9, 0.5])).tolist()
    [-1, 1]
    """
    return np.where(statistics >= 0, 1, -1).astype(np.int8)


def compute_correlation_loss(statistics: Scores, target: Target, sign: Sign) -> Scores:
    """Turn a coefficient in [−1, 1] into a loss: 1 − |r| where the sign is free, else 1 − r.

    Examples
    --------
    >>> compute_correlation_loss(np.array([-0.9, 0.5]), None, "free").round(6).tolist()
    [0.1, 0.5]
    """
    del target  # a coefficient needs no scale
    return 1.0 - (np.abs(statistics) if sign == "free" else statistics)


SettingValue = int | float | str
_PAIRS_PER_ROW = 40  # pairs of labels that cost trees of rankings what a number costs trees of numbers


@dataclass(frozen=True, slots=True)
class ScreenerOption:
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
    default: SettingValue
    help: str
    choices: tuple[str, ...] = ()
    min_value: float = -np.inf
    max_value: float = np.inf

    def parse(self, value: object) -> SettingValue:
        """Turn what a user gave into a setting.

        Raises
        ------
        OptionError
            If it is not of the right kind, not among the choices, or out of range.

        Examples
        --------
        >>> ScreenerOption("folds", 10, "folds of the cross-validation", least=2).parse("5")
        5
        """
        if self.choices:
            if str(value) not in self.choices:
                raise OptionError(f"{self.name} is {value!r}{suggest(str(value), self.choices)}")
            return str(value)
        whole = isinstance(self.default, int)
        try:
            number = int(str(value)) if whole else float(str(value))
        except ValueError:
            number = np.nan
        if not self.min_value <= number <= self.max_value:
            kind = "a whole number" if whole else "a number"
            raise OptionError(f"{self.name} is {value!r}; give {kind}{self._format_range()}")
        return number

    def _format_range(self) -> str:
        if np.isfinite(self.max_value):
            return f" from {self.min_value:g} to {self.max_value:g}"
        return f" of at least {self.min_value:g}" if np.isfinite(self.min_value) else ""


@dataclass(frozen=True, eq=False)
class JointInput:
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
    target: Target
    seed: int = 0
    jobs: int = 1

    @property
    def numeric_target(self) -> NumericTarget:
        """The response where the screener accepts no other than a numeric one."""
        return require_numeric_target(self.target, "the screener")


@dataclass(frozen=True, eq=False)
class CoefficientPath:
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
class JointScores:
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
    path: CoefficientPath | None = None
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
    score_function: Callable[[JointInput, Mapping[str, Any]], JointScores]
    capacity: Callable[[int, Mapping[str, Any]], int]
    equivalence: Literal["ranks", "affine"]
    options: tuple[ScreenerOption, ...]
    summary: str
    assumes: str
    fails: str
    cost: str
    source: str
    requirement: tuple[str, str] | None = None
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    scope: Literal["joint"] = "joint"
    pruning_defaults: Mapping[str, SettingValue] = field(default_factory=dict)
    target_types: tuple[TargetType, ...] = ("numeric",)

    def __repr__(self) -> str:
        given = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"<JointScreener {self.name}{f'[{given}]' if given else ''}: {self.summary}>"

    def replace_settings(self, settings: Mapping[str, object]) -> JointScreener:
        """Return the screener with settings of the user's.

        Raises
        ------
        OptionError
            If there is no such option, with near matches, or its value has no meaning.
        """
        options = {option.name: option for option in self.options}
        read: dict[str, SettingValue] = {}
        for name, value in settings.items():
            if name not in options:
                raise OptionError(f"the screener {self.name} has no option {name!r}{suggest(name, options)}")
            try:
                read[name] = options[name].parse(value)
            except OptionError as error:
                raise OptionError(f"{self.name}: {error}") from None
        return replace(self, settings={**self.settings, **read})

    @property
    def pruning_screener(self) -> JointScreener:
        """The screener with the defaults that it has where it cuts between layers."""
        return replace(self, settings={**self.pruning_defaults, **self.settings})

    @property
    def all_settings(self) -> dict[str, SettingValue]:
        """Every option's value: what was given, else the default."""
        return {option.name: option.default for option in self.options} | dict(self.settings)

    def compute_max_features(self, n_rows: int, n_labels: int = 2) -> int:
        """Say how many features it can take over so many rows, which rank so many labels if they do."""
        pairs = n_labels * (n_labels - 1) // 2
        return self.capacity(n_rows * max(1, math.ceil(pairs / _PAIRS_PER_ROW)), self.all_settings)

    def score_features(self, inputs: JointInput) -> JointScores:
        """Judge the features shown."""
        return self.score_function(inputs, self.all_settings)


def transform_to_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn features into mid-ranks that are the same for all members of a rank class.

    Parameters
    ----------
    values : float64 array, shape (q, n), C-contiguous
        One row a feature; finite.

    Returns
    -------
    float64 array, shape (n, q), C-contiguous
        One column a feature, as learners want it; mid-ranks from 1 to n. Of the ranks R and the mirrored
        ranks n + 1 − R, those whose first row off the middle lies below it.

    Examples
    --------
    >>> transform_to_ranks(np.array([[0.0, 5.0, 5.0], [0.0, -1.0, -1.0]])).T.tolist()
    [[1.0, 2.5, 2.5], [1.0, 2.5, 2.5]]
    """
    n = values.shape[1]
    centred = sort_block(values).doubled_ranks.astype(np.int64) - (n + 1)
    first = np.argmax(centred != 0, axis=1)
    turn = np.where(centred[np.arange(len(centred)), first] > 0, -1, 1)
    return np.ascontiguousarray((centred * turn[:, None] + (n + 1)).T / 2.0)
