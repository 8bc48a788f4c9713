"""Simulate chains of stages with a known Bayes rule: the simulation of the paper, in several readings.

Factors are drawn from χ²(1), and g_ij = a_i ∘ b_j. If stage t − 1 was reached, the outcome of stage t is
Y_t = sign(p_ijt + σ_t ε). Here σ_t is the standard deviation of p_ijt over the rows, ε is normal with mean 0,
and p_ijt depends on the reading:

- "chained": p_ijt = g_ijᵀ(1 − q_t);
- "summed": p_ijt = g_ijᵀ(1 − Σ_{l ≤ t} q_l).

In the reading "exact", P(Y_t = 1 | Y_{t−1} = 1) = 2^(−ρ_t) with ρ_t = g_ijᵀq_t / g_ijᵀ1. It follows that
1 + log₂P(Y_t = 1 | Y_t′ = 1) = 1 − Σ ρ_l, so the Bayes rule is the sign of f_{t′,t} of eq. (8) itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from symscreen._parameters import NON_NEGATIVE, POSITIVE_INTEGER, check_parameters
from symscreen.errors import DataError, OptionError
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Values


READINGS = ("chained", "summed", "exact")
PARTS = ("training", "validation", "test")


@dataclass(frozen=True, eq=False)
class SimulatedChains:
    """Simulated chains with their true probabilities.

    Parameters
    ----------
    table : data frame
        Columns `user`, `item` and one per stage, ``stage0`` to ``stageT``: 1 reached, 0 not. R rows.
    user_features, item_features : data frame or None
        Categorical features. None if the users or items themselves are the only levels.
    part : array of str, shape (R,)
        "training", "validation" or "test".
    step_probabilities : float64 array, shape (R, T)
        P(Y_t = 1 | Y_{t−1} = 1) of each row.
    """

    table: pd.DataFrame
    user_features: pd.DataFrame | None
    item_features: pd.DataFrame | None
    part: NDArray[np.str_]
    step_probabilities: Values

    @property
    def stages(self) -> list[str]:
        """Names of the stages."""
        return [name for name in self.table.columns if name not in {"user", "item"}]

    @property
    def outcomes(self) -> NDArray[np.int8]:
        """Outcomes Y, ±1, shape (R, T + 1)."""
        return np.where(self.table[self.stages].to_numpy() == 1, 1, -1).astype(np.int8)

    def select_part(self, part: str) -> pd.DataFrame:
        """Return the rows of one part, with a new index."""
        check_parameters({"part": [StrOptions(set(PARTS))]}, {"part": part})
        rows: pd.DataFrame = self.table[self.part == part].reset_index(drop=True)
        return rows

    def compute_stage_shares(self) -> Values:
        """Compute the fraction of rows that reach each stage, shape (T + 1,)."""
        return np.asarray((self.outcomes == 1).mean(axis=0))

    def compute_pair_probabilities(self) -> Values:
        """Compute P(Y_t = 1 | Y_t′ = 1) = Π_{l = t′+1..t} P(Y_l = 1 | Y_{l−1} = 1), shape (R, P)."""
        pairs = list_stage_pairs(self.step_probabilities.shape[1])
        return np.stack([self.step_probabilities[:, a:b].prod(axis=1) for a, b in pairs], axis=1)

    def compute_bayes_rule(self) -> NDArray[np.int8]:
        """Compute the Bayes rule sign(P(Y_t = 1 | Y_t′ = 1) − ½), shape (R, P)."""
        return np.where(self.compute_pair_probabilities() > 0.5, 1, -1).astype(np.int8)

    def compute_bayes_error(self, part: str | None = None) -> float:
        """Compute the expected error of the Bayes rule over all pairs, given the reached stages.

        Parameters
        ----------
        part : str, optional
            Use only the rows of this part.

        Returns
        -------
        float
            Mean of min(P, 1 − P) over rows and pairs with Y_t′ = +1.
        """
        return self.compute_expected_error(self.compute_bayes_rule(), part)

    def compute_expected_error(self, predicted: NDArray[Any], part: str | None = None) -> float:
        """Compute the expected error of predictions over all pairs, given the reached stages.

        Parameters
        ----------
        predicted : array, shape (R, P)
            Predictions ±1 for every row of the table.
        part : str, optional
            Use only the rows of this part.

        Returns
        -------
        float
            Expected error, in [0, 1]. It uses the true probabilities, so it has no sampling noise of the
            outcomes.

        Raises
        ------
        DataError
            If the part has no rows.
        """
        evaluated = mask_observed_pairs(self.outcomes)
        check_parameters({"part": [StrOptions(set(PARTS)), None]}, {"part": part})
        if part is not None:
            evaluated = evaluated & (self.part == part)[:, None]
        if not evaluated.any():
            raise DataError(f"there are no rows of the part {part!r}: give it a share above 0")
        p = self.compute_pair_probabilities()
        return float(np.where(predicted > 0, 1.0 - p, p)[evaluated].mean())


def simulate_chains(
    *,
    n_users: int = 100,
    n_items: int = 100,
    user_levels: Sequence[int] | None = None,
    item_levels: Sequence[int] | None = None,
    own_factors: bool = False,
    n_factors: int = 20,
    n_stages: int = 2,
    n_rows: int | None = None,
    reading: str = "chained",
    noise: float = 0.1,
    noise_is: str = "deviation",
    relative_noise: bool = True,
    shares: tuple[float, float, float] = (0.1, 0.1, 0.8),
    random_state: Any = None,
) -> SimulatedChains:
    """Simulate chains of stages as in the paper.

    The text of the paper has lost symbols; `reading` selects an interpretation.

    Parameters
    ----------
    n_users, n_items : int
        Numbers of users and items, n and m.
    user_levels, item_levels : sequence of int, optional
        Number of levels of each categorical feature, drawn uniformly for each user or item. Default: the user
        or item itself is the only categorical variable.
    own_factors : bool
        Whether the user or item itself is a categorical variable in addition to its features.
    n_factors : int
        Number of latent factors K.
    n_stages : int
        T. Stage 0 is always reached.
    n_rows : int, optional
        Number of rows, drawn with replacement. Default: one row for each user and item.
    reading : {"chained", "summed", "exact"}
        How stages depend on q; see the module.
    noise : float
        Scale of ε, ≥ 0, relative to σ_t. Ignored for "exact".
    noise_is : {"deviation", "variance"}
        Whether `noise` is the standard deviation or the variance of ε.
    relative_noise : bool
        Whether σ_t is the standard deviation of p_ijt. If False, σ_t = 1.
    shares : (float, float, float)
        Fractions of training, validation and test rows. They must sum to 1.
    random_state : int, Generator or None
        Seed of all draws.

    Returns
    -------
    SimulatedChains
        The chains. The same seed gives the same chains.

    Raises
    ------
    OptionError
        If an option is invalid.

    Examples
    --------
    >>> chains = simulate_chains(n_users=30, n_items=20, random_state=0)
    >>> chains.table.shape, chains.stages, chains.select_part("training").shape
    ((600, 5), ['stage0', 'stage1', 'stage2'], (60, 5))
    >>> bool((chains.compute_bayes_error() < 0.1) and (np.diff(chains.compute_stage_shares()) < 0).all())
    True
    """
    import pandas as pd

    check_parameters(
        {
            **dict.fromkeys(("n_users", "n_items", "n_factors", "n_stages"), (POSITIVE_INTEGER,)),
            "n_rows": [POSITIVE_INTEGER, None],
            "reading": [StrOptions(set(READINGS))],
            "noise": [NON_NEGATIVE],
            "noise_is": [StrOptions({"deviation", "variance"})],
            **dict.fromkeys(("own_factors", "relative_noise"), ("boolean",)),
        },
        locals(),
    )
    deviation = float(np.sqrt(noise)) if noise_is == "variance" else float(noise)
    _check_shares(shares)
    rng = np.random.default_rng(random_state)
    a, users = _draw_entities("user", n_users, user_levels, n_factors, rng, own_factors=own_factors)
    b, items = _draw_entities("item", n_items, item_levels, n_factors, rng, own_factors=own_factors)
    q = rng.chisquare(1, size=(n_stages, n_factors))
    if n_rows is None:
        user, item = (indices.ravel() for indices in np.indices((n_users, n_items)))
    else:
        user, item = rng.integers(n_users, size=n_rows), rng.integers(n_items, size=n_rows)
    g = a[user] * b[item]
    if reading == "exact":
        step_probabilities = 2.0 ** -((g @ q.T) / g.sum(axis=1, keepdims=True))
    else:
        step_probabilities = _compute_noisy_steps(g, q, reading, deviation, relative_noise=relative_noise)
    reached = np.cumprod(rng.uniform(size=step_probabilities.shape) < step_probabilities, axis=1)
    columns = {"user": user, "item": item, "stage0": np.ones(len(user), dtype=np.int64)}
    table = pd.DataFrame(columns | {f"stage{t + 1}": reached[:, t].astype(np.int64) for t in range(n_stages)})
    return SimulatedChains(table, users, items, _draw_parts(len(table), shares, rng), step_probabilities)


def _compute_noisy_steps(
    g: Values, q: Values, reading: str, deviation: float, *, relative_noise: bool
) -> Values:
    """Compute P(p_t + σ_t ε > 0) = Φ(p_t/(σ_t sd(ε))), (R, T), from g (R, K) and q (T, K)."""
    from scipy.special import ndtr

    effects = np.cumsum(q, axis=0) if reading == "summed" else q
    p = g @ (1.0 - effects).T
    scale = deviation * (p.std(axis=0) if relative_noise else np.ones(len(q)))
    with np.errstate(divide="ignore"):  # without noise, the sign of p decides
        return np.asarray(ndtr(p / scale))


def _draw_entities(
    kind: str, n: int, levels: Any, k: int, rng: np.random.Generator, *, own_factors: bool
) -> tuple[Values, pd.DataFrame | None]:
    """Draw a_i or b_j, (n, k), and the categorical features whose effects they sum."""
    import pandas as pd

    if levels is not None and (isinstance(levels, str) or not isinstance(levels, Iterable)):
        raise OptionError(f"{kind}_levels is {levels!r}: give a sequence of integers, such as [4, 3]")
    if levels is None:
        return rng.chisquare(1, size=(n, k)), None
    embeddings = rng.chisquare(1, size=(n, k)) if own_factors else np.zeros((n, k))
    columns = {kind: np.arange(n)}
    for h, size in enumerate(levels, start=1):
        check_parameters({f"{kind}_levels": [POSITIVE_INTEGER]}, {f"{kind}_levels": size})
        codes = rng.integers(size, size=n)
        embeddings += rng.chisquare(1, size=(size, k))[codes]
        columns[f"{kind}_level{h}"] = np.array([f"level{code}" for code in codes], dtype=object)
    return embeddings, pd.DataFrame(columns)


def _check_shares(shares: Any) -> None:
    """Raise OptionError unless there are three shares ≥ 0 that sum to 1."""
    numbers = list(shares) if isinstance(shares, Iterable) else []
    valid = len(numbers) == 3 and all(map(NON_NEGATIVE.is_satisfied_by, numbers))
    if not valid or abs(sum(numbers) - 1.0) > 1e-9:
        raise OptionError(f"shares are {shares!r}: give three numbers ≥ 0 that sum to 1")


def _draw_parts(
    n_rows: int, shares: tuple[float, float, float], rng: np.random.Generator
) -> NDArray[np.str_]:
    """Assign rows to parts at random; the sizes of the parts match the shares."""
    cuts = np.round(np.cumsum(shares) * n_rows)[:2]
    names = np.array(PARTS)[np.searchsorted(cuts, np.arange(n_rows), side="right")]
    return names[rng.permutation(n_rows)]
