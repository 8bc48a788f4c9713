"""Record of a screen's options, and the command that repeats a screen, written from its record.

The record has the defaults filled in, and some options only where they were given.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, SupportsIndex

from symscreen._option_values import split_column_names
from symscreen.config.fields import get_option, list_options
from symscreen.config.fit_options import FitOptions
from symscreen.config.ode_options import OdeOptions
from symscreen.config.parsing import BUDGET_NONE, to_tuple
from symscreen.config.screen_options import ScreenOptions
from symscreen.config.study_tables import STUDY_FIELDS
from symscreen.expressions.printing import to_text
from symscreen.grammar import list_grammar_names, load_grammar
from symscreen.plugins import collect_origins
from symscreen.screeners import SCREENERS, JointScreener

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symscreen._typing import Names
    from symscreen.config.fields import Option
    from symscreen.fitting.search_stages import FitTask
    from symscreen.screeners import AnyScreener
    from symscreen.screening.task import ScreeningTask


# By option: the key under which the record has the settings of its screeners.
_SETTINGS = {"screener": "settings", "prune_by": "prune_by_settings"}
_OPTIONS = {field.name: get_option(field) for field in list_options(ScreenOptions)}


def build_options_record(task: ScreeningTask) -> dict[str, Any]:
    """Build the record of the options, ready for JSON.

    The definition of an option says whether the record contains it. Most values are those of the user;
    `_build_resolved_values` has those that depend on the data or were parsed.
    """
    recorded = {field.name: get_option(field).record for field in list_options(ScreenOptions)}
    values = {
        name: _to_plain(getattr(task.options, name)) for name, policy in recorded.items() if policy != "never"
    } | _build_resolved_values(task)
    values["intervals"] = values.pop("intervals")  # in records it follows the other options
    return {
        name: value for name, value in values.items() if value is not None or recorded.get(name) == "always"
    }


def build_fit_options_record(task: FitTask) -> dict[str, Any]:
    """Build the record of the options of a fit; the definition of an option says whether it is there."""
    options = task.options
    resolved = {
        "pool_size": options.pool_sizes,
        "prune_by": [screener.name for screener in task.pool_screeners],
        "folds": options.folds if options.criterion == "cv" else None,
        "also": list(map(to_text, task.guesses)),
        "weights": _describe_weights(task),
    }
    names = [field.name for field in list_options(FitOptions) if get_option(field).fit_record]
    return {name: resolved[name] if name in resolved else _to_plain(getattr(options, name)) for name in names}


def build_ode_options_record(options: OdeOptions) -> dict[str, Any]:
    """Build the record of the options of a search for differential equations."""
    names = [each.name for each in list_options(OdeOptions) if not get_option(each).runtime]
    return {name: _to_plain(getattr(options, name)) for name in names}


def _describe_weights(task: FitTask) -> str | None:
    """Return the column of the weights; None if they have no effect, or are estimates of 1/variance."""
    if task.source_weights is None or task.has_estimated_weights:
        return None
    return task.options.weights if isinstance(task.options.weights, str) else "given"


def _build_resolved_values(task: ScreeningTask) -> dict[str, Any]:
    """Return the values that are recorded in another form than the user gave them."""
    options, target = task.options, task.target
    return {
        "target": list(target.names) if target.combines_outputs else target.name,
        "aggregate": options.aggregate if target.combines_outputs else None,
        "ranking": None if options.ranking is None else _to_list(options.ranking),
        **_build_stages_record(options),
        "inputs": None if options.inputs is None else _to_list(options.inputs),
        "exclude": _to_list(options.exclude),
        "categorical": _to_list(options.categorical) or None,
        "categorical_as": options.categorical_as if options.categorical else None,
        "units": None
        if task.units is None
        else {name: unit.text for name, unit in task.units.columns.items()},
        "layers": " ".join(map(str, task.layers)),
        "operators": str(options.operators),
        "also": list(to_tuple(options.also)),
        "pool_size": options.pool_size,
        "prune_by": [screener.name for screener in task.pool_screeners],
        "prune_by_settings": _collect_settings(task.pool_screeners),
        "screener": [screener.name for screener in task.screeners],
        "settings": _collect_settings(task.screeners),
        "prescreen": task.prescreen,
        "search": task.search,
        "budget": BUDGET_NONE if _is_always_exact(task) else options.budget,
        "risk": task.risk if options.search == "race" else None,
        "plugins": _find_plugin_origins(task) or None,
    }


def _is_always_exact(task: ScreeningTask) -> bool:
    """Return whether the same options score every feature of any space, which the record says of a budget."""
    options = task.options
    is_above = task.budget_choice is not None and task.search == "exact"  # by other options, or a pool size
    return options.budget is None or options.search == "exact" or is_above


def _to_plain(value: Any) -> Any:
    """Convert numpy's integers and tuples to what JSON has."""
    if isinstance(value, str | bool | float) or value is None:
        return value
    if isinstance(value, SupportsIndex):
        return index(value)
    return list(value) if isinstance(value, Sequence) else value


