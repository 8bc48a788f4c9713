"""Read JSON and TOML documents into msgspec structs. Errors name file, key, value, and what is expected.

Files are read in bounded time and memory, because they may come from other people.
"""

from __future__ import annotations

import json
import reprlib
import tomllib
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import msgspec

from symscreen.data.readers.file_bytes import read_regular_file
from symscreen.messages import escape_control_chars, suggest

if TYPE_CHECKING:
    from pathlib import Path

    from symscreen.errors import InputError


Document = TypeVar("Document")

_MAX_DOTS = 200  # dots per line of a TOML file
_MAX_FLOAT = 1.7976931348623157e308
FiniteNumber = Annotated[float, msgspec.Meta(ge=-_MAX_FLOAT, le=_MAX_FLOAT, description="a finite number")]
PositiveNumber = Annotated[float, msgspec.Meta(gt=0, le=_MAX_FLOAT, description="a positive number")]
NotNegativeNumber = Annotated[
    float, msgspec.Meta(ge=0, le=_MAX_FLOAT, description="a number that is not negative")
]
Count = Annotated[int, msgspec.Meta(ge=0, description="an integer of at least 0")]
_DESCRIPTIONS: dict[Any, str] = {str: "a text", int: "an integer", float: "a number", bool: "true or false"}


