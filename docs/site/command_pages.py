"""Write the page of commands from the definitions of their options."""

from __future__ import annotations

import inspect
import re
from html import escape

import click

from symscreen.cli.command import VERBS, command

_INTRODUCTION = """# Commands

This page lists every command with all of its options. It is made from the definitions of the options.
`symscreen COMMAND --help` shows the everyday ones, and `--help-all` the others as well. [The tour](tour.md)
shows what each command does.
"""


def write_commands_page() -> str:
    """Write the page in Markdown: each verb with its usage, examples, and its options under headings."""
    usage = "symscreen COMMAND [OPTIONS]"
    return "\n".join([_INTRODUCTION, _write_section("symscreen", usage, command), *map(_write_verb, VERBS)])


def find_missing_options(page: str) -> list[str]:
    """Find the options that the section of their verb in a page of HTML does not show."""
    missing = []
    for verb in ("symscreen", *VERBS):
        _, _, rest = page.partition(f'<h2 id="{verb}"')
        shown = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", rest.partition("<h2")[0]))
        names = [
            name
            for parameter in _get_verb(verb).params
            if isinstance(parameter, click.Option) and not parameter.hidden
            for name in parameter.opts
        ]
        missing += [f"{verb} {name}" for name in names if name not in shown]
    return missing


def _get_verb(verb: str) -> click.Command:
    """Return the command of a verb, or the whole command line."""
    if verb == "symscreen":
        return command
    found = command.get_command(click.Context(command), verb)
    if found is None:
        raise ValueError(f"there is no verb {verb}")
    return found


def _write_verb(verb: str) -> str:
    """Write the section of a verb."""
    found = _get_verb(verb)
    usage = " ".join(found.collect_usage_pieces(click.Context(found)))
    return _write_section(verb, f"symscreen {verb} {usage}", found)


def _write_section(title: str, usage: str, found: click.Command) -> str:
    """Write the usage of a command, its help, and its options under headings."""
    context = click.Context(found)
    paragraphs = [_write_paragraph(each) for each in inspect.cleandoc(found.help or "").split("\n\n")]
    groups: dict[str, list[str]] = {}
    for parameter in found.get_params(context):
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            group = getattr(parameter, "group", "") or "Other options"
            groups.setdefault(group, []).append(_write_row(*record))
    tables = [
        f"**{group}**\n\n| Option | What it does |\n|---|---|\n" + "\n".join(rows) + "\n"
        for group, rows in sorted(groups.items(), key=lambda pair: pair[0] == "Other options")
    ]
    head = [f"## {title}", f"```\n{usage}\n```"]
    return "\n\n".join([*head, *paragraphs, *tables])


def _write_paragraph(text: str) -> str:
    """Write a paragraph of help; examples are indented, and become code."""
    lines = [line for line in text.splitlines() if line != "\b"]
    code = [line.strip() for line in lines if line.startswith("  ")]
    words = escape(" ".join(line for line in lines if not line.startswith("  ")), quote=False)
    return words + ("\n\n```sh\n" + "\n".join(code) + "\n```" if code else "")


def _write_row(names: str, text: str) -> str:
    """Write a row of a table of options."""
    described = escape(" ".join(text.split()), quote=False)
    for mark in "|*_[]":
        described = described.replace(mark, f"\\{mark}")
    return f"| <code>{escape(names, quote=False).replace('|', '&#124;')}</code> | {described} |"
