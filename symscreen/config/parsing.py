"""Read, check and write the texts and values of options: amounts, integers, names and formulas."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from numbers import Real
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from symscreen._limits import compute_max_resident_bytes, find_minimum, get_total_memory, read_resident_bytes
from symscreen.config.fields import read_value
from symscreen.errors import OptionError
from symscreen.messages import name_option, name_subject, quote

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symscreen._typing import Names


_MAX_INTEGER = 10**18
_MAX_COUNT_DIGITS = 18  # largest number of digits that always fits into 64 bits
_POOL_KINDS = ("inputs", "u", "b")  # what a pool size may be given for: the inputs, and both kinds of layers
_POOL_SIZE_PATTERN = re.compile(rf"\s*(?:({'|'.join(_POOL_KINDS)})\s*:)?\s*(\d{{1,18}})\s*", re.ASCII)
_MAX_COUNTED_LAYERS = 6  # largest number of layers that may be given as a number; more fit into no memory
DEFAULT_LEVEL = 0.95  # confidence level of intervals
DEFAULT_PRESCREEN = 1000  # features that joint screeners get
DEFAULT_MAX_CORRELATION = 0.95  # rank correlation above which a feature is a near-duplicate
MAX_P_VALUE_CELLS = 10**11  # features times rows up to which p-values are computed by default
DEFAULT_BUDGET = 10**9  # formulas times rows that are scored exactly by default: half a minute of two cores
BUDGET_NONE = "none"  # text that stands for no budget
DEFAULT_FDR = 0.05  # false discovery rate of the verdict
_MEMORY_SHARE = 0.8
_MIN_PLAIN_BYTES = 1000  # a smaller number without a unit was hardly meant as bytes


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
        If the text is not an amount.

    Examples
    --------
    >>> parse_bytes("1.5GB")
    1500000000
    """
    match = re.fullmatch(
        r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kmgt]?)i?b?\s*", str(text), re.IGNORECASE | re.ASCII
    )
    if match is None or float(match[1]) == 0:
        raise OptionError(f"{name_subject('max_ram')} is {text!r}; give an amount such as 2GB or 500MB")
    n_bytes = int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))
    if n_bytes < _MIN_PLAIN_BYTES and str(text).strip() == match[1]:
        raise OptionError(
            f"{name_subject('max_ram')} is {match[1]}, which means {match[1]} bytes; give a unit, "
            f"such as {name_option('max_ram', f'{match[1]}GB')}"
        )
    return n_bytes


def parse_memory_limit(max_ram: str | int | None) -> int | None:
    """Return how many bytes may be used: what was given, else four fifths of what is there; within limits."""
    if max_ram is not None:
        return find_minimum(parse_bytes(max_ram), compute_max_resident_bytes(read_resident_bytes()))
    there = find_minimum(get_total_memory(), compute_max_resident_bytes(read_resident_bytes()))
    return None if there is None else int(_MEMORY_SHARE * there)


def split_names(names: Names) -> list[str]:
    """Split ``"a, b"`` into names; a list stays as it is."""
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def to_tuple(also: Names) -> tuple[str, ...]:
    """Return one formula, or several, as a tuple."""
    return (also,) if isinstance(also, str) else tuple(also or ())


def check_positive_int(
    name: str,
    value: object,
    alternatives: str = "",
    *,
    of: str = "",
    least: int = 1,
    most: int = _MAX_INTEGER,
) -> int:
    """Convert any kind of integer, numpy's included, to int; refuse one that is out of range.

    `alternatives` ends the message, and `of` says which part of the option has the value.

    Raises
    ------
    OptionError
        If the value is not an integer from `least` to `most`.
    """
    subject, whole = f"{name_subject(name)}{of}", _read_whole_number(value)
    if whole is None or whole < 1:
        raise OptionError(f"{subject} is {quote(value)}; give an integer of at least 1{alternatives}")
    if not least <= whole <= most:
        limit = f"at least {least}" if whole < least else f"at most {most}"
        raise OptionError(f"{subject} is {quote(value)}; give {limit}{alternatives}")
    return whole


