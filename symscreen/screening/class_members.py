"""The members of the classes of a ranking: found by a second pass over its space, so many of each held.

Other ways in which a space writes a feature: candidates that were left out as equal to it by algebra.

Who is behind each feature that a screen shows, and how each member of its class is related to it.

`symscreen.classes`: the members of the classes of a ranking, stored with it or found again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import contains
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.parsing import check_positive_int
from symscreen.errors import DataError, InputError, OptionError, quote_value
from symscreen.evaluation import find_affine_copies
from symscreen.expansion import CandidateStatus, is_equal_to_rounding
from symscreen.export import build_operators_from_record
from symscreen.expressions.tree import compute_complexity, parse_expression, to_text
from symscreen.screening.inference.redundancy import run_non_redundant_rounds
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec
from symscreen.screening.scoring.top_features import (
    concatenate_features,
    make_empty_features,
    round_sort_keys,
)
from symscreen.screening.stored_screens import prepare_from_record
from symscreen.statistics.ranks.sorted_block import sort_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.backends import Backend
    from symscreen.evaluation.evaluate import RankedResult
    from symscreen.expansion import Space
    from symscreen.expressions.tree import Expression
    from symscreen.screening.residual_rounds import RoundResult
    from symscreen.screening.scoring.score_space import ScoringConfig, ScoringResult
    from symscreen.screening.scoring.top_features import FeatureTable
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.registry import Target

    Matches = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]

__all__ = [
    "MEMBER_COLUMNS",
    "RELATIONS",
    "ClassMembers",
    "build_members_record",
    "check_members",
    "classes",
    "classify_relations",
    "find_class_members",
    "find_equivalent_forms",
    "list_class_members",
    "read_members_record",
]

MEMBER_COLUMNS = (
    "rank", "class_size", "member", "expression", "complexity", "layer", "direction", "relation",
)  # fmt: skip
_CLASS_COLUMNS = ("rank", "class_size")
_LOSS_TOLERANCE = 1e-9  # members of a class of affine copies share their loss up to rounding


@dataclass(frozen=True, eq=False)
class ClassMembers:
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

    features: FeatureTable
    class_indices: NDArray[np.int64]
    class_sizes: NDArray[np.int64]


def find_class_members(
    space: Space, target: Target, scoring: ScoringConfig, scoring_result: ScoringResult, limit: int
) -> ClassMembers:
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
    classes = scoring_result.classes
    scorer = Scorer(space, target, scoring.column_screeners, scoring.sign, ())
    finder = _ClassMemberFinder(
        scorer,
        scoring_result,
        TopKSpec(0, classes.equivalence, classes.mirrored, None),
        _compute_loss_threshold(scoring, scoring_result),
        limit,
    )
    sizes = np.zeros(len(scoring_result.features), dtype=np.int64)
    parts = [make_empty_features(len(scorer.screeners))]
    for some, counted in scoring.backend.map(finder, space.split_chunks(scoring.chunk_size)):
        sizes += counted
        parts.append(some)
        if sum(map(len, parts[1:])) > 2 * len(parts[0]) + (1 << 14):
            parts = [_take_first_per_class(concatenate_features(parts), limit)]
    kept = _take_first_per_class(concatenate_features(parts), limit)
    return ClassMembers(kept, kept.signature.astype(np.int64), sizes)


@dataclass(frozen=True, eq=False)
class _ClassMemberFinder:
    """Finds the members among the features of a range; what it returns is signed by the class's place."""

    scorer: Scorer
    scoring_result: ScoringResult
    spec: TopKSpec
    threshold: float
    limit: int

    def __call__(self, chunk: tuple[int, int]) -> tuple[FeatureTable, NDArray[np.int64]]:
        sizes = np.zeros(len(self.scoring_result.features), dtype=np.int64)
        parts = [make_empty_features(len(self.scorer.screeners))]
        for block in self.scorer.space.evaluate_range(*chunk):
            if not len(block.numbers):
                continue
            ordered = sort_block(block.values)
            good = self._find_passing(block.numbers, ordered)
            some = ordered.take(good)
            places = self.scoring_result.classes.find_positions(some)
            members = np.flatnonzero(places >= 0)
            if not len(members):
                continue
            sizes += np.bincount(places[members], minlength=len(sizes))
            kept = self.scorer.describe_features(self.spec, block.numbers[good[members]], some.take(members))
            own = replace(kept, signature=places[members].astype(np.uint64))
            parts = [_take_first_per_class(concatenate_features([*parts, own]), self.limit)]
        return parts[0], sizes

    def _find_passing(self, numbers: NDArray[np.int64], block: SortedBlock) -> NDArray[np.int64]:
        """Return the places of those whose loss does not keep them out of every class."""
        if np.isinf(self.threshold):
            return np.arange(len(numbers))
        screener, sign = self.scorer.screeners[0], "free" if self.spec.mirrored else self.scorer.sign
        statistics = screener.statistic(block, self.scorer.target)
        loss = screener.loss(statistics, self.scorer.target, sign)
        return np.flatnonzero(round_sort_keys(loss) <= self.threshold)


