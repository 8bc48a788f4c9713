"""Members of the equivalence classes of a ranking, and how each is related to its representative.

A screen stores one representative of each class and the size of the class. `find_class_members` evaluates the
space a second time and collects up to a given number of members of each class, so memory is bounded.
`find_equivalent_forms` lists the candidates of the last layer that were excluded as algebraic duplicates of a
feature. `classes` is the public function: it reads members that are stored in a result's record, or repeats
the screen from the record and finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import contains
from typing import TYPE_CHECKING, Any

import numpy as np

from symscreen.config.parsing import check_positive_int
from symscreen.errors import DataError, InputError, OptionError
from symscreen.evaluation import find_affine_copies
from symscreen.expansion import CandidateStatus, is_equal_to_rounding
from symscreen.export import build_operators_from_record
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import compute_complexity
from symscreen.expressions.tree import parse_printed_expression
from symscreen.messages import hint_option, name_option, quote
from symscreen.results.ranked_feature import format_direction
from symscreen.screening.residual_rounds import run_rounds
from symscreen.screening.scoring.block_scoring import Scorer, TopKSpec, iterate_sorted_blocks, iterate_values
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
    from symscreen.screening.scoring.score_space import ScoringResult
    from symscreen.screening.scoring.top_features import FeatureTable
    from symscreen.screening.task import ScreeningTask
    from symscreen.statistics.ranks.sorted_block import SortedBlock

    Matches = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]


MEMBER_COLUMNS = (
    "rank", "class_size", "member", "expression", "complexity", "layer", "direction", "relation",
)  # fmt: skip
_CLASS_COLUMNS = ("rank", "class_size")
# The closest relation is first.
RELATIONS = {
    "shown": "represents its class",
    "same formula": "equal by algebra",
    "same values": "equal on these rows, not by algebra",
    "affine copy": "a*shown + b on these rows",
    "same ranks": "the same order of the rows",
    "mirrored ranks": "the reversed order of the rows",
    "rounding": "the same except for rows that rounding ties or swaps",
}
_LOSS_TOLERANCE = 1e-9  # absolute; rounding error of the loss among affine copies
_AFFINE_TOLERANCE = 1e-9  # rounding error of an affine copy, relative to the spread
_BLOCK_VALUES = 1 << 22  # values computed at a time
_CHUNK_CANDIDATES = 1 << 16  # candidates per task of the search for equivalent forms
_MIN_MERGE_FEATURES = 1 << 14  # members that wait at least before they are merged


@dataclass(frozen=True, eq=False)
class ClassMembers:
    """The members of classes.

    Parameters
    ----------
    features : FeatureTable, length m
        The members, at most `limit` of each class, class by class. Within a class they have the order of
        `FeatureTable.compute_member_order`.
    class_indices : int64 array, shape (m,), ascending
        Index in the ranking of each member's class.
    class_sizes : int64 array, shape (k,)
        Total number of members of each entry's class; 0 where the entry is not the first of its class.
    """

    features: FeatureTable
    class_indices: NDArray[np.int64]
    class_sizes: NDArray[np.int64]


def find_class_members(
    space: Space, task: ScreeningTask, scoring_result: ScoringResult, limit: int
) -> ClassMembers:
    """Find the members of the classes of a ranking: at most `limit` of each, by the order within a class.

    The classes of a ranking that a search restricted have members in the whole space.
    """
    classes = scoring_result.classes
    scorer = Scorer(space, task.target, task.column_screeners, task.options.sign, ())
    finder = _ClassMemberFinder(
        scorer,
        scoring_result,
        TopKSpec(0, classes.equivalence, classes.mirrored, None),
        _compute_loss_threshold(task, scoring_result),
        limit,
    )
    sizes = np.zeros(len(scoring_result.features), dtype=np.int64)
    parts = [make_empty_features(len(scorer.screeners))]
    for chunk_members, chunk_sizes in task.backend.map(finder, space.split_chunks(task.chunk_size)):
        sizes += chunk_sizes
        parts.append(chunk_members)
        if sum(map(len, parts[1:])) > 2 * len(parts[0]) + _MIN_MERGE_FEATURES:
            parts = [_take_first_per_class(concatenate_features(parts), limit)]
    members = _take_first_per_class(concatenate_features(parts), limit)
    return ClassMembers(members, members.signature.astype(np.int64), sizes)


@dataclass(frozen=True, eq=False)
class _ClassMemberFinder:
    """Find the class members in a range; their `signature` is the index of their class in the ranking."""

    scorer: Scorer
    scoring_result: ScoringResult
    spec: TopKSpec
    threshold: float
    limit: int

    def __call__(self, chunk: tuple[int, int]) -> tuple[FeatureTable, NDArray[np.int64]]:
        """Return the members found and the number of members of each class, shape (k,)."""
        sizes = np.zeros(len(self.scoring_result.features), dtype=np.int64)
        parts = [make_empty_features(len(self.scorer.screeners))]
        for numbers, sorted_block in iterate_sorted_blocks(self.scorer.space, chunk):
            passing = self._find_passing(numbers, sorted_block)
            passing_block = sorted_block.take(passing)
            class_indices = self.scoring_result.classes.find_positions(passing_block)
            members = np.flatnonzero(class_indices >= 0)
            if not len(members):
                continue
            sizes += np.bincount(class_indices[members], minlength=len(sizes))
            features = self.scorer.describe_features(
                self.spec, numbers[passing[members]], passing_block.take(members)
            )
            features = replace(features, signature=class_indices[members].astype(np.uint64))
            parts = [_take_first_per_class(concatenate_features([*parts, features]), self.limit)]
        return parts[0], sizes

    def _find_passing(self, numbers: NDArray[np.int64], block: SortedBlock) -> NDArray[np.int64]:
        """Return the indices of features whose loss does not exclude them from every class."""
        if np.isinf(self.threshold):
            return np.arange(len(numbers))
        screener, sign = self.scorer.screeners[0], self.spec.choose_sign(self.scorer.sign)
        statistics = screener.statistic(block, self.scorer.target)
        loss = screener.loss(statistics, self.scorer.target, sign)
        return np.flatnonzero(round_sort_keys(loss) <= self.threshold)


def _compute_loss_threshold(task: ScreeningTask, scoring_result: ScoringResult) -> float:
    """Return the loss above which no feature belongs to a reported class; infinite if unknown."""
    if task.screeners[0] != task.column_screeners[0] or not len(scoring_result.features):
        return np.inf
    # the losses of classes that were merged as equal up to rounding may differ by a swap of two rows
    if scoring_result.classes.has_merged_entries:
        return np.inf
    return float(scoring_result.features.loss.max()) + _LOSS_TOLERANCE


def _take_first_per_class(features: FeatureTable, limit: int) -> FeatureTable:
    """Return at most the first `limit` members of each class, class by class."""
    features = features.take(features.compute_member_order())
    features = features.take(np.argsort(features.signature, kind="stable"))
    _, first = np.unique(features.signature, return_index=True)
    starts = np.repeat(first, np.diff([*first, len(features)]))
    return features.take(np.flatnonzero(np.arange(len(features)) - starts < limit))


def build_members_record(table: pd.DataFrame, limit: int) -> dict[str, Any]:
    """Convert the members of classes to a part of a result's record.

    Parameters
    ----------
    table : pandas.DataFrame
        Table with the columns `MEMBER_COLUMNS`, class by class.
    limit : int
        Maximum number of members of each class in the table.

    Returns
    -------
    dict
        Plain values, ready for JSON.
    """
    names = [name for name in MEMBER_COLUMNS if name not in {*_CLASS_COLUMNS, "member"}]
    shown = []
    for rank, rows in table.groupby("rank", sort=True):
        members = [dict(zip(names, row, strict=True)) for row in rows[names].to_numpy(dtype=object).tolist()]
        shown.append({"rank": int(str(rank)), "class_size": int(rows.class_size.iloc[0]), "members": members})
    return {"members": limit, "shown": shown}


def read_members_record(record: Mapping[str, Any], relations: Sequence[str]) -> pd.DataFrame | None:
    """Read the members of classes from a result's record.

    Parameters
    ----------
    record : mapping
        Record of a result. It is checked, because its file may have been altered.
    relations : sequence of str
        Valid relations of a member. The first one is that of the representative.

    Returns
    -------
    pandas.DataFrame or None
        The table that `build_members_record` converted; None if no members are stored.

    Raises
    ------
    DataError
        If the record does not have the structure that `build_members_record` produces.
    """
    import pandas as pd

    if "classes" not in record:
        return None
    limit, shown = _read_fields(record["classes"], {"members": _is_count, "shown": _is_filled_list})
    rows, previous_rank = [], 0
    for class_record in shown:
        rank, size, members = _read_fields(
            class_record, {"rank": _is_count, "class_size": _is_count, "members": _is_filled_list}
        )
        if rank <= previous_rank or len(members) != min(limit, size):
            raise _make_damage_error(
                f"the class of rank {rank} is out of order or has a wrong number of members"
            )
        previous_rank = rank
        for position, member in enumerate(members, start=1):
            valid_relations = relations[:1] if position == 1 else relations[1:]
            values = _read_fields(member, {**_MEMBER_CHECKS, "relation": partial(contains, valid_relations)})
            rows.append((rank, size, position, *values))
    return pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))


def check_members(members: pd.DataFrame, table: pd.DataFrame, record: Mapping[str, Any]) -> None:
    """Check that stored class members belong to the classes of a ranking.

    Parameters
    ----------
    members : pandas.DataFrame
        Output of `read_members_record`.
    table : pandas.DataFrame
        The ranking.
    record : mapping
        Record of the same result.

    Raises
    ------
    DataError
        If the ranks, sizes or representatives differ from those of the ranking.
    """
    representatives = members[members["member"] == 1]
    ranks = representatives["rank"].tolist()
    is_top_k = record["options"]["top"] != "all"  # with "all", only the first feature of a class has members
    if (is_top_k and ranks != list(range(1, len(table) + 1))) or (ranks and ranks[-1] > len(table)):
        raise _make_damage_error("its classes are not those of the ranking")
    # a search that drops features counts only the remaining members in the ranking
    is_exact = record["options"].get("search", "exact") == "exact"
    for rank, size, text in zip(
        ranks, representatives["class_size"], representatives["expression"], strict=True
    ):
        entry = table.iloc[rank - 1]
        if entry["expression"] not in {text, f"({text})"}:
            raise _make_damage_error(f"the class of rank {rank} belongs to another formula")
        ranking_size = entry["class_size"] if "class_size" in table else size
        if ranking_size > size or (is_exact and ranking_size != size):
            raise _make_damage_error(
                f"the class of rank {rank} has {size} members, but {ranking_size} in the ranking"
            )


def _read_fields(value: object, checks: Mapping[str, Callable[[Any], bool]]) -> list[Any]:
    """Return the values of an object that has exactly the fields of `checks` if all of them pass."""
    if not isinstance(value, dict) or value.keys() != checks.keys():
        raise _make_damage_error(f"expected the fields {', '.join(checks)}, found {quote(value)}")
    for name, is_valid in checks.items():
        if not is_valid(value[name]):
            raise _make_damage_error(f"{name} is {quote(value[name])}")
    return [value[name] for name in checks]


def _make_damage_error(reason: str) -> DataError:
    """Build the error for a damaged record."""
    return DataError(f"the record of the classes is damaged: {reason}; screen again")


def _is_count(value: object) -> bool:
    """Return whether a value is an integer from 1 to 2⁶³ − 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 1 << 63


