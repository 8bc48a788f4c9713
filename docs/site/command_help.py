"""Read what each command says of itself: usage, paragraphs, examples, and options under headings."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import click

from symscreen.cli.command import VERBS, command
from symscreen.cli.options import OTHER_OPTIONS


@dataclass(frozen=True)
class CommandHelp:
    """The help of a command.

    ``paragraphs`` pairs the words of each paragraph with its lines of examples. ``options`` has a list of
    (names, description) for each heading.
    """

    name: str
    usage: str
    paragraphs: tuple[tuple[str, tuple[str, ...]], ...]
    options: dict[str, list[tuple[str, str]]]


def list_commands() -> list[CommandHelp]:
    """List the help of symscreen itself and of each of its commands."""
    return [read_help(name) for name in ("symscreen", *VERBS)]


def get_command(name: str) -> click.Command:
    """Return the command of a name, or the whole command line for ``symscreen``."""
    if name == "symscreen":
        return command
    found = command.get_command(click.Context(command), name)
    if found is None:
        raise ValueError(f"there is no command {name}")
    return found


def read_help(name: str) -> CommandHelp:
    """Read the help of a command from the definitions of its options."""
    found = get_command(name)
    context = click.Context(found, help_option_names=command.context_settings["help_option_names"])
    if found is command:
        usage = "symscreen COMMAND [OPTIONS]"
    else:
        usage = f"symscreen {name} {' '.join(found.collect_usage_pieces(context))}"
    paragraphs = map(_split_examples, inspect.cleandoc(found.help or "").split("\n\n"))
    options: dict[str, list[tuple[str, str]]] = {}
    for parameter in found.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            heading = getattr(parameter, "group", "") or OTHER_OPTIONS
            options.setdefault(heading, []).append((record[0], " ".join(record[1].split())))
    if OTHER_OPTIONS in options:
        options[OTHER_OPTIONS] = options.pop(OTHER_OPTIONS)  # it comes last
    return CommandHelp(name, usage, tuple(paragraphs), options)


def _split_examples(paragraph: str) -> tuple[str, tuple[str, ...]]:
    """Split a paragraph of help into its words and its examples, whose lines are indented."""
    lines = [line for line in paragraph.splitlines() if line.strip() not in {"", "\b"}]
    words = " ".join(line.strip() for line in lines if not line.startswith("  "))
    return words, tuple(line.strip() for line in lines if line.startswith("  "))