def _compute_loss_threshold(scoring: ScoringConfig, scoring_result: ScoringResult) -> float:
    """Return the loss above which no feature is in a class that is shown; infinite where unknown."""
    if scoring.screeners[0] != scoring.column_screeners[0] or not len(scoring_result.features):
        return np.inf
    # classes that were merged for being equal up to rounding may lie a swap of two rows apart
    return (
        np.inf
        if scoring_result.classes.has_merged_entries
        else float(scoring_result.features.loss.max()) + _LOSS_TOLERANCE
    )


def _take_first_per_class(features: FeatureTable, limit: int) -> FeatureTable:
    """Return the first so many members of each class, class by class."""
    features = features.take(features.compute_member_order())
    features = features.take(np.argsort(features.signature, kind="stable"))
    _, first = np.unique(features.signature, return_index=True)
    starts = np.repeat(first, np.diff([*first, len(features)]))
    return features.take(np.flatnonzero(np.arange(len(features)) - starts < limit))


def build_members_record(table: pd.DataFrame, limit: int) -> dict[str, Any]:
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
    own = [name for name in MEMBER_COLUMNS if name not in {*_CLASS_COLUMNS, "member"}]
    shown = []
    for rank, rows in table.groupby("rank", sort=True):
        members = [dict(zip(own, row, strict=True)) for row in rows[own].to_numpy(dtype=object).tolist()]
        shown.append({"rank": int(str(rank)), "class_size": int(rows.class_size.iloc[0]), "members": members})
    return {"members": limit, "shown": shown}


def read_members_record(record: Mapping[str, Any], relations: Sequence[str]) -> pd.DataFrame | None:
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
        What `build_members_record` was given; None where none are stored.

    Raises
    ------
    TableError
        If it is not as `build_members_record` writes it.
    """
    import pandas as pd

    if "classes" not in record:
        return None
    limit, shown = _read_fields(record["classes"], {"members": _is_count, "shown": _is_filled_list})
    rows, last = [], 0
    for one in shown:
        rank, size, members = _read_fields(
            one, {"rank": _is_count, "class_size": _is_count, "members": _is_filled_list}
        )
        if rank <= last or len(members) != min(limit, size):
            raise _make_damage_error(
                f"the class of rank {rank} is out of order, or does not have its members"
            )
        last = rank
        for place, member in enumerate(members, start=1):
            known = relations[:1] if place == 1 else relations[1:]
            figures = _read_fields(member, {**_MEMBER_CHECKS, "relation": partial(contains, known)})
            rows.append((rank, size, place, *figures))
    return pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))


def check_members(members: pd.DataFrame, table: pd.DataFrame, record: Mapping[str, Any]) -> None:
    """Refuse members of other classes than a ranking has.

    Parameters
    ----------
    members : pandas.DataFrame
        What `read_members_record` returned.
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
        raise _make_damage_error("its classes are not those of the ranking")
    # of a search that drops features the ranking counts those that it did not drop
    exact = record["options"].get("search", "exact") == "exact"
    for rank, size, text in zip(ranks, heads["class_size"], heads["expression"], strict=True):
        shown = table.iloc[rank - 1]
        if shown["expression"] not in {text, f"({text})"}:
            raise _make_damage_error(f"the class of rank {rank} is that of another formula")
        counted = shown["class_size"] if "class_size" in table else size
        if counted > size or (exact and counted != size):
            raise _make_damage_error(
                f"the class of rank {rank} has {size} members, and in the ranking another number"
            )


def _read_fields(value: object, checks: Mapping[str, Callable[[Any], bool]]) -> list[Any]:
    """Return the parts of an object, each of its own kind, and no others."""
    if not isinstance(value, dict) or value.keys() != checks.keys():
        raise _make_damage_error(f"where {', '.join(checks)} are expected, it has {quote_value(value)}")
    for name, fits in checks.items():
        if not fits(value[name]):
            raise _make_damage_error(f"{name} is {quote_value(value[name])}")
    return [value[name] for name in checks]


def _make_damage_error(reason: str) -> DataError:
    return DataError(f"the record of the classes is damaged: {reason}; screen again")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 63


