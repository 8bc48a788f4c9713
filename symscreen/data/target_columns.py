"""Rankings in a source: one column of texts such as `a>b>c`, or a column of ranks for each label.

Chains of stages in a source: a column of 1 and 0 for each stage, in their order.

Responses other than one column of numbers: classes, several targets, and times until an event.
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
from symscreen.errors import DataError, OptionError, format_count, format_names, format_rows, quote, suggest
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

__all__ = [
    "ClassData",
    "RankingData",
    "StageData",
    "SurvivalData",
    "check_class_count",
    "check_y_outputs",
    "check_y_ranking",
    "describe_case_conflicts",
    "describe_uninformative_pairs",
    "detect_target_type",
    "is_ranking",
    "parse_target_names",
    "read_classes",
    "read_events",
    "read_outputs",
    "read_ranking_columns",
    "read_stages",
]

_MAX_SLIP_ROWS = 3  # rows, or a hundredth of those of the other label: a slip rather than a label
_MAX_LABELS = 100  # 4950 pairs, each of which is compared with every feature


class RankingData(NamedTuple):
    """What every row of a source ranks; labels in the order of their names."""

    name: str
    labels: tuple[str, ...]
    ranks: Values  # (n, k): any numbers in the order of the ranks; NaN where a label is missing

    @property
    def missing_indicator(self) -> Values:
        """A column that has no value where a row ranks no label; shape (n,)."""
        return np.where(np.isnan(self.ranks).all(axis=1), np.nan, 0.0)


def is_ranking(y: Any) -> bool:
    """Tell whether a response that is given beside a source holds several columns, and so ranks.

    Examples
    --------
    >>> is_ranking([[1, 2], [2, 1]]), is_ranking([1.5, 2.5]), is_ranking(None)
    (True, False, False)
    """
    shape = getattr(y, "shape", None)
    if shape is None:
        try:
            shape = np.shape(y)
        except ValueError:  # ragged: refused where it is read
            return False
    return len(shape) == 2 and shape[1] > 1


def read_ranking_columns(frame: SourceFrame, names: Collection[str], exclude: Collection[str]) -> RankingData:
    """Read the ranking of a source.

    Parameters
    ----------
    frame : Frame
        The source.
    names : collection of str
        One column of texts, or one of ranks or scores for each label, at least two.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    Ranked
        Scores instead of ranks reverse all orders, which changes no sign-free statistic.

    Raises
    ------
    TableError
        If there is no such column, it is excluded, or does not hold what is needed.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> ranked = read_ranking_columns(read_frame({"taste": ["tea>milk", None, "milk>tea"]}), ["taste"], [])
    >>> ranked.labels, ranked.ranks.tolist()
    (('milk', 'tea'), [[2.0, 1.0], [nan, nan], [1.0, 2.0]])
    """
    require_columns(frame, names, "--ranking")
    for name in names:
        if name in exclude:
            raise DataError(f"{frame.source}: {quote(name)} is in both --ranking and --exclude: keep one")
    return _read_ranking_texts(frame, *names) if len(names) == 1 else _read_rank_columns(frame, sorted(names))


def describe_case_conflicts(ranking_data: RankingData) -> list[str]:
    """Tell of labels in very few rows that differ from another only by case, and may be slips.

    Parameters
    ----------
    ranked : Ranked
        What a source ranks.

    Returns
    -------
    list of str
        A line for people for each such label.

    Examples
    --------
    >>> ranks = np.array([[1.0, np.nan, 2.0], [1.0, np.nan, 2.0], [np.nan, 1.0, 2.0]])
    >>> print(*describe_case_conflicts(Ranked("y", ("cof", "Cof", "tea"), ranks)))
    'y': the label 'Cof' is in 1 row and differs from 'cof', in 2 rows, only by case: one label, or two?
    """
    met: dict[str, list[tuple[int, str]]] = {}
    for label, shown in zip(
        ranking_data.labels, (~np.isnan(ranking_data.ranks)).sum(axis=0).tolist(), strict=True
    ):
        met.setdefault(label.casefold(), []).append((shown, label))
    notices = []
    for alike in met.values():
        most, usual = max(alike)
        notices += [
            f"{quote(ranking_data.name)}: the label {quote(label)} is in {format_count(rows, 'row')} and "
            "differs from "
            f"{quote(usual)}, in {format_count(most, 'row')}, only by case: one label, or two?"
            for rows, label in alike
            if rows < most and rows <= max(_MAX_SLIP_ROWS, most // 100)
        ]
    return notices


def check_y_ranking(y: ArrayLike, frame: SourceFrame, inputs: Sequence[str]) -> RankingData:
    """Check a ranking that comes beside the source.

    Parameters
    ----------
    y : array or data frame of shape (n, k)
        Ranks or scores; a frame names the labels, else they are called 1 to k.
    frame : Frame
        The source, of n rows.
    inputs : sequence of str
        The names that are taken.

    Returns
    -------
    Ranked

    Raises
    ------
    TableError
        If it does not have a row for each row of the source, or holds what is no number.
    """
    shape = np.shape(y)
    if shape[0] != frame.n:
        raise DataError(
            f"y has shape {shape}: one ranking is needed for each of the {frame.n} rows of {frame.source}"
        )
    ranks = to_float_array(y)
    given: Any = getattr(y, "columns", range(1, shape[1] + 1))
    labels = [str(label) for label in given]
    if len(set(labels)) < len(labels):
        raise DataError("two columns of y have one name: rename one")
    name = "y"
    while name in inputs:
        name += "_"
    order = sorted(range(len(labels)), key=labels.__getitem__)
    return _check_ranking(frame, RankingData(name, tuple(labels[place] for place in order), ranks[:, order]))


def _read_ranking_texts(frame: SourceFrame, name: str) -> RankingData:
    column = frame.columns[name]
    if column.texts is None:
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --ranking holds {column.description}: name a "
            "column of "
            "texts such as a>b>c, or two or more columns of ranks"
        )
    texts = [text if text and text.strip() else None for text in column.texts.to_pylist()]
    distinct = list(dict.fromkeys(text for text in texts if text is not None))
    if not any(">" in text for text in distinct):
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --ranking holds no '>': write the preferred label "
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
    read = parse_rankings(distinct)
    places = {text: place for place, text in enumerate(distinct)}
    nothing = np.full((1, len(read.labels)), np.nan)
    rows = np.array([-1 if text is None else places[text] for text in texts])
    return RankingData(name, read.labels, np.concatenate([read.ranks, nothing])[rows])


def _read_rank_columns(frame: SourceFrame, names: list[str]) -> RankingData:
    columns = []
    for name in names:
        column = frame.columns[name]
        if column.numbers is None:
            raise DataError(
                f"{frame.source}: the column {quote(name)} of --ranking holds {column.description}: several "
                "columns hold ranks or scores, one for each label; name a column of texts such as a>b>c alone"
            )
        columns.append(column.numbers)
    return _check_ranking(
        frame, RankingData(",".join(map(quote_label, names)), tuple(names), np.column_stack(columns))
    )


def _check_ranking(frame: SourceFrame, ranking_data: RankingData) -> RankingData:
    _check_label_count(frame, len(ranking_data.labels))
    infinite = np.isinf(ranking_data.ranks)
    if infinite.any():
        where = [label for label, own in zip(ranking_data.labels, infinite.T, strict=True) if own.any()]
        rows = format_rows(np.asarray(infinite.any(axis=1)))
        raise DataError(
            f"{frame.source}: ranks are infinite in {rows} ({format_names(where)}): leave empty what is "
            "missing"
        )
    return ranking_data


def _check_label_count(frame: SourceFrame, n_labels: int) -> None:
    if n_labels > _MAX_LABELS:
        raise DataError(
            f"{frame.source}: the ranking has {n_labels:,} labels, more than {_MAX_LABELS}: all pairs of "
            "them "
            "would be compared; rank fewer, or groups of them"
        )


_OUTCOME_HINT = "give 1 for reached, 0 for not reached, or nothing for not observed"


class StageData(NamedTuple):
    """How far along the stages every row of a source has gone."""

    stages: tuple[str, ...]
    outcomes: NDArray[np.int8]  # (n, T + 1): +1 reached, −1 not reached, 0 not observed
    weights: NDArray[np.float64]  # (P,): w_{t′t}, in the order of `list_stage_pairs`

    @property
    def informative_rows(self) -> NDArray[np.bool_]:
        """The rows that count for a pair of stages: those at one from which a later one was observed."""
        return np.asarray(mask_observed_pairs(self.outcomes)[:, self.weights > 0].any(axis=1))


def read_stages(
    frame: SourceFrame, stages: tuple[str, ...], weights: NDArray[np.float64], exclude: Collection[str]
) -> StageData:
    """Read the stages of a source, and check the chain.

    Parameters
    ----------
    frame : Frame
        The source.
    stages : tuple of str
        Columns of 1 (reached) and 0 or −1 (not reached), nothing where not observed; the first stage first.
    weights : float64 array, shape (P,)
        What each pair of them weighs.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    Staged

    Raises
    ------
    TableError
        If there is no such column, it is excluded, holds something else or nothing, or if a row reaches a
        stage but not one before it; the first such row is named, counted from 1.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> frame = read_frame({"viewed": [1, 1, 0], "liked": [1, 0, None]})
    >>> read_stages(frame, ("viewed", "liked"), np.ones(1), []).outcomes.tolist()
    [[1, 1], [1, -1], [-1, 0]]
    """
    require_columns(frame, stages, "--stages")
    for name in stages:
        if name in exclude:
            raise DataError(f"{frame.source}: {quote(name)} is in both --stages and --exclude: keep one")
    outcomes = np.stack([_read_outcomes(frame, name) for name in stages], axis=1)
    broken = find_first_violation(outcomes)
    if broken is not None:
        row, earlier, later = broken
        raise DataError(
            f"{frame.source}: row {row + 1} reaches {quote(stages[later])} but not "
            f"{quote(stages[earlier])}: each stage needs those before it; mend the row, or the order of "
            "--stages, or leave empty what was not observed"
        )
    return StageData(stages, outcomes, weights)


def describe_uninformative_pairs(target: StagesTarget) -> list[str]:
    """Tell of the pairs of stages that were asked for, but that all rows go, or none.

    Parameters
    ----------
    response : StagesResponse
        The response.

    Returns
    -------
    list of str
        A line for people, if there are such.
    """
    stages, known = target.stages, target.pairs
    idle = [
        f"{quote(stages[a])} to {quote(stages[b])}" for a, b in target.weighted_pairs if (a, b) not in known
    ]
    return [f"left out: the pairs of stages that all rows go, or none: {', '.join(idle)}"] if idle else []


def _read_outcomes(frame: SourceFrame, name: str) -> NDArray[np.int8]:
    column = frame.columns[name]
    if column.numbers is None:
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --stages holds {column.description}: "
            f"{_OUTCOME_HINT}"
        )
    if not column.is_numeric:
        raise DataError(
            f"{frame.source}: the stage {quote(name)} is observed in none of "
            f"{format_count(frame.n, 'row')}: leave "
            "it out of --stages"
        )
    values = column.numbers
    strange = ~(np.isnan(values) | np.isin(values, (-1.0, 0.0, 1.0)))
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise DataError(
            f"{frame.source}: row {row + 1} of {quote(name)} holds {values[row]:g}, which is no outcome of a "
            f"stage: {_OUTCOME_HINT}"
        )
    return np.where(np.isnan(values), 0, np.where(values == 1.0, 1, -1)).astype(np.int8)


_MAX_CLASSES, _MAX_OUTPUTS = 100, 100  # each is compared with every feature
_TARGET_TYPE_CHOICES = ("numeric", "classes", "several")


class ClassData(NamedTuple):
    """The class of every row of a source; classes in the order of their names, or of their numbers."""

    name: str
    classes: tuple[str, ...]
    codes: Values  # (n,): places among the classes, NaN where a row has none


class SurvivalData(NamedTuple):
    """Until when every row of a source was seen, and whether it met the event then."""

    name: str
    event: str
    times: Values  # (n,): NaN where a row has none
    events: Values  # (n,): 1 where it was met, 0 where not, NaN where that is missing


def parse_target_names(frame: SourceFrame, target: str | Sequence[str] | None) -> tuple[str, ...]:
    """Read which columns are targets.

    Parameters
    ----------
    frame : Frame
        The source.
    target : str, sequence of str or None
        One name, or several in a list, or as ``"a,b"`` where the source has no column of that name.

    Returns
    -------
    tuple of str
        Empty where none is named.

    Raises
    ------
    OptionError
        If a name is given twice, or the text cannot be split.

    Examples
    --------
    >>> from symscreen.data.files import read_frame
    >>> parse_target_names(read_frame({"a": [1], "b": [2]}), "a,b")
    ('a', 'b')
    """
    if target is None:
        return ()
    if isinstance(target, str):
        lone = target in frame.columns or "," not in target
        names = (target,) if lone else parse_name_list(target, "--target")
    elif isinstance(target, list | tuple):
        names = tuple(str(name) for name in target)
    else:
        names = (str(target),)
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OptionError(f"--target names {quote(twice[0])} twice: name it once")
    if not names:
        raise OptionError("--target names no column: name one, or several")
    return names


def detect_target_type(
    frame: SourceFrame,
    y: Any,
    target: str | Sequence[str] | None,
    exclude: Collection[str],
    requested: str | None,
) -> TargetType:
    """Tell what a response is that is neither a ranking nor stages nor survival, by what it holds.

    Parameters
    ----------
    frame : Frame
        The source.
    y : object
        A response that comes beside it, or None.
    target : str, sequence of str or None
        The target's name; several names are several targets.
    exclude : collection of str
        Columns that the user leaves out.
    asked : {"numeric", "classes", "several"} or None
        What the user says that it is; None where that is to be seen.

    Returns
    -------
    Kind
        ``"classes"`` for a column of words; never for numbers unless asked for.

    Raises
    ------
    OptionError
        If what is asked is unknown, or is not what is given.
    """
    if requested is not None and requested not in _TARGET_TYPE_CHOICES:
        raise OptionError(f"target_kind is {requested!r}{suggest(requested, _TARGET_TYPE_CHOICES)}")
    names = parse_target_names(frame, target)
    if len(names) > 1:
        if requested not in {None, "several"}:
            raise OptionError(f"--target names {len(names)} columns, and --target-kind {requested} takes one")
        return "several"
    if is_ranking(y):
        if requested == "several":
            return "several"
        if requested is not None:
            raise OptionError(
                f"y has several columns, and target_kind={requested!r} takes one: give one, or 'several'"
            )
        return "ranking"
    if requested == "several":
        raise OptionError("--target-kind several needs several targets: name them, --target a,b")
    if requested is not None:
        return "classes" if requested == "classes" else "numeric"
    if y is not None:
        return "classes" if np.ndim(y) == 1 and _is_categorical(_convert_y(y)) else "numeric"
    name, _ = choose_target_column(frame, names[0] if names else None, exclude)
    return "classes" if _is_categorical(frame.columns[name]) else "numeric"


def _is_categorical(column: SourceColumn) -> bool:
    """Tell a column of words from numbers that were spoilt, which are told of and not guessed at."""
    return column.texts is not None and column.description == "text"


def _convert_y(y: Any) -> SourceColumn:
    return convert_python_column(y if hasattr(y, "shape") else np.array(y, dtype=object))


def read_classes(frame: SourceFrame, name: str, column: SourceColumn, option: str = "--target") -> ClassData:
    """Read the classes of a column.

    Parameters
    ----------
    frame : Frame
        The source, for messages.
    name : str
        What the column is called.
    column : Column
        Of words or numbers; blanks are missing.
    said : str
        Which option named it, for messages.

    Returns
    -------
    Classes

    Raises
    ------
    TableError
        If the column holds neither.

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
        there = ~np.isnan(column.numbers)
        distinct, found = np.unique(column.numbers[there] + 0.0, return_inverse=True)
        classes = tuple(
            f"{number:g}" if float(f"{number:g}") == number else repr(float(number))
            for number in distinct.tolist()
        )
    elif column.texts is not None:
        texts = [text if text and text.strip() else None for text in column.texts.to_pylist()]
        there = np.array([text is not None for text in texts], dtype=np.bool_)
        present = [text for text in texts if text is not None]
        classes = tuple(sorted(set(present)))
        place = {each: code for code, each in enumerate(classes)}
        found = np.array([place[text] for text in present], dtype=np.int64)
    else:
        raise DataError(
            f"{frame.source}: the column {quote(name)} of {option} holds {column.description}: words or "
            "numbers are "
            "needed; mend it, or choose another"
        )
    codes = np.full(there.size, np.nan)
    codes[there] = found
    return ClassData(name, classes, codes)


