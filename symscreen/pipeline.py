"""The main way: table → grammar → expansion → screeners → result. The one file that knows every room."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from operator import index
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from symscreen.backends import Threads, available_cores
from symscreen.errors import OptionError, SpaceError, nearest
from symscreen.expansion import expand
from symscreen.expression import parse
from symscreen.grammar import load_grammar
from symscreen.result import (
    Scorer,
    ScreenResult,
    best_classes,
    every_feature,
    joined,
    merge_numeric_copies,
    merged_when_due,
    none_kept,
    plan_of,
    ranking,
    run_record,
)
from symscreen.screeners import screeners_named
from symscreen.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen.backends import Backend
    from symscreen.expansion import Fate, PoolKind, Space
    from symscreen.grammar import Grammar, Layer
    from symscreen.result import Kept, Plan
    from symscreen.screeners import Sign

    Progress = Callable[[int, int], None]
    Names = str | Sequence[str]

__all__ = ["parse_bytes", "plan", "screen"]

_SHARE_OF_MEMORY = 0.8
_CHUNK_VALUES = 1 << 23
_BYTES_A_FEATURE = 1000  # a row of the table with its expression


def screen(
    X: Any,  # noqa: N803  # scikit-learn's name for it
    y: ArrayLike | None = None,
    *,
    target: str | None = None,
    inputs: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: Literal["refuse", "drop"] = "refuse",
    layers: str | None = None,
    operators: str | Path = "basic",
    unary: Names | None = None,
    binary: Names | None = None,
    pool: PoolKind = "cumulative",
    screener: Names = "t0",
    sign: Sign = "free",
    top: int | Literal["all"] = 20,
    max_complexity: int | None = None,
    also: Names = (),
    max_ram: str | int | None = None,
    jobs: int | None = None,
    chunk_size: int | None = None,
    progress: Progress | None = None,
) -> ScreenResult:
    """Grow a space of formulas from a table, score every one against a response, keep the best.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        The data. A file or a frame may hold the response too; an array has columns x1 … xd.
    y : array_like, shape (n,), optional
        The response, where `X` does not hold it.
    target : str, optional
        The response's column; else ``target``, ``label`` or ``y``, else the last.
    inputs, exclude : sequence of str, optional
        The columns to use, or to leave out; text and identifiers are left out with a notice.
    missing : {"refuse", "drop"}
        What to do with rows that have missing values.
    layers : str, optional
        ``"ub"``, or ``"u[sin,square] b[add,sub]"``; by default the grammar's own.
    operators : str or Path
        A shipped grammar or a TOML file.
    unary, binary : str or sequence of str, optional
        Operators instead of the grammar's, ``"sin,cos"`` or a list.
    pool : {"cumulative", "strict"}
        Whether a layer's output is added to the pool or replaces it.
    screener : str or sequence of str
        One or more screeners; the first ranks.
    sign : {"free", "positive"}
        Whether falling with the response is as good as rising with it.
    top : int or "all"
        How many classes to return; ``"all"`` returns every feature, unmerged.
    max_complexity : int, optional
        The highest complexity of a feature.
    also : str or sequence of str
        Formulas of your own that are scored with the rest.
    max_ram : str or int, optional
        Memory that may be used, ``"2GB"`` or bytes; by default four fifths of the machine's.
    jobs : int, optional
        Threads; by default all cores. The answer does not depend on it.
    chunk_size : int, optional
        Candidates a task. The answer does not depend on it.
    progress : callable, optional
        Called with (candidates done, candidates in all) after each chunk.

    Returns
    -------
    ScreenResult

    Raises
    ------
    InputError
        If the data, the grammar, a formula or an option cannot be used; see its subclasses.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.strogatz("glider2")
    >>> result = symscreen.screen(data.frame, layers="ubb", unary=["cos"], binary=["sub", "div"], top=1)
    >>> result.table.expression[0], result.table.direction[0]
    ('x1 - cos(x2)/x1', '+')
    """
    chosen, limit = screeners_named(_names(screener)), _limit(top)
    _check_options(sign=sign, jobs=jobs, chunk_size=chunk_size, max_complexity=max_complexity)
    max_bytes = _memory(max_ram)
    table = read_table(X, target=target, inputs=inputs, exclude=exclude, missing=missing, y=y)
    grammar, parsed = _grammar(operators, layers, unary, binary, max_complexity)
    table = replace(table, notices=(*table.notices, *_idle_rules(grammar, parsed, table.names)))
    formulas = [parse(text, grammar.operators, table.names) for text in _formulas(also)]
    space = expand(table.names, table.columns, grammar, parsed, pool, also=formulas, max_bytes=max_bytes)
    _require_room(space.size, limit, table.response.n, max_bytes)
    size = chunk_size or max(16, min(1 << 14, _CHUNK_VALUES // table.response.n))
    scorer = Scorer(space, table.response, chosen, sign, None if limit is None else _with_margin(limit))
    kept, scored, lost = _stream(scorer, Threads(jobs or available_cores()), size, progress)
    kept = _final(kept, space, limit)
    options = {
        "target": table.response.name,
        "inputs": None if inputs is None else list(inputs),
        "exclude": list(exclude),
        "missing": missing,
        "layers": " ".join(map(str, parsed)),
        "operators": str(operators),
        "pool": pool,
        "screener": [one.name for one in chosen],
        "sign": sign,
        "top": "all" if limit is None else limit,
        "max_complexity": max_complexity,
        "also": list(_formulas(also)),
        "jobs": jobs,
        "chunk_size": chunk_size,
    }
    record = run_record(table, space, grammar, options, scored=scored, shown=len(kept), lost=lost)
    return ranking(table, space, kept, chosen, record)


def _require_room(features: int, limit: int | None, rows: int, max_bytes: int | None) -> None:
    """Refuse a ranking that would not fit: its own rows and, to compare them, its features' values."""
    shown = features if limit is None else min(features, _with_margin(limit))
    needed = shown * (_BYTES_A_FEATURE + (0 if limit is None else 4 * 8 * rows))
    if max_bytes is not None and needed > max_bytes:
        raise SpaceError(
            f"keeping {shown:,} features would take {needed / 1e9:.1f} GB, {max_bytes / 1e9:.1f} GB are "
            "allowed: ask for fewer with --top, or raise --max-ram"
        )