def _is_filled_list(value: object) -> bool:
    return isinstance(value, list) and bool(value)


_MEMBER_CHECKS: dict[str, Callable[[Any], bool]] = {
    "expression": lambda value: isinstance(value, str),
    "complexity": _is_count,
    "layer": lambda value: type(value) is int and value >= 0,
    "direction": lambda value: value in ("+", "-", ""),
}


_CHUNK_CANDIDATES = 1 << 16


@dataclass(frozen=True, eq=False)
class _EquivalentFormFinder:
    """Finds the duplicates of some features in a range of candidates."""

    space: Space
    keys: NDArray[np.uint64]  # ascending by their first word

    def __call__(self, span: tuple[int, int]) -> Matches:
        """Return places among the keys, numbers and complexities."""
        start, stop = span
        numbers = (
            self.space.n_materialized
            + start
            + np.flatnonzero(self.space.statuses[start:stop] == CandidateStatus.DUPLICATE)
        )
        if not len(numbers):
            return np.zeros(0, dtype=np.int64), numbers, np.zeros(0, dtype=np.int32)
        features = self.space.get_metadata(numbers)
        places = np.full(len(numbers), -1)
        at = np.searchsorted(self.keys[:, 0], features.keys[:, 0], side="left")
        while (inside := at < len(self.keys)).any():
            same = inside.copy()
            same[inside] = self.keys[at[inside], 0] == features.keys[inside, 0]
            if not same.any():
                break
            equal = same.copy()
            equal[same] = self.keys[at[same], 1] == features.keys[same, 1]
            places[equal] = at[equal]
            at = np.where(same, at + 1, len(self.keys))
        good = places >= 0
        return places[good], numbers[good], features.complexity[good]


def find_equivalent_forms(
    space: Space, numbers: NDArray[np.int64], limit: int, backend: Backend
) -> list[list[str]]:
    """List other ways in which the last layer writes some features.

    Parameters
    ----------
    space : Space
        The features.
    numbers : int64 array, shape (m,)
        Those asked about.
    limit : int
        How many ways to list for each at most: the simplest, then by their place in the layer.
    backend : Backend
        Where candidates are looked at.

    Returns
    -------
    list of list of str, length m
        Formulas equal by algebra, which the space has left out as duplicates. Those of earlier layers are not
        kept, and not listed.
    """
    keys = space.get_metadata(numbers).keys
    order = np.argsort(keys[:, 0], kind="stable")
    total = space.candidates.total
    spans = [(start, min(start + _CHUNK_CANDIDATES, total)) for start in range(0, total, _CHUNK_CANDIDATES)]
    speller = _EquivalentFormFinder(space, keys[order])
    found: list[list[tuple[int, int]]] = [[] for _ in order]
    for places, others, complexity in backend.map(speller, spans):
        for place, number, cost in zip(places.tolist(), others.tolist(), complexity.tolist(), strict=True):
            own = found[order[place]]
            own.append((cost, number))
            if len(own) > 2 * limit:
                own[:] = sorted(own)[:limit]
    pairs = zip(found, numbers.tolist(), strict=True)
    return [list(_format_forms(space, sorted(own), number, limit)) for own, number in pairs]


def _format_forms(space: Space, matches: list[tuple[int, int]], feature: int, limit: int) -> Iterator[str]:
    """Write them, leaving out what is written as the feature is, or as another one."""
    seen = {to_text(space.build_expression(feature))}
    for _, number in matches[:limit]:
        text = to_text(space.build_expression(number))
        if text not in seen:
            seen.add(text)
            yield text


RELATIONS = {
    "shown": "stands for its class",
    "same formula": "equal by algebra",
    "same values": "equal on these rows, not by algebra",
    "affine copy": "a*shown + b on these rows",
    "same ranks": "the same order of the rows",
    "mirrored ranks": "the reversed order of the rows",
    "rounding": "the same but for rows that rounding ties or swaps",
}
_AFFINE_TOLERANCE = 1e-9  # of the spread: what an affine copy may be off by for rounding
_BLOCK_VALUES = 1 << 22


