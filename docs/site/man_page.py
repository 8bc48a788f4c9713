"""Write the manual page docs/symscreen.1 from the definitions of the options: ``make man``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from command_help import CommandHelp, list_commands

import symscreen

PAGE = Path(__file__).parents[1] / "symscreen.1"

# Roff gives these characters a meaning or another form. The backslash comes first: the others bring one.
_ROFF_NAMES = {
    "\\": "\\e", "-": "\\-", '"': "\\(dq", "'": "\\(aq", "`": "\\(ga", "~": "\\(ti", "^": "\\(ha",
}  # fmt: skip


def write_man_page() -> str:
    """Write the page in roff's language for manual pages: symscreen itself, then one section a command."""
    whole, *commands = list_commands()
    summary = whole.paragraphs[0][0].rstrip(".").lower()
    lines = [
        f'.TH SYMSCREEN 1 "" "symscreen {symscreen.__version__}" "User Commands"',
        ".SH NAME",
        f"symscreen \\- {_escape(summary)}",
        ".SH SYNOPSIS",
        ".nf",
        "symscreen TABLE",
        _escape(whole.usage),
        ".fi",
        ".SH DESCRIPTION",
        *_write_help(whole),
        ".SH COMMANDS",
    ]
    for described in commands:
        lines += [f'.TP\n.B "{_escape(described.name)}"', _escape(described.paragraphs[0][0])]
    for described in commands:
        lines += [
            f'.SH "{_escape(described.name.upper())}"',
            f'.nf\n.B "{_escape(described.usage)}"\n.fi\n.PP',
            *_write_help(described),
        ]
    return "\n".join(lines) + "\n"


def _write_help(described: CommandHelp) -> list[str]:
    """Write the paragraphs, examples and options of a command."""
    lines = []
    for words, examples in described.paragraphs:
        lines += [".PP", _escape(words)]
        if examples:
            lines += [".PP", ".RS 4", ".nf", *map(_escape, examples), ".fi", ".RE"]
    for heading, rows in described.options.items():
        lines.append(f'.SS "{_escape(heading)}"')
        for names, text in rows:
            lines += [".TP", f'.B "{_escape(names)}"', _escape(text)]
    return lines


def _escape(text: str) -> str:
    """Escape what roff would take for a command, and keep hyphens and quotes as they are typed."""
    for mark, written in _ROFF_NAMES.items():
        text = text.replace(mark, written)
    return f"\\&{text}" if text.startswith(".") else text


if __name__ == "__main__":
    PAGE.write_text(write_man_page())
