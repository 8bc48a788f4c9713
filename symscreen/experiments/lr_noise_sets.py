"""The noisy sets of Fotakis and others (2022), figures 1 and 2: scores disturbed, or rankings disturbed.

Figure 1 adds Gaussian noise, truncated to ±1/4, of fifty deviations. Figure 2 sets the Mallows model, whose
center is the noiseless ranking, beside Gaussian noise of the same α. The deviations of figure 1, i/2000, are
those of the authors' published code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from symscreen.ranking import order_list_tau, orders_of
from symscreen.ranking.generators import inconsistency, kendall_gap, mallows, truncated_gaussian

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from symscreen.ranking.generators import Oracle

    Values = NDArray[np.float64]

__all__ = ["DEVIATIONS", "SPREADS", "NoisySet", "matched_deviation", "noisy_sets", "order_list_mallows"]

DEVIATIONS = tuple(number / 2000 for number in range(1, 51))
SPREADS = tuple(round(0.6 + 0.2 * number, 1) for number in range(20))  # θ
_WIDEST = 5.0  # twenty bounds: as good as uniform
_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class NoisySet:
    """Observed rankings of one noise, and how noisy they are.

    Parameters
    ----------
    figure : int
        1 or 2.
    operator : {"gaussian", "mallows", "order-list mallows"}
        What was disturbed, and how.
    parameter : float
        The deviation, or θ.
    ranks : float64 array, shape (n, k)
        What is observed.
    alpha, beta, order_list_beta : float
        The share of rankings that are not the noiseless ones; the mean coefficient with these, of rank
        vectors and of order lists.
    """

    figure: int
    operator: str
    parameter: float
    ranks: Values
    alpha: float
    beta: float
    order_list_beta: float


def noisy_sets(
    oracle: Oracle, x: Values, deviations: tuple[float, ...], spreads: tuple[float, ...], seed: int
) -> Iterator[NoisySet]:
    """Disturb the rankings of given inputs in every way of both figures.

    Parameters
    ----------
    oracle : Oracle
        Without noise.
    x : float64 array, shape (n, d)
        Inputs.
    deviations : tuple of float
        Of figure 1.
    spreads : tuple of float
        θ of figure 2.
    seed : int
        From which each set's noise is drawn, independently of the other sets.

    Yields
    ------
    NoisySet
        Figure 1, then for each θ the Mallows set, that of order lists, and Gaussian noise of the same α.
    """
    truth = oracle.truth(x)
    for number, sd in enumerate(deviations):
        yield _measured(1, "gaussian", sd, _gaussian(oracle, x, sd, [seed, 1, number]), truth)
    for number, theta in enumerate(spreads):
        drawn = mallows(truth, theta, len(truth), np.random.default_rng([seed, 2, number]))
        plain = _measured(2, "mallows", theta, drawn, truth)
        yield plain
        listed = order_list_mallows(truth, theta, np.random.default_rng([seed, 3, number]))
        yield _measured(2, "order-list mallows", theta, listed, truth)
        sd = matched_deviation(oracle, x, plain.alpha, [seed, 4, number])
        yield _measured(2, "gaussian", sd, _gaussian(oracle, x, sd, [seed, 4, number]), truth)


def order_list_mallows(truth: Values, theta: float, rng: np.random.Generator) -> Values:
    """Draw rankings whose *lists of labels in order* follow a Mallows model about the noiseless lists.

    Parameters
    ----------
    truth : float64 array, shape (n, k)
        Complete ranks without ties.
    theta : float
        θ.
    rng : numpy.random.Generator
        What draws them.

    Returns
    -------
    float64 array, shape (n, k)
        Ranks. Likely are exchanges of labels whose numbers are neighbours, wherever they stand, and not of
        labels that stand side by side: the published Mallows sets are of this kind.
    """
    lists = mallows(orders_of(truth) + 1.0, theta, len(truth), rng)
    return np.asarray(np.argsort(lists, axis=1, kind="stable") + 1.0, dtype=np.float64)


def matched_deviation(oracle: Oracle, x: Values, alpha: float, seed: list[int]) -> float:
    """Find the deviation of Gaussian noise that has a given α-inconsistency at given inputs.

    Parameters
    ----------
    oracle : Oracle
        Without noise.
    x : float64 array, shape (n, d)
        Inputs.
    alpha : float
        The share of rankings wanted that are not the noiseless ones.
    seed : list of int
        Of the noise, the same at every deviation, so that α rises steadily.

    Returns
    -------
    float
        By halving; the widest that is tried where no deviation gives as much.
    """
    truth = oracle.truth(x)
    low, high = 0.0, _WIDEST
    if inconsistency(_gaussian(oracle, x, high, seed), truth) <= alpha:
        return high
    for _ in range(_HALVINGS):
        middle = np.sqrt(low * high) if low > 0.0 else high / 16.0
        if inconsistency(_gaussian(oracle, x, middle, seed), truth) < alpha:
            low = middle
        else:
            high = middle
        if high < 1e-9:
            break
    return float(high)


def _gaussian(oracle: Oracle, x: Values, sd: float, seed: list[int]) -> Values:
    return replace(oracle, noise=truncated_gaussian(sd)).observe(x, np.random.default_rng(seed))


def _measured(figure: int, operator: str, parameter: float, ranks: Values, truth: Values) -> NoisySet:
    alpha, beta = inconsistency(ranks, truth), kendall_gap(ranks, truth)
    return NoisySet(
        figure, operator, parameter, ranks, alpha, beta, float(order_list_tau(ranks, truth).mean())
    )