def _read_whole_number(value: object) -> int | None:
    """Convert any kind of integer, numpy's included, to int; None if the value is not an integer."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return None
    try:
        return index(value)
    except TypeError:  # an array of several numbers
        return None


def parse_pool_sizes(pool_size: int | str | Mapping[str, int] | None) -> dict[str, int] | None:
    """Read how many features pruning keeps after each kind of layer, and of the inputs.

    Parameters
    ----------
    pool_size : int, str, mapping or None
        ``200``, ``"u:50,b:200"``, ``{"inputs": 100, "u": 50}``; a kind that is not named is not pruned. A
        number alone is for layers of both kinds.

    Returns
    -------
    dict of str to int, or None

    Raises
    ------
    OptionError
        If it cannot be read.

    Examples
    --------
    >>> parse_pool_sizes("u:50, b:200"), parse_pool_sizes(7)
    ({'u': 50, 'b': 200}, {'u': 7, 'b': 7})
    """
    if pool_size is None:
        return None
    if isinstance(pool_size, str):
        found: dict[str, int] = {}
        for part in pool_size.split(","):
            match = _POOL_SIZE_PATTERN.fullmatch(part)
            kinds = [] if match is None else [match[1]] if match[1] else ["u", "b"]
            if match is None or set(kinds) & set(found):
                raise OptionError(f"{name_subject('pool_size')} is {pool_size!r}; write 200, or u:50,b:200")
            found |= dict.fromkeys(kinds, int(match[2]))
        pool_size = found
    if not isinstance(pool_size, Mapping):
        pool_size = dict.fromkeys("ub", check_positive_int("pool_size", pool_size, ", or u:50,b:200"))
    for kind in pool_size:
        if kind not in _POOL_KINDS:
            raise OptionError(
                f"{name_subject('pool_size')} names {kind!r}: layers are of the kinds u and b, and inputs "
                "may be named, too"
            )
    return {
        kind: check_positive_int(
            "pool_size", number, of=" for inputs" if kind == "inputs" else f" for {kind} layers"
        )
        for kind, number in pool_size.items()
    }


def parse_budget_text(text: str, name: str) -> int | str:
    """Read a budget: an integer, also as 1e9, or ``none``.

    Raises
    ------
    OptionError
        If the text is neither an integer nor ``none``.
    """
    if text.strip().lower() == BUDGET_NONE:
        return BUDGET_NONE
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number.is_integer():
        raise OptionError(
            f"{name_subject(name)} is {quote(text)}; give formulas × rows, such as 1e9, or none"
        )
    return int(number)


def check_budget(name: str, value: object) -> int | None:
    """Check a number of formulas × rows; ``"none"`` is None."""
    if isinstance(value, str) and value == BUDGET_NONE:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return check_positive_int(name, value, ", or 'none'")


def check_top(name: str, value: object) -> int | str:
    """Check the number of classes to show, or ``"all"``."""
    return (
        "all" if isinstance(value, str) and value == "all" else check_positive_int(name, value, ", or 'all'")
    )


def check_target(name: str, value: object) -> Any:
    """Check the name of the target's column, or several; refuse a column of values.

    Raises
    ------
    OptionError
        If the value is not a name or several, such as a column of values.
    """
    try:
        return read_value(name, value, "Names")
    except OptionError:
        if not hasattr(value, "__len__") or isinstance(value, Mapping):
            raise
        column = getattr(value, "name", None)
        given = (
            name_option(name, column)
            if isinstance(column, str)
            else f"the column's name in {name_option(name)}"
        )
        raise OptionError(
            f"{name_subject(name)} holds values, and a name is needed: give {given}, or the values as y"
        ) from None


def check_jobs(name: str, value: object) -> int | None:
    """Check a number of threads; -1 means all cores, as in scikit-learn, and so does None.

    Examples
    --------
    >>> check_jobs("jobs", 2), check_jobs("jobs", -1)
    (2, None)
    """
    if _read_whole_number(value) == -1:
        return None
    return check_positive_int(name, value, ", or -1 for all cores")


def read_layers(name: str, value: object) -> str:
    """Read layers: a text such as ``ub``, a list of layers, or their number.

    Raises
    ------
    OptionError
        If the value describes no layers, or is a number that is out of range.

    Examples
    --------
    >>> read_layers("layers", "u[sin] b"), read_layers("layers", ["u", "b"]), read_layers("layers", 3)
    ('u[sin] b', 'u b', 'ubb')
    """
    if isinstance(value, str) and not is_count_text(value.strip()):
        return str(value)
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        return " ".join(map(str, value))
    number = int(value) if isinstance(value, str) else _read_whole_number(value)
    if number is not None and 1 <= number <= _MAX_COUNTED_LAYERS:
        return "u" + "b" * (number - 1)
    raise OptionError(
        f"{name_subject(name)} is {quote(value)}; give layers of unary (u) and binary (b) operators, such as "
        f"{name_option(name, 'ub')}, or their number, from 1 to {_MAX_COUNTED_LAYERS}"
    )


def check_seed(name: str, value: object) -> int:
    """Check a seed of random numbers.

    Raises
    ------
    OptionError
        If the value is not an integer of at least 0.
    """
    seed = _read_whole_number(value)
    if seed is None or seed < 0:
        raise OptionError(f"{name_subject(name)} is {quote(value)}; give an integer of at least 0")
    return seed


def check_fraction(name: str, value: object, description: str) -> float:
    """Check a number between 0 and 1; `description` ends the message.

    Raises
    ------
    OptionError
        If the value is not such a number.
    """
    if not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise OptionError(f"{name_subject(name)} is {quote(value)}; give {description}")
    return float(value)


def check_max_correlation(name: str, value: object) -> float:
    """Check the largest rank correlation of two features of a list; 1 excludes none."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value == 1:
        return 1.0
    return check_fraction(name, value, "a rank correlation between 0 and 1, such as 0.95, or 1 for no limit")


