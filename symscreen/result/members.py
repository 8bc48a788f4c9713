"""The members of the classes of a ranking: found by a second pass over its space, so many of each held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import contains
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.errors import TableError, quoted
from symscreen.result.kept import joined, none_kept, rounded
from symscreen.result.scoring import Keep, Scorer
from symscreen.statistics.order import order_features

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from symscreen.expansion import Space
    from symscreen.response.kinds import AnyResponse
    from symscreen.result.kept import Kept
    from symscreen.result.screened import Request, Screened
    from symscreen.statistics.order import Ordered

__all__ = ["MEMBER_COLUMNS", "Members", "check_members", "members_of", "members_record", "stored_members"]

MEMBER_COLUMNS = (
    "rank", "class_size", "member", "expression", "complexity", "layer", "direction", "relation",
)  # fmt: skip
_OF_CLASS = ("rank", "class_size")
_SLACK = 1e-9  # members of a class of affine copies share their loss up to rounding


@dataclass(frozen=True, eq=False)
class Members:
    """The members of classes.

    Parameters
    ----------
    kept : Kept
        At most so many of each class as were asked for, class by class, in the order that members have among
        themselves.
    place : int64 array, shape (m,), ascending
        The place of each member's class in the ranking.
    sizes : int64 array, shape (k,)
        How many members each entry's class has in all; 0 where the entry is not the first of its class.
    """

    kept: Kept
    place: NDArray[np.int64]
    sizes: NDArray[np.int64]


def members_of(space: Space, response: AnyResponse, request: Request, found: Screened, limit: int) -> Members:
    """Find the members of the classes of a ranking.

    Parameters
    ----------
    space : Space
        The features that were screened.
    response : Response or RankingResponse
        What they were scored against.
    request : Request
        What was asked.
    found : Screened
        What came of it.
    limit : int
        How many members of each class to hold at most; memory is bounded by that.

    Returns
    -------
    Members
        The same for every backend and chunk size.
    """
    classes = found.classes
    scorer = Scorer(space, response, request.columns, request.sign, ())
    finder = _Finder(
        scorer, found, Keep(0, classes.merged, classes.mirrored, None), _bar(request, found), limit
    )
    sizes = np.zeros(len(found.kept), dtype=np.int64)
    parts = [none_kept(len(scorer.screeners))]
    for some, counted in request.backend.map(finder, space.chunks(request.chunk_size)):
        sizes += counted
        parts.append(some)
        if sum(map(len, parts[1:])) > 2 * len(parts[0]) + (1 << 14):
            parts = [_first_of_each(joined(parts), limit)]
    kept = _first_of_each(joined(parts), limit)
    return Members(kept, kept.signature.astype(np.int64), sizes)


@dataclass(frozen=True, eq=False)
class _Finder:
    """Finds the members among the features of a range; what it returns is signed by the class's place."""

    scorer: Scorer
    found: Screened
    keep: Keep
    bar: float
    limit: int

    def __call__(self, chunk: tuple[int, int]) -> tuple[Kept, NDArray[np.int64]]:
        sizes = np.zeros(len(self.found.kept), dtype=np.int64)
        parts = [none_kept(len(self.scorer.screeners))]
        for block in self.scorer.space.blocks(*chunk):
            if not len(block.numbers):
                continue
            ordered = order_features(block.values)
            good = self._good(block.numbers, ordered)
            some = ordered.take(good)
            places = self.found.classes.places_of(some)
            members = np.flatnonzero(places >= 0)
            if not len(members):
                continue
            sizes += np.bincount(places[members], minlength=len(sizes))
            kept = self.scorer.entries(self.keep, block.numbers[good[members]], some.take(members))
            own = replace(kept, signature=places[members].astype(np.uint64))
            parts = [_first_of_each(joined([*parts, own]), self.limit)]
        return parts[0], sizes

    def _good(self, numbers: NDArray[np.int64], ordered: Ordered) -> NDArray[np.int64]:
        """Return the places of those whose loss does not keep them out of every class."""
        if np.isinf(self.bar):
            return np.arange(len(numbers))
        screener, sign = self.scorer.screeners[0], "free" if self.keep.mirrored else self.scorer.sign
        statistics = screener.statistic(ordered, self.scorer.response)
        loss = screener.loss(statistics, self.scorer.response, sign)
        return np.flatnonzero(rounded(loss) <= self.bar)


def _bar(request: Request, found: Screened) -> float:
    """Return the loss above which no feature is in a class that is shown; infinite where unknown."""
    if request.screeners[0] != request.columns[0] or not len(found.kept):
        return np.inf
    # classes that were merged for being equal up to rounding may lie a swap of two rows apart
    return np.inf if found.classes.merges else float(found.kept.loss.max()) + _SLACK


