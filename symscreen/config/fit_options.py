"""Definitions of the options of a fit that a screen lacks: name, type, default, help text and more.

See `symscreen.config.screen_options` and `symscreen.config.fields`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, get_args

from symscreen._option_values import EffortName, parse_name_list
from symscreen.config.fields import POWER_VERBS, list_options, make_options, option
from symscreen.config.parsing import check_positive_int, check_share, write_names
from symscreen.config.screen_options import NewRowOptions, ScreenOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike

    from symscreen._typing import Names
    from symscreen.grammar import Grammar
    from symscreen.results.screen_result import ScreenResult

    GuessSpec: TypeAlias = str | ScreenResult | Sequence[str | ScreenResult]


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
        verbs=POWER_VERBS,
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


def make_fit_options(keywords: Mapping[str, Any]) -> FitOptions:
    """Build the options of `symscreen.fit` from keyword arguments, as `make_screen_options` does."""
    from symscreen.config.space_options import split_operators  # it imports numpy, which --help does not need

    return make_options(FitOptions, split_operators(keywords), list_options(FitOptions, verb="fit"), "fit")