def _is_filled_list(value: object) -> bool:
    """Return whether a value is a list with at least one item."""
    return isinstance(value, list) and bool(value)


_MEMBER_CHECKS: dict[str, Callable[[Any], bool]] = {
    "expression": lambda value: isinstance(value, str),
    "complexity": _is_count,
    "layer": lambda value: type(value) is int and value >= 0,
    "direction": lambda value: value in ("+", "-", ""),
}


@dataclass(frozen=True, eq=False)
class _EquivalentFormFinder:
    """Find the duplicates of some features in a range of candidates."""

    space: Space
    keys: NDArray[np.uint64]  # shape (m, 2), ascending by the first word

    def __call__(self, span: tuple[int, int]) -> Matches:
        """Return the index in `keys`, the number and the complexity of each duplicate."""
        start, stop = span
        is_duplicate = self.space.statuses[start:stop] == CandidateStatus.DUPLICATE
        numbers = self.space.n_materialized + start + np.flatnonzero(is_duplicate)
        if not len(numbers):
            return np.zeros(0, dtype=np.int64), numbers, np.zeros(0, dtype=np.int32)
        features = self.space.get_metadata(numbers)
        matches = np.full(len(numbers), -1)
        # compare with each key that has the same first word
        position = np.searchsorted(self.keys[:, 0], features.keys[:, 0], side="left")
        while (inside := position < len(self.keys)).any():
            same_first = inside.copy()
            same_first[inside] = self.keys[position[inside], 0] == features.keys[inside, 0]
            if not same_first.any():
                break
            same_key = same_first.copy()
            same_key[same_first] = self.keys[position[same_first], 1] == features.keys[same_first, 1]
            matches[same_key] = position[same_key]
            position = np.where(same_first, position + 1, len(self.keys))
        found = matches >= 0
        return matches[found], numbers[found], features.complexity[found]


