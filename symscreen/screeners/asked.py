"""What a user asks for, ``t0,lasso[engine=glmnet]``, to screeners with their settings."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

from symscreen.errors import OptionError, nearest
from symscreen.screeners.base import Screener
from symscreen.screeners.joint import JointScreener
from symscreen.screeners.registry import SCREENERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["screeners_asked"]

AnyScreener = Screener | JointScreener

_ONE = re.compile(r"\s*([^\[\],=]*?)\s*(?:\[([^\[\]]*)\])?\s*(?:,|$)")


def screeners_asked(
    asked: str | Sequence[str | AnyScreener],
    shorthand: Mapping[str, object] | None = None,
    *,
    beside: Sequence[AnyScreener] = (),
    partly: bool = False,
) -> tuple[AnyScreener, ...]:
    """Look up screeners; the first one ranks.

    Parameters
    ----------
    asked : str, or sequence of str, Screener or JointScreener
        ``"t0,lasso[engine=glmnet,folds=5]"``, or its parts in a list; at least one, each once.
    shorthand : mapping, optional
        Settings for whichever of the screeners has an option of that name, such as ``{"rule": "gse"}``;
        None is no setting.
    beside : sequence of Screener or JointScreener
        Others that may have the option of a shorthand instead.
    partly : bool
        Whether a shorthand that none of these has is left for others.

    Returns
    -------
    tuple of Screener or JointScreener

    Raises
    ------
    OptionError
        If there is none, one is unknown (with near matches), named twice, has no such option, or needs an
        extra that is not installed; or if no screener has the option of a shorthand.

    Examples
    --------
    >>> [screener.name for screener in screeners_asked("xi,t0")]
    ['xi', 't0']
    """
    found: list[AnyScreener] = []
    for part in [asked] if isinstance(asked, str) else list(asked):
        found += [part] if isinstance(part, Screener | JointScreener) else _parsed(part)
    if not found:
        raise OptionError("no screener is named; give for instance --screener t0")
    names = [one.name for one in found]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise OptionError(f"the screener {name!r} is named twice")
    given = {name: value for name, value in (shorthand or {}).items() if value is not None}
    found = [_with_shorthand(one, given) for one in found]
    for name in given:
        if not partly and not any(name in _options(one) for one in (*found, *beside)):
            raise OptionError(f"none of the screeners {', '.join(names)} has an option {name!r}")
    for one in found:
        _require_extra(one)
    return tuple(found)


def _parsed(text: str) -> list[AnyScreener]:
    found: list[AnyScreener] = []
    place = 0
    while place < len(text):
        match = _ONE.match(text, place)
        if match is None:
            raise OptionError(
                f"cannot read the screeners {text!r} at character {place + 1}; write t0,lasso[folds=5]"
            )
        found.append(_with_settings(match[1], match[2]))
        place = match.end()
    if text.rstrip().endswith(","):
        raise OptionError(f"the screeners {text!r} end with a comma: name one behind it, or leave it out")
    return found


def _with_settings(name: str, settings: str | None) -> AnyScreener:
    if name not in SCREENERS:
        raise OptionError(f"there is no screener {name!r}{nearest(name, SCREENERS)}")
    screener = SCREENERS[name]
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
    return screener.with_settings(given)


def _options(screener: AnyScreener) -> set[str]:
    return {option.name for option in screener.options} if isinstance(screener, JointScreener) else set()


def _with_shorthand(screener: AnyScreener, given: Mapping[str, object]) -> AnyScreener:
    if isinstance(screener, Screener):
        return screener
    return screener.with_settings({name: given[name] for name in given if name in _options(screener)})


def _require_extra(screener: AnyScreener) -> None:
    if isinstance(screener, JointScreener) and screener.needs is not None:
        module, extra = screener.needs
        if find_spec(module) is None:
            raise OptionError(
                f"the screener {screener.name} needs {module}: pip install 'symscreen[{extra}]'"
            )
