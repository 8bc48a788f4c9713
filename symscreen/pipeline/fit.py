"""The way to a formula: table → grammar → spaces, small ones first → models → fit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from symscreen.backends import Threads, available_cores
from symscreen.errors import OptionError, nearest
from symscreen.options import (
    PRESCREEN,
    at_least_1,
    idle_rules,
    read_cutters,
    read_grammar,
    read_keep,
    read_memory,
    read_schedule,
)
from symscreen.pipeline.fitting import FitJob, fitted
from symscreen.result import Request, chunk_size_for
from symscreen.table import is_ranking, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen.expansion import PoolKind
    from symscreen.models import FitResult
    from symscreen.screeners import AnyScreener

    Names = str | Sequence[str]
    Screeners = str | Sequence[str | AnyScreener]

__all__ = ["fit"]

_MOST_TERMS = 20
_IBART_CUT = "bart[rule=gse]"
_IBART_LAYERS = "ubu"


def fit(
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
    keep: int | str | Mapping[str, int] | None = None,
    cut: Screeners | None = None,
    preset: Literal["ibart"] | None = None,
    terms: int = 4,
    choose: Literal["ebic", "bic", "aic", "cv"] = "ebic",
    folds: int = 5,
    split: float = 0.0,
    level: float = 0.95,
    snap: bool = False,
    seed: int = 0,
    max_ram: str | int | None = None,
    jobs: int | None = None,
) -> FitResult:
    """Find a formula for a response: a weighted sum of few features, and a constant.

    Spaces are searched in the order of their size, small ones exhaustively; see `symscreen.models.search`.

    Parameters
    ----------
    X, y, target, inputs, exclude, missing, operators, unary, binary, pool, max_complexity, max_ram, jobs
        As in `symscreen.screen`.
    layers : str, optional
        As in `screen`; every prefix is searched first. By default ``u``, ``b``, ``ub``, ``bu``, ``bub``,
        ``ubb``, those too large left out with a notice.
    keep, cut
        As in `screen`: cuts between layers, so that deep formulas stay reachable.
    preset : {"ibart"}, optional
        Follow iBART (Ye, Senftle and Li 2021): BART's Global SE rule selects among the inputs and, between
        layers, among all features, earlier selections kept; of the last space the LASSO, cross-validated,
        selects the features whose subsets are tried. Layers are ``ubu`` where none are given.
    terms : int
        The most terms in the formula: up to 4 by exhaustive search, beyond on greedy and LASSO paths; at most
        20.
    choose : {"ebic", "bic", "aic", "cv"}
        What decides between models: see `symscreen.models.choice.candidates_in`; ``"cv"`` is nested
        cross-validation, which repeats the whole search without each fold.
    folds : int
        Of ``choose="cv"``.
    split : float
        The share of rows kept from the search and used for the coefficients and their intervals alone, which
        are honest then; below 0.9. With 0 the intervals take the terms as given, and are too narrow.
    level : float
        Coverage of the intervals.
    snap : bool
        Whether to replace coefficients by simple numbers where the data allow all of them together.
    seed : int
        For folds and the split.

    Returns
    -------
    FitResult

    Raises
    ------
    InputError
        If the data, the grammar or an option cannot be used; see its subclasses.

    Examples
    --------
    >>> import symscreen
    >>> data = symscreen.datasets.strogatz("lv1")
    >>> symscreen.fit(data.frame, operators="strogatz", layers="ub", snap=True).formula.equation
    'target = 3*x1 - x1**2 - 2*x1*x2'
    """
    if is_ranking(y):
        raise OptionError(
            "fit needs a numeric response, and y has several columns: a ranking can be screened only"
        )
    if at_least_1("terms", terms) > _MOST_TERMS:
        raise OptionError(f"terms is {terms}; give at most {_MOST_TERMS}")
    if choose not in {"ebic", "bic", "aic", "cv"}:
        raise OptionError(f"choose is {choose!r}{nearest(str(choose), ['ebic', 'bic', 'aic', 'cv'])}")
    for name, share, most in (("split", split, 0.9), ("level", level, 1.0)):
        if not 0.0 <= share < most or (name == "level" and share == 0.0):
            raise OptionError(f"{name} is {share!r}; give a share from 0 to below {most:g}")
    if at_least_1("folds", folds) == 1:
        raise OptionError("folds is 1; give at least 2")
    if max_complexity is not None:
        at_least_1("max_complexity", max_complexity)
    if preset not in {None, "ibart"}:
        raise OptionError(f"preset is {preset!r}; there is 'ibart'")
    if preset is not None:
        cut, layers = (_IBART_CUT if cut is None else cut), layers or _IBART_LAYERS
    cutters, keeps = read_cutters(cut, keep, {}), read_keep(keep)
    backend = Threads(available_cores() if jobs is None else at_least_1("jobs", jobs))
    table = read_table(X, target=target, inputs=inputs, exclude=exclude, missing=missing, y=y)
    grammar, parsed = read_grammar(operators, layers, unary, binary, max_complexity)
    table = replace(table, notices=(*table.notices, *idle_rules(grammar, parsed, table.names)))
    job = FitJob(
        grammar=grammar,
        schedule=read_schedule(grammar, layers),
        asked=layers is not None,
        pool_kind=pool,
        terms=terms,
        choose=choose,
        folds=folds,
        split=split,
        level=level,
        snap=snap,
        seed=seed,
        backend=backend,
        max_bytes=read_memory(max_ram),
        cut=None if not cutters else _request(cutters, seed, backend, table.response.n),
        keeps=keeps,
        ibart=preset is not None,
    )
    return fitted(table, job)


def _request(screeners: tuple[AnyScreener, ...], seed: int, backend: Threads, rows: int) -> Request:
    return Request(
        screeners=screeners,
        sign="free",
        limit=None,
        prescreen=PRESCREEN,
        seed=seed,
        jobs=backend.jobs,
        backend=backend,
        chunk_size=chunk_size_for(rows),
    )