def list_class_members(
    round_results: Sequence[RoundResult], scoring: ScoringConfig, limit: int, spellings: int = 0
) -> pd.DataFrame:
    """List the members of the classes that a screen shows.

    Parameters
    ----------
    found : sequence of Round
        What the rounds of the screen found.
    request : Request
        What was asked.
    limit : int
        How many members of each class to list at most.
    spellings : int
        How many other ways of writing each member to list at most.

    Returns
    -------
    pandas.DataFrame
        One row a member: ``rank`` (of the class in the ranking), ``class_size``, ``member`` (1 for the one
        shown), ``expression``, ``complexity``, ``layer``, ``direction``, ``relation`` (a key of
        `RELATIONS`). Classes in their order; in each the member that is shown first, then the others by
        |Pearson's correlation| with the response and complexity. With spellings a column ``also_written``:
        lists of formulas.
    """
    import pandas as pd

    frames, shown = [], 0
    for each in round_results:
        frames.append(_list_round_members(each, scoring, limit, shown, spellings))
        shown += len(each.shown_indices)
    return pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def _list_round_members(
    round_result: RoundResult, scoring: ScoringConfig, limit: int, n_before: int, spellings: int
) -> pd.DataFrame:
    import pandas as pd

    space, kept = round_result.space, round_result.scoring_result.features
    members = find_class_members(space, round_result.target, scoring, round_result.scoring_result, limit)
    rows: list[dict[str, Any]] = []
    listed: list[int] = []
    for rank, place in enumerate(round_result.shown_indices.tolist(), start=n_before + 1):
        if not members.class_sizes[place]:
            continue  # where every feature is shown, only the first of a class stands for it
        own = members.features.take(np.flatnonzero(members.class_indices == place))
        head = int(kept.number[place])
        own = own.take(np.flatnonzero(own.number != head)).take_first(limit - 1)
        numbers = np.concatenate(([head], own.number))
        listed += numbers.tolist()
        features = space.get_metadata(numbers)
        expressions = [space.build_expression(number) for number in numbers.tolist()]
        relations = ["shown", *_find_relations(space, numbers, expressions)]
        for at, relation in enumerate(relations):
            sign = int(kept.direction[place] if at == 0 else own.direction[at - 1])
            rows.append(
                {
                    "rank": rank,
                    "class_size": int(members.class_sizes[place]),
                    "member": at + 1,
                    "expression": to_text(expressions[at]),
                    "complexity": int(features.complexity[at]),
                    "layer": int(features.layer[at]),
                    "direction": {1: "+", -1: "-"}.get(sign, ""),
                    "relation": relation,
                }
            )
    table = pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))
    if spellings:
        table["also_written"] = find_equivalent_forms(
            space, np.array(listed, dtype=np.int64), spellings, scoring.backend
        )
    return table