def find_equivalent_forms(
    space: Space, numbers: NDArray[np.int64], limit: int, backend: Backend
) -> list[list[str]]:
    """List the candidates of the last layer that are algebraic duplicates of some features.

    Parameters
    ----------
    space : Space
        The space.
    numbers : int64 array, shape (m,)
        Numbers of the features.
    limit : int
        Maximum number of forms for each feature. They are ordered by complexity, then by number.
    backend : Backend
        Backend that runs the search.

    Returns
    -------
    list of list of str, length m
        Equivalent formulas, which the space excluded as duplicates. Duplicates in earlier layers are not
        stored and therefore not listed.
    """
    keys = space.get_metadata(numbers).keys
    order = np.argsort(keys[:, 0], kind="stable")
    total = space.candidates.total
    spans = [(start, min(start + _CHUNK_CANDIDATES, total)) for start in range(0, total, _CHUNK_CANDIDATES)]
    finder = _EquivalentFormFinder(space, keys[order])
    matches: list[list[tuple[int, int]]] = [[] for _ in order]
    for positions, duplicates, complexities in backend.map(finder, spans):
        for position, duplicate, complexity in zip(
            positions.tolist(), duplicates.tolist(), complexities.tolist(), strict=True
        ):
            feature_matches = matches[order[position]]
            feature_matches.append((complexity, duplicate))
            if len(feature_matches) > 2 * limit:
                feature_matches[:] = sorted(feature_matches)[:limit]
    return [
        list(_format_forms(space, sorted(feature_matches), number, limit))
        for feature_matches, number in zip(matches, numbers.tolist(), strict=True)
    ]