def _to_list(names: Names) -> list[str]:
    """Return one name, or several, as a list."""
    return [names] if isinstance(names, str) else list(names)


def _find_plugin_origins(task: ScreeningTask) -> dict[str, str]:
    """Return the origin of each screener and grammar that another package brought."""
    names = [screener.name for screener in (*task.screeners, *task.pool_screeners)]
    grammars = [name for name in (str(task.options.operators),) if not name.endswith(".toml")]
    return collect_origins("screener", names, SCREENERS) | collect_origins(
        "grammar", grammars, list_grammar_names()
    )


def _build_stages_record(options: ScreenOptions) -> dict[str, Any]:
    """Write the stages, in their order; of weights that have no name the record holds those of each pair."""
    if options.stages is None:
        return {"stages": None, "stage_weight": None}
    weight = options.stage_weight
    return {
        "stages": list(split_column_names(options.stages, "stages")),
        "stage_weight": weight if isinstance(weight, str) else "given",
    }


def _collect_settings(screeners: Sequence[AnyScreener]) -> dict[str, dict[str, Any]]:
    """Return every setting of the joint screeners, given or not: defaults may change."""
    return {one.name: dict(one.all_settings) for one in screeners if isinstance(one, JointScreener)}


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


def format_study_command(record: Mapping[str, Any], data: str = "DATA") -> str:
    """Write the command line that repeats the steps of a study.

    Parameters
    ----------
    record : mapping
        The record of a result of the study.
    data : str
        The file of the table, which the command names if the study has no file of its own.

    Returns
    -------
    str
        With the options that replaced those of the study.

    Examples
    --------
    >>> study = {"file": "rates.toml", "given": {"layers": "ub", "quiet": True}}
    >>> print(format_study_command({"study": study}))
    symscreen run rates.toml --layers ub --quiet
    >>> print(format_study_command({}, "my data.csv"))
    symscreen 'my data.csv'
    """
    study = record.get("study", {})
    words = ["symscreen", *(["run", study["file"]] if "file" in study else [data])]
    words = list(map(quote_shell_word, words))
    for name, value in study.get("given", {}).items():
        if isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
        elif value is not None:
            known = get_option(STUDY_FIELDS[name]) if name in STUDY_FIELDS else None
            words += _format_values(name, value, known)
    return " ".join(words)


def _format_operators(record: Mapping[str, Any]) -> list[str]:
    """Name the operators, where they are not those of a shipped grammar."""
    written, name = record.get("grammar", {}), record["options"].get("operators")
    own = load_grammar(name) if name in list_grammar_names() else None
    words = []
    for kind in ("unary", "binary"):
        names = written.get(kind, [])
        time_names = written.get("time_operators", []) if kind == "unary" else []
        is_own = own is not None and [operator.name for operator in getattr(own, kind)] == names
        if (names and not is_own) or time_names:
            words.append(_format_flag(kind, ",".join([*names, *time_names])))
    return words


def _format_option(name: str, value: Any, options: Mapping[str, Any]) -> list[str]:
    """Write an option, unless it is the default or changes no result; other keys are left out."""
    known = _OPTIONS.get(name)
    if known is None or known.runtime or value is None or value in ([], {}, ""):
        return []
    if value is False:  # the default, unless None is
        return [f"--no-{name.replace('_', '-')}"] if known.negatable else []
    if value in known.unwritten:
        return []
    if name == "target" and (options.get("ranking") or options.get("stages")):
        return []  # these make the target's name
    if value is True:
        return [f"--{name.replace('_', '-')}"]
    if name in _SETTINGS:
        settings = options.get(_SETTINGS[name], {})
        value = ",".join(_format_screener(each, settings.get(each, {})) for each in value)
    return _format_values(name, value, known)


def _format_values(name: str, value: Any, known: Option | None) -> list[str]:
    """Write an option with its value, or once for each value. An output file of a study has no definition."""
    if known is not None and known.multiple and not isinstance(value, str):
        return [_format_flag(name, str(each)) for each in value]
    if known is not None and known.write is not None:
        value = value if isinstance(value, str) else known.write(value)
    elif isinstance(value, list):
        value = ",".join(map(str, value))
    return [_format_flag(name, str(value))]


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
