"""Rankings of labels whose scores depend on the inputs: Fotakis and others (2022).

The oracles Ex(m), Ex(m, E) and Ex(m, E, M) of definitions 1.1, 2.4 and C.1 are one record, `RankingOracle`,
without noise and mechanism, with noise, and with both.

Rankings whose median is constant on six cells of two features: Clémençon and others (2017), §5.1.

The paper names no partition, only that it has K = 6 cells and that a tree of depth 3 has them. Here they are
the cells of a grid of two by three, each of the same probability, so that every greedy order of its cuts
stays within depth 3. A numeric feature is uniform on [0, 1]; a categorical one has two levels to a cell's
side, without an order: which codes belong together is drawn with the partition.

Any classification or regression set as a label-ranking set: Cheng, Hühn and Hüllermeier (2009), §5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking.generators.base import check_sampling_args, rank_by_score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    InputSampler = Callable[[int, np.random.Generator], Floats]
    ScoreFunction = Callable[[Floats], Floats]
    NoiseSampler = Callable[[tuple[int, int], np.random.Generator], Floats]
    ObservationMechanism = Callable[[Floats, Floats, np.random.Generator], Floats]

__all__ = [
    "CATEGORICAL_SETTINGS",
    "N_CELLS",
    "ConvertedDataset",
    "PiecewisePartition",
    "RankingExamples",
    "RankingOracle",
    "SparseScores",
    "convert_classification",
    "convert_regression",
    "draw_lfn_oracle",
    "draw_piecewise_partition",
    "draw_sfn_oracle",
    "draw_sparse_scores",
    "make_binary_input_sampler",
]

_MIN_SCORE, _MAX_SCORE = 0.25, 0.75  # noise within ±1/4 then leaves all scores in [0, 1]


@dataclass(frozen=True, eq=False)
class RankingExamples:
    """Rows that an oracle returned.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        The inputs.
    ranks : float64 array, shape (n, k)
        What is observed, σ: 1 is preferred most, NaN a label that is missing, equal values are ties.
    truth : float64 array, shape (n, k)
        The complete ranking without noise, h(x) = argsort m(x).
    """

    x: NDArray[np.float64]
    ranks: NDArray[np.float64]
    true_ranks: NDArray[np.float64]


@dataclass(frozen=True)
class RankingOracle:
    """Draw inputs, score the labels, disturb the scores and show a ranking of them.

    Parameters
    ----------
    scores : callable
        m: from inputs, shape (n, d), to the labels' scores in [0, 1], shape (n, k).
    inputs : callable
        D_x: from (n, generator) to inputs, shape (n, d).
    noise : callable, optional
        E: from ((n, k), generator) to what is added to the scores, such as `make_truncated_gaussian_noise`.
    mechanism : callable, optional
        M: from (inputs, noisy scores, generator) to the ranks that are shown, such as `survivors` or
        `buckets`; by default the complete ranking.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> oracle = RankingOracle(draw_sparse_scores(20, 3, 4, rng), make_binary_input_sampler(20))
    >>> examples = oracle.draw(5, rng)
    >>> examples.x.shape, examples.ranks.shape
    ((5, 20), (5, 3))
    >>> bool((examples.ranks == examples.truth).all())
    True
    """

    score_function: ScoreFunction
    input_sampler: InputSampler
    noise_sampler: NoiseSampler | None = None
    mechanism: ObservationMechanism | None = None

    def draw(self, n: int, rng: np.random.Generator) -> RankingExamples:
        """Draw inputs and what is observed of their rankings.

        Parameters
        ----------
        n : int
            Rows.
        rng : numpy.random.Generator
            The inputs are drawn first: the same generator with other noise gives the same inputs.

        Returns
        -------
        examples : Examples
            Rows are independent of each other.
        """
        check_sampling_args(rng, n)
        x = self.input_sampler(n, rng)
        return RankingExamples(x, self.observe(x, rng), self.compute_true_ranks(x))

    def compute_true_ranks(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rank the labels without noise: h(x) = argsort m(x), shape (n, k)."""
        return rank_by_score(self.score_function(x))

    def observe(self, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw what is observed at given inputs, shape (n, d): ranks, shape (n, k)."""
        y = self.score_function(x)
        if self.noise_sampler is not None:
            y = y + self.noise_sampler((y.shape[0], y.shape[1]), rng)
        return rank_by_score(y) if self.mechanism is None else self.mechanism(x, y, rng)


@dataclass(frozen=True, eq=False)
class SparseScores:
    """A score function m of which each label's part depends on r features (definition A.1), linearly.

    m_i(x) = ¼ + ½ (Σ_j w_ij x_ij − Σ_j min(w_ij, 0)) / Σ_j |w_ij| over the features of label i, so that
    binary inputs give scores from ¼ to ¾, both attained.

    Parameters
    ----------
    features : int64 array, shape (k, r)
        Of each label, ascending.
    weights : float64 array, shape (k, r)
        None is 0.
    """

    features: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Score the labels at inputs of shape (n, d); shape (n, k)."""
        shares = self.weights / np.abs(self.weights).sum(axis=1, keepdims=True)
        parts = [
            (x[:, own] * share).sum(axis=1) - np.minimum(share, 0.0).sum()
            for own, share in zip(self.features, shares, strict=True)
        ]
        return np.asarray(_MIN_SCORE + (_MAX_SCORE - _MIN_SCORE) * np.stack(parts, axis=1))


def draw_sparse_scores(
    d: int, k: int, r: int, rng: np.random.Generator, *, shared: bool = False
) -> SparseScores:
    """Draw a score function: r of d features for each label, and their weights.

    Parameters
    ----------
    d, k, r : int
        Features, labels, and features that each label depends on.
    rng : numpy.random.Generator
        What draws them.
    shared : bool
        By default a label has features of its own (two may have some in common) and weights uniform on
        (0, 1]; else all labels have the same features, with weights of either sign.

    Returns
    -------
    SparseScores
        On binary inputs.

    Raises
    ------
    OptionError
        If r exceeds d, or one of them is not positive.
    """
    if not (1 <= r <= d and k >= 1):
        raise OptionError(f"d = {d}, k = {k}, r = {r}: give k ≥ 1 labels and 1 ≤ r ≤ d informative features")
    check_sampling_args(rng)
    drawn = [np.sort(rng.choice(d, size=r, replace=False)) for _ in range(1 if shared else k)]
    features = np.array(drawn * k if shared else drawn, dtype=np.int64)
    weights = 1.0 - rng.random((k, r))
    return SparseScores(features, weights * rng.choice([-1.0, 1.0], size=(k, r)) if shared else weights)


@dataclass(frozen=True)
class _BinaryInputSampler:
    d: int

    def __call__(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return rng.integers(2, size=(n, self.d)).astype(np.float64)


def make_binary_input_sampler(d: int) -> InputSampler:
    """Give the distribution of d fair coins, independent: values 0.0 and 1.0."""
    return _BinaryInputSampler(d)


def draw_lfn_oracle(rng: np.random.Generator, *, as_published: bool = False) -> RankingOracle:
    """Draw an oracle of the family with a Large Number of Features: d = 1000, k = 5, r = 10.

    Parameters
    ----------
    rng : numpy.random.Generator
        What draws its score function.
    as_published : bool
        As for `sfn`.

    Returns
    -------
    Oracle
        Ex(m). The paper's sets have 10,000 rows.
    """
    return _draw_oracle(1000, rng, as_published=as_published)


def draw_sfn_oracle(rng: np.random.Generator, *, as_published: bool = False) -> RankingOracle:
    """Draw an oracle of the family with a Small Number of Features: d = 100, k = 5, r = 10.

    Parameters
    ----------
    rng : numpy.random.Generator
        What draws its score function.
    as_published : bool
        By default each label has ten features of its own, as the paper says. The scores of the published set
        are linear in five features, the same for all labels, with weights of either sign: then r = 5, shared,
        and there are 32 different inputs as far as rankings go.

    Returns
    -------
    Oracle
        Ex(m). The paper's sets have 10,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from symscreen.label_ranking.generators import make_survivor_mechanism, make_truncated_gaussian_noise
    >>> rng = np.random.default_rng(0)
    >>> noisy = replace(draw_sfn_oracle(rng), noise=make_truncated_gaussian_noise(0.05),
    ...     mechanism=make_survivor_mechanism(0.8))
    >>> noisy.draw(10_000, rng).ranks.shape
    (10000, 5)
    """
    return _draw_oracle(100, rng, as_published=as_published)


def _draw_oracle(d: int, rng: np.random.Generator, *, as_published: bool) -> RankingOracle:
    scores = (
        draw_sparse_scores(d, 5, 5, rng, shared=True) if as_published else draw_sparse_scores(d, 5, 10, rng)
    )
    return RankingOracle(scores, make_binary_input_sampler(d))


CATEGORICAL_SETTINGS = {
    1: (False, False),
    2: (False, True),
    3: (True, True),
}  # whether each feature is categorical
N_CELLS = 6  # K
_GRID_SHAPE = (2, 3)  # of the grid
_LEVELS_PER_SIDE = 2  # of a categorical feature, to a side


@dataclass(frozen=True, eq=False)
class PiecewisePartition:
    """A partition of the input space in six cells, and the median ranking of each.

    Parameters
    ----------
    categorical : tuple of bool
        Whether each of the two features is categorical: integer codes, stored as float64.
    sides : tuple of int64 array
        For each categorical feature the side of the grid that each code belongs to; empty for numeric ones.
    medians : float64 array, shape (6, k)
        σ1 … σ6, ranks; two cells may have the same.
    """

    categorical: tuple[bool, bool]
    sides: tuple[NDArray[np.int64], NDArray[np.int64]]
    medians: NDArray[np.float64]

    def draw_inputs(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw n inputs, shape (n, 2): uniform on [0, 1], or uniform over the codes."""
        check_sampling_args(rng, n)
        columns = [
            rng.integers(codes.size, size=n).astype(np.float64) if categorical else rng.random(n)
            for categorical, codes in zip(self.categorical, self.sides, strict=True)
        ]
        return np.stack(columns, axis=1)

    def find_cells(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """Tell the cell of each input, 0 … 5; shape (n,)."""
        first, second = (
            codes[column.astype(np.int64)] if codes.size else _bin_uniformly(column, count)
            for codes, count, column in zip(self.sides, _GRID_SHAPE, x.T, strict=True)
        )
        return np.asarray(first * _GRID_SHAPE[1] + second)

    def compute_true_ranks(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Tell the median ranking at each input; shape (n, k)."""
        return self.medians[self.find_cells(x)]


def _bin_uniformly(column: NDArray[np.float64], n_bins: int) -> NDArray[np.int64]:
    """Cut [0, 1] into parts of the same width."""
    return np.minimum(column * n_bins, n_bins - 1).astype(np.int64)


def draw_piecewise_partition(setting: int, k: int, rng: np.random.Generator) -> PiecewisePartition:
    """Draw a partition of one of the three settings, with a median for each cell.

    Parameters
    ----------
    setting : {1, 2, 3}
        Both features numeric; one numeric, one categorical; both categorical.
    k : int
        Labels, n in the paper.
    rng : numpy.random.Generator
        What draws the medians, each of the k! rankings with the same probability, and the codes' sides.

    Returns
    -------
    Partition
        The constant set of a trial is its truth; a noisy one is `mallows` about it.

    Raises
    ------
    OptionError
        If there is no such setting.

    Examples
    --------
    >>> import numpy as np
    >>> from symscreen.label_ranking.generators import draw_mallows
    >>> rng = np.random.default_rng(0)
    >>> partition = draw_piecewise_partition(1, 5, rng)
    >>> x = partition.inputs(1000, rng)
    >>> noisy = draw_mallows(partition.truth(x), 2.0, 1000, rng)
    >>> x.shape, noisy.shape, len(np.unique(partition.cells(x)))
    ((1000, 2), (1000, 5), 6)
    """
    if setting not in CATEGORICAL_SETTINGS:
        raise OptionError(f"there is no setting {setting!r}; known: 1, 2, 3")
    check_sampling_args(rng)
    medians = np.array([rng.permutation(k) + 1.0 for _ in range(N_CELLS)])
    first, second = (
        rng.permutation(np.repeat(np.arange(side), _LEVELS_PER_SIDE))
        if categorical
        else np.empty(0, dtype=np.int64)
        for categorical, side in zip(CATEGORICAL_SETTINGS[setting], _GRID_SHAPE, strict=True)
    )
    return PiecewisePartition(CATEGORICAL_SETTINGS[setting], (first, second), medians)


@dataclass(frozen=True, eq=False)
class ConvertedDataset:
    """A label-ranking set made of another one.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        The inputs that remain.
    ranks : float64 array, shape (n, k)
        Complete, 1 is preferred most.
    labels : tuple of str
        What the columns of `ranks` are: classes (type A) or columns (type B).
    """

    x: NDArray[np.float64]
    ranks: NDArray[np.float64]
    labels: tuple[str, ...]


def convert_classification(
    x: ArrayLike, y: ArrayLike, classifier: Any = None, *, digits: int | None = None
) -> ConvertedDataset:
    """Rank the classes of a classification set by their probabilities, as a classifier sees them.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Inputs.
    y : array_like, shape (n,)
        Classes: the labels to be ranked.
    classifier : scikit-learn classifier, optional
        Fitted here, to a copy, on all rows; naive Bayes with Gaussian parts by default, as the benchmark sets
        were made.
    digits : int, optional
        To which the probabilities are rounded, so that small ones tie; they are not by default. With 3 the
        published rankings of iris and wine come out but for 3 rows of 150 and 1 of 178, and without rounding
        in two thirds of the rows only.

    Returns
    -------
    Converted
        All inputs; of equal probabilities the class that is smaller comes first.

    Raises
    ------
    OptionError
        If the classifier gives no probabilities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> iris = convert_classification(*load_iris(return_X_y=True))
    >>> iris.x.shape, iris.ranks.shape, iris.labels
    ((150, 4), (150, 3), ('0', '1', '2'))
    >>> iris.ranks[0]  # setosa first, then versicolor, then virginica
    array([1., 2., 3.])
    """
    from sklearn.base import clone
    from sklearn.naive_bayes import GaussianNB

    inputs = np.asarray(x, dtype=np.float64)
    fitted = clone(GaussianNB() if classifier is None else classifier).fit(inputs, y)
    # probabilities that underflow still have an order as logarithms
    exact = ("predict_joint_log_proba", "predict_log_proba") if digits is None else ()
    for name in (*exact, "predict_proba"):
        if hasattr(fitted, name):
            scores = getattr(fitted, name)(inputs)
            if digits is not None:
                scores = scores.round(digits)
            return ConvertedDataset(inputs, rank_by_score(scores), tuple(map(str, fitted.classes_)))
    raise OptionError(
        f"{type(fitted).__name__} gives no probabilities to rank classes by; take one with predict_proba"
    )


def convert_regression(
    x: ArrayLike, columns: Sequence[int], names: Sequence[str] | None = None
) -> ConvertedDataset:
    """Take numeric columns away from a set and rank them, standardised, by their values in each row.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Inputs of a regression set; its target may be one of the columns.
    columns : sequence of int
        Two or more, the labels to be ranked: the largest standardised value comes first.
    names : sequence of str, optional
        Of all d columns; their numbers by default.

    Returns
    -------
    Converted
        The other columns as inputs; of equal values the label that is listed first comes first.

    Raises
    ------
    OptionError
        If columns repeat, are out of range or constant, or none is left as an input.

    Examples
    --------
    >>> made = convert_regression([[1.0, 10.0, 7.0], [2.0, 20.0, 8.0], [3.0, 0.0, 9.0]], columns=[0, 1])
    >>> made.ranks
    array([[2., 1.],
           [2., 1.],
           [1., 2.]])
    >>> made.x.ravel()
    array([7., 8., 9.])
    """
    values = np.asarray(x, dtype=np.float64)
    d, chosen = values.shape[1], list(columns)
    if len(set(chosen)) != len(chosen) or not all(0 <= column < d for column in chosen):
        raise OptionError(f"columns {chosen} of {d}: give distinct numbers from 0 to {d - 1}")
    if not 2 <= len(chosen) < d:
        raise OptionError(f"{len(chosen)} of {d} columns as labels: take two or more, and leave an input")
    labels = values[:, chosen]
    spread = labels.std(axis=0)
    if not (spread > 0.0).all():
        still = [column for column, width in zip(chosen, spread, strict=True) if not width > 0.0]
        raise OptionError(f"columns {still} are constant and cannot be standardised; leave them out")
    standardised = (labels - labels.mean(axis=0)) / spread
    rest = [column for column in range(d) if column not in set(chosen)]
    told = tuple(names[column] if names is not None else str(column) for column in chosen)
    return ConvertedDataset(np.ascontiguousarray(values[:, rest]), rank_by_score(standardised), told)