def _format_forms(space: Space, matches: list[tuple[int, int]], feature: int, limit: int) -> Iterator[str]:
    """Yield the text of each match, without the text of the feature itself and without repetitions."""
    seen = {to_text(space.build_expression(feature))}
    for _, number in matches[:limit]:
        text = to_text(space.build_expression(number))
        if text not in seen:
            seen.add(text)
            yield text


def list_class_members(
    round_results: Sequence[RoundResult], task: ScreeningTask, limit: int, equivalent_forms: int = 0
) -> pd.DataFrame:
    """List the members of the reported classes of a screen.

    Returns
    -------
    pandas.DataFrame
        `MEMBER_COLUMNS`, at most `limit` members per class, the representative first. With `equivalent_forms`
        there is a column ``equivalent_forms`` with at most this number of equivalent forms of each member.
    """
    import pandas as pd

    frames, n_shown = [], 0
    for round_result in round_results:
        round_task = replace(task, dataset=round_result.dataset)
        frames.append(_list_round_members(round_result, round_task, limit, n_shown, equivalent_forms))
        n_shown += len(round_result.shown_indices)
    return pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]


def _list_round_members(
    round_result: RoundResult, task: ScreeningTask, limit: int, n_before: int, equivalent_forms: int
) -> pd.DataFrame:
    """List the class members of one round; `n_before` features were reported in earlier rounds."""
    import pandas as pd

    space, ranking = round_result.space, round_result.scoring_result.features
    members = find_class_members(space, task, round_result.scoring_result, limit)
    rows: list[dict[str, Any]] = []
    listed: list[int] = []
    for rank, index in enumerate(round_result.shown_indices.tolist(), start=n_before + 1):
        if not members.class_sizes[index]:
            continue  # with top="all", only the first feature of a class represents it
        others = members.features.take(np.flatnonzero(members.class_indices == index))
        representative = int(ranking.number[index])
        others = others.take(np.flatnonzero(others.number != representative)).take_first(limit - 1)
        numbers = np.concatenate(([representative], others.number))
        listed += numbers.tolist()
        features = space.get_metadata(numbers)
        expressions = [space.build_expression(number) for number in numbers.tolist()]
        relations = ["shown", *_find_relations(space, numbers, expressions)]
        for position, relation in enumerate(relations):
            sign = int(ranking.direction[index] if position == 0 else others.direction[position - 1])
            rows.append(
                {
                    "rank": rank,
                    "class_size": int(members.class_sizes[index]),
                    "member": position + 1,
                    "expression": to_text(expressions[position]),
                    "complexity": int(features.complexity[position]),
                    "layer": int(features.layer[position]),
                    "direction": format_direction(sign),
                    "relation": relation,
                }
            )
    table = pd.DataFrame(rows, columns=list(MEMBER_COLUMNS))
    if equivalent_forms:
        table["equivalent_forms"] = find_equivalent_forms(
            space, np.array(listed, dtype=np.int64), equivalent_forms, task.backend
        )
    return table


