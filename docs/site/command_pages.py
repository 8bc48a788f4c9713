"""Write the page of commands from the definitions of their options."""

from __future__ import annotations

import re
from html import escape

import click
from command_help import CommandHelp, get_command, list_commands

from symscreen.cli.command import VERBS

_INTRODUCTION = """# Commands

This page lists every command with all of its options. It is made from the definitions of the options.
`symscreen COMMAND --help` shows the everyday ones, and `--help-all` the others as well. [The tour](tour.md)
shows what each command does.
"""


def write_commands_page() -> str:
    """Write the page in Markdown: each verb with its usage, examples, and its options under headings."""
    return "\n".join([_INTRODUCTION, *map(_write_section, list_commands())])


def find_missing_options(page: str) -> list[str]:
    """Find the options that the section of their verb in a page of HTML does not show."""
    missing = []
    for verb in ("symscreen", *VERBS):
        _, _, rest = page.partition(f'<h2 id="{verb}"')
        shown = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", rest.partition("<h2")[0]))
        names = [
            name
            for parameter in get_command(verb).params
            if isinstance(parameter, click.Option) and not parameter.hidden
            for name in parameter.opts
        ]
        missing += [f"{verb} {name}" for name in names if name not in shown]
    return missing


def _write_section(described: CommandHelp) -> str:
    """Write the usage of a command, its help, and its options under headings."""
    paragraphs = [
        escape(words, quote=False) + ("\n\n```sh\n" + "\n".join(examples) + "\n```" if examples else "")
        for words, examples in described.paragraphs
    ]
    tables = [
        f"**{heading}**\n\n| Option | What it does |\n|---|---|\n" + "\n".join(map(_write_row, rows)) + "\n"
        for heading, rows in described.options.items()
    ]
    head = [f"## {described.name}", f"```\n{described.usage}\n```"]
    return "\n\n".join([*head, *paragraphs, *tables])


def _write_row(option: tuple[str, str]) -> str:
    """Write a row of a table of options."""
    names, text = option
    described = escape(text, quote=False)
    for mark in "|*_[]":
        described = described.replace(mark, f"\\{mark}")
    return f"| <code>{escape(names, quote=False).replace('|', '&#124;')}</code> | {described} |"
