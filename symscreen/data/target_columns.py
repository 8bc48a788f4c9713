"""Read the target columns of a source that are not a single numeric column.

- Rankings: one column of texts such as ``a>b>c``, or one column of ranks or scores per label.
- Stages: one column of 1, 0 or missing per stage.
- Classes, several outputs, and times until an event with an event column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from symscreen.data.column_selection import (
    choose_numeric_target,
    choose_target_column,
    parse_name_list,
    require_columns,
)
from symscreen.data.column_types import convert_python_column
from symscreen.errors import DataError, OptionError
from symscreen.messages import (
    format_count,
    format_names,
    format_rows,
    hint_option,
    name_option,
    name_option_column,
    quote,
    suggest,
)
from symscreen.targets.ranking_notation import parse_rankings, quote_label
from symscreen.targets.ranking_ranks import to_float_array
from symscreen.targets.stages import find_first_violation, mask_observed_pairs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import ArrayLike, NDArray

    from symscreen._typing import Values
    from symscreen.data.column_types import SourceColumn
    from symscreen.data.files import SourceFrame
    from symscreen.targets import TargetType
    from symscreen.targets.stages import StagesTarget

    TargetTypeChoice = Literal["numeric", "classes", "several"]


_MAX_TYPO_ROWS = 3  # a label in at most 3 rows, or 1 % of the rows of a similar label, may be a typo
_MAX_LABELS = 100  # 4950 pairs of labels, each scored against every feature
_MAX_CLASSES = 100  # each scored against every feature
_MAX_OUTPUTS = 100  # each scored against every feature
_TARGET_TYPE_CHOICES = ("numeric", "classes", "several")
_OUTCOME_HINT = "give 1 for reached, 0 for not reached, or nothing for not observed"


class RankingData(NamedTuple):
    """The rankings of all rows of a source, with the labels sorted by name."""

    name: str
    labels: tuple[str, ...]
    ranks: Values  # (n, k): ranks or scores; NaN where a label is missing

    @property
    def missing_indicator(self) -> Values:
        """NaN for rows that rank no label, 0 for others; shape (n,)."""
        return np.where(np.isnan(self.ranks).all(axis=1), np.nan, 0.0)


def is_ranking(y: Any) -> bool:
    """Check whether a separate target has several columns, which makes it a ranking.

    Examples
    --------
    >>> is_ranking([[1, 2], [2, 1]]), is_ranking([1.5, 2.5]), is_ranking(None)
    (True, False, False)
    """
    shape = getattr(y, "shape", None)
    if shape is None:
        try:
            shape = np.shape(y)
        except ValueError:  # a ragged list; the reader raises an error later
            return False
    return len(shape) == 2 and shape[1] > 1


def read_ranking_columns(frame: SourceFrame, names: Collection[str], exclude: Collection[str]) -> RankingData:
    """Read the rankings of a source.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    names : collection of str
        One column of texts, or at least two columns of ranks or scores, one per label.
    exclude : collection of str
        Columns that the user excluded.

    Returns
    -------
    RankingData
        Scores are not converted to ranks. They reverse all orders, which does not change a sign-free
        statistic.

    Raises
    ------
    DataError
        If a column does not exist, is excluded or has the wrong content.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> ranking = read_ranking_columns(read_frame({"taste": ["tea>milk", None, "milk>tea"]}), ["taste"], [])
    >>> ranking.labels, ranking.ranks.tolist()
    (('milk', 'tea'), [[2.0, 1.0], [nan, nan], [1.0, 2.0]])
    """
    require_columns(frame, names, name_option("ranking"))
    for name in names:
        if name in exclude:
            raise DataError(
                f"{frame.source}: {quote(name)} is in both {name_option('ranking')} and "
                f"{name_option('exclude')}: keep one"
            )
    return _read_ranking_texts(frame, *names) if len(names) == 1 else _read_rank_columns(frame, sorted(names))


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


def check_y_ranking(y: ArrayLike, frame: SourceFrame, inputs: Sequence[str]) -> RankingData:
    """Check a ranking that is passed separately from the source.

    Parameters
    ----------
    y : array or data frame of shape (n, k)
        Ranks or scores. The columns of a data frame name the labels, otherwise they are called 1 to k.
    frame : SourceFrame
        The source, with n rows.
    inputs : sequence of str
        Names of the input columns, which the target's name must not repeat.

    Returns
    -------
    RankingData

    Raises
    ------
    DataError
        If the number of rows differs from the source, or a value is not a number.
    """
    shape = np.shape(y)
    if shape[0] != frame.n:
        raise DataError(
            f"y has shape {shape}: one ranking is needed for each of the {frame.n} rows of {frame.source}"
        )
    ranks = to_float_array(y)
    column_labels: Any = getattr(y, "columns", range(1, shape[1] + 1))
    labels = [str(label) for label in column_labels]
    if len(set(labels)) < len(labels):
        raise DataError("two columns of y have the same name: rename one")
    name = "y"
    while name in inputs:
        name += "_"
    order = sorted(range(len(labels)), key=labels.__getitem__)
    return _check_ranking(frame, RankingData(name, tuple(labels[index] for index in order), ranks[:, order]))


def _read_ranking_texts(frame: SourceFrame, name: str) -> RankingData:
    """Read rankings from a column of texts; an error names the row."""
    column = frame.columns[name]
    if column.texts is None:
        raise DataError(
            f"{frame.source}: {name_option_column('ranking', name)} holds {column.description}: name a "
            "column of texts such as a>b>c, or two or more columns of ranks"
        )
    texts = [text if text and text.strip() else None for text in column.texts.to_pylist()]
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    if not any(">" in text for text in distinct):
        raise DataError(
            f"{frame.source}: {name_option_column('ranking', name)} holds no '>': write the preferred label "
            "first, a>b=c>d"
        )
    labels: set[str] = set()
    for text in distinct:
        try:
            labels.update(parse_rankings([text]).labels)
        except DataError as error:
            row = f"{frame.source}: row {texts.index(text) + 1} of {quote(name)}"
            raise DataError(row + str(error).removeprefix("row 0 of the rankings")) from None
    _check_label_count(frame, len(labels))
    rankings = parse_rankings(distinct)
    row_of_text = {text: index for index, text in enumerate(distinct)}
    empty_row = np.full((1, len(rankings.labels)), np.nan)
    rows = np.array([-1 if text is None else row_of_text[text] for text in texts])
    return RankingData(name, rankings.labels, np.concatenate([rankings.ranks, empty_row])[rows])


def _read_rank_columns(frame: SourceFrame, names: list[str]) -> RankingData:
    """Read rankings from one numeric column per label."""
    columns = []
    for name in names:
        column = frame.columns[name]
        if column.numbers is None:
            raise DataError(
                f"{frame.source}: {name_option_column('ranking', name)} holds {column.description}: several "
                "columns hold ranks or scores, one for each label; name a column of texts such as a>b>c alone"
            )
        columns.append(column.numbers)
    return _check_ranking(
        frame, RankingData(",".join(map(quote_label, names)), tuple(names), np.column_stack(columns))
    )


def _check_ranking(frame: SourceFrame, ranking_data: RankingData) -> RankingData:
    """Check the number of labels and that no rank is infinite."""
    _check_label_count(frame, len(ranking_data.labels))
    infinite_ranks = np.isinf(ranking_data.ranks)
    if infinite_ranks.any():
        infinite_labels = [
            label
            for label, is_infinite in zip(ranking_data.labels, infinite_ranks.T, strict=True)
            if is_infinite.any()
        ]
        rows = format_rows(np.asarray(infinite_ranks.any(axis=1)))
        raise DataError(
            f"{frame.source}: ranks are infinite in {rows} ({format_names(infinite_labels)}): leave missing "
            "ranks empty"
        )
    return ranking_data


def _check_label_count(frame: SourceFrame, n_labels: int) -> None:
    """Check that there are at most 100 labels."""
    if n_labels > _MAX_LABELS:
        raise DataError(
            f"{frame.source}: the ranking has {n_labels:,} labels, more than {_MAX_LABELS}: all pairs of "
            "them would be compared; rank fewer labels, or groups of them"
        )


class StageData(NamedTuple):
    """How far each row of a source has advanced along the stages."""

    stages: tuple[str, ...]
    outcomes: NDArray[np.int8]  # (n, T + 1): +1 reached, −1 not reached, 0 not observed
    weights: NDArray[np.float64]  # (P,): w_{t′t}, in the order of `list_stage_pairs`

    @property
    def informative_rows(self) -> NDArray[np.bool_]:
        """Rows with an observed transition of positive weight; shape (n,)."""
        return np.asarray(mask_observed_pairs(self.outcomes)[:, self.weights > 0].any(axis=1))


def read_stages(
    frame: SourceFrame, stages: tuple[str, ...], weights: NDArray[np.float64], exclude: Collection[str]
) -> StageData:
    """Read the stage columns of a source and check that they form a chain.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    stages : tuple of str, length T + 1
        Columns of 1 (reached), 0 or −1 (not reached), or missing (not observed); first stage first.
    weights : float64 array, shape (P,)
        Weight of each pair of stages, in the order of `list_stage_pairs`.
    exclude : collection of str
        Columns that the user excluded.

    Returns
    -------
    StageData

    Raises
    ------
    DataError
        If a column does not exist, is excluded, is empty or contains another value, or if a row reaches a
        stage but not an earlier one. The message gives the first such row, counted from 1.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> frame = read_frame({"viewed": [1, 1, 0], "liked": [1, 0, None]})
    >>> read_stages(frame, ("viewed", "liked"), np.ones(1), []).outcomes.tolist()
    [[1, 1], [1, -1], [-1, 0]]
    """
    require_columns(frame, stages, name_option("stages"))
    for name in stages:
        if name in exclude:
            raise DataError(
                f"{frame.source}: {quote(name)} is in both {name_option('stages')} and "
                f"{name_option('exclude')}: keep one"
            )
    outcomes = np.stack([_read_outcomes(frame, name) for name in stages], axis=1)
    violation = find_first_violation(outcomes)
    if violation is not None:
        row, earlier, later = violation
        raise DataError(
            f"{frame.source}: row {row + 1} reaches {quote(stages[later])} but not "
            f"{quote(stages[earlier])}: each stage requires all earlier ones; correct the row or the order "
            f"of {name_option('stages')}, or leave unobserved stages empty"
        )
    return StageData(stages, outcomes, weights)


def describe_uninformative_pairs(target: StagesTarget) -> list[str]:
    """List the pairs of stages with positive weight in which all rows, or none, advance.

    Parameters
    ----------
    target : StagesTarget
        The target.

    Returns
    -------
    list of str
        One line if there are such pairs, else empty.
    """
    stages, informative_pairs = target.stages, target.pairs
    left_out = [
        f"{quote(stages[earlier])} to {quote(stages[later])}"
        for earlier, later in target.weighted_pairs
        if (earlier, later) not in informative_pairs
    ]
    return (
        [f"left out: the pairs of stages in which all rows advance, or none: {', '.join(left_out)}"]
        if left_out
        else []
    )


def _read_outcomes(frame: SourceFrame, name: str) -> NDArray[np.int8]:
    """Read one stage as 1 (reached), −1 (not reached) or 0 (not observed); shape (n,)."""
    column = frame.columns[name]
    if column.numbers is None:
        raise DataError(
            f"{frame.source}: {name_option_column('stages', name)} holds {column.description}: "
            f"{_OUTCOME_HINT}"
        )
    if not column.is_numeric:
        raise DataError(
            f"{frame.source}: the stage {quote(name)} is observed in none of "
            f"{format_count(frame.n, 'row')}: leave it out of {name_option('stages')}"
        )
    values = column.numbers
    is_invalid = ~(np.isnan(values) | np.isin(values, (-1.0, 0.0, 1.0)))
    if is_invalid.any():
        row = int(np.flatnonzero(is_invalid)[0])
        raise DataError(
            f"{frame.source}: row {row + 1} of {quote(name)} holds {values[row]:g}, which is not an outcome "
            f"of a stage: {_OUTCOME_HINT}"
        )
    return np.where(np.isnan(values), 0, np.where(values == 1.0, 1, -1)).astype(np.int8)


class ClassData(NamedTuple):
    """The class of each row of a source; classes are sorted by name, or by value if numeric."""

    name: str
    classes: tuple[str, ...]
    codes: Values  # (n,): index of the class, NaN where missing


class SurvivalData(NamedTuple):
    """The time of each row of a source and whether the event was observed then."""

    name: str
    event: str
    times: Values  # (n,): NaN where missing
    events: Values  # (n,): 1 for an event, 0 for a censored row, NaN where missing


def parse_target_names(frame: SourceFrame, target: str | Sequence[str] | None) -> tuple[str, ...]:
    """Parse the option `target` into column names.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    target : str, sequence of str or None
        One name, a list of names, or a text such as ``"a,b"`` if the source has no column of that name.

    Returns
    -------
    tuple of str
        Empty for None.

    Raises
    ------
    OptionError
        If a name is repeated, no name is given, or the text cannot be split.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> parse_target_names(read_frame({"a": [1], "b": [2]}), "a,b")
    ('a', 'b')
    """
    if target is None:
        return ()
    if isinstance(target, str):
        is_single = target in frame.columns or "," not in target
        names = (target,) if is_single else parse_name_list(target, "target")
    elif isinstance(target, list | tuple):
        names = tuple(str(name) for name in target)
    else:
        names = (str(target),)
    duplicates = [name for name in names if names.count(name) > 1]
    if duplicates:
        raise OptionError(f"{name_option('target')} names {quote(duplicates[0])} twice: name it once")
    if not names:
        raise OptionError(f"{name_option('target')} names no column: name one, or several")
    return names


def detect_target_type(
    frame: SourceFrame,
    y: Any,
    target: str | Sequence[str] | None,
    exclude: Collection[str],
    requested: str | None,
) -> TargetType:
    """Determine the type of a target that is not a chain of stages and not a survival target.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    y : object
        A separate target, or None.
    target : str, sequence of str or None
        The target column. Several names give the type ``"several"``.
    exclude : collection of str
        Columns that the user excluded.
    requested : {"numeric", "classes", "several"} or None
        The type requested by the user; None to detect it from the data.

    Returns
    -------
    TargetType
        ``"classes"`` for a text column; numbers become classes only on request.

    Raises
    ------
    OptionError
        If the requested type is unknown or does not match the target.
    """
    if requested is not None and requested not in _TARGET_TYPE_CHOICES:
        raise OptionError(f"target_kind is {requested!r}{suggest(requested, _TARGET_TYPE_CHOICES)}")
    names = parse_target_names(frame, target)
    if len(names) > 1:
        if requested not in {None, "several"}:
            raise OptionError(
                f"there are {len(names)} targets{hint_option('target', names)}, but "
                f"{name_option('target_kind', requested)} takes one"
            )
        return "several"
    if is_ranking(y):
        if requested == "several":
            return "several"
        if requested is not None:
            raise OptionError(
                f"y has several columns, but {name_option('target_kind', requested)} takes one: give "
                "one, or 'several'"
            )
        return "ranking"
    if requested == "several":
        raise OptionError(
            f"{name_option('target_kind', 'several')} needs several targets: give "
            f"them{hint_option('target', ['a', 'b'])}"
        )
    if requested is not None:
        return "classes" if requested == "classes" else "numeric"
    if y is not None:
        return "classes" if np.ndim(y) == 1 and _is_categorical(_convert_y(y)) else "numeric"
    name, _ = choose_target_column(frame, names[0] if names else None, exclude)
    return "classes" if _is_categorical(frame.columns[name]) else "numeric"


def _is_categorical(column: SourceColumn) -> bool:
    """Check for a text column; text that looks like damaged numbers is an error for the user to correct."""
    return column.texts is not None and column.description == "text"


def _convert_y(y: Any) -> SourceColumn:
    """Convert a separate target of shape (n,)."""
    return convert_python_column(y if hasattr(y, "shape") else np.array(y, dtype=object))


def read_classes(frame: SourceFrame, name: str, column: SourceColumn, option: str = "target") -> ClassData:
    """Read a column of classes.

    Parameters
    ----------
    frame : SourceFrame
        The source, for messages.
    name : str
        Name of the column.
    column : SourceColumn
        A column of text or numbers. Blank texts count as missing.
    option : str
        The name of the option that names the column, for messages.

    Returns
    -------
    ClassData

    Raises
    ------
    DataError
        If the column contains neither text nor numbers.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> frame = read_frame({"mail": ["spam", "ham", None], "grade": [2, 1, 2]})
    >>> read_classes(frame, "mail", frame.columns["mail"])[1:]
    (('ham', 'spam'), array([ 1.,  0., nan]))
    >>> read_classes(frame, "grade", frame.columns["grade"]).classes
    ('1', '2')
    """
    if column.numbers is not None and column.is_numeric:
        is_present = ~np.isnan(column.numbers)
        distinct, known_codes = np.unique(column.numbers[is_present] + 0.0, return_inverse=True)
        classes = tuple(
            f"{number:g}" if float(f"{number:g}") == number else repr(float(number))
            for number in distinct.tolist()
        )
    elif column.texts is not None:
        texts = [text if text and text.strip() else None for text in column.texts.to_pylist()]
        is_present = np.array([text is not None for text in texts], dtype=np.bool_)
        known_texts = [text for text in texts if text is not None]
        classes = tuple(sorted(set(known_texts)))
        code_of_class = {class_name: code for code, class_name in enumerate(classes)}
        known_codes = np.array([code_of_class[text] for text in known_texts], dtype=np.int64)
    else:
        raise DataError(
            f"{frame.source}: {name_option_column(option, name)} holds {column.description}: words or "
            "numbers are needed; correct it, or choose another"
        )
    codes = np.full(is_present.size, np.nan)
    codes[is_present] = known_codes
    return ClassData(name, classes, codes)


def check_class_count(frame: SourceFrame, class_data: ClassData) -> None:
    """Check that a target has at most 100 classes.

    Parameters
    ----------
    frame : SourceFrame
        The source, for the message.
    class_data : ClassData
        The classes of the target.

    Raises
    ------
    DataError
        If there are more, as in a column of names or keys.
    """
    if len(class_data.classes) > _MAX_CLASSES:
        rows = format_count(int((~np.isnan(class_data.codes)).sum()), "row")
        raise DataError(
            f"{frame.source}: the target {quote(class_data.name)} holds {len(class_data.classes):,} classes "
            f"in {rows}, more than {_MAX_CLASSES}: choose another{hint_option('target')}, or merge classes"
        )


def read_outputs(frame: SourceFrame, names: Sequence[str], exclude: Collection[str]) -> dict[str, Values]:
    """Read the columns of a multi-output target.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    names : sequence of str
        2 to 100 numeric columns.
    exclude : collection of str
        Columns that the user excluded.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)
        NaN where a value is missing.

    Raises
    ------
    DataError
        If a column does not exist, is excluded or is not numeric, or there are more than 100.
    """
    require_columns(frame, names, name_option("target"))
    _check_output_count(len(names))
    return {name: _get_numbers(frame, choose_numeric_target(frame, name, exclude)[0]) for name in names}


def check_y_outputs(y: Any, frame: SourceFrame, inputs: Collection[str]) -> dict[str, Values]:
    """Check a multi-output target that is passed separately from the source.

    Parameters
    ----------
    y : array or data frame of shape (n, K)
        The outputs, K ≤ 100. The columns of a data frame name them, otherwise they are called y1 to yK, with
        an appended underscore if an input has that name.
    frame : SourceFrame
        The source, with n rows.
    inputs : collection of str
        Names of the input columns.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)

    Raises
    ------
    DataError
        If the number of rows differs from the source, a column is not numeric, or a name is repeated.
    """
    cells = y.to_numpy() if hasattr(y, "to_numpy") else y
    cells = cells if hasattr(cells, "shape") else np.array(cells, dtype=object)
    if cells.shape[0] != frame.n:
        raise DataError(
            f"y has shape {cells.shape}: one row is needed for each of the {frame.n} rows of {frame.source}"
        )
    _check_output_count(cells.shape[1])
    names = _name_outputs(y, cells.shape[1], inputs)
    if duplicates := [name for name in names if names.count(name) > 1]:
        raise DataError(
            f"y has more than one column named {quote(duplicates[0])}: rename or remove the others"
        )
    if conflicts := [name for name in names if name in inputs]:
        raise DataError(
            f"{quote(conflicts[0])} is the name of a column of y and of {frame.source}: rename one, or "
            f"leave the latter out{hint_option('exclude')}"
        )
    outputs = {}
    for name, output in zip(names, cells.T, strict=True):
        column = convert_python_column(output)
        if column.numbers is None or not column.is_numeric:
            raise DataError(f"the column {quote(name)} of y holds {column.description}: numbers are needed")
        outputs[name] = column.numbers
    return outputs


def _name_outputs(y: Any, n_outputs: int, inputs: Collection[str]) -> list[str]:
    """Return the column names of a data frame, otherwise y1, y2, … (plus underscores if in use)."""
    if hasattr(y, "columns"):
        return [str(label) for label in y.columns]
    names = []
    for number in range(1, n_outputs + 1):
        name = f"y{number}"
        while name in inputs:
            name += "_"
        names.append(name)
    return names


def read_events(frame: SourceFrame, name: str, target: str | None, exclude: Collection[str]) -> Values:
    """Read the event indicator of a survival target.

    Parameters
    ----------
    frame : SourceFrame
        The source.
    name : str
        A column of 1 or true (event observed) and 0 or false (row censored).
    target : str or None
        The column of times.
    exclude : collection of str
        Columns that the user excluded.

    Returns
    -------
    float64 array, shape (n,)
        1, 0, or NaN where the value is missing.

    Raises
    ------
    DataError
        If the column does not exist, has another role or contains other values.
    """
    require_columns(frame, [name], name_option("event"))
    for used_columns, option in ((exclude, "exclude"), ([target], "target")):
        if name in used_columns:
            raise DataError(
                f"{frame.source}: {quote(name)} is in both {name_option('event')} and "
                f"{name_option(option)}: keep one"
            )
    hint = "give 1 where the event was observed, 0 where the row is censored"
    column = frame.columns[name]
    if column.numbers is None or not column.is_numeric:
        raise DataError(
            f"{frame.source}: {name_option_column('event', name)} holds {column.description}: {hint}"
        )
    is_invalid = ~(np.isnan(column.numbers) | np.isin(column.numbers, (0.0, 1.0)))
    if is_invalid.any():
        row = int(np.flatnonzero(is_invalid)[0])
        raise DataError(
            f"{frame.source}: row {row + 1} of {quote(name)} holds {column.numbers[row]:g}: {hint}"
        )
    return column.numbers


def _check_output_count(n_outputs: int) -> None:
    """Check that there are at most 100 outputs."""
    if n_outputs > _MAX_OUTPUTS:
        raise DataError(f"{n_outputs:,} targets are more than {_MAX_OUTPUTS}: screen them in groups")


def _get_numbers(frame: SourceFrame, name: str) -> Values:
    """Return the values of a numeric column; shape (n,)."""
    numbers = frame.columns[name].numbers
    assert numbers is not None  # noqa: S101  # `choose_numeric_target` accepts only numeric columns
    return numbers