def _find_relations(space: Space, numbers: NDArray[np.int64], expressions: Sequence[Expression]) -> list[str]:
    """Tell how each feature but the first is related to the first, some at a time."""
    head, found = space.compute_values(numbers[:1])[0], list[str]()
    for start in range(1, len(numbers), step := max(1, _BLOCK_VALUES // max(1, space.n_rows))):
        found += classify_relations(head, space.compute_values(numbers[start : start + step]))
    same = [at for at, relation in enumerate(found, start=1) if relation == "same values"]
    if same:
        algebra = find_affine_copies([expressions[at] for at in same], expressions[0])
        for at in np.array(same)[algebra].tolist():
            found[at - 1] = "same formula"
    return found


def classify_relations(representative: Values, others: Values) -> list[str]:
    """Tell how features are related to another one by their values.

    Parameters
    ----------
    head : float64 array, shape (n,)
        The one that stands for the class.
    others : float64 array, shape (m, n)
        Members of the class.

    Returns
    -------
    list of str, length m
        The closest of ``same values``, ``affine copy``, ``same ranks``, ``mirrored ranks``, ``rounding``.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 4.0])
    >>> classify_relations(x, np.array([x, 3 - 2 * x, x**2, 1 / x]))
    ['same values', 'affine copy', 'same ranks', 'mirrored ranks']
    """
    equal = is_equal_to_rounding(np.broadcast_to(representative, others.shape), others)
    ranks = sort_block(np.ascontiguousarray(np.vstack((representative, others)))).doubled_ranks
    own, theirs = ranks[0], ranks[1:]
    tests = (
        ("same values", equal),
        ("affine copy", _find_affine_copies(representative, others)),
        ("same ranks", (theirs == own).all(axis=1)),
        ("mirrored ranks", (theirs == 2 * (len(representative) + 1) - own).all(axis=1)),
    )
    return [next((name for name, holds in tests if holds[at]), "rounding") for at in range(len(others))]


def _find_affine_copies(representative: Values, others: Values) -> NDArray[np.bool_]:
    """Say which features are affine copies of another one, but for rounding."""

    def standardize(values: Values) -> Values:
        moved = values / np.abs(values).max(axis=1, keepdims=True)
        moved = moved - moved.mean(axis=1, keepdims=True)
        return np.asarray(moved / np.abs(moved).max(axis=1, keepdims=True))

    own, theirs = standardize(representative[None]), standardize(others)
    off = np.minimum(np.abs(theirs - own).max(axis=1), np.abs(theirs + own).max(axis=1))
    return np.asarray(off <= _AFFINE_TOLERANCE)


def classes(
    result: RankedResult,
    X: Any = None,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    members: int = 20,
    spellings: int = 0,
    jobs: int | None = None,
    max_ram: str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """List the members of the classes of a ranking, and how each is related to the one that is shown.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        What `symscreen.screen` returned or `symscreen.read_ranking` read.
    X, y : optional
        The data that were screened. Needed unless the result was made with ``members=``: the screen is then
        run again as its record tells, and its space is gone through once more.
    members : int
        How many of each class to list at most; memory is bounded by it.
    spellings : int
        How many other ways of writing each member to list at most: formulas of the last layer that are equal
        to it by algebra, and so no features of their own.
    jobs : int, optional
        Threads; the answer does not depend on it.
    max_ram : str or int, optional
        As of `symscreen.screen`.
    progress : callable, optional
        As of `symscreen.screen`.

    Returns
    -------
    pandas.DataFrame
        One row a member: ``rank`` and ``class_size`` of its class, ``member`` (1 for the one shown),
        ``expression``, ``complexity``, ``layer``, ``direction`` and ``relation`` to the one shown:
        ``same formula`` (equal by algebra), ``same values`` (equal on these rows), ``affine copy``,
        ``same ranks``, ``mirrored ranks``, or ``rounding`` (the same but for rows that rounding ties or
        swaps). With spellings a column ``also_written``, of lists of formulas.

    Raises
    ------
    OptionError
        If no members are stored with the result and no data are given.
    TableError
        If the data are others than those that were screened, or what is stored does not fit together.

    Notes
    -----
    A class holds the features of the space that the first screener cannot tell apart on these rows: of equal
    (or mirrored) ranks for rank statistics, affine copies for linear ones. Formulas that algebra shows to be
    another one written differently are no features of their own (the record counts them as algebraic
    duplicates): they are no members, but spellings of one.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.make_additive(n=20)
    >>> result = symscreen.screen(data.frame, layers="u", unary=["cube", "neg"], top=1)
    >>> symscreen.classes(result, data.frame)[["member", "expression", "relation"]].values.tolist()
    [[1, 'x3', 'shown'], [2, '-x3', 'affine copy'], [3, 'x3**3', 'same ranks']]
    """
    limit = check_positive_int("members", members)
    if spellings:
        check_positive_int("spellings", spellings, ", or 0 for none")
        if X is None:
            raise OptionError("spellings are not stored with a result: give the data that were screened")
    if X is None:
        stored = read_members_record(result.record, tuple(RELATIONS))
        if stored is None:
            raise OptionError(
                "no members are stored with this result: give the data that were screened (--data FILE), or "
                f"screen again with --members {limit}"
            )
        check_members(stored, result.table, result.record)
        _check_formulas(stored, result.record)
        return stored[stored.member <= limit].reset_index(drop=True)
    ready = prepare_from_record(result.record, X, y, jobs=jobs, max_ram=max_ram, progress=progress)
    found, _ = run_non_redundant_rounds(ready.dataset, ready.config, ready.rounds, ready.max_correlation)
    shown = [to_text(expression) for each in found for expression in each.expressions]
    if not _is_same_ranking(shown, list(result.table["expression"])):
        raise DataError(
            "the screen that the record tells of does not give this ranking any more: it was changed, or "
            "made by another version; screen again"
        )
    return list_class_members(found, ready.config.scoring, limit, spellings)


def _check_formulas(members: pd.DataFrame, record: Mapping[str, Any]) -> None:
    """Refuse members that are no formulas of the record's columns and operators, or not so complex."""
    operators, names = build_operators_from_record(record), record["data"]["inputs"]
    for text, told in zip(members["expression"], members["complexity"], strict=True):
        try:
            known = compute_complexity(parse_expression(text, operators, names))
        except InputError as error:
            raise DataError(f"the record is damaged: its member {quote_value(text)}: {error}") from None
        if known != told:
            raise DataError(
                f"the record is damaged: the complexity of {quote_value(text)} is {known}, not {told}"
            )


def _is_same_ranking(formulas: list[str], stored_formulas: list[str]) -> bool:
    """Compare formulas with those of a file, where one that begins with a minus stands in parentheses."""
    pairs = zip(formulas, stored_formulas, strict=False)
    return len(formulas) == len(stored_formulas) and all(theirs in {own, f"({own})"} for own, theirs in pairs)