def check_share(name: str, value: Any, upper: float, *, above_zero: bool = False) -> Any:
    """Check a number from 0 (or above it) to below an upper limit; return it as it was given.

    Raises
    ------
    OptionError
        If the value is not such a number.
    """
    is_share = isinstance(value, Real) and 0.0 <= float(value) < upper
    if not is_share or (above_zero and value == 0.0):
        raise OptionError(f"{name_subject(name)} is {quote(value)}; give a share from 0 to below {upper:g}")
    return value


def check_level(name: str, value: object) -> float | None:
    """Check a confidence level; True is the default level, False and None are none."""
    if value is None or isinstance(value, bool):
        return DEFAULT_LEVEL if value else None
    return check_fraction(name, value, f"a confidence level between 0 and 1, such as {DEFAULT_LEVEL:g}")


def is_count_text(text: str) -> bool:
    """Return whether a text is an integer of at least 1 that fits into 64 bits."""
    return text.isascii() and text.isdecimal() and len(text) <= _MAX_COUNT_DIGITS and int(text) > 0


def parse_top_text(text: str, option: str) -> int | str:
    """Read an integer of at least 1, or ``all``.

    Raises
    ------
    OptionError
        If the text is neither of them.
    """
    if text == "all":
        return text
    if not is_count_text(text):
        raise OptionError(f"{name_option(option)} is {text!r}; give an integer of at least 1, or all")
    return int(text)


