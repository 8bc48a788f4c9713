"""The command that repeats a screen, written from its record."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from symscreen.config.fields import get_option, list_options
from symscreen.config.screen_options import ScreenOptions
from symscreen.grammar import list_grammar_names, load_grammar
from symscreen.screeners import SCREENERS, JointScreener

if TYPE_CHECKING:
    from collections.abc import Mapping


_SETTINGS = {
    "screener": "settings",
    "prune_by": "prune_by_settings",
}  # where the record has those of screeners
_OPTIONS = {field.name: get_option(field) for field in list_options(ScreenOptions)}


def format_command(record: Mapping[str, Any], data: str = "DATA") -> str:
    """Write the command line that makes a result again.

    Parameters
    ----------
    record : mapping
        The record of a screen.
    data : str
        The file; its rows and columns may stand in any order.

    Returns
    -------
    str
        For a POSIX shell; a word with control characters needs bash.

    Examples
    --------
    >>> options = {"target": "y", "layers": "u[sin]", "screener": ["t0"], "top": 5, "inputs": ["a,b", "c"]}
    >>> print(format_command({"options": options}, "my data.csv"))
    symscreen screen 'my data.csv' --target y --layers 'u[sin]' --screener t0 --top 5 --inputs '`a,b`,c'
    """
    options = record["options"]
    data = f"./{data}" if data.startswith("-") and data != "-" else data
    words = ["symscreen", "screen", quote_shell_word(data)]
    for name, value in options.items():
        words += _format_option(name, value, options)
    words += _format_operators(record)
    if "classes" in record:
        words.append(_format_flag("class_members", str(record["classes"]["members"])))
    return " ".join(words)


def _format_operators(record: Mapping[str, Any]) -> list[str]:
    """Name the operators, where they are not those of a shipped grammar."""
    written, name = record.get("grammar", {}), record["options"].get("operators")
    own = load_grammar(name) if name in list_grammar_names() else None
    words = []
    for kind in ("unary", "binary"):
        names = written.get(kind, [])
        if names and (own is None or [operator.name for operator in getattr(own, kind)] != names):
            words.append(_format_flag(kind, ",".join(names)))
    return words


def _format_option(name: str, value: Any, options: Mapping[str, Any]) -> list[str]:
    """Write an option, unless it is the default or changes no result; other keys are left out."""
    known = _OPTIONS.get(name)
    if known is None or known.runtime or value is None or value is False or value in ([], {}, ""):
        return []
    if value in known.unwritten:
        return []
    if name == "target" and (options.get("ranking") or options.get("stages")):
        return []  # these make the target's name
    if value is True:
        return [f"--{name.replace('_', '-')}"]
    if name in _SETTINGS:
        settings = options.get(_SETTINGS[name], {})
        value = ",".join(_format_screener(each, settings.get(each, {})) for each in value)
    elif known.write is not None:
        value = known.write(value)
    return [_format_flag(name, str(each)) for each in (value if known.multiple else [value])]


def _format_flag(name: str, text: str) -> str:
    mark = "=" if text.startswith("-") else " "  # or it would be read as an option
    return f"--{name.replace('_', '-')}{mark}{quote_shell_word(text)}"


def _format_screener(screener: str, settings: Mapping[str, Any]) -> str:
    known = SCREENERS.get(screener)
    usual = {each.name: each.default for each in known.options} if isinstance(known, JointScreener) else {}
    other = [f"{name}={value}" for name, value in settings.items() if usual.get(name, value) != value]
    return f"{screener}[{','.join(other)}]" if other else screener


def quote_shell_word(text: str) -> str:
    r"""Quote a word for a shell; one with control characters as bash writes it.

    Examples
    --------
    >>> print(quote_shell_word("a b"), quote_shell_word("a\n\u202e'"))
    'a b' $'a\n\u202e\''
    """
    if all(mark.isprintable() for mark in text):
        return shlex.quote(text)
    return "$'" + "".join(map(_escape_bash, text)) + "'"


def _escape_bash(character: str) -> str:
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(character) or f"\\U{ord(character):08x}".replace(
        "\\U0000", "\\u"
    )
