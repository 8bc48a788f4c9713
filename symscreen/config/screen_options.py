"""Definitions of the options of a screen: name, type, default, help text and what front ends need to know.

`ScreenOptions` has the options of `symscreen.screen`, grouped by concern; those on data are in
`symscreen.config.data_options`. `symscreen.config.fit_options` adds those of `symscreen.fit`. See
`symscreen.config.fields` for what is derived from these classes. After a change of an option's name or type
run ``python tests/helpers/keyword_types.py``: it writes the types of keyword arguments for type checkers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from symscreen.config.data_options import DataOptions
from symscreen.config.fields import (
    FIT_VERBS,
    POWER_VERBS,
    SCREEN_VERBS,
    TABLE_VERBS,
    check_options,
    list_options,
    make_options,
    option,
)
from symscreen.config.parsing import (
    DEFAULT_BUDGET,
    DEFAULT_MAX_CORRELATION,
    DEFAULT_PRESCREEN,
    MAX_P_VALUE_CELLS,
    check_budget,
    check_fraction,
    check_jobs,
    check_level,
    check_max_correlation,
    check_positive_int,
    check_ranges,
    check_seed,
    check_share,
    check_top,
    parse_budget_text,
    parse_level_text,
    parse_pool_sizes,
    parse_ranges_text,
    parse_top_text,
    read_layers,
    write_pairs,
    write_ranges,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from symscreen._typing import Names, ProgressCallback
    from symscreen.expansion import PoolKind
    from symscreen.grammar import Grammar
    from symscreen.screeners import AnyScreener, Sign
    from symscreen.screening.run_control import Progress
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.p_value_counts import FdrMethod

    ScreenerSpec = str | Sequence[str | AnyScreener]


def make_unsafe_option(default: Literal["mark", "drop"]) -> Any:
    """Make the option `unsafe`, whose default differs between a screen and a transformer."""
    return option(
        default,
        choices=("keep", "mark", "drop"),
        help="What becomes of formulas that may be undefined or unbounded on new rows.",
        doc="What becomes of unsafe formulas. A formula is safe if interval arithmetic proves that it is "
        "defined and bounded on the box of the inputs: the range of each input, widened by a tenth on both "
        "sides (see `ranges`). Others may have a pole, an argument outside a domain, or an overflow there. "
        '``"mark"`` gives the reason in the column ``unsafe``, ``"drop"`` leaves them out and shows the next '
        'best, and ``"keep"`` does not look for them. `symscreen.fit` leaves out models with such terms '
        "where it drops.",
        verbs=FIT_VERBS,
        unwritten=(default,),
        fit_record=True,
    )


@dataclass(frozen=True, kw_only=True)
class SpaceOptions:
    """Which formulas are generated."""

    group: ClassVar[str] = "Formulas"

    layers: int | str | None = option(
        None,
        short_flag="-l",
        everyday=True,
        metavar="SPEC",
        check=read_layers,
        help="'ub', 'u[sin,square] b[add,sub]', or their number, 2 for ub; by default the grammar's own, or "
        "fit's schedule.",
        doc='The layers of operators, ``"ub"``, or with operators, ``"u[sin,square] b[add,sub]"``. A number '
        "counts them: 1 is ``u``, 2 is ``ub``, 3 is ``ubb``. By default those of the grammar. "
        "`symscreen.fit` searches every prefix first; its default is ``u``, ``b``, ``ub``, ``bu``, ``bub``, "
        "``ubb``, without those that are too large (a notice lists them).",
        type="str or int",
        verbs=POWER_VERBS,
    )
    operators: str | Path | Grammar | Sequence[str] = option(
        "basic",
        everyday=True,
        metavar="NAME|FILE|a,b",
        takes_file=True,
        help="The grammar: the name of a shipped one, a TOML file, or a list of operators.",
        doc="The grammar: the name of a shipped one, a TOML file, or a list of operators, which is short for "
        "`unary` and `binary`.",
        type="str, Path or sequence of str",
        verbs=TABLE_VERBS,
    )
    unary: Names | None = option(
        None,
        metavar="a,b",
        help="Unary operators instead of the grammar's.",
        doc='Unary operators instead of the grammar\'s: ``"sin,cos"`` or a list.',
        type="str or sequence of str",
        verbs=TABLE_VERBS,
        record="never",  # the record of the grammar has them
    )
    binary: Names | None = option(
        None,
        metavar="a,b",
        help="Binary operators instead of the grammar's.",
        doc='Binary operators instead of the grammar\'s: ``"add,mul"`` or a list.',
        type="str or sequence of str",
        verbs=POWER_VERBS,
        record="never",  # the record of the grammar has them
    )
    with_operators: Names = option(
        (),
        everyday=True,
        flag="--with",
        metavar="a,b",
        help="More operators for the grammar: sin,cos.",
        doc='Operators in addition to the grammar\'s: ``"sin,cos"`` or a list.',
        type="str or sequence of str",
        verbs=TABLE_VERBS,
        record="never",  # the record of the grammar has them
    )
    pool: PoolKind = option(
        "cumulative",
        choices=("cumulative", "strict"),
        help="Add the features of a layer to the pool, or replace the pool by them.",
        doc="Whether the features of a layer are added to the pool that the next layer is applied to, or "
        "replace it.",
        verbs=POWER_VERBS,
        unwritten=("cumulative",),
    )
    max_complexity: int | None = option(
        None,
        metavar="C",
        check=check_positive_int,
        help="The largest complexity of a feature.",
        verbs=POWER_VERBS,
    )
    also: Names = option(
        (),
        metavar="EXPR",
        multiple=True,
        help="A formula of yours to score with the others; may be repeated.",
        doc="Formulas of yours, which are scored with the others.",
        type="str or sequence of str",
        verbs=(*SCREEN_VERBS, "power"),
    )
    pool_size: int | str | Mapping[str, int] | None = option(
        None,
        metavar="K|u:K,b:K",
        help="Prune the pool to its best K features after each layer but the last; inputs:K prunes inputs.",
        doc="Prune the pool after each layer but the last to this number of features, ``200`` or "
        '``"u:50,b:200"`` by kind of layer. Inputs stay in addition: all of them, or the best 300 with '
        '``"inputs:300,u:50,b:200"``. By default the pool is pruned only where `budget` requires it.',
        type="int, str or mapping",
        verbs=POWER_VERBS,
        check=lambda _, value: parse_pool_sizes(value),
        write=write_pairs,
        fit_record=True,
    )
    prune_by: ScreenerSpec | None = option(
        None,
        metavar="t0,xi",
        help="The screeners that prune the pool; by default the union of t0 and xi.",
        doc='The screeners that prune the pool, ``"t0,xi"`` by default: of several column screeners the union'
        " is kept, because T0 alone misses relations that are not monotone. Joint screeners keep the "
        'features that they select: ``"bart[rule=gse]"``.',
        type="str or sequence of str",
        verbs=POWER_VERBS,
        fit_record=True,
    )

    @property
    def pool_sizes(self) -> dict[str, int] | None:
        """Number of features that pruning keeps after each kind of layer; None without `pool_size`."""
        return parse_pool_sizes(self.pool_size)


@dataclass(frozen=True, kw_only=True)
class ScoringOptions:
    """How features are scored, and which are returned."""

    group: ClassVar[str] = "Scores"

    screener: ScreenerSpec = option(
        "t0",
        everyday=True,
        metavar="t0[,xi,…]",
        help="One or more screeners, such as t0,lasso[folds=5]; the first one ranks.",
        doc="One or more screeners; the first one ranks. A joint screener may have settings: "
        '``"lasso[folds=5]"``.',
        type="str or sequence of str",
        verbs=(*SCREEN_VERBS, "power"),
    )
    prescreen: int | None = option(
        None,
        metavar="M",
        check=check_positive_int,
        help=f"Give joint screeners the best M features; by default {DEFAULT_PRESCREEN}.",
        doc=f"How many features joint screeners get, {DEFAULT_PRESCREEN} by default: the best by the first "
        "column screener, or by T0 and ξ together where no column screener is named.",
        unwritten=(DEFAULT_PRESCREEN,),
    )
    rule: str | None = option(
        None,
        metavar="RULE",
        help="Short for a screener's setting of this name: bart[rule=gse].",
        doc='Short for the setting of this name: ``rule="gse"`` is ``bart[rule=gse]``, for screeners that '
        "rank and for those that prune.",
        record="never",  # it is recorded as the screener's setting
    )
    engine: str | None = option(
        None,
        metavar="NAME",
        help="Short for a screener's setting of this name: lasso[engine=glmnet].",
        doc='Short for the setting of this name: ``engine="glmnet"`` is ``lasso[engine=glmnet]``.',
        record="never",  # it is recorded as the screener's setting
    )
    sign: Sign = option(
        "free",
        choices=("free", "positive"),
        help="Whether a feature that falls with the target is as good as one that rises.",
        verbs=(*SCREEN_VERBS, "power"),
        unwritten=("free",),
    )
    top: int | Literal["all"] = option(
        20,
        everyday=True,
        metavar="K",
        parse=parse_top_text,
        check=check_top,
        synonyms=("max_features",),
        help="How many distinct features to show; all shows every feature, unmerged.",
        doc='How many distinct features to return (see `max_correlation`); ``"all"`` returns every feature, '
        "unmerged.",
        type='int or "all"',
        verbs=(*SCREEN_VERBS, "power"),
    )
    unsafe: Literal["keep", "mark", "drop"] = make_unsafe_option("mark")
    ranges: Mapping[str, Sequence[float]] | None = option(
        None,
        metavar="A=LOW:HIGH,…",
        parse=parse_ranges_text,
        check=check_ranges,
        help="Ranges of inputs on new rows; by default those of the data, widened by a tenth.",
        doc='The lowest and the highest value that inputs may have on new rows, ``{"x": (0, 10)}``, in the '
        "units of the data. Together they are the box on which formulas must be safe (see `unsafe`). By "
        "default it is the range of the data, widened by a tenth of it on both sides, but not beyond 0.",
        type="mapping of str to two numbers",
        verbs=FIT_VERBS,
        record="given",
        fit_record=True,
        write=write_ranges,
    )
    rounds: int = option(
        1,
        metavar="R",
        check=partial(check_positive_int, most=5),
        help="Screen R times, each time but the first the residual of the best model so far.",
        doc="How often to screen, at most 5. After round r the best model with r of the features found is "
        "fitted, and the next round screens its residual: this finds weak additive terms.",
        unwritten=(1,),
    )
    search: SearchMode | None = option(
        None,
        choices=("exact", "race", "sieve"),
        help="Score all features over all rows, or drop some early: race at a stated risk, sieve by a fixed "
        "schedule with an audit; by default exact up to --budget.",
        doc='``"exact"`` scores every feature over all rows. ``"race"`` drops features early that a sample of'
        ' rows shows not to be among the best, at a stated risk; T0 must rank. ``"sieve"`` keeps a '
        "generous share of the best features in each of a few rounds, and estimates by an audit how many "
        "were lost. The scores of the features returned are exact in all three. By default search is exact "
        "if the space is within the `budget`.",
        unwritten=("exact",),
    )
    budget: int | Literal["none"] | None = option(
        DEFAULT_BUDGET,
        metavar="N",
        parse=parse_budget_text,
        check=check_budget,
        help="Formulas × rows up to which every formula is scored on all rows; above it some are dropped or "
        "pruned, which the answer says. none means no limit.",
        doc="The number of formulas times rows up to which every formula is scored over all rows; fewer "
        f"than 64 rows count as 64. {DEFAULT_BUDGET:,} take about half a minute of two cores. Above it a "
        "fixed rule chooses: a sieve (see `search`) for tables of many rows; a pool of the best inputs and "
        "features (see `pool_size`) where there are too many formulas even for a sieve; or both. The rule "
        "depends on the options and the numbers of formulas and rows alone. The result and its record say "
        "what was chosen, and what exact scoring would take. None, or a value of `search`, means no limit.",
        type='int or "none"',
        unwritten=(DEFAULT_BUDGET,),
    )
    risk: float | None = option(
        None,
        metavar="P",
        check=partial(check_fraction, description="a probability between 0 and 1, such as 1e-6"),
        help="For a race: the allowed probability that any of the best is lost; by default 1e-6.",
        doc="For a race: the allowed probability that any of the best classes is lost, 1e-6 by default.",
    )
    seed: int = option(
        0,
        metavar="S",
        check=check_seed,
        estimator_name="random_state",
        help="The seed of all that is random: folds, trees, permutations, noise.",
        doc="The seed of all that is random: folds, trees, permutations, null distributions, noise, the rows "
        "of a race or sieve, the split of a fit.",
        verbs=TABLE_VERBS,
        fit_record=True,
    )


@dataclass(frozen=True, kw_only=True)
class InferenceOptions:
    """How far a ranking can be trusted, and what its entries represent."""

    group: ClassVar[str] = "Reliability"

    p_values: bool | None = option(
        None,
        help="Compute p- and q-values over all features; by default where they are available.",
        doc="Whether to compute the p-value of every feature of the space under the null distribution of the "
        "first screener, and to show ``p_value`` and ``q_value`` of the features returned. By default they "
        "are computed where they are available: where the screener has a null distribution, search is exact, "
        "no pruning used the target, rows have neither weights nor groups, and the number of features times "
        f"the number of rows is at most {MAX_P_VALUE_CELLS:,}. Where no null distribution is known, "
        "`permutations` gives them. True is an error where they are not available. The verdict of the result "
        "is derived from them.",
        type="bool",
        negatable=True,
    )
    fdr: float | None = option(
        None,
        metavar="Q",
        check=partial(check_fraction, description="a rate between 0 and 1, such as 0.05"),
        help="Show the features that pass this false discovery rate, such as 0.05, at most --top K.",
        doc="Return only features that pass this false discovery rate, ``q_value`` ≤ fdr, at most `top` "
        "classes. Where no feature passes, the best are returned with their q-values.",
    )
    fdr_method: FdrMethod = option(
        "bh",
        choices=("bh", "by"),
        help="q-values by Benjamini-Hochberg, or by Benjamini-Yekutieli for any dependence.",
        doc="How q-values are computed from the p-values of all features of the space: by Benjamini and "
        "Hochberg, or by Benjamini and Yekutieli, whose bound holds under any dependence.",
        unwritten=("bh",),
    )
    permutations: int | None = option(
        None,
        metavar="B",
        check=check_positive_int,
        help="Compare with the best feature of the space under B permutations of the target.",
        doc="Permute the target this number of times, and compare each feature with the best one of the whole"
        " space under each permutation. This gives the column ``p_family``, at least 1/(permutations + "
        "1). A column screener must rank. Where no null distribution is known, as with weights, groups, "
        "rankings, stages or classes, the permutations also give ``p_value`` and ``q_value``.",
        verbs=(*SCREEN_VERBS, "inputs"),
    )
    max_correlation: float | None = option(
        None,
        metavar="R",
        check=check_max_correlation,
        help="Leave out features whose rank correlation with a better one is above R; 1 shows all, the "
        f"default is {DEFAULT_MAX_CORRELATION:g}.",
        doc="Leave out near-duplicates: features whose |Spearman's rank correlation| with a better returned "
        "feature is above this value. The list is filled up to `top`. The simplest feature whose score is "
        "within one standard error of the best of its group represents the group. The column "
        "``n_redundant`` has the number of features that each one represents; the record lists them. 1 "
        f'leaves out none. The default is {DEFAULT_MAX_CORRELATION:g}, and 1 with ``top="all"``, several '
        "rounds, stability, and where a joint screener ranks.",
        verbs=(*SCREEN_VERBS, "power"),
        record="given",
    )
    class_members: int | None = option(
        None,
        metavar="K",
        check=check_positive_int,
        help="Store K members of each equivalence class with the result, for symscreen classes.",
        doc="Store at most this number of members of each returned equivalence class with the result, for "
        "`symscreen.classes`.",
        record="never",  # the record of the classes has it
    )
    stability: int | None = option(
        None,
        metavar="B",
        check=check_positive_int,
        help="Screen B pairs of half-samples: how often each feature is among the best there.",
        doc="Also screen this number of complementary pairs of half-samples. The column ``stability`` says "
        "how often each returned feature, or one that cannot be distinguished from it, is among the best "
        "K there.",
        record="given",
    )
    split: float = option(
        0.0,
        metavar="SHARE",
        check=partial(check_share, upper=0.9),
        help="The share of rows that the screen does not use: they test the formulas shown.",
        doc="The share of rows, below 0.9, that the screen does not use. The formulas shown are those of the "
        "other rows; these rows test them, so that the selection does no harm. Columns: ``split_p``, "
        "``split_gini``, ``split_low`` and ``split_high``. The target must be numeric.",
        record="given",
    )
    splits: int | None = option(
        None,
        metavar="B",
        check=partial(check_positive_int, least=3),
        help="Screen all rows, and test the formulas shown in B splits; --split is 0.5 by default.",
        doc="Screen all rows, then split the rows at random this number of times, with the share `split`, "
        "0.5 by default. The column ``split_p`` combines the p-values of the splits: it is twice their "
        "median.",
        record="given",
    )
    intervals: bool | float | None = option(
        False,
        metavar="[LEVEL]",
        parse=parse_level_text,
        value_if_bare="0.95",
        check=check_level,
        help="Intervals of T0 and Γ of the features shown, at 0.95 or --intervals=LEVEL.",
        doc="Whether to give the standard error of T0 and intervals of T0 and Γ = 1 − T0/Δ of the features "
        "returned, at this level; True means 0.95. Columns: ``t0_se``, ``t0_low``, ``t0_high``, "
        "``gini_low``, ``gini_high``. They do not account for the selection. T0 must be "
        "among the screeners.",
        type="bool or float",
        record="given",
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where and how long a screen runs: no result depends on it, except that a large table is sampled."""

    group: ClassVar[str] = "Run"

    max_ram: str | int | None = option(
        None,
        metavar="SIZE",
        help="The memory that may be used, such as 2GB; a screen samples larger Parquet files.",
        doc='The memory that may be used, ``"2GB"`` or bytes; by default four fifths of the machine\'s. '
        "`symscreen.screen` and `symscreen.plan` screen a table of Parquet files on a sample of its rows if "
        "rows × columns × 8 bytes are more than a quarter of what is given, and score the best formulas on "
        "all rows.",
        type="str or int",
        verbs=POWER_VERBS,
        runtime=True,
        record="never",
    )
    jobs: int | None = option(
        None,
        short_flag="-j",
        everyday=True,
        metavar="N",
        check=check_jobs,
        estimator_name="n_jobs",
        help="The number of threads, or of Dask's processes; -1 for all cores. No result depends on it.",
        doc="The number of threads; None and -1 mean all cores. No result depends on it. Where a grid search "
        "runs candidates in parallel, 1 is best.",
        verbs=TABLE_VERBS,
        runtime=True,
    )
    chunk_size: int | None = option(
        None,
        metavar="N",
        check=check_positive_int,
        help="Candidates per task; no result depends on it.",
        runtime=True,
    )
    progress: ProgressCallback | bool | None = option(
        None,
        help="Report progress.",
        doc="Called with (candidates done, candidates in total) after each chunk; True writes a line on "
        "standard error, in a notebook as on a terminal.",
        type="callable or bool",
        verbs=(),
        runtime=True,
        record="never",
    )
    on_progress: Callable[[Progress], None] | None = option(
        None,
        help="Report progress.",
        doc="Called with a `Progress` after each chunk: candidates done, rate, time left, best formula so "
        "far.",
        type="callable",
        verbs=(),
        estimator=False,
        runtime=True,
        record="never",
    )
    quiet: bool = option(
        False,
        short_flag="-q",
        everyday=True,
        help="Write no progress and no notices.",
        doc="Write nothing on standard error: no progress line, and no message while kernels are compiled. "
        "Callbacks are called; notices are in the result.",
        verbs=TABLE_VERBS,
        estimator=False,
        runtime=True,
        record="never",
    )
    time_limit: str | float | None = option(
        None,
        metavar="TIME",
        help="Stop in order after 60s, 5m or 2h, with the result so far.",
        doc='``"60s"``, ``"5m"``, or seconds from now. When the time is over, scoring stops in order, and the'
        " result says how many candidates were scored; they are scored in a fixed order. Where nine "
        "tenths of the time pass before the space is generated, the result is that of the complete "
        "layers. Exact search and one round only.",
        type="str or float",
        verbs=("screen", "plan"),
        estimator=False,
        runtime=True,
        record="never",
    )
    backend: Literal["threads", "dask"] | None = option(
        None,
        metavar="threads|dask",
        help="Where the last layer is scored; no result depends on it.",
        type='{"threads", "dask"}',
        verbs=("screen", "plan"),
        estimator=False,
        runtime=True,
        record="never",
    )
    scheduler: str | None = option(
        None,
        metavar="ADDRESS",
        help="Use the workers of the Dask scheduler at this address.",
        verbs=("screen", "plan"),
        estimator=False,
        runtime=True,
        record="never",
    )
    checkpoint: str | Path | None = option(
        None,
        metavar="DIR",
        help="Save the state of scoring in this folder: the same command continues from there.",
        doc="A folder for the state of scoring: after a run was killed, the same call continues from there "
        "and gives the same result. Earlier layers and joint screeners are computed again.",
        type="str or Path",
        verbs=("screen", "plan"),
        estimator=False,
        runtime=True,
        record="never",
    )