def parse_level_text(text: str, option: str) -> float:
    """Read a level between 0 and 1.

    Raises
    ------
    OptionError
        If the text is not such a number.
    """
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not 0.0 < level < 1.0:
        raise OptionError(
            f"{name_option(option)} is {text!r}; give a level between 0 and 1, {name_option(option)}=0.9, "
            f"or none: then put {name_option(option)} after DATA"
        )
    return level


def write_names(names: Names) -> str:
    """Write columns as the option `inputs` reads them: ``a,b``, names with a comma in backticks.

    Examples
    --------
    >>> write_names(["a,b", "c"]), write_names("a,b")
    ('`a,b`,c', 'a,b')
    """
    return names if isinstance(names, str) else ",".join(map(_quote_column, names))


def _quote_column(name: str) -> str:
    """Put a column's name in backticks where it could be misread."""
    plain = name and name == name.strip() and not re.search("[,`]", name)
    return name if plain else f"`{name.replace('`', '``')}`"


def write_pairs(pairs: Mapping[str, int]) -> str:
    """Write a number for each kind of layer, ``u:50,b:200``."""
    return ",".join(f"{kind}:{number}" for kind, number in pairs.items())


def parse_ranges_text(text: str, option: str) -> dict[str, list[float]]:
    """Read ranges of inputs, ``x=0:10,y=-1:1``; a name with a comma stands in backticks.

    Raises
    ------
    OptionError
        If the text is not written in this way, or names an input twice.

    Examples
    --------
    >>> parse_ranges_text("x=0:10,`a,b`=-1:1", "ranges")
    {'x': [0.0, 10.0], 'a,b': [-1.0, 1.0]}
    """
    found: dict[str, list[float]] = {}
    for match in re.finditer(r"\s*(`(?:[^`]|``)*`|[^`,]+)\s*=([^=,]*)(?:,|$)|(.+)$", text):
        name, ends = match[1], (match[2] or "").split(":")
        try:
            low, high = map(float, ends)
        except ValueError:
            name = None
        if name is None:
            raise OptionError(
                f"{name_option(option)} is {quote(text)}; write A=LOW:HIGH, such as x=0:10,y=-1:1"
            )
        plain = name.strip()
        plain = plain[1:-1].replace("``", "`") if plain.startswith("`") else plain
        if plain in found:
            raise OptionError(f"{name_option(option)} names {quote(plain)} twice")
        found[plain] = [low, high]
    return found


def check_ranges(name: str, value: object) -> dict[str, list[float]]:
    """Check the lowest and the highest value of inputs, by name.

    Raises
    ------
    OptionError
        If the value is not a mapping, or a range is not two finite numbers in ascending order.
    """
    if not isinstance(value, Mapping):
        raise OptionError(f"{name} is {quote(value)}; give a mapping of columns to ranges, {{'x': (0, 10)}}")
    checked: dict[str, list[float]] = {}
    for column, ends in value.items():
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            low, high = math.nan, math.nan
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            raise OptionError(
                f"{name} of {quote(str(column))} is {quote(ends)}; give two numbers, the lowest value first"
            )
        checked[str(column)] = [low, high]
    return checked


def write_ranges(ranges: Mapping[str, Sequence[float]]) -> str:
    """Write ranges as the option `ranges` reads them.

    Examples
    --------
    >>> write_ranges({"x": [0.0, 10.0], "a,b": [-1.0, 1.0]})
    'x=0.0:10.0,`a,b`=-1.0:1.0'
    """
    return ",".join(f"{_quote_range_name(name)}={low!r}:{high!r}" for name, (low, high) in ranges.items())


def _quote_range_name(name: str) -> str:
    """Put a column's name in backticks where it could be misread in a list of ranges."""
    return f"`{name.replace('`', '``')}`" if "=" in name else _quote_column(name)


def write_units(units: Mapping[str, str]) -> str:
    """Say where units come from: the headers, or a file that holds those of the record."""
    from_headers = all(unit in name for name, unit in units.items())
    return "strict" if from_headers else "UNITS.json"
