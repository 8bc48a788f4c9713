"""A screen made ready again from the record of its result, with the data given anew."""

from __future__ import annotations

import reprlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from symscreen.errors import OptionError, TableError, quoted
from symscreen.export import operators_of_record
from symscreen.grammar import Grammar
from symscreen.grammar.layers import named_operators
from symscreen.pipeline.preparation import prepared
from symscreen.pipeline.screen_options import ScreenOptions
from symscreen.result.record import grammar_record
from symscreen.screeners import Screener, screener_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from symscreen.pipeline.preparation import Prepared
    from symscreen.screeners import AnyScreener
    from symscreen.table import Table

__all__ = ["prepared_again"]

_READ_APART = ("screener", "cut", "risk", "operators")
# what reaches beyond this process, or changes no answer: it is for who asks to say, not for a file
_NOT_OF_A_FILE = (
    "jobs",
    "chunk_size",
    "max_ram",
    "progress",
    "on_progress",
    "quiet",
    "time_limit",
    "backend",
    "scheduler",
    "checkpoint",
)


def prepared_again(
    record: Mapping[str, Any],
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    jobs: int | None = None,
    max_ram: str | int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Prepared:
    """Read the options of a screen from its record, and the same data once more.

    Parameters
    ----------
    record : mapping
        Of a `ScreenResult`, or of a ranking read from its file.
    X, y
        The data, as they were given to the screen.
    jobs, max_ram, progress
        As of `symscreen.screen`; none of them changes the answer.

    Returns
    -------
    Prepared

    Raises
    ------
    TableError
        If the data are others than those that were screened, with what differs.
    OptionError
        If a screener or the grammar is not there as it was.
    """
    options = record["options"]
    _check_plain(options)
    known = {field.name for field in fields(ScreenOptions)} - {*_READ_APART, *_NOT_OF_A_FILE}
    given = {name: value for name, value in options.items() if name in known}
    given |= {
        "screener": _screeners(options["screener"], options.get("settings", {})),
        "exclude": [*options["exclude"], *([options["groups"]] if "groups" in options else [])],
        "stability": None,
        "groups": None,
        "p_values": False,  # as permutations, they choose nothing of what is shown
        "permutations": None,
        "intervals": False,
        "cut": _screeners(options["cut"], options.get("cut_settings", {})) or None,
        **_response(record, beside=y is not None),
        "risk": options["risk"] if options["search"] == "race" else None,
        "operators": _grammar(record),
        "unary": record["grammar"]["unary"] or None,
        "binary": record["grammar"]["binary"] or None,
        "jobs": jobs,
        "max_ram": max_ram,
        "progress": progress,
    }
    ready = prepared(X, y, ScreenOptions(**given))
    _require_same_data(ready.table, record["data"])
    _require_same_grammar(grammar_record(ready.job.grammar), record["grammar"], options["operators"])
    return ready


def _check_plain(options: Mapping[str, Any]) -> None:
    """Refuse units that are no table of them: as a text they would be the name of a file to be opened."""
    units = options.get("units")
    plain = isinstance(units, dict) and all(isinstance(unit, str) for unit in units.values())
    if units is not None and not plain:
        raise TableError(f"the record is damaged: its units are {quoted(units)}, not those of columns")


def _grammar(record: Mapping[str, Any]) -> str | Grammar:
    """Return the name of a grammar that is installed; one of a file is built from the record.

    The file may have changed since; and a record that somebody else wrote must not have any file opened.
    """
    name, told = str(record["options"]["operators"]), record["grammar"]
    if not name.endswith(".toml"):
        return name
    operators = operators_of_record(record)
    rules: dict[str, Any] = {
        rule: {outer: frozenset(map(str, inner)) for outer, inner in told[rule].items()}
        for rule in ("forbid", "forbid_within", "columns")
    }
    return Grammar(
        name=name,
        operators=operators,
        unary=named_operators(told["unary"], 1, operators, "the record's unary"),
        binary=named_operators(told["binary"], 2, operators, "the record's binary"),
        constants=tuple(map(int, told["constants"])),
        max_complexity=told["max_complexity"],
        **rules,
    )


def _response(record: Mapping[str, Any], *, beside: bool) -> dict[str, Any]:
    """Say where the response is: beside the data, in some columns that are a ranking or stages, or in one."""
    options = record["options"]
    ranking, stages = options["ranking"], options.get("stages")
    weight = options.get("stage_weight") or "all"
    if weight == "given":
        pairs = record["data"]["stages"]["pairs"]
        weight = {(pair["present"], pair["later"]): pair["weight"] for pair in pairs}
    plain = not beside and ranking is None and stages is None
    return {
        "target": options["target"] if plain else None,
        "across": options.get("across") or "mean",
        "ranking": None if beside else ranking,
        "stages": stages,
        "stage_weight": weight,
    }


def _screeners(names: list[str], settings: Mapping[str, Mapping[str, Any]]) -> list[AnyScreener]:
    found: list[AnyScreener] = []
    for name in names:
        try:
            one = screener_named(name)
        except OptionError as error:
            raise OptionError(f"the result was made by a screener {name!r}, but {error}") from None
        found.append(one if isinstance(one, Screener) else one.with_settings(settings.get(name, {})))
    return found


def _require_same_data(table: Table, data: Mapping[str, Any]) -> None:
    """Refuse other data than those that were screened; say what differs."""
    if table.digest == data["digest"]:
        return
    same: tuple[tuple[str, Any, Any], ...] = (
        ("rows", table.response.n, data["rows"]),
        ("the target", table.response.name, data["target"]),
        ("the inputs", list(table.names), list(data["inputs"])),
    )
    told = [
        f"{what}: {reprlib.repr(now)}, and {reprlib.repr(then)} were screened"  # of thousands of inputs, six
        for what, now, then in same
        if now != then
    ]
    raise TableError(
        "these are not the data that the result was made from: "
        + ("; ".join(told) or "names and rows agree, but values differ")
        + "; give the same data, or screen again"
    )


def _require_same_grammar(now: Mapping[str, Any], then: Mapping[str, Any], name: str) -> None:
    changed = [key for key in then if now.get(key) != then[key]]
    if changed:
        raise OptionError(
            f"the grammar {name} is not what it was when the result was made ({', '.join(changed)} changed); "
            "screen again"
        )
