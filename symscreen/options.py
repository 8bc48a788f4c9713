"""What users give as options, read into exact types, or refused before any work starts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from operator import index
from typing import TYPE_CHECKING, SupportsIndex, get_args

from symscreen.errors import OptionError, nearest
from symscreen.expansion import resident
from symscreen.grammar import load_grammar
from symscreen.limits import least, may_hold, whole_memory
from symscreen.response import KINDS
from symscreen.screeners import JointScreener, Screener, leaders_of, require_accepting, screeners_asked
from symscreen.search import EXACT, Mode, Search

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from symscreen.grammar import Grammar, Layer
    from symscreen.response import Kind
    from symscreen.screeners import AnyScreener

    Names = str | Sequence[str]

__all__ = [
    "PRESCREEN",
    "at_least_1",
    "check_capacity",
    "check_kind",
    "check_sign",
    "formula_texts",
    "idle_rules",
    "list_of_names",
    "parse_bytes",
    "read_cutters",
    "read_grammar",
    "read_keep",
    "read_limit",
    "read_memory",
    "read_schedule",
    "read_search",
]

PRESCREEN = 1000  # features that joint screeners are shown, unless told otherwise
_SHARE_OF_MEMORY = 0.8
_RISK = 1e-6
# T0 alone would cut what turns, such as exp(a) - exp(b)
_CUT: dict[Kind, str] = {
    "numeric": "t0,xi",
    "classes": "t0,xi",
    "several": "t0,xi",
    "ranking": "t0",
    "stages": "t0",
    "survival": "t0",
}
_WITHOUT_SIGN: dict[Kind, tuple[str, str]] = {
    "ranking": ("--ranking", "with an order"),
    "stages": ("--stages", "with all pairs of stages alike"),
    "classes": ("classes", "with several of them alike; give two as the numbers 0 and 1"),
    "several": ("several targets", "with all of them alike"),
}
_SCHEDULE = ("u", "b", "ub", "bu", "bub", "ubb")
_KEEP = re.compile(r"\s*(?:([ub])\s*:)?\s*(\d+)\s*", re.ASCII)


def parse_bytes(text: str | int) -> int:
    """Read an amount of memory.

    Parameters
    ----------
    text : str or int
        ``"2GB"``, ``"500 MB"``, or bytes; steps of 1000, whether an ``i`` is written or not.

    Returns
    -------
    int

    Raises
    ------
    OptionError
        If the text is no amount.

    Examples
    --------
    >>> parse_bytes("1.5GB")
    1500000000
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", str(text), re.IGNORECASE | re.ASCII)
    if match is None or float(match[1]) == 0:
        raise OptionError(f"max_ram is {text!r}; give an amount such as 2GB or 500MB")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))


def read_memory(max_ram: str | int | None) -> int | None:
    """Return how many bytes may be used: what was given, else four fifths of what is there; within limits."""
    if max_ram is not None:
        return least(parse_bytes(max_ram), may_hold(resident()))
    there = least(whole_memory(), may_hold(resident()))
    return None if there is None else int(_SHARE_OF_MEMORY * there)


