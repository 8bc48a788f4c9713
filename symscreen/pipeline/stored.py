"""`symscreen.load_result`: a ranking from its file as a result again, with or without its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError, TableError, printable
from symscreen.export import operators_of_record
from symscreen.expression import parse, to_text
from symscreen.pipeline.again import prepared_again
from symscreen.report.notebook import VIEWS
from symscreen.report.stored import check_reported, read_ranking, read_undamaged
from symscreen.result import ScreenResult, partial_told

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from numpy.typing import ArrayLike

    from symscreen.expression import Expression
    from symscreen.report.stored import StoredRanking
    from symscreen.table import Table

__all__ = ["load_result"]

_TEXTS = ("expression", "direction", "unit")
_WHOLE = ("rank", "complexity", "layer", "class_size", "round", "place_alone", "stands_for")


def load_result(
    path: str | Path,
    X: Any = None,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
) -> ScreenResult:
    """Read a ranking back from its file as what `symscreen.screen` returned.

    Parameters
    ----------
    path : str or Path
        A ``.csv`` with its record beside it, a ``.parquet`` or a ``.json`` that `screen --out` wrote.
    X, y : optional
        The data, as they were given to the screen. Without them the result has no rows: it cannot draw
        features or their redundancy, and a report leaves these out. Nothing is scored again.

    Returns
    -------
    ScreenResult
        To be looked at, drawn, applied to new rows, exported and reported. What was told in notices of the
        run itself is lost, but for what the record tells; rulings are lost too.

    Raises
    ------
    TableError
        If the file is no such ranking, is damaged, or the data are others than those that were screened.
    OptionError
        If a screener or the grammar is not there as it was, where data are given.

    Examples
    --------
    >>> import tempfile, symscreen
    >>> from symscreen.report.files import write_ranking
    >>> data = symscreen.datasets.strogatz("glider2")
    >>> result = symscreen.screen(data.frame, layers="ub", unary="cos", binary="sub,div", top=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_ranking(result, f"{folder}/r.csv")
    ...     back = load_result(f"{folder}/r.csv", data.frame)
    >>> back.expressions == result.expressions, back.data is not None
    (True, True)
    """
    stored = read_ranking(path)
    check_reported(path, stored.record)
    expressions = _formulas(stored, str(path))
    with read_undamaged(path):
        table = None if X is None and y is None else prepared_again(stored.record, X, y).table
        notices, together = _notices(stored.record, table), _agreement(stored.record)
    return ScreenResult(
        _as_it_was(
            stored.table, list(map(to_text, expressions)), stored.record["options"]["screener"], str(path)
        ),
        expressions,
        stored.record["scored"],
        stored.record["data"]["gini_mean_difference"],
        stored.record,
        notices,
        agreement=together,
        data=table,
        views=VIEWS,
    )


def _formulas(stored: StoredRanking, where: str) -> tuple[Expression, ...]:
    try:
        operators = operators_of_record(stored.record)
        names = stored.record["data"]["inputs"]
        return tuple(parse(text, operators, names) for text in stored.table["expression"])
    except FormulaError as error:
        raise TableError(f"{printable(where)} is damaged: {error}") from None


def _as_it_was(table: pd.DataFrame, texts: list[str], screeners: list[str], where: str) -> pd.DataFrame:
    """Undo what a file does to a table: whole numbers as floats, a minus sign in parentheses."""
    kinds = {f"{name}_rank": "Int64" for name in screeners} | dict.fromkeys(_WHOLE, "int64")
    kinds |= {f"{name}_selected": "boolean" for name in screeners}
    changed: dict[str, Any] = {"expression": texts}
    for name in map(str, table.columns):
        if name not in _TEXTS:
            try:
                changed[name] = _of_kind(table[name], kinds.get(name, "float64"))
            except (ValueError, TypeError) as error:
                raise TableError(
                    f"{printable(where)} is damaged: its column {name!r} holds {error}"
                ) from None
    return table.assign(**changed)


def _of_kind(column: pd.Series[Any], kind: Any) -> pd.Series[Any]:
    if kind == "boolean":
        return column.astype("boolean")
    numbers = column.astype("Float64")
    if kind != "float64" and (numbers.dropna() % 1 != 0).any():
        raise ValueError("a number that is not whole")
    return numbers.astype(kind)


def _agreement(record: dict[str, Any]) -> pd.DataFrame | None:
    import pandas as pd

    told = record.get("agreement")
    if not told:
        return None
    frame = pd.DataFrame(told)
    return frame.astype({"kendall": float, "overlap": float})


def _notices(record: dict[str, Any], table: Table | None) -> tuple[str, ...]:
    notices = [] if table is None else list(table.notices)
    partial = record.get("partial")
    if partial is not None:
        notices.append(partial_told(partial))
    return tuple(notices)