def _first_of_each(kept: Kept, limit: int) -> Kept:
    """Return the first so many members of each class, class by class."""
    kept = kept.take(kept.member_order())
    kept = kept.take(np.argsort(kept.signature, kind="stable"))
    _, first = np.unique(kept.signature, return_index=True)
    starts = np.repeat(first, np.diff([*first, len(kept)]))
    return kept.take(np.flatnonzero(np.arange(len(kept)) - starts < limit))


def members_record(table: pd.DataFrame, limit: int) -> dict[str, Any]:
    """Write the members of classes for a result's record.

    Parameters
    ----------
    table : pandas.DataFrame
        With `MEMBER_COLUMNS`, class by class.
    limit : int
        How many of each class it holds at most.

    Returns
    -------
    dict
        Of plain values.
    """
    own = [name for name in MEMBER_COLUMNS if name not in {*_OF_CLASS, "member"}]
    shown = []
    for rank, rows in table.groupby("rank", sort=True):
        members = [dict(zip(own, row, strict=True)) for row in rows[own].to_numpy(dtype=object).tolist()]
        shown.append({"rank": int(str(rank)), "class_size": int(rows.class_size.iloc[0]), "members": members})
    return {"members": limit, "shown": shown}


def stored_members(record: Mapping[str, Any], relations: Sequence[str]) -> pd.DataFrame | None:
    """Read the members of classes from a result's record.

    Parameters
    ----------
    record : mapping
        Of a result; somebody may have altered it.
    relations : sequence of str
        How a member can be related to the one shown, which comes first.

    Returns
    -------
    pandas.DataFrame or None
        What `members_record` was given; None where none are stored.

    Raises
    ------
    TableError
        If it is not as `members_record` writes it.
    """
    import pandas as pd

    if "classes" not in record:
        return None
    limit, shown = _told(record["classes"], {"members": _counts, "shown": _listed})
    rows, last = [], 0
    for one in shown:
        rank, size, members = _told(one, {"rank": _counts, "class_size": _counts, "members": _listed})
        if rank <= last or len(members) != min(limit, size):
            raise _damaged(f"the class of rank {rank} is out of order, or does not have its members")
        last = rank
        for place, member in enumerate(members, start=1):
            known = relations[:1] if place == 1 else relations[1:]
            figures = _told(member, {**_OF_MEMBER, "relation": partial(contains, known)})
            rows.append((rank, size, place, *figures))
    return pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))


def check_members(members: pd.DataFrame, table: pd.DataFrame, record: Mapping[str, Any]) -> None:
    """Refuse members of other classes than a ranking has.

    Parameters
    ----------
    members : pandas.DataFrame
        What `stored_members` returned.
    table : pandas.DataFrame
        The ranking.
    record : mapping
        Of the same result.

    Raises
    ------
    TableError
        If ranks, sizes or the formulas shown are not those of the ranking.
    """
    heads = members[members["member"] == 1]
    ranks = heads["rank"].tolist()
    whole = record["options"]["top"] != "all"  # else only the first of a class stands for it
    if (whole and ranks != list(range(1, len(table) + 1))) or (ranks and ranks[-1] > len(table)):
        raise _damaged("its classes are not those of the ranking")
    # of a search that drops features the ranking counts those that it did not drop
    exact = record["options"].get("search", "exact") == "exact"
    for rank, size, text in zip(ranks, heads["class_size"], heads["expression"], strict=True):
        shown = table.iloc[rank - 1]
        if shown["expression"] not in {text, f"({text})"}:
            raise _damaged(f"the class of rank {rank} is that of another formula")
        counted = shown["class_size"] if "class_size" in table else size
        if counted > size or (exact and counted != size):
            raise _damaged(f"the class of rank {rank} has {size} members, and in the ranking another number")


def _told(value: object, parts: Mapping[str, Callable[[Any], bool]]) -> list[Any]:
    """Return the parts of an object, each of its own kind, and no others."""
    if not isinstance(value, dict) or value.keys() != parts.keys():
        raise _damaged(f"where {', '.join(parts)} are expected, it has {quoted(value)}")
    for name, fits in parts.items():
        if not fits(value[name]):
            raise _damaged(f"{name} is {quoted(value[name])}")
    return [value[name] for name in parts]


def _damaged(what: str) -> TableError:
    return TableError(f"the record of the classes is damaged: {what}; screen again")


def _counts(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 63


def _listed(value: object) -> bool:
    return isinstance(value, list) and bool(value)


_OF_MEMBER: dict[str, Callable[[Any], bool]] = {
    "expression": lambda value: isinstance(value, str),
    "complexity": _counts,
    "layer": lambda value: type(value) is int and value >= 0,
    "direction": lambda value: value in ("+", "-", ""),
}
