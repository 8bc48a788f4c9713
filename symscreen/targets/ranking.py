"""Ranking targets, decomposed into binary targets of pairs of labels.

For every pair of labels, the sign of their order is a binary target. A row is observed if it ranks both
labels without a tie. Swapping the two labels, or giving scores instead of ranks, changes only the sign.

A ranking is read from one column of texts such as ``a>b>c``, or from one column of ranks or scores per label.
Rows are sorted by the inputs, ties by the rankings, independent of the names of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from symscreen._cached_property import lockfree_cached_property
from symscreen.errors import DataError, OptionError
from symscreen.messages import (
    escape_control_chars,
    format_count,
    format_names,
    format_rows,
    hint_option,
    name_option,
    name_option_column,
    quote,
)
from symscreen.statistics.ranks.binary_targets import BinaryTargets, build_binary_targets
from symscreen.targets.base import BinaryDecomposedTarget, TargetColumns, sort_canonically
from symscreen.targets.ranking_notation import Rankings, find_duplicate, parse_rankings, quote_label
from symscreen.targets.ranking_ranks import compute_pair_signs, sort_rows_by_content, to_float_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from symscreen._typing import Values
    from symscreen.data.target_source import TargetSource
    from symscreen.statistics.ranks.sorted_block import SortedBlock
    from symscreen.targets.base import RowIndices


_MAX_TYPO_ROWS = 3  # a label in at most 3 rows, or 1 % of the rows of a similar label, may be a typo
_MAX_LISTED = 8  # labels that a summary names
_MAX_LABELS = 100  # 4950 pairs of labels, each scored against every feature


@dataclass(frozen=True, eq=False)
class RankingTarget(BinaryDecomposedTarget):
    """A target that ranks some of k labels in each row.

    Parameters
    ----------
    rankings : Rankings
        Ranks of shape (n, k), NaN where a label is missing, and the names of the labels; n ≥ 2.
    name : str
        Name of the target, for messages and results.

    Raises
    ------
    DataError
        If there are fewer than two rows or labels, or no pair of labels is ordered both ways.

    Examples
    --------
    >>> from symscreen.targets.ranking_notation import parse_rankings
    >>> y = RankingTarget(parse_rankings(["a>b>c", "b>a", "a=c>b"]), "taste")
    >>> y.binary_targets.signs.tolist(), y.binary_targets.n_observed.tolist()
    ([[-1, 0, 1], [-1, 1, -1]], [2, 3])
    >>> y.completeness_counts
    {'complete': 1, 'incomplete': 1, 'tied': 1}
    """

    rankings: Rankings
    name: str = "y"
    target_type: ClassVar[str] = "ranking"
    prefix: ClassVar[str] = "the rankings "
    option: ClassVar[str] = "ranking"
    description: ClassVar[str] = "a ranking"
    refusal: ClassVar[str] = "does not support ranking targets"
    sign_conflict: ClassVar[tuple[str, str]] = (name_option("ranking"), "with an order")

    def __post_init__(self) -> None:
        quoted_name, k = escape_control_chars(repr(self.name)), len(self.rankings.labels)
        if k < 2 or self.n < 2:
            raise DataError(
                f"the ranking {quoted_name} has {self.n} rows that rank {k} label{'' if k == 1 else 's'}: at "
                "least 2 rows and 2 labels are needed"
            )
        if not len(self.binary_targets.n_observed):
            raise DataError(
                f"the ranking {quoted_name} orders no pair of labels both ways: "
                f"nothing can be ranked against it; choose another{hint_option('ranking')}"
            )

    @classmethod
    def matches(cls, source: TargetSource) -> bool:
        """Return whether the option `ranking` is given, or y has several columns that are no outputs."""
        if source.ranking is not None:
            return True
        has_columns = source.y is not None and source.is_multicolumn
        return has_columns and source.requested is None and not source.has_own_option

    @classmethod
    def list_columns(cls, source: TargetSource) -> tuple[list[str], list[str]]:
        """List the columns of the option `ranking`.

        Raises
        ------
        OptionError
            If the option names no column, or a column twice.
        DataError
            If a column does not exist, or is excluded.
        """
        if source.ranking is None:
            return [], []
        names = (
            [source.ranking] if isinstance(source.ranking, str) else [str(name) for name in source.ranking]
        )
        duplicate = find_duplicate(names)
        if duplicate is not None:
            raise OptionError(
                f"{name_option('ranking')} names {quote(duplicate)} twice: name every column once"
            )
        if not names:
            raise OptionError(
                f"{name_option('ranking')} names no column: name one column of texts such as a>b>c, or "
                "several of ranks"
            )
        source.require_columns(names, name_option("ranking"))
        for name in names:
            if name in source.exclude:
                raise DataError(
                    f"{source.origin}: {quote(name)} is in both {name_option('ranking')} and "
                    f"{name_option('exclude')}: keep one"
                )
        return names, []

    @classmethod
    def read(cls, source: TargetSource) -> TargetColumns:
        """Read the rankings of all rows.

        Scores are not converted to ranks: they reverse all orders, which changes no sign-free statistic.
        """
        names = source.columns
        if not names:
            data = _read_y_ranking(source)
        elif len(names) == 1:
            data = _read_ranking_texts(source, *names)
        else:
            data = _read_rank_columns(source, sorted(names))
        return TargetColumns(
            {data.name: data.missing_indicator},
            lambda inputs, rows: cls.build(inputs, data.ranks[rows], data.labels, data.name),
            notices=describe_case_conflicts(data) if len(names) == 1 else (),
        )

    @classmethod
    def build(
        cls, inputs: Sequence[Values], ranks: Values, labels: tuple[str, ...], name: str
    ) -> tuple[RowIndices, RankingTarget]:
        """Sort rows with ranks of shape (n, k); return the order and the target."""
        rankings = Rankings(ranks, labels)
        input_order = sort_canonically(inputs[1:], inputs[0])
        starts_group = np.zeros(len(ranks) - 1, dtype=np.bool_)
        for column in inputs:  # one column at a time, because there may be 100,000 of them
            values = column[input_order]
            starts_group |= values[1:] != values[:-1]
        groups = np.empty(len(ranks), dtype=np.int64)
        groups[input_order] = np.concatenate([[0], np.cumsum(starts_group)])
        order = sort_rows_by_content(groups, rankings.ranks)
        return order, cls(Rankings(rankings.ranks[order], rankings.labels), name)

    def take_rows(self, inputs: Sequence[Values], rows: RowIndices) -> tuple[RowIndices, RankingTarget]:
        """Build the target of some of the rows."""
        return self.build(inputs, self.ranks[rows], self.labels, self.name)

    @classmethod
    def build_example(cls, z: Values) -> RankingTarget:
        """Build a target that a feature determines."""
        # The order of any two labels changes once, away from the ends.
        slopes, at = np.array([0.0, 1.0, 2.0, 4.0]), np.quantile(z, [0.5, 0.4, 0.5, 0.6])
        return cls(Rankings(slopes * (z[:, None] - at), ("a", "b", "c", "d")))

    @property
    def data(self) -> Values:
        """The ranks; shape (n, k)."""
        return self.ranks

    @property
    def digest_metadata(self) -> list[object]:
        """The labels."""
        return [self.labels]

    @property
    def record(self) -> dict[str, Any]:
        """Labels, completeness, and the smallest and largest number of rows that compare a pair."""
        n_observed = self.binary_targets.n_observed
        ranking = {
            "labels": list(self.labels),
            **self.completeness_counts,
            "pairs": len(n_observed),
            "rows_a_pair": [int(n_observed[0]), int(n_observed[-1])],
        }
        return {"ranking": ranking}

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.labels)

    @classmethod
    def explain_directions(cls, data: Mapping[str, Any]) -> str | None:
        """Return None: rankings have no directions."""
        del data
        return None

    @classmethod
    def explain_gini(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> str:
        """Explain the scale of the Gini correlation."""
        del data, options
        return "mean over pairs of labels, in the better direction of each; 1 is best, 0 no relation"

    @classmethod
    def describe_target(cls, data: Mapping[str, Any], options: Mapping[str, Any]) -> list[str]:
        """Describe labels, pairs and rows of the rankings."""
        del options
        record = data["ranking"]
        labels = [escape_control_chars(quote_label(label)) for label in record["labels"]]
        more = f" and {len(labels) - _MAX_LISTED} more" if len(labels) > _MAX_LISTED else ""
        rows = ", ".join(f"{record[kind]:,} {kind}" for kind in ("complete", "incomplete", "tied"))
        low, high = record["rows_a_pair"]
        row_range = f"{high:,}" if low == high else f"{low:,} to {high:,}"
        pairs = f"{record['pairs']:,} pair{'' if record['pairs'] == 1 else 's'}"
        rankings = (
            f"rankings of {format_count(len(labels), 'label')} ({', '.join(labels[:_MAX_LISTED])}{more}); "
            f"{pairs} compared, each in {row_range} rows; rows: {rows}."
        )
        return [rankings]

    def find_directions(self, ordered: SortedBlock, directions: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return 0: an order of several labels neither rises nor falls."""
        del ordered
        return np.zeros(len(directions), dtype=np.int8)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rankings.ranks)

    @property
    def ranks(self) -> Values:
        """Ranks, NaN where a label is missing; shape (n, k)."""
        return self.rankings.ranks

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the k labels."""
        return self.rankings.labels

    @lockfree_cached_property
    def binary_targets(self) -> BinaryTargets:
        """One binary target per pair of labels that occurs in both orders; other pairs are uninformative."""
        return build_binary_targets(compute_pair_signs(self.ranks).T)

    @lockfree_cached_property
    def completeness_counts(self) -> dict[str, int]:
        """Numbers of rows that are complete without ties, that miss labels, and that have ties.

        A row can count both as incomplete and as tied.
        """
        ranks = self.ranks
        incomplete = np.isnan(ranks).any(axis=1)
        ordered = np.sort(ranks, axis=1)
        tied = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        return {
            "complete": int((~incomplete & ~tied).sum()),
            "incomplete": int(incomplete.sum()),
            "tied": int(tied.sum()),
        }


class RankingData(NamedTuple):
    """The rankings of all rows of a source, with the labels sorted by name."""

    name: str
    labels: tuple[str, ...]
    ranks: Values  # (n, k): ranks or scores; NaN where a label is missing

    @property
    def missing_indicator(self) -> Values:
        """NaN for rows that rank no label, 0 for others; shape (n,)."""
        return np.where(np.isnan(self.ranks).all(axis=1), np.nan, 0.0)


def describe_case_conflicts(ranking_data: RankingData) -> list[str]:
    """List rare labels that differ from another label only by case and may be typos.

    Parameters
    ----------
    ranking_data : RankingData
        The rankings of a source.

    Returns
    -------
    list of str
        One line per such label.

    Examples
    --------
    >>> ranks = np.array([[1.0, np.nan, 2.0], [1.0, np.nan, 2.0], [np.nan, 1.0, 2.0]])
    >>> print(*describe_case_conflicts(RankingData("y", ("cof", "Cof", "tea"), ranks)))
    'y': the label 'Cof' is in 1 row and differs from 'cof', in 2 rows, only by case: one label, or two?
    """
    counts_by_folded_label: dict[str, list[tuple[int, str]]] = {}
    for label, n_rows in zip(
        ranking_data.labels, (~np.isnan(ranking_data.ranks)).sum(axis=0).tolist(), strict=True
    ):
        counts_by_folded_label.setdefault(label.casefold(), []).append((n_rows, label))
    notices = []
    for similar in counts_by_folded_label.values():
        max_rows, common_label = max(similar)
        notices += [
            f"{quote(ranking_data.name)}: the label {quote(label)} is in {format_count(rows, 'row')} and "
            f"differs from {quote(common_label)}, in {format_count(max_rows, 'row')}, only by case: one "
            "label, or two?"
            for rows, label in similar
            if rows < max_rows and rows <= max(_MAX_TYPO_ROWS, max_rows // 100)
        ]
    return notices


def _read_y_ranking(source: TargetSource) -> RankingData:
    """Read ranks or scores from y; the columns of a data frame name the labels, otherwise they are 1 to k."""
    y, shape = source.y, np.shape(source.y)
    if shape[0] != source.n:
        raise DataError(
            f"y has shape {shape}: one ranking is needed for each of the {source.n} rows of {source.origin}"
        )
    ranks = to_float_array(y)
    column_labels: Any = getattr(y, "columns", range(1, shape[1] + 1))
    labels = [str(label) for label in column_labels]
    if len(set(labels)) < len(labels):
        raise DataError("two columns of y have the same name: rename one")
    name = "y"
    while name in source.inputs:
        name += "_"
    order = sorted(range(len(labels)), key=labels.__getitem__)
    return _check_ranking(source, RankingData(name, tuple(labels[index] for index in order), ranks[:, order]))


def _read_ranking_texts(source: TargetSource, name: str) -> RankingData:
    """Read rankings from a column of texts; an error names the row."""
    column = source.get_column(name)
    if column.texts is None:
        raise DataError(
            f"{source.origin}: {name_option_column('ranking', name)} holds {column.description}: name a "
            "column of texts such as a>b>c, or two or more columns of ranks"
        )
    texts = [text if text and text.strip() else None for text in column.texts.to_list()]
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    if not any(">" in text for text in distinct):
        raise DataError(
            f"{source.origin}: {name_option_column('ranking', name)} holds no '>': write the preferred label "
            "first, a>b=c>d"
        )
    labels: set[str] = set()
    for text in distinct:
        try:
            labels.update(parse_rankings([text]).labels)
        except DataError as error:
            row = f"{source.origin}: row {texts.index(text) + 1} of {quote(name)}"
            raise DataError(row + str(error).removeprefix("row 0 of the rankings")) from None
    _check_label_count(source, len(labels))
    rankings = parse_rankings(distinct)
    row_of_text = {text: index for index, text in enumerate(distinct)}
    empty_row = np.full((1, len(rankings.labels)), np.nan)
    rows = np.array([-1 if text is None else row_of_text[text] for text in texts])
    return RankingData(name, rankings.labels, np.concatenate([rankings.ranks, empty_row])[rows])


def _read_rank_columns(source: TargetSource, names: list[str]) -> RankingData:
    """Read rankings from one numeric column per label."""
    columns = []
    for name in names:
        column = source.get_column(name)
        if column.numbers is None:
            raise DataError(
                f"{source.origin}: {name_option_column('ranking', name)} holds {column.description}: several "
                "columns hold ranks or scores, one for each label; name a column of texts such as a>b>c alone"
            )
        columns.append(column.numbers)
    return _check_ranking(
        source, RankingData(",".join(map(quote_label, names)), tuple(names), np.column_stack(columns))
    )


def _check_ranking(source: TargetSource, ranking_data: RankingData) -> RankingData:
    """Check the number of labels and that no rank is infinite."""
    _check_label_count(source, len(ranking_data.labels))
    infinite_ranks = np.isinf(ranking_data.ranks)
    if infinite_ranks.any():
        infinite_labels = [
            label
            for label, is_infinite in zip(ranking_data.labels, infinite_ranks.T, strict=True)
            if is_infinite.any()
        ]
        rows = format_rows(np.asarray(infinite_ranks.any(axis=1)))
        raise DataError(
            f"{source.origin}: ranks are infinite in {rows} ({format_names(infinite_labels)}): leave missing "
            "ranks empty"
        )
    return ranking_data


def _check_label_count(source: TargetSource, n_labels: int) -> None:
    """Check that there are at most 100 labels."""
    if n_labels > _MAX_LABELS:
        raise DataError(
            f"{source.origin}: the ranking has {n_labels:,} labels, more than {_MAX_LABELS}: all pairs of "
            "them would be compared; rank fewer labels, or groups of them"
        )
