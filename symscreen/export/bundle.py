"""Saved models and saved features: one JSON file that needs no grammar file and is never run as code."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen.errors import FormulaError, GrammarError, OutputError, printable
from symscreen.export.definitions import costs_of, definitions_of
from symscreen.export.formula import Formula
from symscreen.export.parts import check_numbers, inputs_of
from symscreen.export.shared_formula import SharedFormula
from symscreen.export.stored import FORMAT, Bundle, digest_of, whole_bundle_from
from symscreen.export.trees import domains_of, tree_of
from symscreen.export.written import check_free, write_whole
from symscreen.expression import key, to_text
from symscreen.grammar import OPERATORS
from symscreen.limits import MOST_JSON

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from symscreen.export.stored import Thing
    from symscreen.expression import Expression
    from symscreen.grammar import Operator

__all__ = ["bundle_as_json", "load_bundle", "read_bundle", "save_bundle"]


def save_bundle(
    thing: Formula | SharedFormula | Sequence[Expression],
    path: str | os.PathLike[str],
    *,
    operators: Mapping[str, Operator] = OPERATORS,
    record: Mapping[str, Any] | None = None,
    force: bool = False,
) -> None:
    """Save a model or features, the whole file or nothing.

    Parameters
    ----------
    thing : Formula, SharedFormula or sequence of Expression
        A model, models of several targets, or features such as ``ScreenResult.expressions``; at least one.
    path : str or path
        The file's name; ``-`` is standard output.
    operators : mapping of str to Operator
        The grammar's operators; needed where a definition in it calls another one.
    record : mapping, optional
        How the thing was made, kept as it is: what JSON can hold, under text keys.
    force : bool
        Whether an existing file may be overwritten.

    Raises
    ------
    OutputError
        If the file exists and `force` is not given, cannot be written, or could not be read back: a formula
        is too long, an operator is not defined by a formula, the record holds other than plain values.

    Examples
    --------
    >>> import tempfile
    >>> from symscreen.expression import parse
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle(Formula("y", 1.0, (0.1,), (parse("x**2"),)), Path(folder) / "m.json")
    ...     print(load_bundle(Path(folder) / "m.json").equation)
    y = 1 + 0.1*x**2
    """
    if str(path) == "-":
        sys.stdout.write(bundle_as_json(thing, operators=operators, record=record))
        return
    check_free(Path(path), force=force)
    write_whole(Path(path), bundle_as_json(thing, operators=operators, record=record).encode(), force=force)


def bundle_as_json(
    thing: Formula | SharedFormula | Sequence[Expression],
    *,
    operators: Mapping[str, Operator] = OPERATORS,
    record: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a bundle; equal things give equal bytes.

    Parameters
    ----------
    thing, operators, record
        As for `save_bundle`.

    Returns
    -------
    str
        JSON with the format's and symscreen's versions, the kind, the formulas in the one notation and as
        trees, the inputs that they need, the domains of what stands in them, the definitions and costs of
        operators that do not ship so, and a digest of all that.

    Raises
    ------
    OutputError
        If it could not be read back.
    """
    expressions = _expressions(thing)
    try:
        check_numbers(expressions)
        content = {
            "format": FORMAT,
            "symscreen": metadata.version("symscreen"),
            **_formulas(thing),
            "inputs": list(inputs_of(expressions)),
            "domains": domains_of(expressions, operators),
            "define": definitions_of(expressions, operators),
            "costs": dict(sorted(costs_of(expressions).items())),
        }
        content |= {
            "digest": digest_of(content),
            **({} if record is None else {"record": dict(record)}),
        }
        text = _json(content)
        back = whole_bundle_from(text, "the bundle").thing
    except (FormulaError, GrammarError) as error:
        raise OutputError(f"this cannot be saved: {error}") from None
    returned = _expressions(back)
    if len(text) > MOST_JSON // 4:  # UTF-8 takes four bytes for a character at most
        raise OutputError(f"this cannot be saved: {len(expressions)} formulas are too many for one file")
    if any(key(one) != key(other) for one, other in zip(expressions, returned, strict=True)):
        raise OutputError("this cannot be saved: a formula's text reads back as another formula")
    return text


