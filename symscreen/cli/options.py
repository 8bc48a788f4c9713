"""Options of the verbs: those of the option classes in `symscreen.config`, and a few of the command line.

`add_options` makes a click option of each field that names the verb.
"""

from __future__ import annotations

import functools
import inspect
import math
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from symscreen.config.fields import find_group, get_option, list_options
from symscreen.config.fit_options import FitOptions
from symscreen.config.option_hints import suggest_option
from symscreen.config.parsing import is_count_text
from symscreen.config.screen_options import ScreenOptions
from symscreen.config.study_tables import STUDY_FIELDS
from symscreen.errors import OptionError
from symscreen.messages import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from dataclasses import Field

    Verb = Callable[..., None]


OTHER_OPTIONS = "Other options"
"""Heading of the options without a group, which come last."""

_MIN_HIDDEN = 4  # options that a short help leaves out; fewer are shown
_N_EXAMPLES = 2  # examples in the short help
_LAST_GROUP = "Run"  # the last group of options before those without a group
_SHORT_COLUMN = 17  # width of the names of options in the short help
_RARE_IN_STUDIES = {"missing", "with_operators"}  # everyday options that the short help of studies leaves out
_WHOLE_HELP = "symscreen.cli.options.whole_help"  # key in the context of click
_NUMBER_TYPES = {"int": int, "float": float}


class GroupedOption(click.Option):
    """An option that knows under which heading the help lists it, and whether the short help does."""

    def __init__(self, *names: Any, group: str = "", everyday: bool = True, **details: Any) -> None:
        super().__init__(*names, **details)
        self.group, self.everyday = group, everyday


force_option = click.option(
    "--force", is_flag=True, cls=GroupedOption, everyday=False, help="Overwrite existing output."
)


class GroupedCommand(click.Command):
    """A verb with a short and a whole help.

    ``--help`` lists the everyday options, and ``--help-all`` all of them under headings, those of no group
    last. A verb with few other options has no ``--help-all``.
    """

    def __init__(self, *arguments: Any, **details: Any) -> None:
        super().__init__(*arguments, **details)
        if hidden := self._list_hidden_options():
            self.params.append(
                click.Option(
                    ["--help-all"],
                    is_flag=True,
                    is_eager=True,
                    expose_value=False,
                    callback=_print_whole_help,
                    help=f"List all options: {len(hidden)} more than --help.",
                )
            )

    def _list_hidden_options(self) -> list[click.Parameter]:
        """Return the options that the short help does not show; none if they are few."""
        hidden = [each for each in self.params if not getattr(each, "everyday", True)]
        return hidden if len(hidden) >= _MIN_HIDDEN else []

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; say which option is meant by an unknown one.

        Raises
        ------
        OptionError
            If an option is unknown. The message names the option that is meant.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            names = {str(each.name): each.opts[-1] for each in self.params if isinstance(each, click.Option)}
            hint = suggest_option(error.option_name, names)
            raise OptionError(f"{ctx.info_name} has no option {quote(error.option_name)}{hint}") from None

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what the verb does, and examples: the first few in the short help."""
        text = inspect.cleandoc(self.help or "")
        if self._list_hidden_options() and not _is_whole_help(ctx):
            lines = text.splitlines()
            starts = [place for place, line in enumerate(lines) if line.startswith("  symscreen ")]
            text = "\n".join(lines[: starts[_N_EXAMPLES]] if len(starts) > _N_EXAMPLES else lines)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write options under headings: all of them, or the everyday ones and how many others there are."""
        hidden = [] if _is_whole_help(ctx) else self._list_hidden_options()
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            entry = parameter.get_help_record(ctx)
            if entry is None or not isinstance(parameter, click.Option) or parameter in hidden:
                continue
            groups.setdefault(getattr(parameter, "group", ""), []).append(entry)
        if hidden:
            formatter.write_paragraph()
        for group in sorted(groups, key=lambda each: (each == "", each == _LAST_GROUP)):
            heading = group or (OTHER_OPTIONS if len(groups) > 1 else "Options")
            if hidden:  # without empty lines, so that the help fits on a screen
                formatter.write_heading(heading)
                with formatter.indentation():
                    formatter.write_dl(
                        [(name.ljust(_SHORT_COLUMN), text) for name, text in groups[group]],
                        col_max=_SHORT_COLUMN,
                    )
            else:
                with formatter.section(heading):
                    formatter.write_dl(groups[group])


def _is_whole_help(ctx: click.Context) -> bool:
    return bool(ctx.meta.get(_WHOLE_HELP, False))


