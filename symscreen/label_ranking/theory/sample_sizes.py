"""Numbers of rows that the theorems of Fotakis et al. (2022) ask for.

The theorems are stated with Õ and Θ̃, which hide a constant and logarithmic factors. The functions compute the
remaining expression times `constant`, which is 1 unless the user knows better. A result therefore shows how
the number of rows grows with d, k, r, ε and δ; its magnitude alone means nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from symscreen.errors import OptionError
from symscreen.messages import suggest

SplitCriterion = Literal["level", "breiman"]
PairBoundForm = Literal["printed", "corrected"]


@dataclass(frozen=True)
class TreeSampleSize:
    """Rows and depth of a tree.

    Parameters
    ----------
    n : float
        Number of rows, not rounded; infinite beyond 10³⁰⁸.
    log10_n : float
        Its logarithm to base 10, which is always finite.
    depth : float
        log2 t, where t is the number of leaves: the depth of a level-splits tree. For Breiman's trees it is
        the least depth that the theorem allows. 0 where n is too small for a split.
    """

    n: float
    log10_n: float
    depth: float


@dataclass(frozen=True)
class ForestSampleSize:
    """Rows of a forest and of each subsample.

    Parameters
    ----------
    n : float
        Number of rows, not rounded; infinite beyond 10³⁰⁸.
    subsample : float
        Number s of rows that each tree is given, not rounded; infinite beyond 10³⁰⁸.
    """

    n: float
    subsample: float


def compute_tree_sample_size(
    d: int,
    k: int,
    r: int,
    epsilon: float,
    delta: float,
    *,
    submodularity: float,
    criterion: SplitCriterion = "level",
    independent: bool = False,
    constant: float = 1.0,
) -> TreeSampleSize:
    """Compute the number of rows for decision trees (Theorems A.3 and A.4).

    Parameters
    ----------
    d, k, r : int
        Numbers of features, labels, and relevant features of a label; r ≤ d.
    epsilon : float
        Allowed error ε > 0: of the scores E‖m(x) − m⁽ⁿ⁾(x)‖² (Theorem A.3). For rankings, ε·k² bounds the
        mean of d2 up to a constant (Theorem A.4).
    delta : float
        Probability δ in (0, 1) with which the error may be larger.
    submodularity : float
        C ≥ 1 of Condition 3 for level splits, of Condition 4 for Breiman's trees. See `check_submodularity`
        and `check_diminishing_returns`.
    criterion : {"level", "breiman"}
        Algorithm 9 (parts 1 of the theorems) or Algorithm 10 (parts 2).
    independent : bool
        Whether the features are independent (parts b).
    constant : float
        What Õ hides. It may depend on everything that is not written in the expression.

    Returns
    -------
    TreeSampleSize

    Raises
    ------
    OptionError
        If an argument is out of range.

    Notes
    -----
    Fotakis et al. (2022), Theorems 2.1, A.3 and A.4, with L = log(dk/δ)::

        1(a)  n = L·k^(Cr+2)·(Cr/ε)^(Cr+2),   log t = Cr/(Cr + 2)·(log n − log log(d/δ))
        1(b)  n = L·2^r·k²·(C/ε)²,            log t = r
        2(a)  n = L·k^(Cr+3)·(Cr/ε)^(Cr+3),   log t ≥ Cr/(Cr + 3)·(log n − log log(d/δ))
        2(b)  n = L·k³·C²·2^r/ε³,             log t ≥ r

    They are Theorems D.2 and D.3, applied to each label with ε/k and δ/k. In 1(a) the base of the logarithms
    cancels, so that t = (n/log(d/δ))^(Cr/(Cr + 2)). Algorithm 5 prints (rk/ε)^r for the size in (a).

    Examples
    --------
    >>> size = compute_tree_sample_size(100, 5, 10, 0.1, 0.05, submodularity=1.0, independent=True)
    >>> round(size.n), size.depth
    (23578471, 10.0)
    >>> round(compute_tree_sample_size(100, 5, 10, 0.1, 0.05, submodularity=1.0).log10_n, 1)
    33.4
    """
    _check_problem(d, k, r, epsilon, delta, constant)
    _check_choice("criterion", criterion, get_args(SplitCriterion))
    if not 1.0 <= submodularity < math.inf:
        raise OptionError(f"submodularity is {submodularity}; give a finite C of at least 1")
    scale = math.log(constant) + math.log(math.log(d * k / delta))
    power = 2.0 if criterion == "level" else 3.0
    if independent:
        log_n = scale + r * math.log(2.0) + power * math.log(k / epsilon) + 2.0 * math.log(submodularity)
        return _make_tree_size(log_n, float(r))
    relevance = submodularity * r  # C·r
    log_n = scale + (relevance + power) * math.log(relevance * k / epsilon)
    log_t = relevance / (relevance + power) * (log_n - math.log(math.log(d / delta)))
    return _make_tree_size(log_n, max(log_t / math.log(2.0), 0.0))


def _make_tree_size(log_n: float, depth: float) -> TreeSampleSize:
    """Convert the natural logarithm of n and a depth to a result."""
    n = math.exp(log_n) if log_n < math.log(1.7e308) else math.inf
    return TreeSampleSize(n, log_n / math.log(10.0), depth)


def compute_forest_sample_size(
    d: int,
    k: int,
    r: int,
    epsilon: float,
    delta: float,
    *,
    beta: float,
    zeta: float,
    criterion: SplitCriterion = "level",
    constant: float = 1.0,
    subsample_constant: float = 1.0,
) -> ForestSampleSize:
    """Compute the number of rows for fully grown honest forests (Theorems A.5 and A.6).

    Parameters
    ----------
    d, k, r : int
        Numbers of features, labels, and relevant features of a label; r ≤ d.
    epsilon, delta : float
        Allowed error ε > 0 and probability δ in (0, 1); see `compute_tree_sample_size`.
    beta : float
        β > 0 of Condition 5; see `check_strong_sparsity`.
    zeta : float
        ζ > 0: for level splits of the marginal distribution of the relevant features, for Breiman's trees of
        Condition 6 with q = r. See `check_marginal_density`.
    criterion : {"level", "breiman"}
        Trees of Algorithm 9 (Theorem A.5) or of Algorithm 10 (Theorem A.6).
    constant, subsample_constant : float
        What Õ hides in n, and Θ̃ in s.

    Returns
    -------
    ForestSampleSize

    Raises
    ------
    OptionError
        If an argument is out of range.

    Notes
    -----
    Fotakis et al. (2022)::

        A.5  n = 2^r·k·log(k/δ)/ε·(log(d)/β² + 1/ζ),   s = 2^r·(log(dk/δ)/β² + log(k/δ)/ζ)
        A.6  n = 2^r·k·log(dk/δ)/(ε·ζ·β²),             s = 2^r·log(dk/δ)/(ζ·β²)

    Both apply a theorem of Syrgkanis and Zampetakis (2020) to each label with ε/k and δ/k. The expression for
    n of A.5 follows Theorem 3.4 there. With k = 1 they are the statements of Appendix D.

    Examples
    --------
    >>> size = compute_forest_sample_size(100, 5, 4, 0.1, 0.05, beta=0.01, zeta=1.0, criterion="breiman")
    >>> round(size.n), round(size.subsample)
    (73682723, 1473654)
    """
    _check_problem(d, k, r, epsilon, delta, constant)
    _check_choice("criterion", criterion, get_args(SplitCriterion))
    for name, value in (("beta", beta), ("zeta", zeta), ("subsample_constant", subsample_constant)):
        _check_positive(name, value)
    label_log, all_log = math.log(k / delta), math.log(d * k / delta)
    with np.errstate(over="ignore", divide="ignore"):
        cells, squared_beta = np.exp2(np.float64(r)), np.float64(beta) ** 2
        if criterion == "level":
            n = cells * k * label_log / epsilon * (math.log(d) / squared_beta + 1.0 / np.float64(zeta))
            subsample = cells * (all_log / squared_beta + label_log / np.float64(zeta))
        else:
            n = cells * k * all_log / (epsilon * zeta * squared_beta)
            subsample = cells * all_log / (zeta * squared_beta)
        return ForestSampleSize(float(constant * n), float(subsample_constant * subsample))


def compute_pairwise_sample_size(
    k: int,
    epsilon: float,
    delta: float,
    *,
    vc_dimension: float,
    noise_exponent: float,
    tolerance: float = 1.0,
    power: float | None = None,
    form: PairBoundForm = "printed",
    constant: float = 1.0,
) -> float:
    """Compute the number of incomplete or partial rankings for pairwise classifiers (Theorems A.7 and C.2).

    Parameters
    ----------
    k : int
        Number of labels, at least 2.
    epsilon, delta : float
        ε > 0, the allowed part of Pr[σ̂(x) ≠ σ*(x)] that more rows remove, and the probability δ in (0, 1)
        with which it may be larger.
    vc_dimension : float
        VC dimension of the class of classifiers, at least 1: d + 1 for halfspaces and balls in d dimensions,
        2d for boxes (Table 1).
    noise_exponent : float
        a of the Tsybakov condition, in (0, 1).
    tolerance : float
        φ in (0, 1], the least probability that both labels of a pair are observed (A.7, Condition 2), or ξ,
        that they are distinguished (C.2, Condition 7).
    power : float, optional
        Degree of the polynomial in φ·ε. By default (2 − a)/a, with which ε occurs in the proof.
    form : {"printed", "corrected"}
        Dependence on the number of labels, see Notes.
    constant : float
        What Θ̃ and the polynomial hide. It depends on a and B, see `compute_tsybakov_constant`.

    Returns
    -------
    float
        Number of rows n, not rounded; infinite beyond 10³⁰⁸.

    Raises
    ------
    OptionError
        If an argument is out of range.

    Notes
    -----
    Fotakis et al. (2022), line 5 of Algorithms 7 and 8::

        n = k^(4(1−a)/a)·max{log(k/δ), VC(G)}/poly_a(φ·ε)

    In the proof (Claim 4) each of the p = k(k − 1)/2 pairs may have the error r = (ε·φ/(C_{a,B}·p))^(1/a). It
    then needs a number of comparisons of the order r^(−(2−a)). The degree of the polynomial is not stated.

    The proof then divides by p, because a row compares at least φ·p pairs on average. But each pair needs its
    own comparisons, and a row gives at most one comparison of a pair: the division does not hold. Without it
    the exponent of k is 2(2 − a)/a, the form "corrected". It is larger by the factor k².

    Examples
    --------
    >>> options = {"vc_dimension": 5, "noise_exponent": 0.5, "tolerance": 0.8}
    >>> round(compute_pairwise_sample_size(4, 0.1, 0.05, **options))
    2500000
    >>> round(compute_pairwise_sample_size(4, 0.1, 0.05, form="corrected", **options))
    40000000
    """
    _check_choice("form", form, get_args(PairBoundForm))
    if k < 2:
        raise OptionError(f"k is {k}; pairs need at least 2 labels")
    _check_error(epsilon, delta)
    _check_positive("constant", constant)
    if not 1.0 <= vc_dimension < math.inf:
        raise OptionError(f"vc_dimension is {vc_dimension}; give a finite number of at least 1")
    _check_noise_exponent(noise_exponent)
    if not 0.0 < tolerance <= 1.0:
        raise OptionError(f"tolerance is {tolerance}; give a probability in (0, 1]")
    degree = (2.0 - noise_exponent) / noise_exponent if power is None else power
    _check_positive("power", degree)
    label_power = 4.0 * (1.0 - noise_exponent) / noise_exponent + (2.0 if form == "corrected" else 0.0)
    with np.errstate(over="ignore"):
        rate = np.float64(k) ** label_power * np.float64(tolerance * epsilon) ** -degree
        return float(constant * rate * max(math.log(k / delta), vc_dimension))


def compute_tsybakov_constant(noise_exponent: float, bound: float) -> float:
    """Compute C_{a,B} = B^(1−a)/((1 − a)^(1−a)·a^a), which turns excess risk into disagreement.

    Parameters
    ----------
    noise_exponent : float
        a of the Tsybakov condition (Condition 2), in (0, 1).
    bound : float
        B > 0 of the condition: at most the share B·t^(a/(1−a)) of inputs has a pairwise probability within t
        of ½, up to a factor 2.

    Returns
    -------
    float
        C with Pr[g(x) ≠ g*(x)] ≤ C·(L(g) − L(g*))^a for every classifier g and the Bayes classifier g*.

    Raises
    ------
    OptionError
        If an argument is out of range.

    Notes
    -----
    Fotakis et al. (2022), Fact 2 and Theorems A.7 and C.2.

    Examples
    --------
    >>> compute_tsybakov_constant(0.5, 1.0)
    2.0
    """
    _check_noise_exponent(noise_exponent)
    _check_positive("bound", bound)
    a = noise_exponent
    return float((bound / (1.0 - a)) ** (1.0 - a) / a**a)


def _check_problem(d: int, k: int, r: int, epsilon: float, delta: float, constant: float) -> None:
    """Raise `OptionError` unless the numbers describe a problem of the theorems."""
    if not (1 <= r <= d and k >= 1):
        raise OptionError(f"d = {d}, k = {k}, r = {r}: give k ≥ 1 labels and 1 ≤ r ≤ d relevant features")
    _check_error(epsilon, delta)
    _check_positive("constant", constant)


def _check_error(epsilon: float, delta: float) -> None:
    """Raise `OptionError` for an error that is not positive, or a probability outside (0, 1)."""
    _check_positive("epsilon", epsilon)
    if not 0.0 < delta < 1.0:
        raise OptionError(f"delta is {delta}; give a probability between 0 and 1")


def _check_positive(name: str, value: float) -> None:
    """Raise `OptionError` unless a number is finite and positive."""
    if not 0.0 < value < math.inf:
        raise OptionError(f"{name} is {value}; give a finite positive number")


def _check_noise_exponent(noise_exponent: float) -> None:
    """Raise `OptionError` unless a is in (0, 1)."""
    if not 0.0 < noise_exponent < 1.0:
        raise OptionError(f"noise_exponent is {noise_exponent}; give a number between 0 and 1")


def _check_choice(name: str, value: str, known: tuple[str, ...]) -> None:
    """Raise `OptionError` for an unknown choice."""
    if value not in known:
        raise OptionError(f"unknown {name} {value!r}{suggest(value, known)}")
