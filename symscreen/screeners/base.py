"""The interface of screeners: how features are scored and sorted, and which of them are equivalent.

A column screener scores each feature independently. A joint screener scores many features together, so the
scores depend on the features that it receives.

Trees receive mid-ranks of features (`transform_to_ranks`). They split between values, so only the ranks of a
feature matter, and the mirrored feature offers the same splits. Implementations are not invariant: stochtree
draws a split uniformly between the smallest and the largest *value* in a node, and replaces a negative
maximum by zero. On positive mid-ranks every cut between two neighbours has the same probability, and members
of a rank class are identical.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from symscreen.errors import OptionError
from symscreen.messages import suggest
from symscreen.statistics.ranks.sorted_block import sort_block
from symscreen.targets.registry import require_numeric_target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from symscreen.statistics.nulls.null_table import NullDistribution
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets import NumericTarget, Target, TargetType

    Scores = NDArray[np.float64]


Sign = Literal["free", "positive"]


def _return_statistics(statistics: Scores, target: Target) -> Scores:
    """Return the statistics as the scores."""
    del target
    return statistics


def _compute_loss_from_correlation(scores: Scores, scale: float, sign: Sign) -> Scores:
    """Compute the loss of a coefficient from its score."""
    del scale  # coefficients have no unit
    return 1.0 - (np.abs(scores) if sign == "free" else scores)


@dataclass(frozen=True, slots=True)
class Screener:
    """A rule that scores every feature independently.

    Parameters
    ----------
    name : str
        The name in the user interface and in results.
    scope : {"column", "joint"}
        Always "column" for this class.
    statistic : callable
        Maps (features as a `SortedBlock`, target) to one number per feature, shape (m,). It is a pure
        function of each feature. A rank statistic promises for mirrored ranks exactly the negative or exactly
        the same value, to the last bit, also with ties. Equivalence classes, class sizes and the tie-break of
        a ranking rely on this promise where the sign is free. `check_screener` tests it.
    loss : callable
        Maps (statistics, target, sign) to the values that features are sorted by, ascending: near 0 for a
        perfect feature (below 0.25 with 60 rows), about 1 under independence.
    direction : callable
        Maps statistics to +1 if the feature rises with the target, −1 if it falls, 0 if unknown; int8, shape
        (m,).
    equivalence : {"ranks", "affine"}
        What it depends on. "ranks": features with the same or mirrored ranks have the same loss. "affine":
        affine copies have the same loss. Such features form an equivalence class. Other features may have the
        same loss too.
    summary, assumes, fails, cost, source : str
        Descriptions for the user, one line each.
    score : callable
        Maps (statistics, target) to the reported scores. Default: the statistics.
    loss_from_score : callable
        Maps (reported scores, Δ, sign) to the loss, for rankings that are read from a file. Δ is Gini's mean
        difference of the target. Default: the loss of a coefficient in [−1, 1].
    is_pairwise : bool
        Whether the loss for numeric targets is twice the probability that a feature orders a pair of rows
        against the target, for pairs drawn with probability proportional to |y_i − y_j|; ties count half. A
        few pairs then estimate it at a known risk, so features can be raced.
    target_types : tuple of str
        The supported target types (`symscreen.targets.TARGET_TYPES`), which determine the class of the
        target: `NumericTarget`, `RankingTarget` and so on. ``"weighted"`` means that row weights are
        supported; only their ratios may matter. The sign is "free" except for numeric and survival targets,
        and only there `direction` is called. Column screeners of numeric targets also support multi-output
        targets (`symscreen.screeners.column.multioutput_screener`).
    null_distribution : callable, optional
        Maps (numeric target, seed) to the distribution of the statistic under independence, which gives
        p-values (`symscreen.statistics.nulls.null_table.NullDistribution`). None if it is unknown.
    is_target_tie_invariant : bool
        Whether the statistic does not depend on how a feature orders rows with equal targets. Such orders
        then need not be certain (`symscreen.screening.inference.numerical_error`).
    rank_weights : callable, optional
        For linear rank statistics. Maps a numeric target to w, shape (n,), such that among features with
        equal tie patterns the loss decreases with Σ w_i R_i (with its absolute deviation from the mean if the
        sign is free), where R are the mid-ranks of the feature. The best feature of a space can then be
        compared with the best under permutations of the target (`symscreen.statistics.inference.max_t`).
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
    is_target_tie_invariant: bool = False
    rank_weights: Callable[[NumericTarget], Scores] | None = None

    def __repr__(self) -> str:
        return f"<Screener {self.name}: {self.summary}>"

    def merges_mirrored(self, sign: Sign) -> bool:
        """Return whether a feature and its mirror image (mirrored ranks, or the negative) are one class."""
        return sign == "free"