def parse_json(data: bytes | str) -> Any:
    """Parse JSON in UTF-8; NaN, infinities, and objects that contain a key twice are refused.

    Raises
    ------
    ValueError
        In one line.

    Examples
    --------
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    ValueError: an object contains a key twice
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    try:
        return json.loads(text, parse_constant=_reject_constant, object_pairs_hook=_make_object)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _reject_constant(text: str) -> float:
    raise ValueError(f"{text} is not a finite number")


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("an object contains a key twice")
    return content


def parse_toml(data: bytes | str) -> dict[str, Any]:
    """Parse TOML in UTF-8.

    Raises
    ------
    ValueError
        If the text is not TOML, is nested too deeply, or has a line with more than 200 dots.

    Examples
    --------
    >>> parse_toml('length = "mm"')
    {'length': 'mm'}
    >>> parse_toml("a." * 999 + "a = 1")
    Traceback (most recent call last):
    ...
    ValueError: a line has more than 200 dots
    """
    # The memory that tomllib uses grows quadratically with the length of a dotted key.
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    if any(line.count(".") > _MAX_DOTS for line in text.split("\n")):
        raise ValueError(f"a line has more than {_MAX_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_document(
    path: Path, noun: str, max_bytes: int, error_type: type[InputError], *, source: str = ""
) -> Any:
    """Read and parse a file; one whose name ends in ``.json`` is JSON, any other is TOML.

    Parameters
    ----------
    path : Path
        A regular file.
    noun : str
        What the file should be, for messages: ``a grammar``.
    max_bytes : int
        Its maximum size.
    error_type : type of InputError
        The error to raise.
    source : str
        The name of the file in messages; its path by default.
    """
    try:
        data = read_regular_file(path, max_bytes)
    except (OSError, ValueError) as error:
        # ValueError: a pipe, or a path that contains a null character.
        raise error_type(f"{path}: cannot be read ({getattr(error, 'strerror', error)})") from None
    return parse_document(
        data, source or str(path), noun, max_bytes, error_type, is_json=path.suffix == ".json"
    )


def parse_document(
    data: bytes | str, source: str, noun: str, max_bytes: int, error_type: type[InputError], *, is_json: bool
) -> Any:
    """Parse the content of a file. See `read_document` for the parameters."""
    if len(data) > max_bytes:
        raise error_type(f"{source}: larger than {max_bytes} bytes; this is not {noun}")
    try:
        return parse_json(data) if is_json else parse_toml(data)
    except UnicodeDecodeError:
        raise error_type(f"{source}: not UTF-8 text; this is not {noun}") from None
    except ValueError as error:
        language = "JSON" if is_json else "TOML"
        reason = escape_control_chars(str(error))
        raise error_type(f"{source}: not valid {language}: {reason}; this is not {noun}") from None


def format_place(source: str, key: str) -> str:
    """Name a key of a document, for messages."""
    return f"{source}, {key if key.isprintable() else repr(key)}"


def convert_document(
    content: object,
    document_type: type[Document],
    source: str,
    error_type: type[InputError],
    table: str = "an object",
) -> Document:
    """Convert the content of a document to a struct, or to a dict of checked values.

    Parameters
    ----------
    content : object
        The parsed document.
    document_type : type
        A `msgspec.Struct`, or a type with annotations. The description in a `msgspec.Meta` says in messages
        what a value must be.
    source : str
        The name of the file in messages.
    error_type : type of InputError
        The error to raise.
    table : str
        What an object is called in messages; ``{key}`` is replaced by its key.

    Examples
    --------
    >>> from symscreen.errors import DataError
    >>> convert_document({"a": {"b": 1.5}}, dict[str, dict[str, int]], "f.json", DataError)
    Traceback (most recent call last):
    ...
    symscreen.errors.DataError: f.json, a.b: expected an integer, found 1.5
    """
    try:
        return msgspec.convert(content, document_type)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        # msgspec does not name the keys of dicts, nor the value that came. A key may be no valid Unicode.
        key, reason = _find_fault(content, document_type, "", table) or ("", str(error))
    except RecursionError:
        key, reason = "", "it is nested too deeply"
    raise error_type(f"{format_place(source, key) if key else source}: {reason}")


def _find_fault(value: Any, expected: Any, key: str, table: str) -> tuple[str, str] | None:
    """Return the key of the first value that does not fit, and the reason; None if all values fit."""
    try:
        msgspec.convert(value, expected)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError):
        pass
    else:
        return None
    if get_origin(expected) in {types.UnionType, typing.Union}:  # the union of a type and None
        return _find_fault(value, get_args(expected)[0], key, table)
    if get_origin(expected) is Annotated:
        description = get_args(expected)[1].description
    else:
        fault = _find_key_fault(value, expected, key)
        for part, part_type, part_key in () if fault else _list_parts(value, expected, key):
            fault = fault or _find_fault(part, part_type, part_key, table)
        if fault:
            return fault
        description = "a list" if get_origin(expected) is list else _DESCRIPTIONS.get(expected)
    return key, f"expected {description or table.format(key=key)}, found {reprlib.repr(value)}"


def _find_key_fault(value: Any, expected: Any, key: str) -> tuple[str, str] | None:
    """Return the first key of an object that is unknown or missing, and the reason."""
    if not (isinstance(value, dict) and isinstance(expected, type) and issubclass(expected, msgspec.Struct)):
        return None
    fields = {field.name: field for field in msgspec.structs.fields(expected)}
    for name in value:
        if name not in fields and expected.__struct_config__.forbid_unknown_fields:
            return _join_key(key, name), f"this key is unknown{suggest(name, fields)}"
    for name, field in fields.items():
        if field.required and name not in value:
            return _join_key(key, name), "missing; the file was cut or changed after it was saved"
    return None


def _list_parts(value: Any, expected: Any, key: str) -> list[tuple[Any, Any, str]]:
    """Return the parts of an object or a list, with their types and keys."""
    if isinstance(value, list) and get_origin(expected) is list:
        return [(part, get_args(expected)[0], f"{key}[{index}]") for index, part in enumerate(value)]
    if isinstance(value, dict) and get_origin(expected) is dict:
        return [(part, get_args(expected)[1], _join_key(key, name)) for name, part in value.items()]
    if isinstance(value, dict) and isinstance(expected, type) and issubclass(expected, msgspec.Struct):
        part_types = typing.get_type_hints(expected, include_extras=True)
        return [
            (value[name], kind, _join_key(key, name)) for name, kind in part_types.items() if name in value
        ]
    return []


def _join_key(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
