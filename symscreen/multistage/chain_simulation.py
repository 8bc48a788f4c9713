"""Generated chains of stages whose Bayes rule is known: the paper's simulation as it may be read.

Factors are drawn from χ²(1) and g_ij = a_i ∘ b_j. The outcome of stage t, given that stage t − 1 was
reached, is Y_t = sign(p_ijt + σ_t ε), where σ_t is the standard deviation of p_ijt over the rows, ε is normal
of mean 0, and

- reading "chained": p_ijt = g_ijᵀ(1 − q_t);
- reading "summed": p_ijt = g_ijᵀ(1 − Σ_{l ≤ t} q_l).

Under reading "exact" P(Y_t = 1 | Y_{t−1} = 1) = 2^(−ρ_t) with ρ_t = g_ijᵀq_t / g_ijᵀ1, so that
1 + log₂P(Y_t = 1 | Y_t′ = 1) = 1 − Σ ρ_l: the Bayes rule is the sign of f_{t′,t} of eq. (8) itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import DataError, OptionError
from symscreen.multistage.option_checks import check_bool, check_choice, check_positive_integer, is_real
from symscreen.targets.stages import list_stage_pairs, mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen._typing import Values


__all__ = ["SimulatedChains", "simulate_chains"]

READINGS = ("chained", "summed", "exact")
PARTS = ("training", "validation", "test")


@dataclass(frozen=True, eq=False)
class SimulatedChains:
    """Generated chains, and what is known of them.

    Parameters
    ----------
    table : data frame
        Columns `user`, `item` and one a stage, ``stage0`` to ``stageT``: 1 reached, 0 not.
    user_features, item_features : data frame or None
        Categorical features, where levels are not the users or items themselves.
    part : array of str, shape (R,)
        "training", "validation" or "test".
    steps : float64 array, shape (R, T)
        P(Y_t = 1 | Y_{t−1} = 1) of each row.
    """

    table: pd.DataFrame
    user_features: pd.DataFrame | None
    item_features: pd.DataFrame | None
    part: NDArray[np.str_]
    step_probabilities: Values

    @property
    def stages(self) -> list[str]:
        """The names of the stages."""
        return [name for name in self.table.columns if name not in {"user", "item"}]

    @property
    def outcomes(self) -> NDArray[np.int8]:
        """Y, ±1, shape (R, T + 1)."""
        return np.where(self.table[self.stages].to_numpy() == 1, 1, -1).astype(np.int8)

    def select_part(self, part: str) -> pd.DataFrame:
        """Return the rows of one part."""
        mine: pd.DataFrame = self.table[self.part == check_choice("part", part, PARTS)].reset_index(drop=True)
        return mine

    def compute_stage_shares(self) -> Values:
        """Return the share of rows that reach each stage, shape (T + 1,)."""
        return np.asarray((self.outcomes == 1).mean(axis=0))

    def compute_pair_probabilities(self) -> Values:
        """Return P(Y_t = 1 | Y_t′ = 1) = Π_{l = t′+1..t} P(Y_l = 1 | Y_{l−1} = 1), shape (R, P)."""
        pairs = list_stage_pairs(self.step_probabilities.shape[1])
        return np.stack([self.step_probabilities[:, a:b].prod(axis=1) for a, b in pairs], axis=1)

    def compute_bayes_rule(self) -> NDArray[np.int8]:
        """Return sign(P(Y_t = 1 | Y_t′ = 1) − ½), shape (R, P)."""
        return np.where(self.compute_pair_probabilities() > 0.5, 1, -1).astype(np.int8)

    def compute_bayes_error(self, part: str | None = None) -> float:
        """Return the expected error over all pairs of the Bayes rule, given which stages were reached.

        Parameters
        ----------
        part : str, optional
            Over the rows of one part alone.

        Returns
        -------
        float
            The mean of min(P, 1 − P) over rows and pairs with Y_t′ = +1.
        """
        return self.compute_expected_error(self.compute_bayes_rule(), part)

    def compute_expected_error(self, predicted: NDArray[Any], part: str | None = None) -> float:
        """Return the expected error over all pairs of a rule, given which stages were reached.

        Parameters
        ----------
        predicted : array, shape (R, P)
            Signs for every row of the table.
        part : str, optional
            Over the rows of one part alone.

        Returns
        -------
        float
            Without the noise that counting errors of one draw would add.

        Raises
        ------
        TableError
            If the part has no rows.
        """
        counted = mask_observed_pairs(self.outcomes)
        if part is not None:
            counted = counted & (self.part == check_choice("part", part, PARTS))[:, None]
        if not counted.any():
            raise DataError(
                f"there are no rows of the part {part!r}: nothing can err; give it a share above 0"
            )
        p = self.compute_pair_probabilities()
        return float(np.where(predicted > 0, 1.0 - p, p)[counted].mean())


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
    """Generate chains of stages (the paper's simulation, whose text has lost symbols).

    Parameters
    ----------
    n_users, n_items : int
        n and m.
    user_levels, item_levels : sequence of int, optional
        The numbers of levels of the categorical features, drawn evenly for each user or item; without them
        the user or item itself is the one categorical variable.
    own_factors : bool
        Whether the user or item itself is a categorical variable beside its features, the first of s or o.
    n_factors : int
        K.
    n_stages : int
        T; stage 0 is always reached.
    n_rows : int, optional
        How many rows are drawn with replacement; without it every user meets every item once.
    reading : {"chained", "summed", "exact"}
        How stages depend on q: see the module.
    noise : float
        ≥ 0, of N(0, ·), times σ_t; not used by "exact".
    noise_is : {"deviation", "variance"}
        What `noise` is.
    relative_noise : bool
        Whether σ_t is the standard deviation of p_ijt; else 1.
    shares : (float, float, float)
        Of training, validation and test.
    random_state : int, Generator or None
        Of all draws.

    Returns
    -------
    SimulatedChains
        The same for the same seed.

    Raises
    ------
    OptionError
        If an option has no meaning.

    Examples
    --------
    >>> found = simulate_chains(n_users=30, n_items=20, random_state=0)
    >>> found.table.shape, found.stages, found.taken("training").shape
    ((600, 5), ['stage0', 'stage1', 'stage2'], (60, 5))
    >>> bool((found.compute_bayes_error() < 0.1) and (np.diff(found.compute_stage_shares()) < 0).all())
    True
    """
    import pandas as pd

    n, m, k, last = (
        check_positive_integer(name, one)
        for name, one in (
            ("n_users", n_users),
            ("n_items", n_items),
            ("n_factors", n_factors),
            ("n_stages", n_stages),
        )
    )
    check_choice("reading", reading, READINGS)
    deviation = _check_nonnegative("noise", noise)
    if check_choice("noise_is", noise_is, ("deviation", "variance")) == "variance":
        deviation = np.sqrt(deviation)
    _check_shares(shares)
    rng = np.random.default_rng(random_state)
    own = check_bool("own_factors", own_factors)
    a, users = _draw_entities("user", n, user_levels, k, rng, own_factors=own)
    b, items = _draw_entities("item", m, item_levels, k, rng, own_factors=own)
    q = rng.chisquare(1, size=(last, k))
    if n_rows is None:
        user, item = (one.ravel() for one in np.indices((n, m)))
    else:
        size = check_positive_integer("n_rows", n_rows)
        user, item = rng.integers(n, size=size), rng.integers(m, size=size)
    g = a[user] * b[item]
    relative = check_bool("relative_noise", relative_noise)
    if reading == "exact":
        steps = 2.0 ** -((g @ q.T) / g.sum(axis=1, keepdims=True))
    else:
        steps = _compute_noisy_steps(g, q, reading, deviation, relative_noise=relative)
    reached = np.cumprod(rng.uniform(size=steps.shape) < steps, axis=1)
    columns = {"user": user, "item": item, "stage0": np.ones(len(user), dtype=np.int64)}
    table = pd.DataFrame(columns | {f"stage{t + 1}": reached[:, t].astype(np.int64) for t in range(last)})
    return SimulatedChains(table, users, items, _draw_parts(len(table), shares, rng), steps)


def _compute_noisy_steps(
    g: Values, q: Values, reading: str, deviation: float, *, relative_noise: bool
) -> Values:
    """Compute P(p_t + σ_t ε > 0) = Φ(p_t/(σ_t sd(ε)))."""
    from scipy.special import ndtr

    used = np.cumsum(q, axis=0) if reading == "summed" else q
    p = g @ (1.0 - used).T
    scale = deviation * (p.std(axis=0) if relative_noise else np.ones(len(q)))
    with np.errstate(divide="ignore"):  # without noise the sign decides
        return np.asarray(ndtr(p / scale))


def _draw_entities(
    kind: str, n: int, levels: Any, k: int, rng: np.random.Generator, *, own_factors: bool
) -> tuple[Values, pd.DataFrame | None]:
    """Draw a_i or b_j, and the categorical features that make it up."""
    import pandas as pd

    if levels is not None and (isinstance(levels, str) or not isinstance(levels, Iterable)):
        raise OptionError(f"{kind}_levels is {levels!r}: give a sequence of whole numbers, such as [4, 3]")
    if levels is None:
        return rng.chisquare(1, size=(n, k)), None
    found, columns = rng.chisquare(1, size=(n, k)) if own_factors else np.zeros((n, k)), {kind: np.arange(n)}
    for h, size in enumerate(levels, start=1):
        drawn = rng.integers(check_positive_integer(f"{kind}_levels", size), size=n)
        found += rng.chisquare(1, size=(size, k))[drawn]
        columns[f"{kind}_level{h}"] = np.array([f"level{one}" for one in drawn], dtype=object)
    return found, pd.DataFrame(columns)


def _check_nonnegative(name: str, value: Any) -> float:
    """Read a number that is not negative."""
    if not is_real(value) or not 0 <= value < np.inf:
        raise OptionError(f"{name} is {value!r}: give a number ≥ 0")
    return float(value)


def _check_shares(shares: Any) -> None:
    given = list(shares) if isinstance(shares, Iterable) else []
    right = len(given) == 3 and all(is_real(one) and one >= 0 for one in given)
    if right and abs(sum(given) - 1.0) <= 1e-9:
        return
    raise OptionError(f"shares are {shares!r}: give three numbers ≥ 0 that sum to 1")


def _draw_parts(
    n_rows: int, shares: tuple[float, float, float], rng: np.random.Generator
) -> NDArray[np.str_]:
    """Split rows at random into parts of the sizes asked for."""
    cuts = np.round(np.cumsum(shares) * n_rows)[:2]
    names = np.array(PARTS)[np.searchsorted(cuts, np.arange(n_rows), side="right")]
    return names[rng.permutation(n_rows)]
