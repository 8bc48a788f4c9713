"""The efforts of a fit, and the limits of the search at each of them.

An effort is counted and never timed: it limits formulas, pairs and candidates, so that the same input gives
the same result on any machine. Each effort searches what the one before searches, and more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symscreen._option_values import EffortName


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Limits of the search of a fit.

    Parameters
    ----------
    pool_formulas : int
        Formulas of the inputs in the pool of the searches for laws.
    deep_pool_formulas : int
        Formulas in the deep pool, see `symscreen.fitting.laws.deep_pool`; 0 for no deep pool.
    n_law_stages : int or None
        Number of searches for laws, cheapest first; None for all.
    n_refined_laws : int
        Laws of each search whose inner constants are fitted again.
    ends_early : bool
        Whether a law or a model that leaves nothing to explain ends the search.
    layer_candidates, layer_values : int
        Candidates of a layer of the default schedule, and their values in all rows. Larger layers are
        skipped.
    broad_share : float
        Share of these limits for the layers of a grammar with a narrower one.
    exhaustive_features : int
        Features of a space whose subsets of up to three are all tried.
    core_features : int
        Simple features that each feature of a larger space is combined with.
    pair_features : int
        Features of a larger space whose pairs are all tried.
    four_term_features : int
        Features whose subsets of four are all tried.
    grouped_candidates : int
        Candidates for the terms of a fit of groups.
    """

    pool_formulas: int
    deep_pool_formulas: int
    n_law_stages: int | None
    n_refined_laws: int
    ends_early: bool
    layer_candidates: int
    layer_values: int
    broad_share: float
    exhaustive_features: int
    core_features: int
    pair_features: int
    four_term_features: int
    grouped_candidates: int


EFFORTS: dict[EffortName, Effort] = {
    "quick": Effort(
        pool_formulas=10_000,
        deep_pool_formulas=0,
        n_law_stages=2,
        n_refined_laws=4,
        ends_early=True,
        layer_candidates=5_000,
        layer_values=1_200_000_000,
        broad_share=0.05,
        exhaustive_features=100,
        core_features=20,
        pair_features=0,
        four_term_features=40,
        grouped_candidates=5_000,
    ),
    # layers of three million candidates take seconds rather than minutes
    "default": Effort(
        pool_formulas=50_000,
        deep_pool_formulas=0,
        n_law_stages=None,
        n_refined_laws=8,
        ends_early=True,
        layer_candidates=3_000_000,
        layer_values=1_200_000_000,
        broad_share=0.05,
        exhaustive_features=500,
        core_features=40,
        pair_features=0,
        four_term_features=100,
        grouped_candidates=18_000,
    ),
    "thorough": Effort(
        pool_formulas=50_000,
        deep_pool_formulas=10_000_000,
        n_law_stages=None,
        n_refined_laws=24,
        ends_early=False,
        layer_candidates=30_000_000,
        layer_values=12_000_000_000,
        broad_share=0.5,
        exhaustive_features=800,
        core_features=60,
        pair_features=100_000,
        four_term_features=150,
        grouped_candidates=50_000,
    ),
}
"""The efforts by name, smallest first."""


def limit_effort(effort: Effort) -> Effort:
    """Return an effort with the pools and subsets of a quick search, whose stages and layers stay."""
    quick = EFFORTS["quick"]
    return replace(
        effort,
        pool_formulas=quick.pool_formulas,
        n_refined_laws=quick.n_refined_laws,
        exhaustive_features=quick.exhaustive_features,
        core_features=quick.core_features,
        pair_features=quick.pair_features,
        four_term_features=quick.four_term_features,
    )
