"""A study: a table, the options of each step, and the files to write.

`symscreen.config.study_tables` says which option belongs to which table.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symscreen.config.fields import split_union
from symscreen.config.study_tables import STEP_FIELDS, STEPS, STUDY_FIELDS, find_tables
from symscreen.errors import OptionError
from symscreen.messages import name_option, quote, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import Field

    from symscreen.config.study_tables import Step

    Tables = Mapping[str, Mapping[str, Any]]

OUTPUTS = {  # by key: a description of the file
    "report": "The report: one .html that needs nothing else.",
    "table": "The ranking: .csv, .parquet or .json.",
    "model": "The fitted formula: a bundle (.json) for symscreen apply.",
}
_FILE_SUFFIXES = (".toml", ".json")
_SCHEME = re.compile(r"([a-z][a-z0-9+]+:)?(.*)", re.DOTALL)  # splits a source such as duckdb:FILE#TABLE


@dataclass(frozen=True)
class Study:
    """What to do with a table.

    Parameters
    ----------
    data : str
        The file of the table, relative to `folder`.
    options : mapping of str to mapping of str to object
        The options given, by table and name: ``data`` and ``run`` hold for each step, ``screen`` and ``fit``
        for one. A step runs if its table is there, even if it is empty.
    outputs : mapping of str to str
        The files to write, relative to `folder`: ``report``, ``table`` and ``model``.
    folder : Path
        The folder that file names are relative to.
    record : mapping of str to object
        Where the options come from, for the records of the results: the file with its digest, its options,
        and the options given in their place.
    notices : tuple of str
        Notices for the user.

    Examples
    --------
    >>> study = Study("data.csv", {"data": {"target": "y"}, "screen": {"layers": "ub"}})
    >>> study.collect_options("screen"), study.steps
    ({'target': 'y', 'layers': 'ub'}, ('screen',))
    """

    data: str
    options: Tables
    outputs: Mapping[str, str] = field(default_factory=dict)
    folder: Path = Path()
    record: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps that run."""
        return tuple(step for step in STEPS if step in self.options)

    @property
    def source(self) -> str:
        """The file of the table, for the working folder."""
        return resolve_file(self.data, self.folder)

    @property
    def output_files(self) -> dict[str, str]:
        """The files to write, for the working folder."""
        return {name: resolve_file(file, self.folder) for name, file in self.outputs.items()}

    @property
    def input_files(self) -> tuple[str, ...]:
        """The files that the study reads besides its own, for the working folder."""
        given = ((name, value) for table in self.options.values() for name, value in table.items())
        named = (
            resolve_file(str(value), self.folder)
            for name, value in given
            if _names_file(STUDY_FIELDS[name], value)
        )
        return (self.source, *dict.fromkeys(named))

    def collect_options(self, step: Step) -> dict[str, Any]:
        """Return the options of a step as keyword arguments, with file names for the working folder.

        Raises
        ------
        OptionError
            If an option that holds for the whole study is none of this step.
        """
        fields, collected = STEP_FIELDS[step], {}
        for table in ("data", "run", step):
            for name, value in self.options.get(table, {}).items():
                if name not in fields and table == "data":
                    raise OptionError(
                        f"{name_option(name)} is not an option of a {step}: remove it, or the table [{step}] "
                        "of the study"
                    )
                if name in fields:
                    is_file = _names_file(fields[name], value)
                    collected[name] = resolve_file(str(value), self.folder) if is_file else value
        return collected

    def override(self, given: Mapping[str, Any]) -> Study:
        """Return the study with options that replace its own, in each step that has them.

        Parameters
        ----------
        given : mapping of str to object
            Options by name. File names are relative to the working folder.

        Raises
        ------
        OptionError
            If a study has no such option, or no step of this one has it.

        Examples
        --------
        >>> study = Study("data.csv", {"screen": {"top": 5}, "fit": {}})
        >>> study.override({"top": 9, "layers": "u", "jobs": 1}).options
        {'screen': {'top': 9, 'layers': 'u'}, 'fit': {'layers': 'u'}, 'run': {'jobs': 1}}
        """
        options = {table: dict(values) for table, values in self.options.items()}
        for name, value in given.items():
            if name not in STUDY_FIELDS:
                raise OptionError(f"a study has no option {name!r}{suggest(name, STUDY_FIELDS)}")
            tables = find_tables(name)
            taking = [table for table in tables if table in options or table not in STEPS]
            if not taking:
                raise OptionError(
                    f"{name_option(name)} is an option of {' and '.join(tables)}, which this study leaves out"
                )
            if _names_file(STUDY_FIELDS[name], value):
                value = relate_file(str(value), self.folder)  # noqa: PLW2901
            for table in taking:
                options.setdefault(table, {})[name] = value
        record = dict(self.record)
        if given:
            record["given"] = record.get("given", {}) | {
                name: _to_plain(each) for name, each in given.items()
            }
        return replace(self, options=options, record=record)

    def redirect(self, output: str, file: str) -> Study:
        """Return the study with another file for an output, relative to the working folder."""
        record = dict(self.record)
        record["given"] = record.get("given", {}) | {output: file}
        return replace(self, outputs={**self.outputs, output: relate_file(file, self.folder)}, record=record)


def _to_plain(value: Any) -> Any:
    """Convert a value of an option for a record."""
    if isinstance(value, list | tuple):
        return list(map(_to_plain, value))
    return value if isinstance(value, str | int | float | dict) or value is None else str(value)


def _names_file(option_field: Field[Any], value: Any) -> bool:
    """Return whether the value of an option is the name of a file, rather than a word such as a grammar's."""
    is_path = "Path" in split_union(str(option_field.type)) and isinstance(value, str | os.PathLike)
    return is_path and Path(value).suffix in _FILE_SUFFIXES


def resolve_file(name: str, folder: Path) -> str:
    """Return the name of a file for the working folder.

    Parameters
    ----------
    name : str
        A file name relative to `folder`, or ``-``. It may follow a scheme, as in ``duckdb:FILE#TABLE``.
    folder : Path
        The folder.

    Examples
    --------
    >>> resolve_file("a.csv", Path("in")), resolve_file("-", Path("in")), resolve_file("/a.csv", Path("in"))
    ('in/a.csv', '-', '/a.csv')
    """
    return _move_file(name, lambda path: str(folder / path))


def relate_file(name: str, folder: Path) -> str:
    """Return the name of a file relative to a folder, the inverse of `resolve_file`.

    Examples
    --------
    >>> relate_file("in/a.csv", Path("in")), relate_file("a.csv", Path("in"))
    ('a.csv', '../a.csv')
    """
    if folder == Path():
        return name
    return _move_file(name, lambda path: os.path.relpath(path, folder))


def _move_file(name: str, move: Callable[[str], str]) -> str:
    match = _SCHEME.fullmatch(name)
    scheme, path = match.groups("") if match else ("", name)
    if name == "-" or Path(path).is_absolute():
        return name
    return scheme + move(path)


def check_has_steps(study: Study, source: str) -> None:
    """Check that a study has steps, and that its outputs are those of its steps.

    Raises
    ------
    OptionError
        If a study has no step, or an output of a step that it does not run.
    """
    if not study.steps:
        raise OptionError(f"{source}: nothing is to be done: add the table [screen], [fit] or both")
    for name, step in (("report", "screen"), ("table", "screen"), ("model", "fit")):
        if name in study.outputs and step not in study.options:
            raise OptionError(
                f"{source}, output.{name}: {quote(study.outputs[name])} needs the table [{step}]: add it, or "
                "remove this key"
            )
