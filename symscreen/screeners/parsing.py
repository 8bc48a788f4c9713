"""What a user asks for, ``t0,lasso[engine=glmnet]``, to screeners with their settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from symscreen.errors import OptionError
from symscreen.screeners.base import JointScreener, Screener
from symscreen.screeners.column.t0 import T0
from symscreen.screeners.column.xi import XI
from symscreen.screeners.registry import SCREENERS, get_screener

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symscreen.targets import TargetType


__all__ = ["check_target_support", "parse_screeners", "select_prescreeners"]

AnyScreener = Screener | JointScreener

_SCREENER_PATTERN = re.compile(r"\s*([^\[\],=]*?)\s*(?:\[([^\[\]]*)\])?\s*(?:,|$)")


def parse_screeners(
    screeners: str | AnyScreener | Sequence[str | AnyScreener],
    shorthand: Mapping[str, object] | None = None,
    *,
    other_screeners: Sequence[AnyScreener] = (),
    allow_unused: bool = False,
) -> tuple[AnyScreener, ...]:
    """Look up screeners; the first one ranks.

    Parameters
    ----------
    asked : str, Screener, JointScreener, or a sequence of them
        ``"t0,lasso[engine=glmnet,folds=5]"``, or its parts in a list; at least one, each once.
    shorthand : mapping, optional
        Settings for whichever of the screeners has an option of that name that takes the value, such as
        ``{"rule": "gse"}``; None is no setting. What stands in a screener's own brackets goes first.
    beside : sequence of Screener or JointScreener
        Others that may take a shorthand instead.
    partly : bool
        Whether a shorthand that none of these takes is left for others.

    Returns
    -------
    tuple of Screener or JointScreener

    Raises
    ------
    OptionError
        If there is none, one is unknown (with near matches), named twice, has no such option, or needs an
        extra that is not installed; or if no screener takes a shorthand.

    Examples
    --------
    >>> [screener.name for screener in parse_screeners("xi,t0")]
    ['xi', 't0']
    """
    found: list[AnyScreener] = []
    for part in (
        list(screeners) if isinstance(screeners, Iterable) and not isinstance(screeners, str) else [screeners]
    ):
        found += [part] if isinstance(part, Screener | JointScreener) else _parse_screener_list(part)
    if not found:
        raise OptionError("no screener is named; give for instance --screener t0")
    names = [one.name for one in found]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise OptionError(f"the screener {name!r} is named twice")
    given = {name: value for name, value in (shorthand or {}).items() if value is not None}
    if not allow_unused:
        for name, value in given.items():
            _check_option_supported((*found, *other_screeners), name, value)
    found = [_apply_shorthand(one, given) for one in found]
    for one in found:
        _check_extra_installed(one)
    return tuple(found)


def _parse_screener_list(text: str) -> list[AnyScreener]:
    if not isinstance(text, str):
        raise OptionError(f"a screener is {text!r}; give its name, such as 't0'")
    found: list[AnyScreener] = []
    place = 0
    while place < len(text):
        match = _SCREENER_PATTERN.match(text, place)
        if match is None:
            raise OptionError(
                f"cannot read the screeners {text!r} at character {place + 1}; write t0,lasso[folds=5]"
            )
        found.append(_build_screener(match[1], match[2]))
        place = match.end()
    if text.rstrip().endswith(","):
        raise OptionError(f"the screeners {text!r} end with a comma: name one behind it, or leave it out")
    return found


def _build_screener(name: str, settings: str | None) -> AnyScreener:
    screener = get_screener(name)
    if settings is None:
        return screener
    if isinstance(screener, Screener):
        raise OptionError(f"the screener {name} has no options; write {name} alone")
    given: dict[str, object] = {}
    for setting in settings.split(","):
        option, equals, value = (part.strip() for part in setting.partition("="))
        if not equals:
            raise OptionError(f"{name}: cannot read {setting.strip()!r}; write {name}[option=value]")
        if option in given:
            raise OptionError(f"{name}: the option {option!r} is given twice")
        given[option] = value
    return screener.replace_settings(given)


def _has_option(screener: AnyScreener, option: str) -> bool:
    return isinstance(screener, JointScreener) and option in {each.name for each in screener.options}


def _check_option_supported(screeners: Sequence[AnyScreener], option: str, value: object) -> None:
    """Refuse a shorthand that no screener takes; where one has the option, say what that takes."""
    having = [one for one in screeners if isinstance(one, JointScreener) and _has_option(one, option)]
    if not having:
        names = ", ".join(dict.fromkeys(one.name for one in screeners))
        raise OptionError(f"none of the screeners {names} has an option {option!r}; leave it out")
    refused = [error for one in having if (error := _find_setting_error(one, option, value)) is not None]
    if len(refused) == len(having):
        raise refused[0]


def _find_setting_error(screener: JointScreener, option: str, value: object) -> OptionError | None:
    try:
        screener.replace_settings({option: value})
    except OptionError as error:
        return error
    return None


def _apply_shorthand(screener: AnyScreener, shorthand: Mapping[str, object]) -> AnyScreener:
    """Set what the screener takes: one screener's rule may have no meaning for another."""
    if isinstance(screener, Screener):
        return screener
    taken = {
        name: value
        for name, value in shorthand.items()
        if _has_option(screener, name)
        and name not in screener.settings
        and _find_setting_error(screener, name, value) is None
    }
    return screener.replace_settings(taken)


