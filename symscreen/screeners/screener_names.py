"""Parse a user's choice of screeners, such as ``t0,lasso[engine=glmnet]``, into screeners with settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from symscreen.errors import OptionError
from symscreen.messages import name_option
from symscreen.screeners.base import JointScreener, Screener
from symscreen.screeners.column.t0 import T0
from symscreen.screeners.column.xi import XI
from symscreen.screeners.registry import SCREENERS, get_screener
from symscreen.targets.registry import TARGET_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.targets import TargetType


AnyScreener = Screener | JointScreener

_SCREENER_PATTERN = re.compile(r"\s*([^\[\],=]*?)\s*(?:\[([^\[\]]*)\])?\s*(?:,|$)")


def parse_screeners(
    screeners: str | AnyScreener | Sequence[str | AnyScreener],
    shorthand: Mapping[str, object] | None = None,
    *,
    other_screeners: Sequence[AnyScreener] = (),
    allow_unused: bool = False,
) -> tuple[AnyScreener, ...]:
    """Parse a choice of screeners; the first one ranks the features.

    Parameters
    ----------
    screeners : str, Screener, JointScreener, or a sequence of them
        ``"t0,lasso[engine=glmnet,folds=5]"``, or a sequence of its parts; at least one, without repetition.
    shorthand : mapping, optional
        Settings, such as ``{"rule": "gse"}``, for each screener that has an option of this name and accepts
        the value. None means not set. Settings in a screener's own brackets have precedence.
    other_screeners : sequence of Screener or JointScreener
        Other screeners that may accept a shorthand instead.
    allow_unused : bool
        Whether a shorthand may be accepted by none of the screeners.

    Returns
    -------
    tuple of Screener or JointScreener

    Raises
    ------
    OptionError
        If no screener is given; if one is unknown (with similar names), repeated, has no such option, or
        needs an extra that is not installed; or if no screener accepts a shorthand.

    Examples
    --------
    >>> [screener.name for screener in parse_screeners("xi,t0")]
    ['xi', 't0']
    """
    parsed: list[AnyScreener] = []
    for part in (
        list(screeners) if isinstance(screeners, Iterable) and not isinstance(screeners, str) else [screeners]
    ):
        parsed += [part] if isinstance(part, Screener | JointScreener) else _parse_screener_list(part)
    if not parsed:
        raise OptionError(f"no screener is named; give for instance {name_option('screener', 't0')}")
    names = [screener.name for screener in parsed]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise OptionError(f"the screener {name!r} is named twice")
    settings = {name: value for name, value in (shorthand or {}).items() if value is not None}
    if not allow_unused:
        for name, value in settings.items():
            _check_option_supported((*parsed, *other_screeners), name, value)
    parsed = [_apply_shorthand(screener, settings) for screener in parsed]
    for screener in parsed:
        _check_extra_installed(screener)
    return tuple(parsed)


def _parse_screener_list(text: str) -> list[AnyScreener]:
    """Parse a comma-separated list of screeners with optional settings in brackets."""
    if not isinstance(text, str):
        raise OptionError(f"a screener is {text!r}; give its name, such as 't0'")
    screeners: list[AnyScreener] = []
    position = 0
    while position < len(text):
        match = _SCREENER_PATTERN.match(text, position)
        if match is None:
            raise OptionError(
                f"cannot read the screeners {text!r} at character {position + 1}; write t0,lasso[folds=5]"
            )
        screeners.append(_build_screener(match[1], match[2]))
        position = match.end()
    if text.rstrip().endswith(","):
        raise OptionError(f"the screeners {text!r} end with a comma: add a name after it, or remove it")
    return screeners


def _build_screener(name: str, settings: str | None) -> AnyScreener:
    """Look up a screener and apply the settings of its brackets."""
    screener = get_screener(name)
    if settings is None:
        return screener
    if isinstance(screener, Screener):
        raise OptionError(f"the screener {name} has no options; write {name} without brackets")
    values: dict[str, object] = {}
    for setting in settings.split(","):
        option, equals, value = (part.strip() for part in setting.partition("="))
        if not equals:
            raise OptionError(f"{name}: cannot read {setting.strip()!r}; write {name}[option=value]")
        if option in values:
            raise OptionError(f"{name}: the option {option!r} is given twice")
        values[option] = value
    return screener.replace_settings(values)


def _has_option(screener: AnyScreener, option: str) -> bool:
    """Return whether a screener has an option."""
    return isinstance(screener, JointScreener) and option in {item.name for item in screener.options}


def _check_option_supported(screeners: Sequence[AnyScreener], option: str, value: object) -> None:
    """Raise an error if no screener accepts a shorthand."""
    candidates = [item for item in screeners if isinstance(item, JointScreener) and _has_option(item, option)]
    if not candidates:
        names = ", ".join(dict.fromkeys(screener.name for screener in screeners))
        raise OptionError(f"none of the screeners {names} has an option {option!r}; leave it out")
    errors = [error for item in candidates if (error := _find_setting_error(item, option, value)) is not None]
    if len(errors) == len(candidates):
        raise errors[0]


def _find_setting_error(screener: JointScreener, option: str, value: object) -> OptionError | None:
    """Return the error that a setting causes, or None."""
    try:
        screener.replace_settings({option: value})
    except OptionError as error:
        return error
    return None


def _apply_shorthand(screener: AnyScreener, shorthand: Mapping[str, object]) -> AnyScreener:
    """Apply the shorthand settings that the screener accepts: a value may be valid for another one only."""
    if isinstance(screener, Screener):
        return screener
    accepted = {
        name: value
        for name, value in shorthand.items()
        if _has_option(screener, name)
        and name not in screener.settings
        and _find_setting_error(screener, name, value) is None
    }
    return screener.replace_settings(accepted)


def _check_extra_installed(screener: AnyScreener) -> None:
    """Raise an error if the extra that a screener needs is not installed."""
    if isinstance(screener, JointScreener) and screener.requirement is not None:
        module, extra = screener.requirement
        if find_spec(module) is None:
            raise OptionError(
                f"the screener {screener.name} needs {module}: pip install 'symscreen[{extra}]'"
            )


def check_target_support(screeners: Sequence[AnyScreener], target_type: TargetType) -> None:
    """Raise an error if a screener does not support a target type.

    Parameters
    ----------
    screeners : sequence of Screener or JointScreener
        The requested screeners.
    target_type : TargetType
        The type of the target.

    Raises
    ------
    OptionError
        Names the screeners that support it.

    Examples
    --------
    >>> check_target_support([XI], "ranking")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: the screener xi does not support ranking targets; t0, crit and forest do
    >>> check_target_support([XI], "stages")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: the screener xi does not support stages targets; t0 does
    """
    for screener in screeners:
        if _can_score(screener, target_type):
            continue
        if not screener.target_types:
            raise OptionError(
                f"the screener {screener.name} supports no target type: set target_types in its record, "
                "for instance ('numeric',)"
            )
        *others, last = (item.name for item in SCREENERS.values() if _can_score(item, target_type))
        supporting = f"{', '.join(others)} and {last} do" if others else f"{last} does"
        refusal = TARGET_TYPES[target_type].refusal.format(supported=_format_supported_targets(screener))
        raise OptionError(f"the screener {screener.name} {refusal}; {supporting}")


def _format_supported_targets(screener: AnyScreener) -> str:
    """Name the targets that a screener supports, with the options that select them."""
    types = ((name, TARGET_TYPES[name].option) for name in screener.target_types)
    return " and ".join(
        f"{name} targets" + ("" if option == "target" else f" ({name_option(option)})")
        for name, option in types
    )


def _can_score(screener: AnyScreener, target_type: TargetType) -> bool:
    """Return whether a screener supports a target type; for several outputs, that of each output."""
    if TARGET_TYPES[target_type].combines_outputs:
        return isinstance(screener, Screener) and "numeric" in screener.target_types
    return target_type in screener.target_types


def select_prescreeners(
    screeners: Sequence[AnyScreener], target_type: TargetType = "numeric"
) -> tuple[Screener, ...]:
    """Return the column screeners that select the features for the joint screeners.

    Parameters
    ----------
    screeners : sequence of Screener or JointScreener
        The requested screeners.
    target_type : TargetType
        The type of the target.

    Returns
    -------
    tuple of Screener
        The first requested column screener. If there is none, T0 and ξ (the union of their best features),
        because T0 alone misses non-monotone relations; only T0 if ξ does not support the target type.
    """
    requested = tuple(screener for screener in screeners if isinstance(screener, Screener))
    return requested[:1] or tuple(screener for screener in (T0, XI) if _can_score(screener, target_type))