def list_of_names(names: Names) -> list[str]:
    """Split ``"a, b"`` into names; a list stays as it is."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def formula_texts(also: Names) -> tuple[str, ...]:
    """Return one formula, or several, as a tuple."""
    return (also,) if isinstance(also, str) else tuple(also or ())


def at_least_1(name: str, value: object, other: str = "") -> int:
    """Take any kind of whole number, numpy's included.

    Raises
    ------
    OptionError
        If it is none, or below 1.
    """
    try:
        whole = 0 if isinstance(value, bool) or not isinstance(value, SupportsIndex) else index(value)
    except TypeError:  # an array of several numbers
        whole = 0
    if whole < 1:
        raise OptionError(f"{name} is {value!r}; give a whole number of at least 1{other}")
    return whole


def read_limit(top: int | str) -> int | None:
    """Read ``top``: a whole number, or None for ``"all"``."""
    return None if top == "all" else at_least_1("top", top, ", or 'all'")


def check_sign(sign: str) -> None:
    """Refuse any other sign than ``free`` and ``positive``."""
    if sign not in {"free", "positive"}:
        raise OptionError(f"sign is {sign!r}; it must be 'free' or 'positive'")


def read_keep(keep: int | str | Mapping[str, int] | None) -> dict[str, int] | None:
    """Read how many features a cut keeps after each kind of layer.

    Parameters
    ----------
    keep : int, str, mapping or None
        ``200``, ``"u:50,b:200"``, ``{"u": 50, "b": 200}``; a kind that is not named is not cut.

    Returns
    -------
    dict of str to int, or None

    Raises
    ------
    OptionError
        If it cannot be read.

    Examples
    --------
    >>> read_keep("u:50, b:200"), read_keep(7)
    ({'u': 50, 'b': 200}, {'u': 7, 'b': 7})
    """
    if keep is None:
        return None
    if isinstance(keep, str):
        found: dict[str, int] = {}
        for part in keep.split(","):
            match = _KEEP.fullmatch(part)
            if match is None or set(match[1] or "ub") & set(found):
                raise OptionError(f"keep is {keep!r}; write 200, or u:50,b:200")
            found |= dict.fromkeys(match[1] or "ub", int(match[2]))
        keep = found
    if not isinstance(keep, Mapping):
        keep = dict.fromkeys("ub", at_least_1("keep", keep, ", or u:50,b:200"))
    for kind in keep:
        if kind not in {"u", "b"}:
            raise OptionError(f"keep names {kind!r}: layers are of the kinds u and b")
    return {kind: at_least_1(f"keep for {kind} layers", number) for kind, number in keep.items()}


def read_grammar(
    operators: str | Path,
    layers: str | None,
    unary: Names | None,
    binary: Names | None,
    max_complexity: int | None,
) -> tuple[Grammar, tuple[Layer, ...]]:
    """Load a grammar and alter it as the options say.

    Returns
    -------
    Grammar
    tuple of Layer
        The layers asked for, else the grammar's own.
    """
    grammar = load_grammar(operators).altered(
        unary=None if unary is None else list_of_names(unary),
        binary=None if binary is None else list_of_names(binary),
        max_complexity=max_complexity,
    )
    return grammar, grammar.parsed_layers(layers)


def idle_rules(grammar: Grammar, layers: Sequence[Layer], names: Sequence[str]) -> list[str]:
    """Tell of column rules that keep an operator from every column, as a misspelt name does."""
    used = {operator.name for layer in layers for operator in layer.operators}
    return [
        f"the grammar lets {operator} touch only columns that the table lacks{nearest(min(columns), names)}"
        for operator, columns in grammar.columns.items()
        if operator in used and columns.isdisjoint(names) and columns
    ]


def read_cutters(
    cut: str | Sequence[str | AnyScreener] | None,
    keep: object,
    shorthand: Mapping[str, object],
    kind: Kind = "numeric",
) -> tuple[AnyScreener, ...]:
    """Read who cuts between layers.

    Parameters
    ----------
    cut : str, sequence or None
        Screeners, as `screeners_asked` reads them; None for T0 and ξ where `keep` is given (against
        what ξ does not take T0 alone), else for no cuts.
    keep : object
        How many stay, if it is not None.
    shorthand : mapping
        Settings; those that no cutting screener has are left for others.
    kind : Kind
        What the response is.

    Returns
    -------
    tuple of Screener or JointScreener

    Raises
    ------
    OptionError
        If column screeners are to cut and nobody says how many they keep, a joint one selects nothing, or one
        does not take the response.
    """
    if cut is None and keep is None:
        return ()
    cutters = screeners_asked(_CUT[kind] if cut is None else cut, shorthand, partly=True)
    require_accepting(cutters, kind)
    if keep is None and any(isinstance(one, Screener) for one in cutters):
        names = ", ".join(one.name for one in cutters if isinstance(one, Screener))
        raise OptionError(f"cut by {names}: say how many features stay, for instance --keep 200")
    cutters = tuple(one if isinstance(one, Screener) else one.cutter for one in cutters)
    for one in cutters:
        if isinstance(one, JointScreener) and one.all_settings.get("rule") == "none":
            raise OptionError(f"cut by {one.name}: with rule=none it selects nothing; name a rule")
    return cutters


def check_capacity(screeners: Sequence[AnyScreener], prescreen: int, rows: int, labels: int = 2) -> None:
    """Refuse to show a joint screener more features than it can take.

    Raises
    ------
    OptionError
        If `prescreen` is more than one of them takes of so many rows, and so many labels in a ranking.
    """
    ranking = f" that rank {labels} labels" if labels > 2 else ""
    for one in screeners:
        if isinstance(one, JointScreener) and prescreen > (most := one.most_features(rows, labels)):
            raise OptionError(
                f"prescreen is {prescreen:,}, but {one.name} takes at most {most:,} features of {rows:,} "
                f"rows{ranking}"
            )


def read_search(
    mode: str, risk: float | None, screeners: Sequence[AnyScreener], limit: int | None, rounds: int
) -> Search:
    """Read how the space is searched.

    Parameters
    ----------
    mode : str
        ``exact``, ``race`` or ``sieve``.
    risk : float or None
        Of a race; None for one in a million.
    screeners : sequence of Screener or JointScreener
        Those asked for.
    limit : int or None
        How many classes are shown; None for every feature.
    rounds : int
        Of the screen.

    Returns
    -------
    Search

    Raises
    ------
    OptionError
        If there is no such mode; if the risk is none, or nothing that races; or if a search that drops
        features cannot give what is asked.

    Examples
    --------
    >>> from symscreen.screeners import SCREENERS
    >>> read_search("race", 0.01, [SCREENERS["t0"]], 20, 1)
    Search(mode='race', risk=0.01)
    """
    modes = get_args(Mode)
    if mode not in modes:
        raise OptionError(f"search is {mode!r}{nearest(str(mode), modes)}; there are {', '.join(modes)}")
    if risk is not None and mode != "race":
        raise OptionError(f"risk is {risk!r}, but {mode} takes none: only --search race states a risk")
    if mode == "exact":
        return EXACT
    if limit is None:
        raise OptionError(
            f"--top all shows every feature, and --search {mode} drops most: use --search exact"
        )
    if rounds > 1:
        raise OptionError(
            f"--rounds {rounds} needs every feature's place, and --search {mode} drops most: use --search "
            "exact"
        )
    if mode == "sieve":
        return Search("sieve")
    leaders = leaders_of(screeners)
    if not all(one.by_pairs for one in leaders):
        names = ", ".join(one.name for one in leaders)
        raise OptionError(
            f"--search race has no bound for {names}: put t0 first among the column screeners, or use "
            "--search sieve"
        )
    risk = _RISK if risk is None else risk
    if isinstance(risk, bool) or not isinstance(risk, int | float) or not 0.0 < risk < 1.0:
        raise OptionError(f"risk is {risk!r}; give a probability between 0 and 1, such as 1e-6")
    return Search("race", float(risk))


def check_kind(kind: Kind, sign: str, mode: str, rounds: int) -> None:
    """Refuse what has no meaning where the response is not numeric.

    Parameters
    ----------
    kind : Kind
        What the response is.
    sign, mode, rounds
        The options `sign`, `search` and `rounds` of a screen.

    Raises
    ------
    OptionError
        If the sign is positive, some features would be dropped early, or there is more than one round.
    """
    if kind == "numeric":
        return
    if sign == "positive" and kind != "survival":
        option, whose = _WITHOUT_SIGN[kind]
        raise OptionError(
            f"--sign positive has no meaning with {option}: a feature does not rise or fall {whose}; "
            "leave it out"
        )
    if mode != "exact":
        why = (
            f"has no bound for {KINDS[kind]}, only for a numeric response"
            if mode == "race"
            else f"drops features by a sample of the rows of a numeric response, and {KINDS[kind]} is none"
        )
        raise OptionError(f"--search {mode} {why}: use --search exact")
    if rounds > 1:
        raise OptionError(
            f"--rounds {rounds} needs a numeric response, of which a model leaves something; {KINDS[kind]} "
            "is screened in one round"
        )


def read_schedule(grammar: Grammar, layers: str | None) -> tuple[tuple[Layer, ...], ...]:
    """Return the spaces that a fit searches, as their layers.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    layers : str or None
        What the user asked for: its prefixes and itself. None for `_SCHEDULE`, as far as the grammar has
        operators for it.

    Returns
    -------
    tuple of tuple of Layer
        A space comes behind its prefixes.
    """
    if layers is not None:
        asked = grammar.parsed_layers(layers)
        return tuple(asked[:depth] for depth in range(1, len(asked) + 1))
    has = {"u": bool(grammar.unary), "b": bool(grammar.binary)}
    fitting = [kinds for kinds in _SCHEDULE if all(has[kind] for kind in kinds)]
    return tuple(grammar.parsed_layers(kinds) for kinds in fitting)