def compute_sign_direction(statistics: Scores) -> NDArray[np.int8]:
    """Return the sign of each coefficient as its direction; zero counts as rising.

    Examples
    --------
    >>> compute_sign_direction(np.array([-0.9, 0.5])).tolist()
    [-1, 1]
    """
    return np.where(statistics >= 0, 1, -1).astype(np.int8)


def compute_correlation_loss(statistics: Scores, target: Target, sign: Sign) -> Scores:  # noqa: ARG001
    """Convert coefficients in [−1, 1] to losses: 1 − |r| if the sign is free, otherwise 1 − r.

    Examples
    --------
    >>> compute_correlation_loss(np.array([-0.9, 0.5]), None, "free").round(6).tolist()
    [0.1, 0.5]
    """
    return _compute_loss_from_correlation(statistics, 1.0, sign)


SettingValue = int | float | str
_PAIRS_PER_ROW = 40  # label pairs per row at which a tree of rankings costs as much as one of numbers


@dataclass(frozen=True, slots=True)
class ScreenerOption:
    """A setting of a joint screener.

    Parameters
    ----------
    name : str
        The name in the user interface: ``lasso[engine=glmnet]``.
    default : int, float or str
        The default value. Its type is the type of the setting.
    help : str
        A description for the user, one line.
    choices : tuple of str
        The allowed values of a text setting.
    min_value, max_value : float
        The range of a number, bounds included.
    """

    name: str
    default: SettingValue
    help: str
    choices: tuple[str, ...] = ()
    min_value: float = -np.inf
    max_value: float = np.inf

    def parse(self, value: object) -> SettingValue:
        """Parse a value given by the user.

        Raises
        ------
        OptionError
            If it has the wrong type, is not among the choices, or is out of range.

        Examples
        --------
        >>> ScreenerOption("folds", 10, "folds of the cross-validation", min_value=2).parse("5")
        5
        """
        if self.choices:
            if str(value) not in self.choices:
                raise OptionError(f"{self.name} is {value!r}{suggest(str(value), self.choices)}")
            return str(value)
        is_integer = isinstance(self.default, int)
        try:
            number = int(str(value)) if is_integer else float(str(value))
        except ValueError:
            number = np.nan
        if not self.min_value <= number <= self.max_value:
            expected = "an integer" if is_integer else "a number"
            raise OptionError(f"{self.name} is {value!r}; give {expected}{self._format_range()}")
        return number

    def _format_range(self) -> str:
        """Format the allowed range for an error message."""
        if np.isfinite(self.max_value):
            return f" from {self.min_value:g} to {self.max_value:g}"
        return f" of at least {self.min_value:g}" if np.isfinite(self.min_value) else ""


@dataclass(frozen=True, eq=False)
class JointInput:
    """The input of a joint screener.

    Parameters
    ----------
    values : float64 array, shape (q, n), C-contiguous
        One feature per row: finite, not constant, pairwise different; q ≥ 1. It must not be changed.
    target : NumericTarget, RankingTarget or StagesTarget
        The target, of a supported type; the n rows are in its order.
    seed : int
        The only source of randomness: equal seeds give equal results.
    jobs : int
        Number of threads or processes that may be used. The result must not depend on it.
    """

    values: NDArray[np.float64]
    target: Target
    seed: int = 0
    jobs: int = 1

    @property
    def numeric_target(self) -> NumericTarget:
        """The target, for screeners that support numeric targets only."""
        return require_numeric_target(self.target, "the screener")


