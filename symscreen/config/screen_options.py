"""Definitions of all options: name, type, default, help text and what front ends need to know of each.

`ScreenOptions` has the options of `symscreen.screen`, grouped by concern; `FitOptions` adds those of
`symscreen.fit`. See `symscreen.config.fields` for what is derived from these classes. After a change of an
option's name or type run ``python tests/helpers/keyword_types.py``: it writes the types of keyword arguments
for type checkers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from symscreen._option_values import EffortName, TargetTypeChoice, parse_name_list
from symscreen.config.fields import check_options, list_options, make_options, option
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
    check_target,
    check_top,
    parse_budget_text,
    parse_level_text,
    parse_pool_sizes,
    parse_ranges_text,
    parse_top_text,
    read_layers,
    write_names,
    write_pairs,
    write_ranges,
    write_units,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._typing import Names, ProgressCallback
    from symscreen.data.categories import CategoricalAs
    from symscreen.data.missing_values import MissingPolicy
    from symscreen.expansion import PoolKind
    from symscreen.grammar import Grammar
    from symscreen.results.screen_result import ScreenResult
    from symscreen.screeners import AnyScreener, Sign, TargetAggregation
    from symscreen.screening.run_control import Progress
    from symscreen.screening.search.modes import SearchMode
    from symscreen.statistics.inference.p_value_counts import FdrMethod

    ScreenerSpec = str | Sequence[str | AnyScreener]
    GuessSpec: TypeAlias = str | ScreenResult | Sequence[str | ScreenResult]
    StageWeight = Literal["all", "next", "last"] | Mapping[tuple[str, str], float] | ArrayLike


_SCREENS = ("screen", "plan", "why")  # the verbs that take nearly all options
_FITS = (*_SCREENS, "fit")
_ALL = (*_FITS, "power")
_TABLES = (*_ALL, "inputs")  # options of what is read, and of the run


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
        verbs=_FITS,
        unwritten=(default,),
        fit_record=True,
    )


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """What the target and the inputs are."""

    group: ClassVar[str] = "Data"

    target: Names | None = option(
        None,
        short_flag="-t",
        everyday=True,
        metavar="COL",
        is_column=True,
        check=check_target,
        help="The target column, or several, A,B; else target, label, y or the last.",
        doc="The target's column. By default the column named ``target``, ``label`` or ``y``, in this order, "
        "else the last one. A column of words is a target of classes: each class is compared with the "
        'rest, and the score is the mean over classes. Several columns, ``"a,b"`` or a list, are several '
        "targets: every feature is scored against each of them, and the table has one column per target, "
        "such as ``t0[a]``. Classes and several targets allow one round and exact search only. "
        "`symscreen.fit` gives several targets the same terms and separate coefficients, as SISSO's "
        "multi-task mode does (Ouyang et al. 2019, J. Phys. Mater. 2, 024002); it chooses the terms by "
        "the mean over targets of the share of variance that the model does not explain, so units of "
        "targets do not matter.",
        type="str or sequence of str",
        verbs=_TABLES,
        estimator=False,
        write=write_names,
    )
    target_type: TargetTypeChoice | None = option(
        None,
        choices=get_args(TargetTypeChoice),
        help="The type of --target; by default numeric, classes for words, several for A,B.",
        doc='The type of the target, where it cannot be inferred: ``"classes"`` for classes that are '
        "written as numbers. By default words are classes, and several columns are several targets.",
        record="given",
    )
    event: str | None = option(
        None,
        metavar="COL",
        is_column=True,
        help="The target is a time until an event; this column is 1 where it happened then, else 0.",
        doc="The target is a time until an event. This column is 1 where the event happened at that time, and"
        " 0 where observation ended before it. T0 counts the pairs of rows for which it is known which "
        "one lasted longer, and the table has a column ``harrell_c``. One round and exact search only. "
        "For an estimator it is a column of `y`, and the other column holds the times; a structured array"
        " of booleans and numbers, as scikit-survival uses it, needs no name.",
        record="given",
    )
    aggregate: TargetAggregation = option(
        "mean",
        choices=("mean", "worst"),
        help="Order features by their mean loss over several targets, or by the worst.",
        doc="Whether features are ordered by the mean of their losses over several targets, or by the "
        "largest.",
        record="given",
    )
    ranking: Names | None = option(
        None,
        metavar="COL|A,B,…",
        parse=parse_name_list,
        help="The target is a ranking: a column of texts such as a>b=c, or the columns of ranks (or scores).",
        doc="The target is a ranking: one column of texts such as ``a>b=c``, or the columns of ranks of two "
        "or more labels, NaN where a label is missing. Scores may be given instead of ranks: no result "
        "depends on which they are. Not all screeners take a ranking (see `accepts` in their record). "
        "There is no direction; one round and exact search only.",
        type="str or sequence of str",
        write=write_names,
    )
    stages: Names | None = option(
        None,
        metavar="A,B,…",
        parse=parse_name_list,
        help="The target is a chain of stages: columns of 1, 0 or nothing, first to last.",
        doc='The target is a chain of stages, ``"viewed,liked,followed"``: columns of 1 (reached), 0 (not '
        "reached) or nothing (not observed), first stage first. Each pair of stages compares the rows "
        "that reached the earlier stage and in which the later one was observed: the score says how well "
        "a feature separates those that reached the later stage, and is the mean over pairs, weighted by "
        "their rows. The direction is the one that all pairs agree on. One round and exact search only.",
        type="str or sequence of str",
        write=write_names,
    )
    stage_weight: StageWeight = option(
        "all",
        choices=("all", "next", "last"),
        help="Which pairs of --stages count.",
        doc="The weight of a row in each pair of stages: 1 in all pairs, in pairs of neighbours, or in pairs "
        "with the last stage; or weights for pairs of names; or a table of weights.",
        type='{"all", "next", "last"}, mapping or array-like of shape (T + 1, T + 1)',
        unwritten=("all", "given"),  # weights in a table cannot be written
    )
    inputs: Names | None = option(
        None,
        everyday=True,
        metavar="A,B",
        parse=parse_name_list,
        help="Use these columns only.",
        doc="The input columns. By default all columns of numbers but identifiers; a notice lists the columns"
        " that are not used.",
        type="sequence of str",
        verbs=_TABLES,
        estimator=False,
        write=write_names,
    )
    categorical: Names = option(
        (),
        metavar="A,B",
        parse=parse_name_list,
        help="Use these columns as categories.",
        doc="Columns of categories, words or numbers, to use as inputs.",
        type="str or sequence of str",
        verbs=_ALL,
        record="given",
        write=write_names,
    )
    categorical_as: CategoricalAs = option(
        "gate",
        choices=("gate", "onehot"),
        help="Each level multiplies the inputs, x·1[c = level], or is an input itself, c = level.",
        doc="Whether each level multiplies the inputs, which gives columns such as ``x·1[c = level]``, or is "
        "an input itself, ``c = level``. `transform`, `predict`, bundles and exports compute these columns "
        "from the original ones; for a level that was not in the data they are 0.",
        verbs=_ALL,
        record="given",
    )
    exclude: Names = option(
        (),
        everyday=True,
        metavar="A,B",
        parse=parse_name_list,
        help="Leave these columns out.",
        doc="Columns that are not used.",
        type="sequence of str",
        verbs=_TABLES,
        estimator=False,
        write=write_names,
    )
    missing: MissingPolicy | None = option(
        None,
        everyday=True,
        choices=("refuse", "drop", "impute", "indicator"),
        help="Refuse missing values, drop their rows, fill in medians, or fill and mark them; by default up "
        "to a tenth of the rows are dropped.",
        doc='What to do with missing values of inputs: ``"refuse"`` them; ``"drop"`` their rows; '
        '``"impute"`` the median of the column; ``"indicator"``, which also adds a column ``x is missing`` '
        "of 0 and 1 for each such input x. By default rows are dropped if they are at most a tenth of all, "
        "and refused otherwise. Rows without a target are dropped, too. `transform`, `predict` and bundles "
        "fill new rows with the same medians; exports to other languages expect complete rows. An estimator "
        'takes ``"impute"`` and ``"indicator"``; without them X has no missing values.',
        verbs=_TABLES,
        record="given",
    )
    units: str | Path | Mapping[str, str] | None = option(
        None,
        everyday=True,
        metavar="strict|ignore|FILE",
        takes_file=True,
        help="strict: only formulas that have a unit. Units come from headers such as 'length (mm)', or a "
        ".toml or .json file.",
        doc='``"strict"`` generates only formulas that have a unit; units come from headers such as '
        '``length (mm)``. A .toml or .json file, or a mapping, ``{"length": "mm"}``, does the same and gives '
        "units itself. Values are first converted to base units. `symscreen.fit` reports the unit of each "
        "coefficient, and predicts, saves and exports in the original units. Needs the extra ``units``.",
        type='{"strict", "ignore"}, path or mapping of str to str',
        verbs=_ALL,
        record="given",
        write=write_units,
    )
    target_units: str | None = option(
        None,
        metavar="UNIT",
        help="Only formulas in this unit, up to a factor.",
        doc="Only formulas in this unit, up to a factor, are scored; needs `units`. In `symscreen.fit` "
        "coefficients are then pure numbers, and a target without a unit is taken to be in this one.",
        verbs=_ALL,
        record="given",
    )
    weights: str | None = option(
        None,
        metavar="COL",
        is_column=True,
        help="The weight of each row: a column of numbers; only their ratios matter.",
        doc="A column with the weight of each row; only ratios matter, and the column is not an input. A pair"
        " of rows has the product of their weights, so an integer weight is equivalent to as many equal "
        'rows. Weights need a numeric target, a screener that takes them (``"weighted"`` in `accepts` of '
        "its record), one round and exact search. Rows of weight 0 are left out, even where values are "
        "missing. p-values come from `permutations`. Intervals and stability are not available, because they "
        "assume rows of equal weight. Weights that are all equal have no effect and are allowed with every "
        "option.",
        estimator=False,
        record="given",
    )
    groups: str | None = option(
        None,
        metavar="COL",
        is_column=True,
        help="Rows with the same label in this column stay together in halves, intervals, permutations.",
        doc="A column of labels: text, numbers or dates. Rows with the same label stay together when rows are"
        " halved (`stability`), left out (`intervals`) or permuted (`permutations`). The column is not an"
        " input. p- and q-values come from `permutations`, because null distributions assume exchangeable "
        "rows.",
        estimator=False,
        record="given",
    )
    time: str | None = option(
        None,
        metavar="COL",
        is_column=True,
        help="The column of times, numbers or dates; operators such as lag1, diff and mean7 need it.",
        doc="The column of times, numbers or dates. It orders the rows, which may be in any order in the "
        "table, and is no input unless `inputs` names it. The unary operators of the grammar may then be "
        "``lag1``, ``lag2`` and so on (the value one or two rows before), ``diff`` (the difference to the "
        "row before) and ``mean7`` (the mean of this row and the six before). They act on columns, before "
        "the first layer, and never use a later row or another run. p-values come from `permutations`, which "
        "are circular shifts of each run. `split` and the folds of a fit hold out stretches of time.",
        type="str",
        verbs=_ALL,
        estimator=False,
        record="given",
    )
    trajectory: str | None = option(
        None,
        metavar="COL",
        is_column=True,
        help="The column that distinguishes runs (--time); by default the table is one run.",
        doc="The column that distinguishes runs: numbers, text or dates. By default the table is one run. It "
        "needs `time`, and is no input unless `inputs` names it.",
        type="str",
        verbs=_ALL,
        estimator=False,
        record="given",
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
        verbs=_ALL,
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
        verbs=_TABLES,
    )
    unary: Names | None = option(
        None,
        metavar="a,b",
        help="Unary operators instead of the grammar's.",
        doc='Unary operators instead of the grammar\'s: ``"sin,cos"`` or a list.',
        type="str or sequence of str",
        verbs=_TABLES,
        record="never",  # the record of the grammar has them
    )
    binary: Names | None = option(
        None,
        metavar="a,b",
        help="Binary operators instead of the grammar's.",
        doc='Binary operators instead of the grammar\'s: ``"add,mul"`` or a list.',
        type="str or sequence of str",
        verbs=_ALL,
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
        verbs=_TABLES,
        record="never",  # the record of the grammar has them
    )
    pool: PoolKind = option(
        "cumulative",
        choices=("cumulative", "strict"),
        help="Add the features of a layer to the pool, or replace the pool by them.",
        doc="Whether the features of a layer are added to the pool that the next layer is applied to, or "
        "replace it.",
        verbs=_ALL,
        unwritten=("cumulative",),
    )
    max_complexity: int | None = option(
        None, metavar="C", check=check_positive_int, help="The largest complexity of a feature.", verbs=_ALL
    )
    also: Names = option(
        (),
        metavar="EXPR",
        multiple=True,
        help="A formula of yours to score with the others; may be repeated.",
        doc="Formulas of yours, which are scored with the others.",
        type="str or sequence of str",
        verbs=(*_SCREENS, "power"),
    )
    pool_size: int | str | Mapping[str, int] | None = option(
        None,
        metavar="K|u:K,b:K",
        help="Prune the pool to its best K features after each layer but the last; inputs:K prunes inputs.",
        doc="Prune the pool after each layer but the last to this number of features, ``200`` or "
        '``"u:50,b:200"`` by kind of layer. Inputs stay in addition: all of them, or the best 300 with '
        '``"inputs:300,u:50,b:200"``. By default the pool is pruned only where `budget` requires it.',
        type="int, str or mapping",
        verbs=_ALL,
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
        verbs=_ALL,
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
        verbs=(*_SCREENS, "power"),
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
        verbs=(*_SCREENS, "power"),
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
        verbs=(*_SCREENS, "power"),
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
        verbs=_FITS,
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
        "pruned, which the answer says. none is no limit.",
        doc="The number of formulas times rows up to which every formula is scored over all rows; fewer "
        f"than 64 rows count as 64. {DEFAULT_BUDGET:,} take about half a minute of two cores. Above it a "
        "fixed rule chooses: a sieve (see `search`) for tables of many rows; a pool of the best inputs and "
        "features (see `pool_size`) where there are too many formulas even for a sieve; or both. The rule "
        "depends on the options and the numbers of formulas and rows alone. The result and its record say "
        "what was chosen, and what exact scoring would take. None, or a value of `search`, is no limit.",
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
        verbs=_TABLES,
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
        verbs=(*_SCREENS, "inputs"),
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
        verbs=(*_SCREENS, "power"),
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
        verbs=_ALL,
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
        verbs=_TABLES,
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
        verbs=_TABLES,
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


@dataclass(frozen=True, kw_only=True)
class FitOptions(ScreenOptions):
    """The options of `symscreen.fit` as the user gave them; those of a screen that it lacks have defaults."""

    group: ClassVar[str] = "Model"

    operators: str | Path | Grammar | Sequence[str] | None = option(  # type: ignore[assignment]  # `fit` replaces None
        None,
        everyday=True,
        metavar="NAME|FILE|a,b",
        takes_file=True,
        help="The grammar: the name of a shipped one, a TOML file, or a list of operators; by default "
        "standard, or basic with --unary, --binary or --preset.",
        doc="The grammar: the name of a shipped one, a TOML file, or a list of operators, which is short for "
        "`unary` and `binary`. By default it is ``standard``, or ``basic`` where `unary`, `binary` or "
        "`preset` is given.",
        type="str, Path or sequence of str",
        verbs=_ALL,
    )
    preset: Literal["ibart"] | None = option(
        None,
        choices=("ibart",),
        help="ibart: BART prunes, then the LASSO selects, then all subsets are tried.",
        doc="Follow iBART (Ye, Senftle and Li 2024): BART's Global SE rule selects among the inputs and, "
        "between layers, among all features, and earlier selections are kept. If no input is selected, all "
        "are kept. In the last space the cross-validated LASSO selects the features whose subsets are tried. "
        "The settings of BART are iBART's: 20 trees, whose depth the prior alone limits, 10 chains and 50 "
        "permutations, each of 5,000 draws after 10,000. The default of `layers` is then ``bub``.",
        verbs=("fit",),
    )
    also: GuessSpec = option(  # type: ignore[assignment]
        (),
        metavar="EXPR",
        multiple=True,
        help="A guess of yours, such as 'm*v/sqrt(1 - v**2)'; may be repeated.",
        doc="Guesses of yours: formulas as text, or a result of `symscreen.screen`, whose features are the "
        "guesses. A guess takes part as a model, as a term of other models, and with its numbers as the "
        "start of a fit of constants. It may have any built-in operator, not only those of the grammar.",
        type="str, ScreenResult, or sequence of these",
        verbs=("fit",),
        fit_record=True,
    )
    weights: str | ArrayLike | None = option(  # type: ignore[assignment]  # a screen takes a column only
        None,
        metavar="COL",
        is_column=True,
        help="The weight of each row: a column of numbers; only their ratios matter.",
        doc="The weight of each row: the name of a column, which is then not an input, or an array. Only "
        "ratios matter. The weights apply to coefficients, intervals, the criterion, R² and the test of lack "
        "of fit. The searches for laws and the screeners that prune find their candidates without them. The "
        "criterion takes Kish's effective number of rows. The intervals assume that the variance of the "
        "noise is proportional to 1/weight. Rows of weight 0 are left out, even where values are missing. "
        "Equal weights are the same as none.",
        type="str or array-like of shape (n,)",
        estimator=False,
        verbs=("fit",),
        fit_record=True,
    )
    per: str | None = option(
        None,
        everyday=True,
        metavar="COL",
        is_column=True,
        help="A column of groups, which have coefficients of their own in one shared formula.",
        doc="A column of groups, numbers or text, which is then not an input. All groups share the terms. "
        "The criterion decides which coefficients they share, too, and which differ from group to group. "
        "The result is a `GroupedFitResult`. The options that a fit of groups does not have are in "
        "`symscreen.config.conflicts.PER_CONFLICTS`.",
        type="str",
        verbs=("fit",),
    )
    per_inner: bool = option(
        False,
        help="Constants inside terms may differ from group to group, too (--per).",
        doc="Whether constants inside terms may differ from group to group, too, such as b in ``exp(-b*x)``. "
        "The criterion decides. It needs `per`.",
        verbs=("fit",),
    )
    must_use: Names = option(
        (),
        metavar="A,B",
        parse=parse_name_list,
        help="Only formulas with all of these inputs.",
        doc="Inputs that every formula must have, in at least one of its terms. Other formulas and the mean "
        "are no candidates. If no formula with these inputs can be fitted, the result is the mean. A "
        "categorical column is used where one of its levels is.",
        type="str or sequence of str",
        verbs=("fit",),
        fit_record=True,
        write=write_names,
    )
    effort: EffortName = option(
        "default",
        everyday=True,
        choices=get_args(EffortName),
        help="How much is searched.",
        doc='How much is searched. ``"quick"`` runs the cheap stages and gives an answer in seconds. '
        '``"thorough"`` runs all stages to the end and has larger limits. An effort limits the numbers of '
        "formulas, pairs and candidates, and no times, so the same input gives the same result on any "
        "machine. Given layers are searched completely at each effort.",
        verbs=("fit",),
        fit_record=True,
    )
    time_limit: str | float | None = option(
        None,
        metavar="TIME",
        help="Stop in order after 60s, 5m or 2h, with the best formula so far.",
        doc='``"60s"``, ``"5m"``, or seconds from now. When the time is over, no further stage of the search '
        "starts and no further block of a large space is tried; a stage that runs is finished. The smallest "
        "space is always searched. The result says if a part was left out, and then depends on the speed of "
        "the machine. `effort` limits the search without a time.",
        type="str or float",
        verbs=("fit",),
        estimator=False,
        runtime=True,
        record="never",
    )
    max_terms: int = option(
        4,
        metavar="K",
        check=partial(check_positive_int, most=20),
        help="The largest number of terms.",
        doc="The largest number of terms in the formula, at most 20: exhaustive search up to 4, greedy and "
        "LASSO paths beyond.",
        verbs=("fit",),
    )
    criterion: Literal["ebic", "bic", "aic", "cv"] = option(
        "ebic",
        choices=("ebic", "bic", "aic", "cv"),
        help="The criterion that chooses the model; ebic accounts for how many were searched.",
        doc="The criterion that chooses the model: see `symscreen.fitting.model_selection.score_models`. "
        '``"cv"`` is nested cross-validation, which repeats the whole search without each fold; with `time`, '
        "a fold is a stretch of each run.",
        verbs=("fit",),
        fit_record=True,
    )
    folds: int = option(
        5,
        metavar="F",
        check=partial(check_positive_int, least=2),
        help="The number of folds of --criterion cv.",
        doc='The number of folds of ``criterion="cv"``.',
        verbs=("fit",),
        fit_record=True,
    )
    split: float = option(
        0.0,
        metavar="SHARE",
        check=partial(check_share, upper=0.9),
        help="The share of rows that the search does not use, for honest intervals.",
        doc="The share of rows, below 0.9, that only the coefficients and their intervals use, not the "
        "search: these intervals are honest. With 0 the intervals ignore the selection of terms, and are "
        "too narrow. With `time` these rows are the end of each run, otherwise they are drawn at random.",
        verbs=("fit",),
        fit_record=True,
    )
    bands: Literal["split", "cv+"] | None = option(
        None,
        choices=("split", "cv+"),
        help="A prediction band: from half of the rows of --split, or by CV+, which repeats the fit in 10 "
        "folds.",
        doc='A prediction band for new rows. With ``"split"`` (split conformal) half of the rows that '
        "`split` keeps from the search calibrate the band, and the others estimate the coefficients. With "
        '``"cv+"`` the whole fit is repeated without each of 10 folds. Both assume that the rows of the '
        "table and the new row are exchangeable, so they cannot have `weights`. The options that a band "
        "excludes are in `symscreen.config.conflicts` (`PER_CONFLICTS`, `BAND_CONFLICTS` and "
        "`CV_PLUS_CONFLICTS`). See `FitResult.predict_interval`.",
        verbs=("fit",),
    )
    bands_level: float = option(
        0.9,
        metavar="P",
        check=partial(check_share, upper=1.0, above_zero=True),
        help="The probability with which the band holds a new row.",
        doc="The probability with which the band holds a new row, on average over tables and rows. CV+ "
        "guarantees less, and usually reaches it.",
        verbs=("fit",),
    )
    level: float = option(
        0.95,
        metavar="P",
        check=partial(check_share, upper=1.0, above_zero=True),
        help="The coverage of the intervals.",
        verbs=("fit",),
        fit_record=True,
    )
    snap: bool = option(
        False,
        help="Replace coefficients by simple numbers where the data allow them.",
        doc="Whether to replace coefficients by simple numbers where the data allow all of them together.",
        verbs=("fit",),
    )


@dataclass(frozen=True, kw_only=True)
class RegressorOptions(NewRowOptions, FitOptions):
    """The options of `symscreen.SymbolicRegressor`: those of a fit, and what concerns new rows."""


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


def make_fit_options(keywords: Mapping[str, Any]) -> FitOptions:
    """Build the options of `symscreen.fit` from keyword arguments, as `make_screen_options` does."""
    from symscreen.config.space_options import split_operators  # as above

    return make_options(FitOptions, split_operators(keywords), list_options(FitOptions, verb="fit"), "fit")
