"""Save and load models and features as bundles: JSON files that need no grammar file.

`symscreen.export.bundle_documents` writes and reads the text of a bundle.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen._atomic_io import check_writable, write_atomically
from symscreen._limits import MAX_JSON_BYTES
from symscreen.errors import FormulaError
from symscreen.export.bundle_documents import format_bundle, parse_bundle
from symscreen.grammar import OPERATORS
from symscreen.messages import escape_control_chars

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from symscreen.export.bundle_documents import Bundle, BundleFormulas, SavedFormulas
    from symscreen.grammar import Operator


def save_bundle(
    formulas: SavedFormulas,
    path: str | os.PathLike[str],
    *,
    operators: Mapping[str, Operator] = OPERATORS,
    record: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Save a model or features to a file. The file is written completely or not at all.

    Parameters
    ----------
    formulas : Formula, SharedFormula, GroupedFormula, SystemFormula or sequence of Expression
        A model, models of several targets, a model with constants by group, or at least one feature, such as
        ``ScreenResult.expressions``.
    path : str or path
        The file name; ``-`` is standard output.
    operators : mapping of str to Operator
        The operators of the grammar. They are needed if the definition of one operator calls another.
    record : mapping, optional
        A record of how the formulas were made, stored unchanged. It must be valid JSON with text keys.
    force : bool
        Whether to overwrite an existing file.

    Raises
    ------
    OutputError
        If the file exists and `force` is false, if it cannot be written, or if it could not be read back: a
        formula is too long, an operator is not defined by a formula, or the record is not valid JSON.

    Examples
    --------
    >>> import tempfile
    >>> from symscreen.expressions.linear_formula import Formula
    >>> from symscreen.expressions.tree import parse_expression
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle(Formula("y", 1.0, (0.1,), (parse_expression("x**2"),)), Path(folder) / "m.json")
    ...     print(load_bundle(Path(folder) / "m.json").equation)
    y = 1 + 0.1*x**2
    """
    if str(path) == "-":
        sys.stdout.write(format_bundle(formulas, operators=operators, record=record))
        return
    check_writable(Path(path), force=force)
    text = format_bundle(formulas, operators=operators, record=record)
    write_atomically(Path(path), text.encode(), force=force)


def load_bundle(path: str | os.PathLike[str]) -> BundleFormulas:
    """Load the formulas of a bundle that `save_bundle` wrote.

    Parameters
    ----------
    path : str or path
        The file name; ``-`` is standard input.

    Returns
    -------
    Formula, SharedFormula, GroupedFormula, SystemFormula or tuple of Expression
        A model, models of several targets, a model with constants by group, differential equations, or
        features. User-defined operators are rebuilt from their definitions.

    Raises
    ------
    FormulaError
        If the file cannot be read or is not a valid bundle; the message names the place.

    Examples
    --------
    >>> load_bundle("absent.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: absent.json: there is no such file; check its name and its folder
    """
    return read_bundle(path).formulas


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read a bundle with its operators and its record.

    See `load_bundle` for the parameters and errors.

    Returns
    -------
    Bundle

    Raises
    ------
    FormulaError
        If the file cannot be read, or does not hold a bundle.

    Examples
    --------
    >>> import tempfile
    >>> from symscreen.expressions.tree import parse_expression
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle([parse_expression("x**2")], Path(folder) / "f.json", record={"seed": 3})
    ...     read_bundle(Path(folder) / "f.json").record
    {'seed': 3}
    """
    source_name = "standard input" if str(path) == "-" else escape_control_chars(str(path))
    try:
        data = _read_bytes(path)
    except FileNotFoundError:
        raise FormulaError(f"{source_name}: there is no such file; check its name and its folder") from None
    except (OSError, ValueError) as error:
        # A path with a null character raises a ValueError.
        reason = getattr(error, "strerror", None) or error
        raise FormulaError(f"{source_name}: cannot be read ({reason})") from None
    return parse_bundle(data, source_name)


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(MAX_JSON_BYTES + 1)
    with Path(path).open("rb") as file:
        return file.read(MAX_JSON_BYTES + 1)