def _find_relations(space: Space, numbers: NDArray[np.int64], expressions: Sequence[Expression]) -> list[str]:
    """Return the relation of each feature except the first one to the first one, block by block."""
    representative, relations = space.compute_values(numbers[:1])[0], list[str]()
    for _, values in iterate_values(space, numbers[1:], _BLOCK_VALUES):
        relations += classify_relations(representative, values)
    equal = [index for index, relation in enumerate(relations, start=1) if relation == "same values"]
    if equal:
        is_algebraic = find_affine_copies([expressions[index] for index in equal], expressions[0])
        for index in np.array(equal)[is_algebraic].tolist():
            relations[index - 1] = "same formula"
    return relations


def classify_relations(representative: Values, others: Values) -> list[str]:
    """Classify how features are related to a representative, from their values.

    Parameters
    ----------
    representative : float64 array, shape (n,)
        Values of the representative of the class.
    others : float64 array, shape (m, n)
        Values of other members of the class.

    Returns
    -------
    list of str, length m
        The closest relation that holds: ``same values``, ``affine copy``, ``same ranks``, ``mirrored ranks``
        or ``rounding``.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 4.0])
    >>> classify_relations(x, np.array([x, 3 - 2 * x, x**2, 1 / x]))
    ['same values', 'affine copy', 'same ranks', 'mirrored ranks']
    """
    equal = is_equal_to_rounding(np.broadcast_to(representative, others.shape), others)
    ranks = sort_block(np.ascontiguousarray(np.vstack((representative, others)))).doubled_ranks
    first_ranks, other_ranks = ranks[0], ranks[1:]
    holds = {
        "same values": equal,
        "affine copy": _find_affine_copies(representative, others),
        "same ranks": (other_ranks == first_ranks).all(axis=1),
        "mirrored ranks": (other_ranks == 2 * (len(representative) + 1) - first_ranks).all(axis=1),
        "rounding": np.ones(len(others), dtype=np.bool_),
    }
    by_closeness = [name for name in RELATIONS if name in holds]
    return [next(name for name in by_closeness if holds[name][index]) for index in range(len(others))]


def _find_affine_copies(representative: Values, others: Values) -> NDArray[np.bool_]:
    """Return which rows of `others`, shape (m, n), are affine copies of `representative`, shape (n,)."""

    def standardize(values: Values) -> Values:
        centered = values / np.abs(values).max(axis=1, keepdims=True)
        centered = centered - centered.mean(axis=1, keepdims=True)
        return np.asarray(centered / np.abs(centered).max(axis=1, keepdims=True))

    first, rest = standardize(representative[None]), standardize(others)
    deviation = np.minimum(np.abs(rest - first).max(axis=1), np.abs(rest + first).max(axis=1))
    return np.asarray(deviation <= _AFFINE_TOLERANCE)


