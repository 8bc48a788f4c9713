"""Prepare a screen again from the record of its result and the same data.

`symscreen.load_result`: a ranking from its file as a result again, with or without its data.
"""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from symscreen.config.fields import get_option, list_options
from symscreen.config.parsing import BUDGET_NONE
from symscreen.config.screen_options import ScreenOptions
from symscreen.errors import DataError, FormulaError, OptionError
from symscreen.export import build_indicators_from_record, build_operators_from_record
from symscreen.expressions.printing import to_text
from symscreen.expressions.traversal import define_columns
from symscreen.expressions.tree import parse_printed_expression
from symscreen.grammar import Grammar
from symscreen.grammar.grammar import resolve_operators
from symscreen.grammar.grammar_files import read_constants
from symscreen.messages import escape_control_chars, quote
from symscreen.report.notebook import VIEWS
from symscreen.results.ranking_reader import (
    TEXT_COLUMNS,
    check_report_record,
    read_ranking,
    report_damaged_record,
)
from symscreen.results.record import (
    build_grammar_record,
    format_partial_notice,
    format_selection_notice,
)
from symscreen.results.screen_result import ScreenResult
from symscreen.screeners import Screener, get_screener
from symscreen.screening.preparation import prepare_screen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike

    from symscreen.data import Dataset
    from symscreen.expressions.tree import Expression
    from symscreen.results.ranking_reader import StoredRanking
    from symscreen.screeners import AnyScreener
    from symscreen.screening.task import ScreeningTask

_INTEGER_COLUMNS = ("rank", "complexity", "layer", "class_size", "round", "place_alone", "n_redundant")