def check_class_count(frame: SourceFrame, class_data: ClassData) -> None:
    """Refuse a target of more than 100 classes, as a column of names or keys has them.

    Raises
    ------
    TableError
        With their number.
    """
    if len(class_data.classes) > _MAX_CLASSES:
        rows = format_count(int((~np.isnan(class_data.codes)).sum()), "row")
        raise DataError(
            f"{frame.source}: the target {quote(class_data.name)} holds {len(class_data.classes):,} classes "
            f"in {rows}, "
            f"more than {_MAX_CLASSES}: choose another with --target, or join classes"
        )


def read_outputs(frame: SourceFrame, names: Sequence[str], exclude: Collection[str]) -> dict[str, Values]:
    """Read several targets of a source.

    Parameters
    ----------
    frame : Frame
        The source.
    names : sequence of str
        Columns of numbers, at least two.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)
        NaN where a value is missing.

    Raises
    ------
    TableError
        If there is no such column, it is excluded or not numeric, or they are too many.
    """
    require_columns(frame, names, "--target")
    _check_output_count(len(names))
    return {name: _get_numbers(frame, choose_numeric_target(frame, name, exclude)[0]) for name in names}


def check_y_outputs(y: Any, frame: SourceFrame, inputs: Collection[str]) -> dict[str, Values]:
    """Check several targets that come beside the source.

    Parameters
    ----------
    y : array or data frame of shape (n, K)
        A frame names them, else they are called y1 to yK, with a mark _ behind a name that an input has.
    frame : Frame
        The source, of n rows.
    inputs : collection of str
        The names that are taken.

    Returns
    -------
    dict of str to float64 array, each of shape (n,)

    Raises
    ------
    TableError
        If it does not have a row for each row of the source, a column is no numbers, or a name is taken.
    """
    cells = y.to_numpy() if hasattr(y, "to_numpy") else y
    cells = cells if hasattr(cells, "shape") else np.array(cells, dtype=object)
    if cells.shape[0] != frame.n:
        raise DataError(
            f"y has shape {cells.shape}: one row is needed for each of the {frame.n} rows of {frame.source}"
        )
    _check_output_count(cells.shape[1])
    names = _name_outputs(y, cells.shape[1], inputs)
    if twice := [name for name in names if names.count(name) > 1]:
        raise DataError(f"y has more than one column named {quote(twice[0])}: rename or remove the others")
    if taken := [name for name in names if name in inputs]:
        raise DataError(
            f"{quote(taken[0])} is the name of a column of y and of {frame.source}: rename one, or leave the "
            "latter out with --exclude"
        )
    found = {}
    for name, own in zip(names, cells.T, strict=True):
        column = convert_python_column(own)
        if column.numbers is None or not column.is_numeric:
            raise DataError(f"the column {quote(name)} of y holds {column.description}: numbers are needed")
        found[name] = column.numbers
    return found


