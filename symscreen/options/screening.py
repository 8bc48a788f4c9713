"""How a space is screened: who cuts, how it is searched, and what a response allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from symscreen.errors import OptionError, nearest
from symscreen.response import KINDS
from symscreen.screeners import JointScreener, Screener, leaders_of, require_accepting, screeners_asked
from symscreen.search import EXACT, Mode, Search

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.response import Kind
    from symscreen.screeners import AnyScreener

__all__ = ["PRESCREEN", "check_capacity", "check_kind", "read_cutters", "read_search"]

PRESCREEN = 1000  # features that joint screeners are shown, unless told otherwise
_RISK = 1e-6
# T0 alone would cut what turns, such as exp(a) - exp(b)
_CUT: dict[Kind, str] = {
    "numeric": "t0,xi",
    "classes": "t0,xi",
    "several": "t0,xi",
    "ranking": "t0",
    "stages": "t0",
    "survival": "t0",
    "weighted": "t0",
}
_WITHOUT_SIGN: dict[Kind, tuple[str, str]] = {
    "ranking": ("--ranking", "with an order"),
    "stages": ("--stages", "with all pairs of stages alike"),
    "classes": ("classes", "with several of them alike; give two as the numbers 0 and 1"),
    "several": ("several targets", "with all of them alike"),
}


def read_cutters(
    cut: str | Sequence[str | AnyScreener] | None,
    keep: object,
    shorthand: Mapping[str, object],
    kind: Kind = "numeric",
) -> tuple[AnyScreener, ...]:
    """Read who cuts between layers.

    Parameters
    ----------
    cut : str, sequence or None
        Screeners, as `screeners_asked` reads them; None for T0 and ξ where `keep` is given (against
        what ξ does not take T0 alone), else for no cuts.
    keep : object
        How many stay, if it is not None.
    shorthand : mapping
        Settings; those that no cutting screener has are left for others.
    kind : Kind
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
    cutters = screeners_asked(_CUT[kind] if cut is None else cut, shorthand, partly=True)
    require_accepting(cutters, kind)
    if keep is None and any(isinstance(one, Screener) for one in cutters):
        names = ", ".join(one.name for one in cutters if isinstance(one, Screener))
        raise OptionError(f"cut by {names}: say how many features stay, for instance --keep 200")
    cutters = tuple(one if isinstance(one, Screener) else one.cutter for one in cutters)
    for one in cutters:
        if isinstance(one, JointScreener) and one.all_settings.get("rule") == "none":
            raise OptionError(f"cut by {one.name}: with rule=none it selects nothing; name a rule")
    return cutters


def check_capacity(screeners: Sequence[AnyScreener], prescreen: int, rows: int, labels: int = 2) -> None:
    """Refuse to show a joint screener more features than it can take.

    Raises
    ------
    OptionError
        If `prescreen` is more than one of them takes of so many rows, and so many labels in a ranking.
    """
    ranking = f" that rank {labels} labels" if labels > 2 else ""
    for one in screeners:
        if isinstance(one, JointScreener) and prescreen > (most := one.most_features(rows, labels)):
            raise OptionError(
                f"prescreen is {prescreen:,}, but {one.name} takes at most {most:,} features of {rows:,} "
                f"rows{ranking}"
            )


def read_search(
    mode: str, risk: float | None, screeners: Sequence[AnyScreener], limit: int | None, rounds: int
) -> Search:
    """Read how the space is searched.

    Parameters
    ----------
    mode : str
        ``exact``, ``race`` or ``sieve``.
    risk : float or None
        Of a race; None for one in a million.
    screeners : sequence of Screener or JointScreener
        Those asked for.
    limit : int or None
        How many classes are shown; None for every feature.
    rounds : int
        Of the screen.

    Returns
    -------
    Search

    Raises
    ------
    OptionError
        If there is no such mode; if the risk is none, or nothing that races; or if a search that drops
        features cannot give what is asked.

    Examples
    --------
    >>> from symscreen.screeners import SCREENERS
    >>> read_search("race", 0.01, [SCREENERS["t0"]], 20, 1)
    Search(mode='race', risk=0.01)
    """
    modes = get_args(Mode)
    if mode not in modes:
        raise OptionError(f"search is {mode!r}{nearest(str(mode), modes)}")
    if risk is not None and mode != "race":
        raise OptionError(f"risk is {risk!r}, but {mode} takes none: only --search race states a risk")
    if mode == "exact":
        return EXACT
    if limit is None:
        raise OptionError(
            f"--top all shows every feature, and --search {mode} drops most: use --search exact"
        )
    if rounds > 1:
        raise OptionError(
            f"--rounds {rounds} needs every feature's place, and --search {mode} drops most: use --search "
            "exact"
        )
    if mode == "sieve":
        return Search("sieve")
    leaders = leaders_of(screeners)
    if not all(one.by_pairs for one in leaders):
        names = ", ".join(one.name for one in leaders)
        raise OptionError(
            f"--search race has no bound for {names}: put t0 first among the column screeners, or use "
            "--search sieve"
        )
    risk = _RISK if risk is None else risk
    if isinstance(risk, bool) or not isinstance(risk, int | float) or not 0.0 < risk < 1.0:
        raise OptionError(f"risk is {risk!r}; give a probability between 0 and 1, such as 1e-6")
    return Search("race", float(risk))


def check_kind(kind: Kind, sign: str, mode: str, rounds: int) -> None:
    """Refuse what has no meaning where the response is not numeric.

    Parameters
    ----------
    kind : Kind
        What the response is.
    sign, mode, rounds
        The options `sign`, `search` and `rounds` of a screen.

    Raises
    ------
    OptionError
        If the sign is positive, some features would be dropped early, or there is more than one round.
    """
    if kind == "numeric":
        return
    if sign == "positive" and kind not in {"survival", "weighted"}:
        option, whose = _WITHOUT_SIGN[kind]
        raise OptionError(
            f"--sign positive has no meaning with {option}: a feature does not rise or fall {whose}; "
            "leave it out"
        )
    if mode != "exact":
        why = (
            f"has no bound for {KINDS[kind]}, only for a numeric response"
            if mode == "race"
            else f"drops features by a sample of the rows of a numeric response, and {KINDS[kind]} is none"
        )
        raise OptionError(f"--search {mode} {why}: use --search exact")
    if rounds > 1:
        raise OptionError(
            f"--rounds {rounds} needs a numeric response, of which a model leaves something; {KINDS[kind]} "
            "is screened in one round"
        )