def classes(
    result: RankedResult,
    X: Any = None,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    class_members: int = 20,
    equivalent_forms: int = 0,
    jobs: int | None = None,
    max_ram: str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """List the members of the classes of a ranking and their relation to the representative.

    Parameters
    ----------
    result : ScreenResult or StoredRanking
        Output of `symscreen.screen` or `symscreen.read_ranking`.
    X, y : optional
        The screened data, in any form that `symscreen.screen` accepts. They are required unless the result
        was computed with ``class_members=``. The screen is then repeated from its record, and its space is
        evaluated once more.
    class_members : int
        Maximum number of members of each class, at least 1. Memory use grows with this number.
    equivalent_forms : int
        Maximum number of equivalent forms of each member: formulas of the last layer that are equal to it by
        algebra and therefore not separate features.
    jobs : int, optional
        Number of threads. Does not affect the result.
    max_ram : str or int, optional
        Memory limit, see `symscreen.screen`.
    progress : callable, optional
        Progress callback, see `symscreen.screen`.

    Returns
    -------
    pandas.DataFrame
        One row per member: ``rank`` and ``class_size`` of its class, ``member`` (1 for the representative),
        ``expression``, ``complexity``, ``layer``, ``direction`` and ``relation`` to the representative:
        ``same formula`` (equal by algebra), ``same values`` (equal on these rows), ``affine copy``,
        ``same ranks``, ``mirrored ranks``, or ``rounding`` (the same except for rows that rounding ties or
        swaps). If `equivalent_forms` is positive, the column ``equivalent_forms`` contains lists of formulas.

    Raises
    ------
    OptionError
        If the result does not contain members and no data are given.
    DataError
        If the data differ from the screened data, or the stored members do not match the ranking.

    Notes
    -----
    A class contains the features of the space that are equivalent on these rows: features with equal or
    mirrored ranks for rank statistics, affine copies for linear statistics. A formula that algebra shows to
    be equal to another one is not a separate feature (the record counts it as an algebraic duplicate). It is
    not a member, but an equivalent form of a member.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.make_additive(n=20)
    >>> result = symscreen.screen(data.frame, layers="u", unary=["cube", "neg"], top=1)
    >>> symscreen.classes(result, data.frame)[["member", "expression", "relation"]].values.tolist()
    [[1, 'x3', 'shown'], [2, '-x3', 'affine copy'], [3, 'x3**3', 'same ranks']]
    """
    limit = check_positive_int("class_members", class_members)
    if equivalent_forms:
        check_positive_int("equivalent_forms", equivalent_forms, ", or 0 for none")
        if X is None:
            raise OptionError(
                "equivalent_forms are not stored with a result: pass the data that were screened"
            )
    if X is None:
        stored = read_members_record(result.record, tuple(RELATIONS))
        if stored is None:
            raise OptionError(
                "no members are stored with this result: pass the data that were "
                f"screened{hint_option('X')}, or screen again with {name_option('class_members', limit)}"
            )
        check_members(stored, result.table, result.record)
        _check_formulas(stored, result.record)
        return stored[stored.member <= limit].reset_index(drop=True)
    task = prepare_from_record(result.record, X, y, jobs=jobs, max_ram=max_ram, progress=progress)
    round_results = run_rounds(task)
    formulas = [
        to_text(expression) for round_result in round_results for expression in round_result.expressions
    ]
    if not _is_same_ranking(formulas, list(result.table["expression"])):
        raise DataError(
            "repeating the recorded screen does not give this ranking any more: the ranking was changed, or "
            "another version of symscreen computed it; screen again"
        )
    return list_class_members(round_results, task, limit, equivalent_forms)


def _check_formulas(members: pd.DataFrame, record: Mapping[str, Any]) -> None:
    """Check that each member is a formula of the record's columns and operators, of the stored complexity."""
    operators, names = build_operators_from_record(record), record["data"]["inputs"]
    for text, stored_complexity in zip(members["expression"], members["complexity"], strict=True):
        try:
            complexity = compute_complexity(parse_printed_expression(text, operators, names))
        except InputError as error:
            raise DataError(f"the record is damaged: its member {quote(text)}: {error}") from None
        if complexity != stored_complexity:
            raise DataError(
                f"the record is damaged: the complexity of {quote(text)} is {complexity}, "
                f"not {stored_complexity}"
            )


def _is_same_ranking(formulas: list[str], stored_formulas: list[str]) -> bool:
    """Return whether formulas are those of a file, which may enclose a formula in parentheses."""
    pairs = zip(formulas, stored_formulas, strict=False)
    return len(formulas) == len(stored_formulas) and all(
        stored in {formula, f"({formula})"} for formula, stored in pairs
    )
