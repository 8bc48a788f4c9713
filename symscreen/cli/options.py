"""The command line's options, in groups that verbs share.

The command line's options for targets and inputs that are no plain columns of numbers.

The options of `screen`, which `plan` takes, too.
"""

from __future__ import annotations

import math
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from symscreen.cli.export import bundle_option
from symscreen.cli.report import report_option
from symscreen.data.column_selection import parse_name_list
from symscreen.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "add_category_options",
    "add_diagnostics_options",
    "add_error_control_options",
    "add_fit_options",
    "add_pruning_options",
    "add_ranking_option",
    "add_runtime_options",
    "add_screen_options",
    "add_screener_options",
    "add_search_options",
    "add_space_options",
    "add_stages_options",
    "add_target_options",
    "add_unit_options",
    "add_weights_option",
    "parse_counts",
    "parse_interval_level",
    "parse_ratios",
    "parse_top",
    "reject_target_type",
]

_MAX_COUNT_DIGITS = 18  # digits: what 64 bits hold


def split_names(ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Split ``a,b`` into names; a name with a comma stands in backticks."""
    del ctx
    if text is None:
        return None
    return parse_name_list(text, f"--{parameter.name}")


def reject_target_type(ctx: click.Context, parameter: click.Parameter, text: str | None) -> None:
    """Refuse a response that is not numeric, where it was given."""
    if text is not None:
        what, takers = {
            "ranking": ("a ranking", "screen, plan and why take one, and classes what screen wrote"),
            "stages": ("a chain of stages", "screen, plan and why take one, and classes what screen wrote"),
            "event": ("one of times until an event", "screen, plan and why take one"),
        }[str(parameter.name)]
        raise OptionError(
            f"{ctx.info_name} needs a numeric response, and --{parameter.name} {text} is {what}: {takers}"
        )


def parse_top(ctx: click.Context, parameter: click.Parameter, text: str) -> int | str:
    """Read a whole number, or ``all``."""
    del ctx, parameter
    if text == "all":
        return text
    if not _is_count(text):
        raise OptionError(f"--top is {text!r}; give a whole number of at least 1, or all")
    return int(text)


def _is_count(text: str) -> bool:
    """Say whether a text is a whole number of at least 1, and no longer than such numbers are."""
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_COUNT_DIGITS and int(text) > 0


def parse_interval_level(ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    """Read a level between 0 and 1."""
    del ctx, parameter
    if text is None:
        return None
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not 0.0 < level < 1.0:
        raise OptionError(
            f"--intervals is {text!r}; give a level between 0 and 1, --intervals=0.9, or none: then put "
            "--intervals behind DATA"
        )
    return level


def parse_counts(ctx: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Read whole numbers of at least 1, ``20,100``."""
    del ctx
    parts = [part.strip() for part in text.split(",")]
    if not all(map(_is_count, parts)):
        raise OptionError(f"--{parameter.name} is {text!r}; give whole numbers of at least 1, such as 20,100")
    return tuple(dict.fromkeys(map(int, parts)))


def parse_ratios(
    ctx: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    """Read ratios that are not negative, ``0,0.01``."""
    del ctx, parameter
    if text is None:
        return None
    try:
        ratios = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        ratios = (math.nan,)
    if not all(0.0 <= ratio < math.inf for ratio in ratios):
        raise OptionError(f"--noise-ratio is {text!r}; give numbers of at least 0, such as 0,0.01")
    return ratios


# fmt: off
_SPACE_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--target", metavar="COL",
                 help="The response, or several, A,B; else target, label, y or the last."),
    click.option("--inputs", metavar="A,B", callback=split_names, help="Use these columns only."),
    click.option("--exclude", metavar="A,B", callback=split_names, default="",
                 help="Leave these columns out."),
    click.option("--missing", type=click.Choice(["refuse", "drop"]), default="refuse", show_default=True,
                 help="What to do with rows that have missing values."),
    click.option("--layers", metavar="SPEC",
                 help="'ub', or 'u[sin,square] b[add,sub]'; else the grammar's own, or fit's schedule."),
    click.option("--operators", metavar="NAME|FILE", default="basic", show_default=True,
                 help="A grammar: a shipped one or a TOML file."),
    click.option("--unary", metavar="a,b", help="Unary operators instead of the grammar's."),
    click.option("--binary", metavar="a,b", help="Binary operators instead of the grammar's."),
    click.option("--pool", type=click.Choice(["cumulative", "strict"]), default="cumulative",
                 show_default=True, help="Add a layer's output to the pool, or replace it."),
    click.option("--max-complexity", metavar="C", type=int, help="The highest complexity of a feature."),
    click.option("--max-ram", metavar="SIZE", help="Memory that may be used, such as 2GB."),
    click.option("--quiet", is_flag=True, help="No progress and no notices."),
)
# fmt: on