# dataclasses takes the fields of the last base first
@dataclass(frozen=True, kw_only=True)
class ScreenOptions(RunOptions, InferenceOptions, ScoringOptions, SpaceOptions, DataOptions):
    """The options of `symscreen.screen` as the user gave them, each checked by its definition."""

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class NewRowOptions:
    """What estimators do with new rows."""

    group: ClassVar[str] = "New rows"

    clip: bool = option(
        False,
        help="Move inputs of new rows that are outside of the box to its nearest end.",
        doc="Whether inputs of new rows that are outside of the box (see `ranges`) are moved to its nearest "
        "end. Otherwise there is a warning of such rows.",
        verbs=("fit",),  # `SymbolicRegressor` has the options of `fit`, and this one
        record="never",
    )


@dataclass(frozen=True, kw_only=True)
class ScreenerOptions(NewRowOptions, ScreenOptions):
    """The options of `symscreen.SymbolicScreener`: those of a screen, and what concerns new rows."""

    unsafe: Literal["keep", "mark", "drop"] = make_unsafe_option("drop")


def make_screen_options(keywords: Mapping[str, Any], *, verb: str) -> ScreenOptions:
    """Build the options of a screen from keyword arguments.

    Parameters
    ----------
    keywords : mapping of str to object
        As for `symscreen.screen`.
    verb : str
        The function that takes them, for the message.

    Returns
    -------
    ScreenOptions

    Raises
    ------
    OptionError
        If a keyword is not the name of an option; the message names the most similar option.

    Examples
    --------
    >>> make_screen_options({"layers": "ub"}, verb="why").layers
    'ub'
    """
    from symscreen.config.space_options import split_operators  # it imports numpy, which --help does not need

    return make_options(ScreenOptions, split_operators(keywords), list_options(ScreenOptions), verb)
