"""Columns that categories come to, in other languages: computed there from the columns that the data have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError, OutputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["NO_GATES", "Gate", "gates_of_record", "kinds_of", "levels_used", "needed_columns"]


@dataclass(frozen=True, slots=True)
class Gate:
    """What a derived column is: ``1[column = level]``, times another column where one is let pass.

    Parameters
    ----------
    column : str
        The column of categories.
    level : str or float
        A text exactly, or a number.
    passes : str or None
        The column of numbers that the level lets pass; None for 1 and 0.
    """

    column: str
    level: str | float
    passes: str | None = None


NO_GATES: dict[str, Gate] = {}


def gates_of_record(record: Mapping[str, Any]) -> dict[str, Gate]:
    """Tell which inputs of a screen came of categories, and how they are computed.

    Parameters
    ----------
    record : mapping
        As `ScreenResult.record` has it.

    Returns
    -------
    dict of str to Gate
        Empty where no column was categorical.

    Raises
    ------
    FormulaError
        If the record was changed, or an input can be read in two ways.

    Examples
    --------
    >>> options = {"categorical": ["c"], "categorical_as": "gate", "levels": {"c": ["p", "q"]}}
    >>> gates_of_record({"options": options, "data": {"inputs": ["x", "x·1[c = p]"]}})
    {'x·1[c = p]': Gate(column='c', level='p', passes='x')}
    """
    options = record.get("options", {})
    if not options.get("categorical"):
        return {}
    try:
        levels, inputs = options["levels"], record["data"]["inputs"]
        titles = {
            f"{column} = {level if isinstance(level, str) else _number(level)}": (column, level)
            for column, each in levels.items()
            for level in each
        }
        gates = {name: gate for name in inputs if (gate := _gate(name, titles, options["categorical_as"]))}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormulaError(
            f"the record's levels of categories cannot be read ({error}); screen again"
        ) from None
    return gates


def _number(level: float) -> str:
    """Write a number as the names of derived columns have it."""
    return f"{level:g}" if float(f"{level:g}") == level else repr(float(level))


def _gate(name: str, titles: Mapping[str, tuple[str, str | float]], how: str) -> Gate | None:
    if how == "onehot":
        return Gate(*titles[name]) if name in titles else None
    found = [
        Gate(column, level, name.removesuffix(f"·1[{title}]"))
        for title, (column, level) in titles.items()
        if name.endswith(f"·1[{title}]")
    ]
    if len(found) > 1:
        raise ValueError(f"{name!r} can be read in {len(found)} ways")
    return found[0] if found else None


def needed_columns(inputs: Sequence[str], gates: Mapping[str, Gate]) -> tuple[str, ...]:
    """Name the columns of the data that inputs of formulas need, in the order of their names.

    Parameters
    ----------
    inputs : sequence of str
        What formulas name.
    gates : mapping of str to Gate
        Which of them are derived.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> needed_columns(["b", "x·1[c = p]"], {"x·1[c = p]": Gate("c", "p", "x")})
    ('b', 'c', 'x')
    """
    needed: set[str] = set()
    for name in inputs:
        gate = gates.get(name)
        needed |= (
            {name} if gate is None else {gate.column} if gate.passes is None else {gate.column, gate.passes}
        )
    return tuple(sorted(needed))


def kinds_of(inputs: Sequence[str], gates: Mapping[str, Gate]) -> dict[str, type]:
    """Tell what each column of the data holds: texts where its levels are such, else numbers.

    Parameters
    ----------
    inputs, gates
        As of `needed_columns`.

    Returns
    -------
    dict of str to type
        `str` or `float`, for each needed column.

    Raises
    ------
    OutputError
        If a column would have to hold both.
    """
    kinds: dict[str, type] = {}
    for name in inputs:
        gate = gates.get(name)
        own = {name: float} if gate is None else {gate.column: str if isinstance(gate.level, str) else float}
        if gate is not None and gate.passes is not None:
            own[gate.passes] = float
        for column, kind in own.items():
            if kinds.setdefault(column, kind) is not kind:
                raise OutputError(
                    f"the column {column!r} is asked for as a number and as a category of words"
                )
    return kinds


def levels_used(gates: Mapping[str, Gate]) -> frozenset[str]:
    """Tell what kinds of levels there are, ``words`` or ``numbers``: which helpers a source needs."""
    return frozenset("words" if isinstance(gate.level, str) else "numbers" for gate in gates.values())