def _name_outputs(y: Any, n_outputs: int, inputs: Collection[str]) -> list[str]:
    """Return the names that a frame gives its columns; else y1, y2, …, as far as inputs leave them free."""
    if hasattr(y, "columns"):
        return [str(each) for each in y.columns]
    names = []
    for place in range(1, n_outputs + 1):
        name = f"y{place}"
        while name in inputs:
            name += "_"
        names.append(name)
    return names


def read_events(frame: SourceFrame, name: str, target: str | None, exclude: Collection[str]) -> Values:
    """Read the column that tells whether the event was met.

    Parameters
    ----------
    frame : Frame
        The source.
    name : str
        A column of 1 or true (met) and 0 or false (seen no longer).
    target : str or None
        The column of the times.
    exclude : collection of str
        Columns that the user leaves out.

    Returns
    -------
    float64 array, shape (n,)
        1, 0, or NaN where the value is missing.

    Raises
    ------
    TableError
        If there is no such column, it has another use, or holds something else.
    """
    require_columns(frame, [name], "--event")
    for other, option in ((exclude, "--exclude"), ([target], "--target")):
        if name in other:
            raise DataError(f"{frame.source}: {quote(name)} is in both --event and {option}: keep one")
    meaning = "give 1 where the event was met, 0 where the row was seen no longer"
    column = frame.columns[name]
    if column.numbers is None or not column.is_numeric:
        raise DataError(
            f"{frame.source}: the column {quote(name)} of --event holds {column.description}: {meaning}"
        )
    strange = ~(np.isnan(column.numbers) | np.isin(column.numbers, (0.0, 1.0)))
    if strange.any():
        row = int(np.flatnonzero(strange)[0])
        raise DataError(
            f"{frame.source}: row {row + 1} of {quote(name)} holds {column.numbers[row]:g}: {meaning}"
        )
    return column.numbers


def _check_output_count(n_outputs: int) -> None:
    if n_outputs > _MAX_OUTPUTS:
        raise DataError(f"{n_outputs:,} targets are more than {_MAX_OUTPUTS}: screen them in groups")


def _get_numbers(frame: SourceFrame, name: str) -> Values:
    numbers = frame.columns[name].numbers
    assert numbers is not None  # noqa: S101  # `choose_numeric_target` has refused what is not numeric
    return numbers
