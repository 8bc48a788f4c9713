"""How a space is screened: who cuts, how it is searched, and what a response allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from symscreen.errors import OptionError
from symscreen.messages import name_option, suggest
from symscreen.screeners import (
    JointScreener,
    Screener,
    check_target_support,
    parse_screeners,
    select_prescreeners,
)
from symscreen.screening.search.modes import EXACT_SEARCH, SearchConfig, SearchMode
from symscreen.targets.registry import TARGET_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.screeners import AnyScreener
    from symscreen.targets import TargetType


_DEFAULT_RISK = 1e-6


def parse_pool_screeners(
    cut: str | Sequence[str | AnyScreener] | None,
    keep: object,
    shorthand: Mapping[str, object],
    target_type: TargetType = "numeric",
) -> tuple[AnyScreener, ...]:
    """Read who cuts between layers.

    Parameters
    ----------
    cut : str, sequence or None
        Screeners, as `parse_screeners` reads them; None for T0 and ξ where `keep` is given (against
        what ξ does not take T0 alone), else for no cuts.
    keep : object
        How many stay, if it is not None.
    shorthand : mapping
        Settings; those that no cutting screener has are left for others.
    target_type : Kind
        What the response is.

    Returns
    -------
    tuple of Screener or JointScreener

    Raises
    ------
    OptionError
        If column screeners are to cut and nobody says how many they keep, a joint one selects nothing, or one
        does not take the response.
    """
    if cut is None and keep is None:
        return ()
    cutters = parse_screeners(
        TARGET_TYPES[target_type].pool_screeners if cut is None else cut, shorthand, allow_unused=True
    )
    check_target_support(cutters, target_type)
    if keep is None and any(isinstance(one, Screener) for one in cutters):
        names = ", ".join(one.name for one in cutters if isinstance(one, Screener))
        raise OptionError(
            f"cut by {names}: say how many features stay, for instance {name_option('keep', 200)}"
        )
    cutters = tuple(one if isinstance(one, Screener) else one.pruning_screener for one in cutters)
    for one in cutters:
        if isinstance(one, JointScreener) and one.all_settings.get("rule") == "none":
            raise OptionError(f"cut by {one.name}: with rule=none it selects nothing; name a rule")
    return cutters


def check_prescreen_size(
    screeners: Sequence[AnyScreener], prescreen: int, n_rows: int, n_labels: int = 2
) -> None:
    """Refuse to show a joint screener more features than it can take.

    Raises
    ------
    OptionError
        If `prescreen` is more than one of them takes of so many rows, and so many labels in a ranking.
    """
    ranking = f" that rank {n_labels} labels" if n_labels > 2 else ""
    for one in screeners:
        if isinstance(one, JointScreener) and prescreen > (
            most := one.compute_max_features(n_rows, n_labels)
        ):
            raise OptionError(
                f"prescreen is {prescreen:,}, but {one.name} takes at most {most:,} features of {n_rows:,} "
                f"rows{ranking}"
            )


def parse_search(mode: str, risk: float | None, screeners: Sequence[AnyScreener]) -> SearchConfig:
    """Read how the space is searched.

    Parameters
    ----------
    mode : str
        ``exact``, ``race`` or ``sieve``.
    risk : float or None
        Of a race; None for one in a million.
    screeners : sequence of Screener or JointScreener
        Those asked for.

    Returns
    -------
    Search

    Raises
    ------
    OptionError
        If there is no such mode, the risk is not a probability or the mode has none, or the race has no bound
        for the screener that ranks.

    Examples
    --------
    >>> from symscreen.screeners import SCREENERS
    >>> parse_search("race", 0.01, [SCREENERS["t0"]])
    SearchConfig(mode='race', risk=0.01)
    """
    modes = get_args(SearchMode)
    if mode not in modes:
        raise OptionError(f"search is {mode!r}{suggest(str(mode), modes)}")
    if risk is not None and mode != "race":
        raise OptionError(
            f"risk is {risk!r}, but {mode} takes none: only {name_option('search', 'race')} states a risk"
        )
    if mode == "exact":
        return EXACT_SEARCH
    if mode == "sieve":
        return SearchConfig("sieve")
    leaders = select_prescreeners(screeners)
    if not all(one.is_pairwise for one in leaders):
        names = ", ".join(one.name for one in leaders)
        raise OptionError(
            f"{name_option('search', 'race')} has no bound for {names}: put t0 first among the column "
            f"screeners, or use {name_option('search', 'sieve')}"
        )
    risk = _DEFAULT_RISK if risk is None else risk
    if isinstance(risk, bool) or not isinstance(risk, int | float) or not 0.0 < risk < 1.0:
        raise OptionError(f"risk is {risk!r}; give a probability between 0 and 1, such as 1e-6")
    return SearchConfig("race", float(risk))
