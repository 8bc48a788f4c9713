"""Options that exclude each other, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symscreen.errors import OptionError
from symscreen.messages import name_option

if TYPE_CHECKING:
    from symscreen.config.fit_options import FitOptions
    from symscreen.config.screen_options import ScreenOptions


@dataclass(frozen=True)
class Conflict:
    """Two options that cannot be used together.

    Parameters
    ----------
    option, other : str
        The names.
    reason : str
        The message. ``{option}`` and ``{other}`` stand for the options with their values, ``{name}`` and
        ``{other_name}`` for the names alone.
    remedy : str, optional
        The name of an option with which the two can be used together.
    """

    option: str
    other: str
    reason: str
    remedy: str | None = None


_TARGET_REASON = "both {name} and {other} are given: the target is one of them, not both"
_EXACT = name_option("search", "exact")
_SEARCH_REASON = f"{{option}} needs every feature's place, and {{other}} drops most: use {_EXACT}"
_GROUPS_REASON = (
    "{option} cannot be combined with {other}: null distributions take rows for exchangeable, and those of "
    f"one group are not; add {name_option('permutations', 200)}, which shuffles by group"
)
_WEIGHTS_REASON = (
    "{name} cannot be combined with {other}: what it infers takes all rows to count alike; leave one "
    "of them out"
)

_ROUNDS_REASON = "{name} cannot be combined with {other}: it applies to one round; leave one of them out"
_TIME_REASON = "{name} cannot be combined with {other_name}, which needs the whole space"
CONFLICTS = (
    Conflict("ranking", "target_type", _TARGET_REASON),
    Conflict("stages", "target_type", _TARGET_REASON),
    Conflict("event", "target_type", _TARGET_REASON),
    Conflict("top", "search", f"{{option}} shows every feature, and {{other}} drops most: use {_EXACT}"),
    Conflict("rounds", "search", _SEARCH_REASON),
    Conflict("fdr", "groups", _GROUPS_REASON, "permutations"),
    Conflict("p_values", "groups", _GROUPS_REASON, "permutations"),
    Conflict(
        "top",
        "max_correlation",
        "{option} shows every feature, but {other_name} omits some: give {name} a number",
    ),
    Conflict(
        "stability",
        "max_correlation",
        "{name} requires the whole ranking, but {other_name} omits features: leave one of them out",
    ),
    Conflict(
        "stability",
        "top",
        "{name} counts how often a feature is among the best K: give {other_name} a number",
    ),
    *(Conflict(name, "rounds", _ROUNDS_REASON) for name in ("max_correlation", "stability")),
    Conflict(
        "intervals",
        "rounds",
        "{name} cannot be combined with {other}: later rounds screen residuals that were fitted to the "
        "target; leave one of them out",
    ),
    *(
        Conflict(
            name,
            "time",
            "{name} cannot be combined with {other}: it assumes independent rows, which neighbours in time "
            f"are not; add {name_option('permutations', 200)}, which shifts runs in time",
            "permutations",
        )
        for name in ("p_values", "fdr")
    ),
    *(
        Conflict(
            name,
            "time",
            "{name} cannot be combined with {other}: it assumes independent rows, which neighbours in time "
            f"are not; leave it out, or use {name_option('permutations', 200)}, which shifts runs in time",
        )
        for name in ("stability", "intervals")
    ),
    Conflict(
        "groups",
        "time",
        "{name} cannot be combined with {other}: rows are either groups or runs in time; name runs with "
        f"{name_option('trajectory')}",
    ),
    Conflict(
        "missing",
        "time",
        "{option} cannot be combined with {other}: the median of a column is that of later rows, too; use "
        f"{name_option('missing', 'drop')}",
    ),
    Conflict(
        "time_limit", "search", "{name} cannot be combined with {other}: both evaluate only part of the space"
    ),
    Conflict(
        "time_limit",
        "rounds",
        "{name} cannot be combined with {other}: a round needs the complete result of the previous one",
    ),
    *(Conflict("time_limit", name, _TIME_REASON) for name in ("stability", "class_members")),
)
# these hold only where rows have different weights
WEIGHT_CONFLICTS = (
    *(
        Conflict(
            name,
            "weights",
            "{name} cannot be combined with {other}: null distributions take all rows to count alike; add "
            f"{name_option('permutations', 200)}, which keeps weights with the rows of the target",
            "permutations",
        )
        for name in ("p_values", "fdr")
    ),
    *(Conflict(name, "weights", _WEIGHTS_REASON) for name in ("intervals", "stability", "groups")),
)
_SPLIT_REASON = (
    "{name} cannot be combined with {other}: the test of the formulas shown does not have it; leave one of "
    "them out"
)
SPLIT_CONFLICTS = (
    *(
        Conflict(name, other, _SPLIT_REASON)
        for name in ("split", "splits")
        for other in ("top", "rounds", "groups", "weights", "time")
    ),
    Conflict("splits", "time_limit", _TIME_REASON),
)
_PER_REASON = (
    "{name} cannot be combined with {other}: a fit of groups does not have it; leave one of them out, or fit "
    "each group by itself"
)
PER_CONFLICTS = tuple(
    Conflict("per", name, _PER_REASON)
    for name in ("preset", "weights", "units", "must_use", "split", "criterion", "bands")
)
_WHOLE_REASON = (
    "{option} cannot be combined with {other}: each fold repeats the whole fit; leave one of them out"
)
BAND_CONFLICTS = (
    Conflict(
        "bands",
        "time",
        "{option} cannot be combined with {other}: a band assumes that rows are exchangeable, and rows in "
        "the order of time are not; leave one of them out",
    ),
    Conflict(
        "bands",
        "unsafe",
        "{option} cannot be combined with {other}: it would choose the model by the ranges of the rows that "
        f"calibrate the band; use {name_option('unsafe', 'mark')}",
    ),
)
CV_PLUS_CONFLICTS = (
    Conflict(
        "bands",
        "split",
        "{option} cannot be combined with {other}: it needs no rows apart from its folds; leave one of them "
        f"out, or use {name_option('bands', 'split')}",
    ),
    Conflict("bands", "time_limit", _WHOLE_REASON),
)
# the values of options that conflict with others; of the rest, each value but None and False does, ...
_CONFLICTING_VALUES: dict[str, tuple[object, ...]] = {
    "top": ("all",),
    "search": ("race", "sieve"),
    "rounds": (2, 3, 4, 5),
    "unsafe": ("drop",),
    "missing": ("impute", "indicator"),
    "criterion": ("cv",),
}
# ... except these
_NEUTRAL_VALUES: dict[str, object] = {"max_correlation": 1.0, "must_use": (), "split": 0.0, "units": "ignore"}


def check_conflicts(options: ScreenOptions) -> None:
    """Refuse options that exclude each other.

    Parameters
    ----------
    options : ScreenOptions
        The options as the user gave them.

    Raises
    ------
    OptionError
        At the first row of `CONFLICTS` whose options are both used.

    Examples
    --------
    >>> from symscreen.config.screen_options import ScreenOptions
    >>> check_conflicts(ScreenOptions(search="race", top="all"))
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: top='all' shows every feature, and search='race' drops most:
    use search='exact'
    """
    _refuse_conflicts(options, CONFLICTS)


def check_weight_conflicts(options: ScreenOptions) -> None:
    """Refuse what cannot be inferred where rows have different weights, as `check_conflicts` does."""
    _refuse_conflicts(options, WEIGHT_CONFLICTS)


def check_split_conflicts(options: ScreenOptions) -> None:
    """Refuse what a screen with held-out rows does not have, as `check_conflicts` does."""
    _refuse_conflicts(options, SPLIT_CONFLICTS)


def check_per_conflicts(options: FitOptions) -> None:
    """Refuse what a fit of groups does not have, as `check_conflicts` does.

    Raises
    ------
    OptionError
        If an option has no meaning for a fit of groups, or constants inside terms are to vary without groups.

    Examples
    --------
    >>> from symscreen.config.fit_options import FitOptions
    >>> check_per_conflicts(FitOptions(per="ore", split=0.5))
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: per= cannot be combined with split=0.5: a fit of groups does not have it;
    leave one of them out, or fit each group by itself
    """
    if options.per_inner and options.per is None:
        raise OptionError(f"{name_option('per_inner')} needs groups: give {name_option('per')}")
    _refuse_conflicts(options, PER_CONFLICTS)


def check_band_conflicts(options: FitOptions) -> None:
    """Refuse what excludes a prediction band, as `check_conflicts` does.

    Raises
    ------
    OptionError
        If an option excludes a prediction band, or a band lacks rows that calibrate it.

    Examples
    --------
    >>> from symscreen.config.fit_options import FitOptions
    >>> check_band_conflicts(FitOptions(bands="split"))
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: bands='split' needs rows that the search does not use, and half of them
    calibrate the band: give split=0.5
    """
    if options.bands == "split" and options.split == 0.0:
        raise OptionError(
            f"{name_option('bands', 'split')} needs rows that the search does not use, and half of them "
            f"calibrate the band: give {name_option('split', 0.5)}"
        )
    if options.bands is None and options.bands_level != type(options).bands_level:
        raise OptionError(
            f"{name_option('bands_level', options.bands_level)} is the level of a prediction band: give "
            f"{name_option('bands')}, too"
        )
    _refuse_conflicts(options, BAND_CONFLICTS)
    if options.bands == "cv+":
        _refuse_conflicts(options, CV_PLUS_CONFLICTS)


def _refuse_conflicts(options: ScreenOptions, conflicts: tuple[Conflict, ...]) -> None:
    for conflict in conflicts:
        is_resolved = conflict.remedy is not None and _is_used(options, conflict.remedy)
        if _is_used(options, conflict.option) and _is_used(options, conflict.other) and not is_resolved:
            raise OptionError(
                conflict.reason.format(
                    name=name_option(conflict.option),
                    other_name=name_option(conflict.other),
                    option=_format_option(options, conflict.option),
                    other=_format_option(options, conflict.other),
                )
            )


def _is_used(options: ScreenOptions, name: str) -> bool:
    """Return whether an option has a value that conflicts with others."""
    value = getattr(options, name)
    if name in _CONFLICTING_VALUES:
        return any(value == each for each in _CONFLICTING_VALUES[name])
    return value is not None and value is not False and value != _NEUTRAL_VALUES.get(name)


def _format_option(options: ScreenOptions, name: str) -> str:
    """Refer to an option and its value."""
    return name_option(name, getattr(options, name))
