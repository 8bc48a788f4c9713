"""How an option is defined: once, as a dataclass field with all that its front ends need to know.

`option` makes such a field, `Option` is what it carries. The command line (`symscreen.cli.options`), the
signatures and docstrings of functions and estimators (`describe_options`), the record, and the command that
repeats a screen (`symscreen.config.option_record`) are derived from the fields. An option that is only passed
on is therefore written in two places: where it is defined and where it is used.

Unless an option has choices or a check, its annotation says which values it takes (`read_value`). A type is
known by the text of the annotation: evaluating annotations would import pandas and the screeners before
``--help`` appears.
"""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from symscreen.config.option_hints import suggest_option
from symscreen.errors import OptionError
from symscreen.messages import name_subject, quote, suggest

if TYPE_CHECKING:
    Described = TypeVar("Described", bound=Callable[..., Any] | type)

T = TypeVar("T")


RecordPolicy = Literal["always", "given", "never"]
# verbs that take an option
SCREEN_VERBS = ("screen", "plan", "why")
FIT_VERBS = (*SCREEN_VERBS, "fit")
POWER_VERBS = (*FIT_VERBS, "power")
TABLE_VERBS = (*POWER_VERBS, "inputs")  # options of what is read, and of the run
_DOC_WIDTH = 110  # characters of a docstring line, with its indentation
_PLAIN_TYPES = {"bool", "int", "float", "str"}
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {  # by annotation: the test, and how messages call it
    "str": (lambda value: isinstance(value, str), "a text"),
    "Literal": (lambda value: isinstance(value, str), "a text"),
    "Path": (lambda value: isinstance(value, os.PathLike), "a path"),
    "bool": (lambda value: isinstance(value, bool), "True or False"),
    "int": (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    "float": (lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    "Sequence": (lambda _: False, "a list of texts"),  # `split_operators` reads lists before
    "ArrayLike": (lambda value: hasattr(value, "__len__"), "an array"),
    "Mapping": (lambda value: isinstance(value, Mapping), "a mapping"),
    "Callable": (callable, "a function"),
    "ProgressCallback": (callable, "a function"),
    "StageWeight": (lambda _: True, ""),  # the target type reads it
}
_LISTS = {
    "Names": "a text or a list of texts",
    "ScreenerSpec": "a text or a list of texts or screeners",
    "GuessSpec": "a text, a result of a screen, or a list of these",
}
_MEMBER_CLASSES = {"ScreenerSpec": ("Screener", "JointScreener"), "GuessSpec": ("ScreenResult",)}


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is known of an option besides its name, type and default.

    Parameters
    ----------
    help : str
        One sentence for the command line.
    doc : str
        The text of the Python docstring; `help` where it is empty.
    type : str
        The type in the docstring; empty where `choices` or the annotation says it.
    flag : str
        Its name on the command line, where that is not derived from the name of the field.
    short_flag : str
        A second name of one letter on the command line, such as ``-t``; empty if it has none.
    everyday : bool
        Whether ``--help`` shows it where a verb has many options.
    metavar : str or None
        What the command line shows in the place of a value.
    is_column : bool
        Whether a value is the name of a column.
    takes_file : bool
        Whether a value may be a file, whose name the command line completes.
    choices : tuple of str
        The values allowed, if there are few.
    parse : callable or None
        Turns a text of the command line into a value; called with the text and the option's name.
    check : callable or None
        Checks a value that is not None and returns it, converted; called with the option's name and the
        value. Values of `choices` are checked without it.
    write : callable or None
        Turns a recorded value into a text that `parse` reads.
    value_if_bare : str or None
        The text that the option has on the command line where it has no value.
    multiple : bool
        Whether the command line may repeat it.
    negatable : bool
        Whether the command line has ``--no-NAME``, too, for an option that is True, False or None.
    verbs : tuple of str
        The verbs of the command line that have the option. A fit takes no others in Python, either.
    estimator : bool
        Whether the scikit-learn estimators have it as a parameter.
    estimator_name : str
        Its name there, such as ``n_jobs``, if scikit-learn has one for it; empty if the name is the same.
    synonyms : tuple of str
        Other names under which Python reads it.
    runtime : bool
        Whether it changes no result, as the number of threads. It is not replayed from a record, and a
        printed command does not contain it.
    record : {"always", "given", "never"}
        Whether the record of a screen contains the option: always, where it is not None, or never.
    fit_record : bool
        Whether the record of a fit contains it.
    unwritten : tuple
        Recorded values for which a printed command does not contain the option.
    """

    help: str
    doc: str = ""
    type: str = ""
    flag: str = ""
    short_flag: str = ""
    everyday: bool = False
    metavar: str | None = None
    is_column: bool = False
    takes_file: bool = False
    choices: tuple[str, ...] = ()
    parse: Callable[[str, str], Any] | None = None
    check: Callable[[str, Any], Any] | None = None
    write: Callable[[Any], str] | None = None
    value_if_bare: str | None = None
    multiple: bool = False
    negatable: bool = False
    verbs: tuple[str, ...] = ("screen", "plan", "why")
    estimator: bool = True
    estimator_name: str = ""
    synonyms: tuple[str, ...] = ()
    runtime: bool = False
    record: RecordPolicy = "always"
    fit_record: bool = False
    unwritten: tuple[Any, ...] = ()


def option(default: T, **details: Any) -> T:
    """Make a dataclass field that is an option.

    Parameters
    ----------
    default : object
        The default.
    **details
        The parameters of `Option`.

    Returns
    -------
    dataclasses.Field
        Typed as the default, so that type checkers compare it with the annotation.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Options:
    ...     top: int = option(20, help="How many features to show.", metavar="K")
    >>> Options().top, get_option(fields(Options)[0]).metavar
    (20, 'K')
    """
    made: T = field(default=default, metadata={"option": Option(**details)})
    return made


def get_option(field: Field[Any]) -> Option:
    """Return what is known of the option of a field."""
    known: Option = field.metadata["option"]
    return known


def check_options(options: Any) -> None:
    """Check each option of a dataclass by its definition, and put the checked value in its place."""
    for each in fields(options):
        given = getattr(options, each.name)
        value = check_option(each, given)
        if value is not given:
            object.__setattr__(options, each.name, value)


def check_option(field: Field[Any], value: Any) -> Any:
    """Return the value of an option, converted; refuse one that its definition does not allow.

    Parameters
    ----------
    field : dataclasses.Field
        The definition.
    value : object
        What the user gave.

    Raises
    ------
    OptionError
        If the value is of another type, or not allowed.
    """
    name, known, annotation = field.name, get_option(field), str(field.type)
    if value is None and (field.default is None or "None" in split_union(annotation)):
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # a number or a text of numpy
    if known.choices and not known.type:
        if not isinstance(value, str) or value not in known.choices:
            raise OptionError(f"{name_subject(name)} is {quote(value)}{suggest(str(value), known.choices)}")
        return value
    if known.check is not None:
        return known.check(name, value)
    return read_value(name, value, annotation, names_column=known.is_column)


def list_options(
    options_class: type, *, verb: str | None = None, estimator: bool = False
) -> tuple[Field[Any], ...]:
    """List the fields of a class of options.

    Parameters
    ----------
    options_class : type
        A dataclass whose fields are options.
    verb : str or None
        Only the options of this verb of the command line; None for all.
    estimator : bool
        Whether to list only parameters of estimators.

    Returns
    -------
    tuple of dataclasses.Field
        In the order of definition. Those of estimators have the names that they have there.
    """
    listed = [each for each in fields(options_class) if verb is None or verb in get_option(each).verbs]
    if not estimator:
        return tuple(listed)
    return tuple(_rename_for_estimator(each) for each in listed if get_option(each).estimator)


def _rename_for_estimator(field: Field[Any]) -> Field[Any]:
    """Return the field of an option under the name that estimators have for it."""
    known = get_option(field)
    if not known.estimator_name:
        return field
    renamed = copy(field)
    renamed.name = known.estimator_name
    renamed.metadata = MappingProxyType(
        {"option": replace(known, estimator_name="", synonyms=(field.name, *known.synonyms))}
    )
    return renamed


def find_group(options_class: type, name: str) -> str:
    """Return the group of an option: the attribute `group` of the class that defines it first."""
    owner = next(base for base in reversed(options_class.__mro__) if name in inspect.get_annotations(base))
    return str(vars(owner)["group"])


def make_options(
    options_class: type[T], keywords: Mapping[str, Any], known_fields: Sequence[Field[Any]], verb: str
) -> T:
    """Build options from keyword arguments.

    Parameters
    ----------
    options_class : type
        A dataclass whose fields are options.
    keywords : mapping of str to object
        The values by name.
    known_fields : sequence of dataclasses.Field
        The options allowed, as `list_options` returns them.
    verb : str
        The function that takes them, for the message.

    Raises
    ------
    OptionError
        As `read_keywords`.
    """
    return options_class(**read_keywords(keywords, known_fields, f"{verb} has no option"))


def read_keywords(
    keywords: Mapping[str, Any], known_fields: Sequence[Field[Any]], refusal: str
) -> dict[str, Any]:
    """Return keyword arguments by the names of their options, whichever of its names each option has.

    Parameters
    ----------
    keywords : mapping of str to object
        The values by name, estimator name or synonym.
    known_fields : sequence of dataclasses.Field
        The options allowed, as `list_options` returns them.
    refusal : str
        The begin of the message about a keyword that names none of them.

    Raises
    ------
    OptionError
        If a keyword names no option, or two keywords the same one.

    Examples
    --------
    >>> from symscreen.config.screen_options import ScreenOptions
    >>> read_keywords({"n_jobs": 2, "top": 5}, list_options(ScreenOptions), "screen has no option")
    {'jobs': 2, 'top': 5}
    """
    names = {name: each.name for each in known_fields for name in _list_names(each)}
    given: dict[str, str] = {}
    for keyword in keywords:
        if keyword not in names:
            raise OptionError(f"{refusal} {quote(keyword)}{suggest_option(keyword, names)}")
        name = names[keyword]
        if name in given:
            raise OptionError(f"{given[name]}= and {keyword}= are names of one option: give one of them")
        given[name] = keyword
    return {name: keywords[keyword] for name, keyword in given.items()}


def _list_names(field: Field[Any]) -> list[str]:
    """List the names under which Python reads an option."""
    known = get_option(field)
    return [field.name, *known.synonyms, *([known.estimator_name] if known.estimator_name else [])]


def describe_options(
    described_fields: Sequence[Field[Any]], *, signature: bool = True
) -> Callable[[Described], Described]:
    """Give a function that takes ``**options`` its real signature, and its docstring their descriptions.

    Parameters
    ----------
    described_fields : sequence of dataclasses.Field
        The options, as `list_options` returns them.
    signature : bool
        Whether to set the signature; False for a class, whose constructor has it.

    Returns
    -------
    callable
        A decorator. It replaces the entry ``**options`` of the section Parameters, if that ends in ``…``.
    """

    def describe(described: Described) -> Described:
        if signature:
            described.__signature__ = _build_signature(described, described_fields)  # type: ignore[union-attr]
        if described.__doc__ is not None:
            described.__doc__ = _expand_docstring(described.__doc__, described_fields)
        return described

    return describe


def _build_signature(
    function: Callable[..., Any], described_fields: Sequence[Field[Any]]
) -> inspect.Signature:
    """Replace ``**options`` in the signature of a function by keyword-only parameters."""
    plain = inspect.signature(function)
    kept = [each for each in plain.parameters.values() if each.kind is not each.VAR_KEYWORD]
    added = [
        inspect.Parameter(
            each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type
        )
        for each in described_fields
    ]
    return plain.replace(parameters=[*kept, *added])


def _expand_docstring(docstring: str, described_fields: Sequence[Field[Any]]) -> str:
    """Put descriptions of the options in the place of the entry ``**options`` that ends in ``…``."""
    entry = re.search(r"^( *)\*\*\w+\n(?:\1 +.*\n)*\1 +.*…\n", docstring, re.MULTILINE)
    if entry is None:
        return docstring
    described = "".join(_format_parameter(each, entry[1]) for each in described_fields)
    return docstring[: entry.start()] + described + docstring[entry.end() :]


def _format_parameter(field: Field[Any], indent: str) -> str:
    """Write the numpydoc entry of an option."""
    known = get_option(field)
    if known.choices:
        kind = "{" + ", ".join(f'"{choice}"' for choice in known.choices) + "}"
    else:
        kind = known.type or str(field.type).removesuffix(" | None")
    assert known.choices or known.type or kind in _PLAIN_TYPES, field.name  # noqa: S101  # said by its definition
    assert field.default is not MISSING, field.name  # noqa: S101  # `option` sets one
    head = f"{indent}{field.name} : {kind}{', optional' if field.default is None else ''}\n"
    body = textwrap.fill(
        known.doc or known.help,
        width=_DOC_WIDTH,
        initial_indent=f"{indent}    ",
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return f"{head}{body}\n"


def split_union(annotation: str) -> list[str]:
    """Return the names of the types in a union.

    Examples
    --------
    >>> split_union("str | Mapping[str, int | str] | None")
    ['str', 'Mapping', 'None']
    """
    while "[" in annotation:
        annotation = re.sub(r"\[[^\[\]]*\]", "", annotation)
    return annotation.split(" | ")


def read_value(name: str, value: Any, annotation: str, *, names_column: bool = False) -> Any:
    """Check that a value has the type of its option; write several names as a list.

    Parameters
    ----------
    name : str
        The option's name.
    value : object
        What the user gave.
    annotation : str
        The option's type as its definition writes it.
    names_column : bool
        Whether a text is the name of a column, for the message.

    Returns
    -------
    object
        The value; for names that are not one text a tuple or a list of plain texts.

    Raises
    ------
    OptionError
        If the value has none of the types.

    Examples
    --------
    >>> read_value("inputs", (name for name in "ab"), "Names | None")
    ['a', 'b']
    >>> read_value("weights", [0.5, 2.0], "str | None", names_column=True)
    Traceback (most recent call last):
    ...
    symscreen.errors.OptionError: weights is [0.5, 2.0]; give the name of a column
    """
    types = [each for each in split_union(annotation) if each != "None"]
    for each in types:
        if each in _LISTS:
            return _read_list(name, value, each)
        if _has_type(value, each):
            return str(value) if isinstance(value, str) else value
    expected = [
        "the name of a column" if names_column and each == "str" else _TYPES.get(each, (None, f"a {each}"))[1]
        for each in types
    ]
    raise OptionError(f"{name_subject(name)} is {quote(value)}; give {' or '.join(dict.fromkeys(expected))}")


def _has_type(value: Any, expected: str) -> bool:
    """Say whether a value has a type; classes that are not in the table are known by their names."""
    if expected in _TYPES:
        return _TYPES[expected][0](value)
    return any(each.__name__ == expected for each in type(value).__mro__)


def _read_list(name: str, value: Any, expected: str) -> Any:
    """Return one member as it is, or the members of anything that contains some; of a set they are sorted."""
    members = _list_members(value, expected)
    if members is None or not all(_is_member(each, expected) for each in members):
        raise OptionError(f"{name_subject(name)} is {quote(value)}; give {_LISTS[expected]}")
    plain = [str(each) if isinstance(each, str) else each for each in members]
    if _is_member(value, expected):
        return plain[0]
    return tuple(plain) if isinstance(value, tuple) else plain


def _list_members(value: Any, expected: str) -> list[Any] | None:
    """List what a value contains; None if it is not a list."""
    if _is_member(value, expected):
        return [value]
    if value is None and expected == "Names":
        return []
    if isinstance(value, Mapping) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) != 1:
        return None
    return sorted(value, key=str) if isinstance(value, AbstractSet) else list(value)


def _is_member(value: Any, expected: str) -> bool:
    """Say whether a value is a text, or an object of a class that the option takes."""
    return isinstance(value, str) or any(_has_type(value, each) for each in _MEMBER_CLASSES.get(expected, ()))
