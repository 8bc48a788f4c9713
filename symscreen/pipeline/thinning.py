"""Near-duplicates left out of a ranking: where ranks nearly agree, the best feature stands for the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import OptionError, SpaceError
from symscreen.expression import to_text
from symscreen.pipeline.rounds import rounds_of
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.pipeline.rounds import Job, Round
    from symscreen.result.kept import Kept
    from symscreen.table import Table

__all__ = ["Thinned", "check_distinct", "looked_through", "rounds_thinned", "thinned"]

_WIDER = 16  # classes looked at first for each one wanted; then eight times as many, and so on
_MOST = 1 << 16
_LISTED = 100  # near-duplicates that the record names for one feature
_EXACT_ROWS = 1 << 20  # sums of products of twice the ranks stay below 2⁶³
_VALUED_AT_A_TIME = 1 << 20


def check_distinct(cap: float | None, top: int | str, rounds: int, stability: int | None) -> None:
    """Refuse a cap on rank correlations that has no meaning.

    Parameters
    ----------
    cap : float or None
        The option `distinct`.
    top, rounds, stability
        Of the same screen.

    Raises
    ------
    OptionError
        If the cap is not between 0 and 1, or something else is asked for that does not go with it.
    """
    if cap is None:
        return
    if isinstance(cap, bool) or not isinstance(cap, int | float) or not 0.0 < cap < 1.0:
        raise OptionError(f"distinct is {cap!r}; give a rank correlation between 0 and 1, such as 0.99")
    if top == "all":
        raise OptionError("--top all shows every feature, --distinct leaves some out: give --top a number")
    if rounds != 1:
        raise OptionError(f"--distinct thins one round, and --rounds is {rounds}: leave one of them out")
    if stability is not None:
        raise OptionError(
            "--stability counts places in the whole ranking, which --distinct thins: leave one of them out"
        )


def rounds_thinned(
    table: Table, job: Job, rounds: int, cap: float | None
) -> tuple[list[Round], dict[str, Any] | None]:
    """Screen a table, and thin what is shown where a cap is given.

    Parameters
    ----------
    table : Table
        The data.
    job : Job
        What to do.
    rounds : int
        How many rounds at most; 1 where there is a cap.
    cap : float or None
        The largest |Spearman's rank correlation| that two features shown may have; None for any.

    Returns
    -------
    list of Round
        With a cap, features that are shown have a column ``stands_for``: for how many left out.
    dict or None
        For the record, with a cap: how many classes were looked at, and who stands for whom.

    Notes
    -----
    The ranking of classes is gone through from the best down. A class is shown if no better one that is shown
    correlates with it above the cap; else the best of those stands for it. So many classes are looked at that
    K are shown, if the space has them, up to 65,536: what is shown is what the whole ranking would give.
    """
    if cap is None:
        return rounds_of(table, job, rounds), None
    found, wanted = looked_through(table, job, cap), job.request.limit
    own = found.found
    assert wanted is not None  # noqa: S101  # the options were refused otherwise
    notices = _notices(len(found.chosen), wanted, len(own.screened.kept), cap, found.bound)
    # what passes the false discovery rate, where one is asked for
    shown = np.intersect1d(found.chosen, own.shown)
    return [_marked(own, shown, found.stands_in, notices)], _told(own, shown, found.stands_in, cap)


@dataclass(frozen=True, eq=False)
class Thinned:
    """A ranking that was looked through from the best down.

    Parameters
    ----------
    found : Round
        The classes that were looked at, and perhaps more.
    chosen : int64 array
        Places of those shown, ascending.
    stands_in : int64 array, shape (m,)
        For each class looked at the place of the one that stands for it.
    bound : str
        What kept it from looking further; empty where nothing did.
    """

    found: Round
    chosen: NDArray[np.int64]
    stands_in: NDArray[np.int64]
    bound: str


def looked_through(table: Table, job: Job, cap: float) -> Thinned:
    """Look through so much of a ranking that as many features as wanted are shown.

    Parameters
    ----------
    table, job
        As of `rounds_thinned`.
    cap : float
        Between 0 and 1.

    Returns
    -------
    Thinned
    """
    wanted = job.request.limit
    assert wanted is not None  # noqa: S101  # the options were refused otherwise
    found: list[Round] = []
    wide, notice = min(_WIDER * wanted, max(_MOST, wanted)), ""
    while True:
        request = replace(job.request, limit=wide)
        try:
            found = rounds_of(table, replace(job, request=request), 1)
        except SpaceError:
            if not found:
                raise
            notice = "the memory allowed"
            break
        kept = found[0].screened.kept
        shown, stands_in = thinned(found[0].space, kept, wanted, cap)
        if len(shown) == wanted or len(kept) < wide:
            break
        if wide >= _MOST:
            notice = "what is kept of a ranking"
            break
        wide = min(8 * wide, _MOST)
    return Thinned(found[0], shown, stands_in, notice)


def thinned(space: Space, kept: Kept, wanted: int, cap: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose features from the best down, none of which correlates with a better chosen one above a cap.

    Parameters
    ----------
    space : Space
        The features.
    kept : Kept
        Classes, best first.
    wanted : int
        How many to choose at most.
    cap : float
        Between 0 and 1.

    Returns
    -------
    chosen : int64 array
        Places, ascending.
    stands_in : int64 array, shape (m,)
        For each class looked at, up to the last one chosen, the place of the one that stands for it.
    """
    n = space.rows
    kind = np.int64 if n <= _EXACT_ROWS else np.float64
    ranks, spread = np.empty((wanted, n), dtype=kind), np.empty(wanted)
    chosen, stands_in = list[int](), list[int]()
    step = max(1, _VALUED_AT_A_TIME // max(1, n))
    for start in range(0, len(kept), step):
        values = space.values(kept.number[start : start + step])
        for own in order_features(values).doubled_ranks.astype(kind) - (n + 1):
            size = float((own * own).sum()) ** 0.5
            products = (ranks[: len(chosen)] * own).sum(axis=1)
            near = np.flatnonzero(np.round(np.abs(products) / (spread[: len(chosen)] * size), 12) > cap)
            stands_in.append(chosen[near[0]] if len(near) else len(stands_in))
            if len(near):
                continue
            ranks[len(chosen)], spread[len(chosen)] = own, size
            chosen.append(len(stands_in) - 1)
            if len(chosen) == wanted:
                return np.array(chosen), np.array(stands_in)
    return np.array(chosen, dtype=np.int64), np.array(stands_in, dtype=np.int64)


def _marked(
    found: Round, shown: NDArray[np.int64], stands_in: NDArray[np.int64], notices: tuple[str, ...]
) -> Round:
    """Show what was chosen, and count what each stands for."""
    counts = np.zeros(len(found.screened.kept), dtype=np.int64)
    counts[: len(stands_in)] = np.bincount(stands_in, minlength=len(stands_in))
    screened = replace(found.screened, columns=found.screened.columns | {"stands_for": counts - 1})
    return replace(found, screened=screened, shown=shown, notices=(*found.notices, *notices))


def _notices(shown: int, wanted: int, looked_at: int, cap: float, bound: str) -> tuple[str, ...]:
    if shown == wanted:
        return ()
    if bound:
        few = f"no more than the best {looked_at:,} classes were looked at ({bound})"
        return (f"distinct: {shown} of {wanted} are shown, for {few}",)
    return (f"distinct: of {looked_at:,} classes only {shown} have no rank correlation above {cap:g}",)


def _told(found: Round, shown: NDArray[np.int64], stands_in: NDArray[np.int64], cap: float) -> dict[str, Any]:
    """Write down who stands for whom."""
    listed = []
    for rank, place in enumerate(shown.tolist(), start=1):
        others = np.flatnonzero(stands_in == place)
        others = others[others != place]
        if len(others):
            numbers = found.screened.kept.number[others[:_LISTED]].tolist()
            texts = [to_text(found.space.expression(number)) for number in numbers]
            places = (others[:_LISTED] + 1).tolist()
            near = [{"place": at, "expression": text} for at, text in zip(places, texts, strict=True)]
            listed.append({"rank": rank, "stands_for": len(others), "features": near})
    return {"cap": cap, "classes_looked_at": len(stands_in), "shown": listed}