def _print_whole_help(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: FBT001  # of click
    """Print the help with all options."""
    del parameter
    if value:
        ctx.meta[_WHOLE_HELP] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def complete_files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete an argument by the names of files."""
    del ctx, parameter
    return [CompletionItem(incomplete, type="file")]


def add_options(
    verb: str,
    options_class: type = ScreenOptions,
    help_texts: Mapping[str, str] | None = None,
    rare: Collection[str] = (),
) -> Callable[[Verb], Verb]:
    """Give a verb its options.

    Parameters
    ----------
    verb : str
        The name of the verb, as in the attribute `verbs` of an option.
    options_class : type
        `ScreenOptions` or a subclass.
    help_texts : mapping of str to str, optional
        Help texts by option, where this verb gives an option a special meaning.
    rare : collection of str, optional
        Everyday options that the short help of this verb leaves out, because it has others.

    Returns
    -------
    callable
        A decorator.
    """

    def decorate(function: Verb) -> Verb:
        for field in reversed(list_options(options_class, verb=verb)):
            text = (help_texts or {}).get(field.name, get_option(field).help)
            everyday = get_option(field).everyday and field.name not in rare
            group = find_group(options_class, field.name)
            function = _make_click_option(field, group, text, everyday=everyday)(function)
        return function

    return decorate


def add_study_options(function: Verb) -> Verb:
    """Give a verb the options of all steps of a study; it receives those that were given, as ``given``."""

    @functools.wraps(function)
    def run(**parameters: Any) -> None:
        context = click.get_current_context()
        names = [name for name in parameters if name in STUDY_FIELDS]
        values = {name: parameters.pop(name) for name in names}
        given = {
            name: value
            for name, value in values.items()
            if context.get_parameter_source(name) is not ParameterSource.DEFAULT
        }
        function(**parameters, given=given)

    decorated: Verb = run
    for name, field in reversed(STUDY_FIELDS.items()):
        everyday = get_option(field).everyday and name not in _RARE_IN_STUDIES
        group = find_group(FitOptions, name)
        decorated = _make_click_option(field, group, get_option(field).help, everyday=everyday)(decorated)
    return decorated


def _make_click_option(
    field: Field[Any], group: str, help_text: str, *, everyday: bool
) -> Callable[[Verb], Verb]:
    """Make the click option of a field."""
    known, kind = get_option(field), str(field.type).removesuffix(" | None")
    flags = [*filter(None, [known.short_flag]), known.flag or f"--{field.name.replace('_', '-')}"]
    details: dict[str, Any] = {"help": help_text, "group": group, "metavar": known.metavar}
    details |= {"cls": GroupedOption, "everyday": everyday}
    if kind == "bool":
        if known.negatable:
            details |= {"default": None}
            flags[-1] += f"/--no-{flags[-1].removeprefix('--')}"
        return click.option(*flags, field.name, is_flag=True, **details)
    details["type"] = click.Choice(known.choices) if known.choices else _NUMBER_TYPES.get(kind, str)
    if known.value_if_bare is not None:
        details |= {"is_flag": False, "flag_value": known.value_if_bare}
    if known.takes_file:
        details |= {"shell_complete": complete_files}
    if not any(field.default is unset for unset in (None, False, ())):
        details |= {"default": field.default, "show_default": True}
    return click.option(
        *flags,
        field.name,
        multiple=known.multiple,
        callback=_make_callback(known.parse, field.default),
        **details,
    )


def _make_callback(
    parse: Callable[[str, str], Any] | None, default: object
) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Make click read a text with `parse`, and use the default where there is no text."""

    def read(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        del ctx
        if value is None:
            return default
        return value if parse is None else parse(value, str(parameter.name))

    return read


def add_output_options(*, everyday: bool = True, **details: Any) -> Callable[[Verb], Verb]:
    """Give a verb the options for the outputs of `screen`; `plan` accepts them without listing them."""
    help_texts = {
        "--out": "Write the ranking to .csv, .parquet or .json; - writes CSV to standard output.",
        "--bundle": "Save the features shown as a bundle (.json) for symscreen apply.",
        "--report": "Write a report: one .html that needs nothing else.",
        "--force": "Overwrite existing output.",
        "--log-json": "Append a JSON line for each stage; - is standard error.",
    }

    def decorate(function: Verb) -> Verb:
        for name, text in reversed(help_texts.items()):
            kind: dict[str, Any] = (
                {"is_flag": True}
                if name == "--force"
                else {"metavar": "FILE", "shell_complete": complete_files}
            )
            kind |= {"cls": GroupedOption, "everyday": everyday and name in {"--out", "--report"}}
            names = ("-o", name) if name == "--out" else (name,)
            function = click.option(*names, help=text, **kind, **details)(function)
        return function

    return decorate


def reject_target_types(function: Verb) -> Verb:
    """Let a verb refuse the options of targets that are not numeric, with the verbs that take them."""
    for name in ("event", "stages", "ranking"):
        option = click.option(f"--{name}", hidden=True, expose_value=False, callback=_reject_target_type)
        function = option(function)
    return function


def _reject_target_type(ctx: click.Context, parameter: click.Parameter, text: str | None) -> None:
    """Refuse a target that is not numeric."""
    if text is not None:
        takers = "screen, plan, why, init and run take one"
        stored = f"{takers}, and classes what screen wrote"
        what, takers = {
            "ranking": ("a ranking", stored),
            "stages": ("a chain of stages", stored),
            "event": ("one of times until an event", takers),
        }[str(parameter.name)]
        raise OptionError(
            f"{ctx.info_name} needs a numeric target, and --{parameter.name} {text} is {what}: {takers}"
        )


def parse_counts(ctx: click.Context, parameter: click.Parameter, text: str) -> tuple[int, ...]:
    """Read integers of at least 1, ``20,100``.

    Raises
    ------
    OptionError
        If a part of the text is not such an integer.
    """
    del ctx
    parts = [part.strip() for part in text.split(",")]
    if not all(map(is_count_text, parts)):
        raise OptionError(f"--{parameter.name} is {text!r}; give integers of at least 1, such as 20,100")
    return tuple(dict.fromkeys(map(int, parts)))


def parse_ratios(
    ctx: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[float, ...] | None:
    """Read ratios of at least 0, ``0,0.01``.

    Raises
    ------
    OptionError
        If a part of the text is not such a number.
    """
    del ctx, parameter
    if text is None:
        return None
    try:
        ratios = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        ratios = (math.nan,)
    if not all(0.0 <= ratio < math.inf for ratio in ratios):
        raise OptionError(f"--noise-ratio is {text!r}; give numbers of at least 0, such as 0,0.01")
    return ratios
