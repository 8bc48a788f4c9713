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
from symscreen.pipeline.categories import derived_inputs, levels_told, with_categorical
from symscreen.pipeline.fit_job import FitJob
from symscreen.pipeline.fitting import fitted
from symscreen.pipeline.options_running import read_course
from symscreen.pipeline.screen_options import ScreenOptions
from symscreen.result import Request, chunk_size_for
from symscreen.screeners import Screener, across_targets
from symscreen.table import is_ranking, read_frame, read_table, target_names
from symscreen.units import given_units, with_targets_in_base_units

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen.expansion import PoolKind
    from symscreen.models import FitResult, SharedFitResult
    from symscreen.response import Kind
    from symscreen.screeners import AnyScreener
    from symscreen.table import Frame, Table
    from symscreen.table.categories import CategoricalAs

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
    target: Names | None = None,
    inputs: Sequence[str] | None = None,
    categorical: Names = (),
    categorical_as: CategoricalAs = "gate",
    exclude: Sequence[str] = (),
    missing: Literal["refuse", "drop"] = "refuse",
    layers: str | None = None,
    operators: str | Path = "basic",
    unary: Names | None = None,
    binary: Names | None = None,
    pool: PoolKind = "cumulative",
    max_complexity: int | None = None,
    units: str | Path | Mapping[str, str] | None = None,
    target_units: str | None = None,
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
    quiet: bool = False,
) -> FitResult | SharedFitResult:
    """Find a formula for a response: a weighted sum of few features, and a constant.

    Spaces are searched in the order of their size, small ones exhaustively; see `symscreen.models.search`.

    Parameters
    ----------
    X, inputs, categorical, categorical_as, exclude, missing
        As in `symscreen.screen`: `predict`, bundles and exports compute what categories come to from their
        own columns; a level that was not seen is 0 there.
    operators, unary, binary, pool, max_complexity, max_ram, jobs, quiet
        As in `symscreen.screen`.
    y : array_like, shape (n,) or (n, K), optional
        The response, where `X` does not hold it, or K targets: a frame names them, else they are y1 to yK.
    target : str or sequence of str, optional
        The response's column; else ``target``, ``label`` or ``y``, else the last. Several columns, ``"a,b"``
        or a list, are several targets that share their terms and have coefficients of their own, as in
        SISSO's multi-task mode (Ouyang et al. 2019, J. Phys. Mater. 2, 024002): the terms are chosen by the
        mean over targets of the share of its variance that each model leaves, so that units of targets do not
        matter.
    units : {"strict", "ignore"}, path or mapping of str to str, optional
        As in `screen`: only terms that have a unit are made. Inputs and targets are brought into base units;
        the result tells the unit of each coefficient, and predicts, saves and exports in the units that came.
    target_units : str, optional
        With units: only terms in such a unit, up to a factor, so that coefficients are pure numbers. A target
        whose own unit is not told is taken to be in it.
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
    FitResult or SharedFitResult
        The latter of several targets.

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
    read_course(None, None, None, quiet=quiet)
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
    X = read_frame(X)  # noqa: N806  # once: standard input can be read only once
    named = ScreenOptions(
        target=target,
        inputs=inputs,
        categorical=categorical,
        categorical_as=categorical_as,
        exclude=exclude,
    )
    X, read = with_categorical(X, y, named)  # noqa: N806  # a frame with more columns
    kind: Kind = "several" if is_ranking(y) or len(target_names(X, target)) > 1 else "numeric"
    cutters, keeps = read_cutters(cut, keep, {}, kind), read_keep(keep)
    backend = Threads(available_cores() if jobs is None else at_least_1("jobs", jobs))
    table = read_table(
        X, target=target, inputs=read.inputs, exclude=read.exclude, missing=missing, y=y, kind=kind
    )
    grammar, parsed = read_grammar(operators, layers, unary, binary, max_complexity)
    table = replace(table, notices=(*table.notices, *idle_rules(grammar, parsed, table.names)))
    derived = derived_inputs(X, table.names, categorical)
    table, measured = given_units(table, units, target_units, derived)
    told = None
    if measured is not None:
        table, targets = with_targets_in_base_units(table, measured)
        told = {**measured.record, "targets": targets}
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
        cut=None if not cutters else _request(cutters, kind, seed, backend, table.response.n),
        keeps=keeps,
        ibart=preset is not None,
        units=measured,
        told_units=told,
        told_categories=_categories_told(X, named, table),
    )
    return fitted(table, job)


def _categories_told(frame: Frame, named: ScreenOptions, table: Table) -> dict[str, Any] | None:
    """Return what the record tells of categories, as that of a screen does: exports compute them again."""
    levels = levels_told(frame, named)
    if not levels:
        return None
    options = {"categorical": list(levels["levels"]), "categorical_as": named.categorical_as, **levels}
    return {"options": options, "data": {"inputs": list(table.names)}}


def _request(
    screeners: tuple[AnyScreener, ...], kind: Kind, seed: int, backend: Threads, rows: int
) -> Request:
    if kind == "several":
        # joint ones have been refused; the mean over targets is what the fit goes by, too
        screeners = tuple(across_targets(one, "mean") for one in screeners if isinstance(one, Screener))
    return Request(
        screeners=screeners,
        sign="free",
        limit=None,
        prescreen=PRESCREEN,
        seed=seed,
        jobs=backend.jobs,
        backend=backend,
        chunk_size=chunk_size_for(rows),
        kind=kind,
    )