def prepare_from_record(
    record: Mapping[str, Any],
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    jobs: int | None = None,
    max_ram: str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ScreeningTask:
    """Read the options of a screen from its record, and the same data once more.

    Parameters
    ----------
    record : mapping
        The record of a `ScreenResult`, or of a ranking that was read from its file.
    X, y
        The data, as they were given to the screen.
    jobs, max_ram, progress
        See `symscreen.screen`. None of them changes the answer.

    Returns
    -------
    ScreeningTask
        The task of a screen with these options.

    Raises
    ------
    DataError
        If the data are others than those that were screened, with what differs.
    OptionError
        If a screener or the grammar is not there as it was.
    """
    options = record["options"]
    _check_units(options)
    # runtime options may reach beyond this process: who replays the record gives them, not a file
    names = [
        field.name
        for field in list_options(ScreenOptions)
        if get_option(field).record != "never" and not get_option(field).runtime
    ]
    given = {name: options[name] for name in names if name in options}
    given |= {
        "screener": _restore_screeners(options["screener"], options.get("settings", {})),
        "exclude": [*options["exclude"], *([options["groups"]] if "groups" in options else [])],
        "stability": None,
        # repeated screens keep near-duplicates in the list, which their absence would leave out
        "max_correlation": 1.0 if _is_repeated(options) else options.get("max_correlation"),
        # repeated splits choose nothing of what is shown; one split keeps rows from the screen
        "split": 0.0 if options.get("splits") is not None else options.get("split", 0.0),
        "splits": None,
        "groups": None,
        "p_values": False,  # they choose nothing that is shown, and neither do permutations
        "permutations": None,
        "intervals": False,
        "prune_by": _restore_screeners(options["prune_by"], options.get("prune_by_settings", {})) or None,
        **_restore_target_options(record, has_separate_target=y is not None),
        # if the search is exact, the budget says whether the user named it
        "search": None if options["search"] == "exact" else options["search"],
        "budget": options.get("budget", BUDGET_NONE),
        "risk": options["risk"] if options["search"] == "race" else None,
        "operators": _restore_grammar(record),
        "unary": [*record["grammar"]["unary"], *record["grammar"].get("time_operators", [])] or None,
        "binary": record["grammar"]["binary"] or None,
        "jobs": jobs,
        "max_ram": max_ram,
        "progress": progress,
    }
    try:
        screen_options = ScreenOptions(**given)
    except OptionError as error:
        raise ValueError(str(error)) from None  # no option of the user: the record is damaged
    task = prepare_screen(X, y, screen_options)
    _check_same_data(task.dataset, record["data"])
    _check_same_grammar(build_grammar_record(task.grammar), record["grammar"], options["operators"])
    return task


def _is_repeated(options: Mapping[str, Any]) -> bool:
    """Return whether a screen was repeated on parts of the rows."""
    return any(options.get(name) is not None for name in ("stability", "splits"))


def _check_units(options: Mapping[str, Any]) -> None:
    """Refuse units that are no table of them: as a text they would be the name of a file to be opened."""
    units = options.get("units")
    plain = isinstance(units, dict) and all(isinstance(unit, str) for unit in units.values())
    if units is not None and not plain:
        raise DataError(f"the record is damaged: its units are {quote(units)}, not those of columns")


def _restore_grammar(record: Mapping[str, Any]) -> str | Grammar:
    """Return the name of a grammar that is installed; one of a file is built from the record.

    The file may have changed since; and a record that somebody else wrote must not have any file opened.
    """
    name, recorded = str(record["options"]["operators"]), record["grammar"]
    if not name.endswith(".toml"):
        return name
    operators = build_operators_from_record(record)
    rules: dict[str, Any] = {
        rule: {outer: frozenset(map(str, inner)) for outer, inner in recorded[rule].items()}
        for rule in ("forbid", "forbid_within", "columns")
    }
    return Grammar(
        name=name,
        operators=operators,
        unary=resolve_operators(recorded["unary"], 1, operators, "the record's unary"),
        binary=resolve_operators(recorded["binary"], 2, operators, "the record's binary"),
        constants=read_constants(recorded["constants"]),
        max_complexity=recorded["max_complexity"],
        max_range=recorded.get("max_range", {}),
        **rules,
    )


def _restore_target_options(record: Mapping[str, Any], *, has_separate_target: bool) -> dict[str, Any]:
    """Return the options that name the target; none of them if it is given separately from the data."""
    options = record["options"]
    ranking, stages = options["ranking"], options.get("stages")
    weight = options.get("stage_weight") or "all"
    if weight == "given":
        pairs = record["data"]["stages"]["pairs"]
        weight = {(pair["present"], pair["later"]): pair["weight"] for pair in pairs}
    plain = not has_separate_target and ranking is None and stages is None
    return {
        "target": options["target"] if plain else None,
        "aggregate": options.get("aggregate") or "mean",
        "ranking": None if has_separate_target else ranking,
        "stages": stages,
        "stage_weight": weight,
    }


def _restore_screeners(names: list[str], settings: Mapping[str, Mapping[str, Any]]) -> list[AnyScreener]:
    found: list[AnyScreener] = []
    for name in names:
        try:
            one = get_screener(name)
        except OptionError as error:
            raise OptionError(f"the result was made by a screener {name!r}, but {error}") from None
        found.append(one if isinstance(one, Screener) else one.replace_settings(settings.get(name, {})))
    return found


def _check_same_data(dataset: Dataset, data: Mapping[str, Any]) -> None:
    """Refuse other data than those that were screened; say what differs."""
    if dataset.digest == data["digest"]:
        return
    same: tuple[tuple[str, Any, Any], ...] = (
        ("rows", dataset.target.n, data["rows"]),
        ("the target", dataset.target.name, data["target"]),
        ("the inputs", list(dataset.names), list(data["inputs"])),
    )
    differences = [
        # reprlib shows six inputs of thousands
        f"{what}: {reprlib.repr(now)}, and {reprlib.repr(then)} were screened"
        for what, now, then in same
        if now != then
    ]
    raise DataError(
        "these are not the data that the result was made from: "
        + ("; ".join(differences) or "names and rows agree, but values differ")
        + "; give the same data, or screen again"
    )


def _check_same_grammar(current: Mapping[str, Any], recorded: Mapping[str, Any], name: str) -> None:
    changed = [key for key in recorded if current.get(key) != recorded[key]]
    if changed:
        raise OptionError(
            f"the grammar {name} is not what it was when the result was made ({', '.join(changed)} changed); "
            "screen again"
        )


def load_result(
    path: str | Path,
    X: Any = None,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
) -> ScreenResult:
    """Read a ranking back from its file as what `symscreen.screen` returned.

    Parameters
    ----------
    path : str or Path
        A file that `screen --out` wrote: a ``.csv`` with its record in the same folder, a ``.parquet`` or
        a ``.json``.
    X, y : optional
        The data, as they were given to the screen. Without them the result has no rows: it cannot draw
        features or their redundancy, and a report leaves these out. Nothing is scored again.

    Returns
    -------
    ScreenResult
        It can be shown, drawn, applied to new rows, exported and reported. It has only those notices of the
        run that follow from the record.

    Raises
    ------
    DataError
        If the file is not such a ranking, is damaged, or the data are others than those that were screened.
    OptionError
        If a screener or the grammar is not there as it was, where data are given.

    Examples
    --------
    >>> import tempfile, symscreen
    >>> from symscreen.results.ranking_files import write_ranking
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> result = symscreen.screen(data.frame, layers="ub", unary="cos", binary="sub,div", top=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_ranking(result, f"{folder}/r.csv")
    ...     back = load_result(f"{folder}/r.csv", data.frame)
    >>> back.expressions == result.expressions, back.data is not None
    (True, True)
    """
    stored = read_ranking(path)
    check_report_record(path, stored.record)
    expressions = _parse_formulas(stored, str(path))
    with report_damaged_record(path):
        table = None if X is None and y is None else prepare_from_record(stored.record, X, y).dataset
        notices, together = _collect_notices(stored.record, table), _read_agreement(stored.record)
    return ScreenResult(
        _restore_dtypes(
            stored.table, list(map(to_text, expressions)), stored.record["options"]["screener"], str(path)
        ),
        expressions,
        stored.record["scored"],
        stored.record["data"]["gini_mean_difference"],
        stored.record,
        notices,
        agreement=together,
        data=table,
        renderers=VIEWS,
    )


def _parse_formulas(stored: StoredRanking, source: str) -> tuple[Expression, ...]:
    try:
        operators = build_operators_from_record(stored.record)
        names = stored.record["data"]["inputs"]
        indicators = build_indicators_from_record(stored.record)
        parsed = (parse_printed_expression(text, operators, names) for text in stored.table["expression"])
        return tuple(define_columns(expression, indicators) for expression in parsed)
    except FormulaError as error:
        raise DataError(f"{escape_control_chars(source)} is damaged: {error}") from None


def _restore_dtypes(table: pd.DataFrame, texts: list[str], screeners: list[str], source: str) -> pd.DataFrame:
    """Undo what a file does to a table: integers as floats, a minus sign in parentheses."""
    kinds = {f"{name}_rank": "Int64" for name in screeners} | dict.fromkeys(_INTEGER_COLUMNS, "int64")
    kinds |= {f"{name}_selected": "boolean" for name in screeners}
    changed: dict[str, Any] = {"expression": texts}
    for name in map(str, table.columns):
        if name not in TEXT_COLUMNS:
            try:
                changed[name] = _convert_dtype(table[name], kinds.get(name, "float64"))
            except (ValueError, TypeError) as error:
                raise DataError(
                    f"{escape_control_chars(source)} is damaged: its column {name!r} holds {error}"
                ) from None
    return table.assign(**changed)


def _convert_dtype(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    if dtype == "boolean":
        return column.astype("boolean")
    numbers = column.astype("Float64")
    if dtype != "float64" and (numbers.dropna() % 1 != 0).any():
        raise ValueError("a number that is not whole")
    return numbers.astype(dtype)


def _read_agreement(record: dict[str, Any]) -> pd.DataFrame | None:
    import pandas as pd

    agreement = record.get("agreement")
    if not agreement:
        return None
    frame = pd.DataFrame(agreement)
    return frame.astype({"kendall": float, "overlap": float})


def _collect_notices(record: dict[str, Any], dataset: Dataset | None) -> tuple[str, ...]:
    notices = [] if dataset is None else list(dataset.notices)
    partial = record.get("partial")
    if partial is not None:
        notices.append(format_partial_notice(partial))
    selection_notice = format_selection_notice(record)
    if selection_notice is not None:
        notices.append(selection_notice)
    return tuple(notices)