def _with_margin(limit: int) -> int:
    # features equal up to rounding are merged after the stream, so more are kept until then
    return 2 * limit + 16


def _idle_rules(grammar: Grammar, layers: Sequence[Layer], names: Sequence[str]) -> list[str]:
    """Tell of column rules that keep an operator from every column, as a misspelt name does."""
    used = {operator.name for layer in layers for operator in layer.operators}
    return [
        f"the grammar lets {operator} touch only columns that the table lacks{nearest(min(columns), names)}"
        for operator, columns in grammar.columns.items()
        if operator in used and columns.isdisjoint(names) and columns
    ]


def _stream(
    scorer: Scorer, backend: Backend, chunk_size: int, progress: Progress | None
) -> tuple[Kept, int, dict[Fate, int]]:
    """Score all chunks and merge what they keep."""
    chunks = scorer.space.chunks(chunk_size)
    parts = [none_kept(len(scorer.screeners))]
    scored, lost = 0, dict[Any, int]()
    for (_, stop), outcome in zip(chunks, backend.map(scorer, chunks), strict=True):
        parts.append(outcome.kept)
        if scorer.limit is not None:
            parts = merged_when_due(parts, scorer.limit)
        scored += outcome.scored
        for fate, count in outcome.lost.items():
            lost[fate] = lost.get(fate, 0) + count
        if progress is not None:
            progress(stop, scorer.space.total)
    return joined(parts), scored, lost


def _final(kept: Kept, space: Space, limit: int | None) -> Kept:
    if limit is None:
        return every_feature(kept)
    kept = best_classes(kept, _with_margin(limit)).first(_with_margin(limit))
    return merge_numeric_copies(kept, space.values(kept.number)).first(limit)


def plan(
    X: Any,  # noqa: N803  # as in `screen`
    y: ArrayLike | None = None,
    *,
    target: str | None = None,
    inputs: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    missing: Literal["refuse", "drop"] = "refuse",
    layers: str | None = None,
    operators: str | Path = "basic",
    unary: Names | None = None,
    binary: Names | None = None,
    pool: PoolKind = "cumulative",
    max_complexity: int | None = None,
    max_ram: str | int | None = None,
) -> Plan:
    """Count what `screen` would do with the same options, without computing a feature.

    Parameters
    ----------
    X, y, target, inputs, exclude, missing, layers, operators, unary, binary, pool, max_complexity, max_ram
        As in `screen`.

    Returns
    -------
    Plan
        Counts by structure: rules, complexity, constants and duplicates that algebra shows. Values can only
        prune more (domains, features equal on the data), so later layers may turn out smaller.

    Raises
    ------
    InputError
        As in `screen`.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.additive(n=10)
    >>> symscreen.plan(data.frame, operators="ablation", layers="ub", pool="strict").features
    42
    """
    table = read_table(X, target=target, inputs=inputs, exclude=exclude, missing=missing, y=y)
    grammar, parsed = _grammar(operators, layers, unary, binary, max_complexity)
    space = expand(table.names, None, grammar, parsed, pool, max_bytes=_memory(max_ram))
    return plan_of(space, table.response.n, table.notices)


def parse_bytes(text: str | int) -> int:
    """Read an amount of memory.

    Parameters
    ----------
    text : str or int
        ``"2GB"``, ``"500 MB"``, or bytes; steps of 1000, whether an ``i`` is written or not.

    Returns
    -------
    int

    Raises
    ------
    OptionError
        If the text is no amount.

    Examples
    --------
    >>> parse_bytes("1.5GB")
    1500000000
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(text), re.IGNORECASE | re.ASCII)
    if match is None or float(match[1]) == 0:
        raise OptionError(f"max_ram is {text!r}; give an amount such as 2GB or 500MB")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))


def _memory(max_ram: str | int | None) -> int | None:
    if max_ram is not None:
        return parse_bytes(max_ram)
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return int(_SHARE_OF_MEMORY * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return None


def _names(names: Names) -> list[str]:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _formulas(also: Names) -> tuple[str, ...]:
    return (also,) if isinstance(also, str) else tuple(also or ())


def _limit(top: int | str) -> int | None:
    return None if top == "all" else _at_least_1("top", top, ", or 'all'")


def _at_least_1(name: str, value: object, other: str = "") -> int:
    """Take any kind of whole number, numpy's included."""
    whole = index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else 0
    if whole < 1:
        raise OptionError(f"{name} is {value!r}; give a whole number of at least 1{other}")
    return whole


def _check_options(*, sign: str, **numbers: int | None) -> None:
    if sign not in {"free", "positive"}:
        raise OptionError(f"sign is {sign!r}; it must be 'free' or 'positive'")
    for name, value in numbers.items():
        if value is not None:
            _at_least_1(name, value)


def _grammar(
    operators: str | Path,
    layers: str | None,
    unary: Names | None,
    binary: Names | None,
    max_complexity: int | None,
) -> tuple[Grammar, tuple[Layer, ...]]:
    grammar = load_grammar(operators).altered(
        unary=None if unary is None else _names(unary),
        binary=None if binary is None else _names(binary),
        max_complexity=max_complexity,
    )
    return grammar, grammar.parsed_layers(layers)