def _check_extra_installed(screener: AnyScreener) -> None:
    if isinstance(screener, JointScreener) and screener.requirement is not None:
        module, extra = screener.requirement
        if find_spec(module) is None:
            raise OptionError(
                f"the screener {screener.name} needs {module}: pip install 'symscreen[{extra}]'"
            )


def check_target_support(screeners: Sequence[AnyScreener], target_type: TargetType) -> None:
    """Refuse screeners that do not take a kind of response.

    Parameters
    ----------
    screeners : sequence of Screener or JointScreener
        Those asked for.
    kind : Kind
        What the response is.

    Raises
    ------
    OptionError
        With the names of those that do.

    Examples
    --------
    >>> check_target_support([XI], "ranking")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: the screener xi takes no ranking as the response; t0, crit and forest do
    >>> check_target_support([XI], "stages")
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: the screener xi takes no stages as the response; t0 does
    """
    for one in screeners:
        if _can_score(one, target_type):
            continue
        *others, last = (each.name for each in SCREENERS.values() if _can_score(each, target_type))
        others_that_do = f"{', '.join(others)} and {last}" if others else last
        if target_type == "weighted":
            raise OptionError(f"the screener {one.name} takes no weights of rows; {others_that_do} do")
        if target_type != "numeric":
            do = "do" if others else "does"
            what = "several targets" if target_type == "several" else f"no {target_type}"
            takes = "does not take" if target_type == "several" else "takes"
            raise OptionError(
                f"the screener {one.name} {takes} {what} as the response; {others_that_do} {do}"
            )
        raise OptionError(
            f"the screener {one.name} takes only a ranking as the response (--ranking), and this one is "
            f"numeric; {others_that_do} take that"
        )


def _can_score(screener: AnyScreener, target_type: TargetType) -> bool:
    """Tell whether a screener takes a kind of response; against several targets goes what takes a column."""
    if target_type == "several":
        return isinstance(screener, Screener) and "numeric" in screener.target_types
    return target_type in screener.target_types


def select_prescreeners(
    screeners: Sequence[AnyScreener], target_type: TargetType = "numeric"
) -> tuple[Screener, ...]:
    """Return the column screeners that choose what joint ones are shown.

    Parameters
    ----------
    screeners : sequence of Screener or JointScreener
        Those asked for.
    kind : Kind
        What the response is.

    Returns
    -------
    tuple of Screener
        The first column screener asked for; where there is none, T0 and ξ, whose best are united: T0 alone
        does not see a relation that turns. Against what ξ does not take, T0.
    """
    asked = tuple(one for one in screeners if isinstance(one, Screener))
    return asked[:1] or tuple(one for one in (T0, XI) if _can_score(one, target_type))
