"""The main way: table → grammar → expansion → screeners → result. The one file that knows every room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from symscreen.config.screen_options import ScreenOptions
from symscreen.screening.execution import run_screen
from symscreen.screening.preparation import prepare_screen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._typing import Names, ProgressCallback
    from symscreen.data.categories import CategoricalAs
    from symscreen.expansion import PoolKind
    from symscreen.results.screen_result import ScreenResult
    from symscreen.screeners import AnyScreener, Sign, TargetAggregation
    from symscreen.screening.run_control import Progress
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.p_value_counts import FdrMethod

    StageWeight = Literal["all", "next", "last"] | Mapping[tuple[str, str], float] | ArrayLike
    ScreenerSpec = str | Sequence[str | AnyScreener]

__all__ = ["screen"]


def screen(
    X: Any,  # noqa: N803  # scikit-learn's name for it
    y: ArrayLike | None = None,
    *,
    target: Names | None = None,
    target_kind: Literal["numeric", "classes", "several"] | None = None,
    event: str | None = None,
    across: TargetAggregation = "mean",
    ranking: str | Sequence[str] | None = None,
    stages: Names | None = None,
    stage_weight: StageWeight = "all",
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
    screener: ScreenerSpec = "t0",
    prescreen: int | None = None,
    rule: str | None = None,
    engine: str | None = None,
    sign: Sign = "free",
    top: int | Literal["all"] = 20,
    max_complexity: int | None = None,
    also: Names = (),
    units: str | Path | Mapping[str, str] | None = None,
    target_units: str | None = None,
    keep: int | str | Mapping[str, int] | None = None,
    cut: ScreenerSpec | None = None,
    rounds: int = 1,
    search: SearchMode = "exact",
    risk: float | None = None,
    p_values: bool | None = False,
    fdr: float | None = None,
    fdr_method: FdrMethod = "bh",
    permutations: int | None = None,
    distinct: float | None = None,
    members: int | None = None,
    stability: int | None = None,
    groups: str | None = None,
    weights: str | None = None,
    intervals: bool | float = False,
    seed: int = 0,
    max_ram: str | int | None = None,
    jobs: int | None = None,
    chunk_size: int | None = None,
    progress: ProgressCallback | bool | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    quiet: bool = False,
    time_limit: str | float | None = None,
    backend: Literal["threads", "dask"] | None = None,
    scheduler: str | None = None,
    checkpoint: str | Path | None = None,
) -> ScreenResult:
    """Grow a space of formulas from a table, score every one against a response, keep the best.

    Parameters
    ----------
    X : path, pandas.DataFrame, dict of columns, or array of shape (n, d)
        The data. A file or a frame may hold the response too; an array has columns x1 … xd.
    y : array_like, shape (n,) or (n, k), optional
        The response, where `X` does not hold it; of k columns a ranking of k labels, or with
        ``target_kind="several"`` so many targets.
    target : str or sequence of str, optional
        The response's column; else ``target``, ``label`` or ``y``, else the last. A column of words is a
        response of classes: each is compared with the rest, and the score is the mean over classes. Several
        columns, ``"a,b"`` or a list, are several targets: every feature is sorted once and scored against
        each, and the table has a column such as ``t0[a]`` for every target. Of both there is one round, and
        every feature is scored over all rows.
    target_kind : {"numeric", "classes", "several"}, optional
        What the target is, where that is not to be seen: ``"classes"`` for classes that are numbers.
    event : str, optional
        The target is a time until an event, and this column tells whether it was met then (1), or the row was
        seen no longer (0). T0 counts the pairs of rows of which it is known who lasted longer, and the table
        has a column ``harrell_c``. One round, and every feature over all rows.
    across : {"mean", "worst"}
        Whether features are ordered by the mean of their losses by several targets, or by the largest.
    ranking : str or sequence of str, optional
        The response is a ranking: one column of texts such as ``a>b=c``, or the columns of ranks of two or
        more labels, NaN where a label is missing. Scores are as good as ranks: no result depends on which
        they are. Only some screeners take a ranking (`accepts` in their record); there is no direction, one
        round, and every feature is scored over all rows.
    stages : str or sequence of str, optional
        The response is a chain of stages, ``"viewed,liked,followed"``: columns of 1 (reached), 0 (not
        reached) or nothing (not observed), the first stage first. For each pair of stages, the rows that are
        at the earlier one and in which the later one is observed tell how well a feature separates those that
        reach the later one; the score is the mean over pairs, each weighed by its rows. The direction is the
        one that all pairs agree on. For the rest, it is as with a ranking.
    stage_weight : {"all", "next", "last"}, mapping or array-like of shape (T + 1, T + 1)
        What a row weighs in each pair of stages: 1 in all of them; in those of neighbours alone; in those
        with the last stage alone; or as given, by pairs of names or as a table.
    inputs, exclude : sequence of str, optional
        The columns to use, or to leave out; text and identifiers are left out with a notice.
    categorical : str or sequence of str
        Columns of categories, of words or numbers, that are to be used.
    categorical_as : {"gate", "onehot"}
        Whether each level lets the inputs pass, columns such as ``x·1[c = level]``, or is an input itself,
        ``c = level``. Wherever a formula that uses them goes, they are computed from their own columns.
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
        One or more screeners; the first ranks. A joint one may have settings: ``"lasso[folds=5]"``.
    prescreen : int, optional
        How many features joint screeners are shown, 1000 by default: the best by the first column screener
        asked for; where there is none, by T0 and ξ together.
    rule, engine : str, optional
        Short for the setting of that name: ``rule="gse"`` is ``bart[rule=gse]``, for screeners and cuts.
    sign : {"free", "positive"}
        Whether falling with the response is as good as rising with it.
    top : int or "all"
        How many classes to return; ``"all"`` returns every feature, unmerged.
    max_complexity : int, optional
        The highest complexity of a feature.
    also : str or sequence of str
        Formulas of your own that are scored with the rest.
    units : {"strict", "ignore"}, path or mapping of str to str, optional
        ``"strict"`` makes only formulas that have a unit, of columns whose headers tell theirs,
        ``length (mm)``; a .toml or .json file or a mapping, ``{"length": "mm"}``, does so too and tells units
        itself. Values are brought into base units first. Needs the extra ``units``.
    target_units : str, optional
        With units: scores only formulas in such a unit, up to a factor.
    keep : int, str or mapping, optional
        Cut the pool after each layer but the last to so many features, ``200`` or ``"u:50,b:200"``; inputs
        stay beside them.
    cut : str or sequence of str, optional
        Who cuts, ``"t0,xi"`` by default: of several column screeners the union stays, for T0 alone does not
        see a relation that turns. Joint screeners keep what they select: ``"bart[rule=gse]"``.
    rounds : int
        After each round but the last, the best model of as many found features as there were rounds is
        fitted, and the next screens what it leaves: weak additive terms come to light. At most 5.
    search : {"exact", "race", "sieve"}
        ``"exact"`` scores every feature over all rows. ``"race"`` drops features that some rows show not to
        be among the best, but for a stated risk; it needs T0 to rank. ``"sieve"`` keeps a generous share of
        the best in each of a few rounds; what that may have lost is estimated by an audit. The scores of what
        is kept are exact in all of them.
    risk : float, optional
        Of a race: the probability allowed that any of the best classes is lost, 1e-6 by default.
    p_values : bool or None
        Whether to compute the p-value of every feature of the space, under the null distribution of the first
        screener, and of those shown the columns ``p_value`` and ``q_value``. The null distribution takes some
        seconds. None for having them where the screener knows its null distribution, every feature is scored
        over all rows, and no cut chose the features by the response.
    fdr : float, optional
        Show only what passes this false discovery rate, ``q_value`` ≤ fdr, among at most `top` classes. Where
        nothing passes, the best are shown with their q-values.
    fdr_method : {"bh", "by"}
        How q-values are computed from the p-values of all features of the space: by Benjamini and Hochberg,
        or by Benjamini and Yekutieli, whose bound holds whatever the features' dependence.
    permutations : int, optional
        Permute the response so often, and compare each feature with the best of the whole space under each
        permutation: the column ``p_family``, from 1/(permutations + 1) up. T0 or Spearman must rank.
    distinct : float, optional
        Leave out near-duplicates: features whose |Spearman's rank correlation| with a better one that is
        shown is above this cap, such as 0.99. The list is filled up to `top`. The column ``stands_for`` tells
        for how many each one stands, the record for which.
    members : int, optional
        Store so many members of each class shown with the result, for `symscreen.classes`.
    stability : int, optional
        Screen so many complementary pairs of half-samples, too, and tell how often each feature shown, or one
        that cannot be told from it, is among the best K there: the column ``stability``.
    groups : str, optional
        A column of labels, text, numbers or dates: rows of one label stay together when rows are halved, are
        left out together for intervals, and stay together when the response is permuted. It is no input.
        There are no p- and q-values with it: they take rows for exchangeable.
    weights : str, optional
        A column that tells what each row weighs, of which the ratios alone count; it is no input. A pair of
        rows weighs the product, so that a whole number is as good as so many equal rows. Only some screeners
        take weights (``"weighted"`` in `accepts` of their record), of a numeric response, in one round and
        over all rows. Rows of weight 0 are left out, whatever stands in them. There is no inference with
        them, such as p-values and intervals, which takes rows to count alike. Weights that are all equal are
        none, and go with anything.
    intervals : bool or float
        Whether to give a standard error of T0 and intervals of T0 and Γ = 1 − T0/Δ of the features shown, at
        this level, True for 0.95: ``t0_se``, ``t0_low``, ``t0_high``, ``gamma``, ``gamma_low``,
        ``gamma_high``. They take no account of the selection. T0 must be among the screeners.
    seed : int
        For whatever is random: folds, trees, permutations, null distributions, the rows of a race or sieve.
    max_ram : str or int, optional
        Memory that may be used, ``"2GB"`` or bytes; by default four fifths of the machine's.
    jobs : int, optional
        Threads; by default all cores. The answer does not depend on it.
    chunk_size : int, optional
        Candidates a task. The answer does not depend on it.
    progress : callable or bool, optional
        Called with (candidates done, candidates in all) after each chunk; True writes a line on standard
        error, in a notebook as on a terminal.
    on_progress : callable, optional
        Called with a `Standing` after each chunk: done, rate, time left, best so far.
    quiet : bool
        Write nothing on standard error: no line of progress, and no word of kernels being compiled. Functions
        that were given are called; notices stand in the result.
    time_limit : str or float, optional
        ``"60s"``, ``"5m"``, or seconds from now: scoring ends in order when they are over, and the result
        says how many candidates were looked at. They are looked at in a fixed order. Where nine tenths
        of the time are over before the space is grown, the result is that of the layers that are complete.
        Exact search, one round.
    backend : {"threads", "dask"}, optional
        Where the last layer is scored. The answer does not depend on it.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers are used.
    checkpoint : str or Path, optional
        A folder that keeps how far scoring came: a run that was killed goes on from there when the same call
        is made again, and gives the same result. The layers before the last, and joint screeners, are
        computed again.

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
    >>> data = symscreen.datasets.load_strogatz("glider2")
    >>> result = symscreen.screen(data.frame, layers="ubb", unary=["cos"], binary=["sub", "div"], top=1)
    >>> result.table.expression[0], result.table.direction[0]
    ('x1 - cos(x2)/x1', '+')
    """
    options = ScreenOptions(
        target=target,
        target_kind=target_kind,
        event=event,
        across=across,
        ranking=ranking,
        stages=stages,
        stage_weight=stage_weight,
        inputs=inputs,
        categorical=categorical,
        categorical_as=categorical_as,
        exclude=exclude,
        missing=missing,
        layers=layers,
        operators=operators,
        unary=unary,
        binary=binary,
        pool=pool,
        screener=screener,
        prescreen=prescreen,
        rule=rule,
        engine=engine,
        sign=sign,
        top=top,
        max_complexity=max_complexity,
        also=also,
        units=units,
        target_units=target_units,
        keep=keep,
        cut=cut,
        rounds=rounds,
        search=search,
        risk=risk,
        p_values=p_values,
        fdr=fdr,
        fdr_method=fdr_method,
        permutations=permutations,
        distinct=distinct,
        members=members,
        stability=stability,
        groups=groups,
        weights=weights,
        intervals=intervals,
        seed=seed,
        max_ram=max_ram,
        jobs=jobs,
        chunk_size=chunk_size,
        progress=progress,
        on_progress=on_progress,
        quiet=quiet,
        time_limit=time_limit,
        backend=backend,
        scheduler=scheduler,
        checkpoint=checkpoint,
    )
    return run_screen(prepare_screen(X, y, options))