def load_bundle(path: str | os.PathLike[str]) -> Thing:
    """Read what `save_bundle` wrote, and nothing else.

    Parameters
    ----------
    path : str or path
        The file's name; ``-`` is standard input.

    Returns
    -------
    Formula, SharedFormula or tuple of Expression
        A model, models of several targets, or features. Operators of users' own are built anew from their
        definitions.

    Raises
    ------
    FormulaError
        If the file cannot be read or is not such a bundle, in every part; the message says where.

    Examples
    --------
    >>> load_bundle("absent.json")
    Traceback (most recent call last):
    ...
    symscreen.errors.FormulaError: absent.json: there is no such file; check its name and its folder
    """
    return read_bundle(path).thing


def read_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read what `save_bundle` wrote, with the operators that its formulas call and its record.

    Parameters and errors are those of `load_bundle`.

    Returns
    -------
    Bundle

    Examples
    --------
    >>> import tempfile
    >>> from symscreen.expression import parse
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle([parse("x**2")], Path(folder) / "f.json", record={"seed": 3})
    ...     read_bundle(Path(folder) / "f.json").record
    {'seed': 3}
    """
    where = "standard input" if str(path) == "-" else printable(str(path))
    try:
        data = _bytes(path)
    except FileNotFoundError:
        raise FormulaError(f"{where}: there is no such file; check its name and its folder") from None
    except (OSError, ValueError) as error:
        # a ValueError is a path with a null character inside
        reason = getattr(error, "strerror", None) or error
        raise FormulaError(f"{where}: cannot be read ({reason})") from None
    if len(data) > MOST_JSON:
        raise FormulaError(f"{where}: larger than {MOST_JSON // 10**6} MB; this is no bundle of formulas")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormulaError(f"{where}: not UTF-8 text; a bundle is the JSON file that was saved") from None
    return whole_bundle_from(text, where)


def _bytes(path: str | os.PathLike[str]) -> bytes:
    if str(path) == "-":
        return sys.stdin.buffer.read(MOST_JSON + 1)
    with Path(path).open("rb") as file:
        return file.read(MOST_JSON + 1)


def _expressions(thing: Formula | SharedFormula | Sequence[Expression]) -> tuple[Expression, ...]:
    return thing.terms if isinstance(thing, Formula | SharedFormula) else tuple(thing)


def _formulas(thing: Formula | SharedFormula | Sequence[Expression]) -> dict[str, Any]:
    if isinstance(thing, SharedFormula):
        columns = zip(*thing.coefficients, strict=True) if thing.terms else ()
        return {
            "kind": "models",
            "targets": list(thing.targets),
            "intercepts": list(thing.intercepts),
            "terms": [
                {"coefficients": list(column), **_formula(term)}
                for column, term in zip(columns, thing.terms, strict=True)
            ],
        }
    if not isinstance(thing, Formula):
        return {"kind": "features", "features": [_formula(feature) for feature in thing]}
    return {
        "kind": "model",
        "target": thing.target,
        "intercept": thing.intercept,
        "terms": [
            {"coefficient": coefficient, **_formula(term)}
            for coefficient, term in zip(thing.coefficients, thing.terms, strict=True)
        ],
    }


def _formula(expression: Expression) -> dict[str, Any]:
    return {"expression": to_text(expression), "tree": tree_of(expression)}


def _json(content: Mapping[str, Any]) -> str:
    try:
        text = _laid_out(content, escaped=False)
        # a name may hold half of a surrogate pair, which UTF-8 cannot write, or what steers a terminal
        plain = all(mark.isprintable() or mark == "\n" for mark in text)
        return text if plain else _laid_out(content, escaped=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise OutputError(
            f"this cannot be saved: its record holds more than plain values ({error})"
        ) from None


def _laid_out(content: Mapping[str, Any], *, escaped: bool) -> str:
    """Write a line for each formula, that files of many stay small and can be compared line by line."""

    def dumped(value: Any, indent: int | None = None) -> str:
        return json.dumps(value, ensure_ascii=escaped, indent=indent, allow_nan=False)

    lines = []
    for key_, value in content.items():
        if key_ in {"features", "terms"} and value:
            rows = ",\n".join(f"    {dumped(one)}" for one in value)
            lines.append(f"  {dumped(key_)}: [\n{rows}\n  ]")
        else:
            lines.append(f"  {dumped(key_)}: {dumped(value, 2).replace(chr(10), chr(10) + '  ')}")
    return "{\n" + ",\n".join(lines) + "\n}\n"
