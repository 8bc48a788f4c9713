"""Rankings that depend on the inputs: oracles, piecewise constant medians and converted data sets.

- `RankingOracle` with `draw_sfn_oracle` and `draw_lfn_oracle`: labels have scores that depend on the inputs
  (Fotakis et al. 2022). One class represents the oracles Ex(m), Ex(m, E) and Ex(m, E, M) of Definitions 1.1,
  2.4 and C.1: without noise and mechanism, with noise, and with both.
- `PiecewisePartition`: the median is constant on six cells of two features (Clémençon et al. 2017, section
  5.1). The paper only states that there are K = 6 cells and that a tree of depth 3 represents them. Here they
  are the cells of a 2 × 3 grid with equal probabilities, so every greedy sequence of splits stays within
  depth 3. A numeric feature is uniform on [0, 1]. A categorical one has two unordered levels per row or
  column of the grid; the assignment of the codes is drawn with the partition.
- `convert_classification` and `convert_regression`: label-ranking data from other data sets (Cheng, Hühn and
  Hüllermeier 2009, section 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError
from symscreen.label_ranking.generators.rank_models import check_sampling_args, rank_by_score

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    InputSampler = Callable[[int, np.random.Generator], Floats]
    ScoreFunction = Callable[[Floats], Floats]
    NoiseSampler = Callable[[tuple[int, int], np.random.Generator], Floats]
    ObservationMechanism = Callable[[Floats, Floats, np.random.Generator], Floats]


_MIN_SCORE, _MAX_SCORE = 0.25, 0.75  # noise within ±1/4 keeps all scores in [0, 1]

# whether each of the two features is categorical, by setting
CATEGORICAL_SETTINGS = {1: (False, False), 2: (False, True), 3: (True, True)}
N_CELLS = 6  # number of cells K
_GRID_SHAPE = (2, 3)  # rows and columns of the grid of cells
_LEVELS_PER_SIDE = 2  # levels of a categorical feature per row or column of the grid


@dataclass(frozen=True, eq=False)
class RankingExamples:
    """Rows drawn from an oracle.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        Inputs.
    ranks : float64 array, shape (n, k)
        Observed ranking σ: 1 is the most preferred label, NaN a missing label, and equal values are ties.
    true_ranks : float64 array, shape (n, k)
        Complete ranking without noise, h(x) = argsort m(x).
    """

    x: NDArray[np.float64]
    ranks: NDArray[np.float64]
    true_ranks: NDArray[np.float64]


@dataclass(frozen=True)
class RankingOracle:
    """Generator that draws inputs, adds noise to the label scores and observes their ranking.

    Parameters
    ----------
    score_function : callable
        m: maps inputs, shape (n, d), to label scores in [0, 1], shape (n, k).
    input_sampler : callable
        D_x: maps (n, generator) to inputs, shape (n, d).
    noise_sampler : callable, optional
        E: maps ((n, k), generator) to noise that is added to the scores. See `make_truncated_gaussian_noise`.
    mechanism : callable, optional
        M: maps (inputs, noisy scores, generator) to observed ranks. See `make_survivor_mechanism` and
        `make_bucket_mechanism`. By default the complete ranking is observed.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> oracle = RankingOracle(draw_sparse_scores(20, 3, 4, rng), make_binary_input_sampler(20))
    >>> examples = oracle.draw(5, rng)
    >>> examples.x.shape, examples.ranks.shape
    ((5, 20), (5, 3))
    >>> bool((examples.ranks == examples.true_ranks).all())
    True
    """

    score_function: ScoreFunction
    input_sampler: InputSampler
    noise_sampler: NoiseSampler | None = None
    mechanism: ObservationMechanism | None = None

    def draw(self, n: int, rng: np.random.Generator) -> RankingExamples:
        """Draw inputs and observed rankings.

        Parameters
        ----------
        n : int
            Number of rows.
        rng : numpy.random.Generator
            Random generator. The inputs are drawn first, so they do not depend on the noise.

        Returns
        -------
        RankingExamples
            Independent rows.
        """
        check_sampling_args(rng, n)
        x = self.input_sampler(n, rng)
        return RankingExamples(x, self.observe(x, rng), self.compute_true_ranks(x))

    def compute_true_ranks(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rank the labels without noise: h(x) = argsort m(x), shape (n, k)."""
        return rank_by_score(self.score_function(x))

    def observe(self, x: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw the observed ranks, shape (n, k), at given inputs, shape (n, d)."""
        y = self.score_function(x)
        if self.noise_sampler is not None:
            y = y + self.noise_sampler((y.shape[0], y.shape[1]), rng)
        return rank_by_score(y) if self.mechanism is None else self.mechanism(x, y, rng)


@dataclass(frozen=True, eq=False)
class SparseScores:
    """Linear score function m in which each label depends on r features (Definition A.1).

    m_i(x) = ¼ + ½ (Σ_j w_ij x_ij − Σ_j min(w_ij, 0)) / Σ_j |w_ij| over the features of label i. Binary inputs
    give scores from ¼ to ¾; both bounds are attained.

    Parameters
    ----------
    features : int64 array, shape (k, r)
        Feature indices of each label in ascending order.
    weights : float64 array, shape (k, r)
        Non-zero weights.
    """

    features: NDArray[np.int64]
    weights: NDArray[np.float64]

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the label scores, shape (n, k), at inputs of shape (n, d)."""
        shares = self.weights / np.abs(self.weights).sum(axis=1, keepdims=True)
        parts = [
            (x[:, indices] * share).sum(axis=1) - np.minimum(share, 0.0).sum()
            for indices, share in zip(self.features, shares, strict=True)
        ]
        return np.asarray(_MIN_SCORE + (_MAX_SCORE - _MIN_SCORE) * np.stack(parts, axis=1))


def draw_sparse_scores(
    d: int, k: int, r: int, rng: np.random.Generator, *, shared: bool = False
) -> SparseScores:
    """Draw a score function: r of d features for each label and their weights.

    Parameters
    ----------
    d, k, r : int
        Numbers of features, labels, and features per label.
    rng : numpy.random.Generator
        Random generator.
    shared : bool
        By default the features of each label are drawn separately (labels may have features in common) and
        the weights are uniform on (0, 1]. If True, all labels have the same features and weights of either
        sign.

    Returns
    -------
    SparseScores
        Score function for binary inputs.

    Raises
    ------
    OptionError
        If r exceeds d, or a number is not positive.
    """
    if not (1 <= r <= d and k >= 1):
        raise OptionError(f"d = {d}, k = {k}, r = {r}: give k ≥ 1 labels and 1 ≤ r ≤ d informative features")
    check_sampling_args(rng)
    index_sets = [np.sort(rng.choice(d, size=r, replace=False)) for _ in range(1 if shared else k)]
    features = np.array(index_sets * k if shared else index_sets, dtype=np.int64)
    weights = 1.0 - rng.random((k, r))
    return SparseScores(features, weights * rng.choice([-1.0, 1.0], size=(k, r)) if shared else weights)


def make_binary_input_sampler(d: int) -> InputSampler:
    """Make a sampler of d independent fair coins with values 0.0 and 1.0."""
    return _BinaryInputSampler(d)


@dataclass(frozen=True)
class _BinaryInputSampler:
    """A sampler of d fair coins that can be pickled."""

    d: int

    def __call__(self, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Draw inputs of shape (n, d)."""
        return rng.integers(2, size=(n, self.d)).astype(np.float64)


def draw_lfn_oracle(rng: np.random.Generator, *, as_published: bool = False) -> RankingOracle:
    """Draw an oracle of the family with a Large Number of Features: d = 1000, k = 5, r = 10.

    Parameters
    ----------
    rng : numpy.random.Generator
        Random generator for the score function.
    as_published : bool
        See `draw_sfn_oracle`.

    Returns
    -------
    RankingOracle
        Ex(m). The data sets of the paper have 10,000 rows.
    """
    return _draw_oracle(1000, rng, as_published=as_published)


def draw_sfn_oracle(rng: np.random.Generator, *, as_published: bool = False) -> RankingOracle:
    """Draw an oracle of the family with a Small Number of Features: d = 100, k = 5, r = 10.

    Parameters
    ----------
    rng : numpy.random.Generator
        Random generator for the score function.
    as_published : bool
        By default ten features are drawn for each label, as the paper describes. The scores of the published
        data set are linear in five features, the same for all labels, with weights of either sign. If True, r
        = 5 and the features are shared; the rankings then distinguish only 32 inputs.

    Returns
    -------
    RankingOracle
        Ex(m). The data sets of the paper have 10,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from dataclasses import replace
    >>> from symscreen.label_ranking.generators import make_survivor_mechanism, make_truncated_gaussian_noise
    >>> rng = np.random.default_rng(0)
    >>> noisy = replace(draw_sfn_oracle(rng), noise_sampler=make_truncated_gaussian_noise(0.05),
    ...     mechanism=make_survivor_mechanism(0.8))
    >>> noisy.draw(10_000, rng).ranks.shape
    (10000, 5)
    """
    return _draw_oracle(100, rng, as_published=as_published)


def _draw_oracle(d: int, rng: np.random.Generator, *, as_published: bool) -> RankingOracle:
    """Draw an oracle with five labels and d binary inputs."""
    scores = (
        draw_sparse_scores(d, 5, 5, rng, shared=True) if as_published else draw_sparse_scores(d, 5, 10, rng)
    )
    return RankingOracle(scores, make_binary_input_sampler(d))


@dataclass(frozen=True, eq=False)
class PiecewisePartition:
    """A partition of the input space into six cells with a median ranking for each.

    Parameters
    ----------
    categorical : tuple of bool
        Whether each of the two features is categorical: integer codes, stored as float64.
    sides : tuple of int64 array
        For each categorical feature the grid index of each code; empty for numeric features.
    medians : float64 array, shape (6, k)
        Median ranks σ1 … σ6; they need not be distinct.
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
        """Find the cell of each input, 0 … 5; shape (n,)."""
        first, second = (
            codes[column.astype(np.int64)] if codes.size else _bin_uniformly(column, count)
            for codes, count, column in zip(self.sides, _GRID_SHAPE, x.T, strict=True)
        )
        return np.asarray(first * _GRID_SHAPE[1] + second)

    def compute_true_ranks(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the median ranking at each input; shape (n, k)."""
        return self.medians[self.find_cells(x)]


def _bin_uniformly(column: NDArray[np.float64], n_bins: int) -> NDArray[np.int64]:
    """Assign values in [0, 1] to bins of equal width."""
    return np.minimum(column * n_bins, n_bins - 1).astype(np.int64)


def draw_piecewise_partition(setting: int, k: int, rng: np.random.Generator) -> PiecewisePartition:
    """Draw a partition of one of the three settings with a median for each cell.

    Parameters
    ----------
    setting : {1, 2, 3}
        1: both features are numeric; 2: one is numeric, one is categorical; 3: both are categorical.
    k : int
        Number of labels (n in the paper).
    rng : numpy.random.Generator
        Random generator for the medians, uniform over the k! rankings, and for the assignment of the codes.

    Returns
    -------
    PiecewisePartition
        `compute_true_ranks` gives the noiseless rankings of a trial; `draw_mallows` with these as centers
        gives noisy ones.

    Raises
    ------
    OptionError
        If the setting is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from symscreen.label_ranking.generators import draw_mallows
    >>> rng = np.random.default_rng(0)
    >>> partition = draw_piecewise_partition(1, 5, rng)
    >>> x = partition.draw_inputs(1000, rng)
    >>> noisy = draw_mallows(partition.compute_true_ranks(x), 2.0, 1000, rng)
    >>> x.shape, noisy.shape, len(np.unique(partition.find_cells(x)))
    ((1000, 2), (1000, 5), 6)
    """
    if setting not in CATEGORICAL_SETTINGS:
        raise OptionError(f"unknown setting {setting!r}; known: 1, 2, 3")
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
    """A label-ranking data set made from another data set.

    Parameters
    ----------
    x : float64 array, shape (n, d)
        Remaining inputs.
    ranks : float64 array, shape (n, k)
        Complete ranks; 1 is the most preferred label.
    labels : tuple of str
        Labels of the columns of `ranks`: classes (type A) or columns (type B).
    """

    x: NDArray[np.float64]
    ranks: NDArray[np.float64]
    labels: tuple[str, ...]


def convert_classification(
    x: ArrayLike, y: ArrayLike, classifier: Any = None, *, digits: int | None = None
) -> ConvertedDataset:
    """Rank the classes of a classification data set by their predicted probabilities.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Inputs.
    y : array_like, shape (n,)
        Classes: the labels to rank.
    classifier : scikit-learn classifier, optional
        A clone of it is fitted on all rows. The default is Gaussian naive Bayes, as for the benchmark data
        sets.
    digits : int, optional
        Number of decimals to which the probabilities are rounded, so that small ones tie. By default they are
        not rounded. With 3 decimals all but 3 of the 150 published rankings of iris and 1 of the 178 of wine
        are reproduced, without rounding only two thirds.

    Returns
    -------
    ConvertedDataset
        All inputs. Classes with equal probabilities are sorted in ascending order.

    Raises
    ------
    OptionError
        If the classifier does not predict probabilities.

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
    # the logarithms of probabilities that underflow still have an order
    log_methods = ("predict_joint_log_proba", "predict_log_proba") if digits is None else ()
    for name in (*log_methods, "predict_proba"):
        if hasattr(fitted, name):
            scores = getattr(fitted, name)(inputs)
            if digits is not None:
                scores = scores.round(digits)
            return ConvertedDataset(inputs, rank_by_score(scores), tuple(map(str, fitted.classes_)))
    raise OptionError(
        f"{type(fitted).__name__} does not predict probabilities; use a classifier with predict_proba"
    )


def convert_regression(
    x: ArrayLike, columns: Sequence[int], names: Sequence[str] | None = None
) -> ConvertedDataset:
    """Rank some numeric columns by their standardised values in each row, and use the others as inputs.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Inputs of a regression data set; the target may be one of the columns.
    columns : sequence of int
        Indices of two or more columns, the labels to rank. The largest standardised value has rank 1.
    names : sequence of str, optional
        Names of all d columns. By default their indices.

    Returns
    -------
    ConvertedDataset
        The other columns as inputs. Labels with equal values have the order of `columns`.

    Raises
    ------
    OptionError
        If columns repeat, are out of range or constant, or none is left as an input.

    Examples
    --------
    >>> converted = convert_regression([[1.0, 10.0, 7.0], [2.0, 20.0, 8.0], [3.0, 0.0, 9.0]], columns=[0, 1])
    >>> converted.ranks
    array([[2., 1.],
           [2., 1.],
           [1., 2.]])
    >>> converted.x.ravel()
    array([7., 8., 9.])
    """
    values = np.asarray(x, dtype=np.float64)
    d, label_columns = values.shape[1], list(columns)
    if len(set(label_columns)) != len(label_columns) or not all(0 <= column < d for column in label_columns):
        raise OptionError(f"columns {label_columns} of {d}: give distinct indices from 0 to {d - 1}")
    if not 2 <= len(label_columns) < d:
        raise OptionError(
            f"{len(label_columns)} of {d} columns as labels: select at least two, and leave one as an input"
        )
    labels = values[:, label_columns]
    spread = labels.std(axis=0)
    if not (spread > 0.0).all():
        constant = [column for column, width in zip(label_columns, spread, strict=True) if not width > 0.0]
        raise OptionError(f"columns {constant} are constant and cannot be standardised; leave them out")
    standardized = (labels - labels.mean(axis=0)) / spread
    input_columns = [column for column in range(d) if column not in set(label_columns)]
    label_names = tuple(names[column] if names is not None else str(column) for column in label_columns)
    return ConvertedDataset(
        np.ascontiguousarray(values[:, input_columns]), rank_by_score(standardized), label_names
    )