@dataclass(frozen=True, eq=False)
class CoefficientPath:
    """Coefficients along a path of penalties or model sizes.

    Parameters
    ----------
    steps : float64 array, shape (s,)
        λ in descending order, or the number of features in the model.
    coefficients : float64 array, shape (s, q)
        Coefficients of the features in their original scale.
    intercepts : float64 array, shape (s,)
        The intercept of each model.
    error : float64 array, shape (s,)
        The cross-validated mean squared error, or NaN.
    """

    steps: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    error: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointScores:
    """The result of a joint screener for its q input features.

    Parameters
    ----------
    score : float64 array, shape (q,)
        The reported scores; finite.
    loss : float64 array, shape (q,)
        The values that features are sorted by, ascending; finite. Features that the screener does not
        distinguish, such as those that it excluded for the same reason, have equal losses.
    selected : bool array, shape (q,)
        The features that the screener selects by its own rule.
    direction : int8 array, shape (q,)
        +1 for a positive coefficient, −1 for a negative one, 0 if unknown.
    columns : dict of str to float64 array, shape (q,)
        Further results. Their names begin with the screener's: ``lasso_entry``. Missing values are NaN.
    path : CoefficientPath, optional
        The coefficient path of methods that compute one.
    record : dict
        Metadata for the run's record, such as the chosen λ, thresholds and warnings. Plain values that can be
        written as JSON.
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
        The name in the user interface and in results.
    score_function : callable
        Maps (`JointInput`, settings) to `JointScores`; a pure function of both.
    capacity : callable
        Maps (rows, settings) to the maximum number of features for reasonable time and memory. A row of a
        ranking counts once for every 40 pairs of labels.
    equivalence : {"ranks", "affine"}
        Which features are merged before the screener is called: those with the same or mirrored ranks, as
        trees cannot distinguish them, or affine copies, for linear methods.
    options : tuple of ScreenerOption
        Its settings.
    requirement : tuple of str, optional
        The module that it imports, and the extra of the package that installs it: ``("stochtree", "bart")``.
    summary, assumes, fails, cost, source : str
        Descriptions for the user, one line each.
    settings : mapping of str to int, float or str
        Settings that differ from the defaults.
    pruning_defaults : mapping of str to int, float or str
        Other default settings for pruning the pool between layers.
    target_types : tuple of {"numeric", "ranking", "stages"}
        The supported target types.
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
        settings = ",".join(f"{name}={value}" for name, value in self.settings.items())
        return f"<JointScreener {self.name}{f'[{settings}]' if settings else ''}: {self.summary}>"

    def merges_mirrored(self, sign: Sign) -> bool:
        """Return True: a split or a coefficient serves a feature as well as its mirror image."""
        del sign
        return True

    def replace_settings(self, settings: Mapping[str, object]) -> JointScreener:
        """Return a copy with other settings.

        Raises
        ------
        OptionError
            If an option is unknown (with similar names), or its value is invalid.
        """
        options = {option.name: option for option in self.options}
        parsed: dict[str, SettingValue] = {}
        for name, value in settings.items():
            if name not in options:
                raise OptionError(f"the screener {self.name} has no option {name!r}{suggest(name, options)}")
            try:
                parsed[name] = options[name].parse(value)
            except OptionError as error:
                raise OptionError(f"{self.name}: {error}") from None
        return replace(self, settings={**self.settings, **parsed})

    @property
    def pruning_screener(self) -> JointScreener:
        """The screener with its default settings for pruning the pool between layers."""
        return replace(self, settings={**self.pruning_defaults, **self.settings})

    @property
    def all_settings(self) -> dict[str, SettingValue]:
        """The value of every option: the setting if given, otherwise the default."""
        return {option.name: option.default for option in self.options} | dict(self.settings)

    def compute_max_features(self, n_rows: int, n_labels: int = 2) -> int:
        """Return the maximum number of features for a number of rows, and of labels if rows are rankings."""
        pairs = n_labels * (n_labels - 1) // 2
        return self.capacity(n_rows * max(1, math.ceil(pairs / _PAIRS_PER_ROW)), self.all_settings)

    def score_features(self, inputs: JointInput) -> JointScores:
        """Score features together."""
        return self.score_function(inputs, self.all_settings)


def transform_to_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Convert features to mid-ranks that are equal for all members of a rank class.

    Parameters
    ----------
    values : float64 array, shape (q, n), C-contiguous
        One feature per row; finite.

    Returns
    -------
    float64 array, shape (n, q), C-contiguous
        One feature per column, as learners expect; mid-ranks from 1 to n. The result is the ranks R or the
        mirrored ranks n + 1 − R: those whose first row different from the middle is below it.

    Examples
    --------
    >>> transform_to_ranks(np.array([[0.0, 5.0, 5.0], [0.0, -1.0, -1.0]])).T.tolist()
    [[1.0, 2.5, 2.5], [1.0, 2.5, 2.5]]
    """
    n = values.shape[1]
    centered = sort_block(values).doubled_ranks.astype(np.int64) - (n + 1)
    first = np.argmax(centered != 0, axis=1)
    sign = np.where(centered[np.arange(len(centered)), first] > 0, -1, 1)
    return np.ascontiguousarray((centered * sign[:, None] + (n + 1)).T / 2.0)