def add_ranking_option(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb a response that is a ranking."""
    meaning = (
        "The response is a ranking: a column of texts such as a>b=c, or the columns of ranks (or scores)."
    )
    return click.option("--ranking", metavar="COL|A,B,…", callback=split_names, help=meaning)(function)


# fmt: off
_STAGES_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--stages", metavar="A,B,…", callback=split_names,
                 help="The response is a chain of stages: columns of 1, 0 or nothing, first to last."),
    click.option("--stage-weight", type=click.Choice(["all", "next", "last"]), default="all",
                 show_default=True, help="Which pairs of --stages count."),
)
# fmt: on


def add_stages_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb a response that is a chain of stages."""
    return _apply_options(_STAGES_OPTIONS, function)


# fmt: off
_UNIT_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--units", metavar="strict|ignore|FILE",
                 help="strict: only formulas that have a unit, of columns such as 'length (mm)'; a .toml or "
                      ".json file tells units beside the headers'."),
    click.option("--target-units", metavar="UNIT",
                 help="Only formulas in such a unit, up to a factor."),
)
# fmt: on


def add_unit_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb units."""
    return _apply_options(_UNIT_OPTIONS, function)


def add_space_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that shape the space."""
    return _apply_options(_SPACE_OPTIONS, function)


# fmt: off
_PRUNING_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--keep", metavar="K|u:K,b:K",
                 help="Cut the pool to its best K after each layer but the last."),
    click.option("--cut", metavar="t0,xi", help="Who cuts; else t0 and xi, united."),
)
_SCREENER_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--screener", metavar="t0[,xi,…]", default="t0", show_default=True,
                 help="One or more screeners, such as t0,lasso[folds=5]; the first one ranks."),
    click.option("--prescreen", metavar="M", type=int,
                 help="Show joint screeners the best M features; else 1000."),
    click.option("--rule", metavar="RULE", help="Short for that setting: bart[rule=gse]."),
    click.option("--engine", metavar="NAME", help="Short for that setting: lasso[engine=glmnet]."),
    *_PRUNING_OPTIONS,
    click.option("--rounds", metavar="R", type=int, default=1, show_default=True,
                 help="Screen R times, each but the first what the best model leaves."),
    click.option("--seed", metavar="S", type=int, default=0, show_default=True,
                 help="For folds, trees and permutations."),
)
# fmt: on


def add_pruning_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that cut between layers."""
    return _apply_options(_PRUNING_OPTIONS, function)


def add_screener_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that say who scores, cuts and how often."""
    return _apply_options(_SCREENER_OPTIONS, function)


# fmt: off
_SEARCH_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--search", type=click.Choice(["exact", "race", "sieve"]), default="exact",
                 show_default=True,
                 help="Score all features over all rows; or drop some early: race at a stated risk, "
                      "sieve by a fixed schedule with an audit."),
    click.option("--risk", metavar="P", type=float,
                 help="Of a race: the chance allowed that any of the best is lost; else 1e-6."),
)
# fmt: on


# fmt: off
_ERROR_CONTROL_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--p-values", is_flag=True,
                 help="p- and q-values, over all features of the space; some seconds."),
    click.option("--fdr", metavar="Q", type=float,
                 help="Show what passes this false discovery rate, such as 0.05, at most --top K."),
    click.option("--fdr-method", type=click.Choice(["bh", "by"]), default="bh", show_default=True,
                 help="q-values by Benjamini-Hochberg, or by Benjamini-Yekutieli for any dependence."),
    click.option("--permutations", metavar="B", type=int,
                 help="Compare with the best of the space under B permutations of the response."),
)
# fmt: on


def add_error_control_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that tell how far to trust what it finds."""
    return _apply_options(_ERROR_CONTROL_OPTIONS, function)


# fmt: off
_RUNTIME_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--jobs", metavar="N", type=int,
                 help="Threads, or Dask's processes; the answer does not depend on it."),
    click.option("--chunk-size", metavar="N", type=int,
                 help="Candidates a task; the answer does not depend on it."),
    click.option("--backend", metavar="threads|dask",
                 help="Where the last layer is scored; the answer does not depend on it."),
    click.option("--scheduler", metavar="ADDRESS", help="Use the workers of this Dask scheduler."),
    click.option("--checkpoint", metavar="DIR",
                 help="Keep there how far scoring came: the same command goes on from it."),
    click.option("--time-limit", metavar="TIME",
                 help="End in order after 60s, 5m or 2h, with what there is."),
    click.option("--log-json", metavar="FILE", help="Add a JSON line for each stage; - is standard error."),
)
# fmt: on


def add_runtime_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that say where it runs, how long, and what is kept and told meanwhile."""
    return _apply_options(_RUNTIME_OPTIONS, function)


# fmt: off
_DIAGNOSTICS_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--distinct", metavar="R", type=float,
                 help="Leave out what correlates by rank with a better feature above R, such as 0.99."),
    click.option("--members", metavar="K", type=int,
                 help="Store K members of each class with the result, for symscreen classes."),
    click.option("--stability", metavar="B", type=int,
                 help="Screen B pairs of half-samples: how often each feature is among the best there."),
    click.option("--groups", metavar="COL",
                 help="Rows of one label in this column belong together: halves, intervals, permutations."),
    click.option("--intervals", metavar="[LEVEL]", is_flag=False, flag_value="0.95", callback=parse_interval_level,
                 help="Intervals of T0 and Γ of what is shown, at 0.95 or --intervals=LEVEL."),
)
# fmt: on


