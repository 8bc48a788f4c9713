"""Definitions of the options on data: name, type, default, help text and what front ends need to know.

See `symscreen.config.screen_options` and `symscreen.config.fields`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from symscreen._option_values import TargetTypeChoice, parse_name_list
from symscreen.config.fields import POWER_VERBS, TABLE_VERBS, option
from symscreen.config.parsing import check_target, write_names, write_units

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._typing import Names
    from symscreen.data.categories import CategoricalAs
    from symscreen.data.missing_values import MissingPolicy
    from symscreen.screeners import TargetAggregation

    StageWeight = Literal["all", "next", "last"] | Mapping[tuple[str, str], float] | ArrayLike


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
        verbs=TABLE_VERBS,
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
        verbs=TABLE_VERBS,
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
        verbs=POWER_VERBS,
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
        verbs=POWER_VERBS,
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
        verbs=TABLE_VERBS,
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
        verbs=TABLE_VERBS,
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
        verbs=POWER_VERBS,
        record="given",
        write=write_units,
    )
    target_units: str | None = option(
        None,
        metavar="UNIT",
        help="Only formulas in this unit, up to a factor.",
        doc="Only formulas in this unit, up to a factor, are scored; needs `units`. In `symscreen.fit` "
        "coefficients are then pure numbers, and a target without a unit is taken to be in this one.",
        verbs=POWER_VERBS,
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
        "table, and is not an input unless `inputs` names it. The unary operators of the grammar may then be "
        "``lag1``, ``lag2`` and so on (the value one or two rows before), ``diff`` (the difference to the "
        "row before) and ``mean7`` (the mean of this row and the six before). They act on columns, before "
        "the first layer, and never use a later row or another run. p-values come from `permutations`, which "
        "are circular shifts of each run. `split` and the folds of a fit hold out stretches of time.",
        type="str",
        verbs=POWER_VERBS,
        estimator=False,
        record="given",
    )
    trajectory: str | None = option(
        None,
        metavar="COL",
        is_column=True,
        help="The column that distinguishes runs (--time); by default the table is one run.",
        doc="The column that distinguishes runs: numbers, text or dates. By default the table is one run. It "
        "needs `time`, and is not an input unless `inputs` names it.",
        type="str",
        verbs=POWER_VERBS,
        estimator=False,
        record="given",
    )
