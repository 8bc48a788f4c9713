"""Read and write study files: TOML documents whose keys are the options.

Files are read in bounded time and memory, because they may come from other people.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from symscreen.config.fields import check_option, get_option
from symscreen.config.study_tables import STEPS, list_table_fields
from symscreen.data import read_regular_file
from symscreen.data.documents import convert_document, parse_document
from symscreen.errors import OptionError
from symscreen.messages import escape_control_chars, name_subject, quote
from symscreen.studies.study import OUTPUTS, Study, check_has_steps

if TYPE_CHECKING:
    from collections.abc import Sequence
    from dataclasses import Field


_MAX_BYTES = 1_000_000  # largest size of a study file
_WIDTH = 100  # characters of a comment line
_OPTION_TABLES = ("data", *STEPS, "run")
_FileName = Annotated[str, msgspec.Meta(min_length=1, description='the name of a file, such as "data.csv"')]


def _make_table_type(table: str) -> type[msgspec.Struct]:
    """Make the type of a table of options. Their values are checked by the definitions of the options."""
    keys: list[tuple[str, Any, Any]] = [(name, Any, msgspec.UNSET) for name in list_table_fields(table)]
    if table == "data":
        keys.insert(0, ("file", _FileName | None, None))
    return msgspec.defstruct(f"{table.capitalize()}Table", keys, forbid_unknown_fields=True)


_OutputTable = msgspec.defstruct(
    "OutputTable", [(name, _FileName | None, None) for name in OUTPUTS], forbid_unknown_fields=True
)
_StudyDocument = msgspec.defstruct(
    "StudyDocument",
    [
        *((table, _make_table_type(table) | None, None) for table in _OPTION_TABLES),
        ("output", _OutputTable | None, None),
    ],
    forbid_unknown_fields=True,
)


def read_study(path: str | Path) -> Study:
    r"""Read a study file.

    Parameters
    ----------
    path : str or Path
        A TOML file with the tables ``data`` (with the key ``file``), ``screen``, ``fit``, ``run`` and
        ``output``. Their keys are the options of `symscreen.screen` and `symscreen.fit`. File names are
        relative to the folder of the file.

    Returns
    -------
    Study

    Raises
    ------
    OptionError
        If the file cannot be read, is not a study, or an option has a wrong value. The message names the
        file, the key, what came and what was expected.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "study.toml")
    ...     _ = path.write_text('[data]\nfile = "a.csv"\ntarget = "y"\n[screen]\nlayers = "ub"\n')
    ...     study = read_study(path)
    >>> study.data, study.options
    ('a.csv', {'data': {'target': 'y'}, 'screen': {'layers': 'ub'}})
    """
    path, source = Path(path), escape_control_chars(str(path))
    try:
        content = read_regular_file(path, _MAX_BYTES)
    except FileNotFoundError:
        raise OptionError(f"{source}: the file does not exist; symscreen init DATA writes one") from None
    except (OSError, ValueError) as error:
        # ValueError: a pipe, or a path that contains a null character.
        raise OptionError(f"{source}: cannot be read ({getattr(error, 'strerror', error)})") from None
    return parse_study(content, source, path)


def parse_study(content: bytes | str, source: str, path: Path) -> Study:
    """Parse the content of a study file.

    Parameters
    ----------
    content : bytes or str
        The content.
    source : str
        The name of the file in messages.
    path : Path
        The file, whose folder file names are relative to.

    Returns
    -------
    Study

    Raises
    ------
    OptionError
        See `read_study`.
    """
    parsed = parse_document(content, source, "a study file", _MAX_BYTES, OptionError, is_json=False)
    convert_document(parsed, _StudyDocument, source, OptionError, table="a table, [{key}]")
    tables = {name: dict(parsed[name]) for name in _OPTION_TABLES if name in parsed}
    data = tables.setdefault("data", {}).pop("file", None)
    if data is None:
        raise OptionError(f'{source}, data.file: missing; name the file of the table, file = "data.csv"')
    for table, values in tables.items():
        fields = list_table_fields(table)
        for name, value in values.items():
            _check_value(value, fields[name], f"{source}, {table}.{name}")
    encoded = content.encode() if isinstance(content, str) else content
    study = Study(
        data,
        tables,
        dict(parsed.get("output", {})),
        path.parent,
        record={
            "file": path.name,
            "sha256": hashlib.sha256(encoded).hexdigest(),
            "options": {
                "data": {"file": data, **tables["data"]},
                **{k: tables[k] for k in tables if k != "data"},
            },
        },
    )
    check_has_steps(study, source)
    return study


def _check_value(value: Any, option_field: Field[Any], place: str) -> None:
    """Check the value of an option by its definition; the error names the place in the file."""
    if isinstance(value, float) and not math.isfinite(value):
        raise OptionError(f"{place} is {value}; give a finite number")
    try:
        check_option(option_field, value)
    except OptionError as error:
        subject, template = name_subject(option_field.name), error.template
        rest = template.removeprefix(subject)  # the place stands for the option that begins the message
        raise OptionError(f"{place}{rest}" if rest != template else f"{place}: {template}") from None


def format_study(study: Study, notes: Mapping[str, Sequence[str]] | None = None) -> str:
    r"""Write a study as a TOML document with a comment for each key.

    Parameters
    ----------
    study : Study
        The study.
    notes : mapping of str to sequence of str, optional
        Further comments by key, such as ``data.inputs``, or by table, such as ``data``; the note of the empty
        key heads the document. A key without a value has its notes only.

    Returns
    -------
    str

    Raises
    ------
    OptionError
        If a value cannot be written as TOML, such as a `Grammar`.

    Examples
    --------
    >>> print(format_study(Study("a.csv", {"data": {}, "screen": {"top": 9}})))
    [data]
    file = "a.csv"
    <BLANKLINE>
    [screen]
    # How many distinct features to show; all shows every feature, unmerged.
    top = 9
    <BLANKLINE>
    """
    known = notes or {}
    lines = [f"# {escape_control_chars(line)}" for line in known.get("", ())]
    for table in _OPTION_TABLES:
        if table != "data" and table not in study.options:
            continue
        lines += ["", f"[{table}]", *_format_comments(known.get(table, ()))]
        if table == "data":
            lines.append(f"file = {format_toml_value(study.data, 'file')}")
        for name, option_field in list_table_fields(table).items():
            values, remarks = study.options.get(table, {}), known.get(f"{table}.{name}", ())
            if name in values and values[name] is not None:
                lines += _format_comments((*_describe_option(option_field), *remarks))
                lines.append(f"{name} = {format_toml_value(values[name], name)}")
            else:
                lines += _format_comments(remarks)
    if study.outputs or "output" in known:
        lines += ["", "[output]", *_format_comments(known.get("output", ()))]
    for name, text in OUTPUTS.items():
        if name in study.outputs:
            lines += [*_format_comments((text,)), f"{name} = {format_toml_value(study.outputs[name], name)}"]
    return "\n".join(lines).lstrip("\n") + "\n"


def _describe_option(option_field: Field[Any]) -> tuple[str, ...]:
    """Return the help of an option and its choices."""
    known = get_option(option_field)
    return (known.help, f"One of: {', '.join(known.choices)}.") if known.choices else (known.help,)


def _format_comments(texts: Sequence[str]) -> list[str]:
    """Write texts as comment lines."""
    return [
        f"# {line}"
        for text in texts
        for line in textwrap.wrap(escape_control_chars(text), _WIDTH, break_long_words=False)
    ]


def format_toml_value(value: Any, name: str) -> str:
    r"""Write the value of an option as TOML.

    Parameters
    ----------
    value : object
        A text, a path, a number, a boolean, or a list or a mapping of these.
    name : str
        The name of the option, for the message.

    Returns
    -------
    str

    Raises
    ------
    OptionError
        If TOML has no such value.

    Examples
    --------
    >>> format_toml_value(['a "b"', True, 0.5], "x"), format_toml_value({"u": 50}, "pool_size")
    ('["a \\"b\\"", true, 0.5]', '{"u" = 50}')
    """
    if isinstance(value, str | os.PathLike):
        # except for one character, JSON's texts are TOML's
        text = json.dumps(os.fspath(value), ensure_ascii=False)
        return "".join(character if character.isprintable() else _escape(character) for character in text)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float) and math.isfinite(value):
        return str(int(value)) if isinstance(value, int) else repr(float(value))
    if isinstance(value, list | tuple):
        return f"[{', '.join(format_toml_value(each, name) for each in value)}]"
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        pairs = (
            f"{format_toml_value(key, name)} = {format_toml_value(each, name)}" for key, each in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    raise OptionError(
        f"{name} is {quote(value)}, which a study file cannot hold: give a text, a number or a list"
    )


def _escape(character: str) -> str:
    """Write a character that is not printable as TOML does."""
    return f"\\u{ord(character):04x}" if ord(character) < 1 << 16 else f"\\U{ord(character):08x}"