def add_diagnostics_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that tell how far a ranking can be trusted, and what stands behind it."""
    return _apply_options(_DIAGNOSTICS_OPTIONS, function)


def add_search_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options that say which features are scored over all rows."""
    return _apply_options(_SEARCH_OPTIONS, function)


# fmt: off
_FIT_OPTIONS: tuple[Callable[..., Any], ...] = (
    *_PRUNING_OPTIONS,
    click.option("--preset", type=click.Choice(["ibart"]),
                 help="ibart: BART cuts, then the LASSO, then all subsets."),
    click.option("--terms", metavar="K", type=int, default=4, show_default=True, help="The most terms."),
    click.option("--choose", type=click.Choice(["ebic", "bic", "aic", "cv"]), default="ebic",
                 show_default=True, help="What decides between models; ebic counts how many were searched."),
    click.option("--folds", metavar="F", type=int, default=5, show_default=True, help="Of --choose cv."),
    click.option("--split", metavar="SHARE", type=float, default=0.0, show_default=True,
                 help="The share of rows kept from the search, for honest intervals."),
    click.option("--level", metavar="P", type=float, default=0.95, show_default=True,
                 help="Coverage of the intervals."),
    click.option("--snap", is_flag=True, help="Simple numbers for coefficients, where the data allow them."),
    click.option("--seed", metavar="S", type=int, default=0, show_default=True, help="For folds and split."),
    click.option("--jobs", metavar="N", type=int, help="Threads; the answer does not depend on it."),
    click.option("--out", metavar="FILE", help="Save the formula as a bundle (.json) for symscreen apply."),
    click.option("--force", is_flag=True, help="Overwrite existing output."),
    click.option("--ranking", hidden=True, expose_value=False, callback=reject_target_type),
    click.option("--stages", hidden=True, expose_value=False, callback=reject_target_type),
    click.option("--event", hidden=True, expose_value=False, callback=reject_target_type),
)
# fmt: on


def add_fit_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options of `symscreen.fit`."""
    return _apply_options(_FIT_OPTIONS, function)


def _apply_options(
    options: tuple[Callable[..., Any], ...], function: Callable[..., None]
) -> Callable[..., None]:
    for option in reversed(options):
        function = option(function)
    return function


# fmt: off
_TARGET_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--target-kind", type=click.Choice(["numeric", "classes", "several"]),
                 help="What --target is; else numeric, classes for words, several for A,B."),
    click.option("--event", metavar="COL",
                 help="The target is a time until an event: 1 where it was met then, 0 where not yet."),
    click.option("--across", type=click.Choice(["mean", "worst"]), default="mean", show_default=True,
                 help="Order features by the mean of several targets, or by the worst."),
)
_CATEGORY_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option("--categorical", metavar="A,B", callback=split_names, default="",
                 help="Use these columns as categories."),
    click.option("--categorical-as", type=click.Choice(["gate", "onehot"]), default="gate",
                 show_default=True, help="A level lets inputs pass, x·1[c = level]; or is one, c = level."),
)
# fmt: on


def add_target_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb targets that are classes, several, or times until an event, and inputs of categories."""
    for option in reversed((*_TARGET_OPTIONS, *_CATEGORY_OPTIONS)):
        function = option(function)
    return function


def add_category_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb inputs of categories."""
    for option in reversed(_CATEGORY_OPTIONS):
        function = option(function)
    return function


def add_weights_option(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb weights of rows."""
    meaning = "What each row weighs: a column of numbers, of which the ratios count."
    return click.option("--weights", metavar="COL", help=meaning)(function)


def add_screen_options(function: Callable[..., None]) -> Callable[..., None]:
    """Give a verb all that `screen` takes, so that `plan` can stand in its place in a command.

    Parameters
    ----------
    function : callable
        The verb.

    Returns
    -------
    callable
        The verb with its options.
    """

    @add_ranking_option
    @add_stages_options
    @add_target_options
    @add_weights_option
    @add_space_options
    @add_unit_options
    @add_screener_options
    @click.option(
        "--sign",
        type=click.Choice(["free", "positive"]),
        default="free",
        show_default=True,
        help="Whether falling with the response is as good as rising.",
    )
    @click.option(
        "--top",
        metavar="K",
        default="20",
        show_default=True,
        callback=parse_top,
        help="How many classes to show; all shows every feature, unmerged.",
    )
    @add_search_options
    @add_error_control_options
    @add_diagnostics_options
    @click.option(
        "--also", metavar="EXPR", multiple=True, help="A formula of your own to score too; may be repeated."
    )
    @click.option(
        "--out",
        metavar="FILE",
        help="Write the ranking to .csv, .parquet or .json; - writes CSV to standard output.",
    )
    @bundle_option
    @report_option
    @click.option("--force", is_flag=True, help="Overwrite existing output.")
    @add_runtime_options
    @wraps(function)
    def wrapper(*given: Any, **named: Any) -> None:
        function(*given, **named)

    return wrapper
